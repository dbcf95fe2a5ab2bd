//! One connection to a server: made, greeted, its tools listed, and closed.

use std::collections::BTreeSet;
use std::error::Error;
use std::io;
use std::mem;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex as Lock, PoisonError};
use std::time::Duration;

use piton_tools::server::{Guard, Stretch};
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::{ClientRequest, ListToolsRequest, PaginatedRequestParams, ProtocolVersion};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _, Peer, RoleClient,
    RunningService, ServiceError,
};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransportConfig, StreamableHttpError,
};
use rmcp::transport::{StreamableHttpClientTransport, Transport};
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::handler::{Desk, Handler};
use crate::listing::{Listing, Tasks};
use crate::place::Place;
use crate::process::{Process, Program};
use crate::settings::{Launch, Origin, ServerSettings};
use crate::text::line;
use crate::wire::{Watched, Wire};

/// Longest reason that is told, in bytes.
const REASON_BYTES_MAX: usize = 500;
/// Why there is no connection to a program that ends at once.
const ENDED_EARLY: &str = "it ended before it answered";
/// Why there is none to a server whose tools are not known.
const NOT_LISTED: &str = "it does not list its tools";
/// Longest wait for a server to take in that it is to stop. An interrupt waits as long.
pub(crate) const TELL_WAIT: Duration = Duration::from_secs(2);
/// Most pages of a list of tools.
const PAGES_MAX: usize = 64;
/// Longest name and version of a server that are told, in bytes.
const NAME_BYTES_MAX: usize = 80;

/// A live connection.
#[derive(Debug)]
pub(crate) struct Connection {
    service: RunningService<RoleClient, Handler>,
    pub(crate) wire: Arc<Wire>,
    pub(crate) handler: Handler,
    /// The program behind it, if it is one of ours.
    process: Mutex<Option<Process>>,
    /// What is compared while it works, if that program is confined.
    guard: Option<Guard>,
    /// What it changed before its first call, for the model.
    notes: Lock<Vec<String>>,
    /// Whether it is not to be used for another call.
    spoiled: AtomicBool,
    /// Who it is.
    pub(crate) about: About,
    /// What it offers. A plain lock: it is never held while something is waited for.
    listing: Lock<Arc<Listing>>,
}

/// What is known of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// Its name for itself.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The revision of the protocol that both speak.
    pub protocol: String,
    /// Tools that it told of and that cannot be used, each with the reason.
    pub left_out: Vec<String>,
}

/// Why there is no connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}{}", told(complaints))]
pub struct ConnectFault {
    /// Why.
    pub reason: String,
    /// The end of what the program complained of.
    pub complaints: String,
}

/// What a program complained of, as an addition to a sentence.
pub(crate) fn told(complaints: &str) -> String {
    if complaints.is_empty() { String::new() } else { format!("\nIt printed:\n{complaints}") }
}

impl Connection {
    /// Connects within the time that the settings allow.
    pub(crate) async fn open(
        settings: &ServerSettings,
        place: &Place,
    ) -> Result<Self, ConnectFault> {
        let guard = guard(settings, place).map_err(|lack| ConnectFault {
            reason: unconfined(settings, &lack),
            complaints: String::new(),
        })?;
        let stretch = begin(guard.as_ref()).await;
        let mut opened = Self::open_guarded(settings, place, guard).await;
        let notes = settle(stretch).await;
        match &mut opened {
            Ok(connection) => connection.notes = Lock::new(notes),
            Err(fault) => notes.iter().for_each(|note| fault.reason.extend([" ", note])),
        }
        opened
    }

