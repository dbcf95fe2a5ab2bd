//! The words of a text, as the index keeps them.
//!
//! Words are runs of letters and digits, in lower case. A run that is longer than any word people look
//! for, such as a line of base64, is not kept: its text is marked, and always looked at.

use std::collections::BTreeSet;

/// Longest word that is kept, in characters.
pub(super) const TERM_CHARS_MAX: usize = 64;
/// Stands in the place of words that are longer. No word has this sign.
pub(super) const LONG: &str = "§long";

/// The words of a text, each once.
pub(super) fn distinct(text: &str) -> BTreeSet<String> {
    runs(text).map(kept).collect()
}

/// The words of a text in order, whatever their length.
pub(super) fn runs(text: &str) -> impl Iterator<Item = String> {
    text.split(|letter: char| !letter.is_alphanumeric())
        .filter(|run| !run.is_empty())
        .map(str::to_lowercase)
}

/// Whether a word is kept as it is.
pub(super) fn is_kept(run: &str) -> bool {
    // Some letters have no single letter in the other case: what becomes of them is no word any more.
    run.chars().count() <= TERM_CHARS_MAX && run.chars().all(char::is_alphanumeric)
}

fn kept(run: String) -> String {
    if is_kept(&run) { run } else { LONG.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_runs_of_letters_and_digits_in_lower_case() {
        let words: Vec<_> = distinct("Retry_budget(x2), Größe; retry").into_iter().collect();
        assert_eq!(words, ["budget", "größe", "retry", "x2"]);
    }

    #[test]
    fn a_long_run_marks_its_text() {
        let text = format!("{} end", "a".repeat(TERM_CHARS_MAX + 1));
        let words: Vec<_> = distinct(&text).into_iter().collect();
        assert_eq!(words, ["end", LONG]);
    }
}
