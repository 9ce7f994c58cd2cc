//! The class splits of the open-set benchmarks.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::str::FromStr;

use super::ListError;
use super::drawn::Drawn;

/// A benchmark's division of its class folders into known and private (unknown) classes.
///
/// Results under different splits of the same data set are different tasks and cannot be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Split {
    /// Office-31 in alphabetical order: 0–9 known, 10–19 unused, 20–30 private.
    Office31Paper,
    /// Office-31 with the ten classes shared with Caltech-256 in front, the others alphabetically behind
    /// them: 0–9 known, 10–19 unused, 20–30 private.
    Office31Caltech,
    /// The ten classes that `office31-paper` does not use, in alphabetical order: 10–14 known, 15–19 private. Choices
    /// made on it have seen no image of that split.
    Office31Development,
    /// As `office31-paper`, without private classes: every image is of a known class.
    Office31NoPrivate,
    /// As `office31-paper`, with the last five of its private classes.
    Office31FewPrivate,
    /// As `office31-paper`, with 10–30 private.
    Office31ManyPrivate,
    /// As `office31-paper`, with the first five of its known classes.
    Office31FewKnown,
    /// As `office31-paper`, but no known class occurs in the target.
    Office31NoKnown,
    /// As `office31-paper`, but only the first five of its ten known classes occur in the target.
    Office31SomeKnown,
    /// Office-Home in alphabetical order: 0–24 known, 25–64 private.
    OfficeHome,
    /// As `office-home`, without private classes.
    OfficeHomeNoPrivate,
    /// As `office-home`, but no known class occurs in the target.
    OfficeHomeNoKnown,
    /// As `office-home`, but only the first ten of its 25 known classes occur in the target.
    OfficeHomeSomeKnown,
    /// By lot.
    Drawn(Drawn),
}

/// Which classes of a split a labelled list holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// The known classes only: what a source model is trained on.
    Known,
    /// The known and the private classes: what a target is evaluated on.
    Both,
}

/// The classes that Office-31 shares with Caltech-256.
const SHARED_WITH_CALTECH: [&str; 10] = [
    "back_pack",
    "bike",
    "calculator",
    "headphones",
    "keyboard",
    "laptop_computer",
    "monitor",
    "mouse",
    "mug",
    "projector",
];

impl Split {
    /// All splits that are not by lot; of those of one benchmark, the paper's first.
    pub const ALL: [Self; 13] = [
        Self::Office31Paper,
        Self::Office31Caltech,
        Self::Office31Development,
        Self::Office31NoPrivate,
        Self::Office31FewPrivate,
        Self::Office31ManyPrivate,
        Self::Office31FewKnown,
        Self::Office31NoKnown,
        Self::Office31SomeKnown,
        Self::OfficeHome,
        Self::OfficeHomeNoPrivate,
        Self::OfficeHomeNoKnown,
        Self::OfficeHomeSomeKnown,
    ];

    /// The name on the command line.
    pub fn name(self) -> String {
        let name = match self {
            Self::Drawn(drawn) => return drawn.to_string(),
            Self::Office31Paper => "office31-paper",
            Self::Office31Caltech => "office31-caltech",
            Self::Office31Development => "office31-development",
            Self::Office31NoPrivate => "office31-no-private",
            Self::Office31FewPrivate => "office31-few-private",
            Self::Office31ManyPrivate => "office31-many-private",
            Self::Office31FewKnown => "office31-few-known",
            Self::Office31NoKnown => "office31-no-known",
            Self::Office31SomeKnown => "office31-some-known",
            Self::OfficeHome => "office-home",
            Self::OfficeHomeNoPrivate => "office-home-no-private",
            Self::OfficeHomeNoKnown => "office-home-no-known",
            Self::OfficeHomeSomeKnown => "office-home-some-known",
        };
        name.to_string()
    }

    /// How many class folders the benchmark has.
    pub fn class_count(self) -> usize {
        self.cut().classes
    }

    /// The names of the known class folders below `root`.
    pub fn known(self, root: &Path) -> Result<Vec<String>, ListError> {
        Ok(self.ordered(root)?[self.cut().known].to_vec())
    }

    /// The names of the private class folders below `root`.
    pub fn private(self, root: &Path) -> Result<Vec<String>, ListError> {
        Ok(self.ordered(root)?[self.cut().private].to_vec())
    }

    /// The names of the class folders below `root` whose images a target has.
    pub fn target(self, root: &Path) -> Result<Vec<String>, ListError> {
        let (classes, cut) = (self.ordered(root)?, self.cut());
        Ok([&classes[cut.here], &classes[cut.private]].concat())
    }

