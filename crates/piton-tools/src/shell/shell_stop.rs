//! `shell_stop`: stops a command that went on when its call had returned.

use std::sync::Arc;

use async_trait::async_trait;
use piton_core::event::{EffectClass, Handle, ToolSpec};
use piton_core::id::CallId;
use serde::Deserialize;

use super::shell_wait::find;
use crate::contract::{
    Arguments, Finished, Job, Prepared, Refusal, Settled, Site, Tool, blocking, parse_arguments,
};
use crate::supervise::{KeptState, Supervisor, Why};

const SCHEMA: &str = r#"{
    "type": "object",
    "properties": {
        "call": {"type": "string", "description": "The call that started the command, as shell named it, such as 1.2.0."}
    },
    "required": ["call"],
    "additionalProperties": false
}"#;

/// The tool.
#[derive(Clone, Debug)]
pub struct ShellStop(Arc<Supervisor>);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StopArguments {
    call: String,
}

impl ShellStop {
    /// Stops commands of this supervisor.
    pub fn new(supervisor: Arc<Supervisor>) -> Self {
        Self(supervisor)
    }
}

#[async_trait]
impl Tool for ShellStop {
    fn spec(&self) -> ToolSpec {
        let description = "Stops a command that shell left running, with everything it started: \
                           politely first, then not.";
        // What is stopped stays stopped.
        ToolSpec::new("shell_stop", description, SCHEMA, EffectClass::Idempotent)
    }

    async fn prepare(
        &self,
        site: &Site,
        _: CallId,
        arguments: &Arguments,
    ) -> Result<Prepared, Refusal> {
        let wanted: StopArguments = parse_arguments(SCHEMA, arguments)?;
        find(&self.0, site, &wanted.call)?;
        Ok(Prepared::default())
    }

    async fn run(&self, job: Job) -> Finished {
        let wanted: Result<StopArguments, _> = parse_arguments(SCHEMA, &job.arguments);
        let kept = match wanted.and_then(|wanted| find(&self.0, &job.site, &wanted.call)) {
            Ok(kept) => kept,
            Err(refusal) => return refusal.into(),
        };
        if !kept.state.goes_on() {
            return Finished::ok("it was not running any more; shell_wait shows its output");
        }
        let supervisor = self.0.clone();
        // To the end once begun: it takes a few seconds at most.
        let stopped = blocking::whole(move || Ok(supervisor.shelf().stop(&kept.name, Why::Model)));
        match stopped.await {
            Ok(Ok(KeptState::Running | KeptState::LeftRunning(_))) => Finished::failed(
                "it does not end, although it was killed: it hangs in the kernel; try again later",
            ),
            Ok(Ok(KeptState::Ended(_) | KeptState::NeverRan | KeptState::InDoubt)) => {
                Finished::ok("stopped, with everything it had started")
            }
            Ok(Err(error)) => Finished::failed(format!("it could not be stopped: {error}")),
            Err(refusal) => refusal.into(),
        }
    }

    async fn settle(&self, _: &Site, _: &Arguments, _: &Handle) -> Settled {
        Settled::NotApplied
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schema_and_struct_agree() {
        crate::contract::arguments::assert_agree::<StopArguments>(SCHEMA);
    }
}
