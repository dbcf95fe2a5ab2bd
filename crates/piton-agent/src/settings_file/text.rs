//! The bytes of the settings file as a text.

use std::io::{self, Read as _};
use std::path::Path;

use piton_tools::open_regular;

/// What some editors put in front of a text. It says nothing, and stays where it is.
pub(crate) const BOM: char = '\u{feff}';

/// Why there is no text.
#[derive(Debug)]
pub(crate) enum Unread {
    /// The system refused.
    System(io::Error),
    /// The bytes are no text: why.
    NoText(String),
}

/// Reads a settings file; none if there is no file.
pub(crate) fn read_text(path: &Path) -> Result<Option<String>, Unread> {
    let mut bytes = Vec::new();
    let read = open_regular(path).and_then(|mut file| file.read_to_end(&mut bytes));
    match read {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Unread::System(error)),
        Ok(_) => {}
    }
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(Unread::NoText("it is UTF-16; save it as UTF-8".into()));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(text)),
        Err(error) => {
            let good = error.utf8_error().valid_up_to();
            let before = error.as_bytes().get(..good).unwrap_or_default();
            let line = 1 + String::from_utf8_lossy(before).matches('\n').count();
            Err(Unread::NoText(format!("line {line} is not UTF-8; save the file as UTF-8")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_is_told_with_its_line() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("piton.toml");
        let fault = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            match read_text(&path) {
                Err(Unread::NoText(why)) => why,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(fault(b"a = 1\n# caf\xe9\n"), "line 2 is not UTF-8; save the file as UTF-8");
        assert_eq!(fault(b"\xff\xfea\0"), "it is UTF-16; save it as UTF-8");
        std::fs::write(&path, "\u{feff}a = 1\r\n").unwrap();
        assert_eq!(read_text(&path).unwrap().as_deref(), Some("\u{feff}a = 1\r\n"));
        assert!(read_text(&place.path().join("none")).unwrap().is_none());
    }
}
