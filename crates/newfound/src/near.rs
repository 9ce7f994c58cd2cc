//! The names someone may have meant.

/// Up to three of `names` that are nearest to `wanted` by edits, best first; none that differ in more than
/// half of the letters.
pub fn nearest(wanted: &str, names: &[String]) -> Vec<String> {
    let fold = |name: &str| {
        name.to_lowercase()
            .replace(['-', ' '], "_")
            .chars()
            .collect::<Vec<_>>()
    };
    let wanted = fold(wanted);
    let mut near: Vec<(usize, &String)> = names
        .iter()
        .map(|name| (edits(&wanted, &fold(name)), name))
        .filter(|&(edits, _)| 2 * edits <= wanted.len())
        .collect();
    near.sort();
    near.into_iter()
        .take(3)
        .map(|(_, name)| name.clone())
        .collect()
}

/// The least number of letters to insert, delete or replace that makes `a` into `b` (Levenshtein).
fn edits(a: &[char], b: &[char]) -> usize {
    // row[j] = edits between the letters of a read so far and the first j of b.
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, other) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != other);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        let edits = |a: &str, b: &str| {
            edits(
                &a.chars().collect::<Vec<_>>(),
                &b.chars().collect::<Vec<_>>(),
            )
        };
        assert_eq!(edits("kitten", "sitting"), 3);
        assert_eq!(edits("", "abc"), 3);
        assert_eq!(edits("abc", ""), 3);
        assert_eq!(edits("same", "same"), 0);
    }

    #[test]
    fn only_near_names_are_offered() {
        let names = ["back_pack", "bike", "bike_helmet", "mug"].map(String::from);
        assert_eq!(nearest("Back-Pack", &names), ["back_pack"]);
        assert_eq!(nearest("bikes", &names), ["bike"]);
        assert!(nearest("zebra", &names).is_empty());
    }
}
