//! A worker in the call that it works for.

use piton_core::event::{EffectClass, Event, Handle};
use piton_core::id::{CallId, ConversationId, TurnId};
use piton_core::state::State;
use piton_core::view::{Live, LiveCall, View, ViewChange};
use piton_page::{Nested, Op, Renderer};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::dom::Page;
use crate::script::Journal;
use crate::walk::{Move, Walk};

fn worker() -> ConversationId {
    let call = CallId { turn: TurnId(1), step: 2, index: 0 };
    ConversationId::new("abc").of_worker(call)
}

fn page(nested: &Nested) -> Page {
    Page::new(&format!("<main>{}</main>", nested.html().into_string()))
}

fn same(shown: &Page, anew: &Page, why: &str) {
    let (shown_it, anew_it) = (shown.find("c1-2-0-worker"), anew.find("c1-2-0-worker"));
    let differs = shown_it.zip(anew_it).map(|(shown, anew)| shown.differs(anew));
    assert_eq!(differs, Some(None), "after {why}");
    assert_eq!(shown.doubles(), Vec::<String>::new(), "after {why}");
    assert_eq!(shown.missing, Vec::<String>::new(), "after {why}");
}

fn driven() -> Live {
    let mut live = Live::default();
    live.driven = true;
    live
}

/// The change that the last entry of a journal makes.
fn last(journal: &Journal) -> ViewChange {
    ViewChange::of(&journal.state, journal.entries.last().unwrap())
}

fn follow(walk: &Walk, misses: &[bool]) {
    let (mut state, mut live) = (State::default(), Live::default());
    let mut nested = Nested::new(&worker(), View::from(&state), live.clone());
    let mut all = page(&nested);
    let mut some = all.clone();
    for (at, step) in walk.moves.iter().enumerate() {
        let (is_entry, frame) = match step {
            Move::Entry(entry) => {
                state.apply(entry);
                (true, nested.change(&ViewChange::of(&state, entry)).unwrap())
            }
            Move::Live(now) => {
                live = now.clone();
                (false, nested.live(&live))
            }
        };
        let anew = page(&Nested::new(&worker(), View::from(&state), live.clone()));
        let why = format!("{at} {step:?}: {:?}", frame.ops);
        all.apply(&frame);
        same(&all, &anew, &why);
        let is_missed = !is_entry && misses[at % misses.len()];
        if !is_missed {
            some.apply(&frame);
        }
        if is_entry || (!is_missed && !frame.is_empty()) {
            same(&some, &anew, &format!("a miss, then {why}"));
        }
        // A reader that comes gets the whole.
        let mut late = Page::new("<main><div id=\"c1-2-0-worker\"></div></main>");
        late.apply(&nested.whole());
        same(&late, &anew, &format!("the whole after {why}"));
        let names = frame.ops.iter().map(Op::id);
        assert!(names.into_iter().all(|name| name.starts_with("c1-2-0-")), "{why}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, max_shrink_iters: 60, ..ProptestConfig::default() })]

    // C29, C30, D33
    #[test]
    fn a_worker_that_takes_the_frames_is_the_worker_drawn_anew(
        tape in vec(any::<usize>(), 1..60),
        misses in vec(any::<bool>(), 1..20),
    ) {
        follow(&Walk::new(&tape), &misses);
    }
}

// D77
#[test]
fn a_worker_shows_its_calls_and_questions_and_not_its_task() {
    let script = "mode:ask turn user:count_the_reeds ask calls(o:a) raise:permission:a";
    let journal = Journal::of(script);
    let nested = Nested::new(&worker(), View::from(&journal.state), driven());
    let page = page(&nested);
    let shown = page.find("c1-2-0-worker").unwrap().text();
    assert!(!shown.contains("count_the_reeds"), "the call says it: {shown}");
    for word in ["Allow once", "Deny", "waits for you · step 1", "Stop worker", "Open conversation"]
    {
        assert!(shown.contains(word), "{word}: {shown}");
    }
    // An answer goes to the worker.
    let ids = page.all().into_iter().filter_map(|node| node.attr("id"));
    assert!(ids.into_iter().all(|id| id.starts_with("c1-2-0-")));
    let actions: Vec<_> = page.all().into_iter().filter_map(|node| node.attr("action")).collect();
    assert!(actions.iter().all(|action| action.starts_with("/c/abc_1-2-0/")), "{actions:?}");
}

// D77: a frame of the conversation would take away what the worker's own frames have put there.
#[test]
fn the_place_of_a_worker_stays_as_long_as_it_works() {
    let mut journal = Journal::of("turn user ask calls(c:a)");
    let call = journal.call("a");
    let (conversation, worker) =
        (ConversationId::new("abc"), ConversationId::new("abc").of_worker(call));
    let mut renderer = Renderer::new(&conversation, View::from(&journal.state), driven());
    let handle = Handle::Conversation { id: worker.to_string() };
    journal.push(Event::ToolStarted { call, effect: EffectClass::Child, handle });
    let begun = renderer.change(&last(&journal)).unwrap();
    assert!(format!("{begun:?}").contains("c1-1-0-worker"), "{begun:?}");
    assert_eq!(renderer.workers().collect::<Vec<_>>(), [&worker]);
    let mut live = driven();
    let mut at_work = LiveCall::new(call);
    at_work.asks = true;
    live.calls.push(at_work);
    let mut frames = vec![renderer.live(&live)];
    assert!(format!("{:?}", frames[0]).contains("worker 1 waits for you"), "{frames:?}");
    journal.push(Event::CallParked { call, question: "Delete it?".into() });
    frames.push(renderer.change(&last(&journal)).unwrap());
    frames.push(renderer.now());
    let touches = |op: &&Op| op.id() == "c1-1-0" && !matches!(op, Op::Attr { .. });
    let inner = |op: &&Op| op.id().starts_with("c1-1-0-b") || op.id() == "c1-1-0-worker";
    let ops: Vec<_> = frames.iter().flat_map(|frame| &frame.ops).collect();
    assert!(!ops.iter().any(|op| touches(op) || inner(op)), "{ops:?}");
}
