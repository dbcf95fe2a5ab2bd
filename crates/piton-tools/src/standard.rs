//! The tools that come with piton, in the order in which the model reads them.

use std::ffi::OsString;
use std::sync::Arc;

use crate::contract::{Registry, Tool};
use crate::files::{EditFile, Glob, Grep, ListDir, ReadFile, WriteFile};
use crate::sandbox::Rules;
use crate::shell::{Shell, ShellStop, ShellWait, ShellWrite};
use crate::supervise::Supervisor;

impl Registry {
    /// The tools that every conversation has: files, search, commands.
    pub fn standard() -> Self {
        Self::of(files().into_iter().chain([Arc::new(Shell::default()) as Arc<dyn Tool>]))
    }

    /// The same, with commands that outlive the agent.
    pub fn supervised(supervisor: Arc<Supervisor>) -> Self {
        let commands: [Arc<dyn Tool>; 4] = [
            Arc::new(Shell::supervised(supervisor.clone())),
            Arc::new(ShellWait::new(supervisor.clone())),
            Arc::new(ShellWrite::new(supervisor.clone())),
            Arc::new(ShellStop::new(supervisor)),
        ];
        Self::of(files().into_iter().chain(commands))
    }

    /// The same, with commands that end with the agent, do not see some variables, and are confined.
    pub fn plain(hidden: Vec<OsString>, rules: Rules) -> Self {
        let shell: Arc<dyn Tool> = Arc::new(Shell::plain(hidden, rules));
        Self::of(files().into_iter().chain([shell]))
    }
}

fn files() -> [Arc<dyn Tool>; 6] {
    [
        Arc::new(ReadFile),
        Arc::new(ListDir),
        Arc::new(Glob),
        Arc::new(Grep),
        Arc::new(WriteFile),
        Arc::new(EditFile),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::contract::DuplicateTool;

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
