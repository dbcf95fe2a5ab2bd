//! What a model's name says about how it is asked to think.
//!
//! The format has two forms and each model takes only one of them: up to 4.5 a budget of tokens,
//! from 4.7 an effort; 4.6 takes both. A name is all that a request has, so the name decides.

use crate::Effort;
use crate::file::{IMAGES, Takes};

/// The first version that thinks, and the first that wants no budget.
const THINKS: (u8, u8) = (3, 7);
const ADAPTS: (u8, u8) = (4, 6);

/// Words in the names of Anthropic's own models; others serve the format too.
const FAMILIES: [&str; 6] = ["claude", "opus", "sonnet", "haiku", "fable", "mythos"];

/// Most tokens of an answer where the caller does not say: the endpoint insists on a number, and
/// a number above the model's own limit is rejected.
const ANSWER_TOKENS_OLD: u32 = 4096;
const ANSWER_TOKENS_FOREIGN: u32 = 8192;
const ANSWER_TOKENS: u32 = 32_000;

/// Largest image, in bytes: 5 MiB once it is written in base64.
const IMAGE_BYTES_MAX: u64 = 5 * 1024 * 1024 / 4 * 3;
/// The first version that sees images, and the first that reads documents.
const SEES: (u8, u8) = (3, 0);
const READS: (u8, u8) = (3, 5);

/// Smallest budget that the endpoint accepts, in tokens.
pub(super) const BUDGET_TOKENS_MIN: u32 = 1024;

/// How a model is asked to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// It cannot.
    Never,
    /// With a budget of tokens, and only when asked.
    Budget,
    /// With an effort; some do so unasked.
    Adaptive,
    /// Another vendor's model behind this format: takes a budget, may think unasked.
    Foreign,
}

/// The form that a model takes.
pub(super) fn form(model: &str) -> Form {
    let model = model.to_ascii_lowercase();
    if !FAMILIES.iter().any(|family| model.contains(family)) {
        return Form::Foreign;
    }
    match version(&model) {
        Some(version) if version < THINKS => Form::Never,
        Some(version) if version < ADAPTS => Form::Budget,
        // A name without a number is an alias for the newest.
        Some(_) | None => Form::Adaptive,
    }
}

/// Whether a model takes a conversation that ends with its own words.
pub(super) fn takes_prefill(model: &str) -> bool {
    match form(model) {
        Form::Never | Form::Budget | Form::Foreign => true,
        Form::Adaptive => false,
    }
}

/// The files that a model takes.
pub(super) fn takes(model: &str) -> Takes {
    let model = model.to_ascii_lowercase();
    let images = Takes { images: IMAGES, image_bytes_max: IMAGE_BYTES_MAX, ..Takes::NOTHING };
    if form(&model) == Form::Foreign {
        return images;
    }
    match version(&model) {
        Some(version) if version < SEES => Takes::NOTHING,
        Some(version) if version < READS => images,
        Some(_) | None => Takes { pdf: true, texts: true, ..images },
    }
}

/// The version in a name: the first number, and the one directly behind it. Dates are longer.
fn version(model: &str) -> Option<(u8, u8)> {
    let number = |word: &str| if word.len() <= 2 { word.parse::<u8>().ok() } else { None };
    let mut words = model.split(|letter: char| !letter.is_ascii_alphanumeric());
    let major = words.find_map(number)?;
    Some((major, words.next().and_then(number).unwrap_or(0)))
}

/// Most tokens of an answer: what was asked for, or as many as usual if the window has `left` them.
pub(super) fn answer_tokens(model: &str, asked: Option<u32>, left: Option<u32>) -> u32 {
    let usual = match form(model) {
        Form::Never => ANSWER_TOKENS_OLD,
        Form::Foreign => ANSWER_TOKENS_FOREIGN,
        Form::Budget | Form::Adaptive => ANSWER_TOKENS,
    };
    asked.unwrap_or(usual).min(left.unwrap_or(u32::MAX)).max(1)
}

/// The budget for an effort, or `None` where the answer is too short to leave room for thought.
pub(super) fn budget_tokens(effort: Effort, answer_tokens: u32) -> Option<u32> {
    let wanted = match effort {
        Effort::None => return None,
        Effort::Minimal => BUDGET_TOKENS_MIN,
        Effort::Low => 2048,
        Effort::Medium => 8192,
        Effort::High => 24_576,
        Effort::Max => u32::MAX,
    };
    // The budget is part of the answer's tokens: a quarter stays for what is said.
    let most = answer_tokens - answer_tokens.div_ceil(4);
    Some(most.min(wanted)).filter(|budget| BUDGET_TOKENS_MIN <= *budget)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_form() {
        for (name, expected) in [
            ("claude-2.1", Form::Never),
            ("claude-3-5-sonnet-20241022", Form::Never),
            ("anthropic.claude-3-5-sonnet-20241022-v2:0", Form::Never),
            ("claude-3-7-sonnet-20250219", Form::Budget),
            ("claude-sonnet-4-20250514", Form::Budget),
            ("anthropic/claude-haiku-4.5", Form::Budget),
            ("claude-opus-4-5@20251101", Form::Budget),
            ("claude-opus-4-6", Form::Adaptive),
            ("anthropic.claude-opus-4-7-v1", Form::Adaptive),
            ("claude-fable-5-1", Form::Adaptive),
            ("claude-mythos-preview", Form::Adaptive),
            ("Opus", Form::Adaptive),
            ("kimi-k2-thinking", Form::Foreign),
        ] {
            assert_eq!(form(name), expected, "{name}");
        }
    }

    #[test]
    fn a_budget_leaves_room_for_the_answer_or_is_none() {
        assert_eq!(budget_tokens(Effort::High, 32_000), Some(24_000));
        assert_eq!(budget_tokens(Effort::Low, 32_000), Some(2048));
        assert_eq!(budget_tokens(Effort::Medium, 1366), Some(1024));
        assert_eq!(budget_tokens(Effort::Medium, 1365), None);
        assert_eq!(budget_tokens(Effort::Minimal, 32_000), Some(1024));
        assert_eq!(budget_tokens(Effort::Max, 64_000), Some(48_000));
        assert_eq!(budget_tokens(Effort::None, 64_000), None);
    }

    #[test]
    fn older_models_see_less() {
        assert_eq!(takes("claude-2.1"), Takes::NOTHING);
        assert!(
            !takes("claude-3-opus-20240229").pdf
                && takes("claude-3-opus-20240229").images == IMAGES
        );
        assert!(takes("claude-3-5-haiku-latest").pdf && takes("claude-opus-4-7").texts);
        assert!(!takes("kimi-k2").pdf);
    }
}
