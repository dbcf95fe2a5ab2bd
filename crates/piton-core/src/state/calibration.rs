//! How far estimates of tokens are from what providers count.
//!
//! Estimates know no tokeniser. A moving average of what was counted for each estimate tells how
//! much to trust them. Only facts of the journal go in, so every process arrives at the same.

/// An estimate that is right.
const EVEN_PERMILLE: u64 = 1_000;
/// Bounds of one measurement: a request that is all tools and no text says little.
const PERMILLE_MIN: u64 = 100;
const PERMILLE_MAX: u64 = 10_000;
/// How much of the average stays with every measurement, of this many parts.
const KEPT_PARTS: u64 = 3;
const PARTS: u64 = 4;

/// The moving average.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calibration {
    /// The estimate of the request that is on its way.
    asked: u64,
    average: Option<u64>,
}

impl Calibration {
    /// Tokens counted per thousand estimated; none before the first measurement.
    pub fn permille(self) -> Option<u64> {
        self.average
    }

    /// A request left with an estimate.
    pub(super) fn ask(&mut self, estimated: u64) {
        self.asked = estimated;
    }

    /// Its answer came, and the provider counted. Who does not count says 0.
    pub(super) fn answer(&mut self, counted: u64) {
        let estimated = std::mem::take(&mut self.asked);
        if estimated == 0 || counted == 0 {
            return;
        }
        let measured = counted.saturating_mul(EVEN_PERMILLE) / estimated;
        let measured = measured.clamp(PERMILLE_MIN, PERMILLE_MAX);
        let average = self.average.unwrap_or(measured);
        self.average = Some((average * KEPT_PARTS + measured * (PARTS - KEPT_PARTS)) / PARTS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // D10
    #[test]
    fn what_was_counted_moves_the_average() {
        let mut calibration = Calibration::default();
        let mut measure = |estimated, counted| {
            calibration.ask(estimated);
            calibration.answer(counted);
            calibration.permille()
        };
        assert_eq!(measure(0, 5), None, "nothing to compare with");
        assert_eq!(measure(5, 0), None, "nobody counted");
        assert_eq!(measure(100, 200), Some(2_000));
        assert_eq!(measure(100, 100), Some(1_750));
        assert_eq!(measure(1, u64::MAX), Some(3_812), "one request alone says little");
        calibration.answer(7);
        assert_eq!(calibration.permille(), Some(3_812), "an answer to no request");
    }
}
