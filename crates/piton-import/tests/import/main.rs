//! Files of other agents, written for these tests and broken in every way that is known; and samples of
//! real ones, where those are at hand.
#![cfg(test)]

mod broken;
mod changed;
mod database;
mod garden;
mod listed;
mod matrix;
mod shared;
mod told;
