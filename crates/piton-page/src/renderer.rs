//! A conversation as a page, and what moves the page.
//!
//! Which elements there are depends on the view only, and so on the journal. What is live shows in elements
//! that are there anyway: so a page may miss any of its frames, and the next one is right again.

use std::borrow::Cow;
use std::collections::BTreeSet;

use maud::{Markup, PreEscaped, html};
use piton_core::id::{CallId, ConversationId, InquiryId, Seq, TurnId};
use piton_core::view::{
    CallView, Live, LiveCall, LiveStep, Patch, Refused, TurnView, View, ViewChange,
};

use crate::frame::{Frame, Op};
use crate::icon::icon;
use crate::ident;
use crate::live::{forget_answered, renew};
use crate::part::{Part, Touched, touched};
use crate::scene::{Model, Scene};
use crate::turn::{self, Sketch};
use crate::when::count;
use crate::{bar, call, dock, question};

/// Most turns that are shown at once.
const TURNS_MAX: usize = 30;
/// Most items of turns that are shown at once, beside the last turn.
const ITEMS_MAX: usize = 200;

/// Which turns are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Window {
    /// The last ones.
    #[default]
    Last,
    /// Those before a turn.
    Before(TurnId),
}

/// Shows one conversation to everybody who looks at it.
#[derive(Clone, Debug)]
pub struct Renderer {
    conversation: String,
    view: View,
    live: Live,
    models: Vec<Model>,
    picture: Picture,
    sketch: Sketch,
    /// What moved without an entry since the last entry.
    touched: BTreeSet<Touched>,
}

/// What pages show now, of all that can move.
#[derive(Clone, Debug)]
struct Picture {
    bar: Part,
    dock: Part,
    turns: Vec<TurnId>,
    last: Option<Part>,
}

impl Renderer {
    /// Begins with a view, and with what is live: a turn that nobody drives is shown as interrupted.
    pub fn new(conversation: &ConversationId, view: View, live: Live) -> Self {
        Self::with_models(conversation, view, live, Vec::new())
    }

    /// The same, with the models that can be chosen.
    pub fn with_models(
        conversation: &ConversationId,
        view: View,
        live: Live,
        models: Vec<Model>,
    ) -> Self {
        let conversation = conversation.as_str().to_owned();
        let mut sketch = Sketch::default();
        let scene = Scene {
            conversation: &conversation,
            within: "",
            head: &view.head,
            live: &live,
            models: &models,
        };
        let picture = draw(&scene, &view, &mut sketch);
        Self { conversation, view, live, models, picture, sketch, touched: BTreeSet::new() }
    }

    /// What is shown.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// The last entry that is shown.
    pub fn cursor(&self) -> Seq {
        self.view.cursor
    }

