//! The real server as a process, killed at random moments with many turns and many readers.

#![cfg(test)]

mod deaths;
mod judge;
mod person;
mod place;
mod reader;
