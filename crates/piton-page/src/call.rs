//! A call of a tool: one line that opens.

use maud::{Markup, html};
use piton_core::summary::{INPUT_SUMMARY_CHARS_MAX, input_summary, shorten};
use piton_core::view::{CallState, CallView, Outcome, ResultView};

use crate::changed;
use crate::diff::Extent;
use crate::icon::{chevron, icon, spinning};
use crate::ident;
use crate::part::{Group, Part, Text};
use crate::scene::Scene;
use crate::undo;
use crate::visible::visible;
use crate::when::{count, duration, since};

/// Longest end of a running command's output that is shown, in bytes.
const TAIL_BYTES_MAX: usize = 16 * 1024;
/// The same in lines.
const TAIL_LINES_MAX: usize = 200;
/// Longest output of a failed call that is shown without being asked for, in bytes.
const FAILED_BYTES_MAX: usize = 2 * 1024;
/// Longest output or arguments on a page, in bytes. The whole is a file of its own.
const BODY_BYTES_MAX: usize = 256 * 1024;

/// The tool that puts a question of the model to a person.
const ASK_USER: &str = "ask_user";

/// How a call looks.
struct Look {
    is: &'static str,
    icon: Markup,
    /// For ears only.
    said: &'static str,
    /// What stands at the end of the line.
    told: Markup,
}

/// The end of the name of the element that holds what the worker of a call does.
pub(crate) const WORKER: &str = "worker";

/// The element of a call.
pub(crate) fn part(scene: &Scene<'_>, call: &CallView) -> Part {
    let id = scene.named(&ident::call(call.id));
    let look = look(scene, call);
    if let Some(worker) = call.worker.as_ref().filter(|_| is_at_work(call)) {
        return handed_on((call, worker.as_str()), &look, &id);
    }
    let summary = summary(call, &look, None).into_string();
    if call.state == CallState::Running {
        let fixed = " class=\"call at turnable\" open";
        let group =
            Group::new("details", id.as_str(), fixed).attr("data-is", Some(look.is.to_owned()));
        return group.head(summary).kids(vec![running(scene, call, &id)]);
    }
    let inline = inline(scene, call, &id);
    let body = inline.clone().unwrap_or_else(|| to_load(scene, call));
    let html = html! {
        details.call.at.turnable id=(id) data-is=(look.is) open[inline.is_some()] {
            (maud::PreEscaped(summary))
            div.call-body id={ (id) "-b" } { (body) }
        }
    };
    Part::leaf(id, html.into_string())
}

/// Whether a call was handed to a worker and has not ended.
pub(crate) fn is_at_work(call: &CallView) -> bool {
    call.worker.is_some() && !matches!(call.state, CallState::Done { .. })
}

/// A call that a worker does. What the worker does is put in by its own frames. So its place is always the
/// same here: no frame of the conversation replaces it.
fn handed_on((call, worker): (&CallView, &str), look: &Look, id: &str) -> Part {
    let head = format!("{id}-h");
    let summary = summary(call, look, Some(&head)).into_string();
    let to_come = format!("{id}-{WORKER}");
    let html = html! {
        div id=(to_come) data-worker { div.call-note { span.push {} (open_worker(worker)) } }
    };
    let body = Group::new("div", format!("{id}-b"), " class=\"call-body\"");
    let body = body.kids(vec![Part::leaf(to_come, html.into_string())]);
    Group::new("details", id, " class=\"call at turnable\" open")
        .attr("data-is", Some(look.is.to_owned()))
        .kids(vec![Part::leaf(head, summary), body])
}

/// Everything of a call, for a person who opens it. What a worker did takes the place of its report, which is
/// the last thing that it said.
pub(crate) fn body(scene: &Scene<'_>, call: &CallView, worker: Option<Markup>) -> Markup {
    if let Some(worker) = worker {
        return worker;
    }
    let table = changed::table(call);
    html! {
        @if let Some(table) = &table {
            (table.html("Changes in", Extent::Whole))
        } @else {
            pre.out tabindex="0" dir="ltr" aria-label="Input" { (visible(&cut(&pretty(&call.arguments)))) }
        }
        @if let Some(asked) = &call.asked {
            p.call-note { "You changed it. The model wanted:" }
            pre.out tabindex="0" dir="ltr" { (visible(&cut(&pretty(asked)))) }
        }
        @match &call.result {
            // The table has what the result tells.
            Some(result) if table.is_some() && changed::is_told(call) => (whole_output(result)),
            Some(result) => (output(result)),
            None => {},
        }
        @if call.changes.len() > 1 {
            ul.call-note aria-label="Files" { @for change in &call.changes { li { code { (visible(&change.path)) } } } }
        }
        (note(call))
        (undoing(scene, call, &scene.named(&ident::call(call.id))))
    }
}

