//! The index of texts.

use std::ops::ControlFlow;

use piton_core::id::{ConversationId, Seq};
use piton_store::{Addition, Indexed, IndexedText, ListPosition, SearchIndex, Sought, TextChange};
use tempfile::TempDir;

fn id(name: &str) -> ConversationId {
    ConversationId::new(name)
}

fn said(seq: u64, turn: u32, text: &str) -> TextChange {
    let (scope, kind, text) = ("user", "message", text.to_owned());
    TextChange::Said(IndexedText { seq: Seq(seq), turn, scope, kind, text })
}

fn addition(name: &str, after: u64, through: u64, changes: Vec<TextChange>) -> Addition {
    let now = Indexed { through: Seq(through), memo: format!("memo {through}") };
    let (conversation, workspace) = (id(name), "/w".to_owned());
    Addition { conversation, workspace, after: Seq(after), now, changes }
}

fn found(index: &SearchIndex, sought: &Sought) -> Vec<String> {
    let mut texts = Vec::new();
    index
        .look(sought, |text| {
            texts.push(text.text.clone().into_owned());
            ControlFlow::Continue(())
        })
        .unwrap();
    texts
}

fn literal(text: &str) -> Sought {
    Sought { literal: Some(text.to_owned()), ..Sought::default() }
}

#[test]
fn what_somebody_else_brought_is_not_taken_twice() {
    let home = TempDir::new().unwrap();
    let mut one = SearchIndex::open(home.path()).unwrap();
    let mut other = SearchIndex::open(home.path()).unwrap();
    let first = addition("a", 0, 5, vec![said(3, 1, "kestrel")]);
    let first = [first];
    assert!(one.take(&first).unwrap());
    assert!(!other.take(&first).unwrap());
    assert_eq!(other.indexed(&id("a")).unwrap().memo, "memo 5");
    assert!(other.take(&[addition("a", 5, 9, vec![said(7, 2, "kestrel again")])]).unwrap());
    assert_eq!(found(&one, &literal("kestrel")), ["kestrel again", "kestrel"]);
    one.reach(ListPosition(7)).unwrap();
    other.reach(ListPosition(4)).unwrap();
    assert_eq!(other.position().unwrap(), ListPosition(7));
}

#[test]
fn texts_that_do_not_count_any_more_are_marked() {
    let home = TempDir::new().unwrap();
    let mut index = SearchIndex::open(home.path()).unwrap();
    let hidden = TextChange::Hidden { turn: 1, from: Seq(2), through: Seq(9), why: "superseded" };
    let changes = vec![said(1, 1, "bird one"), said(2, 1, "bird two"), hidden, said(4, 1, "bird")];
    index.take(&[addition("a", 0, 9, changes)]).unwrap();
    assert_eq!(found(&index, &literal("bird")), ["bird", "bird one"]);
    let all = Sought { hidden: true, ..literal("bird") };
    assert_eq!(found(&index, &all), ["bird", "bird two", "bird one"]);
}

#[test]
fn an_index_of_another_build_or_about_another_store_is_made_again() {
    let home = TempDir::new().unwrap();
    let mut index = SearchIndex::open(home.path()).unwrap();
    index.take(&[addition("a", 0, 5, vec![said(3, 1, "kestrel")])]).unwrap();
    drop(index);
    let index = SearchIndex::open(home.path()).unwrap();
    assert_eq!(found(&index, &literal("kestrel")).len(), 1);
    drop(index);
    // A database where there was none.
    std::fs::write(home.path().join("piton.db"), "").unwrap();
    let index = SearchIndex::open(home.path()).unwrap();
    assert_eq!(found(&index, &literal("kestrel")).len(), 0);
    assert_eq!(index.indexed(&id("a")).unwrap(), Indexed::default());
}

/// Small numbers in no order, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }
}

#[test]
fn no_text_that_holds_a_literal_is_missed_wherever_it_begins_and_ends() {
    const PIECES: [&str; 12] =
        ["a", "ab", "Kestrel", " ", "-", "_", "日本", "ß", "x9", ".", "flight", "\n"];
    let mut numbers = Numbers(7);
    let mut text = |most: usize| -> String {
        let count = 1 + numbers.below(most);
        (0..count).map(|_| PIECES[numbers.below(PIECES.len())]).collect()
    };
    let home = TempDir::new().unwrap();
    let mut index = SearchIndex::open(home.path()).unwrap();
    let mut texts: Vec<String> = (0..300).map(|_| text(12)).collect();
    texts.push(format!("base {} end", "k3".repeat(400)));
    let changes = (1..).zip(&texts).map(|(seq, text)| said(seq, 1, text)).collect();
    index.take(&[addition("a", 0, 1_000, changes)]).unwrap();
    let mut hits = 0;
    for pattern in (0..400).map(|_| text(4)).chain(["3k3k".to_owned()]) {
        let candidates = found(&index, &literal(&pattern));
        let low = pattern.to_lowercase();
        for text in texts.iter().filter(|text| text.to_lowercase().contains(&low)) {
            hits += 1;
            assert!(candidates.contains(text), "{pattern:?} is in {text:?}");
        }
    }
    assert!(1_000 < hits, "{hits}");
}

#[test]
fn a_piece_of_very_many_words_is_looked_for_in_all_texts() {
    let home = TempDir::new().unwrap();
    let mut index = SearchIndex::open(home.path()).unwrap();
    let changes = (1..=600).map(|seq| said(seq, 1, &format!("word{seq}"))).collect();
    index.take(&[addition("a", 0, 600, changes)]).unwrap();
    assert_eq!(found(&index, &literal("ord")).len(), 600);
    assert_eq!(found(&index, &literal("ord59")).len(), 11);
    assert_eq!(found(&index, &literal("xyz")).len(), 0);
}
