//! A workspace to try tools in.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use piton_core::event::{Handle, Outcome, Permissions};
use piton_core::id::{CallId, ConversationId, TurnId};
use piton_tools::{
    Arguments, Asker, Consent, Finished, Job, OUTPUT_BYTES_MAX, Prepared, Progress, Refusal,
    Settled, Site, Tool, Toolbox,
};
use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// The call that every test makes.
pub(crate) const CALL: CallId = CallId { turn: TurnId(1), step: 2, index: 0 };

/// One tool, one workspace.
pub(crate) struct Bench {
    pub(crate) tool: Arc<dyn Tool>,
    pub(crate) site: Arc<Site>,
    _directory: TempDir,
}

impl Bench {
    pub(crate) fn new(tool: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let site = Site {
            workspace: root.join("ws"),
            scratch: root.join("scratch"),
            conversation: ConversationId::new("c"),
            permissions: Permissions::default(),
            closed: piton_tools::Closed::default(),
        };
        fs::create_dir(&site.workspace).unwrap();
        let tool = Toolbox::standard().get(tool).unwrap().clone();
        Self { tool, site: Arc::new(site), _directory: directory }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.site.workspace.join(path)
    }

    /// Puts a file there, with its directories.
    pub(crate) fn file(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    pub(crate) fn content(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// Names in a directory, sorted.
    pub(crate) fn names(&self, path: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(path)).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub(crate) async fn prepare(&self, arguments: &Value) -> Result<Prepared, Refusal> {
        self.tool.prepare(&self.site, CALL, &object(arguments)).await
    }

    /// Runs with a handle that was recorded earlier.
    pub(crate) async fn run(&self, arguments: &Value, handle: &Handle) -> Finished {
        self.tool.run(self.job(arguments, handle, &CancellationToken::new())).await
    }

    pub(crate) fn job(&self, arguments: &Value, handle: &Handle, stop: &CancellationToken) -> Job {
        Job {
            site: self.site.clone(),
            call: CALL,
            arguments: Arc::new(object(arguments)),
            handle: handle.clone(),
            consent: Consent::WordForWord,
            grants: piton_core::event::Grants::default(),
            cancel: stop.clone(),
            asker: Asker::default(),
            progress: Progress::default(),
        }
    }

    pub(crate) async fn settle(&self, arguments: &Value, handle: &Handle) -> Settled {
        self.tool.settle(&self.site, &object(arguments), handle).await
    }

    /// Prepares and runs; the result must be within bounds.
    pub(crate) async fn call(&self, arguments: Value) -> Finished {
        let prepared = self.prepare(&arguments).await.unwrap();
        let finished = self.run(&arguments, &prepared.handle).await;
        assert!(finished.text.len() <= OUTPUT_BYTES_MAX, "{} bytes", finished.text.len());
        finished
    }

    /// The text of a call that must succeed.
    pub(crate) async fn ok(&self, arguments: Value) -> String {
        let finished = self.call(arguments).await;
        assert_eq!(finished.outcome, Outcome::Ok, "{}", finished.text);
        finished.text
    }

    /// The refusal of a call that must not start.
    pub(crate) async fn refusal(&self, arguments: Value) -> String {
        match self.prepare(&arguments).await {
            Ok(prepared) => panic!("{arguments} was not refused: {prepared:?}"),
            Err(Refusal(text)) => text,
        }
    }
}

fn object(arguments: &Value) -> Arguments {
    arguments.as_object().unwrap().clone()
}
