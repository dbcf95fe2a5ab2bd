//! Names of elements, made of our own ids. Different ids have different names, whatever is in them.

use std::fmt::Write as _;

use piton_core::id::{CallId, InquiryId, MessageId, TurnId};

pub(crate) fn turn(id: TurnId) -> String {
    format!("t{}", id.0)
}

pub(crate) fn message(id: &MessageId) -> String {
    format!("m-{}", written(id.as_str()))
}

/// A step, as the beginning of the names of what is in it.
pub(crate) fn step(turn: TurnId, number: u32) -> String {
    format!("s{}-{number}", turn.0)
}

pub(crate) fn call(id: CallId) -> String {
    format!("c{}-{}-{}", id.turn.0, id.step, id.index)
}

pub(crate) fn question(id: &InquiryId) -> String {
    format!("q-{}", written(id.as_str()))
}

/// Any text as a part of a name. A dot becomes a dash; what is neither letter nor digit its number.
pub(crate) fn written(text: &str) -> String {
    let mut name = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '.' => name.push('-'),
            letter if letter.is_ascii_alphanumeric() => name.push(letter),
            // Writing to a string cannot fail.
            letter => write!(name, "_{:x}_", u32::from(letter)).unwrap_or_default(),
        }
    }
    name
}

/// Any text as a part of an address.
pub(crate) fn in_address(text: &str) -> String {
    let mut address = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            address.push(char::from(byte));
        } else {
            write!(address, "%{byte:02X}").unwrap_or_default();
        }
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_harmless_and_tells_ids_apart() {
        assert_eq!(question(&InquiryId::new("1.2.0.permission.1")), "q-1-2-0-permission-1");
        assert_eq!(written("\"><b"), "_22__3e__3c_b");
        let names = ["a.b", "a-b", "a_b", "a_2d_b", "ab"].map(written);
        assert!(names.iter().enumerate().all(|(at, name)| !names[..at].contains(name)));
        assert_eq!(in_address("a/../b?c"), "a%2F..%2Fb%3Fc");
    }
}
