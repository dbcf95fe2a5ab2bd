//! Frames lead to the same page as drawing anew.

use piton_core::id::ConversationId;
use piton_core::state::State;
use piton_core::view::{Live, LiveStep, Refused, View, ViewChange};
use piton_page::{Op, Renderer, Window};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::dom::Page;
use crate::script::Journal;
use crate::walk::{Move, Walk};

fn renderer(view: View, live: Live) -> Renderer {
    Renderer::new(&ConversationId::new("abc"), view, live)
}

/// Somebody is at work.
fn driven() -> Live {
    let mut live = Live::default();
    live.driven = true;
    live
}

fn page(renderer: &Renderer) -> Page {
    Page::new(&renderer.main(Window::Last).into_string())
}

/// What moves on a page.
fn same(shown: &Page, anew: &Page, why: &str) {
    for id in ["bar", "log", "dock"] {
        let differs =
            shown.find(id).zip(anew.find(id)).and_then(|(shown, anew)| shown.differs(anew));
        assert_eq!(differs, None, "{id} after {why}");
    }
    assert_eq!(shown.doubles(), Vec::<String>::new(), "after {why}");
}

/// Follows a walk with a page that takes every frame, and with one that misses live ones.
fn follow(walk: &Walk, begin: usize, misses: &[bool]) {
    let mut state = State::default();
    let mut live = Live::default();
    let mut followed: Option<(Renderer, Page, Page)> = None;
    for (at, step) in walk.moves.iter().enumerate() {
        let is_entry = matches!(step, Move::Entry(_));
        let change = match step {
            Move::Entry(entry) => {
                state.apply(entry);
                Some(ViewChange::of(&state, entry))
            }
            Move::Live(now) => {
                live = now.clone();
                None
            }
        };
        if at < begin {
            continue;
        }
        let Some((renderer, all, some)) = &mut followed else {
            let renderer = renderer(View::from(&state), live.clone());
            let page = page(&renderer);
            followed = Some((renderer, page.clone(), page));
            continue;
        };
        let frame = match change {
            Some(change) => renderer.change(&change).unwrap(),
            None => renderer.live(&live),
        };
        let anew = page(&self::renderer(View::from(&state), live.clone()));
        let why = format!("{at} {step:?}: {:?}", frame.ops);
        all.apply(&frame);
        same(all, &anew, &why);
        let is_missed = !is_entry && misses[at % misses.len()];
        if !is_missed {
            some.apply(&frame);
        }
        if is_entry || (!is_missed && !frame.is_empty()) {
            same(some, &anew, &format!("a miss, then {why}"));
        }
        // A server that was killed knows nothing of what was live, and the page comes back to it.
        let restarted = self::renderer(View::from(&state), Live::default());
        let mut back = all.clone();
        back.apply(&restarted.now());
        same(&back, &page(&restarted), &format!("a restart after {why}"));
        // A repeat changes nothing.
        let before = all.clone();
        if !frame.ops.iter().any(|op| matches!(op, Op::Remove { .. })) {
            all.apply(&frame);
            assert_eq!(all.nodes, before.nodes, "twice: {why}");
        }
        assert_eq!(all.missing, Vec::<String>::new(), "{why}");
        if !is_entry {
            let moves =
                |op: &&Op| !matches!(op, Op::Replace { .. } | Op::Attr { .. } | Op::Text { .. });
            assert_eq!(frame.ops.iter().find(moves), None, "what is live adds no element");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, max_shrink_iters: 60, ..ProptestConfig::default() })]

    // C29, C30, D33
    #[test]
    fn a_page_that_takes_the_frames_is_the_page_drawn_anew(
        tape in vec(any::<usize>(), 1..60),
        begin in 0_usize..30,
        misses in vec(any::<bool>(), 1..20),
    ) {
        follow(&Walk::new(&tape), begin, &misses);
    }
}

fn streaming(text: &str) -> (State, Live) {
    let journal = Journal::of("turn user ask");
    let turn = journal.state.open_turn().unwrap();
    let step = turn.steps().next_back().unwrap();
    let mut live = driven();
    let mut now = LiveStep::new(turn.id, step.number, step.attempt);
    now.text = text.into();
    live.step = Some(now);
    (journal.state, live)
}

