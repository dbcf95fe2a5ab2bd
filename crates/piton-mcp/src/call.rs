//! One call: sent once, waited for, and told truthfully.

use std::time::Duration;

use piton_core::event::Handle;
use piton_tools::fail;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, JsonObject, ServerResult,
};
use rmcp::service::{PeerRequestOptions, RequestHandle, RoleClient, ServiceError};
use rmcp::transport::streamable_http_client::StreamableHttpError;
use tokio::time::{Instant, sleep_until, timeout};

use crate::answer::loose;
use crate::connection::{Connection, TELL_WAIT, asking, sending};
use crate::ended::Ended;
use crate::handler::OpenCall;
use crate::round::{Round, Unanswered};
use crate::task::TaskName;

/// Most rounds of questions within one call.
const ROUNDS_MAX: u32 = 10;
/// Why the server is told to stop.
const CANCEL_REASON: &str = "the user interrupted";

/// What became of a call that was sent.
#[derive(Debug)]
pub(crate) enum Called {
    /// It is over.
    Ended(Ended),
    /// The server works on it, and can be asked how far it is.
    Task(TaskName),
}

/// Makes the call, or goes on with it where a server had asked back.
pub(crate) async fn call(
    connection: &Connection,
    tool: &str,
    open: &OpenCall,
    silence_max: Option<Duration>,
) -> Called {
    let arguments: JsonObject = (*open.job().arguments).clone();
    let mut params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
    let mut asked = Round::read(&open.job().handle);
    let first = asked.as_ref().map_or(1, |round| round.number.saturating_add(1));
    for number in first..first.saturating_add(ROUNDS_MAX) {
        if let Some(round) = asked.take() {
            params = match answered(connection, open, round, params).await {
                Ok(params) => params,
                Err(ended) => return Called::Ended(ended),
            };
        }
        match round(connection, params.clone(), open, silence_max).await {
            Ok(ServerResult::CallToolResult(result)) => {
                return Called::Ended(Ended::Answered(result));
            }
            Ok(ServerResult::CreateTaskResult(created)) => {
                return Called::Task(TaskName::of(&created.task));
            }
            Ok(ServerResult::InputRequiredResult(back)) => {
                let round = Round::new(number, back.request_state, back.input_requests);
                fail::here("round-asked");
                if round.asks() {
                    open.job().track(round.handle()).await;
                }
                fail::here("round-tracked");
                asked = Some(round);
            }
            // It has nothing to say, in one form or the other.
            Ok(ServerResult::EmptyResult(_) | ServerResult::TaskAckResult(_)) => {
                return Called::Ended(Ended::Answered(CallToolResult::default()));
            }
            Ok(ServerResult::CustomResult(answer)) if let Some(result) = loose(&answer.0) => {
                return Called::Ended(Ended::Answered(result));
            }
            Ok(_) => {
                let why = "it answered with something else than a result";
                return Called::Ended(Ended::Lost(why.into()));
            }
            Err(ended) => return Called::Ended(ended),
        }
    }
    Called::Ended(Ended::Refused(format!("it asked for more than {ROUNDS_MAX} times")))
}

/// What is sent next, with the answers of a person. From then on nobody knows how far the server is.
async fn answered(
    connection: &Connection,
    open: &OpenCall,
    round: Round,
    params: CallToolRequestParams,
) -> Result<CallToolRequestParams, Ended> {
    let asks = round.asks();
    let answered = round.answered(connection, open, params).await;
    let params = answered.map_err(|why| match why {
        Unanswered::Nobody(_) if open.job().cancel.is_cancelled() => Ended::Cancelled,
        Unanswered::Nobody(question) => Ended::Waiting(question),
        Unanswered::Unfit => {
            Ended::Refused("it asked for something that piton does not offer".into())
        }
    })?;
    if asks {
        open.job().track(Handle::None).await;
    }
    fail::here("round-answered");
    Ok(params)
}

