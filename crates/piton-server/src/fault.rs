//! The one error body, and which failure becomes which.
//!
//! Every error has an id, a kind for programs, and words for people: what happened, then what to do.

use std::fmt;

use axum::Json;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use piton::store::{AppendError, StoreError};
use piton::{CommandError, FollowError, ForkError, OpenError, Refusal, SessionError};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::chance;

/// What kind of failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Kind {
    /// The request has no token.
    NoToken,
    /// The token is unknown, revoked or too old.
    WrongToken,
    /// The request names a host that this server does not answer for.
    ForeignHost,
    /// The request comes from a page of another site.
    ForeignOrigin,
    /// The connection should become something else; it does not.
    Upgrade,
    /// The directory was not opened to this server.
    ClosedDirectory,
    /// The request makes no sense.
    BadInput,
    /// The body is of another type than is taken.
    WrongType,
    /// The body is too large.
    TooLarge,
    /// The body took too long.
    TooSlow,
    /// There is nothing under this path.
    UnknownPath,
    /// The path takes other methods.
    WrongMethod,
    /// There is no such conversation.
    UnknownConversation,
    /// There is no such thing in the conversation or the store.
    NotFound,
    /// There is one already.
    Exists,
    /// The conversation refuses the command; `details.refusal` says why.
    Refused,
    /// Another process works on the conversation, and this cannot travel to it.
    Elsewhere,
    /// Too much at once; later it may work.
    Busy,
    /// The store or the disk failed.
    Store,
    /// The server is about to stop.
    Stopping,
    /// A fault of this program.
    Internal,
}

impl Kind {
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::NoToken | Self::WrongToken => StatusCode::UNAUTHORIZED,
            Self::ForeignHost | Self::ForeignOrigin | Self::ClosedDirectory => {
                StatusCode::FORBIDDEN
            }
            Self::Upgrade | Self::BadInput => StatusCode::BAD_REQUEST,
            Self::WrongType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::UnknownPath | Self::UnknownConversation | Self::NotFound => StatusCode::NOT_FOUND,
            Self::WrongMethod => StatusCode::METHOD_NOT_ALLOWED,
            Self::Exists | Self::Refused | Self::Elsewhere => StatusCode::CONFLICT,
            Self::Busy => StatusCode::TOO_MANY_REQUESTS,
            Self::Store | Self::Stopping => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The kind of an answer that was made below us.
    fn of(status: StatusCode) -> Self {
        match status {
            StatusCode::NOT_FOUND => Self::UnknownPath,
            StatusCode::METHOD_NOT_ALLOWED => Self::WrongMethod,
            StatusCode::PAYLOAD_TOO_LARGE => Self::TooLarge,
            StatusCode::UNSUPPORTED_MEDIA_TYPE => Self::WrongType,
            status if status.is_client_error() => Self::BadInput,
            _ => Self::Internal,
        }
    }
}

/// A failure, on its way to the client.
#[derive(Debug)]
pub struct Fault {
    pub(crate) kind: Kind,
    pub(crate) message: String,
    hint: Option<String>,
    details: Option<Value>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

/// What a client gets of a failure.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ErrorBody {
    error: ErrorView,
}

/// A failure.
#[derive(Debug, Serialize, ToSchema)]
struct ErrorView {
    /// Its name; the log has the same.
    id: String,
    /// What kind it is.
    kind: Kind,
    /// What happened.
    message: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// More, for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    details: Option<Value>,
}

/// What an answer tells of a failure, for the log.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) id: String,
    pub(crate) kind: Kind,
    /// What happened and what to do, for people.
    words: String,
}

impl Told {
    /// The same as a page, for a browser that asked for one.
    pub(crate) fn page(&self) -> String {
        if self.kind == Kind::NoToken {
            return piton_page::sign_in(None);
        }
        if self.kind == Kind::WrongToken {
            return piton_page::sign_in(Some(&self.words));
        }
        piton_page::problem("This did not work", &self.words, &self.id)
    }
}

