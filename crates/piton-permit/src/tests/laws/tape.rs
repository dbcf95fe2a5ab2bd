//! Choices, made from numbers. Where the numbers end, every choice is the first one, so what is made of them
//! ends too.

pub(super) struct Tape<'a>(std::slice::Iter<'a, u64>);

impl<'a> Tape<'a> {
    pub(super) fn new(numbers: &'a [u64]) -> Self {
        Self(numbers.iter())
    }

    /// A number below a limit.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        let number = self.0.next().copied().unwrap_or_default();
        usize::try_from(number % limit as u64).unwrap()
    }

    pub(super) fn one<'t, T: ?Sized>(&mut self, from: &[&'t T]) -> &'t T {
        from[self.below(from.len())]
    }

    /// True in one of so many cases, and never where the numbers end.
    pub(super) fn is_one_in(&mut self, cases: usize) -> bool {
        self.below(cases) == cases - 1
    }
}
