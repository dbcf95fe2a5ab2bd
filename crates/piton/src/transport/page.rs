//! Answers that no model gave: a web page, or nothing at all. A wrong address gives them, and so
//! does a network that asks to log in first. Asking again gets the same.
//!
//! Servers call their streams many things (`text/plain`, `application/json`, nothing), and some
//! call everything a page: so only what is called a page and also looks like one is refused.

use piton_core::event::FailureClass;
use reqwest::StatusCode;
use reqwest::header::CONTENT_TYPE;

use super::redirect::host;
use crate::model::ModelFailure;

/// What web pages are called.
const PAGES: [&str; 2] = ["text/html", "application/xhtml+xml"];

/// What an answer that says that it has nothing to say means.
pub(super) fn nothing(response: &reqwest::Response) -> Option<ModelFailure> {
    let status = response.status();
    let is_empty = [StatusCode::NO_CONTENT, StatusCode::RESET_CONTENT].contains(&status);
    is_empty.then(|| told(response, &format!("nothing (status {})", status.as_u16())))
}

/// What an answer that calls itself a page means, if it looks like one.
pub(super) fn page(response: &reqwest::Response) -> Option<ModelFailure> {
    let written = response.headers().get(CONTENT_TYPE)?.to_str().ok()?.to_ascii_lowercase();
    let medium = written.split(';').next().unwrap_or_default().trim();
    PAGES.contains(&medium).then(|| told(response, medium))
}

/// Whether a body that begins so is a page. No event and no JSON begins like one.
pub(super) fn looks_like_one(start: &[u8]) -> bool {
    start.trim_ascii_start().first().is_none_or(|first| *first == b'<')
}

fn told(response: &reqwest::Response, with: &str) -> ModelFailure {
    let host = host(response.url());
    let message = format!(
        "{host} answered with {with}, not with a stream of events: is the provider's base_url \
         right, and does the network want a login?"
    );
    ModelFailure::new(FailureClass::InvalidRequest, message)
}
