//! Opens the store, and says what a person should hear about it.

use std::sync::Arc;

use piton_agent::Settings;
use piton_store::{Journal, SqliteJournal, is_emptied};

use crate::output::Output;
use crate::report::Fault;

/// What to do about a database that was emptied or taken away.
pub(crate) const EMPTIED: [&str; 2] = [
    "put a copy of piton.db, and of piton.db-wal if there is one, in its place while no piton is at work",
    "to bring back what can be read of a damaged copy: piton doctor --salvage FILE",
];

/// Opens the store of the home; makes it if there is none.
pub(crate) fn open(settings: &Settings, output: &mut Output) -> Result<Arc<dyn Journal>, Fault> {
    warn_if_emptied(settings, output);
    let (journal, notice) = SqliteJournal::open(&settings.home)?;
    if let Some(notice) = notice {
        output.talk(&format!("warning: {notice}"));
    }
    Ok(Arc::new(journal))
}

/// Says so if conversations were here and their database is not; whether that is so.
pub(crate) fn warn_if_emptied(settings: &Settings, output: &mut Output) -> bool {
    let Some(told) = emptied(settings) else { return false };
    output.talk(&format!("warning: {told}"));
    for hint in EMPTIED {
        output.talk(&format!("hint: {hint}"));
    }
    true
}

/// What is said of a database that was emptied or taken away.
pub(crate) fn emptied(settings: &Settings) -> Option<String> {
    // Every start asks: what is nearly never so is asked first.
    if !is_emptied(&settings.home, &[settings.calls()]) {
        return None;
    }
    // A database that was set aside is told of elsewhere.
    if !settings.set_aside().is_empty() || !settings.brought_back().is_empty() {
        return None;
    }
    let path = settings.home.join("piton.db");
    Some(format!("{} is missing or empty, although this home has been used", path.display()))
}