impl Fault {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None, details: None }
    }

    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self::new(Kind::BadInput, message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(Kind::NotFound, message)
    }

    pub(crate) fn unknown(conversation: &str) -> Self {
        let message = format!("there is no conversation {conversation}");
        Self::new(Kind::UnknownConversation, message)
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub(crate) fn details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    /// Why a conversation refuses a command.
    pub(crate) fn refused(refusal: &Refusal) -> Self {
        let fault = Self::new(Kind::Refused, refusal.to_string());
        let fault = match hint_of(refusal) {
            Some(hint) => fault.hint(hint),
            None => fault,
        };
        fault.details(json!({ "refusal": refusal }))
    }

    /// Puts the one error body in place of an answer that has another one.
    pub(crate) fn instead_of(answer: Response) -> Response {
        let status = answer.status();
        let is_failure = status.is_client_error() || status.is_server_error();
        if !is_failure || answer.extensions().get::<Told>().is_some() {
            return answer;
        }
        let kind = Kind::of(status);
        let words = match status {
            StatusCode::NOT_FOUND => "there is nothing under this path",
            StatusCode::METHOD_NOT_ALLOWED => "this path does not take this method",
            status => status.canonical_reason().unwrap_or("the request failed"),
        };
        let allow = answer.headers().get(header::ALLOW).cloned();
        let mut told = Self::new(kind, words).into_response();
        *told.status_mut() = status;
        if let Some(allow) = allow {
            told.headers_mut().insert(header::ALLOW, allow);
        }
        told
    }
}

/// Writes a line for a request that was refused: with the id that its client got, and without its query,
/// which may have a secret.
pub(crate) fn tell_refused(method: &Method, path: &str, answer: &Response) {
    let Some(Told { id, kind, .. }) = answer.extensions().get() else { return };
    let status = answer.status().as_u16();
    tracing::warn!(error = %id, ?kind, %method, path, status, "request refused");
}

fn hint_of(refusal: &Refusal) -> Option<&'static str> {
    Some(match refusal {
        Refusal::Incomplete => "continue, retry, stop or discard it, or queue the message",
        Refusal::Running => "queue the message, or interrupt the turn first",
        Refusal::NotRunning | Refusal::NoOpenTurn | Refusal::NotAsked { .. } => {
            "read the conversation again"
        }
        Refusal::InDoubt => "answer the question about the call in doubt",
        Refusal::OlderTurn { .. } => "fork the conversation in front of the message",
        Refusal::QueueFull { .. } => "take a waiting message back, or wait for the turn",
        Refusal::UnknownMessage { .. } | Refusal::AlreadyTaken { .. } => "read the queue again",
        Refusal::UnknownCommand { .. }
        | Refusal::EmptyMessage
        | Refusal::Impossible { .. }
        | Refusal::Other
        | _ => return None,
    })
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let Self { kind, message, hint, details } = self;
        let id = chance::name();
        let words = match &hint {
            Some(hint) => format!("{message}; {hint}"),
            None => message.clone(),
        };
        let error = ErrorView { id: id.clone(), kind, message, hint, details };
        let mut answer = (kind.status(), Json(ErrorBody { error })).into_response();
        if kind.status() == StatusCode::UNAUTHORIZED {
            let way = HeaderValue::from_static("Bearer realm=\"piton\"");
            answer.headers_mut().insert(header::WWW_AUTHENTICATE, way);
        }
        answer.extensions_mut().insert(Told { id, kind, words });
        answer
    }
}

/// An error with its causes, on one line.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let more = cause.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        source = cause.source();
    }
    text
}

impl From<&StoreError> for Fault {
    fn from(error: &StoreError) -> Self {
        match error {
            StoreError::UnknownConversation(id) => Self::unknown(id.as_str()),
            StoreError::UnknownBlob(_) => Self::not_found(error.to_string()),
            StoreError::BlobSize { .. } | StoreError::Letter { .. } => {
                Self::new(Kind::TooLarge, error.to_string())
            }
            StoreError::ForksTooDeep { .. }
            | StoreError::NewerFormat { .. }
            | StoreError::Damaged { .. }
            | StoreError::DamagedBlob { .. }
            | StoreError::DamagedEntry { .. }
            | StoreError::Full { .. }
            | StoreError::Io { .. }
            | StoreError::Database { .. }
            | StoreError::Closed => {
                Self::new(Kind::Store, with_causes(error)).hint("piton doctor says more")
            }
        }
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::from(&error)
    }
}

