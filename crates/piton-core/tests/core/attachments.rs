//! Files in messages, and the settings of a request that a conversation keeps.

use expect_test::expect;
use piton_core::attachment::{FILES_BYTES_MAX, label};
use piton_core::event::{
    BlobRef, ConfigChange, Effort, Event, Outcome, OutputFile, ToolOutput, UserPart,
};
use piton_core::id::{Attempt, Digest, MessageId, TurnId};
use piton_core::state::{Config, State};
use piton_core::transcript::{Message, Transcript};

use crate::script::{Journal, entry};

const JOURNAL: &str = include_str!("journals/v1_inputs.jsonl");

fn state(lines: usize) -> State {
    let events = JOURNAL.lines().take(lines).map(|line| Event::from_stored(1, line));
    let entries: Vec<_> = (1..).zip(events).map(|(seq, event)| entry(seq, event)).collect();
    State::from_entries(&entries)
}

fn file(name: &str, bytes: u64) -> UserPart {
    let blob = BlobRef { digest: Digest::new(name), bytes };
    UserPart::File { name: name.into(), media_type: "image/png".into(), blob }
}

fn message(id: &str, parts: Vec<UserPart>) -> Event {
    Event::UserMessage { message: MessageId::new(id), parts, attempt: Attempt::FIRST }
}

// J10, J37
#[test]
fn effort_and_answer_length_are_part_of_the_conversation() {
    for line in JOURNAL.lines() {
        assert_eq!(Event::from_stored(1, line).to_stored(), line);
    }
    let before = state(5);
    assert_eq!((before.config.effort, before.config.answer_tokens_max), (Effort::Low, 2048));
    let transcript = Transcript::from(&before);
    assert_eq!((transcript.effort(), transcript.answer_tokens_max()), (Effort::Low, 2048));
    let after = state(6);
    assert_eq!((after.config.effort, after.config.answer_tokens_max), (Effort::Auto, 0));
    assert_eq!((after.strays, after.unknown), (0, 0));
}

#[test]
fn only_what_differs_is_recorded() {
    let now = Config { effort: Effort::High, answer_tokens_max: 7, ..Config::default() };
    assert!(now.change_to(&now).is_empty());
    let wanted = Config { effort: Effort::Auto, ..now.clone() };
    let change = ConfigChange { effort: Some(Effort::Auto), ..ConfigChange::default() };
    assert_eq!(now.change_to(&wanted), change);
}

#[test]
fn an_effort_of_a_later_build_does_not_cost_the_rest_of_the_change() {
    let stored = r#"{"type":"ConfigChanged","change":{"effort":"heroic","answer_tokens_max":9}}"#;
    let Event::ConfigChanged { change } = Event::from_stored(1, stored) else { panic!("{stored}") };
    assert_eq!((change.effort, change.answer_tokens_max), (Some(Effort::Auto), Some(9)));
}

// C16, C18, C19: what was attached is never mixed with what was typed
#[test]
fn a_textual_file_stays_apart_from_what_was_typed() {
    let state = state(6);
    let said = state.turns[0].said().next().unwrap();
    let UserPart::InlinedFile { text, .. } = &said.parts[2] else { panic!("{:?}", said.parts) };
    assert_eq!(&**text, "# Reeds\r\n\r\nAttached file: b\nMIME: c\nd");
    let labels: Vec<_> = said.parts.iter().filter_map(label).collect();
    assert_eq!(labels, ["[image pond.png, 13 KB]", "[file a/notes.md, 37 bytes]"]);
    let lookalike = UserPart::text("Attached file: x\nMIME: text/plain\ny");
    assert_eq!(label(&lookalike), None);
}

// C11, C12, C15: a retry has the parts that were sent, each as often as it was sent
#[test]
fn a_message_of_files_alone_is_retried_as_it_was() {
    let mut journal = Journal::new();
    let parts = vec![file("a", 1), file("a", 1)];
    journal.push(Event::TurnStarted { turn: TurnId(1), agent: None });
    journal.push(message("m", parts.clone()));
    let attempt = Attempt::FIRST.next();
    journal.push(Event::MessageRetried { message: MessageId::new("m"), attempt });
    assert_eq!(Transcript::from(&journal.state).messages(), [Message::User(parts)]);
}

#[test]
fn a_request_carries_the_newest_files_and_tells_of_the_others() {
    let mut journal = Journal::new();
    journal.push(Event::TurnStarted { turn: TurnId(1), agent: None });
    let half = FILES_BYTES_MAX / 2;
    journal.push(message("m1", vec![file("old", half), file("middle", half)]));
    let mut updated = Transcript::from(&journal.state);
    journal.push(message("m2", vec![UserPart::text("and"), file("new", half)]));
    let transcript = Transcript::from(&journal.state);
    updated.update(&journal.state);
    assert_eq!(updated, transcript);
    let wanted: Vec<_> = transcript.files_wanted().map(|blob| blob.digest.as_str()).collect();
    assert_eq!(wanted, ["middle", "new"]);
    let Message::User(parts) = &transcript.messages()[0] else { panic!() };
    let UserPart::Text { text } = &parts[0] else { panic!("{parts:?}") };
    expect![[r#"
        Attached file: old
        MIME: image/png
        (No longer sent: a request carries the newest 14.6 MB of files.)"#]]
    .assert_eq(text);
}

/// A call of the conversation ends, and gives an image.
fn gives(journal: &mut Journal, call: &str, name: &str, bytes: u64) {
    let call = journal.call(call);
    let blob = BlobRef { digest: Digest::new(name), bytes };
    let file = OutputFile { name: name.into(), media_type: "image/png".into(), blob };
    let output = ToolOutput { files: vec![file], ..ToolOutput::text("see") };
    journal.push(Event::ToolFinished { call, outcome: Outcome::Ok, output });
}

#[test]
fn images_of_results_are_sent_and_make_room_for_newer_ones() {
    let half = FILES_BYTES_MAX / 2;
    let mut journal = Journal::of("turn user ask calls(r:a) start:a");
    gives(&mut journal, "a", "first", half);
    let wanted = |journal: &Journal| -> Vec<String> {
        let transcript = Transcript::from(&journal.state);
        transcript.files_wanted().map(|blob| blob.digest.as_str().to_owned()).collect()
    };
    assert_eq!(wanted(&journal), ["first"]);
    let estimated = Transcript::from(&journal.state).tokens_estimated();
    assert!(1_600 <= estimated, "an image costs something: {estimated}");
    journal.play("ask calls(r:b) start:b");
    gives(&mut journal, "b", "second", half);
    assert_eq!(wanted(&journal), ["first", "second"]);
    journal.play("ask calls(r:c) start:c");
    let mut updated = Transcript::from(&journal.state);
    gives(&mut journal, "c", "third", half);
    updated.update(&journal.state);
    assert_eq!(updated, Transcript::from(&journal.state));
    assert_eq!(wanted(&journal), ["second", "third"]);
    let Message::Results(results) = &updated.messages()[2] else { panic!() };
    let UserPart::Text { text } = &results[0].files[0] else { panic!("{results:?}") };
    assert!(text.contains("No longer sent"), "{text}");
}
