//! What a provider says of its limit when it refuses a request as too large.

/// Limits outside of these bounds are numbers that mean something else, in tokens.
const TOKENS_MIN: u64 = 1_024;
const TOKENS_MAX: u64 = 100_000_000;

/// Words in front of a limit. The first that is there counts.
const IN_FRONT: [&str; 11] = [
    ">",
    "context length is",
    "prompt length is",
    "context length of",
    "context window of",
    "context window is",
    "context size",
    "tokens allowed",
    "token limit",
    "input length should be [1,",
    "context limit",
];
/// Words behind a limit.
const BEHIND: [&str; 4] =
    ["maximum context length", "token context window", "tokens maximum", "token limit"];
/// Letters between such words and the number.
const BETWEEN: [char; 6] = [' ', ':', '(', '=', '`', '*'];

/// The window that a refusal names, in tokens.
pub fn window_in(message: &str) -> Option<u64> {
    let text = message.to_lowercase();
    let in_front = IN_FRONT.iter().filter_map(|words| {
        let (_, behind) = text.split_once(words)?;
        number_at_start(behind.trim_start_matches(BETWEEN))
    });
    let behind = BEHIND.iter().filter_map(|words| {
        let (before, _) = text.split_once(words)?;
        number_at_end(before.trim_end_matches(BETWEEN).trim_end_matches('-'))
    });
    in_front.chain(behind).find(|tokens| (TOKENS_MIN..=TOKENS_MAX).contains(tokens))
}

fn number_at_start(text: &str) -> Option<u64> {
    let end = text.find(|letter| !is_of_number(letter)).unwrap_or(text.len());
    number(text.get(..end)?)
}

fn number_at_end(text: &str) -> Option<u64> {
    let digits = text.rfind(|letter| !is_of_number(letter)).map_or(Some(text), |place| {
        let behind = text.get(place..)?;
        behind.get(behind.chars().next()?.len_utf8()..)
    });
    number(digits?)
}

/// Thousands may be set apart.
fn is_of_number(letter: char) -> bool {
    letter.is_ascii_digit() || letter == ',' || letter == '_'
}

fn number(text: &str) -> Option<u64> {
    text.replace([',', '_'], "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_from_the_words_of_providers() {
        for (message, expected) in [
            (
                "This model's maximum context length is 8192 tokens. However, your messages resulted in \
                 10240 tokens.",
                Some(8_192),
            ),
            ("prompt is too long: 210000 tokens > 200000 maximum", Some(200_000)),
            (
                "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease \
                 input length",
                Some(200_000),
            ),
            (
                "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
                Some(1_048_576),
            ),
            (
                "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum \
                 context length",
                Some(32_768),
            ),
            (
                "This model's maximum prompt length is 131,072 but the request contains 150,000 tokens.",
                Some(131_072),
            ),
            (
                "the request exceeds the available context size (4096 tokens), try increasing it",
                Some(4_096),
            ),
            ("Range of input length should be [1, 30720]", Some(30_720)),
            ("Your request exceeded model token limit: 262144", Some(262_144)),
            ("Your input exceeds the context window of this model.", None),
            ("Input is too long for requested model.", None),
            ("5 > 3", None),
            ("context size 999999999999", None),
            ("context length is 18446744073709551616", None),
            ("", None),
        ] {
            assert_eq!(window_in(message), expected, "{message}");
        }
    }
}
