//! How room is made in requests, in words.

use piton_core::view::Covered;

/// A number with its thousands apart.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let mut shown = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place != 0 && place % 3 == first {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// That a model is summing up.
pub(crate) fn summing_up(tokens: u64) -> String {
    format!("summing up {} tokens", grouped(tokens))
}

/// That a summary was laid, and what it saves.
pub(crate) fn summed_up(covered: &Covered) -> String {
    let Covered { fault, tokens_before, tokens_after, .. } = covered;
    let saved = match tokens_before {
        0 => ".".to_owned(),
        before => format!(": {} tokens before, {} now.", grouped(*before), grouped(*tokens_after)),
    };
    let fault = fault.as_ref().map(|fault| {
        format!(" The model's summary {fault}; what the journal knows stands in its place.")
    });
    format!("The older part was summed up{saved}{}", fault.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        let shown = [0, 12, 123, 1_234, 12_345, 123_456, 1_234_567].map(grouped);
        assert_eq!(shown, ["0", "12", "123", "1,234", "12,345", "123,456", "1,234,567"]);
    }
}
