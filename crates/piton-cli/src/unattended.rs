//! What becomes of questions while nobody is there, as typed and as written.

use clap::ValueEnum;
use piton::{Policy, Unattended};
use serde::Deserialize;

/// A policy as typed or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Word {
    /// Allow calls in which no deny could hide; take defaults, or tell the tool that there is no answer
    Auto,
    /// Take defaults; what has none waits
    Defaults,
    /// Refuse calls; tell the tool that there is no answer
    Deny,
    /// Let the other calls end, and leave the turn waiting
    Defer,
}

/// The table of the settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WrittenUnattended {
    permissions: Option<Word>,
    questions: Option<Word>,
}

impl WrittenUnattended {
    /// What counts; what was typed counts for everything.
    pub(crate) fn with(self, typed: Option<Word>) -> Unattended {
        let policy = |written: Option<Word>| match typed.or(written) {
            Some(Word::Auto) => Policy::Auto,
            Some(Word::Defaults) => Policy::Defaults,
            Some(Word::Deny) => Policy::Deny,
            Some(Word::Defer) | None => Policy::Defer,
        };
        Unattended { permissions: policy(self.permissions), questions: policy(self.questions) }
    }
}
