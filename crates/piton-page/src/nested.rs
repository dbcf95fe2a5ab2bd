//! What a worker does, in the call that it works for.
//!
//! A worker is a conversation of its own. Its elements are named after the call, so that a page can hold them
//! beside those of the conversation that it works for. Its frames are in order, and follow [`Nested::whole`].

use std::collections::BTreeSet;

use maud::{Markup, PreEscaped, html};
use piton_core::id::ConversationId;
use piton_core::money::dollars;
use piton_core::view::{Live, Refused, TurnView, View, ViewChange};

use crate::call;
use crate::frame::{Frame, Op};
use crate::icon::icon;
use crate::ident;
use crate::live::{forget_answered, renew};
use crate::part::{Group, Part, Touched, touched};
use crate::scene::{Scene, Stands, shown};
use crate::turn::{self, Sketch};
use crate::visible::visible;
use crate::when::{count, duration, tokens};
use crate::words;

/// Shows one worker to everybody who looks at the conversation that it works for.
#[derive(Clone, Debug)]
pub struct Nested {
    conversation: String,
    /// What the names of its elements begin with.
    within: String,
    view: View,
    live: Live,
    picture: Part,
    sketch: Sketch,
    /// What moved without an entry since the last entry.
    touched: BTreeSet<Touched>,
}

impl Nested {
    /// Begins with a view, and with what is live.
    pub fn new(conversation: &ConversationId, view: View, live: Live) -> Self {
        let call = conversation.as_worker().map(|(_, call)| ident::call(call));
        let within = format!("{}-", call.unwrap_or_default());
        let conversation = conversation.as_str().to_owned();
        let mut sketch = Sketch::default();
        let scene = Scene {
            conversation: &conversation,
            within: &within,
            head: &view.head,
            live: &live,
            models: &[],
        };
        let picture = draw(&scene, &view, &mut sketch);
        Self { conversation, within, view, live, picture, sketch, touched: BTreeSet::new() }
    }

    /// What is shown.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// The element, as it is now.
    pub fn html(&self) -> Markup {
        PreEscaped(self.picture.html())
    }

    /// Puts the element into a page that has the call.
    pub fn whole(&self) -> Frame {
        let id = self.picture.id().to_owned();
        Frame { ops: vec![Op::Replace { id, html: self.picture.html(), length: None }] }
    }

    /// Takes in a change. One change is one frame; a change that does not follow changes nothing.
    pub fn change(&mut self, change: &ViewChange) -> Result<Frame, Refused> {
        let turn_before = self.turn();
        self.view.apply(change)?;
        if self.turn() != turn_before {
            self.sketch = Sketch::default();
        }
        forget_answered(&mut self.live, &self.view);
        let mut ops = self.draw_anew();
        let dirty = std::mem::take(&mut self.touched);
        for op in dirty.iter().filter_map(|touched| self.picture.told_again(touched)) {
            if !ops.contains(&op) {
                ops.push(op);
            }
        }
        Ok(Frame { ops: ops.into_iter().map(Op::that_counts).collect() })
    }

    /// Takes in what is live. A frame tells all that has moved since the last entry, so it stands in for
    /// every one before it.
    pub fn live(&mut self, live: &Live) -> Frame {
        renew(&mut self.live, live);
        let ops = self.draw_anew();
        if ops.is_empty() {
            return Frame::default();
        }
        self.touched.extend(touched(&ops));
        let told = self.touched.iter().filter_map(|touched| self.picture.told_again(touched));
        Frame { ops: told.collect() }
    }

    /// The number of the turn that is shown.
    fn turn(&self) -> Option<u32> {
        self.view.shown().next_back().map(|turn| turn.head.id.0)
    }

    /// Draws what is now; returns what leads there.
    fn draw_anew(&mut self) -> Vec<Op> {
        let Self { conversation, within, view, live, picture, sketch, .. } = self;
        let scene = Scene { conversation, within, head: &view.head, live, models: &[] };
        let old = std::mem::replace(picture, draw(&scene, view, sketch));
        let mut ops = Vec::new();
        picture.since(&old, &mut ops);
        ops
    }
}

/// The element: what the last turn did, and a line below it. A worker has one turn, unless somebody went on
/// with it; what it was given to read stands in front of that turn.
fn draw(scene: &Scene<'_>, view: &View, sketch: &mut Sketch) -> Part {
    let turn = view.shown().next_back();
    let drawn = turn.map(|turn| turn::part(scene, turn, sketch));
    let steps = Group::new("div", scene.named("steps"), " class=\"worker\"");
    let note = Part::leaf(scene.named("note"), note(scene, turn).into_string());
    let kids = vec![steps.kids(drawn.into_iter().collect()), note];
    Group::new("div", scene.named(call::WORKER), "").kids(kids)
}

/// How far the worker is, and what can be done with it.
fn note(scene: &Scene<'_>, turn: Option<&TurnView>) -> Markup {
    let stands = turn.map(|turn| Stands::of(scene, turn));
    let can_stop = matches!(stands, Some(Stands::Runs | Stands::Asks));
    html! {
        div.call-note id=(scene.named("note")) {
            span { (told(scene, turn)) }
            span.push {}
            @if let Some(turn) = turn.filter(|_| can_stop) {
                form method="post" action=(scene.address("stop")) {
                    (shown(turn))
                    button.b name="do" value="interrupt" { (icon("stop")) "Stop worker" }
                }
            }
            (call::open_worker(scene.conversation))
        }
    }
}

fn told(scene: &Scene<'_>, turn: Option<&TurnView>) -> Markup {
    let Some(turn) = turn else { return html! { "begins" } };
    let steps = u64::try_from(turn.steps().count()).unwrap_or(u64::MAX);
    let allowance = scene.head.allowance;
    let step = html! {
        "step " (steps) @if 0 < allowance.steps_max { " of " (allowance.steps_max) }
        @if 0 < allowance.microdollars { " · " (dollars(allowance.microdollars)) }
    };
    match Stands::of(scene, turn) {
        Stands::Runs => step,
        Stands::Asks => html! { "waits for you · " (step) },
        Stands::Lost => html! { "interrupted · " (step) },
        Stands::Failed | Stands::Halted => {
            let why = turn.head.halt.as_ref().map_or("", |halt| words::broke(halt.reason));
            html! { (visible(why)) " · " (step) }
        }
        Stands::Closed => {
            let took = turn.head.closed.map(|closed| duration(closed.ms_since(turn.head.began)));
            let used = turn.head.usage.total();
            html! {
                "done" @if let Some(took) = took { " in " (took) }
                " · " (count(steps, "step", "steps"))
                @if 0 < used { " · " (tokens(used)) " tokens" }
            }
        }
    }
}
