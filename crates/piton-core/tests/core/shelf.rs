//! X19: where conversations are kept, for people.

use piton_core::command::{Command, Envelope, Performing, Plan, Then, plan};
use piton_core::event::{Event, Shelf};
use piton_core::id::{CommandId, TurnId};
use piton_core::state::State;

use crate::sample::sample;
use crate::script::entry;

const SHELF: &str = include_str!("journals/v1_shelf.jsonl");

fn folded(events: Vec<Event>) -> State {
    let entries: Vec<_> = (1..).zip(events).map(|(seq, event)| entry(seq, event)).collect();
    State::from_entries(&entries)
}

fn opened() -> Event {
    Event::ConversationOpened { workspace: "/w".into(), title: None, origin: None, parent: None }
}

#[test]
fn the_last_word_counts_and_a_new_turn_brings_a_conversation_back() {
    let put = |shelf| Event::ConversationShelved { shelf };
    let turn = || Event::TurnStarted { turn: TurnId(1), agent: None };
    assert_eq!(folded(vec![opened()]).shelf, Shelf::Listed);
    assert_eq!(folded(vec![opened(), put(Shelf::Archived)]).shelf, Shelf::Archived);
    let twice = folded(vec![opened(), put(Shelf::Archived), put(Shelf::Removed)]);
    assert_eq!((twice.shelf, twice.strays), (Shelf::Removed, 0));
    assert_eq!(folded(vec![opened(), put(Shelf::Archived), turn()]).shelf, Shelf::Listed);
    let nowhere = folded(vec![put(Shelf::Archived)]);
    assert_eq!((nowhere.shelf, nowhere.strays), (Shelf::Listed, 1));
}

#[test]
fn a_conversation_is_put_away_by_a_command_whatever_its_turn_does() {
    let state = folded(vec![opened(), Event::TurnStarted { turn: TurnId(1), agent: None }]);
    let shelve = Command::Shelve { shelf: Shelf::Archived };
    for performing in [Performing::Now, Performing::Nobody] {
        let envelope = Envelope::new(CommandId::new("c1"), shelve.clone());
        let Plan::Record { facts, then, .. } = plan(&state, &envelope, performing, None) else {
            panic!("it is refused");
        };
        assert_eq!(facts.last(), Some(&Event::ConversationShelved { shelf: Shelf::Archived }));
        assert_eq!(then, Then::Rest);
    }
}

// K21: what a person said counts more than what a model thought of.
#[test]
fn a_title_is_suggested_where_there_is_none() {
    let suggest = Command::SuggestTitle { title: "Found".into() };
    let facts = |events| {
        let envelope = Envelope::new(CommandId::new("c1"), suggest.clone());
        let state = folded(events);
        let Plan::Record { facts, .. } = plan(&state, &envelope, Performing::Nobody, None) else {
            panic!("it is refused");
        };
        facts
    };
    assert_eq!(facts(vec![opened()]), [Event::TitleGiven { title: "Found".into() }]);
    assert_eq!(facts(vec![opened(), Event::TitleGiven { title: "Mine".into() }]), []);
}

// J10
#[test]
fn the_recording_is_read_as_it_was_written() {
    for line in SHELF.lines() {
        assert_eq!(Event::from_stored(1, line).to_stored(), line);
    }
    assert_eq!(sample(SHELF).shelf, Shelf::Removed);
}