impl From<FollowError> for Fault {
    fn from(error: FollowError) -> Self {
        match error {
            FollowError::Unknown(id) => Self::unknown(id.as_str()),
            FollowError::Store(error) => error.into(),
            FollowError::CursorAhead { .. } => Self::bad(error.to_string()),
            FollowError::EngineGone | _ => Self::new(Kind::Stopping, error.to_string()),
        }
    }
}

impl From<&OpenError> for Fault {
    fn from(error: &OpenError) -> Self {
        match error {
            OpenError::Unknown(id) => Self::unknown(id.as_str()),
            OpenError::Workspace { .. } | OpenError::WorkspaceName { .. } => {
                Self::new(Kind::Refused, with_causes(error))
            }
            OpenError::Lease(_) => Self::new(Kind::Busy, error.to_string()),
            OpenError::Store(error) => error.into(),
        }
    }
}

impl From<OpenError> for Fault {
    fn from(error: OpenError) -> Self {
        Self::from(&error)
    }
}

impl From<&SessionError> for Fault {
    fn from(error: &SessionError) -> Self {
        match error {
            SessionError::Shared(error) => Self::from(&**error),
            SessionError::Refused(refusal) => Self::refused(refusal),
            SessionError::Workspace(error) => Self::from(&**error),
            SessionError::Append(AppendError::Store(error)) => error.into(),
            SessionError::Append(error) => Self::new(Kind::Store, error.to_string()),
            SessionError::Incomplete(_)
            | SessionError::EmptyMessage
            | SessionError::Files(_)
            | SessionError::NotAsked(_)
            | SessionError::Tools(_) => Self::new(Kind::Refused, with_causes(error)),
        }
    }
}

impl From<CommandError> for Fault {
    fn from(error: CommandError) -> Self {
        match error {
            CommandError::Open(error) => Self::from(&*error),
            CommandError::Refused(refusal) => Self::refused(&refusal),
            CommandError::SecretElsewhere => Self::new(Kind::Elsewhere, error.to_string())
                .hint("answer it where the turn is performed"),
            CommandError::Failed(error) => Self::from(&*error),
            CommandError::Store(error) => Self::from(&*error),
            CommandError::EngineGone | _ => Self::new(Kind::Stopping, error.to_string()),
        }
    }
}

impl From<ForkError> for Fault {
    fn from(error: ForkError) -> Self {
        match error {
            ForkError::Unknown(id) => Self::unknown(id.as_str()),
            ForkError::NoTurn { .. }
            | ForkError::NoMessage { .. }
            | ForkError::NoEntry { .. }
            | ForkError::NoMessageYet { .. }
            | ForkError::TooDeep(_) => Self::new(Kind::Refused, error.to_string()),
            ForkError::Store(error) => error.into(),
            ForkError::Lease(_) | ForkError::Append(_) | _ => {
                Self::new(Kind::Store, with_causes(&error))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // X18
    #[test]
    fn every_kind_is_a_failure_and_only_our_own_are_the_servers() {
        for kind in [Kind::NoToken, Kind::TooLarge, Kind::Refused, Kind::Busy, Kind::Upgrade] {
            assert!(kind.status().is_client_error(), "{kind:?}");
        }
        for kind in [Kind::Store, Kind::Stopping, Kind::Internal] {
            assert!(kind.status().is_server_error(), "{kind:?}");
        }
    }

    #[test]
    fn an_answer_without_the_error_body_gets_one_and_keeps_its_status() {
        let answer = Fault::instead_of(StatusCode::METHOD_NOT_ALLOWED.into_response());
        assert_eq!(answer.status(), StatusCode::METHOD_NOT_ALLOWED);
        assert_eq!(answer.extensions().get::<Told>().unwrap().kind, Kind::WrongMethod);
        let fine = Fault::instead_of(StatusCode::NO_CONTENT.into_response());
        assert!(fine.extensions().get::<Told>().is_none());
    }
}
