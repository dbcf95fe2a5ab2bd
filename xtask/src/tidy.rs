//! Reads the source tree like a very patient reviewer.
//!
//! [`check`] runs every rule over a [`Tree`] held in memory. It touches no file, so that rules are
//! tested on invented trees. `cargo xtask tidy`, a stage of `dev/test.sh`, runs it on the real one.

mod arrows;
mod circles;
mod clippy_keys;
mod event_docs;
mod faces;
mod invariants;
mod lines;
mod manifest;
mod names;
mod paths;
mod prose;
mod report;
mod requirements;
mod rust_text;
mod size;
mod spelling;
mod tree;

use std::path::Path;

pub use self::report::{Finding, Report};
pub use self::tree::{Source, Tree};

/// The workspace that this program was built from.
pub fn root() -> &'static Path {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own)
}

/// Applies all rules.
pub fn check(tree: &Tree) -> Report {
    let mut report = Report::default();
    size::check(tree, &mut report);
    arrows::check(tree, &mut report);
    circles::check(tree, &mut report);
    manifest::check(tree, &mut report);
    clippy_keys::check(tree, &mut report);
    names::check(tree, &mut report);
    event_docs::check(tree, &mut report);
    faces::check(tree, &mut report);
    lines::check(tree, &mut report);
    spelling::check(tree, &mut report);
    invariants::check(tree, &mut report);
    paths::check(tree, &mut report);
    requirements::check(tree, &mut report);
    report
}
