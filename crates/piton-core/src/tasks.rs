//! The task list of a conversation: what the model means to do, and how far it is.
//!
//! The list is what the newest call of `update_plan` said that ended well. So it needs no event of its
//! own: it stays with its turn, goes with it when the turn is discarded, and survives whatever a call
//! survives.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The tool that the model keeps the list with.
pub const UPDATE_PLAN: &str = "update_plan";
/// Most tasks of a list: a person reads them.
pub const TASKS_MAX: usize = 50;
/// Longest text of a task, in characters.
pub const TASK_CHARS_MAX: usize = 200;

/// One task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Task {
    /// What is to be done.
    pub step: String,
    /// How far it is.
    pub status: TaskStatus,
}

/// How far a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TaskStatus {
    /// Not begun.
    Pending,
    /// Begun.
    InProgress,
    /// Over.
    Done,
}

#[derive(Deserialize)]
struct Written {
    plan: Vec<Task>,
}

/// The list that a call of a tool writes; `None` if it is another tool, or no list can be read.
pub fn written_by(tool: &str, arguments: &str) -> Option<Vec<Task>> {
    if tool != UPDATE_PLAN {
        return None;
    }
    let Written { plan } = serde_json::from_str(arguments).ok()?;
    (plan.len() <= TASKS_MAX).then_some(plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_tool_for_it_writes_a_list() {
        let arguments = r#"{"plan":[{"step":"look","status":"in_progress"}]}"#;
        let task = Task { step: "look".into(), status: TaskStatus::InProgress };
        assert_eq!(written_by(UPDATE_PLAN, arguments), Some(vec![task]));
        assert_eq!(written_by("server__update_plan", arguments), None);
        assert_eq!(written_by(UPDATE_PLAN, r#"{"plan":"look"}"#), None);
        assert_eq!(written_by(UPDATE_PLAN, ""), None);
    }
}
