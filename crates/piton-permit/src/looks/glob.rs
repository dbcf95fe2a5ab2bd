//! Words in whose place the shell puts names of files. A file can be called `--exec=x`, so such a word
//! must not be able to become an option.

use super::options::is_in;
use super::programs::is_reading;

/// Letters that make a word a pattern.
const PATTERN: [char; 3] = ['*', '?', '['];
/// Programs that take no word behind `--` for an option.
const ENDING_OPTIONS: [&str; 15] = [
    "cat", "cmp", "comm", "cut", "diff", "du", "git", "grep", "head", "ls", "nl", "rg", "stat",
    "tail", "wc",
];

/// Whether nothing that this word of a command can become is more than a path. Where such a path leads is
/// for the wall.
pub(super) fn is_harmless(words: &[String], place: usize) -> bool {
    let (Some(name), Some(word)) = (words.first(), words.get(place)) else { return false };
    let Some((fixed, pattern)) = split(word) else { return false };
    // A second file may be written to, a script is no path, and `..` is in `.*` for some shells.
    let takes_paths = is_in("find git", name) || name != "uniq" && is_reading(name);
    let may_climb = |part: &str| part.starts_with('.') && part.contains(PATTERN);
    if !takes_paths || pattern.split('/').any(may_climb) {
        return false;
    }
    let before = words.get(1..place).unwrap_or_default();
    let behind_options =
        before.iter().any(|word| word == "--") && ENDING_OPTIONS.contains(&name.as_str());
    behind_options || !fixed.is_empty() && !fixed.starts_with('-')
}

/// The directory that a word begins with, and the rest of it, which has the pattern.
fn split(word: &str) -> Option<(&str, &str)> {
    let first = word.find(PATTERN)?;
    let slash = word.get(..first)?.rfind('/').map_or(0, |slash| slash + 1);
    word.split_at_checked(slash)
}