// C29
#[test]
fn text_on_the_page_never_becomes_shorter_while_it_streams() {
    let (state, live) = streaming("");
    let mut renderer = renderer(View::from(&state), live.clone());
    let mut page = page(&renderer);
    let text = "One **two** three.\n\n- a\n- b `c`\n\n```rust\nlet x = 1;\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nThe end.";
    let mut most = 0;
    for end in (1..=text.len()).filter(|end| text.is_char_boundary(*end)) {
        let mut now = live.clone();
        now.step.as_mut().unwrap().text = text[..end].into();
        page.apply(&renderer.live(&now));
        let shown = page
            .find("s1-1-t")
            .unwrap()
            .text()
            .split_whitespace()
            .collect::<String>()
            .chars()
            .count();
        // A mark that turns out to be one leaves the page: two letters of it at most.
        assert!(most <= shown + 2, "{end}: {shown} after {most}: {:?}", &text[..end]);
        most = most.max(shown);
    }
    // What comes late, and an older try, change nothing.
    let before = page.clone();
    let mut late = live.clone();
    late.step.as_mut().unwrap().text = "One".into();
    page.apply(&renderer.live(&late));
    assert_eq!(page.nodes, before.nodes);
}

#[test]
fn a_live_text_says_how_long_it_is() {
    let (state, live) = streaming("");
    let mut renderer = renderer(View::from(&state), live.clone());
    let mut now = live;
    now.step.as_mut().unwrap().text = "hello".into();
    let frame = renderer.live(&now);
    let tail = frame.ops.iter().find(|op| op.id() == "s1-1-t-l").unwrap();
    assert!(matches!(tail, Op::Replace { length: Some(5), .. }), "{tail:?}");
}

#[test]
fn a_block_that_is_whole_is_sent_once() {
    let mut journal = Journal::of("turn user ask");
    let live = driven();
    let mut renderer = renderer(View::from(&journal.state), live);
    let mut sent = Vec::new();
    for word in ["partial:One.\n\n", "partial:Two.\n\n", "partial:Three.\n\n"] {
        let (_, text) = word.split_once(':').unwrap();
        let (kind, text) = (piton_core::event::PartialKind::Text, text.into());
        journal.push(piton_core::event::Event::ModelPartial { kind, text });
        let entry = journal.entries.last().unwrap();
        let frame = renderer.change(&ViewChange::of(&journal.state, entry)).unwrap();
        sent.push(serde_json::to_string(&frame).unwrap());
    }
    assert_eq!(sent.iter().filter(|frame| frame.contains("One.")).count(), 2, "{sent:#?}");
    assert!(sent[2].contains("Three.") && !sent[2].contains("One."), "{sent:#?}");
}

// C30
#[test]
fn a_change_that_does_not_follow_is_refused() {
    let journal = Journal::of("turn user ask");
    let mut state = State::default();
    let mut changes = vec![];
    for entry in &journal.entries {
        state.apply(entry);
        changes.push(ViewChange::of(&state, entry));
    }
    let mut renderer = renderer(View::from(&State::default()), Live::default());
    renderer.change(&changes[0]).unwrap();
    let cursor = renderer.cursor();
    assert!(matches!(renderer.change(&changes[2]), Err(Refused::Gap { .. })));
    assert!(matches!(renderer.change(&changes[0]), Err(Refused::AlreadyApplied { .. })));
    assert_eq!(renderer.cursor(), cursor);
}

#[test]
fn what_is_sent_does_not_grow_with_the_turn() {
    let step = |at: usize| format!("ask calls(r:c{at}) start:c{at} finish:c{at}");
    let steps = (0..150).map(step).collect::<Vec<_>>().join(" ");
    let journal = Journal::of(&format!("turn user {steps} ask"));
    let turn = journal.state.open_turn().unwrap();
    let step = turn.steps().next_back().unwrap();
    let mut live = driven();
    let mut renderer = renderer(View::from(&journal.state), live.clone());
    let mut now = LiveStep::new(turn.id, step.number, step.attempt);
    now.text = "A few words.".into();
    live.step = Some(now);
    let frame = serde_json::to_string(&renderer.live(&live)).unwrap();
    assert!(frame.len() < 1_000, "{} bytes: {frame}", frame.len());
}
