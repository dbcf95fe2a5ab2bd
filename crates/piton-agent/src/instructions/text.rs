//! The text of a file of instructions, as a model may read it.

/// A text, and whether something of it could not be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cleaned {
    pub(super) text: String,
    pub(super) is_lossy: bool,
}

/// Text from bytes that may be no text. A character that was cut at the end is left out, and so is what a
/// person who reviews the file does not see.
pub(super) fn cleaned(bytes: &[u8]) -> Cleaned {
    let (mut text, is_lossy) = match std::str::from_utf8(bytes) {
        Ok(text) => (text.to_owned(), false),
        Err(error) if error.error_len().is_none() => {
            let whole = bytes.get(..error.valid_up_to()).unwrap_or_default();
            (String::from_utf8_lossy(whole).into_owned(), false)
        }
        Err(_) => (String::from_utf8_lossy(bytes).into_owned(), true),
    };
    text.retain(is_readable);
    Cleaned { text: text.trim().to_owned(), is_lossy }
}

fn is_readable(letter: char) -> bool {
    match letter {
        ' '..='~' | '\n' | '\t' => true,
        // Directions of writing, blanks without width, and tags.
        '\u{200b}'
        | '\u{2060}'
        | '\u{feff}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}'
        | '\u{e0000}'..='\u{e007f}' => false,
        letter => !letter.is_control(),
    }
}
