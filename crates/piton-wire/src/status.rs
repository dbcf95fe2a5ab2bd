//! What an error status means where nothing better is said, and what a provider says of retries.

use piton_core::event::FailureClass;

/// The class of a status.
pub(crate) fn class(status: u16) -> FailureClass {
    match status {
        401 | 403 | 407 => FailureClass::Auth,
        402 => FailureClass::Quota,
        413 => FailureClass::ContextOverflow,
        429 => FailureClass::RateLimited,
        503 | 529 => FailureClass::Overloaded,
        // A busy service, two requests that met: the same request may pass later.
        408 | 409 | 425 | 499 | 500..=599 => FailureClass::Server,
        400..=498 => FailureClass::InvalidRequest,
        _ => FailureClass::Unknown,
    }
}

/// What there is to say of an error: the provider's words if it has any, else only its status.
pub(crate) fn said(status: u16, words: &str) -> String {
    match words.trim() {
        "" => format!("the provider answered with status {status}"),
        words => format!("status {status}: {words}"),
    }
}

/// `x-should-retry`: a service may say outright whether a retry is of use; it knows better than a
/// status. It does not talk away what a person has to mend first.
pub(crate) fn obey(class: FailureClass, header: &dyn Fn(&str) -> Option<String>) -> FailureClass {
    match header("x-should-retry").as_deref().map(str::trim) {
        Some("true") if class == FailureClass::InvalidRequest => FailureClass::Server,
        Some("false") if class == FailureClass::RateLimited => FailureClass::Quota,
        Some("false") if class.is_transient() => FailureClass::Unknown,
        Some(_) | None => class,
    }
}
