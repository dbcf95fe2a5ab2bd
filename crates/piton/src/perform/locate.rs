//! Looking where calls lead, and what they would change, before anybody decides on them.
//!
//! What is found is recorded. Whether the call may run is decided from the record, in `decide`.

use piton_core::event::{Event, Found, HookVerdict};
use piton_core::id::CallId;

use super::tool::{Ready, caught};
use crate::driver::Driver;
use crate::hooks::{Opinion, Told};

impl Driver<'_> {
    /// Looks at calls that have not started, and records what was found.
    pub(crate) async fn locate(&mut self, calls: Vec<CallId>) {
        for call in calls {
            let Some(found) = self.find(call).await else { return };
            self.log.push(Event::CallLocated { call, found });
        }
    }

    /// What there is to know about a call, and what hooks say of it; `None` if the user interrupted.
    async fn find(&mut self, call: CallId) -> Option<Found> {
        let asked = self.to_ask_hooks(call);
        let ready = match self.ready(call) {
            Ok(ready) => ready,
            Err(reason) => {
                // It cannot run here, so no hook is asked.
                let hooks = asked.map(|_| HookVerdict::default());
                return Some(Found { refused: Some(reason), hooks, ..Found::default() });
            }
        };
        let mut found = self.look(&ready).await?;
        if let Some(asked) = asked {
            found.hooks = Some(self.hear_hooks(asked).await?);
        }
        Some(found)
    }

    /// What hooks say of a call; `None` if the user interrupted.
    async fn hear_hooks(&mut self, asked: Told) -> Option<HookVerdict> {
        let Some(hooks) = self.parts.hooks.clone() else { return Some(HookVerdict::default()) };
        let Opinion { mut denied, warnings } = tokio::select! {
            biased;
            // The call was not started: hooks are asked again.
            () = self.controls.interrupted() => return None,
            opinion = hooks.before_tool(&asked) => opinion,
        };
        for why in warnings {
            tracing::warn!(conversation = %asked.conversation, why, "a hook failed");
        }
        if let Some(reason) = &mut denied {
            self.veil().text(reason);
        }
        Some(HookVerdict { denied })
    }

    /// A place that was found, as it is recorded.
    pub(super) fn found_at(&self, path: Option<String>) -> Found {
        let workspace = self.site.workspace.to_string_lossy();
        let is_other = workspace != self.log.state().workspace();
        let workspace = is_other.then(|| workspace.into_owned());
        Found { path, workspace, ..Found::default() }
    }

    /// What there is to know about a call; `None` if the user interrupted.
    async fn look(&mut self, ready: &Ready) -> Option<Found> {
        let Ready { call, tool, arguments } = ready;
        let looked = async {
            let prepared = caught(tool.prepare(&self.site, call.id, arguments)).await;
            let change = caught(tool.preview(&self.site, arguments)).await;
            (prepared, change.ok().flatten())
        };
        let (prepared, change) = tokio::select! {
            biased;
            // Nothing was touched, so nothing is lost: it is looked at again.
            () = self.controls.interrupted() => return None,
            looked = looked => looked,
        };
        let mut found = match prepared {
            Ok(Ok(prepared)) => self.found_at(prepared.path),
            Ok(Err(refusal)) => Found { refused: Some(refusal.to_string()), ..self.found_at(None) },
            Err(crash) => Found { refused: Some(crash), ..self.found_at(None) },
        };
        found.change = change.map(Box::new);
        let veil = self.veil();
        if let Some(refused) = &mut found.refused {
            veil.text(refused);
        }
        if let Some(diff) = found.change.as_mut().and_then(|change| change.diff.as_mut()) {
            veil.text(&mut diff.text);
            veil.text(&mut diff.end);
        }
        Some(found)
    }
}
