#![cfg(test)]
//! The crash suites: every point, every pair, ten in a row, and their controls; in process, and
//! over HTTP with the scripted model as a provider.

#[expect(
    clippy::wildcard_enum_match_arm,
    clippy::format_collect,
    clippy::format_push_string,
    reason = "most kinds of facts are alike here, and texts are short"
)]
mod context;
mod crash;
mod crash_http;
mod crash_workers;
mod disk;
mod faces;
mod forks;
mod import;
mod letters;
mod undo;

/// Scripted panics are wanted; their reports would only hide the real ones.
fn hush_scripted_panics() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let scripted = panic.payload_as_str().is_some_and(|text| text.starts_with("scripted"));
        if !scripted {
            report(panic);
        }
    }));
}
