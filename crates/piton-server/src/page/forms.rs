//! What is pressed on the page becomes a command. Its name is made of what is shown, so two tabs that
//! press the same button send one command.

use std::path::PathBuf;

use axum::extract::{Path, State};
use piton::id::{CommandId, InquiryId, MessageId, TurnId};
use piton::view::{ItemView, ModelRef, PermissionMode, Status, TurnView};
use piton::{
    Command, Conversation, ConversationId, Envelope, ForkAt, NewMessage, OnIncomplete, Shelf,
    UserPart, Verdict, View, reader,
};
use piton_agent::{Dollars, Overrides};
use piton_core::command::ConfigChange;
use piton_core::id::Timestamp;
use serde::Deserialize;

use super::answer::reply;
use super::attended::{post, stay};
use super::files::mentioned;
use super::form::{Done, Form};
use crate::access::Who;
use crate::api::blobs::file_name;
use crate::api::input::{FileInput, overrides, parts};
use crate::api::questions;
use crate::api::receipt::{envelope, with_overrides};
use crate::chance;
use crate::fault::{Fault, Kind};
use crate::shared::Shared;

/// A message that begins a conversation.
pub(super) async fn begin(
    State(shared): State<Shared>,
    who: Who,
    form: Form,
) -> Result<Done, Fault> {
    let directory = shared.parts.opened.place(form.get("directory"))?;
    let conversation = shared.engine().begin(&directory)?;
    let message = message(&shared, &conversation, directory, &form).await?;
    let mut overrides = overrides(&shared, form.get("model"))?;
    overrides.permissions = form.get("permissions").map(mode).transpose()?;
    let envelope = with_overrides(envelope(&who, None, Command::say(message))?, &overrides);
    post(&shared, &conversation, envelope).await?;
    Ok(form.leads_to(&format!("/c/{}", conversation.id())))
}

/// A message.
pub(super) async fn say(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    who: Who,
    form: Form,
) -> Result<Done, Fault> {
    let here = shared.workspace(&id).await?;
    let id = ConversationId::new(id);
    let conversation = shared.engine().conversation(&id);
    let message = message(&shared, &conversation, here, &form).await?;
    let view = shared.engine().view(&id).await?;
    let mut chosen = Overrides::default();
    let command = match form.get("how").unwrap_or("now") {
        "steer" => Command::Steer { message },
        "next" => Command::Queue { message },
        // A turn that stands still goes on with what is said now.
        _ if view.head.open.is_some() => {
            Command::Say { message, on_incomplete: OnIncomplete::Inject, agent: None }
        }
        _ => {
            chosen = choice(&shared, &view, &form)?;
            Command::say(message)
        }
    };
    let envelope = with_overrides(envelope(&who, form.get("id"), command)?, &chosen);
    post(&shared, &conversation, envelope).await?;
    let from = form.get("draft").and_then(|at| at.parse().ok()).map(Timestamp);
    shared.drafts.sent(&id, form.get("text").unwrap_or_default(), from).await;
    Ok(form.done(&format!("/c/{id}")))
}

/// What was chosen beside a message, if it is not what counts already.
fn choice(shared: &Shared, view: &View, form: &Form) -> Result<Overrides, Fault> {
    let mut chosen = overrides(shared, form.get("model"))?;
    chosen.model = chosen.model.filter(|model| view.head.model.as_ref() != Some(model));
    chosen.permissions =
        form.get("permissions").map(mode).transpose()?.filter(|mode| *mode != view.head.mode);
    Ok(chosen)
}

fn mode(word: &str) -> Result<PermissionMode, Fault> {
    let mode = serde_json::from_value(word.into());
    mode.map_err(|_| Fault::bad(format!("there are no permissions {word:?}")))
}

/// A file as the module sends it: uploaded before.
#[derive(Deserialize)]
struct Uploaded {
    blob: String,
    name: String,
}

