//! Counts allocations: for the next request of conversations of 10, 100 and 1,000 messages.
//!
//! A program of its own, because counting slows every allocation down. One line per dialect: its
//! name and the three counts. The body itself is one of them.

#[path = "../wire/history.rs"]
mod history;

use std::alloc::System;
use std::hint::black_box;

use piton_wire::cache::Cache;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

use crate::history::{DIALECTS, History, ask, dialect};

#[global_allocator]
static COUNTED: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[expect(clippy::print_stdout, reason = "the counts are what this program is for")]
fn main() {
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
