//! Every event is documented, because its documentation is a promise to later readers of journals.

use super::{Report, Tree, rust_text};

/// Where the facts are.
const EVENTS: &str = "crates/piton-core/src/event.rs";
const DECLARATION: &str = "pub enum Event {";

pub(super) fn check(tree: &Tree, report: &mut Report) {
    let Some(file) = tree.file(EVENTS) else {
        report.file(EVENTS, "not there; tidy must know where the events are");
        return;
    };
    let lines = rust_text::lines(&file.text);
    let Some(start) = lines.iter().position(|line| line.code.trim() == DECLARATION) else {
        report.file(EVENTS, format!("no `{DECLARATION}`; tidy must know where the events are"));
        return;
    };
    let mut depth = 1;
    let mut documented = false;
    for (index, line) in lines.iter().enumerate().skip(start + 1) {
        let code = line.code.trim();
        let variant = code.split(|c: char| !c.is_alphanumeric()).next().unwrap_or("");
        if depth == 1 && line.comment.starts_with("///") {
            documented = true;
        } else if depth == 1 && variant.starts_with(char::is_uppercase) {
            if !documented {
                report.line(EVENTS, index + 1, format!("{variant} promises nothing: document it"));
            }
            documented = false;
        }
        depth = depth + count(code, ['{', '(', '[']) - count(code, ['}', ')', ']']);
        if depth <= 0 {
            break;
        }
    }
}

fn count(code: &str, brackets: [char; 3]) -> isize {
    code.matches(brackets).count().cast_signed()
}

#[cfg(test)]
mod tests {
    use super::{EVENTS, check};
    use crate::tidy::report::findings;

    #[test]
    fn an_event_without_a_promise_is_found() {
        let text = "pub enum Event {
            /// It happened.
            #[serde(rename = \"Happened\")]
            Happened {
                /// Who.
                who: Name,
            },
            // A mere remark.
            Other(Other),
        }
        pub enum Kind { Undocumented }";
        assert_eq!(
            findings(check, &[(EVENTS, text)]),
            ["crates/piton-core/src/event.rs:9: Other promises nothing: document it"]
        );
    }

    #[test]
    fn events_that_moved_are_found() {
        assert_eq!(findings(check, &[]).len(), 1);
        assert_eq!(findings(check, &[(EVENTS, "pub enum Fact {}")]).len(), 1);
    }
}
