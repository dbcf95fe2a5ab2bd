//! The text of a message: how large it may be, and what bytes are one.

use std::io;
use std::io::ErrorKind::InvalidData;

use piton_store::ENTRY_BYTES_MAX;

use crate::drafts::TEXT_BYTES_MAX;
use crate::report::InputFault;

/// Largest stored form of a text, in bytes: an entry, less what it says besides.
const STORED_BYTES_MAX: usize = ENTRY_BYTES_MAX - 4 * 1024;
// Of text that people write, JSON makes at most two bytes of one. It makes six of a control character.
const _: () = assert!(2 * TEXT_BYTES_MAX < STORED_BYTES_MAX as u64);

/// A text that can be sent.
pub(super) fn sendable(text: String) -> Result<String, InputFault> {
    if text.trim().is_empty() {
        return Err(InputFault::EmptyText);
    }
    check_size(text.len())?;
    let stored = serde_json::to_string(&text).map_or(usize::MAX, |stored| stored.len());
    if STORED_BYTES_MAX < stored {
        return Err(InputFault::LongStored { bytes: stored, bytes_max: STORED_BYTES_MAX });
    }
    Ok(text)
}

fn check_size(bytes: usize) -> Result<(), InputFault> {
    if TEXT_BYTES_MAX < bytes as u64 {
        return Err(InputFault::LongText { bytes_max: TEXT_BYTES_MAX });
    }
    Ok(())
}

/// What was read, as a text. The size comes first: what was cut off may be the rest of a character, or
/// all but white space.
pub(super) fn decoded(
    bytes: Vec<u8>,
    unreadable: impl FnOnce(io::Error) -> InputFault,
) -> Result<String, InputFault> {
    let text = whole(bytes, unreadable)?;
    Ok(text.trim_end().to_owned())
}

/// The same with the blanks at its end.
pub(super) fn whole(
    bytes: Vec<u8>,
    unreadable: impl FnOnce(io::Error) -> InputFault,
) -> Result<String, InputFault> {
    check_size(bytes.len())?;
    let text = String::from_utf8(bytes);
    text.map_err(|error| unreadable(io::Error::new(InvalidData, error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piped(bytes: Vec<u8>) -> Result<String, InputFault> {
        decoded(bytes, InputFault::Stdin)
    }

    #[test]
    fn what_is_piped_in_is_whole_or_too_large() {
        let most = usize::try_from(TEXT_BYTES_MAX).unwrap();
        let long = |bytes: Vec<u8>| matches!(piped(bytes), Err(InputFault::LongText { .. }));
        let mut blank_at_the_border = vec![b'a'; most];
        blank_at_the_border.push(b'\n');
        assert!(long(blank_at_the_border));
        let mut cut_in_a_letter = vec![b'a'; most];
        cut_in_a_letter.push("é".as_bytes()[0]);
        assert!(long(cut_in_a_letter));
        assert_eq!(piped(vec![b'a'; most]).unwrap().len(), most);
        assert_eq!(piped(b" two\nlines \n\n".to_vec()).unwrap(), " two\nlines");
        assert!(matches!(piped(vec![b'a', 0xff]), Err(InputFault::Stdin(_))));
    }

    #[test]
    fn a_text_is_measured_as_it_is_stored() {
        let most = usize::try_from(TEXT_BYTES_MAX).unwrap();
        let check = |text: String, fits: bool| match sendable(text) {
            Ok(_) => assert!(fits),
            Err(fault) => {
                assert!(!fits && matches!(fault, InputFault::LongStored { .. }), "{fault}");
            }
        };
        check("\"".repeat(most), true);
        check("\x01".repeat(most), false);
        check("\x01".repeat(STORED_BYTES_MAX / 6 - 1), true);
    }
}