    fn scene(&self) -> Scene<'_> {
        let Self { conversation, view, live, models, .. } = self;
        Scene { conversation, within: "", head: &view.head, live, models }
    }

    /// The page's `#main`: bar, timeline, dock.
    pub fn main(&self, window: Window) -> Markup {
        let title = &self.view.head.title;
        let (is_last, turns) = (window == Window::Last, self.window(window));
        html! {
            main.pane id="main" data-conversation=(self.conversation) data-cursor=(self.view.cursor.0)
                data-window=(if is_last { "last" } else { "earlier" }) aria-label=(title) {
                div { (shown(&self.picture.bar)) div id="link" hidden {} }
                div.scroll data-follow tabindex="-1" {
                    div.log id="log" role="log" aria-live="off" aria-label="Conversation" {
                        (self.older(turns.first().map(|turn| turn.head.id)))
                        (hello())
                        @for turn in &turns { (self.turn(turn)) }
                    }
                }
                (shown(&self.picture.dock))
            }
        }
    }

    /// Turns before one, and the link to those before them: goes in the place of `#older`.
    pub fn earlier(&self, before: TurnId) -> Markup {
        let turns = self.window(Window::Before(before));
        html! {
            (self.older(turns.first().map(|turn| turn.head.id)))
            @for turn in turns { (self.turn(turn)) }
        }
    }

    /// All of a call, for a person who opens it: goes into its `.call-body`. What its worker did is drawn by
    /// [`Nested`](crate::Nested).
    pub fn call_body(&self, id: CallId, worker: Option<Markup>) -> Option<Markup> {
        Some(call::body(&self.scene(), self.call(id)?, worker))
    }

    /// All of what a question is about, however long: for a person who opens it.
    pub fn question_body(&self, id: &InquiryId) -> Option<Markup> {
        self.view.question(id).map(question::whole)
    }

    /// The conversation that a call was handed to.
    pub fn worker_of(&self, id: CallId) -> Option<&ConversationId> {
        self.call(id)?.worker.as_ref()
    }

    /// The workers that are shown as they move: those of calls that have not ended.
    pub fn workers(&self) -> impl Iterator<Item = &ConversationId> {
        let calls = self.view.open_turn().into_iter().flat_map(TurnView::calls);
        calls.filter(|call| call::is_at_work(call)).filter_map(|call| call.worker.as_ref())
    }

    fn call(&self, id: CallId) -> Option<&CallView> {
        let mut turns = self.view.turns.iter().filter(|turn| turn.head.id == id.turn);
        turns.find_map(|turn| turn.calls().find(|call| call.id == id))
    }

    /// Takes in a change. One change is one frame; a change that does not follow changes nothing.
    pub fn change(&mut self, change: &ViewChange) -> Result<Frame, Refused> {
        self.view.apply(change)?;
        forget_answered(&mut self.live, &self.view);
        let old = self.draw_anew();
        let mut ops = Vec::new();
        self.picture.bar.since(&old.bar, &mut ops);
        self.move_turns(&old, change, &mut ops);
        self.picture.dock.since(&old.dock, &mut ops);
        let dirty = std::mem::take(&mut self.touched);
        for op in dirty.iter().filter_map(|touched| self.told_again(touched)) {
            if !ops.contains(&op) {
                ops.push(op);
            }
        }
        // An entry counts, however long the text is that it brings.
        Ok(Frame { ops: ops.into_iter().map(Op::that_counts).collect() })
    }

    /// Takes in what is live. A frame tells all that has moved since the last entry, so it stands in for
    /// every one before it.
    pub fn live(&mut self, live: &Live) -> Frame {
        renew(&mut self.live, live);
        let old = self.draw_anew();
        let mut ops = Vec::new();
        self.picture.bar.since(&old.bar, &mut ops);
        if let (Some(last), Some(before)) = (&self.picture.last, &old.last) {
            last.since(before, &mut ops);
        }
        self.picture.dock.since(&old.dock, &mut ops);
        if ops.is_empty() {
            return Frame::default();
        }
        self.touched.extend(touched(&ops));
        Frame { ops: self.touched.iter().filter_map(|touched| self.told_again(touched)).collect() }
    }

    /// All that depends on what is live, as it is now: for a page that comes back, whose last frame nobody
    /// knows. A page that is up to date stays as it is.
    pub fn now(&self) -> Frame {
        let mut touched_by = BTreeSet::new();
        for live in [Live::default(), busy(&self.view)] {
            let Self { conversation, view, models, .. } = self;
            let scene = Scene { conversation, within: "", head: &view.head, live: &live, models };
            let other = draw(&scene, view, &mut self.sketch.clone());
            let mut ops = Vec::new();
            self.picture.bar.since(&other.bar, &mut ops);
            if let (Some(last), Some(other)) = (&self.picture.last, &other.last) {
                last.since(other, &mut ops);
            }
            self.picture.dock.since(&other.dock, &mut ops);
            touched_by.extend(touched(&ops));
        }
        let ops = touched_by.iter().filter_map(|touched| self.told_again(touched));
        Frame { ops: ops.map(Op::that_counts).collect() }
    }

    fn told_again(&self, touched: &Touched) -> Option<Op> {
        let Picture { bar, dock, last, .. } = &self.picture;
        let mut parts = [Some(bar), last.as_ref(), Some(dock)].into_iter().flatten();
        parts.find_map(|part| part.told_again(touched))
    }

    /// Draws what is now; returns what was shown before.
    fn draw_anew(&mut self) -> Picture {
        let Self { conversation, view, live, models, picture, sketch, .. } = self;
        let scene = Scene { conversation, within: "", head: &view.head, live, models };
        if picture.turns.last() != shown_ids(view).last() {
            *sketch = Sketch::default();
        }
        let new = draw(&scene, view, sketch);
        std::mem::replace(picture, new)
    }

    /// Turns that came, went or were changed.
    fn move_turns(&self, old: &Picture, change: &ViewChange, ops: &mut Vec<Op>) {
        let new = &self.picture;
        for gone in old.turns.iter().filter(|id| !new.turns.contains(id)) {
            ops.push(Op::Remove { id: ident::turn(*gone) });
        }
        // Only the last turn moves, and the one that was the last.
        let from = old.turns.last().min(new.turns.last()).copied().unwrap_or_default();
        for turn in
            self.view.shown().filter(|turn| from <= turn.head.id || is_named(change, turn.head.id))
        {
            let id = turn.head.id;
            let last = new.last.as_ref().filter(|_| Some(&id) == new.turns.last());
            let before = old.last.as_ref().filter(|_| Some(&id) == old.turns.last());
            let drawn = || turn::part(&self.scene(), turn, &mut Sketch::default());
            let part = last.map_or_else(|| Cow::Owned(drawn()), Cow::Borrowed);
            match before {
                Some(before) => part.since(before, ops),
                None if old.turns.contains(&id) => {
                    let (id, html) = (ident::turn(id), part.html());
                    ops.push(Op::Replace { id, html, length: None });
                }
                None => ops.push(Op::Append { id: "log".to_owned(), html: part.html() }),
            }
        }
    }

    /// The turns of a window.
    fn window(&self, window: Window) -> Vec<&TurnView> {
        let is_in = |turn: &&TurnView| match window {
            Window::Last => true,
            Window::Before(before) => turn.head.id < before,
        };
        let mut items = 0;
        let mut turns = Vec::new();
        for turn in self.view.shown().rev().filter(is_in).take(TURNS_MAX) {
            items += turn.items.len();
            if ITEMS_MAX < items && !turns.is_empty() {
                break;
            }
            turns.push(turn);
        }
        turns.reverse();
        turns
    }

    fn turn(&self, turn: &TurnView) -> Markup {
        let last = self.picture.last.as_ref().filter(|last| last.id() == ident::turn(turn.head.id));
        let drawn = || turn::part(&self.scene(), turn, &mut Sketch::default());
        PreEscaped(last.map_or_else(|| drawn().html(), Part::html))
    }

    /// The link to earlier turns.
    fn older(&self, first: Option<TurnId>) -> Markup {
        let before = |first: TurnId| self.view.shown().filter(|turn| turn.head.id < first).count();
        let earlier = first.map_or(0, before);
        let first = first.map_or(0, |first| first.0);
        let address = self.scene().address(&format!("earlier?before={first}"));
        let earlier = u64::try_from(earlier).unwrap_or(u64::MAX);
        html! {
            @if earlier == 0 { a.older id="older" hidden {} } @else {
                a.older id="older" href=(address) data-earlier { "↑ " (count(earlier, "earlier turn", "earlier turns")) }
            }
        }
    }
}

