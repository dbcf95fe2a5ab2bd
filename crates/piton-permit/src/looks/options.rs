//! Words of a command that begin like options, held against lists.

pub(super) fn is_option(word: &str) -> bool {
    word.starts_with('-') && word != "-"
}

/// Whether a word is made of listed options only: letters without a value, at last one with a value,
/// or a long name with or without a value. Shortened long names are not known.
pub(super) fn has_option(word: &str, flags: &str, valued: &str, long: &str) -> bool {
    if let Some(rest) = word.strip_prefix("--") {
        let name = rest.split_once('=').map_or(rest, |(name, _)| name);
        return rest.is_empty() || is_in(long, name);
    }
    for letter in word.chars().skip(1) {
        if valued.contains(letter) {
            return true;
        }
        if !flags.contains(letter) {
            return false;
        }
    }
    true
}

/// Whether a word may be a listed option: a letter anywhere in it, or a long name, also shortened.
pub(super) fn may_be(word: &str, letters: &str, long: &str) -> bool {
    match word.strip_prefix("--") {
        Some(rest) => {
            let name = rest.split('=').next().unwrap_or_default();
            !name.is_empty() && long.split(' ').any(|known| known.starts_with(name))
        }
        None => is_option(word) && word.contains(|letter| letters.contains(letter)),
    }
}

/// Whether a list of words has one.
pub(super) fn is_in(list: &str, word: &str) -> bool {
    !word.is_empty() && list.split(' ').any(|listed| listed == word)
}
