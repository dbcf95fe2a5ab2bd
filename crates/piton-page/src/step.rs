//! A request to the model, and what came of it: reasoning, text, calls and their questions.

use std::collections::BTreeMap;
use std::sync::Arc;

use maud::html;
use piton_core::id::{CallId, TurnId};
use piton_core::view::{
    CallState, CallView, FinishReason, LiveStep, PartView, QuestionView, StepState, StepView,
    TurnView,
};

use crate::call;
use crate::icon::{chevron, icon, spinning};
use crate::ident;
use crate::markdown::{self, Coming, Memory};
use crate::part::{Group, Leaf, Part};
use crate::question;
use crate::scene::{Scene, Stands};
use crate::visible::visible;
use crate::when::{count, since};

/// Longest end of reasoning that is shown while it comes, in bytes.
const REASONING_BYTES_MAX: usize = 2 * 1024;

/// What was drawn before, so that it is not drawn again and again while something else moves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memo {
    /// Of the first text.
    text: Memory,
    /// Calls that are over.
    calls: BTreeMap<CallId, (CallView, Part)>,
}

impl Memo {
    /// The element of a call. One that is over depends on nothing but itself.
    fn call(&mut self, scene: &Scene<'_>, call: &CallView) -> Part {
        let known = self.calls.get(&call.id).filter(|(known, _)| known == call);
        if let Some((_, part)) = known {
            return part.clone();
        }
        let part = call::part(scene, call);
        if matches!(call.state, CallState::Done { .. }) && call.asking.is_none() {
            self.calls.insert(call.id, (call.clone(), part.clone()));
        }
        part
    }
}

/// The elements of a step, in order.
pub(crate) fn parts(
    scene: &Scene<'_>,
    turn: &TurnView,
    step: &StepView,
    memo: &mut Memo,
) -> Vec<Part> {
    let mut parts = match step.answered {
        Some(_) => answered(scene, turn.head.id, step, memo),
        None => coming(scene, turn, step, memo),
    };
    parts.extend(questions(scene, step).into_iter().map(|asked| question::part(scene, asked)));
    parts
}

/// The questions of a step in the order in which they were asked: a terminal asks in the same order.
fn questions<'a>(scene: &Scene<'_>, step: &'a StepView) -> Vec<&'a QuestionView> {
    let mut all: Vec<_> = step.calls.iter().flat_map(|call| &call.questions).collect();
    let place = |asked: &QuestionView| {
        let place = scene.head.asking.iter().position(|it| it.question == asked.id);
        place.map_or(0, |place| place + 1)
    };
    all.sort_by_key(|asked| (asked.at, place(asked)));
    all
}

/// A whole answer.
fn answered(scene: &Scene<'_>, turn: TurnId, step: &StepView, memo: &mut Memo) -> Vec<Part> {
    let name = scene.named(&ident::step(turn, step.number));
    let mut parts = Vec::new();
    let (mut texts, mut thoughts) = (0, 0);
    // The first text and the first reasoning have the names that they had while they came.
    let numbered = |kind: char, number: &mut u32| {
        *number += 1;
        if *number == 1 { format!("{name}-{kind}") } else { format!("{name}-{kind}{number}") }
    };
    for part in &step.parts {
        match part {
            PartView::Reasoning { text } => {
                parts.push(thought(&numbered('r', &mut thoughts), text, "Thought"));
            }
            PartView::Text { text } => {
                let id = numbered('t', &mut texts);
                let mut fresh = Memory::default();
                let memory = if texts == 1 { &mut memo.text } else { &mut fresh };
                let blocks = markdown::whole(&id, text, memory).into_iter().map(Arc::new).collect();
                let source = (texts == 1).then(|| source(scene, turn, step));
                let group = text_group(&id, source, (true, false));
                parts.push(group.kids(vec![frozen(&id, false, blocks)]));
            }
            PartView::Call { call } => {
                let call = step.calls.iter().find(|known| known.id == *call);
                parts.extend(call.map(|call| memo.call(scene, call)));
            }
            _ => {}
        }
    }
    let is_named =
        |id| step.parts.iter().any(|part| matches!(part, PartView::Call { call } if *call == id));
    let unnamed = step.calls.iter().filter(|call| !is_named(call.id));
    parts.extend(unnamed.map(|call| memo.call(scene, call)));
    parts.extend(remark(step, &format!("{name}-n")));
    parts
}

