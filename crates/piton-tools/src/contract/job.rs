//! One call to perform, and how its tool asks a person meanwhile.

use std::sync::Arc;

use piton_core::event::{Grants, Handle};
use piton_core::id::CallId;
use piton_core::question::Question;
use tokio_util::sync::CancellationToken;

use super::arguments::Arguments;
use super::ask::{Asker, Response, Responses};
use super::progress::Progress;
use super::site::Site;

/// On whose word a call runs. Follows from what is recorded, so it stays so for a call that is resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    /// A person allowed this call, or a rule names it and nothing else, or takes it out of the wall.
    WordForWord,
    /// The mode, a rule for more than this call, or a policy in place of a person.
    Widely,
    /// Nobody: its command line only looks. It runs behind the wall for such commands, or not at all.
    OnlyLooks,
}

/// One call to perform.
#[derive(Clone, Debug)]
pub struct Job {
    /// Where.
    pub site: Arc<Site>,
    /// Its name.
    pub call: CallId,
    /// What was asked.
    pub arguments: Arc<Arguments>,
    /// What was recorded at its start.
    pub handle: Handle,
    /// On whose word it runs, which decides on the wall around its command.
    pub consent: Consent,
    /// What is open in the wall for it, beside what is open for all.
    pub grants: Grants,
    /// Stops it.
    pub cancel: CancellationToken,
    /// What a person said to it, and the way to ask more.
    pub asker: Asker,
    /// Where it says how far it is.
    pub progress: Progress,
}

impl Job {
    /// All that was answered to this call before it began, also in earlier runs and by processes
    /// that are gone. A secret that an earlier process heard is not there any more.
    pub fn responses(&self) -> &Responses {
        self.asker.responses()
    }

    /// Asks, and waits for a response: at once if the question was answered before, never if nobody
    /// does. What else the step has to do goes on meanwhile. Dropped before, it takes the question
    /// back.
    pub async fn ask(&self, question: Question) -> Response {
        self.ask_all(vec![question]).await.pop().unwrap_or(Response::Deferred)
    }

    /// The same for several questions, which are raised together. One response for each, in order.
    pub async fn ask_all(&self, questions: Vec<Question>) -> Vec<Response> {
        self.asker.ask(self.call, &self.cancel, questions).await
    }

    /// Records what settles this call from now on, and says whether that is durable. Should the agent
    /// die behind this, [`Tool::settle`](crate::Tool::settle) is asked with this handle, whatever the
    /// effect class, if the handle says that somebody else has the work.
    pub async fn track(&self, handle: Handle) -> bool {
        self.asker.track(self.call, handle).await
    }
}
