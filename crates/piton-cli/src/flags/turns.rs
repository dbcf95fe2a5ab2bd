//! Which turns of a conversation are meant.

use std::str::FromStr;

/// A range of turns, both ends included. Turns are counted from 1; -1 is the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turns {
    from: i64,
    to: i64,
}

impl FromStr for Turns {
    type Err = String;

    fn from_str(typed: &str) -> Result<Self, String> {
        let Some((from, to)) = typed.split_once("..") else {
            let turn = number(typed)?;
            return Ok(Self { from: turn, to: turn });
        };
        let from = if from.is_empty() { 1 } else { number(from)? };
        let to = if to.is_empty() { -1 } else { number(to)? };
        Ok(Self { from, to })
    }
}

fn number(typed: &str) -> Result<i64, String> {
    match typed.parse() {
        Ok(number) if number != 0 => Ok(number),
        _ => Err("turns are 3, 2..4, 2.. or ..4, counted from 1; -1 is the last".to_owned()),
    }
}

impl Turns {
    /// The last ones.
    pub(crate) fn last(count: u32) -> Self {
        Self { from: -i64::from(count.max(1)), to: -1 }
    }

    /// How many turns at the end of a conversation hold them all, if that is known without counting.
    pub(crate) fn at_end(self) -> Option<usize> {
        (self.from < 0 && self.to < 0).then_some(())?;
        usize::try_from(self.from.unsigned_abs()).ok()
    }

    /// The first and the last turn that are meant, of those with these numbers.
    pub(crate) fn within(self, numbers: &[u32]) -> (u32, u32) {
        let place = |from_end: i64| {
            let back = usize::try_from(from_end.unsigned_abs()).unwrap_or(usize::MAX);
            numbers.len().checked_sub(back).and_then(|place| numbers.get(place).copied())
        };
        let bounded = |number: i64| u32::try_from(number).unwrap_or(u32::MAX);
        let from = if self.from < 0 { place(self.from).unwrap_or(0) } else { bounded(self.from) };
        // Before the first turn there is none.
        let to = if self.to < 0 { place(self.to).unwrap_or(0) } else { bounded(self.to) };
        (from, to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // J73
    #[test]
    fn turns_are_counted_from_one_and_from_the_end() {
        let within = |typed: &str| typed.parse::<Turns>().unwrap().within(&[1, 2, 4, 5]);
        assert_eq!(within("2"), (2, 2));
        assert_eq!(within("2..4"), (2, 4));
        assert_eq!(within("2.."), (2, 5));
        assert_eq!(within("..2"), (1, 2));
        assert_eq!(within("-1"), (5, 5));
        assert_eq!(within("-3..-2"), (2, 4));
        assert_eq!(within("-9.."), (0, 5));
        assert_eq!(within("..-9"), (1, 0));
    }

    #[test]
    fn only_ends_of_conversations_are_read_from_their_end() {
        let at_end = |typed: &str| typed.parse::<Turns>().unwrap().at_end();
        assert_eq!(at_end("-2.."), Some(2));
        assert_eq!(at_end("-3..-2"), Some(3));
        assert_eq!((at_end("2.."), at_end("..-1"), at_end("-3..4")), (None, None, None));
        assert_eq!(Turns::last(1).at_end(), Some(1));
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for typed in ["", "0", "a", "1...2", "0..2", "1-2"] {
            assert!(typed.parse::<Turns>().is_err(), "{typed}");
        }
    }
}
