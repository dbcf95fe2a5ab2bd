//! The head of a conversation: its title, where it stands, how full its window is.

use maud::{Markup, html};
use piton_core::money::dollars;
use piton_core::view::{BreakReason, CallState, CallView, Head, TurnEnd, TurnView, View};

use crate::icon::{icon, spinning};
use crate::part::{Group, Part};
use crate::scene::{Scene, Stands};
use crate::visible::visible;
use crate::when::{since, tokens, until};
use crate::words::stands_still;

/// Above this part of the window the bar warns, in per cent.
const FULL_PERCENT: u64 = 80;

/// The element.
pub(crate) fn part(scene: &Scene<'_>, view: &View) -> Part {
    let kids = vec![
        Part::leaf("bar-back", back().into_string()),
        Part::leaf("bar-title", title(scene.head).into_string()),
        Part::leaf("bar-state", state(scene, view).into_string()),
        Part::leaf("ctx", context(scene).into_string()),
        Part::leaf("more", more(scene).into_string()),
    ];
    Group::new("header", "bar", " class=\"bar\"").kids(kids)
}

fn back() -> Markup {
    html! { a.b.plain.icon.back id="bar-back" href="/" aria-label="Conversations" { (icon("back")) } }
}

fn title(head: &Head) -> Markup {
    let title = if head.title.is_empty() { "New conversation" } else { &head.title };
    html! {
        div.bar-title id="bar-title" {
            h1 dir="auto" { (visible(title)) }
            p dir="ltr" {
                (visible(&head.workspace))
                @if let Some(origin) = &head.origin {
                    " · forked from " a href={ "/c/" (crate::ident::in_address(origin.conversation.as_str())) } { (visible(origin.conversation.as_str())) }
                }
                @if let Some(parent) = &head.parent {
                    " · works for " a href={ "/c/" (crate::ident::in_address(parent.conversation.as_str())) } { (visible(parent.conversation.as_str())) }
                }
            }
        }
    }
}

/// Where the conversation stands, in an icon and two words.
fn state(scene: &Scene<'_>, view: &View) -> Markup {
    let (is, icon, words) = match view.open_turn() {
        None => closed(view),
        Some(turn) => {
            let stands = Stands::of(scene, turn);
            let failure = turn.steps().next_back().and_then(|step| step.failure.as_ref());
            let next = failure.and_then(|failure| failure.next_try);
            match (stands, next) {
                (Stands::Runs, _) if scene.head.summing_up.is_some() => {
                    ("running", spinning(), html! { "sums up older turns" })
                }
                (Stands::Runs, Some(at)) => {
                    ("running", icon("clock"), html! { "retry in " (until(at)) })
                }
                (Stands::Runs, None) => {
                    ("running", spinning(), html! { "running " (since(turn.head.began)) })
                }
                (Stands::Asks, _) => ("ask", icon("hand"), asks(scene, turn)),
                (Stands::Failed | Stands::Halted | Stands::Lost, _) => still(turn),
                (Stands::Closed, _) => closed(view),
            }
        }
    };
    html! { span.state id="bar-state" data-is=(is) { (icon) span { (words) } } }
}

/// A turn that does not go on by itself, in the words of the list and of its card.
fn still(turn: &TurnView) -> (&'static str, Markup, Markup) {
    let reason = turn.head.halt.as_ref().map(|halt| halt.reason);
    let words = html! { (stands_still(reason)) };
    match reason {
        Some(BreakReason::ApiError | BreakReason::EmptyAnswer) => ("bad", icon("bolt"), words),
        Some(BreakReason::Interrupted | BreakReason::MaxSteps | BreakReason::Limit) | None => {
            ("halt", icon("pause"), words)
        }
    }
}

/// Who waits for a person.
fn asks(scene: &Scene<'_>, turn: &TurnView) -> Markup {
    let is_parked = |call: &&CallView| matches!(call.state, CallState::Parked { .. });
    let parked = turn.calls().find(is_parked).map(|call| call.id.index.saturating_add(1));
    let worker = scene.asking_worker().or(parked);
    let worker = worker.filter(|_| scene.head.asking.is_empty());
    html! {
        @if let Some(number) = worker { "worker " (number) " " }
        "waits for you"
    }
}

fn closed(view: &View) -> (&'static str, Markup, Markup) {
    match view.shown().next_back().map(|turn| turn.head.end) {
        None => ("done", icon("dot"), html! { "empty" }),
        Some(Some(TurnEnd::Stopped)) => ("done", icon("stop"), html! { "stopped" }),
        Some(_) => ("done", icon("check"), html! { "done" }),
    }
}

fn context(scene: &Scene<'_>) -> Markup {
    let head = scene.head;
    let (now, most) = (head.context.tokens, head.context.tokens_max);
    let used = head.usage.total();
    let percent = now.saturating_mul(100).checked_div(most).unwrap_or(0);
    html! {
        span.ctx.wide-only id="ctx" title="Context now, of the window of this model; tokens of all answers" {
            @if 0 < most {
                (tokens(now)) " / " (tokens(most)) " "
                progress.high[FULL_PERCENT <= percent] max="100" value=(percent.min(100)) aria-label="Context used" {}
            } @else if 0 < now { (tokens(now)) " tokens of context" }
            @if 0 < now && 0 < used { " · " }
            @if let Some(cost) = scene.cost() {
                span title="Estimated from list prices" { (dollars(cost)) }
            } @else if 0 < used { (tokens(used)) " used" }
        }
    }
}

/// What is done with the conversation as a whole.
fn more(scene: &Scene<'_>) -> Markup {
    html! {
        details.menu-of id="more" {
            summary.b.plain.icon aria-label="More: rename, archive" { (icon("dots")) }
            div.menu-box {
                form method="post" action=(scene.address("rename")) {
                    label.label for="rename" { "Title" }
                    input.field id="rename" name="title" dir="auto" value=(scene.head.title) required;
                    button.b { "Rename" }
                }
                form method="post" action=(scene.address("archive")) {
                    button.b.plain name="do" value="archive" { "Archive" }
                }
            }
        }
    }
}
