//! Taking over a session of another program, killed at every operation of its store.

use std::path::Path;
use std::sync::Arc;

use piton::clock::RuntimeClock;
use piton::import::{TakeOver, Written, write};
use piton_core::event::ImportSource;
use piton_core::history::{
    History, PastAnswer, PastAnswerPart, PastEnd, PastItem, PastPart, PastTurn, Speaker,
};
use piton_core::id::{Digest, Seq};
use piton_proof::disk::MortalJournal;
use piton_proof::world::World;
use piton_store::{Journal, MemoryJournal, Page};

/// More points than there are.
const POINTS_MAX: u64 = 100;

fn history() -> History {
    let said =
        PastItem::Said { parts: vec![PastPart::Text("one".into())], by: Speaker::Person, at: None };
    let parts = vec![PastAnswerPart::Text("first".into())];
    let answer = PastItem::Answer(PastAnswer { parts, model: None, at: None });
    let end = PastEnd::Completed;
    let turn = PastTurn { items: vec![said, answer], end, summary: None };
    let source = ImportSource {
        tool: "pi".into(),
        format: "pi-jsonl".into(),
        version: None,
        session: None,
        path: "/old".into(),
        digest: Digest::new("a".repeat(64)),
    };
    History { source, title: None, workspace: None, turns: vec![turn; 3], remarks: Vec::new() }
}

/// What the store holds: a line for each entry of each conversation.
async fn content(store: &MemoryJournal) -> Vec<String> {
    let mut lines = Vec::new();
    for row in store.list(Page::first(10)).await.unwrap().rows {
        let records = store.read(&row.conversation, Seq::default(), 1_000).await.unwrap();
        lines.extend(records.into_iter().map(|it| format!("{} {}", row.conversation, it.body)));
    }
    lines
}

// J10
#[tokio::test(start_paused = true)]
async fn crash_at_every_point_of_an_import() {
    let history = history();
    let take = TakeOver { history: &history, original: b"original", workspace: Path::new("/") };
    let clock = RuntimeClock::starting_at(piton_core::id::Timestamp(1_000_000));
    let undisturbed = MemoryJournal::new();
    write(&undisturbed, &clock, take).await.unwrap();
    let whole = content(&undisturbed).await;
    let (mut kills, mut halves) = (0, 0);
    for point in 1..POINTS_MAX {
        let (store, world) = (Arc::new(MemoryJournal::new()), World::new(None, None));
        world.begin_life(Some(point));
        let mortal = MortalJournal::mortal(store.clone(), world.clone()).everywhere();
        let lived = tokio::select! {
            biased;
            () = world.died() => None,
            written = write(&mortal, &clock, take) => Some(written.unwrap()),
        };
        let left = content(&store).await;
        assert!(left.is_empty() || left == whole, "half at point {point}: {left:?}");
        halves += u64::from(left.is_empty());
        // The next process does the same, and finds the same.
        world.begin_life(None);
        let again = write(&*store, &clock, take).await.unwrap();
        assert_eq!(matches!(again, Written::Known(_)), !left.is_empty(), "at point {point}");
        assert_eq!(content(&store).await, whole, "at point {point}");
        if lived.is_some() {
            println!("an import: {kills} kills, {halves} before and the rest behind its commit");
            assert!(2 <= kills, "a suite that kills nobody shows nothing");
            return;
        }
        kills += 1;
    }
    panic!("it never came to its end");
}
