//! Sample journals: what builds of their time wrote, word for word. Never edited.

use piton_core::event::Event;
use piton_core::state::State;

use crate::script::entry;

/// The state of a sample, whose lines are written as they were read.
pub(crate) fn sample(journal: &str) -> State {
    let events: Vec<Event> = journal.lines().map(|line| Event::from_stored(1, line)).collect();
    for (line, event) in journal.lines().zip(&events) {
        assert!(!matches!(event, Event::Unknown(_)), "{line}");
        assert_eq!(event.to_stored(), line);
    }
    let entries: Vec<_> = (1..).zip(events).map(|(seq, event)| entry(seq, event)).collect();
    let state = State::from_entries(&entries);
    assert_eq!((state.strays, state.unknown), (0, 0));
    state
}
