//! What the killed processes do: an agent, and a later process that goes on.
//!
//! Like an engine, but with files instead of a journal: the deed, with its handle, is there before
//! the agent comes, and what it was told appears whole or not at all.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use piton_core::event::{Handle, Outcome as Ended};
use piton_tools::{Asker, Consent, Finished, Job, Progress, Settled, Tool};
use serde::Serialize;
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

use crate::outcome::Outcome;
use crate::scene::{CALL, Deed, Said, effects, site};
use crate::trace;

/// Does the deed.
pub(crate) fn first(root: &Path) -> Outcome<()> {
    let deed = deed(root)?;
    let tool = deed.tool(root)?;
    let finished = runtime()?.block_on(tool.run(job(root, &deed, deed.handle.clone())));
    put_down(root, "first", &said("done", finished, 0))
}

/// Finds out what became of the deed, and does what an engine would do then.
pub(crate) fn later(root: &Path) -> Outcome<()> {
    let deed = deed(root)?;
    let tool = deed.tool(root)?;
    runtime()?.block_on(async {
        let site = site(root);
        let settled = tool.settle(&site, &deed.arguments, &deed.handle).await;
        let before = effects(root);
        let (verdict, finished) = match settled {
            Settled::NotApplied => ("not applied", again(root, &*tool, &deed).await),
            Settled::Running => ("running", tool.run(job(root, &deed, deed.handle.clone())).await),
            Settled::Applied(finished) => ("applied", finished),
            Settled::Unknown(text) => {
                ("unknown", Finished { outcome: Ended::Unknown, ..Finished::ok(text) })
            }
        };
        put_down(root, "later", &said(verdict, finished, before))
    })
}

/// Starts anew what was proved not to have begun.
async fn again(root: &Path, tool: &dyn Tool, deed: &Deed) -> Finished {
    let prepared = match tool.prepare(&site(root), CALL, &deed.arguments).await {
        Ok(prepared) => prepared,
        Err(refusal) => return refusal.into(),
    };
    // The new start is recorded before it is made: the next process settles this start.
    let deed = Deed { handle: prepared.handle, ..deed.clone() };
    match put_down(root, "deed", &deed) {
        Ok(()) => tool.run(job(root, &deed, deed.handle.clone())).await,
        Err(error) => Finished::failed(error.to_string()),
    }
}

fn deed(root: &Path) -> Outcome<Deed> {
    Ok(serde_json::from_slice(&fs::read(root.join("deed"))?)?)
}

fn job(root: &Path, deed: &Deed, handle: Handle) -> Job {
    Job {
        site: Arc::new(site(root)),
        call: CALL,
        arguments: Arc::new(deed.arguments.clone()),
        handle,
        consent: Consent::WordForWord,
        grants: piton_core::event::Grants::default(),
        cancel: CancellationToken::new(),
        asker: Asker::default(),
        progress: Progress::default(),
    }
}

pub(crate) fn said(verdict: &str, finished: Finished, effects: usize) -> Said {
    let Finished { outcome, text, exit_code, .. } = finished;
    Said { verdict: verdict.into(), outcome, exit_code, text, effects }
}

/// Writes something down; it appears whole or not at all.
pub(crate) fn put_down(root: &Path, name: &str, what: &impl Serialize) -> Outcome<()> {
    let whole = root.join(format!("{name}.whole"));
    fs::write(&whole, serde_json::to_vec(what)?)?;
    Ok(fs::rename(whole, root.join(name))?)
}

/// All work that may block is done by one thread, so that its system calls can be counted.
pub(crate) fn runtime() -> Outcome<Runtime> {
    let mut builder = Builder::new_current_thread();
    builder.enable_all().max_blocking_threads(1).on_thread_start(trace::follow_thread);
    Ok(builder.build()?)
}
