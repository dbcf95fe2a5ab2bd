//! Names that somebody may have meant when a file was not found.

use std::os::fd::OwnedFd;

use rustix::fs::Dir;
use strsim::levenshtein;

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
            let distance = levenshtein(&wanted, &found);
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

#[cfg(test)]
mod tests {
    use super::*;

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
