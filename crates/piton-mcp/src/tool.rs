//! A tool of a server, as the engine sees tools.

use std::sync::Arc;

use async_trait::async_trait;
use piton_core::event::{Handle, ToolSpec};
use piton_core::id::CallId;
use piton_tools::{Arguments, Finished, Job, Prepared, Refusal, Settled, Site, Tool};

use crate::call::{Ended, call};
use crate::listing::Listed;
use crate::outcome::finished;
use crate::server::Server;

/// One tool of one server.
#[derive(Debug)]
pub struct McpTool {
    server: Arc<Server>,
    tool: Listed,
    spec: ToolSpec,
}

impl McpTool {
    pub(crate) fn new(server: Arc<Server>, tool: Listed) -> Self {
        let spec = tool.spec(&server.settings);
        Self { server, tool, spec }
    }

    async fn perform(&self, job: Job) -> (Ended, String) {
        let cancel = job.cancel.clone();
        let connection = tokio::select! {
            biased;
            () = cancel.cancelled() => {
                return (Ended::NeverSent("the user interrupted".into()), String::new());
            }
            connection = self.server.connection() => connection,
        };
        let connection = match connection {
            Ok(connection) => connection,
            Err(fault) => return (Ended::NeverSent(fault.to_string()), String::new()),
        };
        let guard = connection.desk().open(job);
        let silence_max = self.server.settings.call_wait;
        let ended = call(&connection, &self.tool.name, &guard.call, silence_max).await;
        let lost = matches!(ended, Ended::Lost(_) | Ended::NeverSent(_));
        if lost {
            connection.lost_a_call().await;
        }
        let found = if lost && !connection.is_alive() {
            connection.post_mortem().await
        } else {
            String::new()
        };
        (ended, found)
    }
}

#[async_trait]
impl Tool for McpTool {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    /// The server checks the arguments; nothing settles a call but its class.
    async fn prepare(&self, _: &Site, _: CallId, _: &Arguments) -> Result<Prepared, Refusal> {
        Ok(Prepared::default())
    }

    async fn run(&self, job: Job) -> Finished {
        let (ended, found) = self.perform(job).await;
        finished(&self.server.settings.name, self.spec.effect, ended, &found)
    }

    async fn settle(&self, _: &Site, _: &Arguments, _: &Handle) -> Settled {
        Settled::Unknown("The MCP server cannot be asked what became of a call.".into())
    }
}
