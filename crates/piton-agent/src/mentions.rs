//! Files that a typed text mentions as `@path`.

use std::path::{Path, PathBuf};

/// Most files that one text mentions.
const MENTIONS_MAX: usize = 50;
/// What may stand directly behind a path in a sentence, and in front of a mention.
const BEHIND: [char; 10] = ['.', ',', ';', ':', '!', '?', ')', ']', '}', '\''];
const BEFORE: [char; 5] = ['(', '[', '{', '\'', '`'];

/// The paths that a text mentions and that exist, each once, in order. What does not exist is text: an
/// address, a decorator, a name.
pub fn mentioned(text: &str, directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for candidate in candidates(text) {
        let Some(path) = existing(&candidate, directory) else { continue };
        if !found.contains(&path) && found.len() < MENTIONS_MAX {
            found.push(path);
        }
    }
    found
}

/// What stands behind each `@` that begins a word.
fn candidates(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut before = ' ';
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        rest = rest.get(letter.len_utf8()..).unwrap_or_default();
        if letter == '@' && (before.is_whitespace() || BEFORE.contains(&before)) {
            let candidate = match rest.strip_prefix('"') {
                Some(quoted) => quoted.split_once('"').map_or("", |(path, _)| path),
                None => rest.split(char::is_whitespace).next().unwrap_or_default(),
            };
            found.extend((!candidate.is_empty()).then(|| candidate.to_owned()));
        }
        before = letter;
    }
    found
}

/// The path that is there: as it stands, or without the punctuation behind it.
fn existing(candidate: &str, directory: &Path) -> Option<PathBuf> {
    let mut path = candidate;
    loop {
        if path.is_empty() {
            return None;
        }
        if directory.join(path).exists() {
            return Some(path.into());
        }
        path = path.strip_suffix(BEHIND)?;
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn paths_that_exist_are_mentioned_and_everything_else_is_text() {
        let root = tempfile::tempdir().unwrap();
        let at = root.path();
        fs::create_dir(at.join("src")).unwrap();
        for name in ["a.rs", "src/b.rs", "two words.md", "c."] {
            fs::write(at.join(name), "x").unwrap();
        }
        for (text, expected) in [
            ("look at @a.rs and @src", vec!["a.rs", "src"]),
            ("(@a.rs), then @src/b.rs.", vec!["a.rs", "src/b.rs"]),
            ("@a.rs @a.rs", vec!["a.rs"]),
            ("read @\"two words.md\" now", vec!["two words.md"]),
            ("me@a.rs @Override @none.rs @", vec![]),
            ("see @c.", vec!["c."]),
            ("@a.rs?!", vec!["a.rs"]),
        ] {
            let expected: Vec<PathBuf> = expected.into_iter().map(PathBuf::from).collect();
            assert_eq!(mentioned(text, at), expected, "{text}");
        }
    }
}
