//! Questions that wait for a person, and their answers.

use std::path::Path as FilePath;

use axum::Json;
use axum::extract::{Path, State};
use piton::id::{CommandId, InquiryId};
use piton::list::Activity;
use piton::view::{QuestionView, RuleScope, Status, TurnView};
use piton::{AnswerThen, Command, ConversationId, Envelope, FollowError, Reply, Stage, View};
use piton_agent::rules::file;
use piton_core::question::Secret;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::receipt::{Receipt, Word, envelope, post};
use crate::access::Who;
use crate::body::JsonBody;
use crate::fault::{ErrorBody, Fault, Kind, with_causes};
use crate::forms::of_core;
use crate::limits::ACTIVITY_EVERY;
use crate::shared::Shared;

/// Questions that wait.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Questions {
    /// In the order in which they were raised; those of workers behind those of the conversation.
    questions: Vec<Asked>,
}

/// A question.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Asked {
    /// The conversation that asks: this one, or that of one of its workers. An answer goes there.
    conversation: String,
    /// The question, as in a view.
    #[schema(schema_with = of_core::<QuestionView>)]
    question: QuestionView,
}

/// Read what is asked
#[utoipa::path(
    get,
    path = "/conversations/{id}/questions",
    operation_id = "list_questions",
    tag = "questions",
    params(("id" = String, Path, description = "the conversation")),
    responses(
        (status = 200, description = "open questions", body = Questions),
        ErrorBody,
    )
)]
pub(crate) async fn list(
    State(shared): State<Shared>,
    Path(id): Path<String>,
) -> Result<Json<Questions>, Fault> {
    let id = shared.known(&id).await?;
    let mut questions = Vec::new();
    for (asker, view) in askers(&shared, &id).await? {
        questions.extend(
            view.open_questions().map(|question| Asked {
                conversation: asker.to_string(),
                question: question.clone(),
            }),
        );
    }
    Ok(Json(Questions { questions }))
}

/// The conversation and its workers that are at work.
async fn askers(
    shared: &Shared,
    id: &ConversationId,
) -> Result<Vec<(ConversationId, View)>, Fault> {
    let own = shared.engine().view(id).await?;
    let calls = own.open_turn().into_iter().flat_map(TurnView::calls);
    let open = calls.filter(|call| call.ended.is_none());
    let workers: Vec<_> = open.filter_map(|call| call.worker.clone()).collect();
    let mut askers = vec![(id.clone(), own)];
    for worker in workers {
        match shared.engine().view(&worker).await {
            // A worker that has not begun asks nothing.
            Err(FollowError::Unknown(_)) => {}
            view => askers.push((worker, view?)),
        }
    }
    Ok(askers)
}

/// An answer.
#[derive(Deserialize, ToSchema)]
#[serde(untagged, expecting = "an answer is either a reply or a secret")]
pub(crate) enum AnswerInput {
    /// In words that are recorded.
    Reply(ReplyInput),
    /// In words that are not.
    Secret(SecretInput),
}

/// An answer that is recorded.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReplyInput {
    /// The name of the command, chosen by the client: sending it twice is sending it once.
    #[schema(pattern = "^[A-Za-z0-9_.:-]{1,120}$")]
    id: Option<String>,
    /// What is answered: `{"kind":"allow"}`.
    #[schema(schema_with = of_core::<Reply>)]
    reply: Reply,
    /// Whether the answer is kept, and a turn that nobody performs stays as it is.
    #[serde(default)]
    rest: bool,
}

/// A secret that a tool wants to know. It is told to the tool, and written nowhere.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SecretInput {
    /// The name of the command, chosen by the client: sending it twice is sending it once.
    #[schema(pattern = "^[A-Za-z0-9_.:-]{1,120}$")]
    id: Option<String>,
    /// The secret.
    secret: String,
    /// Whether the answer is kept, and a turn that nobody performs stays as it is.
    #[serde(default)]
    rest: bool,
}

/// Answer a question
///
/// A standing answer for a project or for the user is written into the settings first.
#[utoipa::path(
    post,
    path = "/conversations/{id}/questions/{question}/answer",
    operation_id = "answer_question",
    tag = "questions",
    params(
        ("id" = String, Path, description = "the conversation that asks"),
        ("question" = String, Path, description = "the question"),
    ),
    request_body = AnswerInput,
    responses(Receipt)
)]
pub(crate) async fn answer(
    State(shared): State<Shared>,
    Path((id, question)): Path<(String, String)>,
    who: Who,
    JsonBody(input): JsonBody<AnswerInput>,
) -> Result<Receipt, Fault> {
    let id = shared.writable(&id).await?;
    let (name, reply, rest) = match input {
        AnswerInput::Reply(ReplyInput { id, reply, rest }) => (id, reply, rest),
        AnswerInput::Secret(SecretInput { id, secret, rest }) => {
            (id, Reply::Secret(Secret::new(secret)), rest)
        }
    };
    let inquiry = InquiryId::new(question);
    let then = if rest { AnswerThen::Rest } else { AnswerThen::GoOn };
    let envelope = envelope(&who, name.as_deref(), Command::Answer { inquiry, reply, then })?;
    send(&shared, &id, envelope).await
}