async fn message(
    shared: &Shared,
    conversation: &Conversation,
    here: PathBuf,
    form: &Form,
) -> Result<NewMessage, Fault> {
    let mut uploaded = Vec::new();
    for text in form.all("blob") {
        let Uploaded { blob, name } = serde_json::from_str(text)
            .map_err(|error| Fault::bad(format!("this is no file: {error}")))?;
        uploaded.push(FileInput { blob, name });
    }
    let text = form.get("text").unwrap_or_default();
    let mut parts: Vec<UserPart> = parts(shared, conversation, text, &uploaded).await?;
    for (name, content) in &form.files {
        parts.push(conversation.attach(&file_name(name), content).await?);
    }
    for (name, content) in mentioned(shared, here, text.to_owned()).await? {
        parts.push(conversation.attach(&name, &content).await?);
    }
    Ok(NewMessage { id: None, parts })
}

/// Goes on with the turn that is shown.
pub(super) async fn go_on(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    who: Who,
    form: Form,
) -> Result<Done, Fault> {
    if form.get("do") == Some("raise") {
        let (verb, raised) = raised(&form)?;
        let pressed = Pressed { verb: &verb, command: Command::Resume, overrides: raised };
        return press(&shared, (&id, &who), &form, pressed).await;
    }
    // Each try that is waited for can be made at once: pressing it again for the next one is another command.
    let view = shared.engine().view(&shared.writable(&id).await?).await?;
    let verb = format!("continue{}", next_try(&view));
    press(&shared, (&id, &who), &form, Pressed::of(&verb, Command::Resume)).await
}

/// A limit that is raised, and the name of doing so: another number is another command.
fn raised(form: &Form) -> Result<(String, Overrides), Fault> {
    let mut raised = Overrides::default();
    let bad = |what: &str| Fault::bad(format!("{what} is a number that is more than 0"));
    let number = if let Some(typed) = form.get("cost") {
        let dollars: Dollars = typed.trim().parse().map_err(|_| bad("a limit of cost"))?;
        raised.microdollars_max = Some(dollars.microdollars());
        dollars.microdollars()
    } else if let Some(typed) = form.get("tokens") {
        let tokens = typed.trim().parse().map_err(|_| bad("a limit of tokens"))?;
        raised.tokens_max = Some(tokens);
        tokens
    } else {
        let typed = form.get("steps").unwrap_or_default();
        let steps: u32 = typed.trim().parse().map_err(|_| bad("a limit of answers"))?;
        raised.steps_max = Some(steps);
        steps.into()
    };
    if number == 0 {
        return Err(bad("a limit"));
    }
    Ok((format!("raise-{number}"), raised))
}

/// Breaks the turn off, or closes it.
pub(super) async fn stop(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    who: Who,
    form: Form,
) -> Result<Done, Fault> {
    let pressed = match form.get("do") {
        Some("end") => Pressed::of("stop", Command::Stop),
        _ => Pressed::of("interrupt", Command::Interrupt),
    };
    press(&shared, (&id, &who), &form, pressed).await
}

/// Closes the turn and hides it.
pub(super) async fn discard(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    who: Who,
    form: Form,
) -> Result<Done, Fault> {
    press(&shared, (&id, &who), &form, Pressed::of("discard", Command::Discard)).await
}

/// What a button of a turn does.
struct Pressed<'a> {
    /// What it is called, in the name of the command.
    verb: &'a str,
    command: Command,
    overrides: Overrides,
}

impl<'a> Pressed<'a> {
    fn of(verb: &'a str, command: Command) -> Self {
        Self { verb, command, overrides: Overrides::default() }
    }
}