    async fn open_guarded(
        settings: &ServerSettings,
        place: &Place,
        guard: Option<Guard>,
    ) -> Result<Self, ConnectFault> {
        let first = ClientLifecycleMode::Initialize;
        let own = (settings, guard.as_ref());
        let (mut process, mut refused) = (None, None);
        let opened = timeout(settings.connect_wait, async {
            match attempt(own, place, first, &mut process).await {
                // It may speak only the newest revision, which has no such greeting.
                Err(Greeting::Refused(why)) => {
                    refused = Some(why);
                    let versions = vec![ProtocolVersion::V_2026_07_28];
                    let mode = ClientLifecycleMode::Discover { preferred_versions: versions };
                    attempt(own, place, mode, &mut process).await
                }
                opened => opened,
            }
        });
        let (mut reason, has_answered) = match opened.await {
            Ok(Ok((service, wire, handler, listing))) => {
                let about = about(service.peer());
                let listing = Lock::new(Arc::new(listing));
                if let Some(process) = &mut process {
                    process.is_connected();
                }
                let (process, spoiled) = (Mutex::new(process), AtomicBool::new(false));
                let notes = Lock::default();
                return Ok(Self {
                    service,
                    wire,
                    handler,
                    process,
                    guard,
                    notes,
                    spoiled,
                    about,
                    listing,
                });
            }
            Ok(Err(Greeting::Refused(reason) | Greeting::Odd(reason))) => (reason, true),
            Ok(Err(Greeting::Failed(reason))) => (reason, false),
            Err(_) => {
                let seconds = settings.connect_wait.as_secs();
                (format!("it did not answer within {seconds} s (connect_seconds)"), false)
            }
        };
        let mut complaints = String::new();
        // Either answer may hold the reason: not every server knows both greetings.
        if let Some(first) = refused.filter(|first| *first != reason) {
            reason = format!("{first}; in the newest revision, {reason}");
        }
        if let Some(mut process) = process {
            // One that has answered ends because it was left.
            if let Some(status) = process.fate().await.filter(|_| !has_answered) {
                reason = format!("{reason} ({status})");
            }
            if let Some(printed) = process.printed.told() {
                reason = format!("{reason}; {printed}");
            }
            complaints = process.complaints();
        }
        Err(ConnectFault { reason, complaints })
    }

    pub(crate) fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }

    /// What it offers.
    pub(crate) fn listing(&self) -> Arc<Listing> {
        self.listing.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Asks for its tools again; says whether they came.
    pub(crate) async fn list_again(&self, wait: Duration) -> bool {
        self.wire.take_news();
        // A server that does not answer has the tools that it had.
        let Ok(Ok(listing)) = timeout(wait, list(self.peer())).await else { return false };
        *self.listing.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(listing);
        true
    }

    pub(crate) fn desk(&self) -> &Desk {
        &self.handler.desk
    }

    /// Whether something can still come.
    pub(crate) fn is_alive(&self) -> bool {
        !self.wire.gone.is_cancelled() && !self.peer().is_transport_closed()
    }

    /// Whether another call may go over it.
    pub(crate) fn is_usable(&self) -> bool {
        self.is_alive() && !self.spoiled.load(Ordering::Relaxed)
    }

    /// A call was lost over it. Over pipes the next one may work; over HTTP it would not be clear
    /// whether it left, because connections are kept and reused.
    pub(crate) async fn lost_a_call(&self) {
        if self.process.lock().await.is_none() {
            self.spoil();
        }
    }

    /// No other call may go over it.
    pub(crate) fn spoil(&self) {
        self.spoiled.store(true, Ordering::Relaxed);
    }

    /// What became of a program that does not answer any more, in words for the result of a call.
    pub(crate) async fn post_mortem(&self) -> String {
        let mut process = self.process.lock().await;
        let Some(process) = process.as_mut() else { return String::new() };
        let status = process.fate().await;
        let status = status.map(|status| format!(" It ended: {status}.")).unwrap_or_default();
        format!("{status}{}", told(&process.complaints()))
    }

    /// It works from here on, until that is settled.
    pub(crate) async fn begin(&self) -> Option<Stretch> {
        begin(self.guard.as_ref()).await
    }

    /// Puts back what it changed of what others obey since `stretch` began; notes for the model say so, also of what
    /// it changed before.
    pub(crate) async fn settle(&self, stretch: Option<Stretch>) -> Vec<String> {
        let new = settle(stretch).await;
        let mut notes = mem::take(&mut *self.notes.lock().unwrap_or_else(PoisonError::into_inner));
        notes.extend(new);
        notes
    }

    /// Takes leave: closes its input, waits for a moment, then ends it.
    pub(crate) async fn close(&self) {
        let stretch = self.begin().await;
        self.service.cancellation_token().cancel();
        self.wire.gone.cancelled().await;
        if let Some(process) = self.process.lock().await.as_mut() {
            process.end().await;
        }
        // The model has no further call to be told with.
        settle(stretch).await;
    }
}

