//! What a commit says beside its records: its name, and how it stands with the open turn.
//!
//! Kept as one short text in the row of the commit's last chunk, before the body, so that lists and
//! questions for a name read no body. Up to format 2 the text was the words that lists showed.

use piton_core::view::Status;
use serde::{Deserialize, Serialize};

use crate::{CommitName, Wants};

/// A commit beside its records.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Head {
    #[serde(rename = "n")]
    pub(super) name: CommitName,
    #[serde(rename = "s", skip_serializing_if = "is_default")]
    pub(super) status: Status,
    #[serde(rename = "w", skip_serializing_if = "is_default")]
    pub(super) wants: Wants,
    #[serde(rename = "q", skip_serializing_if = "is_default")]
    pub(super) waiting: u32,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Head {
    /// The stored form.
    pub(super) fn encode(&self) -> String {
        // A structure of texts and numbers has a form in JSON; without one, the list shows nothing.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads every stored form. One that has decayed says nothing: it must not hide the list.
    pub(super) fn decode(stored: &str) -> Self {
        if stored.starts_with('{') {
            return serde_json::from_str(stored).unwrap_or_default();
        }
        let status = Status::from_words(stored);
        let wants = match status {
            Status::Idle => Wants::Nobody,
            Status::WaitingForInput { .. } => Wants::Person,
            Status::PendingTools | Status::PendingFollowUp | Status::PendingAnswer => Wants::Driver,
        };
        Self { status, wants, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use piton_core::id::Timestamp;

    use super::*;

    #[test]
    fn a_head_reads_back_and_an_idle_one_is_short() {
        let idle = Head { name: CommitName::fresh(), ..Head::default() };
        assert_eq!(idle.encode(), format!("{{\"n\":\"{}\"}}", idle.name));
        let status = Status::WaitingForInput { tool: "a \"tool\"".to_owned() };
        let (name, wants) = (CommitName::fresh(), Wants::NotBefore(Timestamp(7)));
        let busy = Head { name, status, wants, waiting: 2 };
        for head in [idle, busy] {
            assert_eq!(Head::decode(&head.encode()), head);
        }
    }

    #[test]
    fn words_of_older_formats_and_rubbish_are_read() {
        assert_eq!(Head::decode(""), Head::default());
        assert_eq!(Head::decode("waiting-for-input (pay)").wants, Wants::Person);
        assert_eq!(Head::decode("interrupted (pending follow-up)").wants, Wants::Driver);
        assert_eq!(Head::decode("{\"n\":"), Head::default());
    }
}
