//! A turn: an article on the rope.

use std::sync::Arc;

use maud::html;
use piton_core::view::{ItemView, ModelRef, StepView, TurnEnd, TurnView};

use crate::halt;
use crate::ident;
use crate::message;
use crate::part::{Group, Part};
use crate::scene::{Scene, Stands};
use crate::step::{self, Memo};
use crate::visible::visible;
use crate::when::{count, duration, tokens};

/// What was drawn of one item, and of what: the same again is not drawn again.
#[derive(Clone, Debug)]
pub(crate) struct Drawn {
    item: ItemView,
    parts: Vec<Arc<Part>>,
}

/// What was drawn of a turn before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sketch {
    items: Vec<Drawn>,
    /// Of the step that was drawn last.
    memo: Memo,
    /// Its number.
    step: u32,
}

/// The element of a turn.
pub(crate) fn part(scene: &Scene<'_>, turn: &TurnView, sketch: &mut Sketch) -> Part {
    let id = scene.named(&ident::turn(turn.head.id));
    let mut kids = Vec::new();
    sketch.items.truncate(turn.items.len());
    for (place, item) in turn.items.iter().enumerate() {
        kids.extend(items(scene, turn, (place, item), sketch));
    }
    match (turn.head.end.is_none(), scene.is_nested()) {
        (true, false) => {
            kids.extend([halt::retry(scene, turn), halt::part(scene, turn)].map(Arc::new));
        }
        (false, false) => kids.push(Arc::new(end(turn, &format!("{id}-end")))),
        // The call of a worker says how the worker ended, and the turn of the call can be resumed.
        (true, true) => kids.push(Arc::new(halt::retry(scene, turn))),
        (false, true) => {}
    }
    let is = Stands::of(scene, turn).word(turn).map(ToOwned::to_owned);
    let head = if scene.is_nested() {
        String::new()
    } else {
        format!("<h2 class=\"sr\">Turn {}</h2>", turn.head.id.0)
    };
    Group::new("article", id, " class=\"turn\"").attr("data-is", is).head(head).shared(kids)
}

/// The elements of an item. A step that is over depends on nothing but itself.
fn items(
    scene: &Scene<'_>,
    turn: &TurnView,
    (place, item): (usize, &ItemView),
    sketch: &mut Sketch,
) -> Vec<Arc<Part>> {
    let step = match item {
        // The task of a worker stands in the line of the call.
        ItemView::Message(_) if place == 0 && scene.is_nested() => {
            return keep(sketch, place, item, Vec::new());
        }
        ItemView::Message(message) => {
            return keep(sketch, place, item, vec![message::part(scene, turn, message)]);
        }
        ItemView::Step(step) => step,
        _ => return Vec::new(),
    };
    let known = sketch.items.get(place).filter(|known| is_over(step) && known.item == *item);
    if let Some(known) = known {
        return known.parts.clone();
    }
    if sketch.step != step.number {
        (sketch.memo, sketch.step) = (Memo::default(), step.number);
    }
    let parts = step::parts(scene, turn, step, &mut sketch.memo);
    keep(sketch, place, item, parts)
}

fn keep(sketch: &mut Sketch, place: usize, item: &ItemView, parts: Vec<Part>) -> Vec<Arc<Part>> {
    let parts: Vec<_> = parts.into_iter().map(Arc::new).collect();
    let drawn = Drawn { item: item.clone(), parts: parts.clone() };
    // Items are drawn in order, so every place in front of this one is there.
    match sketch.items.get_mut(place) {
        Some(known) => *known = drawn,
        None => sketch.items.push(drawn),
    }
    parts
}

/// Whether nothing live and no other question can show in it.
fn is_over(step: &StepView) -> bool {
    use piton_core::view::CallState;
    let is_done = |state: &CallState| matches!(state, CallState::Done { .. });
    step.answered.is_some()
        && step.calls.iter().all(|call| is_done(&call.state) && call.asking.is_none())
}

/// What a turn that is over took.
fn end(turn: &TurnView, id: &str) -> Part {
    let mut models: Vec<String> = Vec::new();
    for model in turn.steps().filter_map(|step| step.model.as_ref()).map(ModelRef::plain) {
        if !models.contains(&model) {
            models.push(model);
        }
    }
    let steps = u64::try_from(turn.steps().count()).unwrap_or(u64::MAX);
    let usage = turn.head.usage;
    let cached = (usage.cached.saturating_mul(100)).checked_div(usage.input).unwrap_or(0);
    let took = turn.head.closed.map(|closed| duration(closed.ms_since(turn.head.began)));
    let html = html! {
        div.under id=(id) {
            @if turn.head.end == Some(TurnEnd::Stopped) { span { "stopped here by you ·" } }
            span {
                (visible(&models.join(", "))) @if !models.is_empty() { " · " }
                (count(steps, "step", "steps"))
                @if let Some(took) = took { " · " (took) }
                @if 0 < usage.total() {
                    " · " (tokens(usage.total())) " tokens"
                    @if 0 < cached { ", " (cached) " % cached" }
                }
                @if 0 < turn.head.outputs_shortened { " · " (count(turn.head.outputs_shortened, "output", "outputs")) " shortened for the model" }
            }
        }
    };
    Part::leaf(id, html.into_string())
}
