//! What a commit says beside its records: its name, and how it stands with the open turn.
//!
//! Kept as one short text in the row of the commit's last chunk, before the body, so that lists and
//! questions for a name read no body. Up to format 2 the text was the words that lists showed.

use piton_core::event::{BreakReason, Shelf};
use piton_core::view::Status;
use serde::{Deserialize, Serialize};

use crate::{CommitName, Wants};

/// A commit beside its records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) name: CommitName,
    pub(super) status: Status,
    pub(super) wants: Wants,
    pub(super) broke: Option<BreakReason>,
    pub(super) waiting: u32,
    pub(super) shelf: Shelf,
}

/// What is stored behind the name, as far as it differs from the head of an idle conversation.
/// Heads of the first builds of format 3 are this alone, with the name as `n`.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Rest {
    #[serde(rename = "n", skip_serializing)]
    name: CommitName,
    #[serde(rename = "s", skip_serializing_if = "is_default")]
    status: Status,
    /// Missing where the status tells it.
    #[serde(rename = "w", skip_serializing_if = "Option::is_none")]
    wants: Option<Wants>,
    /// A word: one that a newer build wrote must not hide the rest.
    #[serde(rename = "b", skip_serializing_if = "Option::is_none")]
    broke: Option<String>,
    #[serde(rename = "q", skip_serializing_if = "is_default")]
    waiting: u32,
    #[serde(rename = "k", skip_serializing_if = "is_default")]
    shelf: Shelf,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Head {
    /// The stored form: `=` and the name, then the rest as JSON unless the conversation is idle.
    pub(super) fn encode(&self) -> String {
        let Self { name, status, wants, broke, waiting, shelf } = self.clone();
        let wants = (wants != wanted(&status)).then_some(wants);
        let broke = broke.and_then(word);
        let rest = Rest { name: CommitName::default(), status, wants, broke, waiting, shelf };
        // A structure of texts and numbers has a form in JSON; without one, the list shows nothing.
        match serde_json::to_string(&rest).unwrap_or_default().as_str() {
            "{}" => format!("={name}"),
            rest => format!("={name}{rest}"),
        }
    }

    /// Reads every stored form. One that has decayed says nothing: it must not hide the list.
    pub(super) fn decode(stored: &str) -> Self {
        if stored.starts_with('{') {
            let Rest { name, status, wants, waiting, shelf, .. } =
                serde_json::from_str(stored).unwrap_or_default();
            let wants = wants.unwrap_or_default();
            return Self { name, status, wants, broke: None, waiting, shelf };
        }
        let Some(named) = stored.strip_prefix('=') else {
            let status = Status::from_words(stored);
            return Self { wants: wanted(&status), status, ..Self::default() };
        };
        let (name, rest) = named.split_at(named.find('{').unwrap_or(named.len()));
        let Rest { status, wants, broke, waiting, shelf, .. } =
            serde_json::from_str(rest).unwrap_or_default();
        let wants = wants.unwrap_or_else(|| wanted(&status));
        let broke = broke.and_then(|word| serde_json::from_value(word.into()).ok());
        Self { name: CommitName::from_stored(name), status, wants, broke, waiting, shelf }
    }
}

/// The word for why a turn broke.
fn word(broke: BreakReason) -> Option<String> {
    serde_json::to_value(broke).ok()?.as_str().map(ToOwned::to_owned)
}

/// Who moves a conversation on that stands like this, unless its head says otherwise.
fn wanted(status: &Status) -> Wants {
    match status {
        Status::Idle => Wants::Nobody,
        Status::WaitingForInput { .. } => Wants::Person,
        Status::PendingTools | Status::PendingFollowUp | Status::PendingAnswer => Wants::Driver,
    }
}

#[cfg(test)]
mod tests {
    use piton_core::id::Timestamp;

    use super::*;

    #[test]
    fn a_head_reads_back_and_an_idle_one_is_short() {
        let idle = Head { name: CommitName::fresh(), ..Head::default() };
        assert_eq!(idle.encode(), format!("={}", idle.name));
        let status = Status::WaitingForInput { tool: "a \"tool\"".to_owned() };
        let (name, wants) = (CommitName::fresh(), Wants::NotBefore(Timestamp(7)));
        let broke = Some(BreakReason::MaxSteps);
        let busy = Head { name, status, wants, broke, waiting: 2, shelf: Shelf::Archived };
        let (name, status) = (CommitName::fresh(), Status::PendingTools);
        let stopped = Head { name, status, ..Head::default() };
        let at_work = Head { wants: Wants::Driver, ..stopped.clone() };
        assert_eq!(
            at_work.encode(),
            format!("={}{{\"s\":{{\"is\":\"pending_tools\"}}}}", at_work.name)
        );
        for head in [idle, busy, stopped, at_work] {
            assert_eq!(Head::decode(&head.encode()), head);
        }
    }

    #[test]
    fn words_of_older_formats_and_rubbish_are_read() {
        assert_eq!(Head::decode(""), Head::default());
        assert_eq!(Head::decode("waiting-for-input (pay)").wants, Wants::Person);
        assert_eq!(Head::decode("interrupted (pending follow-up)").wants, Wants::Driver);
        assert_eq!(Head::decode("{\"n\":"), Head::default());
        let tomorrow = Head::decode("=x-1{\"b\":\"of_tomorrow\",\"q\":2}");
        assert_eq!((tomorrow.broke, tomorrow.waiting), (None, 2));
        let read =
            Head::decode("{\"n\":\"x-1\",\"s\":{\"is\":\"pending_tools\"},\"w\":\"driver\"}");
        let (name, status) = (CommitName::from_stored("x-1"), Status::PendingTools);
        assert_eq!(read, Head { name, status, wants: Wants::Driver, ..Head::default() });
    }
}