/// The way to take back what a call changed in files.
fn undoing(scene: &Scene<'_>, call: &CallView, id: &str) -> Markup {
    let was_made = matches!(call.state, CallState::Done { outcome: Outcome::Ok, .. });
    let has_changed = call.change.is_some() || !call.changes.is_empty();
    html! {
        @if was_made && has_changed { (undo::fold(scene, id, &call.id.to_string())) }
    }
}

fn summary(call: &CallView, look: &Look, id: Option<&str>) -> Markup {
    let told = asked_of_a_person(call).unwrap_or_else(|| {
        let told = input_summary(&call.tool, &call.arguments);
        let told = told.strip_prefix(&*call.tool).unwrap_or(&told);
        told.trim_start_matches([':', ' ']).to_owned()
    });
    let worker = call.worker.as_ref().map(|_| call.id.index.saturating_add(1));
    html! {
        summary id=[id] {
            span class={ "node is-" (look.is) } { (look.icon) }
            span.call-name {
                @if let Some(number) = worker { "worker " (number) } @else { (visible(&call.tool)) }
            }
            span.call-arg dir="ltr" { (visible(&told)) }
            span.call-meta {
                span.sr { (look.said) ", " }
                (look.told)
                @if let (Some(began), Some(ended)) = (call.started, call.ended) {
                    span { (duration(ended.ms_since(began))) }
                }
            }
            (chevron())
        }
    }
}

/// The question that a call puts to a person, in place of its arguments.
fn asked_of_a_person(call: &CallView) -> Option<String> {
    if &*call.tool != ASK_USER {
        return None;
    }
    let arguments: serde_json::Value = serde_json::from_str(&call.arguments).ok()?;
    let question = arguments.get("question")?.as_str()?;
    let line = question.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(shorten(&line, INPUT_SUMMARY_CHARS_MAX))
}

fn look(scene: &Scene<'_>, call: &CallView) -> Look {
    let halted = |said, told: &str| Look {
        is: "halt",
        icon: icon("pause"),
        said,
        told: html! { span { (told) } },
    };
    let bad = |said, told: &str| Look {
        is: "bad",
        icon: icon("x"),
        said,
        told: html! { span.bad { (told) } },
    };
    let asks = |told: &str| {
        let told = html! { span { (told) } };
        Look { is: "ask", icon: icon("hand"), said: "waits for you", told }
    };
    if call.asking.is_some() {
        return asks("asks below");
    }
    match &call.state {
        CallState::Running if scene.live_call(call.id).is_some_and(|live| live.asks) => {
            asks("waits for you")
        }
        CallState::Running if scene.live.driven && scene.head.open == Some(call.id.turn) => {
            let told = html! { span.go { "running" } @if let Some(began) = call.started { (since(began)) } };
            Look { is: "run", icon: spinning(), said: "running", told }
        }
        CallState::Running => halted("outcome unknown", "was running"),
        CallState::InDoubt => halted("outcome unknown", "outcome unknown"),
        CallState::Parked { .. } => asks("waits for you"),
        CallState::Done { outcome: Outcome::Ok, exit_code: Some(code) } if *code != 0 => {
            bad("failed", &format!("exit {code}"))
        }
        CallState::Done { outcome: Outcome::Ok, exit_code } => {
            let told = good(call, *exit_code);
            Look { is: "ok", icon: icon("check"), said: "done", told }
        }
        CallState::Done { outcome: Outcome::Failed, exit_code } => match exit_code {
            Some(code) => bad("failed", &format!("exit {code}")),
            None => bad("failed", "failed"),
        },
        CallState::Done { outcome: Outcome::Denied, .. } => bad("denied", "denied"),
        CallState::Done { outcome: Outcome::Cancelled, .. } => halted("stopped", "stopped"),
        CallState::Done { outcome: Outcome::Unknown, .. } => {
            halted("outcome unknown", "outcome unknown")
        }
        CallState::Waiting | _ => {
            let told = html! { span { "waits" } };
            Look { is: "wait", icon: icon("dot"), said: "not started", told }
        }
    }
}

/// What a call that went well gave, in two words.
fn good(call: &CallView, exit_code: Option<i32>) -> Markup {
    if let Some(table) = changed::table(call) {
        let (new, lost) = table.counts();
        return html! {
            @if 0 < new { span.good { "+" (new) } }
            @if 0 < lost { span.bad { "−" (lost) } }
        };
    }
    if let Some(code) = exit_code {
        return html! { span.good { "exit " (code) } };
    }
    let lines = call.result.as_ref().map_or(0, |result| result.split().0.lines().count());
    html! { @if 0 < lines { span { (count(u64::try_from(lines).unwrap_or(0), "line", "lines")) } } }
}

