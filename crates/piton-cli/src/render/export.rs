//! A conversation for others: as Markdown, and as a page of HTML.
//!
//! Whatever was said stays text: nothing of it becomes a heading, a tag or a script of the page.

use std::fmt::Write as _;

use piton_agent::{moment, typed};
use piton_core::view::{CallView, ItemView, TurnEnd, TurnView, View};

use super::changed::diff;
use super::print::{Life, call_line};
use super::turn;

/// Shortest fence of a block of code.
const FENCE_TICKS_MIN: usize = 3;

/// As Markdown.
pub(crate) fn markdown(view: &View, id: &str) -> String {
    let mut text = format!("# {}\n\n{}\n", on_one_line(&view.head.title), beginning(view, id));
    for turn in view.shown() {
        put(&mut text, format_args!("\n## Turn {}\n", turn.head.id.0));
        for item in &turn.items {
            match item {
                ItemView::Message(said) => {
                    text.push('\n');
                    for line in turn::said(&said.parts).lines() {
                        put(&mut text, format_args!("{}\n", format!("> {line}").trim_end()));
                    }
                }
                ItemView::Step(step) => {
                    let said = turn::text(step);
                    if !said.trim().is_empty() {
                        put(&mut text, format_args!("\n{}\n", said.trim()));
                    }
                    for call in &step.calls {
                        let line = call_line(call, Life::Still);
                        put(&mut text, format_args!("\n{}\n", fenced(&line, "text")));
                        if let Some(diff) = diff(call) {
                            put(&mut text, format_args!("\n{}\n", fenced(diff.trim_end(), "diff")));
                        } else if let Some(gave) = gave(call) {
                            put(&mut text, format_args!("\n{}\n", fenced(gave, "text")));
                        }
                    }
                }
                _ => {}
            }
        }
        if let Some(note) = note(turn) {
            put(&mut text, format_args!("\n*{note}*\n"));
        }
    }
    text
}

/// As a page that needs nothing else.
pub(crate) fn html(view: &View, id: &str) -> String {
    let title = escaped(&on_one_line(&view.head.title));
    let mut text = format!("{HEAD}<title>{title}</title>\n{LOOKS}</head>\n<body>\n");
    let beginning = escaped(&beginning(view, id));
    put(&mut text, format_args!("<h1>{title}</h1>\n<p>{beginning}</p>\n"));
    for turn in view.shown() {
        put(&mut text, format_args!("<h2>Turn {}</h2>\n", turn.head.id.0));
        for item in &turn.items {
            match item {
                ItemView::Message(said) => block(&mut text, "said", &turn::said(&said.parts)),
                ItemView::Step(step) => {
                    block(&mut text, "answer", turn::text(step).trim());
                    for call in &step.calls {
                        block(&mut text, "call", &call_line(call, Life::Still));
                        match diff(call) {
                            Some(diff) => difference(&mut text, &diff),
                            None => block(&mut text, "gave", gave(call).unwrap_or_default()),
                        }
                    }
                }
                _ => {}
            }
        }
        if let Some(note) = note(turn) {
            put(&mut text, format_args!("<p><em>{}</em></p>\n", escaped(note)));
        }
    }
    text.push_str("</body>\n</html>\n");
    text
}

const HEAD: &str = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
    <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
    style-src 'unsafe-inline'\">\n\
    <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
const LOOKS: &str = "<style>\nbody { font: 1rem/1.5 sans-serif; margin: 2rem auto; max-width: 50rem; \
    padding: 0 1rem }\npre { margin: 0.5rem 0; overflow-wrap: anywhere; white-space: pre-wrap }\n\
    .said { border-left: 0.25rem solid; font-weight: bold; padding-left: 0.75rem }\n\
    .answer { font-family: inherit }\n.call, .gave, .diff { font-size: 0.85rem }\n\
    .diff { margin-left: 1.5rem }\nins, del { text-decoration: none }\n\
    ins { color: #175c2c }\ndel { color: #8f1d1d }\n\
    .gave { margin-left: 1.5rem; opacity: 0.75 }\n</style>\n";

/// Which conversation it is, when it began, and who answered.
fn beginning(view: &View, id: &str) -> String {
    let began = view.shown().next().map(|turn| moment(turn.head.began));
    let mut models: Vec<String> = Vec::new();
    for step in view.shown().flat_map(TurnView::steps) {
        let model = step.model.as_ref().map(typed);
        models.extend(model.filter(|model| !models.contains(model)));
    }
    let models = (!models.is_empty()).then(|| models.join(", "));
    let parts = [Some(format!("Conversation {id}")), began, models];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// A difference, each new and each lost line marked as that; its signs stay, for whoever sees no colours.
fn difference(page: &mut String, diff: &str) {
    page.push_str("<pre class=\"diff\">");
    for line in diff.lines() {
        let (begin, end) = match line.chars().next() {
            Some('+') => ("<ins>", "</ins>"),
            Some('-') => ("<del>", "</del>"),
            Some(_) | None => ("", ""),
        };
        put(page, format_args!("{begin}{}{end}\n", escaped(line)));
    }
    page.push_str("</pre>\n");
}

/// What is said of a turn beside its items.
fn note(turn: &TurnView) -> Option<&str> {
    match (&turn.head.halt, turn.head.end) {
        (Some(halt), _) => Some(halt.message.as_str()),
        (None, Some(TurnEnd::Stopped)) => Some("stopped"),
        (None, None) => Some("incomplete"),
        (None, Some(_)) => None,
    }
}

fn gave(call: &CallView) -> Option<&str> {
    let text = call.result.as_ref()?.text.trim_end();
    Some(text).filter(|text| !text.is_empty())
}

fn block(page: &mut String, class: &str, text: &str) {
    if !text.is_empty() {
        put(page, format_args!("<pre class=\"{class}\">{}</pre>\n", escaped(text)));
    }
}

fn put(text: &mut String, piece: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    text.write_fmt(piece).unwrap_or_default();
}

/// A block of code: its fence is longer than any row of ticks in it.
fn fenced(text: &str, language: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(FENCE_TICKS_MIN.max(longest + 1));
    format!("{fence}{language}\n{text}\n{fence}")
}

fn on_one_line(title: &str) -> String {
    title.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Text that a page shows as it is. Characters that no page may have become a mark.
fn escaped(text: &str) -> String {
    let mut page = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => page.push_str("&amp;"),
            '<' => page.push_str("&lt;"),
            '>' => page.push_str("&gt;"),
            '"' => page.push_str("&quot;"),
            '\'' => page.push_str("&#39;"),
            '\n' | '\t' => page.push(letter),
            letter if letter.is_control() => page.push('\u{fffd}'),
            letter => page.push(letter),
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_longer_than_what_it_holds() {
        assert_eq!(fenced("a", "text"), "```text\na\n```");
        assert_eq!(fenced("a ```` b", "diff"), "`````diff\na ```` b\n`````");
    }

    #[test]
    fn nothing_on_a_page_is_markup_that_was_not_ours() {
        assert_eq!(escaped("<script>\"&'\u{1b}"), "&lt;script&gt;&quot;&amp;&#39;\u{fffd}");
    }
}
