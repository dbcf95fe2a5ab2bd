//! What the server plays: a script, or the demo model.

use super::asked::Asked;
use super::heard::Heard;
use super::reply::Reply;
use crate::demo;
use crate::script::pace::Pace;
use crate::script::{Cue, Fault, Script, obey};

/// What the server plays.
#[derive(Clone, Debug)]
pub enum Part {
    /// A script, step by step.
    Script(Script),
    /// The built-in demo model, which drives tools from plain requests.
    Demo,
}

impl From<Script> for Part {
    fn from(script: Script) -> Self {
        Self::Script(script)
    }
}

/// What comes next, if nothing goes wrong, and what does go wrong.
#[derive(Debug)]
pub(super) struct Next {
    pub(super) reply: Reply,
    pub(super) pace: Pace,
    pub(super) faults: Vec<Fault>,
    /// Where they are counted.
    pub(super) faults_at: usize,
}

/// Bytes of a body that count as one token.
const BYTES_PER_TOKEN: usize = 4;

impl Part {
    /// Whether a body of so many bytes is too large for the model.
    pub(super) fn overflows(&self, bytes: usize) -> bool {
        match self {
            Self::Script(script) => script.overflows(tokens(bytes)),
            Self::Demo => false,
        }
    }

    /// The answer to what was heard in a request.
    pub(super) fn next(&self, heard: Heard, asked: &Asked) -> Next {
        match self {
            Self::Script(script) => {
                let tokens = tokens(asked.raw.len());
                let Cue { step, place, faults_at } = script.cue(&heard.talk(), tokens);
                let step = step.obeying(&obey::texts(&asked.body));
                Next {
                    reply: Reply::new(place, step.deltas(place)),
                    pace: Pace::of(&step),
                    faults: step.faults.clone(),
                    faults_at,
                }
            }
            Self::Demo => {
                let place = heard.place();
                let (asked, results) = heard.open_work();
                let deltas = demo::answer(&asked, &results);
                let (reply, faults) = (Reply::new(place, deltas), Vec::new());
                Next { reply, pace: Pace::default(), faults, faults_at: place }
            }
        }
    }
}

fn tokens(bytes: usize) -> u64 {
    u64::try_from(bytes / BYTES_PER_TOKEN).unwrap_or(u64::MAX)
}
