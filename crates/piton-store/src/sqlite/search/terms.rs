//! The words of a text, as the index keeps them.
//!
//! Words are runs of letters and digits, in lower case. A run that is longer than any word people look
//! for, such as a line of base64, is not kept: its text is marked, and always looked at.

use std::collections::BTreeSet;

/// Longest word that is kept, in characters.
pub(super) const TERM_CHARS_MAX: usize = 64;
/// Fewest letters by which a word is found in its middle.
pub(super) const TAIL_CHARS_MIN: usize = 3;
/// Most letters of the end of a word that are kept to find it.
const TAIL_CHARS_MAX: usize = 8;
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

/// What a word is found by: its letters from each place on, as many as are kept.
pub(super) fn tails(term: &str) -> impl Iterator<Item = &str> {
    let starts = term.char_indices().map(|(start, _)| start);
    starts.filter_map(|start| term.get(start..)).filter_map(|rest| {
        let tail = tail(rest);
        (TAIL_CHARS_MIN <= tail.chars().count()).then_some(tail)
    })
}

/// The letters of a text that are kept of it as a tail.
pub(super) fn tail(text: &str) -> &str {
    let end = text.char_indices().nth(TAIL_CHARS_MAX).map_or(text.len(), |(end, _)| end);
    text.get(..end).unwrap_or_default()
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
    fn a_word_is_found_by_its_letters_from_each_place_on() {
        assert_eq!(tails("größe").collect::<Vec<_>>(), ["größe", "röße", "öße"]);
        assert_eq!(
            tails("abcdefghij").take(3).collect::<Vec<_>>(),
            ["abcdefgh", "bcdefghi", "cdefghij"]
        );
        assert_eq!(tails("ab").count(), 0);
    }

    #[test]
    fn a_long_run_marks_its_text() {
        let text = format!("{} end", "a".repeat(TERM_CHARS_MAX + 1));
        let words: Vec<_> = distinct(&text).into_iter().collect();
        assert_eq!(words, ["end", LONG]);
    }
}
