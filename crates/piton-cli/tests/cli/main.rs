//! The real binary, run in directories of its own against scripts.
#![cfg(test)]
#![expect(clippy::needless_raw_string_hashes, reason = "expectations are written by a machine")]

mod world;

mod errors;
mod incomplete;
mod interrupt;
mod json;
mod kill;
mod ls;
mod print;
mod query;
