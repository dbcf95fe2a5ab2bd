//! How far estimates of tokens are from what providers count.
//!
//! Estimates know no tokeniser. A moving average of what was counted for each estimate tells how
//! much to trust them. Only facts of the journal go in, so every process arrives at the same.

use super::State;
use crate::event::{AnswerPart, ModelRef, Usage};

/// An estimate that is right.
const EVEN_PERMILLE: u64 = 1_000;
/// Samples outside of these bounds say nothing: somebody counts otherwise, or not at all.
const PERMILLE_MIN: u64 = 50;
const PERMILLE_MAX: u64 = 20_000;
/// A smaller estimate says nothing, in tokens.
const ESTIMATED_MIN: u64 = 64;
/// A smaller count says nothing, in tokens.
const COUNTED_MIN: u64 = 32;
/// How much of the average stays with every measurement, of this many parts.
const KEPT_PARTS: u64 = 3;
const PARTS: u64 = 4;

/// The moving average, and the newest request that a provider counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Calibration {
    /// The estimate of the request that is on its way.
    asked: u64,
    average: Option<u64>,
    counted: Option<Counted>,
}

/// A request that a provider counted, with its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Counted {
    model: Option<ModelRef>,
    /// What the state said of its past.
    rewrites: u64,
    /// What was counted.
    tokens: u64,
    /// What was estimated of the same.
    estimated: u64,
}

impl Calibration {
    /// Tokens counted per thousand estimated; none before the first measurement.
    pub fn permille(&self) -> Option<u64> {
        self.average
    }

    /// For a conversation that shares what was said: the average stays, its requests are its own.
    pub(super) fn kept(self) -> Self {
        Self { average: self.average, ..Self::default() }
    }

    /// A request left with an estimate.
    pub(super) fn ask(&mut self, estimated: u64) {
        self.asked = estimated;
    }

    /// Its answer came, and the provider counted. Who does not count says 0. Gives the estimate, if the
    /// count says something.
    fn answer(&mut self, counted: u64) -> Option<u64> {
        let estimated = std::mem::take(&mut self.asked);
        if estimated < ESTIMATED_MIN || counted < COUNTED_MIN {
            return None;
        }
        let measured = counted.saturating_mul(EVEN_PERMILLE) / estimated;
        if !(PERMILLE_MIN..=PERMILLE_MAX).contains(&measured) {
            return None;
        }
        let average = self.average.unwrap_or(measured);
        self.average = Some((average * KEPT_PARTS + measured * (PARTS - KEPT_PARTS)) / PARTS);
        Some(estimated)
    }

    /// What a request will be counted as that has nothing in common with others.
    pub(crate) fn corrected(&self, estimated: u64) -> u64 {
        let permille = self.average.unwrap_or(EVEN_PERMILLE);
        estimated.saturating_mul(permille) / EVEN_PERMILLE
    }
}

impl State {
    /// What a request will be counted as, of which this is the estimate: what was counted last, and for
    /// the rest what the average says. A request whose past has changed, or one to another model, is
    /// estimated whole.
    pub fn tokens_expected(&self, estimated: u64) -> u64 {
        let now = (&self.config.model, self.rewrites);
        let counted = self.calibration.counted.as_ref();
        match counted.filter(|it| (&it.model, it.rewrites) == now && it.estimated <= estimated) {
            Some(Counted { tokens, estimated: known, .. }) => {
                tokens.saturating_add(self.calibration.corrected(estimated - known))
            }
            None => self.calibration.corrected(estimated),
        }
    }

    /// An answer came, with what the provider counted for it.
    pub(super) fn calibrate(&mut self, usage: Usage, parts: &[AnswerPart]) {
        let letters: usize = parts.iter().map(AnswerPart::letters).sum();
        let answer = letters as u64 / self.config.limits.divisor();
        let asked = self.calibration.answer(usage.input);
        let step = self.turns.last().and_then(|turn| turn.steps().next_back());
        let asked_model = step.and_then(|step| step.model.clone());
        self.calibration.counted = asked.map(|estimated| Counted {
            model: asked_model,
            rewrites: self.rewrites,
            tokens: usage.total(),
            estimated: estimated.saturating_add(answer),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // D10, D11
    #[test]
    fn what_was_counted_moves_the_average_and_odd_counts_do_not() {
        let mut calibration = Calibration::default();
        let mut measure = |estimated, counted| {
            calibration.ask(estimated);
            calibration.answer(counted);
            calibration.permille()
        };
        assert_eq!(measure(0, 500), None, "nothing to compare with");
        assert_eq!(measure(63, 100), None, "too small an estimate");
        assert_eq!(measure(500, 31), None, "too small a count");
        assert_eq!(measure(100, 200), Some(2_000), "the first one is taken as it is");
        assert_eq!(measure(100, 100), Some(1_750));
        assert_eq!(measure(100, 2_001), Some(1_750), "more than twenty times as much");
        assert_eq!(measure(1_000, 49), Some(1_750), "less than a twentieth");
        assert_eq!(measure(64, u64::MAX), Some(1_750));
        calibration.answer(700);
        assert_eq!(calibration.permille(), Some(1_750), "an answer to no request");
    }

    #[test]
    fn what_was_counted_last_counts_as_long_as_the_past_is_the_same() {
        let mut state = State::default();
        state.calibration.ask(1_000);
        let parts = [AnswerPart::Text { text: "x".repeat(400).into() }];
        state.calibrate(Usage { input: 2_000, output: 150, cached: 0 }, &parts);
        assert_eq!(state.tokens_expected(1_100), 2_150);
        assert_eq!(state.tokens_expected(1_200), 2_350, "what is new by the average");
        assert_eq!(state.tokens_expected(500), 1_000, "less than was counted is another request");
        state.rewrites = 1;
        assert_eq!(state.tokens_expected(1_200), 2_400);
    }
}
