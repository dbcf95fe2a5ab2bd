//! Answers that no model gave: a web page, or nothing at all. A wrong address gives them, and so do
//! a proxy and a network that asks to log in first. Asking again gets the same, unless the status
//! says otherwise.
//!
//! Servers call their streams many things (`text/plain`, `application/json`, nothing), some call
//! everything a page, and some call a page a stream: so a body is judged by how it begins. No event
//! and no JSON begins with an angle bracket.

use piton_core::event::FailureClass;
use reqwest::StatusCode;
use reqwest::header::CONTENT_TYPE;

use super::redirect::host;
use crate::model::ModelFailure;

/// What web pages are called.
const PAGES: [&str; 2] = ["text/html", "application/xhtml+xml"];
/// What may stand before everything else in a text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// Longest title of a page that is told, in characters.
const TITLE_CHARS_MAX: usize = 80;
/// What to look at.
const ADVICE: &str =
    "is the provider's base_url right, and does a proxy or the network want a login?";

/// Who answered, and whether they call it a page.
pub(super) struct Sender {
    host: String,
    /// What they call it, if that is what pages are called.
    called: Option<&'static str>,
}

impl Sender {
    pub(super) fn of(response: &reqwest::Response) -> Self {
        let written = response.headers().get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
        let medium = written.and_then(|it| it.split(';').next()).unwrap_or_default().trim();
        let called = PAGES.into_iter().find(|page| medium.eq_ignore_ascii_case(page));
        Self { host: host(response.url()), called }
    }

    /// What an answer that says that it has nothing to say means.
    pub(super) fn nothing(&self, status: StatusCode) -> Option<ModelFailure> {
        let is_empty = [StatusCode::NO_CONTENT, StatusCode::RESET_CONTENT].contains(&status);
        is_empty.then(|| self.no_stream(&format!("nothing (status {})", status.as_u16())))
    }

    /// What an answer that begins so means, if it is a page.
    pub(super) fn page(&self, start: &[u8]) -> Option<ModelFailure> {
        self.sent_page(start).then(|| self.no_stream(self.called.unwrap_or("a web page")))
    }

    /// What a body says to programs. The words of a page are for people with a browser.
    pub(super) fn words<'a>(&self, body: &'a [u8]) -> &'a [u8] {
        if self.sent_page(body) { &[] } else { body }
    }

    /// What an error means that came with such a body. Of a page only the title is told.
    pub(super) fn refusal(&self, status: u16, body: &[u8], failure: ModelFailure) -> ModelFailure {
        if !self.sent_page(body) {
            return failure;
        }
        let title = title(body).map_or_else(String::new, |title| format!(" (\"{title}\")"));
        let host = &self.host;
        let message = format!(
            "{host} answered with status {status} and a web page{title}, not as a provider of \
             models: {ADVICE}"
        );
        let class = match StatusCode::from_u16(status) {
            // Nothing goes through before somebody has logged in.
            Ok(StatusCode::NETWORK_AUTHENTICATION_REQUIRED) => FailureClass::InvalidRequest,
            _ => failure.class,
        };
        ModelFailure { class, message, ..failure }
    }

    fn sent_page(&self, body: &[u8]) -> bool {
        let start = body.strip_prefix(BYTE_ORDER_MARK).unwrap_or(body).trim_ascii_start();
        start.first().map_or(self.called.is_some(), |first| *first == b'<')
    }

    fn no_stream(&self, with: &str) -> ModelFailure {
        let host = &self.host;
        let message = format!("{host} answered with {with}, not with a stream of events: {ADVICE}");
        ModelFailure::new(FailureClass::InvalidRequest, message)
    }
}

/// What a page is called by itself, on one line.
fn title(body: &[u8]) -> Option<String> {
    let page = String::from_utf8_lossy(body);
    // Lower case in ASCII keeps every place in the text.
    let lower = page.to_ascii_lowercase();
    let opened = lower.find("<title")?;
    let start = opened + lower.get(opened..)?.find('>')? + 1;
    let end = start + lower.get(start..)?.find('<')?;
    let blank = |letter: char| letter.is_whitespace() || letter.is_control();
    let words: Vec<_> = page.get(start..end)?.split(blank).filter(|it| !it.is_empty()).collect();
    let line: String = words.join(" ").chars().take(TITLE_CHARS_MAX).collect();
    Some(line).filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sender(called: Option<&'static str>) -> Sender {
        Sender { host: "a.invalid:81".into(), called }
    }

    #[test]
    fn a_body_is_judged_by_how_it_begins() {
        for page in ["<html>", " \r\n<!DOCTYPE html>", "\u{feff}<html>"] {
            assert!(sender(None).page(page.as_bytes()).is_some(), "{page}");
        }
        for stream in ["data: {}\n\n", "{\"a\":\"<b>\"}", ": ping\n\n", "event: <x>\n", "\n"] {
            assert!(sender(None).page(stream.as_bytes()).is_none(), "{stream}");
        }
        assert!(sender(None).page(b"").is_none());
        assert!(sender(Some("text/html")).page(b"").is_some());
        assert!(sender(Some("text/html")).page(b"data: {}\n\n").is_none());
    }

    #[test]
    fn a_title_is_one_short_line() {
        for (page, expected) in [
            ("<TITLE lang=en>\n Log\tin \n</TITLE>", Some("Log in")),
            ("<html><title></title>", None),
            ("<title>never ends", None),
            ("<title", None),
            ("<h1>none</h1>", None),
        ] {
            assert_eq!(title(page.as_bytes()).as_deref(), expected, "{page}");
        }
        let long = format!("<title>{}</title>", "ä".repeat(200));
        assert_eq!(title(long.as_bytes()).unwrap().chars().count(), TITLE_CHARS_MAX);
        assert_eq!(title(b"<title>\xff</title>").as_deref(), Some("\u{fffd}"));
    }
}
