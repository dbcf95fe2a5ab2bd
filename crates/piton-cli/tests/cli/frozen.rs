//! What an earlier build left on a disk is opened, listed, read and gone on with (J10, J37).
//!
//! `frozen/README.md` says what the files are and how they were made. They are never made again.

mod settings;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use expect_test::expect;
use piton::Kept;
use piton_core::event::{Entry, Event};
use piton_core::id::{ConversationId, Seq};
use piton_core::state::State;
use piton_core::view::View;
use piton_store::{Journal, Letter, MemoryJournal, SqliteJournal};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::world::{World, lines};

/// More than any frozen conversation has.
const RECORDS_MAX: usize = 1_000;

const PAY: &str = r#"{"name":"pay","effect":"once","output":"paid"}"#;

/// A world whose home is the frozen one.
fn thawed() -> World {
    let world = World::new();
    copy(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/frozen/home_v1"),
        &world.path("home"),
    );
    world
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// Goes on with a conversation, with a model that follows this script.
fn goes_on(world: &World, id: &str, script: &str, said: &str) {
    let model = world.script(script);
    let ran = world.run(&["query", "--continue", "--id", id, "--model", &model]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, said), "{}", ran.stderr);
}

fn answers(world: &World, id: &str, answer: &str) {
    let ran = world.run(&["answer", answer, "--id", id]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

#[test]
fn every_conversation_is_listed_as_it_was_left() {
    let mut text = String::new();
    for row in thawed().rows() {
        let field = |name: &str| row.get(name).map(Value::to_string).unwrap_or_default();
        let fields = ["conversation", "turns", "title", "status", "kept_answers"].map(field);
        writeln!(text, "{}", fields.join(" ").trim_end()).unwrap();
    }
    expect![[r#"
        "2v5fxa1wqb" 1 "Count them again." ""
        "2v5fxa1wqb_1-1-0" 1 "count the reeds" ""
        "n5cevmxg7d_1-1-0" 1 "count the reeds" "waiting-for-input (pay)"
        "n5cevmxg7d" 1 "Have the reeds counted." "waiting-for-input (delegate)"
        "mf799gz24g" 1 "Pay the porter." "interrupted (pending tool execution)"
        "t56dzgc5wh" 1 "Pay the hut." "waiting-for-input (pay)"
        "h9j6szz8jw" 1 "Pay the guide." "waiting-for-input (pay)" 1
        "9a9s6aqx4n" 2 "Write the notes." ""
    "#]]
    .assert_eq(&text);
}

// J10: the stored form of every entry, byte for byte, and what it means.
#[tokio::test]
async fn every_entry_is_read_as_it_was_written() {
    let world = thawed();
    let (journal, notice) = SqliteJournal::open(&world.path("home")).unwrap();
    assert!(notice.is_none(), "{notice:?}");
    let mut text = String::new();
    for id in journal.find("", RECORDS_MAX).await.unwrap() {
        let records = journal.read(&id, Seq::default(), RECORDS_MAX).await.unwrap();
        let mut digest = Sha256::new();
        let mut state = State::default();
        for record in &records {
            digest.update(format!("{} {} {}\n", record.at.0, record.format, record.body));
            let event = Event::from_stored(record.format, &record.body);
            state.apply(&Entry { seq: record.seq, at: record.at, event });
        }
        let digest = u64::from_be_bytes(digest.finalize()[..8].try_into().unwrap());
        let view = View::from(&state);
        writeln!(
            text,
            "{id}: {} entries, {digest:016x}, {} turns",
            records.len(),
            view.turns.len()
        )
        .unwrap();
        assert_eq!((state.strays, state.unknown), (0, 0), "{id}");
    }
    expect![[r#"
        2v5fxa1wqb: 12 entries, 3412712bfc23a0e6, 1 turns
        2v5fxa1wqb_1-1-0: 8 entries, ace6ae63b284e18f, 1 turns
        9a9s6aqx4n: 24 entries, edea46ee496ba7a8, 2 turns
        h9j6szz8jw: 8 entries, 48bb35be32b53d5f, 1 turns
        mf799gz24g: 8 entries, ffb649750ea5fa43, 1 turns
        n5cevmxg7d: 9 entries, b5bbf41de0ab342a, 1 turns
        n5cevmxg7d_1-1-0: 8 entries, 0a82fc6a04ac4445, 1 turns
        t56dzgc5wh: 10 entries, ba731863b50b163c, 1 turns
    "#]]
    .assert_eq(&text);
}

#[tokio::test]
async fn a_blob_is_found_by_its_entry() {
    let world = thawed();
    let (journal, _) = SqliteJournal::open(&world.path("home")).unwrap();
    let id = ConversationId::new("9a9s6aqx4n");
    let records = journal.read(&id, Seq::default(), RECORDS_MAX).await.unwrap();
    let blob_of = |event| {
        let Event::ToolFinished { output, .. } = event else { return None };
        output.blob
    };
    let events = records.iter().map(|record| Event::from_stored(record.format, &record.body));
    let blobs: Vec<_> = events.filter_map(blob_of).collect();
    assert_eq!(blobs.len(), 1);
    let content = journal.blob(&blobs[0].digest).await.unwrap();
    assert_eq!(content.len(), 64_890);
    assert!(content.ends_with(b"pitch 5999\n"));
}

#[test]
fn a_complete_conversation_gets_another_turn() {
    let world = thawed();
    let printed = world.run(&["print", "9a9s6aqx4n"]).stdout;
    for said in ["> Write the notes.", "Written.", "> Thank you.", "You are welcome."] {
        assert!(printed.contains(said), "{printed}");
    }
    // The steps before are those of the earlier turns.
    let model = world.script(r#"{"steps":[{},{},{},{},{"say":"See you."}]}"#);
    let ran = world.run(&["query", "Bye.", "--id", "9a9s6aqx4n", "--model", &model]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "See you.\n"), "{}", ran.stderr);
}

// J34: the letter is taken, and counts once.
#[test]
fn a_letter_is_understood() {
    let world = thawed();
    let script = format!(
        r#"{{"steps":[{{"calls":[{{"tool":"pay"}}]}},{{"say":"Paid."}}],"tools":[{PAY}]}}"#
    );
    goes_on(&world, "h9j6szz8jw", &script, "Paid.\n");
    assert_eq!(fs::read_dir(world.path("home/inbox")).unwrap().count(), 0);
}

#[tokio::test]
async fn every_kind_of_letter_is_understood() {
    let journal = MemoryJournal::new();
    let id = ConversationId::new("a");
    let replies = [
        r#"{"kind":"allow"}"#,
        r#"{"kind":"deny"}"#,
        r#"{"kind":"applied"}"#,
        r#"{"kind":"always","effect":"allow","scope":"conversation"}"#,
        r#"{"kind":"always","effect":"deny","scope":"project"}"#,
        r#"{"kind":"always","effect":"ask","scope":"user"}"#,
        r#"{"kind":"run_again"}"#,
        r#"{"kind":"treat_as_done"}"#,
        r#"{"kind":"text","text":"so \"it\" is"}"#,
    ];
    for (number, reply) in replies.iter().enumerate() {
        let letter = format!("{number:015}-ff449184a7a6258d");
        let body = format!(r#"{{"inquiry":"1.1.{number}.permission.1","reply":{reply}}}"#);
        journal.post(&id, Letter { id: letter, body }).await.unwrap();
    }
    let mut text = String::new();
    for kept in Kept::of(&journal, &id).await.unwrap() {
        let (inquiry, reply) = kept.answer().unwrap();
        writeln!(text, "{inquiry}: {reply:?}").unwrap();
    }
    expect![[r#"
        1.1.0.permission.1: Allow
        1.1.1.permission.1: Deny
        1.1.2.permission.1: Applied
        1.1.3.permission.1: Always(Standing { effect: Allow, scope: Conversation })
        1.1.4.permission.1: Always(Standing { effect: Deny, scope: Project })
        1.1.5.permission.1: Always(Standing { effect: Ask, scope: User })
        1.1.6.permission.1: RunAgain
        1.1.7.permission.1: TreatAsDone
        1.1.8.permission.1: Text("so \"it\" is")
    "#]]
    .assert_eq(&text);
}

// X13: the queue is worked off after the turn.
#[test]
fn an_open_question_is_answered_and_the_queue_is_worked_off() {
    let world = thawed();
    let script = format!(
        r#"{{"steps":[{{"calls":[{{"tool":"pay"}}]}},{{"say":"Paid."}},{{"say":"The boat is free."}}],
            "tools":[{PAY}]}}"#
    );
    answers(&world, "t56dzgc5wh", "yes");
    goes_on(&world, "t56dzgc5wh", &script, "Paid.\nThe boat is free.\n");
}

// A call of the class `once` that a dead process started is not run again.
#[test]
fn a_call_in_doubt_is_not_repeated() {
    let world = thawed();
    let model = world.script(&format!(
        r#"{{"steps":[{{"calls":[{{"tool":"pay"}}]}},{{"say":"I do not know."}}],"tools":[{PAY}]}}"#
    ));
    let ran = world.run(&["query", "--continue", "--id", "mf799gz24g", "--model", &model]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "I do not know.\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("? pay — outcome unknown"), "{}", ran.stderr);
    let entries = lines(&world.run(&["print", "--json", "--raw", "mf799gz24g"]).stdout);
    let starts = entries.iter().filter(|entry| entry["event"]["type"] == "ToolStarted");
    assert_eq!(starts.count(), 1);
}

// D79
#[test]
fn a_worker_that_asks_is_answered_and_its_parent_goes_on() {
    let world = thawed();
    let script = format!(
        r#"{{"steps":[{{"calls":[{{"tool":"delegate"}}]}},{{"say":"Three reeds."}}],
            "workers":[{{"task":"count the reeds","steps":[{{"calls":[{{"tool":"pay"}}]}},{{"say":"Three."}}]}}],
            "tools":[{PAY}]}}"#
    );
    answers(&world, "n5cevmxg7d", "yes");
    goes_on(&world, "n5cevmxg7d", &script, "Three reeds.\n");
}
