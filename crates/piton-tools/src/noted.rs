//! A tool for files beside commands in the sandbox: what it changes is nobody's to put back.
//!
//! What programs outside obey is compared after a confined command, and while something that it started goes on.
//! A file that the agent itself changes meanwhile, with its own tools and by its own rules, is taken for what stood
//! there before.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use piton_core::event::{Handle, Preview, ToolSpec};
use piton_core::id::{CallId, Digest, TurnId};

use crate::contract::{
    Arguments, Finished, Job, Prepared, Refusal, Settled, Site, Tidying, Tool, blocking,
};
use crate::supervise::{Shelf, Supervisor};

/// A tool, and where commands are recorded.
#[derive(Debug)]
pub(crate) struct Noted {
    tool: Arc<dyn Tool>,
    shelf: Shelf,
}

impl Noted {
    pub(crate) fn new(tool: Arc<dyn Tool>, supervisor: &Supervisor) -> Self {
        Self { tool, shelf: supervisor.shelf().clone() }
    }
}

/// The files that a call changes, and what is in them then.
fn changed(site: &Site, handle: &Handle) -> Vec<(PathBuf, Option<Digest>)> {
    match handle {
        Handle::Edit { path, after, .. } => vec![(site.workspace.join(path), Some(after.clone()))],
        Handle::Edits { files } => {
            files.iter().map(|file| (site.workspace.join(&file.path), file.after.clone())).collect()
        }
        Handle::None
        | Handle::Job { .. }
        | Handle::Conversation { .. }
        | Handle::Task { .. }
        | Handle::Origin { .. }
        | Handle::Round { .. } => Vec::new(),
    }
}

#[async_trait]
impl Tool for Noted {
    fn spec(&self) -> ToolSpec {
        self.tool.spec()
    }

    async fn prepare(
        &self,
        site: &Site,
        call: CallId,
        arguments: &Arguments,
    ) -> Result<Prepared, Refusal> {
        self.tool.prepare(site, call, arguments).await
    }

    async fn preview(&self, site: &Site, arguments: &Arguments) -> Option<Preview> {
        self.tool.preview(site, arguments).await
    }

    async fn run(&self, job: Job) -> Finished {
        let changed = changed(&job.site, &job.handle);
        let shelf = self.shelf.clone();
        // Nobody puts anything back until it is noted.
        let held = blocking::whole(move || Ok(shelf.hold_list())).await.ok().flatten();
        let Some(held) = held else { return self.tool.run(job).await };
        let finished = self.tool.run(job).await;
        let noting = blocking::whole(move || {
            held.accept(&changed);
            Ok(())
        });
        // What cannot be noted is put back later, and asked about.
        drop(noting.await);
        finished
    }

    async fn settle(&self, site: &Site, arguments: &Arguments, handle: &Handle) -> Settled {
        self.tool.settle(site, arguments, handle).await
    }

    fn forget(&self, site: &Site, handle: &Handle) {
        self.tool.forget(site, handle);
    }

    async fn abandon(&self, site: &Site, handle: &Handle) {
        self.tool.abandon(site, handle).await;
    }

    fn tidy(&self, site: &Site, needed: &[Handle]) -> Tidying {
        self.tool.tidy(site, needed)
    }

    async fn leave_turn(&self, site: &Site, turn: TurnId) -> Vec<String> {
        self.tool.leave_turn(site, turn).await
    }
}
