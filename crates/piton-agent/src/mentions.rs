//! Files that a typed text mentions as `@path`: which there are to be named, and which were named. A
//! terminal and the page ask here, so that both offer and send the same.

use std::fs;
use std::path::{Component, Path, PathBuf};

use ignore::{DirEntry, WalkBuilder};
use piton_core::summary::name_on_one_line;

use crate::trust;

/// Most entries of a directory that are offered.
const OFFERED_MAX: usize = 200;
/// Most entries of a directory that are looked at.
const LOOKED_AT_MAX: usize = 20_000;
/// Most entries of a directory that a mention lists.
const LISTED_MAX: usize = 500;
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

/// Whether a path leads, behind all links, into a workspace.
pub fn is_inside(path: &Path, directory: &Path, workspace: &Path) -> bool {
    trust::is_inside(&directory.join(path), workspace)
}

/// Whether a path lies in a workspace by its letters, and a link of that workspace leads it out.
pub fn leads_out(path: &Path, directory: &Path, workspace: &Path) -> bool {
    let whole = trust::plain(&directory.join(path));
    whole.is_some_and(|whole| whole.starts_with(workspace))
        && !is_inside(path, directory, workspace)
}

/// Paths that begin as it was typed, in order; a directory ends with `/`. What ignore files leave out is
/// not offered, unless the directory that holds it was typed.
pub fn beginning(typed: &str, directory: &Path) -> Vec<String> {
    let (inner, begun) = match typed.rsplit_once('/') {
        Some((inner, begun)) => (format!("{inner}/"), begun),
        None => (String::new(), typed),
    };
    let mut walk = WalkBuilder::new(directory.join(&inner));
    let walk = walk.max_depth(Some(1)).hidden(false).git_global(false).build();
    let entries = walk.flatten().filter(|entry| 0 < entry.depth()).take(LOOKED_AT_MAX);
    let fitting = |entry: DirEntry| {
        let name = entry.file_name().to_str()?;
        // A name with a blank would end the mention; hidden ones are offered when asked for.
        let is_fit = name.starts_with(begun)
            && !name.contains(|it: char| it.is_whitespace() || it.is_control())
            && (begun.starts_with('.') || !name.starts_with('.'));
        let end = if entry.path().is_dir() { "/" } else { "" };
        is_fit.then(|| format!("{inner}{name}{end}"))
    };
    let mut found: Vec<String> = entries.filter_map(fitting).collect();
    found.sort();
    found.truncate(OFFERED_MAX);
    found
}

/// What the model and people call a file: the path as typed if it leads down from here, else its last
/// part. Where somebody's files lie is nobody's business.
pub fn name(path: &Path) -> String {
    let is_down = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    let told = if path.components().all(is_down) {
        path.components().filter(|part| matches!(part, Component::Normal(_))).collect()
    } else {
        PathBuf::from(path.file_name().unwrap_or(path.as_os_str()))
    };
    told.to_string_lossy().into_owned()
}

/// A directory that was mentioned, as a file that goes along: its name, and its entries, one per line.
pub fn listing(path: &Path, directory: &Path) -> (String, String) {
    let entries = fs::read_dir(directory.join(path)).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| {
            let end = if entry.file_type().is_ok_and(|kind| kind.is_dir()) { "/" } else { "" };
            format!("{}{end}", name_on_one_line(&entry.file_name().to_string_lossy()))
        })
        .collect();
    names.sort();
    let more = names.len().saturating_sub(LISTED_MAX);
    names.truncate(LISTED_MAX);
    if names.is_empty() {
        names.push("(the directory is empty)".into());
    }
    if 0 < more {
        names.push(format!("({more} more)"));
    }
    let name = format!("{}/", path.to_string_lossy().trim_end_matches('/'));
    (name, format!("{}\n", names.join("\n")))
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
    use super::*;

    #[test]
    fn paths_are_offered_as_they_begin_and_without_what_is_ignored() {
        let root = tempfile::tempdir().unwrap();
        let at = root.path();
        for name in ["src/main.rs", "src/.hidden", "sample.txt", "two words", "target/sub/x"] {
            fs::create_dir_all(at.join(name).parent().unwrap()).unwrap();
            fs::write(at.join(name), "x").unwrap();
        }
        fs::write(at.join(".ignore"), "target\n*.log\n").unwrap();
        fs::write(at.join("src/a.log"), "x").unwrap();
        for (typed, expected) in [
            ("s", vec!["sample.txt", "src/"]),
            ("src/", vec!["src/main.rs"]),
            ("src/.", vec!["src/.hidden"]),
            ("t", vec![]),
            ("target/", vec!["target/sub/"]),
            ("nowhere/x", vec![]),
            ("sample.txt/", vec![]),
        ] {
            assert_eq!(beginning(typed, at), expected, "{typed}");
        }
    }

    #[test]
    fn what_is_offered_of_a_large_directory_has_an_end() {
        let root = tempfile::tempdir().unwrap();
        for number in 0..OFFERED_MAX + 50 {
            fs::write(root.path().join(format!("f{number:04}")), "x").unwrap();
        }
        let found = beginning("f", root.path());
        assert_eq!((found.len(), found.first().unwrap().as_str()), (OFFERED_MAX, "f0000"));
    }

    #[test]
    fn a_name_tells_no_more_than_was_typed_from_here() {
        for (path, expected) in
            [("a.png", "a.png"), ("./b/./a.png", "b/a.png"), ("/x/y/a.png", "a.png"), ("../a", "a")]
        {
            assert_eq!(name(Path::new(path)), expected);
        }
    }

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
