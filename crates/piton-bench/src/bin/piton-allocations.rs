//! Counts allocations: for the next request of conversations of 10, 100 and 1,000 messages.
//!
//! A program of its own, because counting slows every allocation down. One line per dialect: its
//! name and the three counts. The body itself is one of them. With the argument `view`: the bytes of
//! the fold of 100,000 entries, and of its view.

#[path = "../entries.rs"]
mod entries;
#[path = "../wire/history.rs"]
mod history;

use std::alloc::System;
use std::hint::black_box;

use piton_core::event::{EVENT_FORMAT, Entry, Event};
use piton_core::id::{Seq, Timestamp};
use piton_core::state::State;
use piton_core::view::View;
use piton_wire::cache::Cache;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

use crate::history::{DIALECTS, History, ask, dialect};

#[global_allocator]
static COUNTED: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[expect(clippy::print_stdout, reason = "the counts are what this program is for")]
fn main() {
    if std::env::args().nth(1).as_deref() == Some("view") {
        let (state, view) = view();
        println!("{state} {view}");
        return;
    }
    for (name, ..) in DIALECTS {
        let counts: Vec<String> =
            [10, 100, 1_000].map(|messages| count(name, messages).to_string()).to_vec();
        println!("{name} {}", counts.join(" "));
    }
}

fn count(name: &str, messages: u32) -> usize {
    let (dialect, ask) = (dialect(name), ask(name));
    let mut history = History::new();
    let (before, after) = (history.grow_to(messages), history.grow_to(messages + 2));
    let mut cache = Cache::default();
    black_box(dialect.encode(&before, &ask, &mut cache));
    let region = Region::new(COUNTED);
    let body = black_box(dialect.encode(&after, &ask, &mut cache));
    let change = region.change();
    drop(body);
    change.allocations + change.reallocations
}

/// Bytes that stay allocated: for a fold of entries as they come from a store, and for its view.
fn view() -> (usize, usize) {
    let stored: Vec<String> = entries::long("/".to_owned()).iter().map(Event::to_stored).collect();
    let region = Region::new(COUNTED);
    let mut state = State::default();
    for (seq, body) in (1..).map(Seq).zip(&stored) {
        let event = Event::from_stored(EVENT_FORMAT, body);
        state.apply(&Entry { seq, at: Timestamp(1), event });
    }
    let state_bytes = kept(&region);
    let view = black_box(View::from(&state));
    let both_bytes = kept(&region);
    drop((state, view));
    (state_bytes, both_bytes - state_bytes)
}

fn kept(region: &Region<'_, System>) -> usize {
    let change = region.change();
    change.bytes_allocated - change.bytes_deallocated
}