/// What is shown of a call that is at work.
fn running(scene: &Scene<'_>, call: &CallView, id: &str) -> Part {
    let live = scene.live_call(call.id);
    let tail = live.map(|live| tail(&live.tail).to_owned()).unwrap_or_default();
    let fixed = " class=\"out\" tabindex=\"0\" dir=\"ltr\"";
    let out = Part::Text(Text { id: format!("{id}-out"), tag: "pre", fixed, words: tail });
    let progress = live.and_then(|live| live.progress.as_deref()).unwrap_or_default();
    let told = html! {
        div.call-note id={ (id) "-say" } {
            @if !progress.is_empty() { span { (visible(progress)) } }
        }
    };
    let told = Part::leaf(format!("{id}-say"), told.into_string());
    Group::new("div", format!("{id}-b"), " class=\"call-body\"").kids(vec![out, told])
}

/// The body of a call that is shown without being asked for: of one that failed, of a short change, or of
/// one that somebody else asks about.
fn inline(scene: &Scene<'_>, call: &CallView, id: &str) -> Option<Markup> {
    if let CallState::Parked { question } = &call.state {
        return Some(html! { p.what dir="auto" { (visible(question)) } });
    }
    let CallState::Done { outcome, exit_code } = call.state else { return None };
    let text = call.result.as_ref().map(|result| &*result.text).unwrap_or_default();
    let has_failed = outcome != Outcome::Ok || exit_code.is_some_and(|code| code != 0);
    if has_failed {
        let result = call.result.as_ref().filter(|_| text.len() <= FAILED_BYTES_MAX)?;
        return Some(html! { (output(result)) (note(call)) });
    }
    let table = changed::table(call)?;
    let drawn = || table.html("Changes in", Extent::Whole);
    table.is_short().then(|| html! { (drawn()) (note(call)) (undoing(scene, call, id)) })
}

fn to_load(scene: &Scene<'_>, call: &CallView) -> Markup {
    let address = scene.address(&format!("call/{}", call.id));
    html! { a.call-note data-load href=(address) { "Input and output" } (note(call)) }
}

fn output(result: &ResultView) -> Markup {
    let (output, notes) = result.split();
    html! {
        pre.out tabindex="0" dir="ltr" aria-label="Output" {
            @if output.trim().is_empty() { "(no output)" } @else { (visible(&cut(output))) }
        }
        @if !notes.trim().is_empty() { p.call-note { (visible(notes.trim())) } }
        (whole_output(result))
    }
}

/// The way to an output that is too long to be kept in the journal.
fn whole_output(result: &ResultView) -> Markup {
    html! {
        @if let Some(blob) = &result.blob {
            p.call-note {
                a href={ "/api/v1/blobs/" (ident::in_address(blob.digest.as_str())) } download {
                    "Whole output · " (piton_core::attachment::size(blob.bytes))
                }
            }
        }
    }
}

/// Who does the work. Who decided stands below the call, where it was asked.
fn note(call: &CallView) -> Markup {
    html! {
        @if let Some(worker) = &call.worker {
            div.call-note { span.push {} (open_worker(worker.as_str())) }
        }
    }
}

/// The way to the conversation of a worker.
pub(crate) fn open_worker(worker: &str) -> Markup {
    html! { a.b.plain href={ "/c/" (ident::in_address(worker)) } { "Open conversation" } }
}

fn pretty(arguments: &str) -> String {
    let value: Option<serde_json::Value> = serde_json::from_str(arguments).ok();
    let pretty = value.and_then(|value| serde_json::to_string_pretty(&value).ok());
    pretty.unwrap_or_else(|| arguments.to_owned())
}

fn cut(text: &str) -> String {
    if text.len() <= BODY_BYTES_MAX {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(BODY_BYTES_MAX);
    format!("{}\n[{} more bytes]", text.get(..end).unwrap_or_default(), text.len() - end)
}

/// The end of an output, from the beginning of a line on.
fn tail(text: &str) -> &str {
    let least = text.ceil_char_boundary(text.len().saturating_sub(TAIL_BYTES_MAX));
    let bounded = text.get(least..).unwrap_or_default();
    let last_lines = bounded.rmatch_indices('\n').nth(TAIL_LINES_MAX);
    let start = last_lines.or_else(|| bounded.match_indices('\n').next().filter(|_| 0 < least));
    bounded.get(start.map_or(0, |(at, _)| at + 1)..).unwrap_or_default()
}
