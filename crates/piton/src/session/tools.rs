//! The tools of a session: where they come from, and what they leave behind when a turn is left.

use std::sync::Arc;

use piton_core::event::Handle;
use piton_core::id::TurnId;
use piton_core::state::{Call, Config, Parked, Progress, Started, State, Turn};
use piton_tools::{Site, Tidying, Toolbox};

use super::Session;
use crate::profile::Moment;
use crate::toolbox::{Hands, ToolPlace, ToolsError};

impl Session {
    /// The tools of this conversation, as they were when they were asked for last.
    pub async fn toolbox(&mut self) -> Result<Arc<Toolbox>, ToolsError> {
        match &self.hands {
            Hands::Found(toolbox) | Hands::Given(toolbox) => Ok(toolbox.clone()),
            Hands::Unasked => self.find_tools(Moment::DriverStarts).await,
        }
    }

    /// The tools of this conversation for what comes next.
    pub(super) async fn toolbox_for(&mut self, moment: Moment) -> Result<Arc<Toolbox>, ToolsError> {
        match (&self.hands, moment) {
            (Hands::Given(toolbox), _) | (Hands::Found(toolbox), Moment::DriverStarts) => {
                Ok(toolbox.clone())
            }
            (Hands::Unasked, _) | (Hands::Found(_), Moment::TurnBegins) => {
                self.find_tools(moment).await
            }
        }
    }

    async fn find_tools(&mut self, moment: Moment) -> Result<Arc<Toolbox>, ToolsError> {
        let place = ToolPlace::new(self.conversation(), &self.workspace, moment);
        let toolbox = self.parts.toolbox(place).await?;
        self.hands = Hands::Found(toolbox.clone());
        Ok(toolbox)
    }

    /// Works with these tools, and those that every conversation of the engine has, instead of asking
    /// for them.
    pub fn work_with(&mut self, tools: &Toolbox) {
        self.hands = Hands::Given(self.parts.toolbox_with(tools));
    }

    /// Works with the tools of the conversation that this one works for.
    pub(crate) fn share(&mut self, toolbox: Arc<Toolbox>) {
        self.hands = Hands::Given(toolbox);
    }

    /// A configuration that offers all tools that the conversation has for a turn that begins now.
    pub async fn offer_tools(&mut self, config: &mut Config) -> Result<(), ToolsError> {
        config.tools = self.toolbox_for(Moment::TurnBegins).await?.specs().into();
        Ok(())
    }

    /// The directory is another one, and so are the tools that belong to it.
    pub(super) fn forget_tools(&mut self) {
        self.hands = Hands::Unasked;
    }

    /// Where tools work.
    pub(super) fn site(&self) -> Site {
        Site {
            workspace: self.workspace.clone(),
            scratch: self.parts.scratch.clone(),
            conversation: self.conversation().clone(),
            permissions: self.state().config.permissions.clone(),
            closed: self.parts.closed.clone(),
        }
    }

    /// Whoever leaves a turn does not leave behind what it has running.
    pub(crate) async fn stop_left_running(&mut self, turn: TurnId) -> Result<(), ToolsError> {
        let (toolbox, site) = (self.toolbox().await?, self.site());
        // Its workers are left too, and have the same tools.
        let _desk = self.open_desk(toolbox.clone());
        for tool in toolbox.iter() {
            self.stopped.extend(tool.leave_turn(&site, turn).await);
        }
        self.abandon_in_doubt().await
    }

    /// Nobody will ask any more what became of the calls in doubt.
    pub(super) async fn abandon_in_doubt(&mut self) -> Result<(), ToolsError> {
        let (toolbox, site) = (self.toolbox().await?, self.site());
        for (call, started) in unsettled(self.state()) {
            if let Some(tool) = toolbox.get(&call.name) {
                tool.abandon(&site, &started.handle).await;
            }
        }
        Ok(())
    }

    /// Whatever was kept to settle calls that are over goes, beside everything else.
    pub(super) fn tidy(&self, toolbox: &Toolbox) -> Vec<Tidying> {
        let site = self.site();
        let needed = unsettled(self.state()).map(|(_, started)| started.handle.clone());
        let needed: Vec<Handle> = needed.collect();
        toolbox.iter().map(|tool| tool.tidy(&site, &needed)).collect()
    }
}

/// Calls of this conversation that were started and have not ended.
fn unsettled(state: &State) -> impl Iterator<Item = (&Call, &Started)> {
    let steps = state.open_turn().into_iter().flat_map(Turn::steps);
    let calls = steps.flat_map(|step| &step.calls);
    calls.filter_map(|call| match &call.progress {
        Progress::Running(started)
        | Progress::InDoubt(started)
        | Progress::Parked(Parked { started, .. }) => {
            // What belongs to another conversation is not ours to stop or to tidy up.
            let is_ours = !matches!(started.handle, Handle::Origin { .. });
            is_ours.then_some((call, started))
        }
        Progress::Waiting | Progress::Done(_) => None,
    })
}
