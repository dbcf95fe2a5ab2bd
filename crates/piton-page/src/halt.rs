//! A turn that does not go on by itself: what is kept, and the four ways on. And the line of a try that
//! comes again by itself.

use maud::{Markup, html};
use piton_core::money::{amount, dollars};
use piton_core::view::{BreakReason, CallState, FailureView, StepView, TurnView};

use crate::icon::{icon, with_class};
use crate::ident;
use crate::part::Part;
use crate::scene::{Scene, Stands, messages, shown, words as words_of};
use crate::visible::visible;
use crate::when::{count, time, tokens, until};
use crate::words;

/// The element of an open turn that tells that it stands still; empty if it does not.
pub(crate) fn part(scene: &Scene<'_>, turn: &TurnView) -> Part {
    let id = scene.named(&format!("halt-{}", turn.head.id.0));
    let html = match Stands::of(scene, turn) {
        Stands::Halted | Stands::Lost => card(scene, turn, &id),
        Stands::Closed | Stands::Runs | Stands::Asks | Stands::Failed => {
            html! { section id=(id) hidden {} }
        }
    };
    Part::leaf(id, html.into_string())
}

/// The element of an open turn that tells of the next try; empty if there is none.
pub(crate) fn retry(scene: &Scene<'_>, turn: &TurnView) -> Part {
    let id = scene.named(&format!("retry-{}", turn.head.id.0));
    let failure = turn.steps().next_back().and_then(|step| step.failure.as_ref());
    let is_coming = Stands::of(scene, turn) == Stands::Runs;
    let failure = failure.filter(|it| is_coming && (it.next_try.is_some() || it.noted));
    let nothing = || html! { p id=(id) hidden {} };
    let html = failure.map_or_else(nothing, |failure| line(scene, turn, failure, &id));
    Part::leaf(id, html.into_string())
}

// C33
fn line(scene: &Scene<'_>, turn: &TurnView, failure: &FailureView, id: &str) -> Markup {
    html! {
        div.at.under id=(id) role="group" aria-label="Next try" {
            span.node.is-run { (icon("clock")) }
            span {
                b { (words::failure_in_short(failure.class)) }
                @if let Some(most) = failure.attempts_max {
                    " · try " (failure.next_attempt) " of " (most)
                }
                @match failure.next_try {
                    Some(at) => { " in " (until(at)) },
                    None => { " at once" },
                }
            }
            details.details id={ (id) "-d" } { summary.hint { "Details" } p.hint { (visible(&failure.message)) } }
            form method="post" action=(scene.address("continue")) {
                (shown(turn))
                button.b.plain name="do" value="now" { "Try now" }
                button.b.plain formaction=(scene.address("stop")) name="do" value="interrupt" { "Stop" }
            }
        }
    }
}

fn card(scene: &Scene<'_>, turn: &TurnView, id: &str) -> Markup {
    let halt = turn.head.halt.as_ref();
    let heading = heading(halt.map(|halt| halt.reason));
    html! {
        section.at.halt id=(id) aria-labelledby={ (id) "-h" } {
            span.node.is-halt { (icon("pause")) }
            header {
                h3 id={ (id) "-h" } tabindex="-1" { (heading) }
                @if let Some(halt) = halt { small { (time(halt.at)) } }
            }
            div.body {
                @if let Some(halt) = halt.filter(|halt| !halt.message.is_empty()) {
                    p dir="auto" { (visible(&halt.message)) }
                }
                (kept(turn))
            }
            (raise(scene, turn, id))
            (ways(scene, turn))
        }
    }
}

/// How the turn stands, in the words of the bar and of the list, and why.
fn heading(broke: Option<BreakReason>) -> String {
    let stands = words::stands_still(broke);
    let mut letters = stands.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    let stands: String = first.into_iter().chain(letters).collect();
    match broke {
        None => format!("{stands}: the process is gone"),
        // Nothing more is to be said of them.
        Some(BreakReason::Interrupted) => stands,
        Some(reason) => format!("{stands}: {}", words::broke(reason)),
    }
}

