//! Choices that follow from a number, so that a case is a list of numbers and shrinks as one.

/// Makes choices.
#[derive(Clone, Debug)]
pub(crate) struct Luck(u64);

impl Luck {
    pub(crate) fn of(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `end`; small numbers first when a case shrinks to zero.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        // SplitMix64: every seed gives another row, also neighbours.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let end = u64::try_from(end.max(1)).unwrap();
        usize::try_from((mixed ^ (mixed >> 31)) % end).unwrap()
    }

    /// True once in `times`.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }
}
