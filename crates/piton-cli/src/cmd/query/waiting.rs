//! Messages that wait for a turn of their own, and commands that other processes left.

use std::path::Path;

use piton::{Command, Refusal, check_workspace};
use piton_core::id::ConversationId;
use piton_core::summary::shorten;
use piton_core::view::{CallState, CallView, QueuedView, TurnEnd};

use super::asked::Asked;
use super::errand::Errand;
use super::held::{self, Place};
use super::mail::Mail;
use super::opened::{Life, Opened};
use super::requeue::place_behind;
use super::stage::Stage;
use crate::ask::held::{WaitingChoice, choose_waiting, waiting_menu};
use crate::render::incomplete::Newest;
use crate::render::moves;
use crate::render::turn;
use crate::report::{Fault, InputFault, LetterFault, Report};

/// Longest text that is shown of a message that waits, in letters.
const MESSAGE_LETTERS_MAX: usize = 60;

/// Binds the conversation to another directory, if that is wanted. Reports what was bound.
pub(super) async fn bind(
    opened: &mut Opened,
    asked: &Asked<'_>,
    stage: &mut Stage<'_>,
) -> Result<Option<Report>, Fault> {
    let Some(directory) = asked.query.workspace.as_ref().filter(|_| opened.life == Life::Known)
    else {
        return Ok(None);
    };
    let here = std::path::absolute(directory).unwrap_or_else(|_| directory.clone());
    let workspace = here.to_string_lossy().into_owned();
    let rebind = Command::Rebind { workspace };
    if let Err(fault) = obey(opened, asked, rebind, "the conversation stays where it is").await {
        let in_doubt =
            matches!(fault, Fault::Letter(LetterFault::Refused { refusal: Refusal::InDoubt, .. }));
        return Err(nowhere(opened).filter(|_| in_doubt).unwrap_or(fault));
    }
    let (id, bound) = (opened.conversation.id(), &opened.view.head.workspace);
    let said = format!("Conversation {id} works in {bound} from now on.");
    stage.output.talk(&said);
    Ok(Some(Report::ok("done").about(id, None)))
}

/// How it stands with a message that was left for another process.
pub(super) enum OfLeft {
    /// None was left, or it is not there.
    Nothing,
    /// It waits, and runs here.
    Errand(Errand),
    /// Its turn is over.
    Done(Report),
}

/// What to do about the message of this query, if it was left for another process and waits now that
/// nobody is there.
pub(super) fn of_left(
    opened: &Opened,
    mail: &mut Mail,
    stage: &mut Stage<'_>,
) -> Result<OfLeft, Fault> {
    let Some(name) = mail.left().cloned() else { return Ok(OfLeft::Nothing) };
    let view = &opened.view;
    mail.see_in(view);
    if let Place::In(turn) = held::place(view, &name) {
        stage.output.talk("Another process has run the message.");
        let id = opened.conversation.id();
        held::show(&moves::of_turn(turn), id, stage);
        let report = match turn.head.end {
            Some(TurnEnd::Completed) => Report::ok("done"),
            Some(TurnEnd::Stopped | TurnEnd::Discarded) => Report::ok("closed"),
            None => {
                let turn = Newest::of(view).ok_or(InputFault::NoText)?;
                let (conversation, turn) = (id.clone(), Box::new(turn));
                return Err(Fault::Incomplete { conversation, turn });
            }
        };
        return Ok(OfLeft::Done(report.about(id, Some(turn)).kept_in(id.clone())));
    }
    if !view.queue.iter().any(|queued| queued.id == name) {
        return Ok(OfLeft::Nothing);
    }
    match view.head.open.and_then(|_| Newest::of(view)) {
        None => {
            stage.output.talk("That process has left; the message runs here.");
            Ok(OfLeft::Errand(Errand::Release))
        }
        Some(turn) => {
            let conversation = opened.conversation.id().clone();
            let turn = Box::new(turn);
            Err(LetterFault::Waits { conversation, turn }.into())
        }
    }
}

/// Asks a person what becomes of the messages that wait.
pub(super) async fn choose(
    id: &ConversationId,
    queue: &[QueuedView],
    stage: &mut Stage<'_>,
) -> Result<WaitingChoice, Fault> {
    stage.output.talk(&format!("Messages wait in conversation {id}."));
    tell(queue, stage);
    Ok(choose_waiting(stage.choose(&waiting_menu()).await?))
}

