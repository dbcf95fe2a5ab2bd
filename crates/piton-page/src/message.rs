//! A user message: what was said, its attempts, and the only place where it can be tried again.

use maud::{Markup, html};
use piton_core::attachment::size;
use piton_core::view::{
    AttemptView, FailureView, Halt, ItemView, MessagePart, MessageView, ModelRef, PartView,
    TurnView,
};

use crate::icon::{chevron, icon};
use crate::ident;
use crate::part::Part;
use crate::scene::{Scene, Stands, messages, shown};
use crate::visible::visible;
use crate::when::{hours, time};
use crate::words;

/// Media types that browsers show without running anything.
const SHOWN: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The element of a message. It is one for all attempts.
pub(crate) fn part(scene: &Scene<'_>, turn: &TurnView, message: &MessageView) -> Part {
    let id = scene.named(&ident::message(&message.id));
    let is_first = messages(turn).next().is_some_and(|first| first.id == message.id);
    let is_last = messages(turn).next_back().is_some_and(|last| last.id == message.id);
    let stands = Stands::of(scene, turn);
    let may_retry = is_last && scene.may_retry(&message.id);
    let how = if is_first { "" } else { "steering, " };
    let html = html! {
        div.at.user id=(id) tabindex="-1" {
            span.node.is-user { (icon("piton")) }
            h3.sr { "You, " (how) (hours(message.at)) }
            (said(&message.parts))
            div.under {
                @if !is_first { span { "steered into the turn" } }
                (time(message.at))
                (tries(turn, message, &id))
                @if is_first { (told_along(scene, turn)) }
                (acts(scene, turn, message))
                @if is_first { (go_back(scene, turn, &id)) }
            }
            @if stands == Stands::Failed && is_last {
                @if let Some(halt) = &turn.head.halt { (failed(scene, turn, message, halt)) }
            }
            @if may_retry && matches!(stands, Stands::Halted | Stands::Lost) {
                details.again.turnable id={ (id) "-again" } {
                    summary { (chevron()) "Try this message again…" }
                    p.hint { "What came of it is hidden and kept. What tools have done stays." }
                    (retry(scene, turn, message))
                }
            }
        }
    };
    Part::leaf(id, html.into_string())
}

/// Text and files of a message.
pub(crate) fn said(parts: &[MessagePart]) -> Markup {
    let texts: Vec<&str> = parts
        .iter()
        .filter_map(|part| match part {
            MessagePart::Text { text } => Some(&**text),
            MessagePart::File { .. } | MessagePart::InlinedFile { .. } | _ => None,
        })
        .collect();
    let files = parts.iter().filter(|part| !matches!(part, MessagePart::Text { .. }));
    let files: Vec<_> = files.map(file).collect();
    html! {
        div.said {
            div.words dir="auto" { (visible(&texts.join("\n"))) }
            @if !files.is_empty() { div.files { @for file in files { (file) } } }
        }
    }
}

fn file(part: &MessagePart) -> Markup {
    match part {
        MessagePart::File { name, media_type, blob } => {
            let address = format!("/api/v1/blobs/{}", ident::in_address(blob.digest.as_str()));
            html! {
                a.file href=(address) download=(name) {
                    @if SHOWN.contains(&media_type.as_str()) {
                        img.thumb src=(address) alt="" loading="lazy" width="40" height="40";
                    } @else { (icon("file")) }
                    span { (visible(name)) } small { (size(blob.bytes)) }
                }
            }
        }
        MessagePart::InlinedFile { name, text, .. } => {
            let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
            html! { span.file { (icon("file")) span { (visible(name)) } small { (size(bytes)) " · as text" } } }
        }
        MessagePart::Text { .. } | _ => html! {},
    }
}

fn acts(scene: &Scene<'_>, turn: &TurnView, message: &MessageView) -> Markup {
    html! {
        span.acts {
            button.b.plain type="button" data-copy="said" { (icon("copy")) "Copy" }
            form method="post" action=(scene.address("fork")) {
                input type="hidden" name="turn" value=(turn.head.id.0);
                input type="hidden" name="message" value=(message.id.as_str());
                button.b.plain { (icon("fork")) "Fork from here" }
            }
        }
    }
}

/// The way back to where this was not said yet.
fn go_back(scene: &Scene<'_>, turn: &TurnView, id: &str) -> Markup {
    html! {
        details.tries.turnable id={ (id) "-back" } {
            summary { (chevron()) "Go back…" }
            div.call-body {
                a.call-note data-load href=(scene.address(&format!("back/{}", turn.head.id.0))) { "What would become of the files" }
            }
        }
    }
}

/// What the model was told with the first message, beside what the user said.
fn told_along(scene: &Scene<'_>, turn: &TurnView) -> Markup {
    let names: Vec<&str> = turn.context.iter().map(|told| told.name.as_str()).collect();
    html! {
        @if !names.is_empty() {
            details.tries.turnable id={ (scene.named(&ident::turn(turn.head.id))) "-told" } {
                summary { (chevron()) "what else the model was told" }
                p.hint { (visible(&names.join(", "))) }
                @for told in &turn.context { p.old.try dir="auto" { (visible(&told.text)) } }
            }
        }
    }
}

