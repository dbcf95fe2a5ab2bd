#![cfg(test)]
//! The core's behaviour, one line each: a script of facts on the left, what follows on the right.
//!
//! Nothing here touches a clock, a disk or a model. Ids of the design's checklist (K, D, J, C, O,
//! X, M) stand in comments above the tests that hold them.

#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

mod sample;
mod script;

mod next_action;
mod next_call;
mod next_hook;
mod next_limit;
mod next_place;
mod next_room;
mod next_task;
mod next_worker;
mod question;
mod recall;
mod repair;
mod tasks;

mod fold;
mod imported;
mod journal_kinds;
mod journal_v1;
mod nonsense;

mod outage;
mod plausible;
mod transcript;

mod answer;
mod append_only;
mod attachments;
mod branch;
mod commands_page;
mod context;
mod shelf;
mod summed_up;
mod summing;
mod undo;
mod view;
mod view_change;
mod view_whole;
