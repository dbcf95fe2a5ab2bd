//! What a worker is asked: the arguments of a call, read and checked.

use piton_core::event::ModelRef;
use piton_tools::{Arguments, Refusal, Toolbox};
use serde_json::Value;

use super::allowance::NOT_FOR_WORKERS;
use crate::parts::Parts;

/// Longest task, in bytes. What is longer belongs into a file that the worker reads.
const TASK_BYTES_MAX: usize = 256 * 1024;

/// What can be said of an errand.
const FIELDS: [&str; 4] = ["task", "context", "tools", "model"];

/// What a worker is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Errand {
    pub(super) task: String,
    pub(super) context: Context,
    /// The only tools it may use.
    pub(super) tools: Option<Vec<String>>,
    pub(super) model: Option<ModelRef>,
}

/// What a worker knows beside its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Context {
    /// Nothing.
    None,
    /// The conversation, up to the answer that asked for the worker.
    Snapshot,
}

impl Errand {
    pub(super) fn read(arguments: &Arguments) -> Result<Self, Refusal> {
        if let Some(odd) = arguments.keys().find(|name| !FIELDS.contains(&name.as_str())) {
            return Err(Refusal(format!(
                "`{odd}` is not a field of this tool. Nothing was done. Expected: {}.",
                FIELDS.join(", ")
            )));
        }
        let task = arguments.get("task").and_then(Value::as_str).map(str::trim);
        let task = task.filter(|task| !task.is_empty()).ok_or_else(|| {
            Refusal("`task` is missing: say what the worker is to do, in words.".into())
        })?;
        if TASK_BYTES_MAX < task.len() {
            return Err(Refusal(format!(
                "The task is longer than {TASK_BYTES_MAX} bytes: put the rest into a file, and name it."
            )));
        }
        let context = match given(arguments, "context") {
            None => Context::None,
            Some(context) => match context.as_str() {
                Some("none") => Context::None,
                Some("snapshot") => Context::Snapshot,
                Some(_) | None => {
                    return Err(Refusal("`context` is none or snapshot.".into()));
                }
            },
        };
        let tools = given(arguments, "tools").map(names).transpose()?;
        let model = given(arguments, "model").map(model).transpose()?;
        Ok(Self { task: task.to_owned(), context, tools, model })
    }

    /// Whether there is what it asks for.
    pub(super) fn check(&self, parts: &Parts, toolbox: &Toolbox) -> Result<(), Refusal> {
        let is_there = |name: &str| toolbox.get(name).is_some() && !NOT_FOR_WORKERS.contains(&name);
        if let Some(missing) = self.tools.iter().flatten().find(|name| !is_there(name)) {
            let names: Vec<_> = toolbox.names().filter(|name| is_there(name)).collect();
            let names = names.join(", ");
            return Err(Refusal(format!(
                "A worker has no tool `{missing}`. It may have: {names}."
            )));
        }
        match self.model.as_ref().map(|model| parts.models.find(model)) {
            Some(Err(failure)) => Err(Refusal(format!(
                "{failure}. Leave `model` out to have the model of this conversation."
            ))),
            Some(Ok(_)) | None => Ok(()),
        }
    }
}

/// Models like to say "nothing" as `null`.
fn given<'a>(arguments: &'a Arguments, name: &str) -> Option<&'a Value> {
    arguments.get(name).filter(|value| !value.is_null())
}

fn names(value: &Value) -> Result<Vec<String>, Refusal> {
    let names = value.as_array().map(|list| list.iter().map(Value::as_str).collect());
    let names: Option<Vec<&str>> = names.flatten();
    let names = names.ok_or_else(|| Refusal("`tools` is a list of names.".into()))?;
    Ok(names.into_iter().map(str::to_owned).collect())
}

fn model(value: &Value) -> Result<ModelRef, Refusal> {
    let model = value.as_str().map(str::parse);
    match model {
        Some(Ok(model)) => Ok(model),
        Some(Err(_)) | None => Err(Refusal("`model` is named provider/model.".into())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(arguments: Value) -> Result<Errand, String> {
        let Value::Object(arguments) = arguments else { panic!("not an object") };
        Errand::read(&arguments).map_err(|refusal| refusal.0)
    }

    // X16
    #[test]
    fn a_worker_sees_only_its_task_unless_somebody_says_otherwise() {
        let errand = read(json!({ "task": " count ", "context": null })).unwrap();
        assert_eq!((errand.task.as_str(), errand.context), ("count", Context::None));
        let errand =
            read(json!({ "task": "x", "context": "snapshot", "tools": ["grep"] })).unwrap();
        assert_eq!(errand.context, Context::Snapshot);
        assert_eq!(errand.tools, Some(vec!["grep".into()]));
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_name() {
        for (arguments, name) in [
            (json!({}), "task"),
            (json!({ "task": "  " }), "task"),
            (json!({ "task": 3 }), "task"),
            (json!({ "task": "x", "context": "all" }), "context"),
            (json!({ "task": "x", "tools": "grep" }), "tools"),
            (json!({ "task": "x", "tools": [1] }), "tools"),
            (json!({ "task": "x", "model": "" }), "model"),
            (json!({ "task": "x", "prompt": "y" }), "prompt"),
        ] {
            let refusal = read(arguments).unwrap_err();
            assert!(refusal.contains(&format!("`{name}`")), "{refusal}");
        }
        let long = "x".repeat(TASK_BYTES_MAX + 1);
        assert!(read(json!({ "task": long })).unwrap_err().contains("file"));
    }
}
