//! `shell_wait`: waits for a command that went on when its call had returned, and reads its output.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use piton_core::event::{EffectClass, Handle, ToolSpec};
use piton_core::id::CallId;
use serde::Deserialize;

use super::protected;
use super::supervised::{finished, listening};
use crate::contract::{
    Arguments, Finished, Job, Prepared, Refusal, Settled, Site, Tool, blocking, parse_arguments,
};
use crate::supervise::{Attached, End, Kept, Order, Patience, Supervisor};

/// How long to wait if the call does not say, in seconds.
const WAIT_S_DEFAULT: u64 = 60;

const SCHEMA: &str = r#"{
    "type": "object",
    "properties": {
        "call": {"type": "string", "description": "The call that started the command, as shell named it, such as 1.2.0."},
        "wait_s": {"type": "integer", "minimum": 0, "maximum": 600, "description": "Seconds to wait for its end at most; 0 only reads. Default: 60."},
        "from": {"type": "integer", "minimum": 0, "description": "First byte of the output to show. Default: 0."}
    },
    "required": ["call"],
    "additionalProperties": false
}"#;

/// The tool.
#[derive(Clone, Debug)]
pub struct ShellWait(Arc<Supervisor>);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WaitArguments {
    call: String,
    wait_s: Option<u64>,
    from: Option<u64>,
}

impl ShellWait {
    /// Waits for commands of this supervisor.
    pub fn new(supervisor: Arc<Supervisor>) -> Self {
        Self(supervisor)
    }
}

#[async_trait]
impl Tool for ShellWait {
    fn spec(&self) -> ToolSpec {
        let description = "Waits for the end of a command that shell left running, and shows its \
                           output from a byte on. Stops nothing.";
        // It only waits and reads.
        ToolSpec::new("shell_wait", description, SCHEMA, EffectClass::ReadOnly)
    }

    async fn prepare(
        &self,
        site: &Site,
        _: CallId,
        arguments: &Arguments,
    ) -> Result<Prepared, Refusal> {
        let wanted: WaitArguments = parse_arguments(SCHEMA, arguments)?;
        find(&self.0, site, &wanted.call)?;
        Ok(Prepared::default())
    }

    async fn run(&self, job: Job) -> Finished {
        let wanted: WaitArguments = match parse_arguments(SCHEMA, &job.arguments) {
            Ok(wanted) => wanted,
            Err(refusal) => return refusal.into(),
        };
        let kept = match find(&self.0, &job.site, &wanted.call) {
            Ok(kept) => kept,
            Err(refusal) => return refusal.into(),
        };
        let directory = self.0.shelf().directory(&kept.name);
        let wait = Duration::from_secs(wanted.wait_s.unwrap_or(WAIT_S_DEFAULT));
        let (word, speaker) = match io::pipe() {
            Ok(pipe) => pipe,
            Err(error) => return Finished::failed(format!("could not wait: {error}")),
        };
        let (from, record) = (wanted.from.unwrap_or(0), directory.clone());
        let minding = blocking::whole(move || {
            let until = Instant::now() + wait;
            let patience = Patience { until: Some(until), word: &word, order: Order::Leave };
            let waited = Attached::open(&directory).and_then(|mut attached| {
                let (end, story) = attached.wait(&patience)?;
                if end == End::Running && Instant::now() < until {
                    return Ok(Finished::cancelled("stopped waiting; the command goes on"));
                }
                finished(&attached, &end, &story, from)
            });
            Ok(waited.unwrap_or_else(|error| Finished::failed(format!("could not wait: {error}"))))
        });
        let ended = listening(minding, &job, speaker).await;
        let tell = move |attached: &_, end: &_, story: &_| finished(attached, end, story, from);
        protected::consult(record, &job, ended, tell).await
    }

    async fn settle(&self, _: &Site, _: &Arguments, _: &Handle) -> Settled {
        Settled::NotApplied
    }
}

/// The command that a call has started.
pub(crate) fn find(supervisor: &Supervisor, site: &Site, call: &str) -> Result<Kept, Refusal> {
    let known: CallId = call.parse().map_err(|_| {
        Refusal(format!("`{call}` is not a call: name it as shell did, such as 1.2.0"))
    })?;
    let found = supervisor.shelf().find(&site.conversation, known);
    found.ok_or_else(|| {
        Refusal(format!(
            "there is no command of call {call} to be waited for: it has ended, and shell has \
             shown its output"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schema_and_struct_agree() {
        crate::contract::arguments::assert_agree::<WaitArguments>(SCHEMA);
    }
}
