//! Names that somebody may have meant when a file was not found.

use std::os::fd::OwnedFd;

use rustix::fs::Dir;

/// Most names of a directory that are looked at.
const NAMES_LOOKED_AT_MAX: usize = 2_000;
/// Most names that are suggested.
const SUGGESTIONS_MAX: usize = 3;

/// Names in `directory` that resemble `name` and may be told, the nearest first.
pub(crate) fn names(
    directory: &OwnedFd,
    name: &str,
    may_be_told: impl Fn(&str) -> bool,
) -> Vec<String> {
    let Ok(entries) = Dir::read_from(directory) else { return Vec::new() };
    let mut near: Vec<(usize, String)> = entries
        .take(NAMES_LOOKED_AT_MAX)
        .filter_map(|entry| entry.ok()?.file_name().to_str().ok().map(str::to_owned))
        .filter(|other| !matches!(other.as_str(), "." | "..") && may_be_told(other))
        .filter_map(|other| {
            let (wanted, found) = (name.to_lowercase(), other.to_lowercase());
            let distance = distance(&wanted, &found);
            // A third of the letters may differ, `main.s` finds `main.rs`; or all be there in
            // another order, `scr` finds `src`.
            let near =
                distance * 3 <= wanted.chars().count() || letters(&wanted) == letters(&found);
            near.then_some((distance, other))
        })
        .collect();
    near.sort();
    near.truncate(SUGGESTIONS_MAX);
    near.into_iter().map(|(_, name)| name).collect()
}

fn letters(name: &str) -> Vec<char> {
    let mut letters: Vec<char> = name.chars().collect();
    letters.sort_unstable();
    letters
}

/// Letters to insert, remove or replace to get from one name to the other (Levenshtein).
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, letter) in from.chars().enumerate() {
        let mut corner = i;
        let mut left = i + 1;
        let next = row.iter().skip(1).zip(&to).map(|(&above, &other)| {
            let replaced = corner + usize::from(letter != other);
            corner = above;
            left = replaced.min(above + 1).min(left + 1);
            left
        });
        let mut next_row = vec![i + 1];
        next_row.extend(next);
        row = next_row;
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_changed_letters() {
        for (from, to, expected) in
            [("", "", 0), ("abc", "abc", 0), ("abc", "", 3), ("kitten", "sitting", 3)]
        {
            assert_eq!(distance(from, to), expected, "{from} {to}");
        }
    }

    #[test]
    fn near_names_come_first_and_far_ones_not_at_all() {
        let directory = tempfile::tempdir().expect("a directory");
        for name in ["main.rs", "Main.rs", "domain.rs", "Cargo.toml"] {
            std::fs::write(directory.path().join(name), "").expect("written");
        }
        let directory = std::fs::File::open(directory.path()).expect("opened").into();
        assert_eq!(names(&directory, "main.r", |_| true), ["Main.rs", "main.rs"]);
        assert_eq!(names(&directory, "main.r", |name| name != "Main.rs"), ["main.rs"]);
        assert!(names(&directory, "x", |_| true).is_empty());
    }
}