/// What a turn that stopped at a limit can be granted. Resuming it grants the same again.
fn raise(scene: &Scene<'_>, turn: &TurnView, id: &str) -> Markup {
    let allowance = scene.head.allowance;
    let reason = turn.head.halt.as_ref().map(|halt| halt.reason);
    let (name, label, used, most, value) = match reason {
        Some(BreakReason::MaxSteps) => {
            let most = allowance.steps_max;
            let twice = most.saturating_mul(2).to_string();
            ("steps", "Answers in a turn", allowance.steps.to_string(), most.to_string(), twice)
        }
        Some(BreakReason::Limit) if allowance.is_over_cost() => {
            let (used, most) = (allowance.microdollars, allowance.microdollars_max);
            let twice = amount(most.saturating_mul(2)).replace('$', "");
            ("cost", "Dollars a turn", dollars(used), amount(most), twice)
        }
        Some(BreakReason::Limit) if allowance.is_over_tokens() => {
            let (used, most) = (allowance.tokens, allowance.tokens_max);
            let twice = most.saturating_mul(2).to_string();
            ("tokens", "Tokens a turn", tokens(used), tokens(most), twice)
        }
        _ => return html! {},
    };
    html! {
        form.acts-row method="post" action=(scene.address("continue")) aria-label="Raise the limit" {
            (shown(turn))
            label for={ (id) "-limit" } { (label) }
            input.field.number id={ (id) "-limit" } name=(name) inputmode="decimal" value=(value) required;
            button.b name="do" value="raise" { "Raise and resume" }
            span.hint { (used) " of " (most) " used. Resume grants as much again." }
        }
    }
}

fn kept(turn: &TurnView) -> Markup {
    let calls: Vec<_> = turn.calls().collect();
    let number = |is: fn(&CallState) -> bool| calls.iter().filter(|call| is(&call.state)).count();
    let done = number(|state| matches!(state, CallState::Done { .. }));
    let doubt = number(|state| matches!(state, CallState::InDoubt));
    let waiting = number(|state| matches!(state, CallState::Waiting));
    let running = calls.iter().filter(|call| call.state == CallState::Running);
    let partial: usize = turn.steps().filter(|step| step.partial).map(words_of).sum();
    let whole = turn.steps().filter(|step: &&StepView| step.answered.is_some()).count();
    let ok = || with_class("i ok", "check");
    html! {
        ul.kept aria-label="What is kept" {
            @if 0 < done {
                li { (ok()) span { b { (done) " of " (count(len(calls.len()), "tool", "tools")) " finished" } @if done == 1 { "; its result is kept, and it will not run again" } @else { "; their results are kept, and they will not run again" } } }
            } @else if 0 < whole {
                li { (ok()) span { b { (count(len(whole), "answer", "answers")) } " of the model " (is_or_are(whole)) " kept" } }
            }
            @for call in running {
                li { (with_class("i run", "ring")) span { code dir="ltr" { (visible(&piton_core::summary::input_summary(&call.tool, &call.arguments))) } " was running; what became of it is looked up first" } }
            }
            @if 0 < doubt {
                li { (with_class("i doubt", "hand")) span { b { (count(len(doubt), "call", "calls")) " in doubt" } "; nothing is repeated before that is settled" } }
            }
            @if 0 < waiting {
                li { (icon("dot")) span { (count(len(waiting), "call", "calls")) " not started; resuming goes on there" } }
            }
            @if 0 < partial {
                li { (ok()) span { b { (count(len(partial), "word", "words")) } " of the answer " (is_or_are(partial)) " kept" } }
            }
            @if turn.steps().all(|step| step.calls.is_empty() && words_of(step) == 0) {
                li { (ok()) span { "Your message is kept. No answer has come." } }
            }
        }
    }
}

fn is_or_are(number: usize) -> &'static str {
    if number == 1 { "is" } else { "are" }
}

fn len(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

fn ways(scene: &Scene<'_>, turn: &TurnView) -> Markup {
    let last = messages(turn).next_back();
    let retried = last.filter(|message| scene.may_retry(&message.id));
    let files: Vec<_> =
        turn.calls().filter_map(|call| call.change.as_ref()).map(|change| &*change.path).collect();
    html! {
        form.ways method="post" action=(scene.address("continue")) aria-label="What to do with the turn" {
            (shown(turn))
            div.way {
                button.b.main name="do" value="resume" { "Resume" }
                p { "Goes on from what is kept. Nothing is done twice." }
            }
            @if let Some(message) = retried {
                div.way {
                    a.b href={ "#" (scene.named(&ident::message(&message.id))) "-again" } data-opens { (icon("retry")) "Retry…" }
                    p {
                        "Your message again, as attempt " (message.attempt.0.saturating_add(1)) ", with any model."
                        @if let Some(file) = files.first() { " " code dir="ltr" { (visible(file)) } @if 1 < files.len() { " and others stay" } @else { " stays" } " as written." }
                    }
                }
            }
            div.way {
                button.b formaction=(scene.address("stop")) name="do" value="end" { "Stop here" }
                p { "Takes what is there as the end of the turn." }
            }
            div.way {
                button.b.risk formaction=(scene.address("discard")) data-sure="Discard this turn?" { "Discard…" }
                p { "Hides the turn. The journal keeps it." }
            }
        }
    }
}