/// An answer that is not whole. Which elements there are depends on the journal only: what is live is shown
/// in them, or hides them.
fn coming(scene: &Scene<'_>, turn: &TurnView, step: &StepView, memo: &mut Memo) -> Vec<Part> {
    let name = scene.named(&ident::step(turn.head.id, step.number));
    let live = scene.live_step(turn.head.id, step);
    let is_open = step.state == StepState::Asked && Stands::of(scene, turn) == Stands::Runs;
    let (mut kept_text, mut kept_reasoning) = ("", "");
    for part in &step.parts {
        match part {
            PartView::Text { text } => kept_text = text,
            PartView::Reasoning { text } => kept_reasoning = text,
            PartView::Call { .. } | _ => {}
        }
    }
    let text = longer(live.map(|live| live.text.as_str()), kept_text);
    let reasoning = longer(live.map(|live| live.reasoning.as_str()), kept_reasoning);
    // What a new try says takes the place of what an older one said, as soon as it says something else.
    let is_other = |live: &str| !live.starts_with(kept_text) && !kept_text.starts_with(live);
    let is_new_try = live.is_some_and(|live| is_other(&live.text));
    let id = format!("{name}-t");
    let said = Coming { durable: kept_text, now: text, is_open, is_new_try };
    let (blocks, tail) = markdown::coming(&id, &said, &mut memo.text);
    let is_cut = !is_open && !text.is_empty();
    let length = live.filter(|_| is_open).map(|_| text.len());
    let tail_html = html! {
        // A page that was just read knows how long its text is, so that an older frame takes nothing back.
        div.tail id={ (id) "-l" } data-len=[length] {
            (maud::PreEscaped(tail))
            @if is_cut { p.cut { "the answer broke off here; kept" } }
        }
    };
    let tail = Part::Leaf(Leaf { id: format!("{id}-l"), html: tail_html.into_string(), length });
    let shown = !text.is_empty();
    vec![
        thought_that_comes(&format!("{name}-r"), reasoning, is_open),
        text_group(&id, Some(source(scene, turn.head.id, step)), (shown, is_open))
            .kids(vec![frozen(&id, is_new_try, blocks), tail]),
        waiting(
            &format!("{name}-w"),
            step,
            live,
            is_open && !(shown && live.is_none_or(|it| it.calls.is_empty())),
        ),
    ]
}

/// The text of this try; the journal may have more of it than what was live.
fn longer<'a>(live: Option<&'a str>, kept: &'a str) -> &'a str {
    let has_more = |live: &&str| kept.len() <= live.len() || !kept.starts_with(*live);
    live.filter(|live| !live.is_empty()).filter(has_more).unwrap_or(kept)
}

/// Where the text of a step is as the model wrote it.
fn source(scene: &Scene<'_>, turn: TurnId, step: &StepView) -> String {
    scene.address(&format!("source/{}/{}", turn.0, step.number))
}

/// The element of a text, with a button that copies its source.
fn text_group(id: &str, source: Option<String>, (is_shown, is_busy): (bool, bool)) -> Group {
    let head = html! {
        span.node.dot {}
        @if let Some(source) = source {
            button.b.plain.icon.copy.with-module type="button" data-copy=(source) aria-label="Copy" title="Copy as Markdown" { (icon("copy")) }
        }
    };
    Group::new("div", id, " class=\"at text\"")
        .attr("aria-busy", is_busy.then(|| "true".to_owned()))
        .flag("hidden", !is_shown)
        .head(head.into_string())
}

/// The blocks that nothing changes any more. They are hidden while a new try says something else.
fn frozen(id: &str, is_hidden: bool, blocks: Vec<Arc<Part>>) -> Part {
    Group::new("div", format!("{id}-f"), " class=\"blocks\"")
        .flag("hidden", is_hidden)
        .shared(blocks)
}

fn thought(id: &str, text: &str, summary: &str) -> Part {
    let words = u64::try_from(text.split_whitespace().count()).unwrap_or(u64::MAX);
    let html = html! {
        details.at.think.turnable id=(id) hidden[text.is_empty()] {
            summary { span.node.dot {} (chevron()) (summary) " · " (count(words, "word", "words")) }
            div dir="auto" { (visible(text)) }
        }
    };
    Part::leaf(id, html.into_string())
}

/// Reasoning while it comes: its end only, so that what is sent does not grow with it.
fn thought_that_comes(id: &str, text: &str, is_open: bool) -> Part {
    let start = text.ceil_char_boundary(text.len().saturating_sub(REASONING_BYTES_MAX));
    let end = text.get(start..).unwrap_or_default();
    let words = u64::try_from(text.split_whitespace().count()).unwrap_or(u64::MAX);
    let said = if is_open { "Thinking" } else { "Thought" };
    let html = html! {
        details.at.think.turnable id=(id) hidden[text.is_empty()] {
            summary { span.node.dot {} (chevron()) (said) " · " (count(words, "word", "words")) }
            div dir="auto" { @if 0 < start { "…" } (visible(end)) }
        }
    };
    Part::leaf(id, html.into_string())
}

/// What is awaited.
fn waiting(id: &str, step: &StepView, live: Option<&LiveStep>, is_shown: bool) -> Part {
    let tools = live.map(|live| live.calls.join(", ")).unwrap_or_default();
    let html = html! {
        @if is_shown {
            p.at.under id=(id) {
                span.node.is-run { (spinning()) }
                @if tools.is_empty() {
                    span {
                        "asks " @if let Some(model) = &step.model { (visible(&model.plain())) } @else { "the model" }
                        " " (since(step.asked))
                    }
                } @else { span { "writes a call of " code { (visible(&tools)) } } }
            }
        } @else { p id=(id) hidden {} }
    };
    Part::leaf(id, html.into_string())
}

/// What is to be said of an answer that is whole and yet not as it should be.
fn remark(step: &StepView, id: &str) -> Option<Part> {
    let said = match step.finish? {
        FinishReason::Length => "The output limit cut the answer off.".to_owned(),
        FinishReason::Refused => "The provider or the model refused to go on.".to_owned(),
        FinishReason::Stop | FinishReason::ToolCalls if step.parts.is_empty() => {
            "The model gave an empty answer.".to_owned()
        }
        FinishReason::Stop | FinishReason::ToolCalls => return None,
    };
    let cut = step.cut_off.join(", ");
    let html = html! {
        p.at.under id=(id) {
            span.node.is-halt { (icon("bolt")) }
            span { (said) @if !cut.is_empty() { " Not run: " code { (visible(&cut)) } } }
        }
    };
    Some(Part::leaf(id, html.into_string()))
}