    fn cut(self) -> Cut {
        let cut = |classes, known: Range<usize>, private| Cut {
            classes,
            here: known.clone(),
            known,
            private,
        };
        let office31 = cut(31, 0..10, 20..31);
        let office_home = cut(65, 0..25, 25..65);
        match self {
            Self::Office31Paper | Self::Office31Caltech => office31,
            Self::Office31Development => cut(31, 10..15, 15..20),
            Self::Office31NoPrivate => cut(31, 0..10, 31..31),
            Self::Office31FewPrivate => cut(31, 0..10, 26..31),
            Self::Office31ManyPrivate => cut(31, 0..10, 10..31),
            Self::Office31FewKnown => cut(31, 0..5, 20..31),
            Self::Office31NoKnown => office31.with_only(0..0),
            Self::Office31SomeKnown => office31.with_only(0..5),
            Self::OfficeHome => office_home,
            Self::OfficeHomeNoPrivate => cut(65, 0..25, 65..65),
            Self::OfficeHomeNoKnown => office_home.with_only(0..0),
            Self::OfficeHomeSomeKnown => office_home.with_only(0..10),
            Self::Drawn(drawn) => drawn.cut(),
        }
    }

    /// The class folders below `root` in the order of the benchmark, of which there must be the right number.
    fn ordered(self, root: &Path) -> Result<Vec<String>, ListError> {
        let mut classes = class_folders(root)?;
        let path = root.to_path_buf();
        if classes.len() != self.class_count() {
            return Err(ListError::NotTheBenchmark {
                split: self,
                path,
                found: classes,
            });
        }
        if let Self::Drawn(drawn) = self {
            return Ok(drawn.shuffled(classes));
        }
        if self == Self::Office31Caltech {
            let shared = SHARED_WITH_CALTECH.map(String::from);
            let missing: Vec<_> = shared
                .iter()
                .filter(|name| !classes.contains(name))
                .cloned()
                .collect();
            if !missing.is_empty() {
                return Err(ListError::MissingClasses {
                    split: self,
                    path,
                    missing,
                });
            }
            classes.retain(|name| !shared.contains(name));
            classes.splice(0..0, shared);
        }
        Ok(classes)
    }
}

/// Which classes, in the order of the benchmark.
pub(super) struct Cut {
    /// All of them.
    pub classes: usize,
    /// Those of the source model.
    pub known: Range<usize>,
    /// Those of them that occur in the target.
    pub here: Range<usize>,
    pub private: Range<usize>,
}

impl Cut {
    fn with_only(self, here: Range<usize>) -> Self {
        Self { here, ..self }
    }
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

impl FromStr for Split {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        if let Some(drawn) = Drawn::parse(name) {
            return drawn.map(Self::Drawn);
        }
        Self::ALL
            .into_iter()
            .find(|split| split.name() == name)
            .ok_or_else(|| {
                let names = Self::ALL.map(Self::name).join(", ");
                format!("there is no split `{name}` (there are {names}, and divisions by lot, such as {})", Drawn::SHAPE)
            })
    }
}