/// One request and its answer.
async fn round(
    connection: &Connection,
    params: CallToolRequestParams,
    open: &OpenCall,
    silence_max: Option<Duration>,
) -> Result<ServerResult, Ended> {
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
    let options = PeerRequestOptions::no_options();
    let sent = connection.peer().send_request_with_option(request, options).await;
    // Here it has not even reached the queue.
    let mut handle = sent.map_err(|error| Ended::NeverSent(asking(&error)))?;
    let id = handle.id.clone();
    open.name(id.clone(), handle.progress_token.clone());
    let ended = wait(connection, &mut handle, open, silence_max).await;
    let ended = match ended {
        Waited::Answered(result) => Ok(*result),
        Waited::Failed(error) => Err(judge(connection, &id, &error)),
        Waited::Gone => Err(judge(connection, &id, &ServiceError::TransportClosed)),
        // Both may still be in the queue, but nobody can say so for certain.
        Waited::Silent(limit) => {
            cancel(connection, handle, "timeout").await;
            Err(Ended::Lost(format!("it was silent for {} s (call_seconds)", limit.as_secs())))
        }
        Waited::Stopped => {
            cancel(connection, handle, CANCEL_REASON).await;
            Err(Ended::Cancelled)
        }
    };
    connection.wire.forget(&id);
    ended
}

/// Why the wait is over.
enum Waited {
    Answered(Box<ServerResult>),
    Failed(ServiceError),
    Gone,
    Silent(Duration),
    Stopped,
}

async fn wait(
    connection: &Connection,
    handle: &mut RequestHandle<RoleClient>,
    open: &OpenCall,
    silence_max: Option<Duration>,
) -> Waited {
    let mut signs = open.signs();
    let mut asking = false;
    let mut since = Instant::now();
    loop {
        let deadline = silence_max.filter(|_| !asking).map(|limit| (since + limit, limit));
        tokio::select! {
            biased;
            answer = &mut handle.rx => return match answer {
                Ok(Ok(result)) => Waited::Answered(Box::new(result)),
                Ok(Err(error)) => Waited::Failed(error),
                Err(_) => Waited::Gone,
            },
            () = connection.wire.gone.cancelled() => return last_look(handle),
            () = open.job().cancel.cancelled() => return Waited::Stopped,
            Ok(()) = signs.changed() => {
                asking = 0 < signs.borrow_and_update().questions;
                since = Instant::now();
            }
            limit = silence(deadline) => return Waited::Silent(limit),
        }
    }
}

/// The answer may have come together with the end.
fn last_look(handle: &mut RequestHandle<RoleClient>) -> Waited {
    match handle.rx.try_recv() {
        Ok(Ok(result)) => Waited::Answered(Box::new(result)),
        Ok(Err(error)) => Waited::Failed(error),
        Err(_) => Waited::Gone,
    }
}

async fn silence(deadline: Option<(Instant, Duration)>) -> Duration {
    match deadline {
        Some((at, limit)) => {
            sleep_until(at).await;
            limit
        }
        None => std::future::pending().await,
    }
}

/// Tells the server to stop; whether it hears that is its own affair.
async fn cancel(connection: &Connection, handle: RequestHandle<RoleClient>, reason: &str) {
    if timeout(TELL_WAIT, handle.cancel(Some(reason.to_owned()))).await.is_err() {
        // It does not read what it is sent; the next call would not reach it either.
        connection.spoil();
    }
}

/// What an error says about whether the call may have taken effect.
fn judge(connection: &Connection, id: &rmcp::model::RequestId, error: &ServiceError) -> Ended {
    if let ServiceError::McpError(error) = error {
        return Ended::Refused(error.message.to_string());
    }
    if let ServiceError::TransportSend(sent) = error {
        return http(&*sent.error);
    }
    if connection.wire.may_have_left(id) {
        Ended::Lost("the connection was lost".into())
    } else {
        Ended::NeverSent("the connection was lost before".into())
    }
}

/// A refusal over HTTP is an answer; anything else may hide an effect.
fn http(error: &(dyn std::error::Error + Send + Sync + 'static)) -> Ended {
    use StreamableHttpError as Http;
    let told = sending(error);
    match error.downcast_ref::<Http<reqwest::Error>>() {
        Some(Http::Client(error)) if error.is_connect() || error.is_builder() => {
            Ended::NeverSent(told)
        }
        Some(Http::AuthRequired(_) | Http::InsufficientScope(_)) => {
            Ended::Refused(format!("it wants to know who asks ({told}): see to its headers"))
        }
        Some(Http::ReservedHeaderConflict(_)) => Ended::NeverSent(told),
        Some(Http::SessionExpired) => Ended::Refused(told),
        Some(Http::HttpStatus(status)) if status.status == 429 => Ended::Refused(told),
        Some(Http::UnexpectedServerResponse(text)) if text.starts_with("HTTP 4") => {
            Ended::Refused(told)
        }
        _ => Ended::Lost(told),
    }
}
