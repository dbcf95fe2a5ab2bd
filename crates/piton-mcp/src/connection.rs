//! One connection to a server: made, greeted, its tools listed, and closed.

use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::ProtocolVersion;
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _, Peer, RoleClient,
    RunningService, ServiceError,
};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, Transport};
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::handler::{Desk, Handler};
use crate::listing::{Listed, listed};
use crate::process::{Process, Program};
use crate::servers::Place;
use crate::settings::{Launch, ServerSettings};
use crate::text::line;
use crate::wire::{Watched, Wire};

/// Longest reason that is told, in bytes.
const REASON_BYTES_MAX: usize = 500;
/// Why there is no connection to a program that ends at once.
const ENDED_EARLY: &str = "it ended before it answered";
/// Most pages of a list of tools.
const PAGES_MAX: usize = 64;

/// A live connection.
#[derive(Debug)]
pub(crate) struct Connection {
    service: RunningService<RoleClient, Handler>,
    pub(crate) wire: Arc<Wire>,
    pub(crate) handler: Handler,
    /// The program behind it, if it is one of ours.
    process: Mutex<Option<Process>>,
    /// Whether it has lost a call, and is not to be used for another one.
    spoiled: AtomicBool,
    /// Who it is.
    pub(crate) about: About,
    /// What it offers.
    pub(crate) tools: Vec<Listed>,
}

/// Who a server says it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// Its name for itself.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The revision of the protocol that both speak.
    pub protocol: String,
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
        let first = ClientLifecycleMode::Initialize;
        let mut process = None;
        let opened = timeout(settings.connect_wait, async {
            match attempt(settings, place, first, &mut process).await {
                // It may speak only the newest revision, which has no such greeting.
                Err(Greeting::Refused(_)) => {
                    let versions = vec![ProtocolVersion::V_2026_07_28];
                    let mode = ClientLifecycleMode::Discover { preferred_versions: versions };
                    attempt(settings, place, mode, &mut process).await
                }
                opened => opened,
            }
        });
        let reason = match opened.await {
            Ok(Ok((service, wire, handler, tools))) => {
                let about = about(service.peer());
                let (process, spoiled) = (Mutex::new(process), AtomicBool::new(false));
                return Ok(Self { service, wire, handler, process, spoiled, about, tools });
            }
            Ok(Err(Greeting::Refused(reason) | Greeting::Failed(reason))) => reason,
            Err(_) => {
                let seconds = settings.connect_wait.as_secs();
                format!("it did not answer within {seconds} s (connect_seconds)")
            }
        };
        let (mut reason, mut complaints) = (reason, String::new());
        if let Some(mut process) = process {
            if let Some(status) = process.fate().await {
                reason = format!("{reason} ({status})");
            }
            complaints = process.complaints();
        }
        Err(ConnectFault { reason, complaints })
    }

    pub(crate) fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
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
        let is_program = self.process.lock().await.is_some();
        self.spoiled.store(!is_program, Ordering::Relaxed);
    }

    /// What became of a program that does not answer any more, for whoever is told of it.
    pub(crate) async fn post_mortem(&self) -> String {
        let mut process = self.process.lock().await;
        let Some(process) = process.as_mut() else { return String::new() };
        let status = process.fate().await;
        let status = status.map(|status| format!(" It ended: {status}.")).unwrap_or_default();
        format!("{status}{}", told(&process.complaints()))
    }

    /// Takes leave: closes its input, waits for a moment, then ends it.
    pub(crate) async fn close(&self) {
        self.service.cancellation_token().cancel();
        self.wire.gone.cancelled().await;
        if let Some(process) = self.process.lock().await.as_mut() {
            process.end().await;
        }
    }
}

/// How a greeting went wrong.
enum Greeting {
    /// The server answered, and does not know it.
    Refused(String),
    Failed(String),
}

type Opened = (RunningService<RoleClient, Handler>, Arc<Wire>, Handler, Vec<Listed>);

async fn attempt(
    settings: &ServerSettings,
    place: &Place,
    mode: ClientLifecycleMode,
    process: &mut Option<Process>,
) -> Result<Opened, Greeting> {
    let launch = settings.launch.as_ref().map_err(|fault| Greeting::Failed(fault.clone()))?;
    match launch {
        Launch::Program { command, args, env, cwd } => {
            let directory = cwd.as_ref().map_or_else(PathBuf::new, Clone::clone);
            let directory = place.workspace.join(directory);
            let program = Program { command, args, env, directory: &directory };
            let (started, pipes) = Process::start(program)
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

async fn greet<T>(transport: T, server: &str, mode: ClientLifecycleMode) -> Result<Opened, Greeting>
where
    T: Transport<RoleClient> + 'static,
{
    let (wire, handler) = (Arc::new(Wire::default()), Handler::new(server));
    let watched = Watched::new(transport, wire.clone());
    let service = handler.clone().serve_with_lifecycle(watched, mode).await;
    let service = service.map_err(greeting)?;
    let tools = list(service.peer()).await.map_err(|error| {
        Greeting::Failed(format!("it does not list its tools: {}", chain(&error)))
    })?;
    Ok((service, wire, handler, tools))
}

fn greeting(error: ClientInitializeError) -> Greeting {
    if let ClientInitializeError::JsonRpcError(error) = &error {
        return Greeting::Refused(format!("it refuses the connection: {}", error.message));
    }
    if let ClientInitializeError::TransportError { error, .. } = &error {
        if is_broken_pipe(&*error.error) {
            return Greeting::Failed(ENDED_EARLY.into());
        }
        return Greeting::Failed(format!("it cannot be talked to: {}", chain(&*error.error)));
    }
    if let ClientInitializeError::ConnectionClosed(_) = &error {
        return Greeting::Failed(ENDED_EARLY.into());
    }
    Greeting::Failed(format!("it cannot be talked to: {}", chain(&error)))
}

/// A program that ends at once may do so before or after it gets our greeting.
fn is_broken_pipe(error: &(dyn Error + Send + Sync + 'static)) -> bool {
    let error = error.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// All pages, within a bound: a server must not keep us for ever.
async fn list(peer: &Peer<RoleClient>) -> Result<Vec<Listed>, ServiceError> {
    use rmcp::model::PaginatedRequestParams;
    let has_tools = peer.peer_info().is_none_or(|info| info.capabilities.tools.is_some());
    let (mut told, mut cursor) = (Vec::new(), None);
    for _ in 0..PAGES_MAX {
        if !has_tools {
            break;
        }
        let params = PaginatedRequestParams::default().with_cursor(cursor);
        let page = peer.list_tools(Some(params)).await?;
        told.extend(page.tools);
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    Ok(listed(told))
}

fn about(peer: &Peer<RoleClient>) -> About {
    let Some(info) = peer.peer_info() else { return About::default() };
    let server = info.server_info.as_ref();
    About {
        name: server.map(|server| server.name.clone()).unwrap_or_default(),
        version: server.map(|server| server.version.clone()).unwrap_or_default(),
        protocol: info.protocol_version.to_string(),
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
