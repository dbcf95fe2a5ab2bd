//! What clients send with several requests: messages, files, models.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use piton::id::MessageId;
use piton::store::StoreError;
use piton::{Command, Conversation, ConversationId, NewMessage, OnIncomplete, UserPart};
use piton_agent::{ModelError, Overrides};
use piton_core::id::Digest;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::blobs::file_name;
use crate::access::Who;
use crate::fault::{Fault, Kind, with_causes};
use crate::limits::NAME_LETTERS_MAX;
use crate::shared::Shared;

/// A message.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct MessageInput {
    /// The name of the command, chosen by the client: sending it twice is sending it once.
    #[schema(pattern = "^[A-Za-z0-9_.:-]{1,120}$")]
    pub(crate) id: Option<String>,
    /// What is said.
    pub(crate) text: String,
    /// Files that go along, uploaded before.
    pub(crate) files: Vec<FileInput>,
    /// When it counts.
    pub(crate) place: Place,
    /// What becomes of a turn that is not over, if it counts now.
    pub(crate) on_incomplete: Incomplete,
    /// Who answers from now on, as in `provider/model`. Only for a message that begins a turn.
    pub(crate) model: Option<String>,
    /// Whether the answer is waited for. Leaving meanwhile stops nothing.
    pub(crate) wait: bool,
}

/// A file of a message.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileInput {
    /// The digest that the upload gave.
    #[schema(pattern = "^[0-9a-f]{64}$")]
    pub(crate) blob: String,
    /// Its name.
    pub(crate) name: String,
}

/// When a message counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Place {
    /// It begins a turn.
    #[default]
    Now,
    /// It begins a turn when the open one is complete.
    Next,
    /// It joins the open turn before its next request.
    Steer,
}

/// What becomes of a turn that is not over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Incomplete {
    /// The message is refused.
    #[default]
    Ask,
    /// The turn is finished first.
    Resume,
    /// The message joins it.
    Inject,
    /// The turn is discarded.
    Discard,
}

impl From<Incomplete> for OnIncomplete {
    fn from(incomplete: Incomplete) -> Self {
        match incomplete {
            Incomplete::Ask => Self::Ask,
            Incomplete::Resume => Self::Resume,
            Incomplete::Inject => Self::Inject,
            Incomplete::Discard => Self::Discard,
        }
    }
}

impl MessageInput {
    /// The command that says it.
    pub(crate) async fn command(
        &self,
        shared: &Shared,
        conversation: &Conversation,
    ) -> Result<Command, Fault> {
        let parts = parts(shared, conversation, &self.text, &self.files).await?;
        let message = NewMessage { id: None::<MessageId>, parts };
        Ok(match self.place {
            Place::Now => {
                Command::Say { message, on_incomplete: self.on_incomplete.into(), agent: None }
            }
            Place::Next => Command::Queue { message },
            Place::Steer => Command::Steer { message },
        })
    }
}

/// What a message consists of.
pub(crate) async fn parts(
    shared: &Shared,
    conversation: &Conversation,
    text: &str,
    files: &[FileInput],
) -> Result<Vec<UserPart>, Fault> {
    let mut parts = Vec::new();
    if !text.trim().is_empty() {
        parts.push(UserPart::text(text));
    }
    for FileInput { blob, name } in files {
        let digest = Digest::new(blob.clone());
        let content = match shared.engine().journal().blob(&digest).await {
            Err(StoreError::UnknownBlob(_)) => return Err(no_file(blob)),
            content => content?,
        };
        parts.push(conversation.attach(&file_name(name), &content).await?);
    }
    Ok(parts)
}

/// Not "not found": the path of the request is there, what its body names is not.
fn no_file(blob: &str) -> Fault {
    let message = format!("the file {blob} is not kept here");
    Fault::new(Kind::Refused, message).hint("upload it first: POST /api/v1/blobs")
}

/// What counts for one command: who answers.
pub(crate) fn overrides(shared: &Shared, model: Option<&str>) -> Result<Overrides, Fault> {
    let typed = model.map(|typed| shared.parts.agent.parse_model(typed));
    let model = typed.transpose().map_err(|error| no_model(&error))?;
    Ok(Overrides { model, ..Overrides::default() })
}

/// A model that is not known, or that cannot be asked.
pub(crate) fn no_model(error: &ModelError) -> Fault {
    Fault::new(Kind::Refused, with_causes(error)).hint("GET /api/v1/models lists models")
}

/// A name of a conversation that a client makes up: as ours are.
pub(crate) fn conversation_name(name: &str) -> Result<ConversationId, Fault> {
    let is_letter = |c: char| c.is_ascii_digit() || c.is_ascii_lowercase();
    if name.len() != ID_LETTERS || !name.chars().all(is_letter) {
        let message = format!("a conversation's name has {ID_LETTERS} small letters and digits");
        return Err(Fault::bad(message));
    }
    Ok(ConversationId::new(name))
}

/// How many of something a client gets: as many as it asks for, or the usual number.
pub(crate) fn how_many(asked: Option<usize>, usual: usize, most: usize) -> Result<usize, Fault> {
    match asked {
        None => Ok(usual),
        Some(asked) if (1..=most).contains(&asked) => Ok(asked),
        Some(asked) => {
            Err(Fault::bad(format!("the limit is {asked}; it has to be from 1 to {most}")))
        }
    }
}

/// Letters of a conversation's name.
const ID_LETTERS: usize = 10;
const _: () = assert!(ID_LETTERS < NAME_LETTERS_MAX);

impl<S: Send + Sync> FromRequestParts<S> for Who {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Fault> {
        // The guard has put it there.
        let who = parts.extensions.get::<Self>().cloned();
        who.ok_or_else(|| Fault::new(Kind::NoToken, "this request has no token"))
    }
}
