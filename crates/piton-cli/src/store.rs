//! Opens the store, and says what a person should hear about it.

use std::sync::Arc;

use piton_agent::Settings;
use piton_store::{Journal, SqliteJournal};

use crate::output::Output;
use crate::report::Fault;

/// Opens the store of the home; makes it if there is none.
pub(crate) fn open(settings: &Settings, output: &mut Output) -> Result<Arc<dyn Journal>, Fault> {
    let (journal, notice) = SqliteJournal::open(&settings.home)?;
    if let Some(notice) = notice {
        output.talk(&format!("warning: {notice}"));
    }
    Ok(Arc::new(journal))
}
