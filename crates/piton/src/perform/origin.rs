//! Calls of the conversation that this one was forked from. They stay there: their ends are taken over from
//! its journal, and while it has none, a person decides or the model is told.

use piton_core::decide::calls::{ELSEWHERE_TEXT, doubt_elsewhere};
use piton_core::event::{Event, ForkOrigin, Handle, InDoubtPolicy, Outcome};
use piton_core::id::CallId;
use piton_core::state::{Call, Progress, Started, Turn};
use piton_store::StoreError;

use crate::driver::Driver;
use crate::flight::Landing;
use crate::reader::{self, CallEnd};

impl Driver<'_> {
    /// Where a call belongs that is not this conversation's.
    pub(super) fn origin_of(&self, call: CallId) -> Option<ForkOrigin> {
        origin(self.log.state().open_turn()?.call(call)?)
    }

    /// Looks again for what was asked about before this driver came: it may have ended since.
    pub(crate) async fn look_elsewhere(&mut self) {
        let turn = self.log.state().open_turn();
        let calls = turn.into_iter().flat_map(Turn::steps).flat_map(|step| &step.calls);
        let calls: Vec<_> = calls.filter_map(|call| Some((call.id, origin(call)?))).collect();
        for (call, origin) in calls {
            // What cannot be looked up is asked about, or was.
            let own = self.log.lease().conversation().clone();
            let found = reader::end_of_call(&*self.parts.journal, &own, &origin, call).await;
            match found {
                Ok(Some(end)) => self.take_over(call, end),
                Ok(None) => self.listen_elsewhere(call, origin),
                Err(_) => {}
            }
        }
    }

    /// Takes over how a call ended where it belongs. While it has not, nothing runs it here.
    pub(super) async fn settle_elsewhere(&mut self, call: CallId, origin: &ForkOrigin) {
        let own = self.log.lease().conversation().clone();
        let found = tokio::select! {
            biased;
            // It changes nothing, so it can be looked for again.
            () = self.controls.interrupted() => return,
            found = reader::end_of_call(&*self.parts.journal, &own, origin, call) => found,
        };
        match found {
            Ok(Some(end)) => self.take_over(call, end),
            Ok(None) => {
                self.ask_elsewhere(call, origin, None);
                self.listen_elsewhere(call, origin.clone());
            }
            Err(error) => self.ask_elsewhere(call, origin, Some(&error)),
        }
    }

    /// Hears it at once when the call ends there, as long as somebody waits for that here.
    fn listen_elsewhere(&mut self, call: CallId, origin: ForkOrigin) {
        let (journal, own) = (self.parts.journal.clone(), self.log.lease().conversation().clone());
        self.flights.push(Box::pin(async move {
            match reader::until_end_of_call(&*journal, &own, &origin, call).await {
                Ok(end) => Landing::EndedElsewhere { call, end },
                Err(_) => Landing::Nothing,
            }
        }));
    }

    /// Records how a call ended where it belongs. The first word on it counts.
    pub(crate) fn take_over(&mut self, call: CallId, end: CallEnd) {
        let CallEnd { outcome, output } = end;
        if self.origin_of(call).is_none() {
            return;
        }
        self.withdraw_questions(call);
        self.log.push(Event::ToolFinished { call, outcome, output });
    }

    fn ask_elsewhere(&mut self, id: CallId, origin: &ForkOrigin, error: Option<&StoreError>) {
        let state = self.log.state();
        let turn = state.open_turn();
        let Some((turn, call)) = turn.and_then(|turn| Some((turn, turn.call(id)?))) else { return };
        match state.config.in_doubt {
            InDoubtPolicy::Ask => {
                let mut inquiry = doubt_elsewhere(turn, call, &origin.conversation);
                if let Some(error) = error {
                    inquiry.question =
                        format!("{} It cannot be looked up: {error}.", inquiry.question);
                }
                self.log.push(Event::InquiryRaised { inquiry });
            }
            InDoubtPolicy::TellModel => self.leave(id, Outcome::Unknown, ELSEWHERE_TEXT.into()),
        }
    }
}

/// The conversation that a call belongs to, if it is another one.
fn origin(call: &Call) -> Option<ForkOrigin> {
    let Progress::InDoubt(Started { handle: Handle::Origin { conversation, through }, .. }) =
        &call.progress
    else {
        return None;
    };
    Some(ForkOrigin { conversation: conversation.clone(), through: *through })
}
