//! The house rules, as code.
//!
//! Whatever a reviewer would otherwise have to remember is checked here: size of files, arrows
//! between crates, names, comments that are promises. A rule is a pure function over paths and
//! texts, so that every rule has a test in which it fails. Nothing here knows how piton works.

pub mod tidy;
