//! What a script's model answers when it is asked for a summary. Such a request is no step of the script.

use std::borrow::Cow;

use piton_core::event::FailureClass;
use piton_core::summarise::{HEADINGS, REQUEST_HEAD};
use serde::Deserialize;

use super::fault::{Fault, FaultKind};
use super::step::{ScriptCall, ScriptEnd, ScriptStep};
use super::{Cue, Talk};

/// Where faults of summaries are counted.
const SUMMARY_PLACE: usize = usize::MAX - 1;

/// How the model sums up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Summaries {
    /// Shortly, under all headings.
    #[default]
    Good,
    /// With nothing.
    Empty,
    /// Without headings.
    Bare,
    /// Longer than what it sums up.
    Longer,
    /// With a call.
    Calls,
    /// Cut off by the output limit.
    Cut,
    /// The provider fails.
    Fail,
    /// The provider says that the request is too large.
    Overflow,
    /// Nothing comes.
    Stall,
}

impl Summaries {
    /// The answer to a request for a summary; none if it is another request.
    pub(super) fn cue(self, talk: &[Talk]) -> Option<Cue<'static>> {
        let [Talk::User(text)] = talk else { return None };
        let step = Cow::Owned(self.step(wanted(text)?));
        Some(Cue { step, place: 0, faults_at: SUMMARY_PLACE })
    }

    fn step(self, history: &str) -> ScriptStep {
        let good = || ScriptStep { say: good(history), ..ScriptStep::default() };
        let failing = |kind| {
            let fault = Fault::new(kind).times(usize::MAX);
            ScriptStep { faults: vec![fault], ..good() }
        };
        match self {
            Self::Good => good(),
            Self::Empty => failing(FaultKind::Empty),
            Self::Bare => ScriptStep { say: "It went well.".into(), ..ScriptStep::default() },
            Self::Longer => ScriptStep { say: format!("{}\n{history}", good().say), ..good() },
            Self::Calls => {
                let call = ScriptCall { tool: "look".into(), ..ScriptCall::default() };
                ScriptStep { calls: vec![call], ..good() }
            }
            Self::Cut => ScriptStep { end: ScriptEnd::Length, ..good() },
            Self::Fail => failing(FaultKind::Fail(FailureClass::Server)),
            Self::Overflow => failing(FaultKind::Fail(FailureClass::ContextOverflow)),
            Self::Stall => failing(FaultKind::Stall),
        }
    }
}

/// The history of a request for a summary; none if it is another request.
pub(crate) fn wanted(text: &str) -> Option<&str> {
    text.strip_prefix(REQUEST_HEAD)?.split_once("\n```").map(|(_, history)| history)
}

/// A summary under all headings, of which every line follows from the history.
pub(crate) fn good(history: &str) -> String {
    let lines = history.lines().count();
    let first = history.lines().find(|line| line.starts_with('[')).unwrap_or_default();
    let first: String = first.chars().take(60).collect();
    let line = |heading: &str| {
        let said = match heading.split(' ').next() {
            Some("1") => first.clone(),
            Some("6") => format!("{lines} lines were read."),
            Some("7") => "Go on.".to_owned(),
            _ => "-".to_owned(),
        };
        format!("## {heading}\n{said}\n")
    };
    HEADINGS.map(line).concat()
}
