#![cfg(test)]
//! The page: what is drawn of a view, and that frames lead to the same page as drawing anew.

mod dom;
#[path = "../../../piton-core/tests/core/script.rs"]
#[expect(dead_code, reason = "the language of the core's own tests; not every word is used here")]
mod script;
mod walk;

mod frames;
mod nested;
mod pages;
mod surfaces;