/// A button of a turn. A turn that is not the open one any more is left alone: the page was late.
async fn press(
    shared: &Shared,
    (id, who): (&str, &Who),
    form: &Form,
    Pressed { verb, command, overrides }: Pressed<'_>,
) -> Result<Done, Fault> {
    let id = shared.writable(id).await?;
    let view = shared.engine().view(&id).await?;
    let (open, shown) = (view.head.open, form.number("turn").map(TurnId));
    if shown.is_some() && open.is_some() && shown != open {
        return Err(Fault::new(Kind::Refused, "this turn is over").hint("read the page again"));
    }
    let halted = view.open_turn().is_some_and(|turn| turn.head.halt.is_some());
    if halted && matches!(command, Command::Interrupt) {
        // It stands still already: another tab, or the turn itself, was faster.
        return Ok(form.done(&format!("/c/{id}")));
    }
    let conversation = shared.engine().conversation(&id);
    let name = format!("page-{verb}-{}", moment(&view));
    let envelope = named(&conversation, who, name, command).await?;
    post(shared, &conversation, with_overrides(envelope, &overrides)).await?;
    Ok(form.done(&format!("/c/{id}")))
}

/// What is shown of the open turn, as a name: another one after each start of a driver and each break.
fn moment(view: &View) -> String {
    let turn = view.open_turn();
    let number = turn.map_or(0, |turn| turn.head.id.0);
    let halt = turn.and_then(|turn| turn.head.halt.as_ref()).map_or(0, |halt| halt.at.0);
    let driver = view.head.driver.as_ref().map_or("", |driver| driver.as_str());
    format!("{number}-{driver}-{halt}")
}

/// The try that the open turn waits for, as a part of a name; nothing if it waits for none.
fn next_try(view: &View) -> String {
    let step = view.open_turn().and_then(|turn| turn.steps().next_back());
    let tried = step.and_then(|step| Some((step, step.failure.as_ref()?.next_try?)));
    tried.map_or_else(String::new, |(step, at)| format!("-{}-{}", step.number, at.0))
}

/// A command under a name that is made of what is shown. One that was refused can be pressed again: what
/// it was refused for may be mended.
async fn named(
    conversation: &Conversation,
    who: &Who,
    name: String,
    command: Command,
) -> Result<Envelope, Fault> {
    let known = conversation.verdict(&CommandId::new(name.clone())).await?;
    let name = match known {
        Some(Verdict::Refused(_)) => format!("{name}-{}", chance::name()),
        Some(Verdict::Taken) | None => name,
    };
    envelope(who, Some(&name), command)
}

/// Tries a message again, with the model that is chosen beside the button: one command.
pub(super) async fn retry(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    who: Who,
    form: Form,
) -> Result<Done, Fault> {
    let id = shared.writable(&id).await?;
    let message = form.message()?;
    let view = shared.engine().view(&id).await?;
    let attempt = attempt(&view, &message);
    let back = format!("/c/{id}");
    if let (Some(shown), Some(now)) = (form.number("attempt"), attempt)
        && shown < now
    {
        // Another tab has pressed it.
        return Ok(form.done(&back));
    }
    let chosen = choice(&shared, &view, &form)?;
    let conversation = shared.engine().conversation(&id);
    let model = chosen.model.as_ref().map(ModelRef::to_string).unwrap_or_default();
    let digest = chance::digest(&format!("{message} {model}"));
    let name = format!("page-retry-{}-{:.16}", attempt.unwrap_or_default(), digest);
    let envelope = named(&conversation, &who, name, Command::Retry { message }).await?;
    post(&shared, &conversation, with_overrides(envelope, &chosen)).await?;
    Ok(form.done(&back))
}

/// Which try of a message is shown.
fn attempt(view: &View, message: &MessageId) -> Option<u32> {
    let mut items = view.turns.iter().rev().flat_map(|turn: &TurnView| &turn.items);
    items.find_map(|item| match item {
        ItemView::Message(said) => (said.id == *message).then_some(said.attempt.0),
        ItemView::Step(_) | _ => None,
    })
}

