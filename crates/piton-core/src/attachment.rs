//! Files in messages: what they are, which are sent as text, and how many one request carries.
//!
//! Knows names and bytes, nothing of providers. A textual file is kept as a part of its own beside
//! what was typed and becomes text only on its way to a model, so a typed text that looks like a
//! file is never taken for one.

use std::borrow::Cow;
use std::mem;

use crate::event::UserPart;

/// Longest textual file that is sent as text, in characters. A longer one stays a file.
pub const INLINED_CHARS_MAX: usize = 200_000;
/// Most bytes of files that one request carries. Base64 makes four bytes of three, and the smallest
/// limit of a whole request among providers is 20 MB.
pub const FILES_BYTES_MAX: u64 = 14 * 1024 * 1024;
const _: () = assert!(FILES_BYTES_MAX / 3 * 4 < 20_000_000);

/// The type of a file whose type is not known.
pub const UNKNOWN_TYPE: &str = "application/octet-stream";

const KILO: u64 = 1_000;
const MEGA: u64 = 1_000_000;

/// What a file is. Its first bytes say so; its name only tells texts apart, because a name can lie
/// and a provider that is told a wrong type refuses the request.
pub fn media_type(name: &str, content: &[u8]) -> &'static str {
    let mut sniffing = Sniffing::default();
    sniffing.add(content);
    sniffing.media_type(name)
}

/// Tells what a file is while its content comes in pieces.
#[derive(Clone, Debug, Default)]
pub struct Sniffing {
    first: Vec<u8>,
    /// A letter of which the rest has not come.
    unfinished: Vec<u8>,
    is_binary: bool,
}

impl Sniffing {
    /// Takes the next piece in.
    pub fn add(&mut self, piece: &[u8]) {
        let missing = FIRST_BYTES_MAX.saturating_sub(self.first.len());
        self.first.extend(piece.iter().take(missing));
        if self.is_binary {
            return;
        }
        let text = if self.unfinished.is_empty() {
            Cow::Borrowed(piece)
        } else {
            Cow::Owned([&mem::take(&mut self.unfinished), piece].concat())
        };
        match std::str::from_utf8(&text) {
            Ok(text) => self.is_binary = text.contains('\0'),
            Err(error) => {
                let (whole, rest) = text.split_at(error.valid_up_to());
                self.is_binary = error.error_len().is_some() || whole.contains(&0);
                rest.clone_into(&mut self.unfinished);
            }
        }
    }

    /// What a file of this name is, if this was all of it.
    pub fn media_type(&self, name: &str) -> &'static str {
        let binary = self.is_binary || !self.unfinished.is_empty();
        by_first_bytes(&self.first).unwrap_or(if binary { UNKNOWN_TYPE } else { text_type(name) })
    }
}

/// The first bytes that tell what a file is.
const FIRST_BYTES_MAX: usize = 12;

fn by_first_bytes(content: &[u8]) -> Option<&'static str> {
    const FIRST_BYTES: [(&[u8], &str); 5] = [
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"GIF87a", "image/gif"),
        (b"GIF89a", "image/gif"),
        (b"%PDF-", "application/pdf"),
    ];
    if let Some((_, known)) = FIRST_BYTES.iter().find(|(first, _)| content.starts_with(first)) {
        return Some(known);
    }
    let is_webp = content.starts_with(b"RIFF") && content.get(8..12) == Some(b"WEBP");
    is_webp.then_some("image/webp")
}

fn text_type(name: &str) -> &'static str {
    let (_, ending) = name.rsplit_once('.').unwrap_or_default();
    match ending.to_ascii_lowercase().as_str() {
        "json" => "application/json",
        "xml" | "svg" => "application/xml",
        "yaml" | "yml" => "application/yaml",
        "js" | "mjs" | "cjs" => "text/javascript",
        "md" | "markdown" => "text/markdown",
        "html" | "htm" => "text/html",
        "css" => "text/css",
        "csv" => "text/csv",
        _ => "text/plain",
    }
}

/// Whether a type means text.
pub fn is_textual(media_type: &str) -> bool {
    const APPLICATIONS: [&str; 6] = ["json", "xml", "yaml", "x-yaml", "javascript", "x-javascript"];
    let media_type = media_type.to_ascii_lowercase();
    let bare = media_type.split(';').next().unwrap_or_default().trim();
    match bare.split_once('/') {
        Some(("text", _)) => true,
        Some(("application", kind)) => APPLICATIONS.contains(&kind),
        Some(_) | None => false,
    }
}

/// The text that a file is sent as, if it is sent as one.
pub fn inlined<'a>(media_type: &str, content: &'a [u8]) -> Option<&'a str> {
    let text = std::str::from_utf8(content).ok().filter(|_| is_textual(media_type))?;
    (text.chars().nth(INLINED_CHARS_MAX).is_none()).then_some(text)
}

/// What a model reads in front of a file.
pub fn heading(name: &str, media_type: &str) -> String {
    format!("Attached file: {name}\nMIME: {media_type}\n")
}

