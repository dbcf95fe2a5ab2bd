//! How large the next request is, what it consists of, and how much the model takes: for people.

use schemars::JsonSchema;
use serde::Serialize;

use crate::budget::Budget;
use crate::event::{ModelRef, Window, WindowSource};
use crate::state::State;
use crate::transcript::{Parts, Transcript};

/// The size of the next request, in tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Tokens {
    /// Who would be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelRef>,
    /// What it takes at once, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// Who says so: `setting`, `provider`, `table`, `learned`, `other`; `default` if nobody does.
    pub window_from: &'static str,
    /// Most tokens of a request.
    pub budget: u64,
    /// Room is made for a request that takes more than this.
    pub trigger: u64,
    /// What is aimed at then.
    pub aim: u64,
    /// What the next request is expected to be counted as.
    pub expected: u64,
    /// The estimate by part, before it is corrected by what providers counted.
    pub parts: Parts,
    /// Tokens counted per thousand estimated; none before the first count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counted_permille: Option<u64>,
}

impl From<&State> for Tokens {
    fn from(state: &State) -> Self {
        let transcript = Transcript::from(state);
        let Budget { tokens: budget, trigger, aim } = Budget::of(state);
        let window = state.window();
        let window_from = match window.map(|Window { from, .. }| from) {
            Some(WindowSource::Setting) => "setting",
            Some(WindowSource::Provider) => "provider",
            Some(WindowSource::Table) => "table",
            Some(WindowSource::Learned) => "learned",
            Some(WindowSource::Other) => "other",
            None => "default",
        };
        Self {
            model: state.config.model.clone(),
            window: window.map(|window| window.tokens),
            window_from,
            budget,
            trigger,
            aim,
            expected: state.tokens_expected(transcript.tokens_estimated()),
            parts: transcript.parts_estimated(),
            counted_permille: state.calibration.permille(),
        }
    }
}