/// Answers a question.
pub(super) async fn answer(
    State(shared): State<Shared>,
    Path((id, question)): Path<(String, String)>,
    who: Who,
    form: Form,
) -> Result<Done, Fault> {
    let id = shared.writable(&id).await?;
    let inquiry = InquiryId::new(question);
    let view = shared.engine().view(&id).await?;
    let Some(asked) = view.question(&inquiry) else {
        return Err(Fault::not_found("there is no such question"));
    };
    let reply = reply(&form, asked)?;
    let command = Command::answer(inquiry.clone(), reply.clone());
    let envelope = if reply.secret().is_some() {
        // Nothing that is kept may be made of a secret.
        envelope(&who, None, command)?
    } else {
        let said = serde_json::to_string(&reply).unwrap_or_default();
        let digest = chance::digest(&format!("{inquiry} {said}"));
        let name = format!("page-answer-{digest:.16}");
        named(&shared.engine().conversation(&id), &who, name, command).await?
    };
    stay(&shared, &shared.engine().conversation(&id));
    questions::send(&shared, &id, envelope).await?;
    Ok(form.done(&format!("/c/{id}")))
}

/// Sets who answers, and what may run without asking, from now on.
pub(super) async fn configure(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    who: Who,
    form: Form,
) -> Result<Done, Fault> {
    let id = shared.writable(&id).await?;
    let view = shared.engine().view(&id).await?;
    let chosen = choice(&shared, &view, &form)?;
    let mut change = ConfigChange { model: chosen.model, ..ConfigChange::default() };
    if let Some(mode) = chosen.permissions {
        let state = reader::state(&**shared.engine().journal(), &id).await?;
        let mut permissions = state.config.permissions.clone();
        permissions.mode = mode;
        change.permissions = Some(permissions);
    }
    if !change.is_empty() {
        let command = Command::Configure { change: Box::new(change) };
        simple(&shared, &id, &who, command).await?;
        let is_asked = |view: &View| matches!(view.head.status, Status::WaitingForInput { .. });
        if is_asked(&view) && !is_asked(&shared.engine().view(&id).await?) {
            // What was asked is answered by the new mode.
            simple(&shared, &id, &who, Command::Resume).await?;
        }
    }
    Ok(form.done(&format!("/c/{id}")))
}

/// Forks the conversation behind a turn.
pub(super) async fn fork(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    who: Who,
    form: Form,
) -> Result<Done, Fault> {
    let id = shared.writable(&id).await?;
    let at = form.number("turn").map_or(ForkAt::End, |turn| ForkAt::Turn(TurnId(turn)));
    let fork = shared.engine().fork(&id, &at, None).await?;
    mark(&shared, fork.id(), &who).await?;
    Ok(form.leads_to(&format!("/c/{}", fork.id())))
}

/// Says in the title of a fork that it is one: in the list it stands beside its original.
pub(super) async fn mark(shared: &Shared, fork: &ConversationId, who: &Who) -> Result<(), Fault> {
    const MARK: &str = "Fork: ";
    let title = shared.engine().view(fork).await?.head.title;
    if title.is_empty() || title.starts_with(MARK) {
        return Ok(());
    }
    simple(shared, fork, who, Command::Rename { title: format!("{MARK}{title}") }).await
}

/// Gives the conversation another title.
pub(super) async fn rename(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    who: Who,
    form: Form,
) -> Result<Done, Fault> {
    let id = shared.writable(&id).await?;
    let title = form.get("title").ok_or_else(|| Fault::bad("the title is empty"))?;
    simple(&shared, &id, &who, Command::Rename { title: title.trim().to_owned() }).await?;
    Ok(form.done(&format!("/c/{id}")))
}

/// Puts the conversation away, or lists it again.
pub(super) async fn archive(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    who: Who,
    form: Form,
) -> Result<Done, Fault> {
    let id = shared.writable(&id).await?;
    let shelf = match form.get("do") {
        Some("list") => Shelf::Listed,
        _ => Shelf::Archived,
    };
    simple(&shared, &id, &who, Command::Shelve { shelf }).await?;
    Ok(form.leads_to("/"))
}

/// A command under a new name.
pub(super) async fn simple(
    shared: &Shared,
    id: &ConversationId,
    who: &Who,
    command: Command,
) -> Result<(), Fault> {
    let envelope = envelope(who, None, command)?;
    post(shared, &shared.engine().conversation(id), envelope).await.map(drop)
}