/// Sends an answer: keeps the rules that go with it first, and wakes who waits for it.
pub(crate) async fn send(
    shared: &Shared,
    id: &ConversationId,
    envelope: Envelope,
) -> Result<Receipt, Fault> {
    let mut goes_on = false;
    if let Command::Answer { inquiry, reply, then } = &envelope.command {
        keep_rules(shared, id, inquiry, reply).await?;
        goes_on = *then == AnswerThen::GoOn;
    }
    let receipt = post(shared, &shared.engine().conversation(id), envelope.clone()).await?;
    if goes_on && receipt.verdict == Word::Taken {
        wake_parent(shared, id, &envelope).await?;
    }
    Ok(receipt)
}

/// Writes the rules of a decision that is for other conversations too, before it is answered.
async fn keep_rules(
    shared: &Shared,
    id: &ConversationId,
    inquiry: &InquiryId,
    reply: &Reply,
) -> Result<(), Fault> {
    let Some(standing) = reply.standing() else { return Ok(()) };
    if standing.scope == RuleScope::Conversation {
        return Ok(());
    }
    let view = shared.engine().view(id).await?;
    let Some(asked) = view.open_questions().find(|asked| asked.id == *inquiry) else {
        // It is answered already, or never was asked: the conversation says so.
        return Ok(());
    };
    let fits =
        |it: &&piton::view::Always| it.effect == standing.effect && it.scope == standing.scope;
    let rules = if let Reply::Keep(rules) = reply {
        rules.clone()
    } else if let Some(always) = asked.always.iter().find(fits) {
        always.rules.clone()
    } else {
        return Err(Fault::new(Kind::Refused, "no such rule is offered for this call"));
    };
    let Some(path) = shared.parts.agent.settings().file.clone() else {
        return Err(Fault::new(Kind::Refused, "there is no settings file to keep the rule in"));
    };
    let workspace = view.head.workspace.clone();
    let writing = tokio::task::spawn_blocking(move || {
        let place = FilePath::new(&workspace);
        let rules: Vec<_> = rules.iter().map(|rule| (rule, place)).collect();
        file::add(&path, &rules)
    });
    match writing.await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(Fault::new(Kind::Store, with_causes(&error))),
        Err(error) => Err(Fault::new(Kind::Internal, error.to_string())),
    }
}

/// A worker goes on with the conversation that it works for.
async fn wake_parent(shared: &Shared, id: &ConversationId, answer: &Envelope) -> Result<(), Fault> {
    if id.as_worker().is_none() {
        return Ok(());
    }
    let root = id.root();
    let Some(row) = shared.engine().row(&root).await? else { return Ok(()) };
    let name = CommandId::new(format!("{}-go-on", answer.id));
    let (from, command) = (answer.from.clone(), Command::Resume);
    let resume = Envelope { id: name, from, command };
    match row.activity {
        Activity::Nobody => go_on(shared, &root, resume).await,
        // Other calls of its turn are at work: it does not look at this one before they have ended.
        Activity::Here(_) => {
            let shared = shared.clone();
            tokio::spawn(async move {
                if let Err(fault) = go_on_later(&shared, &root, resume).await {
                    tracing::warn!(conversation = root.as_str(), %fault, "turn not resumed");
                }
            });
            Ok(())
        }
        // The process that works on it looks for itself.
        Activity::Elsewhere(_) | _ => Ok(()),
    }
}

/// Resumes a turn as soon as nobody works on it, if it waits for input then.
async fn go_on_later(
    shared: &Shared,
    root: &ConversationId,
    resume: Envelope,
) -> Result<(), Fault> {
    while !shared.stop.is_cancelled() {
        let Some(row) = shared.engine().row(root).await? else { return Ok(()) };
        let is_free = matches!(row.activity, Activity::Nobody | Activity::Here(Stage::Resting));
        if is_free {
            let waits = matches!(row.status, Status::WaitingForInput { .. });
            return if waits { go_on(shared, root, resume).await } else { Ok(()) };
        }
        // Who works on a conversation can change without an entry.
        let grown = shared.engine().journal().wait_past(root, row.end);
        if let Ok(grown) = tokio::time::timeout(ACTIVITY_EVERY, grown).await {
            grown?;
        }
    }
    Ok(())
}

async fn go_on(shared: &Shared, root: &ConversationId, resume: Envelope) -> Result<(), Fault> {
    match shared.engine().conversation(root).post(resume).await {
        // Somebody was faster, or the turn is over: the answer counts all the same.
        Ok(_) | Err(piton::CommandError::Refused(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
