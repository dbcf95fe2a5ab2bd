//! The tools of a conversation, by name.
//!
//! Keeps the order in which they were added: the model reads them in that order, and a request that
//! is the same every time keeps the provider's cache warm.

use std::sync::Arc;

use piton_core::event::ToolSpec;

use super::tool::Tool;

/// Tools by name, in the order in which they were added. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Toolbox {
    /// A list, because there are too few for a map to be faster.
    tools: Vec<(String, Arc<dyn Tool>)>,
}

impl Toolbox {
    /// No tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool behind the others. One of the same name is replaced, and the new one has its place.
    pub fn add(&mut self, tool: Arc<dyn Tool>) {
        let name = tool.spec().name;
        match self.tools.iter_mut().find(|(other, _)| *other == name) {
            Some((_, replaced)) => *replaced = tool,
            None => self.tools.push((name, tool)),
        }
    }

    /// Leaves a tool out, such as `ask_user` where there is no person.
    pub fn remove(&mut self, name: &str) {
        self.tools.retain(|(other, _)| other != name);
    }

    /// The tool of that name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|(other, _)| other == name).map(|(_, tool)| tool)
    }

    /// All tools, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.tools.iter().map(|(_, tool)| tool)
    }

    /// Their names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|(name, _)| name.as_str())
    }

    /// What the model is told, in order.
    pub fn specs(&self) -> Vec<ToolSpec> {
        self.iter().map(|tool| tool.spec()).collect()
    }
}

impl FromIterator<Arc<dyn Tool>> for Toolbox {
    fn from_iter<I: IntoIterator<Item = Arc<dyn Tool>>>(tools: I) -> Self {
        let mut toolbox = Self::new();
        toolbox.extend(tools);
        toolbox
    }
}

impl Extend<Arc<dyn Tool>> for Toolbox {
    fn extend<I: IntoIterator<Item = Arc<dyn Tool>>>(&mut self, tools: I) {
        for tool in tools {
            self.add(tool);
        }
    }
}