/// Takes the messages back that wait.
pub(super) async fn take_back(opened: &mut Opened, asked: &Asked<'_>) -> Result<(), Fault> {
    for QueuedView { id: message, .. } in opened.view.queue.clone() {
        obey(opened, asked, Command::Unqueue { message }, "a message was not taken back").await?;
    }
    Ok(())
}

/// Puts the message behind the open turn. Flags count for the turn in front of it.
pub(super) async fn queue(
    opened: &Opened,
    asked: &Asked<'_>,
    mail: &mut Mail,
) -> Result<(), Fault> {
    let message = mail.leave(opened).await?;
    let mut envelope = asked.envelope(Command::Queue { message })?;
    envelope.from.flags = None;
    if let Err(error) = opened.conversation.start(envelope).await {
        mail.come_back();
        return Err(opened.fault(error, "the message was not taken"));
    }
    mail.arrived();
    Ok(())
}

/// Leaves the message behind an incomplete turn, which stays as it is. For a chat.
pub(super) async fn leave(
    opened: &Opened,
    asked: &Asked<'_>,
    mail: &mut Mail,
    stage: &mut Stage<'_>,
) -> Result<Report, Fault> {
    queue(opened, asked, mail).await?;
    let place = match place_behind(opened.view.queue.len()) {
        place if place.is_empty() => place,
        place => format!(" ({place})"),
    };
    stage.output.talk(&format!(
        "Queued behind the incomplete turn{place}. /continue goes on with the turn, /queue shows what waits."
    ));
    let accepted = Report::ok("accepted").about(opened.conversation.id(), None);
    Ok(accepted)
}

/// Why neither going on nor another directory helps: a call is in doubt, and the directory is gone in
/// which it would be settled. None if no call is.
pub(super) fn nowhere(opened: &Opened) -> Option<Fault> {
    let in_doubt = |call: &CallView| match call.state {
        CallState::Running | CallState::InDoubt | CallState::Parked { .. } => true,
        CallState::Waiting | CallState::Done { .. } | _ => false,
    };
    let workspace = &opened.view.head.workspace;
    if check_workspace(Path::new(workspace)).is_ok() {
        return None;
    }
    opened.view.open_turn()?.calls().find(|call| in_doubt(call))?;
    let conversation = opened.conversation.id().clone();
    Some(LetterFault::Nowhere { conversation, workspace: workspace.clone() }.into())
}

/// Shows messages that wait.
pub(super) fn tell(queue: &[QueuedView], stage: &mut Stage<'_>) {
    for queued in queue {
        let said = shorten(&turn::said(&queued.parts), MESSAGE_LETTERS_MAX);
        stage.output.talk(&format!("Waiting: {said}"));
    }
}

/// What is said when messages that wait go first.
pub(super) fn note(waiting: usize, errand: Errand) -> Option<String> {
    match (waiting, errand) {
        (0, _) | (_, Errand::Retry) => None,
        (1, Errand::Send(_)) => {
            Some("A message was waiting: it goes first, and yours comes after it.".into())
        }
        (more, Errand::Send(_)) => Some(format!(
            "{more} messages were waiting: they go first, and yours comes after them."
        )),
        (1, Errand::Resume | Errand::Release) => Some("The message that waits goes now.".into()),
        (more, Errand::Resume | Errand::Release) => {
            Some(format!("The {more} messages that wait go now."))
        }
    }
}

/// There is no open turn that a message could go into.
pub(super) fn nothing_to_steer(opened: &Opened) -> Fault {
    let (what, refusal) = ("the message steers nothing", Refusal::NoOpenTurn);
    let conversation = opened.conversation.id().clone();
    LetterFault::Refused { what, refusal, conversation }.into()
}

/// Has a command recorded; `what` says what does not happen if it is refused.
async fn obey(
    opened: &mut Opened,
    asked: &Asked<'_>,
    command: Command,
    what: &'static str,
) -> Result<(), Fault> {
    let work = opened.conversation.start(asked.envelope(command)?).await;
    work.map_err(|error| opened.fault(error, what))?;
    opened.look().await
}