/// Earlier attempts: counted, and there to be read.
fn tries(turn: &TurnView, message: &MessageView, id: &str) -> Markup {
    let old: Vec<&AttemptView> =
        turn.attempts.iter().filter(|old| old.message.id == message.id).collect();
    let all = old.len() + 1;
    html! {
        @if !old.is_empty() {
            details.tries.turnable id={ (id) "-tries" } {
                summary { (chevron()) "attempt ‹" (all) "/" (all) "›" }
                @for (at, old) in old.iter().enumerate() {
                    section.try aria-label={ "Attempt " (at + 1) " of " (all) } {
                        p.hint {
                            "Attempt " (at + 1) " of " (all) ", " (time(old.message.at))
                            @if let Some(models) = models(&old.items) { " · " (visible(&models)) }
                        }
                        @if old.message.parts != message.parts { (said(&old.message.parts)) }
                        (came_of(old))
                    }
                }
                @if let Some(models) = models(&turn.items) {
                    p.hint { "Attempt " (all) " of " (all) " · " (visible(&models)) }
                }
            }
        }
    }
}

/// The models that were asked.
fn models(items: &[ItemView]) -> Option<String> {
    let mut names: Vec<String> = Vec::new();
    for item in items {
        let ItemView::Step(step) = item else { continue };
        let name = step.model.as_ref().map(ModelRef::plain).filter(|name| !names.contains(name));
        names.extend(name);
    }
    (!names.is_empty()).then(|| names.join(", "))
}

fn came_of(old: &AttemptView) -> Markup {
    let steps = old.items.iter().filter_map(|item| match item {
        ItemView::Step(step) => Some(step),
        ItemView::Message(_) | _ => None,
    });
    html! {
        @for step in steps {
            @for part in &step.parts {
                @if let PartView::Text { text } = part { p.old dir="auto" { (visible(text)) } }
            }
            @for call in &step.calls {
                p.hint { code dir="ltr" { (visible(&piton_core::summary::input_summary(&call.tool, &call.arguments))) } }
            }
            @if let Some(failure) = &step.failure { p.hint { (visible(&failure.message)) } }
        }
        @if let Some(halt) = &old.halt { p.hint { "It ended here: " (words::broke(halt.reason)) "." } }
    }
}

/// The failure of a turn that holds nothing but the message.
fn failed(scene: &Scene<'_>, turn: &TurnView, message: &MessageView, halt: &Halt) -> Markup {
    let failure = turn.steps().next_back().and_then(|step| step.failure.as_ref());
    let id = scene.named(&format!("err-{}-{}", turn.head.id.0, message.attempt.0));
    let heading = heading(halt, failure);
    let model = turn.steps().next_back().and_then(|step| step.model.as_ref());
    html! {
        section.fail id=(id) role="group" aria-labelledby={ (id) "-h" } {
            header {
                h3 id={ (id) "-h" } tabindex="-1" { (heading) }
                small { (time(halt.at)) @if let Some(model) = model { " · " (visible(&model.plain())) } }
            }
            div.body {
                p dir="auto" { (visible(&halt.message)) }
                p { "Your message and its files are kept. Try it again, with this model or another one." }
                @if let Some(failure) = failure {
                    details.details.turnable id={ (id) "-d" } {
                        summary.hint { (chevron()) "Details" }
                        p.mono.hint { (words::failure_in_short(failure.class)) " · " (visible(&failure.message)) }
                    }
                }
            }
            @if scene.may_retry(&message.id) { (retry(scene, turn, message)) }
        }
    }
}

fn heading(halt: &Halt, failure: Option<&FailureView>) -> &'static str {
    use piton_core::view::BreakReason;
    match (halt.reason, failure) {
        (BreakReason::ApiError, Some(failure)) => words::failure(failure.class),
        (BreakReason::ApiError, None) => "The request failed",
        (BreakReason::EmptyAnswer, _) => "The answer was empty",
        (BreakReason::Interrupted, _) => "Stopped before an answer",
        (BreakReason::MaxSteps | BreakReason::Limit, _) => "Stopped at a limit",
    }
}

/// The form that tries a message again.
fn retry(scene: &Scene<'_>, turn: &TurnView, message: &MessageView) -> Markup {
    let id = scene.named(&ident::message(&message.id));
    html! {
        form.acts-row.retry method="post" action=(scene.address("retry")) aria-label="Try again" {
            input type="hidden" name="message" value=(message.id.as_str());
            (shown(turn))
            label.sr for={ (id) "-model" } { "Model for the retry" }
            select.model id={ (id) "-model" } name="model" { (scene.model_options()) }
            button.b.main name="do" value="retry" { (icon("retry")) "Retry" }
            button.b.with-module type="button" data-edit=(id) { (icon("edit")) "Edit first" }
            button.b.plain formaction=(scene.address("discard")) data-sure="Discard this turn?" { "Discard" }
        }
    }
}
