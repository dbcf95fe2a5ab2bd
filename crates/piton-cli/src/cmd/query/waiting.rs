//! Messages that wait for a turn of their own, and commands that other processes left.

use piton::chance::{Chance as _, SystemChance};
use piton::{Command, Envelope, OnIncomplete, Session, Verdict};
use piton_core::id::CommandId;
use piton_core::summary::shorten;
use piton_core::view::{QueuedView, View};

use super::Errand;
use super::mail::Mail;
use super::open::{Life, Opened};
use super::perform::Stage;
use crate::ask::held::{WAITING_MENU, WaitingChoice, choose_waiting, waiting_menu_takes};
use crate::ask::not_understood;
use crate::flags::Query;
use crate::render::incomplete::Newest;
use crate::render::turn;
use crate::report::{Fault, LetterFault, Report};

/// Longest text that is shown of a message that waits, in letters.
const MESSAGE_LETTERS_MAX: usize = 60;

/// Takes in what other processes left, and binds the conversation to another directory if that is
/// wanted. Reports what was bound.
pub(super) async fn take_in(
    opened: &mut Opened,
    query: &Query,
    stage: &mut Stage<'_>,
) -> Result<Option<Report>, Fault> {
    if opened.life != Life::Known {
        return Ok(None);
    }
    opened.session.take_letters().await?;
    let Some(directory) = &query.workspace else { return Ok(None) };
    let here = std::path::absolute(directory).unwrap_or_else(|_| directory.clone());
    let workspace = here.to_string_lossy().into_owned();
    obey(opened, Command::Rebind { workspace }, "the conversation stays where it is").await?;
    let id = opened.session.conversation();
    let bound = opened.session.state().workspace();
    let said = format!("Conversation {id} works in {bound} from now on.");
    stage.output.talk(&said);
    Ok(Some(Report::ok("done")))
}

/// What to do about the message of this query, if it was left for another process and waits now that
/// nobody is there.
pub(super) fn of_left(
    opened: &Opened,
    mail: &mut Mail,
    stage: &mut Stage<'_>,
) -> Result<Option<Errand>, Fault> {
    let Some(name) = mail.left() else { return Ok(None) };
    let state = opened.session.state();
    if !state.queue.iter().any(|queued| queued.message == *name) {
        return Ok(None);
    }
    let view = View::from(state);
    mail.see_in(&view);
    match view.head.open.and_then(|_| Newest::of(&view)) {
        None => {
            stage.output.talk("That process has left; the message runs here.");
            Ok(Some(Errand::Release))
        }
        Some(turn) => {
            let conversation = opened.session.conversation().clone();
            let turn = Box::new(turn);
            Err(LetterFault::Waits { conversation, turn }.into())
        }
    }
}

/// Asks a person what becomes of the messages that wait.
pub(super) async fn choose(opened: &mut Opened, stage: &mut Stage<'_>) -> Result<Errand, Fault> {
    let id = opened.session.conversation().clone();
    let queue = View::from(opened.session.state()).queue;
    stage.output.talk(&format!("Messages wait in conversation {id}."));
    tell(&queue, stage);
    let mut unclear = String::new();
    loop {
        let line = stage.ask(&format!("{unclear}{WAITING_MENU}")).await?;
        match choose_waiting(&line) {
            Some(WaitingChoice::First) => return Ok(Errand::Send(OnIncomplete::Ask)),
            Some(WaitingChoice::Keep) => return Err(Fault::LeftAlone),
            Some(WaitingChoice::Drop) => break,
            None => unclear = not_understood(&waiting_menu_takes()),
        }
    }
    for QueuedView { id: message, .. } in queue {
        obey(opened, Command::Unqueue { message }, "a message was not taken back").await?;
    }
    Ok(Errand::Send(OnIncomplete::Ask))
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
        (0, _) => None,
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
    let (what, refusal) = ("the message steers nothing", piton::Refusal::NoOpenTurn);
    let conversation = opened.session.conversation().clone();
    LetterFault::Refused { what, refusal, conversation }.into()
}

/// Has a command recorded by the session that is open here.
async fn obey(opened: &mut Opened, command: Command, what: &'static str) -> Result<(), Fault> {
    let Opened { engine, session, .. } = opened;
    let name = CommandId::from_chance(SystemChance.next());
    let conversation = engine.conversation(session.conversation());
    let envelope = Envelope::new(name.clone(), command);
    conversation.leave(&envelope).await.map_err(LetterFault::from)?;
    session.take_letters().await?;
    match verdict(session, &name) {
        Some(Verdict::Refused(refusal)) => {
            let conversation = session.conversation().clone();
            Err(LetterFault::Refused { what, refusal, conversation }.into())
        }
        Some(Verdict::Taken) | None => Ok(()),
    }
}

fn verdict(session: &Session, name: &CommandId) -> Option<Verdict> {
    session.state().commands.get(name).map(|(_, verdict)| verdict.clone())
}
