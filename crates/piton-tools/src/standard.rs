//! The tools that come with piton, in the order in which the model reads them.

use std::ffi::OsString;
use std::sync::Arc;

use crate::contract::{Tool, Toolbox};
use crate::files::{ApplyPatch, EditFile, Glob, Grep, ListDir, ReadFile, WriteFile};
use crate::noted::Noted;
use crate::sandbox::Rules;
use crate::shell::{Shell, ShellStop, ShellWait, ShellWrite};
use crate::supervise::Supervisor;

impl Toolbox {
    /// The tools that every conversation has: files, search, commands.
    pub fn standard() -> Self {
        let shell: Arc<dyn Tool> = Arc::new(Shell::default());
        files().into_iter().chain([shell]).collect()
    }

    /// The same, with commands that outlive the agent.
    pub fn supervised(supervisor: Arc<Supervisor>) -> Self {
        let noted = files().map(|tool| Arc::new(Noted::new(tool, &supervisor)) as Arc<dyn Tool>);
        let commands: [Arc<dyn Tool>; 4] = [
            Arc::new(Shell::supervised(supervisor.clone())),
            Arc::new(ShellWait::new(supervisor.clone())),
            Arc::new(ShellWrite::new(supervisor.clone())),
            Arc::new(ShellStop::new(supervisor)),
        ];
        noted.into_iter().chain(commands).collect()
    }

    /// The same, with commands that end with the agent, do not see some variables, and are confined.
    pub fn plain(hidden: Vec<OsString>, rules: Rules) -> Self {
        let shell: Arc<dyn Tool> = Arc::new(Shell::plain(hidden, rules));
        files().into_iter().chain([shell]).collect()
    }
}

fn files() -> [Arc<dyn Tool>; 7] {
    [
        Arc::new(ReadFile),
        Arc::new(ListDir),
        Arc::new(Glob),
        Arc::new(Grep),
        Arc::new(WriteFile),
        Arc::new(EditFile),
        Arc::new(ApplyPatch),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_second_tool_of_the_same_name_takes_the_place_of_the_first() {
        let mut toolbox = Toolbox::new();
        let second: Arc<dyn Tool> = Arc::new(ReadFile);
        toolbox.extend([Arc::new(ReadFile) as Arc<dyn Tool>, Arc::new(Glob), second.clone()]);
        assert_eq!(toolbox.names().collect::<Vec<_>>(), ["read_file", "glob"]);
        assert!(Arc::ptr_eq(toolbox.get("read_file").expect("found"), &second));
        toolbox.remove("read_file");
        assert_eq!(toolbox.names().collect::<Vec<_>>(), ["glob"]);
    }

    #[test]
    fn the_standard_tools_are_found_by_their_own_names() {
        let toolbox = Toolbox::standard();
        let names: Vec<String> = toolbox.specs().into_iter().map(|spec| spec.name).collect();
        assert_eq!(
            names,
            [
                "read_file",
                "list_dir",
                "glob",
                "grep",
                "write_file",
                "edit_file",
                "apply_patch",
                "shell"
            ]
        );
        for name in names {
            let found = toolbox.get(&name).expect("found");
            assert_eq!(found.spec().name, name);
        }
        assert!(toolbox.get("rm").is_none());
    }

    #[test]
    fn every_schema_is_an_object_of_described_fields() {
        for spec in Toolbox::standard().specs() {
            let schema: Value = serde_json::from_str(&spec.parameters).expect("JSON");
            assert_eq!(schema["type"], "object", "{}", spec.name);
            for name in schema["required"].as_array().expect("required") {
                let name = name.as_str().expect("a name");
                assert!(schema["properties"][name].is_object(), "{}: {name}", spec.name);
            }
        }
    }
}
