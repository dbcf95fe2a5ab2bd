//! The tools of a conversation, by name.
//!
//! Keeps the order in which they were added: the model reads them in that order, and a request that
//! is the same every time keeps the provider's cache warm.

use std::sync::Arc;

use piton_core::event::ToolSpec;

use super::tool::Tool;

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

    /// These tools, in this order. Of two with the same name the first one counts.
    pub(crate) fn of(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        Self { tools: tools.into_iter().map(|tool| (tool.spec().name, tool)).collect() }
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