/// How a greeting went wrong.
enum Greeting {
    /// The server answered, and does not know it.
    Refused(String),
    /// The server answered, and not as it should.
    Odd(String),
    /// There is no answer.
    Failed(String),
}

type Opened = (RunningService<RoleClient, Handler>, Arc<Wire>, Handler, Listing);

/// What is compared around a server, and what it may do; none if it is not confined. Without a wall it is not started:
/// the end of a sentence says why.
fn guard(settings: &ServerSettings, place: &Place) -> Result<Option<Guard>, String> {
    let (Ok(Launch::Program { .. }), Some(rules)) = (&settings.launch, &settings.rules) else {
        return Ok(None);
    };
    let policy = rules.around(&place.workspace)?;
    Ok(policy.map(|policy| Guard::new(policy, place.calls.clone())))
}

async fn begin(guard: Option<&Guard>) -> Option<Stretch> {
    let guard = guard?.clone();
    spawn_blocking(move || guard.begin()).await.ok()
}

async fn settle(stretch: Option<Stretch>) -> Vec<String> {
    let Some(stretch) = stretch else { return Vec::new() };
    spawn_blocking(move || stretch.settle()).await.unwrap_or_default()
}

async fn attempt(
    (settings, guard): (&ServerSettings, Option<&Guard>),
    place: &Place,
    mode: ClientLifecycleMode,
    process: &mut Option<Process>,
) -> Result<Opened, Greeting> {
    let launch = settings.launch.as_ref().map_err(|fault| Greeting::Failed(fault.clone()))?;
    match launch {
        Launch::Program { command, args, env, cwd } => {
            let directory = cwd.as_ref().map_or_else(PathBuf::new, Clone::clone);
            let directory = place.workspace.join(directory);
            let policy = guard.map(|guard| &guard.policy);
            let program = Program { command, args, env, directory: &directory, policy };
            let (started, pipes) = Process::start(program)
                .await
                .map_err(|error| Greeting::Failed(format!("cannot start {command}: {error}")))?;
            // The one before it, if there was one, ends here.
            *process = Some(started);
            greet(AsyncRwTransport::new_client(pipes.output, pipes.input), &settings.name, mode)
                .await
        }
        Launch::Http { url, headers } => {
            let client = (place.http)().map_err(Greeting::Failed)?;
            let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
            for (name, value) in headers {
                let parsed = HeaderName::try_from(name).ok().zip(HeaderValue::try_from(value).ok());
                let unfit = || Greeting::Failed(format!("its header {name} cannot be sent"));
                let (name, mut value) = parsed.ok_or_else(unfit)?;
                value.set_sensitive(true);
                config.custom_headers.insert(name, value);
            }
            greet(StreamableHttpClientTransport::with_client(client, config), &settings.name, mode)
                .await
        }
    }
}

/// Why a program is not started that is to be confined.
fn unconfined(settings: &ServerSettings, lack: &str) -> String {
    let otherwise = match settings.origin {
        Origin::Settings => "sandbox = false",
        Origin::Project => "piton mcp trust --unconfined",
    };
    format!("it is to run in the sandbox, and {lack}; to start it without: {otherwise}")
}

async fn greet<T>(transport: T, server: &str, mode: ClientLifecycleMode) -> Result<Opened, Greeting>
where
    T: Transport<RoleClient> + 'static,
{
    let (wire, handler) = (Arc::new(Wire::default()), Handler::new(server));
    let watched = Watched::new(transport, wire.clone());
    let service = handler.clone().serve_with_lifecycle(watched, mode).await;
    let service = service.map_err(greeting)?;
    // What it says from here on may be about tools that it has not listed.
    wire.take_news();
    let listing = list(service.peer()).await?;
    Ok((service, wire, handler, listing))
}

