//! Turns that are coordinated: what their state says, without what a plan means.

use super::Turn;

/// The agent of a turn that is coordinated.
pub const COORDINATOR: &str = "coordinator";

impl Turn {
    /// Whether workers do its subtasks.
    pub(crate) fn is_coordinated(&self) -> bool {
        self.agent.as_deref() == Some(COORDINATOR)
    }

    /// Whether one of its answers was read as a plan.
    pub(crate) fn is_planned(&self) -> bool {
        self.steps().any(|step| step.planned)
    }

    /// Whether its answer is still to be read as a plan.
    pub fn is_to_plan(&self) -> bool {
        self.is_coordinated() && !self.is_planned()
    }
}
