//! Whether an error says that replayed native blocks were refused, and which.
//!
//! Each provider has its own words, and routers pass all of them on, so one table serves all
//! dialects. What is not surely about such blocks is not read as that: a repair costs reasoning.

use piton_core::event::Rejected;

/// Shortest quotation that tells one block from another, in bytes: all begin alike.
const EXCERPT_BYTES_MIN: usize = 12;
/// Longest quotation that is kept, in bytes.
const EXCERPT_BYTES_MAX: usize = 64;

/// Reads the code and the words of an error.
pub(crate) fn of(code: &str, message: &str) -> Option<Rejected> {
    let said = message.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| said.contains(word));
    if code == "invalid_encrypted_content"
        || said.contains("encrypted content") && says(&["could not be verified", "decrypted"])
    {
        return Some(Rejected::Named { excerpt: excerpt(message).unwrap_or_default() });
    }
    // `thoughtSignature` in Google's words, `thinking` in Anthropic's.
    if says(&["thought signature", "thought_signature", "thoughtsignature"])
        && says(&["invalid", "not valid", "corrupt", "missing", "malformed"])
    {
        return Some(Rejected::OpenTurn);
    }
    let broken = said.contains("invalid `signature` in `thinking` block")
        || said.contains("invalid `data` in `redacted_thinking` block")
        || said.contains("`thinking`") && said.contains("cannot be modified");
    broken.then_some(Rejected::LatestMessage)
}

/// What is quoted: `The encrypted content gAAA…xyz= could not be verified.` The longer of the two
/// ends that were left is what tells it from others.
fn excerpt(message: &str) -> Option<String> {
    let at = message.to_ascii_lowercase().find("encrypted content ")?;
    let word = message.get(at..)?.split_whitespace().nth(2)?;
    let word = word.trim_matches(|letter: char| !letter.is_ascii_alphanumeric() && letter != '=');
    let ends = word.split("...").flat_map(|end| end.split('…'));
    let longest = ends.max_by_key(|end| end.len())?;
    let fits = EXCERPT_BYTES_MIN <= longest.len()
        && longest.bytes().all(|it| it.is_ascii_alphanumeric() || b"+/-_=".contains(&it));
    let kept = longest.get(..EXCERPT_BYTES_MAX).unwrap_or(longest);
    fits.then(|| kept.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    // J51, J52
    #[test]
    fn providers_say_it_in_their_own_words() {
        let named = |excerpt: &str| Some(Rejected::Named { excerpt: excerpt.into() });
        for (code, message, expected) in [
            (
                "",
                "messages.3.content.3: Invalid `signature` in `thinking` block",
                Some(Rejected::LatestMessage),
            ),
            (
                "",
                "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.",
                Some(Rejected::LatestMessage),
            ),
            (
                "",
                "messages.1: Invalid `data` in `redacted_thinking` block",
                Some(Rejected::LatestMessage),
            ),
            ("", "Thought signature is not valid", Some(Rejected::OpenTurn)),
            ("", "Corrupted thought signature.", Some(Rejected::OpenTurn)),
            (
                "",
                "Function call is missing a thought_signature in functionCall parts.",
                Some(Rejected::OpenTurn),
            ),
            ("invalid_encrypted_content", "", named("")),
            (
                "",
                "The encrypted content gAAA...cGl0b24tdGVzdA== could not be verified. Reason: Encrypted content could not be decrypted or parsed.",
                named("cGl0b24tdGVzdA=="),
            ),
            (
                "",
                "The encrypted content 'gAAAAABpiton0123…' could not be verified.",
                named("gAAAAABpiton0123"),
            ),
            ("", "The encrypted content gAAA…= could not be verified.", named("")),
            ("", "max_tokens must be greater than `thinking.budget_tokens`", None),
            ("", "Expected `thinking` or `redacted_thinking`, but found `tool_use`.", None),
            ("invalid_prompt", "Invalid prompt", None),
            ("", "", None),
        ] {
            assert_eq!(of(code, message), expected, "{code} {message}");
        }
    }
}
