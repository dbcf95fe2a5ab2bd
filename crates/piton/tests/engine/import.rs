//! Histories of other programs as journals.

use std::path::Path;
use std::sync::Arc;

use piton::clock::SystemClock;
use piton::import::{TakeOver, Written, known, write};
use piton::reader;
use piton_core::event::{ImportSource, UserPart};
use piton_core::history::{
    History, PastAnswer, PastAnswerPart, PastCall, PastEnd, PastFile, PastItem, PastPart,
    PastResult, PastTurn, Speaker,
};
use piton_core::id::{ConversationId, Digest, Timestamp};
use piton_core::transcript::{Message, Transcript};
use piton_core::view::Status;
use piton_store::{Journal, MemoryJournal, Wants};

use crate::stage::message_words;

fn said(text: &str) -> PastItem {
    let parts = vec![PastPart::Text(text.into())];
    PastItem::Said { parts, by: Speaker::Person, at: Some(Timestamp(5)) }
}

fn answered(parts: Vec<PastAnswerPart>) -> PastItem {
    PastItem::Answer(PastAnswer { parts, model: None, at: None })
}

fn call(result: Option<PastResult>) -> PastAnswerPart {
    let (id, tool, arguments) = (Some("c".into()), "Look".into(), "{}".into());
    PastAnswerPart::Call(PastCall { id, tool, arguments, result })
}

fn text(text: &str) -> PastAnswerPart {
    PastAnswerPart::Text(text.into())
}

fn history(digest: &str, turns: Vec<PastTurn>) -> History {
    let source = ImportSource {
        tool: "pi".into(),
        format: "pi-jsonl".into(),
        version: None,
        session: None,
        path: "/old".into(),
        digest: Digest::new(digest),
    };
    History { source, title: None, workspace: None, turns, remarks: Vec::new() }
}

fn digest(first: char) -> String {
    first.to_string().repeat(64)
}

async fn taken(journal: &MemoryJournal, history: &History) -> Written {
    let take = TakeOver { history, original: b"original", workspace: Path::new("/") };
    write(journal, &SystemClock, take).await.unwrap()
}

fn id(written: &Written) -> ConversationId {
    match written {
        Written::New(id) | Written::Known(id) => id.clone(),
    }
}

#[tokio::test]
async fn turns_become_facts_that_fit_and_an_open_one_waits_for_a_person() {
    let journal = MemoryJournal::new();
    let picture = PastFile {
        name: "a\n.png".into(),
        media_type: "image/png".into(),
        content: Arc::from(&b"png"[..]),
    };
    let result =
        PastResult { text: "seen".into(), files: vec![picture.clone()], ..PastResult::default() };
    let with_picture = PastItem::Said {
        parts: vec![PastPart::Text("look".into()), PastPart::File(picture)],
        by: Speaker::Person,
        at: None,
    };
    let failed = PastItem::Failed { message: "gone".into(), model: None, at: None };
    let turns = vec![
        PastTurn {
            items: vec![said("one"), answered(vec![text("first")])],
            end: PastEnd::Completed,
            summary: Some("short".into()),
        },
        PastTurn {
            items: vec![with_picture, answered(vec![call(Some(result)), call(None)])],
            end: PastEnd::Left,
            summary: None,
        },
        PastTurn {
            items: vec![said("three"), failed.clone(), failed],
            end: PastEnd::Open { why: Some("gone".into()) },
            summary: None,
        },
    ];
    let written = taken(&journal, &history(&digest('a'), turns)).await;
    let state = reader::state(&journal, &id(&written)).await.unwrap();
    assert_eq!((state.strays, state.unknown, state.turns.len()), (0, 0, 3));
    let transcript = Transcript::from(&state);
    let words: Vec<_> = transcript.messages().iter().map(message_words).collect();
    assert_eq!(words.len(), 5, "the summary, the second turn, and what was asked last: {words:#?}");
    let Message::User(parts) = &transcript.messages()[1] else { panic!("{words:?}") };
    assert!(
        matches!(&parts[1], UserPart::File { name, blob, .. } if name == "a_.png" && blob.bytes == 3)
    );
    let row = journal.status(&id(&written)).await.unwrap().unwrap().row;
    assert_eq!(row.wants, Wants::Person, "nobody goes on by himself");
    assert_eq!(row.status, Status::PendingAnswer);
    assert_eq!(state.turns[2].steps().next().unwrap().attempt.0, 2, "tries of one request");
}

#[tokio::test]
async fn the_same_content_is_one_conversation_and_a_name_that_is_taken_is_left_alone() {
    let journal = MemoryJournal::new();
    let turn =
        || PastTurn { items: vec![said("one")], end: PastEnd::Open { why: None }, summary: None };
    let one = history(&digest('b'), vec![turn()]);
    assert_eq!(known(&journal, &one.source.digest).await.unwrap(), None);
    let first = taken(&journal, &one).await;
    assert!(matches!(first, Written::New(_)));
    assert_eq!(taken(&journal, &one).await, Written::Known(id(&first)));
    assert_eq!(known(&journal, &one.source.digest).await.unwrap(), Some(id(&first)));
    // Begins with the same letters, and is something else.
    let other = format!("{}{}", "b".repeat(16), "c".repeat(48));
    let other = history(&other, vec![turn()]);
    let second = taken(&journal, &other).await;
    assert!(matches!(&second, Written::New(name) if *name != id(&first)), "{second:?}");
    assert_eq!(taken(&journal, &other).await, Written::Known(id(&second)));
}
