//! What a provider said, made fit for a journal: one line, short, without keys.

/// Longest message that is kept, in characters.
pub(crate) const MESSAGE_CHARS_MAX: usize = 300;
/// How much of a message is looked at, in bytes; the rest would be cut anyway.
const LOOKED_AT_BYTES_MAX: usize = 4096;
/// What stands for a key.
const HIDDEN: &str = "[hidden]";
/// How keys begin.
const KEY_PREFIXES: [&str; 15] = [
    "sk-", "sk_", "gsk_", "csk-", "xai-", "key-", "sess-", "nvapi-", "AIza", "AQ.", "ya29.", "eyJ",
    "gAAA", "hf_", "pplx-",
];
/// Shortest word that can be a key with such a beginning, in bytes.
const PREFIXED_BYTES_MIN: usize = 8;
/// Shortest run of letters and digits that is a key by its length alone: words are shorter.
const OPAQUE_BYTES_MIN: usize = 20;
/// Words that a key follows, in lower case.
const HERALDS: [&str; 4] = ["bearer", "x-api-key:", "authorization:", "provided:"];
/// Words that may follow those in a sentence: "the bearer token is missing".
const PROSE: [&str; 6] = ["auth", "authentication", "header", "is", "token", "was"];

/// One line of bounded length without keys.
pub(crate) fn short(message: &str) -> String {
    let end = message.floor_char_boundary(LOOKED_AT_BYTES_MAX);
    let message = message.get(..end).unwrap_or_default();
    let mut line = String::new();
    let mut heralded = false;
    let blank = |letter: char| letter.is_whitespace() || letter.is_control();
    for word in message.split(blank).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        let lower = word.to_lowercase();
        let is_herald = HERALDS.iter().any(|herald| lower.ends_with(herald));
        if heralded && !is_herald && !PROSE.contains(&&*lower) {
            line.push_str(HIDDEN);
        } else {
            push_without_keys(&mut line, word);
        }
        heralded = is_herald;
    }
    if line.chars().count() <= MESSAGE_CHARS_MAX {
        return line;
    }
    line.chars().take(MESSAGE_CHARS_MAX - 1).chain(['…']).collect()
}

/// The text of a body that is not the documented JSON. A web page of some proxy says nothing that
/// its status does not.
pub(crate) fn plain(body: &str) -> &str {
    let body = body.trim();
    if body.starts_with(['<', '{', '[']) { "" } else { body }
}

/// Signs around a key stay; the key goes.
fn push_without_keys(line: &mut String, word: &str) {
    let part_of_key = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '_' | '.');
    let mut rest = word;
    while !rest.is_empty() {
        let end = rest.find(|it: char| !part_of_key(it)).unwrap_or(rest.len());
        let (run, behind) = rest.split_at(end);
        line.push_str(if is_key(run) { HIDDEN } else { run });
        let signs = behind.find(part_of_key).unwrap_or(behind.len());
        let (signs, behind) = behind.split_at(signs);
        line.push_str(signs);
        rest = behind;
    }
}

fn is_key(run: &str) -> bool {
    let prefixed = KEY_PREFIXES.iter().any(|prefix| run.starts_with(prefix));
    let is_opaque = |part: &str| {
        OPAQUE_BYTES_MIN <= part.len()
            && part.bytes().any(|it| it.is_ascii_digit())
            && part.bytes().any(|it| it.is_ascii_alphabetic())
    };
    prefixed && PREFIXED_BYTES_MIN <= run.len()
        || run.split(|it: char| !it.is_ascii_alphanumeric()).any(is_opaque)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_hidden_and_words_stay() {
        for (message, expected) in [
            (" two\n lines\u{0} ", "two lines"),
            ("key 'sk-ant-api03-abcdef', sorry", "key '[hidden]', sorry"),
            ("Incorrect key: sk-proj-abcdef123456. See docs", "Incorrect key: [hidden] See docs"),
            ("GET /models?key=AIzaSyNotARealKey&x=1", "GET /models?key=[hidden]&x=1"),
            ("Authorization: Bearer abc.def", "Authorization: Bearer [hidden]"),
            ("the bearer token is missing", "the bearer token is missing"),
            ("x-api-key: Secret refused", "x-api-key: [hidden] refused"),
            ("token Zm9vYmFyYmF6cXV4Zm9vYmFyOTk=", "token [hidden]="),
            (
                "task-force sk- stays, claude-opus-4-5-20251101 too",
                "task-force sk- stays, claude-opus-4-5-20251101 too",
            ),
            ("messages.1.content.0.thinking_signature", "messages.1.content.0.thinking_signature"),
            ("Donaudampfschifffahrtsgesellschaft", "Donaudampfschifffahrtsgesellschaft"),
        ] {
            assert_eq!(short(message), expected);
        }
    }

    #[test]
    fn long_messages_are_cut() {
        let long = short(&"ä".repeat(MESSAGE_CHARS_MAX + 1));
        assert_eq!((long.chars().count(), long.ends_with('…')), (MESSAGE_CHARS_MAX, true));
        assert_eq!(short(&"ä".repeat(MESSAGE_CHARS_MAX)).chars().count(), MESSAGE_CHARS_MAX);
        assert!(short(&"word ".repeat(100_000)).ends_with('…'));
    }
}
