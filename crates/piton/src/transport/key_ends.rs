//! The ends of a key that is quoted with its middle left out: `sk-***wxyz`, `sk-...wxyz`, "ending in
//! wxyz". They tell keys apart, and are not for journals and reports.

use zeroize::Zeroizing;

/// Shortest part of a key that is hidden, in bytes.
const PART_BYTES_MIN: usize = 2;
/// Fewest letters that stand for a middle that was left out.
const MASK_CHARS_MIN: usize = 2;
/// What is said in front of the end of a key.
const LEADS: [&str; 4] = ["ending in", "ending with", "ends in", "ends with"];
/// What may stand between that and the end of a key.
const QUOTES: [char; 6] = [' ', '"', '\'', '`', ':', '('];

/// A text with `cover` in the place of each key that is quoted by its ends.
pub(super) fn covered(text: &str, keys: &[Zeroizing<String>], cover: &str) -> String {
    let (mut said, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(letter) = rest.chars().next() {
        let mask = mask_bytes(rest);
        let (masked, behind) = rest.split_at(mask);
        let end = if mask == 0 && !is_led(&said) { None } else { end_of_key(behind, keys) };
        let begun = if mask == 0 { None } else { begun_key(&said, keys) };
        if end.is_none() && begun.is_none() {
            let bytes = mask.max(letter.len_utf8());
            said.push_str(rest.get(..bytes).unwrap_or_default());
            rest = rest.get(bytes..).unwrap_or_default();
            continue;
        }
        said.truncate(said.len() - begun.unwrap_or(0));
        said.push_str(cover);
        rest = rest.get(masked.len() + end.unwrap_or(0)..).unwrap_or_default();
    }
    said
}

/// How long a run of letters is that stand for what was left out.
fn mask_bytes(text: &str) -> usize {
    if text.starts_with('\u{2026}') {
        return '\u{2026}'.len_utf8();
    }
    let run = |mark: char| text.chars().take_while(|letter| *letter == mark).count();
    let stars = run('*').max(run('.'));
    if MASK_CHARS_MIN <= stars { stars } else { 0 }
}

/// Whether the end of a key is announced.
fn is_led(said: &str) -> bool {
    let said = said.trim_end_matches(QUOTES);
    LEADS.iter().any(|lead| {
        let start = said.len().checked_sub(lead.len());
        start.and_then(|start| said.get(start..)).is_some_and(|end| end.eq_ignore_ascii_case(lead))
    })
}

/// How much of a key's end stands here, if no more of a word follows.
fn end_of_key(text: &str, keys: &[Zeroizing<String>]) -> Option<usize> {
    let word = text.find(|letter: char| !letter.is_ascii_alphanumeric() && !"-_".contains(letter));
    let word = text.get(..word.unwrap_or(text.len()))?;
    let is_end = PART_BYTES_MIN <= word.len() && keys.iter().any(|key| key.ends_with(word));
    is_end.then_some(word.len())
}

/// How much of a key's beginning stands at the end.
fn begun_key(said: &str, keys: &[Zeroizing<String>]) -> Option<usize> {
    let begun = |key: &Zeroizing<String>| {
        let parts = (PART_BYTES_MIN..key.len()).rev();
        parts.into_iter().find(|part| key.get(..*part).is_some_and(|it| said.ends_with(it)))
    };
    keys.iter().filter_map(begun).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let keys = [Zeroizing::new("sk-proj-0123456789wxyz".to_owned())];
        assert_eq!(covered(text, &keys, "[hidden]"), expected);
    }

    #[test]
    fn a_key_that_is_quoted_by_its_ends_is_covered() {
        check("wrong key: sk-proj-****wxyz.", "wrong key: [hidden].");
        check("wrong key: sk-pr...wxyz, sorry", "wrong key: [hidden], sorry");
        check("wrong key \u{2026}9wxyz", "wrong key [hidden]");
        check("wrong key sk-************", "wrong key [hidden]");
        check("the key ending in wxyz is old", "the key ending in [hidden] is old");
        check("the key that ends with \"wxyz\"", "the key that ends with \"[hidden]\"");
    }

    #[test]
    fn other_words_stay() {
        for text in ["wait...", "a **bold** word... and more", "xyz", "ending in tears", "…wxyza"]
        {
            check(text, text);
        }
    }
}
