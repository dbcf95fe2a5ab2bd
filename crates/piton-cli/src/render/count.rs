//! Numbers of tokens in few letters.

/// Below this many, tokens are told to the last one.
const THOUSAND: u64 = 1_000;
const MILLION: u64 = 1_000_000;

/// A number of tokens, as short as it can be told.
pub(crate) fn short(tokens: u64) -> String {
    let (unit, letter) = match tokens {
        0..THOUSAND => return tokens.to_string(),
        THOUSAND..MILLION => (THOUSAND, 'k'),
        MILLION.. => (MILLION, 'M'),
    };
    match (tokens / unit, tokens % unit * 10 / unit) {
        (whole, 0) => format!("{whole}{letter}"),
        (whole, tenths) => format!("{whole}.{tenths}{letter}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_told_in_few_letters() {
        let check = |tokens, expected| assert_eq!(short(tokens), expected);
        check(0, "0");
        check(999, "999");
        check(1_000, "1k");
        check(1_234, "1.2k");
        check(200_000, "200k");
        check(999_999, "999.9k");
        check(1_048_576, "1M");
        check(1_250_000, "1.2M");
    }
}
