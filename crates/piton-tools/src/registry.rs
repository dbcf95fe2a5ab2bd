//! The tools of a conversation, by name.
//!
//! Keeps the order in which they were added: the model reads them in that order, and a request that
//! is the same every time keeps the provider's cache warm.

use std::ffi::OsString;
use std::sync::Arc;

use piton_core::event::ToolSpec;

use crate::sandbox::Rules;
use crate::supervise::Supervisor;
use crate::{
    EditFile, Glob, Grep, ListDir, ReadFile, Shell, ShellStop, ShellWait, ShellWrite, Tool,
    WriteFile,
};

/// Tools by name.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    /// A list, because there are too few for a map to be faster.
    tools: Vec<(String, Arc<dyn Tool>)>,
}

/// Two tools want the same name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is a tool called `{0}` already: give one of them another name")]
pub struct DuplicateTool(pub String);

impl Registry {
    /// No tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// The tools that every conversation has: files, search, commands.
    pub fn standard() -> Self {
        let tools: [Arc<dyn Tool>; 7] = [
            Arc::new(ReadFile),
            Arc::new(ListDir),
            Arc::new(Glob),
            Arc::new(Grep),
            Arc::new(WriteFile),
            Arc::new(EditFile),
            Arc::new(Shell::default()),
        ];
        Self { tools: tools.into_iter().map(|tool| (tool.spec().name, tool)).collect() }
    }

    /// The same, with commands that outlive the agent.
    pub fn supervised(supervisor: Arc<Supervisor>) -> Self {
        let mut registry = Self::standard();
        registry.tools.retain(|(name, _)| name != "shell");
        let tools: [Arc<dyn Tool>; 4] = [
            Arc::new(Shell::supervised(supervisor.clone())),
            Arc::new(ShellWait::new(supervisor.clone())),
            Arc::new(ShellWrite::new(supervisor.clone())),
            Arc::new(ShellStop::new(supervisor)),
        ];
        registry.tools.extend(tools.into_iter().map(|tool| (tool.spec().name, tool)));
        registry
    }

    /// The same, with commands that end with the agent, do not see some variables, and are confined.
    pub fn plain(hidden: Vec<OsString>, rules: Rules) -> Self {
        let mut registry = Self::standard();
        registry.tools.retain(|(name, _)| name != "shell");
        registry.tools.push(("shell".into(), Arc::new(Shell::plain(hidden, rules))));
        registry
    }

    /// Adds one more behind the others.
    pub fn add(&mut self, tool: Arc<dyn Tool>) -> Result<(), DuplicateTool> {
        let name = tool.spec().name;
        if self.get(&name).is_some() {
            return Err(DuplicateTool(name));
        }
        self.tools.push((name, tool));
        Ok(())
    }

    /// Leaves one out, such as `ask_user` where there is no person.
    pub fn remove(&mut self, name: &str) {
        self.tools.retain(|(other, _)| other != name);
    }

    /// The tool of that name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|(other, _)| other == name).map(|(_, tool)| tool)
    }

    /// What the model is told, in order.
    pub fn specs(&self) -> Vec<ToolSpec> {
        self.tools.iter().map(|(_, tool)| tool.spec()).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_second_tool_of_the_same_name_is_refused() {
        let mut registry = Registry::new();
        assert_eq!(registry.add(Arc::new(Shell::default())), Ok(()));
        assert_eq!(registry.add(Arc::new(Shell::default())), Err(DuplicateTool("shell".into())));
        assert_eq!(registry.specs().len(), 1);
    }

    #[test]
    fn the_standard_tools_are_found_by_their_own_names() {
        let registry = Registry::standard();
        let names: Vec<String> = registry.specs().into_iter().map(|spec| spec.name).collect();
        assert_eq!(
            names,
            ["read_file", "list_dir", "glob", "grep", "write_file", "edit_file", "shell"]
        );
        for name in names {
            let found = registry.get(&name).expect("found");
            assert_eq!(found.spec().name, name);
        }
        assert!(registry.get("rm").is_none());
    }

    #[test]
    fn every_schema_is_an_object_of_described_fields() {
        for spec in Registry::standard().specs() {
            let schema: Value = serde_json::from_str(&spec.parameters).expect("JSON");
            assert_eq!(schema["type"], "object", "{}", spec.name);
            for name in schema["required"].as_array().expect("required") {
                let name = name.as_str().expect("a name");
                assert!(schema["properties"][name].is_object(), "{}: {name}", spec.name);
            }
        }
    }
}
