//! From the bytes of a page to its text.

use encoding_rs::{Encoding, UTF_8};
use reqwest::Url;

use super::markdown::markdown;

/// How far into a page it is looked for what letters it has, in bytes.
const HEAD_BYTES_MAX: usize = 1024;
/// How far into a page it is looked for bytes that no text has.
const SNIFF_BYTES_MAX: usize = 8 * 1024;

/// What a host answered.
#[derive(Debug)]
pub(super) struct Answer {
    /// The address, behind redirects.
    pub(super) url: Url,
    /// What the host says that it is, in small letters.
    pub(super) kind: String,
    /// The page.
    pub(super) bytes: Vec<u8>,
    /// Whether there was more.
    pub(super) cut: bool,
}

/// The text of a page.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) text: String,
    /// Why it is not all of the page.
    pub(super) cut: Option<&'static str>,
}

/// Why a page of this kind is not read at all.
pub(super) fn refused_kind(kind: &str) -> Option<String> {
    let bare = bare(kind);
    let families = ["image/", "audio/", "video/", "font/"];
    let single = ["application/pdf", "application/zip", "application/gzip", "application/wasm"];
    let is_refused =
        families.iter().any(|family| bare.starts_with(family)) || single.contains(&bare);
    is_refused.then(|| format!("this is no text but {bare}, which is not fetched"))
}

/// The text of a page; the reason if it has none.
pub(super) fn text(answer: &Answer) -> Result<Text, String> {
    let head = answer.bytes.get(..SNIFF_BYTES_MAX).unwrap_or(&answer.bytes);
    let (encoding, is_told) = encoding(answer);
    // UTF-16 is full of zeros.
    if encoding == UTF_8 && head.contains(&0) {
        return Err("this is no text, and it is not fetched".into());
    }
    let (text, _, broken) = encoding.decode(&answer.bytes);
    // Letters that are wrong here and there are read; a file that is full of them is none.
    if broken
        && !is_told
        && text.chars().filter(|it| *it == char::REPLACEMENT_CHARACTER).count() * 10
            > text.chars().count()
    {
        return Err("this is no text, and it is not fetched".into());
    }
    let cut = answer.cut.then_some("the page is longer than what is read of it");
    let html = matches!(bare(&answer.kind), "text/html" | "application/xhtml+xml")
        || answer.kind.is_empty()
            && text.trim_start().to_ascii_lowercase().starts_with("<!doctype html");
    if !html {
        return Ok(Text { text: text.into_owned(), cut });
    }
    let made = markdown(&text).ok_or("the page could not be read as HTML")?;
    let deep = made.is_cut.then_some("the page is nested so deeply that parts were left out");
    Ok(Text { text: made.text, cut: cut.or(deep) })
}

/// The kind without what is said beside it.
fn bare(kind: &str) -> &str {
    kind.split(';').next().unwrap_or_default().trim()
}

/// Which letters the page has, and whether somebody says so.
fn encoding(answer: &Answer) -> (&'static Encoding, bool) {
    let named = |text: &str| {
        let (_, behind) = text.split_once("charset=")?;
        let label = behind.trim_start_matches(['"', '\'']);
        let end = label.find(['"', '\'', ';', ' ', '/', '>']).unwrap_or(label.len());
        Encoding::for_label(label.get(..end)?.as_bytes())
    };
    if let Some((encoding, _)) = Encoding::for_bom(&answer.bytes) {
        return (encoding, true);
    }
    let head = answer.bytes.get(..HEAD_BYTES_MAX).unwrap_or(&answer.bytes);
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let told = named(&answer.kind).or_else(|| named(&head));
    told.map_or((UTF_8, false), |encoding| (encoding, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(kind: &str, bytes: &[u8]) -> Result<String, String> {
        let url = Url::parse("https://a.example/").unwrap();
        let (kind, bytes) = (kind.to_owned(), bytes.to_owned());
        text(&Answer { url, kind, bytes, cut: false }).map(|text| text.text)
    }

    #[test]
    fn html_becomes_markdown_and_other_text_stays_as_it_is() {
        let page = b"<!doctype html><h1>Rope</h1><p>A <b>safe</b> <a href='/k'>knot</a>.";
        let made = "# Rope\n\nA **safe** [knot](/k).";
        assert_eq!(read("text/html; charset=utf-8", page).as_deref(), Ok(made));
        assert_eq!(read("", page).as_deref(), Ok(made));
        assert_eq!(
            read("application/json", b"{\"a\": \"<b>\"}").as_deref(),
            Ok("{\"a\": \"<b>\"}")
        );
        assert_eq!(read("text/plain", b"<h1>x</h1>").as_deref(), Ok("<h1>x</h1>"));
    }

    #[test]
    fn a_page_is_read_in_its_own_letters() {
        assert_eq!(read("text/plain; charset=iso-8859-1", b"caf\xe9").as_deref(), Ok("café"));
        let meta = b"<meta charset=\"windows-1252\"><p>caf\xe9";
        assert_eq!(read("text/html", meta).as_deref(), Ok("café"));
        assert_eq!(read("text/plain", b"\xff\xfeh\0i\0").as_deref(), Ok("hi"));
        assert_eq!(read("text/plain", "日本".as_bytes()).as_deref(), Ok("日本"));
    }

    #[test]
    fn what_is_no_text_is_refused_whatever_it_is_called() {
        assert!(read("text/plain", b"\x7fELF\0\0\0").is_err());
        assert!(read("application/octet-stream", &[0xfe; 100]).is_err());
        assert!(refused_kind("image/png").unwrap().contains("image/png"));
        assert!(refused_kind("application/pdf; x=y").is_some());
        assert!(refused_kind("text/html").is_none() && refused_kind("").is_none());
    }
}
