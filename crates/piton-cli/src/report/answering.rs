//! What to do about a question and its answer.

use piton_core::id::ConversationId;

/// What to do about a question that somebody else has answered.
pub(super) const NEXT_QUESTION: &str = "piton answer shows what is asked now";

/// When an answer counts that nobody has taken yet.
pub(super) fn taking(conversation: &ConversationId) -> String {
    format!(
        "it counts as soon as that process, or the next one, looks; to see it: piton print {conversation}"
    )
}

/// What is kept in the place of an answer that was taken away.
pub(super) fn instead(kept: Option<&String>) -> String {
    kept.map(|kept| format!(", and another one is kept, {kept}")).unwrap_or_default()
}

/// What to do about a secret that is asked.
pub(super) const SECRET: &str = "type it where it is asked, or on a terminal: piton query --continue; or: piton answer --decline";

/// What to do where nothing is asked.
pub(super) fn nothing_asked(conversation: &ConversationId, last: Option<&String>) -> Vec<String> {
    let others = "piton ls shows which conversations wait for input; --id ID chooses one";
    let ways = [format!("piton print {conversation} shows it"), others.to_owned()];
    last.cloned().into_iter().chain(ways).collect()
}

/// What can be answered.
pub(super) fn answering(words: &str, more: &[String]) -> Vec<String> {
    let rule = "always is possible only where a rule can say it; piton help permissions";
    let answers = format!("answer with one of {words}");
    let may_be_always = words.contains("always");
    let ways = [answers].into_iter().chain(may_be_always.then(|| rule.into()));
    more.iter().cloned().chain(ways).collect()
}