/// A file in one line, for people: `[image a.png, 12 KB]`. Nothing for what was typed.
pub fn label(part: &UserPart) -> Option<String> {
    let (name, media_type, bytes) = match part {
        UserPart::Text { .. } => return None,
        UserPart::File { name, media_type, blob } => (name, media_type, blob.bytes),
        UserPart::InlinedFile { name, media_type, text } => (name, media_type, text.len() as u64),
    };
    let kind = if media_type.starts_with("image/") { "image" } else { "file" };
    Some(format!("[{kind} {name}, {}]", size(bytes)))
}

/// A size for people.
pub fn size(bytes: u64) -> String {
    match bytes {
        1 => "1 byte".into(),
        0..KILO => format!("{bytes} bytes"),
        KILO..MEGA => format!("{} KB", bytes.div_ceil(KILO)),
        MEGA.. => {
            let tenths = bytes.div_ceil(MEGA / 10);
            format!("{}.{} MB", tenths / 10, tenths % 10)
        }
    }
}

/// A limit in words; rounded down, so that what is too large never looks as if it fitted.
pub fn limit(bytes: u64) -> String {
    match bytes {
        0..KILO => size(bytes),
        KILO..MEGA => size(bytes - bytes % KILO),
        MEGA.. => size(bytes - bytes % (MEGA / 10)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_say_what_a_file_is() {
        let check =
            |name, content: &[u8], expected| assert_eq!(media_type(name, content), expected);
        check("a.txt", b"\x89PNG\r\n\x1a\n....", "image/png");
        check("a", b"\xff\xd8\xff\xe0", "image/jpeg");
        check("a", b"GIF89a..", "image/gif");
        check("a", b"RIFF\x10\0\0\0WEBPVP8 ", "image/webp");
        check("a.webp", b"RIFF\x10\0\0\0WAVEfmt ", UNKNOWN_TYPE);
        check("a.bin", b"%PDF-1.7\n\xff", "application/pdf");
        check("a.png", b"no image at all", "text/plain");
        check("a.JSON", b"{}", "application/json");
        check("a.svg", b"<svg/>", "application/xml");
        check("a.yml", b"a: b", "application/yaml");
        check("Makefile", b"all:\n", "text/plain");
        check("a.txt", b"a\0b", UNKNOWN_TYPE);
        check("a.txt", b"latin \xe9", UNKNOWN_TYPE);
    }

    #[test]
    fn a_file_that_comes_in_pieces_is_what_it_is_as_a_whole() {
        let texts = ["größe, 日本 and 🦀", "latin \u{e9}", "a\0b", "", "RIFF1234WEBPVP8 "];
        let mut all: Vec<Vec<u8>> = texts.map(|text| text.as_bytes().to_owned()).to_vec();
        all.extend([
            b"latin \xe9".to_vec(),
            b"cut \xf0\x9f\xa6".to_vec(),
            b"\x89PNG\r\n\x1a\n\0".to_vec(),
        ]);
        for content in all {
            let whole = media_type("a.md", &content);
            for size in 1..=content.len() {
                let mut sniffing = Sniffing::default();
                content.chunks(size).for_each(|piece| sniffing.add(piece));
                assert_eq!(sniffing.media_type("a.md"), whole, "{content:?} by {size}");
            }
        }
    }

    // C17
    #[test]
    fn textual_is_what_a_person_could_have_typed() {
        for textual in [
            "text/plain",
            "TEXT/X-Anything",
            "application/json",
            "Application/XML",
            "application/yaml",
            "application/x-yaml",
            "application/javascript",
            "application/x-javascript",
            "text/html; charset=utf-8",
            "application/json;x=y",
        ] {
            assert!(is_textual(textual), "{textual}");
        }
        for other in ["image/png", "application/pdf", "", "text", "application/x-json-stream"] {
            assert!(!is_textual(other), "{other}");
        }
    }

    // C17
    #[test]
    fn what_is_too_long_or_no_text_stays_a_file() {
        let most = "é".repeat(INLINED_CHARS_MAX);
        assert_eq!(inlined("text/plain", most.as_bytes()), Some(&*most));
        assert_eq!(inlined("text/plain", format!("{most}.").as_bytes()), None);
        assert_eq!(inlined("text/plain", b"\xff"), None);
        assert_eq!(inlined("image/png", b"text"), None);
        assert_eq!(inlined("application/json", b"{\r\n}\r\n"), Some("{\r\n}\r\n"));
    }

    #[test]
    fn sizes_are_told_in_round_numbers() {
        for (bytes, expected) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (999, "999 bytes"),
            (1_000, "1 KB"),
            (11_001, "12 KB"),
            (1_000_000, "1.0 MB"),
            (5_242_880, "5.3 MB"),
        ] {
            assert_eq!(size(bytes), expected);
        }
    }

    #[test]
    fn what_is_too_large_never_looks_as_if_it_fitted() {
        for most in [1, 999, 1_000, 11_001, 1_000_000, 3_932_160, FILES_BYTES_MAX] {
            assert_ne!(limit(most), size(most + 1), "{most}");
        }
        assert_eq!(limit(5_242_880), "5.2 MB");
    }
}