fn greeting(error: ClientInitializeError) -> Greeting {
    if let ClientInitializeError::JsonRpcError(error) = &error {
        let why = line(&error.message, REASON_BYTES_MAX);
        return Greeting::Refused(format!("it refuses the connection: {why}"));
    }
    if let ClientInitializeError::TransportError { error, .. } = &error {
        if is_broken_pipe(&*error.error) {
            return Greeting::Failed(ENDED_EARLY.into());
        }
        return Greeting::Failed(format!("it cannot be talked to: {}", sending(&*error.error)));
    }
    if let ClientInitializeError::ConnectionClosed(_) = &error {
        return Greeting::Failed(ENDED_EARLY.into());
    }
    if let ClientInitializeError::ExpectedInitResult(Some(answer)) = &error {
        let answer = serde_json::to_string(answer).unwrap_or_default();
        let answer = line(&answer, REASON_BYTES_MAX);
        return Greeting::Odd(format!("its answer does not keep to the protocol: {answer}"));
    }
    Greeting::Failed(format!("it cannot be talked to: {}", chain(&error)))
}

/// A program that ends at once may do so before or after it gets our greeting.
fn is_broken_pipe(error: &(dyn Error + Send + Sync + 'static)) -> bool {
    let error = error.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// All pages, within a bound: a server must not keep us for ever.
async fn list(peer: &Peer<RoleClient>) -> Result<Listing, Greeting> {
    let mut listing = Listing::default();
    if peer.peer_info().is_some_and(|info| info.capabilities.tools.is_none()) {
        return Ok(listing);
    }
    let is_newest =
        peer.peer_info().is_some_and(|info| info.protocol_version == ProtocolVersion::V_2026_07_28);
    let tasks = if is_newest { Tasks::Followed } else { Tasks::NotMade };
    let (mut cursor, mut known) = (None, BTreeSet::new());
    for _ in 0..PAGES_MAX {
        let params = PaginatedRequestParams::default().with_cursor(cursor);
        let request = ClientRequest::ListToolsRequest(ListToolsRequest::with_param(params));
        let page = peer.send_request(request).await.map_err(|error| {
            let why = format!("{NOT_LISTED}: {}", asking(&error));
            let is_answer = matches!(error, ServiceError::McpError(_));
            if is_answer { Greeting::Odd(why) } else { Greeting::Failed(why) }
        })?;
        let next = listing.add(page, tasks);
        match next.map_err(|why| Greeting::Odd(format!("{NOT_LISTED}: {why}")))? {
            Some(next) if known.insert(next.clone()) => cursor = Some(next),
            // There is no more, or it goes round in circles.
            _ => return Ok(listing),
        }
    }
    listing.leave_out("the rest", format!("its list has more than {PAGES_MAX} pages"));
    Ok(listing)
}

fn about(peer: &Peer<RoleClient>) -> About {
    let Some(info) = peer.peer_info() else { return About::default() };
    let server = info.server_info.as_ref();
    About {
        name: server.map(|server| line(&server.name, NAME_BYTES_MAX)).unwrap_or_default(),
        version: server.map(|server| line(&server.version, NAME_BYTES_MAX)).unwrap_or_default(),
        protocol: info.protocol_version.to_string(),
        left_out: Vec::new(),
    }
}

/// Why there is no answer, on one line.
pub(crate) fn asking(error: &ServiceError) -> String {
    if let ServiceError::TransportSend(sent) = error {
        return sending(&*sent.error);
    }
    if matches!(error, ServiceError::TransportClosed) {
        return "the connection was lost".into();
    }
    chain(error)
}

/// Why something could not be sent, on one line.
pub(crate) fn sending(error: &(dyn Error + Send + Sync + 'static)) -> String {
    match error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
        // It says to which address, and that may hold a key; why lies behind it.
        Some(StreamableHttpError::Client(error)) => {
            error.source().map_or_else(|| "it cannot be reached".into(), chain)
        }
        _ => chain(error),
    }
}

/// An error with what lies behind it, on one line.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(behind) = source {
        let told = behind.to_string();
        if !text.contains(&told) {
            text = format!("{text}: {told}");
        }
        source = behind.source();
    }
    line(&text, REASON_BYTES_MAX)
}