fn shown(part: &Part) -> Markup {
    PreEscaped(part.html())
}

fn shown_ids(view: &View) -> Vec<TurnId> {
    view.shown().map(|turn| turn.head.id).collect()
}

fn draw(scene: &Scene<'_>, view: &View, sketch: &mut Sketch) -> Picture {
    let last = view.shown().next_back().map(|turn| turn::part(scene, turn, sketch));
    let (bar, dock) = (bar::part(scene, view), dock::part(scene, view));
    Picture { bar, dock, turns: shown_ids(view), last }
}

/// Everything that can be live in a view, at once.
fn busy(view: &View) -> Live {
    let mut live = Live::default();
    live.driven = true;
    let Some(turn) = view.open_turn() else { return live };
    live.step = turn.steps().next_back().map(|step| {
        // No text of a model is this one.
        let mut now = LiveStep::new(turn.head.id, step.number, step.attempt);
        (now.text, now.reasoning) = ("\u{fffd}".to_owned(), "\u{fffd}".to_owned());
        now.calls.push("\u{fffd}".to_owned());
        now
    });
    let printing = |call: &CallView| {
        let mut now = LiveCall::new(call.id);
        (now.tail, now.progress) = ("\u{fffd}".to_owned(), Some("\u{fffd}".to_owned()));
        now
    };
    live.calls = turn.calls().map(printing).collect();
    live
}

/// Whether a change is about a turn.
fn is_named(change: &ViewChange, id: TurnId) -> bool {
    change.patches.iter().any(|patch| match patch {
        Patch::Turn { turn } => turn.head.id == id,
        Patch::TurnHead { head } => head.id == id,
        Patch::Item { turn, .. } | Patch::Append { turn, .. } => *turn == id,
        Patch::Call { call, .. } => call.id.turn == id,
        Patch::Head { .. }
        | Patch::Queue { .. }
        | Patch::Undos { .. }
        | Patch::Covered { .. }
        | Patch::Supersede { .. }
        | _ => false,
    })
}

/// What an empty conversation says.
fn hello() -> Markup {
    html! {
        div.hello id="hello" {
            (crate::icon::with_class("mark", "piton"))
            h2 { "What should be done?" }
            p.lead { "A turn that begins here is never lost: close the page, stop the server or pull the plug, and go on with one button." }
            p.hint { (icon("clip")) " Files can be dropped anywhere on the page." }
        }
    }
}
