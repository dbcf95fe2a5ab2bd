//! Laying a summary over what the next request has no room for.

use std::path::PathBuf;
use std::sync::Arc;

use piton_core::cut;
use piton_core::recap::{self, Look};
use piton_core::state::Cut;
use piton_tools::{Site, digest_now};

use crate::commands::Commands;
use crate::driver::Driver;

/// Most files that are looked at, whether they are as they were written; the newest ones.
const FILES_LOOKED_MAX: usize = 100;

impl Driver<'_> {
    /// The world is looked at, and what is found becomes part of the fact: requests follow from the journal
    /// alone.
    pub(crate) async fn compact(&mut self, cut: Cut) {
        let mut files = recap::files_written(self.log.state(), cut);
        let old = files.len().saturating_sub(FILES_LOOKED_MAX);
        files.drain(..old);
        let (site, calls) = (self.site.clone(), self.parts.calls.clone());
        let looked = tokio::task::spawn_blocking(move || look(&site, files, calls)).await;
        // What could not be looked at is not said.
        let fact = cut::lay(self.log.state(), cut, &looked.unwrap_or_default());
        self.log.push(fact);
    }
}

fn look(site: &Arc<Site>, files: Vec<String>, calls: Option<PathBuf>) -> Look {
    let files = files.into_iter().filter_map(|path| {
        let now = digest_now(site, &path)?;
        Some((path, now))
    });
    let kept = calls.map(|calls| Commands::new(calls).all()).unwrap_or_default();
    let running = kept
        .iter()
        .filter(|kept| kept.conversation == site.conversation && kept.state.goes_on())
        .map(|kept| format!("call {}: {}", kept.intent.call, kept.intent.command));
    Look { files: files.collect(), running: running.collect() }
}
