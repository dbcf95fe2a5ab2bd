//! `update_plan`: the model says what it means to do, and how far it is.
//!
//! The list is the arguments of the call. Faces read it there, so the tool only holds it against its
//! limits: nothing is kept anywhere else, and doing it twice is doing it once.

use async_trait::async_trait;
use piton_core::event::{ArgumentRole, EffectClass, ToolSpec};
use piton_core::id::CallId;
use piton_core::tasks::{TASK_CHARS_MAX, TASKS_MAX, Task, TaskStatus, UPDATE_PLAN};
use serde::Deserialize;

use crate::contract::{Arguments, Finished, Job, Prepared, Refusal, Site, Tool, parse_arguments};

const SCHEMA: &str = r#"{
    "type": "object",
    "properties": {
        "plan": {
            "type": "array",
            "description": "All steps in order, also those that are done. Replaces the list before.",
            "items": {
                "type": "object",
                "properties": {
                    "step": {"type": "string", "description": "What is to be done, in a few words."},
                    "status": {"type": "string", "enum": ["pending", "in_progress", "done"], "description": "How far it is."}
                },
                "required": ["step", "status"],
                "additionalProperties": false
            }
        }
    },
    "required": ["plan"],
    "additionalProperties": false
}"#;

/// The tool.
#[derive(Clone, Copy, Debug, Default)]
pub struct UpdatePlan;

#[derive(Debug, Deserialize)]
struct Wanted {
    plan: Vec<Task>,
}

#[async_trait]
impl Tool for UpdatePlan {
    fn spec(&self) -> ToolSpec {
        let description = "Shows the user a list of the steps of your work and how far each is. Use it for \
                           work of three steps and more, not for a question or a small change.";
        ToolSpec::new(UPDATE_PLAN, description, SCHEMA, EffectClass::ReadOnly)
            .with_roles([("plan", ArgumentRole::Value)])
    }

    async fn prepare(
        &self,
        _: &Site,
        _: CallId,
        arguments: &Arguments,
    ) -> Result<Prepared, Refusal> {
        look(arguments)?;
        Ok(Prepared::default())
    }

    async fn run(&self, job: Job) -> Finished {
        let told = look(&job.arguments).map(|plan| {
            let done = plan.iter().filter(|task| task.status == TaskStatus::Done).count();
            format!("The list is shown: {done} of {} done.", plan.len())
        });
        told.map_or_else(Finished::from, Finished::ok)
    }
}

fn look(arguments: &Arguments) -> Result<Vec<Task>, Refusal> {
    let Wanted { plan } = parse_arguments(SCHEMA, arguments)?;
    if TASKS_MAX < plan.len() {
        return Err(Refusal(format!("a list has at most {TASKS_MAX} steps: join some of them")));
    }
    let is_odd =
        |task: &Task| task.step.trim().is_empty() || TASK_CHARS_MAX < task.step.chars().count();
    if plan.iter().any(is_odd) {
        return Err(Refusal(format!("a step has 1 to {TASK_CHARS_MAX} characters")));
    }
    Ok(plan)
}
