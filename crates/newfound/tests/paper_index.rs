//! PAPER.md and the code agree: every equation is in the index, and every row of the index is there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The cells of every row of the index, without its head.
fn rows() -> Vec<Vec<String>> {
    let page = fs::read_to_string(here().join("../../PAPER.md")).unwrap();
    let index = page
        .split("## Index")
        .nth(1)
        .unwrap()
        .split("\n## ")
        .next()
        .unwrap();
    let cells = |line: &str| {
        line.trim_matches('|')
            .split('|')
            .map(|c| c.trim().trim_matches('`').to_string())
            .collect()
    };
    index
        .lines()
        .filter(|line| line.starts_with('|'))
        .skip(2)
        .map(cells)
        .collect()
}

/// The equation numbers in a text such as "Eqs. (5), (6)" or "**Eq. (8), section III-E**".
fn numbers(text: &str) -> BTreeSet<u32> {
    text.split('(')
        .skip(1)
        .filter_map(|part| part.split(')').next()?.parse().ok())
        .collect()
}

#[test]
fn every_row_points_at_something() {
    let rows = rows();
    assert!(
        rows.len() > 20,
        "the index has lost its rows: {}",
        rows.len()
    );
    let main = fs::read_to_string(here().join("tests/equations/main.rs")).unwrap();
    for row in rows {
        let [paper, what, item, test, fixture] = row.as_slice() else {
            panic!("not five cells: {row:?}")
        };
        let (module, name) = item.rsplit_once("::").unwrap();
        let folder = here().join("src").join(module.replace("::", "/"));
        let files = if folder.is_dir() {
            sources(&folder)
        } else {
            vec![folder.with_extension("rs")]
        };
        let declared = ["fn", "struct"].iter().any(|kind| {
            let declaration = format!("pub {kind} {name}");
            files.iter().any(|file| {
                let text = fs::read_to_string(file).unwrap_or_default();
                text.match_indices(&declaration).any(|(at, _)| {
                    let next = text[at + declaration.len()..].chars().next();
                    next.is_some_and(|c| !c.is_alphanumeric() && c != '_')
                })
            })
        });
        assert!(declared, "{paper} ({what}): there is no public {item}");
        assert!(
            main.contains(&format!("mod {test};")),
            "{paper} ({what}): there is no test module {test}"
        );
        let test_text =
            fs::read_to_string(here().join(format!("tests/equations/{test}.rs"))).unwrap();
        for way in ["fn by_hand(", "fn limits(", "fn twin("] {
            assert!(test_text.contains(way), "{test} has no {way}");
        }
        if fixture != "–" {
            let path = here().join("tests/fixtures/equations").join(fixture);
            assert!(
                path.is_file(),
                "{paper} ({what}): there is no fixture {fixture}"
            );
        }
    }
}

#[test]
fn every_equation_of_the_code_is_in_the_index() {
    let listed: BTreeSet<u32> = rows().iter().flat_map(|row| numbers(&row[0])).collect();
    let mut documented = BTreeSet::new();
    for file in sources(&here().join("src")) {
        let text = fs::read_to_string(&file).unwrap();
        for line in text
            .lines()
            .filter(|line| line.contains("**Eq. (") || line.contains("**Eqs. ("))
        {
            let found = numbers(line);
            assert!(
                found.is_subset(&listed),
                "{}: {line} is not in PAPER.md",
                file.display()
            );
            documented.extend(found);
        }
    }
    assert_eq!(
        documented, listed,
        "an equation of the index has no doc comment that names it"
    );
    assert_eq!(listed, (1..=10).collect());
}