/// The names of the folders directly below `root`, sorted.
fn class_folders(root: &Path) -> Result<Vec<String>, ListError> {
    let unreadable = |source| ListError::Unreadable {
        path: root.to_path_buf(),
        source,
    };
    let mut names = Vec::new();
    for entry in std::fs::read_dir(root).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') && entry.path().is_dir() {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The class folders of Office-31.
    const OFFICE_31: [&str; 31] = [
        "back_pack",
        "bike",
        "bike_helmet",
        "bookcase",
        "bottle",
        "calculator",
        "desk_chair",
        "desk_lamp",
        "desktop_computer",
        "file_cabinet",
        "headphones",
        "keyboard",
        "laptop_computer",
        "letter_tray",
        "mobile_phone",
        "monitor",
        "mouse",
        "mug",
        "paper_notebook",
        "pen",
        "phone",
        "printer",
        "projector",
        "punchers",
        "ring_binder",
        "ruler",
        "scissors",
        "speaker",
        "stapler",
        "tape_dispenser",
        "trash_can",
    ];

    fn folders<'a>(names: impl IntoIterator<Item = &'a str>) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for name in names {
            std::fs::create_dir(root.path().join(name)).unwrap();
        }
        root
    }

    #[test]
    fn names_round_trip() {
        for split in Split::ALL {
            assert_eq!(split.to_string().parse(), Ok(split));
        }
        assert!(
            "office31"
                .parse::<Split>()
                .unwrap_err()
                .contains("office31-paper")
        );
    }

    #[test]
    fn the_paper_splits_office_31_alphabetically() {
        let root = folders(OFFICE_31);
        let split = Split::Office31Paper;
        assert_eq!(split.known(root.path()).unwrap(), OFFICE_31[..10]);
        assert_eq!(split.private(root.path()).unwrap(), OFFICE_31[20..]);
    }

    #[test]
    fn caltech_puts_the_shared_classes_first() {
        let root = folders(OFFICE_31);
        let split = Split::Office31Caltech;
        assert_eq!(split.known(root.path()).unwrap(), SHARED_WITH_CALTECH);
        // As printed in the papers that use it.
        let private = [
            "pen",
            "phone",
            "printer",
            "punchers",
            "ring_binder",
            "ruler",
            "scissors",
            "speaker",
            "stapler",
            "tape_dispenser",
            "trash_can",
        ];
        assert_eq!(split.private(root.path()).unwrap(), private);
    }

    #[test]
    fn development_shares_no_class_with_the_paper() {
        let root = folders(OFFICE_31);
        let classes = |split: Split| {
            let known = split.known(root.path()).unwrap();
            [known, split.private(root.path()).unwrap()].concat()
        };
        let development = classes(Split::Office31Development);
        assert_eq!(development, OFFICE_31[10..20]);
        let paper = classes(Split::Office31Paper);
        assert!(development.iter().all(|class| !paper.contains(class)));
    }

    #[test]
    fn proportions_vary_the_paper_s_split() {
        let root = folders(OFFICE_31);
        for (split, known, here, private) in [
            (Split::Office31NoPrivate, 0..10, 0..10, 31..31),
            (Split::Office31FewPrivate, 0..10, 0..10, 26..31),
            (Split::Office31ManyPrivate, 0..10, 0..10, 10..31),
            (Split::Office31FewKnown, 0..5, 0..5, 20..31),
            (Split::Office31NoKnown, 0..10, 0..0, 20..31),
            (Split::Office31SomeKnown, 0..10, 0..5, 20..31),
        ] {
            assert_eq!(split.known(root.path()).unwrap(), OFFICE_31[known]);
            let (here, private) = (&OFFICE_31[here], &OFFICE_31[private]);
            assert_eq!(split.private(root.path()).unwrap(), private);
            assert_eq!(split.target(root.path()).unwrap(), [here, private].concat());
        }
    }

    #[test]
    fn a_draw_is_a_function_of_its_number() {
        let root = folders(OFFICE_31);
        let drawn = |name: &str| -> Split {
            let split: Split = name.parse().unwrap();
            assert_eq!(split.to_string(), name);
            split
        };
        let (one, two) = (drawn("office31-draw1-20-11"), drawn("office31-draw2-20-11"));
        let known = one.known(root.path()).unwrap();
        assert!(known != two.known(root.path()).unwrap());
        let all = one.target(root.path()).unwrap();
        let mut sorted = all.clone();
        sorted.sort();
        assert_eq!(sorted, OFFICE_31);
        // The same order, cut elsewhere.
        let fewer = drawn("office31-draw1-10-5-here-3");
        assert_eq!(fewer.known(root.path()).unwrap(), all[..10]);
        assert_eq!(fewer.private(root.path()).unwrap(), all[10..15]);
        let here = fewer.target(root.path()).unwrap();
        assert_eq!(here, [&all[..3], &all[10..15]].concat());
        assert!(
            drawn("office31-draw1-10-0")
                .private(root.path())
                .unwrap()
                .is_empty()
        );
    }

    #[test]
    fn draws_that_cannot_be_are_refused_with_what_is_wrong() {
        let refused = |name: &str| name.parse::<Split>().unwrap_err();
        for name in [
            "office31-draw1-20-12",
            "office31-draw1-0-5",
            "office-home-draw1-60-6",
        ] {
            assert!(
                refused(name).contains("cannot be drawn from"),
                "{}",
                refused(name)
            );
        }
        for name in ["office31-draw1-5-5-here-6", "office31-draw1-5-0-here-0"] {
            assert!(refused(name).contains("are no target"));
        }
        for name in [
            "office31-draw",
            "office31-draw1-5",
            "office31-draw1-5-5-6",
            "office31-draw1-+5-5",
        ] {
            assert!(
                refused(name).contains("office31-draw1-10-11"),
                "{}",
                refused(name)
            );
        }
    }

    #[test]
    fn office_home_has_25_known_and_40_private_classes() {
        let names: Vec<String> = (0..65).map(|i| format!("Class_{i:02}")).collect();
        let root = folders(names.iter().map(String::as_str));
        for (split, here, private) in [
            (Split::OfficeHome, 0..25, 25..65),
            (Split::OfficeHomeNoPrivate, 0..25, 65..65),
            (Split::OfficeHomeNoKnown, 0..0, 25..65),
            (Split::OfficeHomeSomeKnown, 0..10, 25..65),
        ] {
            assert_eq!(split.known(root.path()).unwrap(), names[..25]);
            let (here, private) = (&names[here], &names[private]);
            assert_eq!(split.private(root.path()).unwrap(), private);
            assert_eq!(split.target(root.path()).unwrap(), [here, private].concat());
        }
    }

    #[test]
    fn other_folders_are_refused_with_what_was_found() {
        let root = folders(["images"]);
        let error = Split::Office31Paper.known(root.path()).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("office31-paper needs 31 class folders, found 1: ")
        );
        assert!(error.hint().unwrap().contains("perhaps `images` below it"));

        let renamed = OFFICE_31.map(|name| if name == "mug" { "cup" } else { name });
        let error = Split::Office31Caltech
            .private(folders(renamed).path())
            .unwrap_err();
        assert!(error.to_string().contains("(mug)"), "{error}");
    }
}
