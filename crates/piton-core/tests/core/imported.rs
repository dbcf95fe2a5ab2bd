//! Conversations that another program wrote.

use expect_test::expect;
use piton_core::action::{Action, Wish};
use piton_core::decide::decide;
use piton_core::event::{Event, ImportRemark, ImportSource, REMARK_BYTES_MAX};
use piton_core::id::{Digest, TurnId};
use piton_core::state::State;
use piton_core::transcript::Transcript;
use piton_core::view::View;

use crate::sample::sample;
use crate::script::entry;
use crate::{transcript, view};

const IMPORTED: &str = include_str!("journals/v1_imported.jsonl");

fn taken_over() -> Event {
    Event::ConversationImported {
        source: ImportSource {
            tool: "pi".into(),
            format: "pi-jsonl".into(),
            version: None,
            session: None,
            path: "/old".into(),
            digest: Digest::new("ab"),
        },
        remarks: Vec::new(),
        more: 0,
        originals: Vec::new(),
    }
}

#[test]
fn an_imported_journal_is_shown_sent_and_left_to_a_person() {
    let state = sample(IMPORTED);
    expect![[r#"
        title Notes
        turn 1
          user ab-1: tidy up
          assistant: I look.
          tool 1.1.0 Bash: ls: Unknown: The tool was started.
          interrupted (pending follow-up) Some(Interrupted)"#]]
    .assert_eq(&view::shown(&View::from(&state)));
    expect![[r#"
        u tidy up
        a I look. + Bash@1.1.0
        r 1.1.0 Bash!The tool was started."#]]
    .assert_eq(&transcript::shown(&Transcript::from(&state)));
    assert_eq!(decide(&state, Wish::Proceed), Action::Rest, "nobody goes on by himself");
    let imported = View::from(&state).head.imported.unwrap();
    assert_eq!((imported.source.tool.as_str(), imported.more), ("claude-code", 1));
    assert_eq!((imported.remarks[0].line, imported.remarks[1].line), (4, 0));
}

#[test]
fn a_conversation_comes_from_one_place_and_before_its_first_turn() {
    let strays = |events: Vec<Event>| {
        let entries: Vec<_> = (1..).zip(events).map(|(seq, event)| entry(seq, event)).collect();
        State::from_entries(&entries).strays
    };
    let begun = Event::TurnStarted { turn: TurnId(1), agent: None };
    assert_eq!(strays(vec![taken_over()]), 0, "also without a beginning");
    assert_eq!(strays(vec![taken_over(), taken_over()]), 1);
    assert_eq!(strays(vec![begun, taken_over()]), 1);
}

#[test]
fn a_remark_is_cut_between_letters() {
    let remark = ImportRemark::new("note", 1, &"日".repeat(REMARK_BYTES_MAX));
    assert!(remark.text.len() <= REMARK_BYTES_MAX + 3 && remark.text.ends_with("日…"));
    assert_eq!(ImportRemark::new("note", 1, "short").text, "short");
}
