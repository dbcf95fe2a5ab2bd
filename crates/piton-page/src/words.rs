//! Kinds of failures, ends and rules in words.

use piton_core::permit::grants;
use piton_core::summary::shorten;
use piton_core::view::{
    Answer, BreakReason, FailureClass, InquiryAnswer, PermissionRule, RuleEffect, RuleScope,
};

/// Longest answer that is shown behind its question, in letters.
const ANSWER_LETTERS_MAX: usize = 200;

/// What failed, as a heading.
pub(crate) fn failure(class: FailureClass) -> &'static str {
    match class {
        FailureClass::Network => "No connection to the model",
        FailureClass::StreamBroke => "The answer broke off",
        FailureClass::Stalled => "The model fell silent",
        FailureClass::Overloaded => "The provider is overloaded",
        FailureClass::RateLimited => "Too many requests for now",
        FailureClass::Server => "The provider failed",
        FailureClass::Malformed => "The answer could not be read",
        FailureClass::Empty => "The answer was empty",
        FailureClass::Auth => "The provider does not accept the key",
        FailureClass::Quota => "Nothing is left on the account",
        FailureClass::InvalidRequest => "The provider does not take the request",
        FailureClass::ContextOverflow => "The request is too long for the model",
        FailureClass::ContentFilter => "The provider refused",
        FailureClass::TooLarge => "The answer is too large to keep",
        FailureClass::Unknown => "The request failed",
    }
}

/// The same in a word or two, for a line.
pub(crate) fn failure_in_short(class: FailureClass) -> &'static str {
    match class {
        FailureClass::Network => "no connection",
        FailureClass::StreamBroke => "the answer broke off",
        FailureClass::Stalled => "the model fell silent",
        FailureClass::Overloaded => "overloaded",
        FailureClass::RateLimited => "too many requests",
        FailureClass::Server => "the provider failed",
        FailureClass::Malformed => "unreadable answer",
        FailureClass::Empty => "empty answer",
        FailureClass::Auth => "key not accepted",
        FailureClass::Quota => "account is empty",
        FailureClass::InvalidRequest => "request not taken",
        FailureClass::ContextOverflow => "too long for the model",
        FailureClass::ContentFilter => "refused",
        FailureClass::TooLarge => "answer too large",
        FailureClass::Unknown => "failed",
    }
}

/// How a turn stands that does not go on by itself, in a word or two: the same in the bar, in the list and on
/// the card. `None` is a turn whose process is gone.
pub fn stands_still(broke: Option<BreakReason>) -> &'static str {
    match broke {
        Some(BreakReason::ApiError | BreakReason::EmptyAnswer) => "failed",
        Some(BreakReason::Interrupted) => "stopped",
        Some(BreakReason::MaxSteps | BreakReason::Limit) => "stopped at a limit",
        None => "interrupted",
    }
}

/// Why a turn broke.
pub(crate) fn broke(reason: BreakReason) -> &'static str {
    match reason {
        BreakReason::ApiError => "the model gave no answer",
        BreakReason::EmptyAnswer => "the model answered with nothing, twice",
        BreakReason::MaxSteps => "the allowance of steps is used up",
        BreakReason::Interrupted => "it was stopped",
        BreakReason::Limit => "a limit was reached",
    }
}

/// What was answered, as the words behind a question.
pub(crate) fn answered(answer: &Answer) -> String {
    let by = match answer.by.as_str() {
        "" => String::new(),
        // Nobody who answers elsewhere is called "you": the same line is shown to all who read it.
        "user" => " in a terminal".to_owned(),
        // Whoever answered over HTTP has a name of their own.
        by => {
            let named = by.strip_prefix("user (").and_then(|rest| rest.strip_suffix(')'));
            match named.unwrap_or(by) {
                browser if browser.starts_with("browser-") => " in a browser".to_owned(),
                named => format!(" by {named}"),
            }
        }
    };
    let what = match &answer.given {
        InquiryAnswer::Allow => "allowed",
        InquiryAnswer::Deny { .. } => "denied",
        InquiryAnswer::Changed { .. } => "changed, then allowed,",
        InquiryAnswer::Applied => "done by hand",
        InquiryAnswer::RunAgain => "run again, as decided",
        InquiryAnswer::TreatAsDone => "taken for done, as decided",
        InquiryAnswer::LookAgain => "looked up again, as decided",
        InquiryAnswer::Text { text } => &answered_with(text),
        InquiryAnswer::Redacted => "answered",
        InquiryAnswer::Cancelled { .. } => "taken down",
    };
    format!("{what}{by}")
}

fn answered_with(text: &str) -> String {
    format!("answered “{}”", shorten(text, ANSWER_LETTERS_MAX))
}

/// A rule.
pub(crate) fn rule(rule: &PermissionRule) -> String {
    let effect = match rule.effect {
        RuleEffect::Allow => "allow",
        RuleEffect::Ask => "ask",
        RuleEffect::Deny => "deny",
    };
    let mut words = vec![effect.to_owned(), rule.tool.clone()];
    words.extend(rule.command.clone());
    words.extend(rule.path.clone());
    words.extend(rule.arguments.iter().map(|(key, pattern)| format!("{key}=/{pattern}/")));
    words.extend(rule.frees().then(|| "outside the sandbox".to_owned()));
    words.extend(grants::words(&rule.grants).into_iter().map(|opening| format!("· may {opening}")));
    words.join(" ")
}

/// How far a rule reaches, and where it is kept.
pub(crate) fn scope(scope: RuleScope) -> (&'static str, &'static str) {
    match scope {
        RuleScope::Conversation => ("In this conversation", "kept in its journal"),
        RuleScope::Project => ("In this project", "written to your settings, for this directory"),
        RuleScope::User => ("Everywhere", "written to your settings"),
    }
}
