//! What a server may say and ask while calls are open.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use piton_tools::Job;
use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationCapability, ErrorData, FormElicitationCapability, Implementation, JsonObject,
    ProgressNotificationParam, ProgressToken, ProtocolVersion, RequestId, TASKS_EXTENSION_ID,
    UrlElicitationCapability,
};
use rmcp::service::{InboundStreamOrigin, NotificationContext, RequestContext, RoleClient};
use tokio::sync::watch;

use crate::elicit::elicit;
use crate::text::line;

/// Longest line of progress, in bytes.
const PROGRESS_BYTES_MAX: usize = 200;

/// The calls that are open on one connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Desk(Arc<Mutex<Vec<Arc<OpenCall>>>>);

/// A call that waits for its answer.
#[derive(Debug)]
pub(crate) struct OpenCall {
    job: Job,
    /// Known once the request is on its way.
    names: Mutex<Option<(RequestId, ProgressToken)>>,
    /// Changes with every sign of life.
    signs: watch::Sender<Signs>,
}

/// What is known of an open call.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Signs {
    /// Questions to a person that the server waits for. While there is one, its silence is ours.
    pub(crate) questions: usize,
    /// Questions so far.
    asked: usize,
}

impl Desk {
    fn calls(&self) -> MutexGuard<'_, Vec<Arc<OpenCall>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a call, before anything of it can leave.
    pub(crate) fn open(&self, job: Job) -> Guard {
        let call = Arc::new(OpenCall::alone(job));
        self.calls().push(call.clone());
        Guard { desk: self.clone(), call }
    }

    fn by_token(&self, token: &ProgressToken) -> Option<Arc<OpenCall>> {
        let calls = self.calls();
        let named =
            calls.iter().find(|call| call.names().as_ref().is_some_and(|it| it.1 == *token));
        // One that has left this moment does not know its token yet.
        named.or_else(|| calls.iter().find(|call| call.names().is_none())).cloned()
    }

    /// The call that a request of the server belongs to. Over pipes the server does not say; then it
    /// is the one that was opened last.
    fn by_origin(&self, origin: Option<&InboundStreamOrigin>) -> Option<Arc<OpenCall>> {
        let calls = self.calls();
        if let Some(InboundStreamOrigin::OutboundRequest(id)) = origin
            && let Some(call) =
                calls.iter().find(|call| call.names().as_ref().is_some_and(|it| it.0 == *id))
        {
            return Some(call.clone());
        }
        calls.last().cloned()
    }
}

impl OpenCall {
    /// A call that nothing waits for at the server, and that only asks about its task.
    pub(crate) fn alone(job: Job) -> Self {
        Self { job, names: Mutex::default(), signs: watch::Sender::default() }
    }

    fn names(&self) -> MutexGuard<'_, Option<(RequestId, ProgressToken)>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How the request is called.
    pub(crate) fn name(&self, id: RequestId, token: ProgressToken) {
        *self.names() = Some((id, token));
    }

    pub(crate) fn signs(&self) -> watch::Receiver<Signs> {
        self.signs.subscribe()
    }

    pub(crate) fn job(&self) -> &Job {
        &self.job
    }

    fn live(&self) {
        self.signs.send_modify(|_| {});
    }
}

/// Keeps a call open.
#[derive(Debug)]
pub(crate) struct Guard {
    desk: Desk,
    pub(crate) call: Arc<OpenCall>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.desk.calls().retain(|call| !Arc::ptr_eq(call, &self.call));
    }
}

/// Our side of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Handler {
    /// The server on the other side.
    server: Arc<str>,
    pub(crate) desk: Desk,
}

impl Handler {
    pub(crate) fn new(server: &str) -> Self {
        Self { server: server.into(), desk: Desk::default() }
    }

    /// Puts a question of the server to a person, under a name of its own within the call. Meanwhile
    /// the silence of the server is ours.
    pub(crate) async fn elicit(
        &self,
        call: &OpenCall,
        name: &str,
        asked: ElicitRequestParams,
    ) -> Result<ElicitResult, String> {
        call.signs.send_modify(|signs| signs.questions += 1);
        // A question that the server takes back is dropped half way, and counts no longer either.
        let _asking = Asking(call);
        elicit(&call.job, &self.server, name, asked).await
    }

    /// The same for a server that waits for the answer: where nobody is there, it was cancelled.
    async fn elicit_now(&self, call: &OpenCall, asked: ElicitRequestParams) -> ElicitResult {
        call.signs.send_modify(|signs| signs.asked += 1);
        let name = format!("elicit-{}", call.signs.borrow().asked);
        let answer = self.elicit(call, &name, asked).await;
        answer.unwrap_or_else(|_| ElicitResult::new(ElicitationAction::Cancel))
    }
}

/// A question that the server waits for.
struct Asking<'a>(&'a OpenCall);

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.signs.send_modify(|signs| signs.questions = signs.questions.saturating_sub(1));
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new("piton", env!("CARGO_PKG_VERSION"));
        let mut can = ClientCapabilities::default();
        can.elicitation = Some(
            ElicitationCapability::new()
                .with_form(FormElicitationCapability::default())
                .with_url(UrlElicitationCapability::default()),
        );
        // A server may make a task of a call: it can be asked about later, also by another process.
        let extensions = can.extensions.get_or_insert_default();
        extensions.insert(TASKS_EXTENSION_ID.to_owned(), JsonObject::new());
        ClientConfig::new(can, us).with_protocol_version(ProtocolVersion::V_2025_11_25)
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let origin = context.extensions.get::<InboundStreamOrigin>();
        let Some(call) = self.desk.by_origin(origin) else {
            // Nobody is at work who could be asked in whose name.
            return Ok(ElicitResult::new(ElicitationAction::Cancel));
        };
        let answer = tokio::select! {
            biased;
            // The server does not want to know any more.
            () = context.ct.cancelled() => ElicitResult::new(ElicitationAction::Cancel),
            answer = self.elicit_now(&call, request) => answer,
        };
        Ok(answer)
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        if let Some(call) = self.desk.by_token(&params.progress_token) {
            call.live();
            call.job.progress.say(&progress_text(&params));
        }
    }
}

fn progress_text(params: &ProgressNotificationParam) -> String {
    let count = match params.total {
        Some(total) => format!("{}/{total}", params.progress),
        None => params.progress.to_string(),
    };
    match &params.message {
        Some(message) => format!("{count} {}", line(message, PROGRESS_BYTES_MAX)),
        None => count,
    }
}
