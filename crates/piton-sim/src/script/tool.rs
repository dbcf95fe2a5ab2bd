//! Tools that a script brings along: they wait for a file, append one line, and answer.

use std::io::Write as _;
use std::path::Path;

use async_trait::async_trait;
use piton_core::event::{EffectClass, Handle, Outcome, ToolSpec};
use piton_core::id::CallId;
use piton_tools::{Arguments, Finished, Job, Prepared, Refusal, Settled, Site, Tool};
use serde::Deserialize;

use super::pace::appears;

/// A tool that exists only in a script.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolScript {
    /// Its name.
    pub name: String,
    /// How its outcome can be settled after a crash.
    pub effect: EffectClass,
    /// A file of the workspace that it waits for.
    #[serde(default)]
    pub wait_for: Option<String>,
    /// A file of the workspace that gets one line with the call's name.
    #[serde(default)]
    pub append_to: Option<String>,
    /// What it gives.
    #[serde(default)]
    pub output: String,
}

/// The tool of the engine that does so.
#[derive(Debug)]
pub(super) struct ScriptTool(pub(super) ToolScript);

#[async_trait]
impl Tool for ScriptTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new(
            self.0.name.clone(),
            "A tool of a script.",
            r#"{"type":"object"}"#,
            self.0.effect,
        )
    }

    async fn prepare(
        &self,
        _site: &Site,
        _call: CallId,
        _arguments: &Arguments,
    ) -> Result<Prepared, Refusal> {
        Ok(Prepared::default())
    }

    async fn run(&self, job: Job) -> Finished {
        if let Some(file) = &self.0.wait_for {
            let path = job.site.workspace.join(file);
            tokio::select! {
                () = job.cancel.cancelled() => {
                    let mut finished = Finished::failed("stopped while waiting");
                    finished.outcome = Outcome::Cancelled;
                    return finished;
                }
                () = appears(&path) => {}
            }
        }
        if let Some(file) = &self.0.append_to
            && let Err(error) = append(&job.site.workspace.join(file), &job.call.to_string())
        {
            return Finished::failed(format!("cannot append to {file}: {error}"));
        }
        Finished::ok(self.0.output.clone())
    }

    async fn settle(&self, _site: &Site, _arguments: &Arguments, _handle: &Handle) -> Settled {
        Settled::Unknown("A script's tool keeps no record.".into())
    }
}

fn append(path: &Path, line: &str) -> std::io::Result<()> {
    let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path)?;
    // One write, so that a kill leaves a whole line or none.
    file.write_all(format!("{line}\n").as_bytes())
}
