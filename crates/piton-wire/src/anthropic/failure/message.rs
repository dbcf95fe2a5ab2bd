//! What a provider said, made fit for a journal: one line, short, without keys.

/// Longest message that is kept, in characters.
const MESSAGE_CHARS_MAX: usize = 300;
/// How much of a body is looked at, in bytes; the rest would be cut anyway.
const LOOKED_AT_BYTES_MAX: usize = 4096;
/// What stands for a key.
const HIDDEN: &str = "[hidden]";
/// How keys begin.
const KEY_PREFIXES: [&str; 2] = ["sk-", "key-"];
/// Words that a key follows.
const KEY_HERALDS: [&str; 3] = ["bearer", "x-api-key:", "authorization:"];

/// The text of a body that is not the documented JSON. A web page of some proxy says nothing that
/// its status does not.
pub(super) fn plain(body: &str) -> String {
    let body = body.trim();
    if body.starts_with('<') || body.starts_with(['{', '[']) { String::new() } else { body.into() }
}

/// One line of bounded length without keys.
pub(super) fn short(text: &str) -> String {
    let end = text.floor_char_boundary(LOOKED_AT_BYTES_MAX);
    let text = text.get(..end).unwrap_or_default();
    let mut line = String::new();
    let mut heralded = false;
    for word in text.split(|letter: char| letter.is_whitespace() || letter.is_control()) {
        if word.is_empty() {
            continue;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        let lower = word.to_lowercase();
        let herald = KEY_HERALDS.iter().any(|herald| lower.ends_with(herald));
        if (heralded && !herald) || has_key(&lower) {
            line.push_str(HIDDEN);
        } else {
            line.push_str(word);
        }
        heralded = herald;
    }
    if line.chars().count() <= MESSAGE_CHARS_MAX {
        return line;
    }
    line.chars().take(MESSAGE_CHARS_MAX - 1).chain(['…']).collect()
}

fn has_key(word: &str) -> bool {
    let parts =
        word.split(|letter: char| !(letter.is_ascii_alphanumeric() || "-_".contains(letter)));
    parts.into_iter().any(|part| {
        KEY_PREFIXES.iter().any(|prefix| part.starts_with(prefix) && prefix.len() + 4 < part.len())
    })
}
