//! Money in words, from millionths of a dollar.

/// A cent, in millionths of a dollar.
const CENT: u64 = 10_000;
/// Digits of an amount behind its cents.
const DIGITS_BEHIND_CENTS: usize = 4;

/// Money that was spent. The mark says that it is an estimate. Less than a cent has two digits that count.
pub fn dollars(millionths: u64) -> String {
    let cents = millionths.div_ceil(CENT);
    let rounded = |to: u64| millionths.div_ceil(to) * to;
    match millionths {
        0..100 => format!("≈$0.{millionths:06}"),
        100..1_000 => format!("≈$0.{:05}", rounded(10) / 10),
        1_000..CENT => format!("≈$0.{:04}", rounded(100) / 100),
        CENT.. => format!("≈${}.{:02}", cents / 100, cents % 100),
    }
}

/// An amount that is no estimate, such as a limit.
pub fn amount(millionths: u64) -> String {
    let text = format!("${}.{:06}", millionths / 1_000_000, millionths % 1_000_000);
    let short = text.trim_end_matches('0').len();
    text.get(..short.max(text.len() - DIGITS_BEHIND_CENTS)).unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_marked_as_an_estimate() {
        for (millionths, expected) in [
            (0, "≈$0.000000"),
            (99, "≈$0.000099"),
            (101, "≈$0.00011"),
            (1_201, "≈$0.0013"),
            (9_999, "≈$0.0100"),
            (10_000, "≈$0.01"),
            (1_234_567, "≈$1.24"),
        ] {
            assert_eq!(dollars(millionths), expected);
        }
        assert_eq!((amount(2_000_000).as_str(), amount(1_500).as_str()), ("$2.00", "$0.0015"));
    }
}
