//! Commands of the shell that calls have started: which run, what they print, stopping one.

use axum::Json;
use axum::extract::{Path, State};
use piton::commands::{Commands, Kept, KeptState, OutputPart, Status};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::fault::{ErrorBody, Fault, Kind};
use crate::limits::OUTPUT_BYTES_MAX;
use crate::query::Parameters;
use crate::shared::Shared;

/// Which commands are wanted.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct RunningQuery {
    /// Also those that have ended.
    all: bool,
}

/// Commands.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Running {
    /// The oldest first.
    commands: Vec<CommandRow>,
}

/// A command.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CommandRow {
    /// The conversation whose call started it.
    conversation: String,
    /// The call.
    call: String,
    /// The command line.
    line: String,
    /// When it was started, in milliseconds since 1970.
    started: u64,
    /// How far it is.
    state: CommandWord,
    /// Its exit code, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
}

/// How far a command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CommandWord {
    /// It runs.
    Running,
    /// It has ended, and left something running.
    LeftRunning,
    /// It has ended.
    Ended,
    /// It never ran.
    NeverRan,
    /// Nobody knows.
    InDoubt,
}

impl From<&Kept> for CommandRow {
    fn from(kept: &Kept) -> Self {
        let (state, status) = match kept.state {
            KeptState::Running => (CommandWord::Running, None),
            KeptState::LeftRunning(status) => (CommandWord::LeftRunning, Some(status)),
            KeptState::Ended(status) => (CommandWord::Ended, Some(status)),
            KeptState::NeverRan => (CommandWord::NeverRan, None),
            KeptState::InDoubt => (CommandWord::InDoubt, None),
        };
        let exit_code = match status {
            Some(Status::Exit(code)) => Some(code),
            Some(Status::Signal(_)) | None => None,
        };
        Self {
            conversation: kept.conversation.to_string(),
            call: kept.intent.call.to_string(),
            line: kept.intent.command.clone(),
            started: kept.intent.at_ms,
            state,
            exit_code,
        }
    }
}

/// List commands that run
#[utoipa::path(
    get,
    path = "/running",
    operation_id = "list_running",
    tag = "running",
    params(RunningQuery),
    responses(
        (status = 200, description = "commands of all conversations", body = Running),
        ErrorBody,
    )
)]
pub(crate) async fn list(
    State(shared): State<Shared>,
    Parameters(query): Parameters<RunningQuery>,
) -> Result<Json<Running>, Fault> {
    let mut found = on_a_thread(&shared, |commands| Ok(commands.all())).await?;
    found.retain(|kept| query.all || kept.state.goes_on());
    Ok(Json(Running { commands: found.iter().map(CommandRow::from).collect() }))
}

/// Which part of an output is wanted.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct OutputQuery {
    /// Behind this byte, which an earlier answer gave as `next`.
    from: u64,
}

/// A part of what a command has printed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Output {
    /// The text.
    text: String,
    /// Where to go on.
    next: u64,
    /// Bytes in front of the text that are not kept.
    left_out: u64,
    /// Whether a secret may be in it, so that nothing is shown.
    withheld: bool,
    /// Whether more may come.
    running: bool,
}

/// Read what a command prints
#[utoipa::path(
    get,
    path = "/running/{conversation}/{call}/output",
    operation_id = "read_output",
    tag = "running",
    params(
        ("conversation" = String, Path, description = "the conversation"),
        ("call" = String, Path, description = "the call"),
        OutputQuery,
    ),
    responses(
        (status = 200, description = "a part of the output", body = Output),
        ErrorBody,
    )
)]
pub(crate) async fn output(
    State(shared): State<Shared>,
    Path(name): Path<(String, String)>,
    Parameters(query): Parameters<OutputQuery>,
) -> Result<Json<Output>, Fault> {
    let read = move |commands: Commands| {
        let kept = find(&commands, &name)?;
        let part = commands.part(&kept, query.from, OUTPUT_BYTES_MAX);
        let gone = |_| Fault::not_found("the output of this command is not kept any more");
        Ok((part.map_err(gone)?, kept.state.goes_on()))
    };
    let (part, running) = on_a_thread(&shared, read).await?;
    let OutputPart { bytes, next, left_out, withheld } = part;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(Json(Output { text, next, left_out, withheld, running }))
}

/// Stop a command, with everything that it started
#[utoipa::path(
    post,
    path = "/running/{conversation}/{call}/stop",
    operation_id = "stop_running",
    tag = "running",
    params(
        ("conversation" = String, Path, description = "the conversation"),
        ("call" = String, Path, description = "the call"),
    ),
    responses(
        (status = 200, description = "how it ended", body = CommandRow),
        ErrorBody,
    )
)]
pub(crate) async fn stop(
    State(shared): State<Shared>,
    Path(name): Path<(String, String)>,
) -> Result<Json<CommandRow>, Fault> {
    shared.writable(&name.0).await?;
    let mut kept = on_a_thread(&shared, move |commands| find(&commands, &name)).await?;
    if kept.state.goes_on() {
        let commands = shared.engine().commands().ok_or_else(none)?;
        let failed = |error: std::io::Error| Fault::new(Kind::Store, error.to_string());
        kept.state = commands.stop(&kept).await.map_err(failed)?;
    }
    Ok(Json(CommandRow::from(&kept)))
}

/// The command of a call, by its whole name.
fn find(commands: &Commands, (conversation, call): &(String, String)) -> Result<Kept, Fault> {
    let is_meant = |kept: &Kept| {
        kept.conversation.as_str() == conversation && kept.intent.call.to_string() == *call
    };
    // Of one call the newest start counts.
    let mut found: Vec<_> = commands.all().into_iter().filter(is_meant).collect();
    found.pop().ok_or_else(none)
}

fn none() -> Fault {
    Fault::not_found("there is no such command")
}

/// Reads records, which are files.
async fn on_a_thread<T: Send + 'static>(
    shared: &Shared,
    read: impl FnOnce(Commands) -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    let commands = shared.engine().commands().ok_or_else(none)?;
    match tokio::task::spawn_blocking(move || read(commands)).await {
        Ok(read) => read,
        Err(error) => Err(Fault::new(Kind::Internal, error.to_string())),
    }
}
