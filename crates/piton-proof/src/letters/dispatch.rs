//! Every command, the conversation that it comes into, and the traces that it leaves.

use piton::{AnswerThen, Command, NewMessage, OnIncomplete, QueueChange, QueuePlace, Reply, Shelf};
use piton_core::event::{ConfigChange, Event, PermissionMode, TurnEnd, UserPart};
use piton_core::id::{InquiryId, MessageId};

/// The message whose turn runs when the command comes.
pub(super) const FIRST: &str = "m0";
/// A message that waits behind it.
pub(super) const WAITING: &str = "m1";
/// The message of the command.
const NEW: &str = "m2";
/// What the first turn asks if it asks.
const QUESTION: &str = "1.1.0.permission.1";
/// A limit that nobody else sets.
const MARK: u32 = 77;
/// A directory that nobody else works in.
const ELSEWHERE: &str = "/usr";

/// A command on its way to a conversation that another process holds.
#[derive(Clone, Debug)]
pub struct Dispatch {
    /// What it shows.
    pub name: &'static str,
    /// The command.
    pub command: Command,
    /// What may run without asking.
    pub mode: PermissionMode,
    /// Whether a message waits behind the running turn.
    pub queued: bool,
}

/// Every command there is.
pub fn every_command() -> Vec<Dispatch> {
    let change = ConfigChange { answer_tokens_max: Some(MARK), ..ConfigChange::default() };
    let answer =
        |then| Command::Answer { inquiry: InquiryId::new(QUESTION), reply: Reply::Allow, then };
    let asking =
        |name, then| Dispatch { mode: PermissionMode::Ask, ..dispatch(name, answer(then)) };
    let queued = |name, command| Dispatch { queued: true, ..dispatch(name, command) };
    vec![
        dispatch("say, or ask", say(OnIncomplete::Ask)),
        dispatch("say, and resume", say(OnIncomplete::Resume)),
        dispatch("say, and inject", say(OnIncomplete::Inject)),
        dispatch("say, and discard", say(OnIncomplete::Discard)),
        dispatch("queue", Command::Queue { message: message() }),
        dispatch("steer", Command::Steer { message: message() }),
        queued("unqueue", Command::Unqueue { message: MessageId::new(WAITING) }),
        queued("edit in the queue", requeue(QueueChange::Parts { parts: message().parts })),
        queued("move in the queue", requeue(QueueChange::Last)),
        queued("steer what waits", requeue(QueueChange::Place { place: QueuePlace::Steer })),
        dispatch("resume", Command::Resume),
        dispatch("retry", Command::Retry { message: MessageId::new(FIRST) }),
        asking("answer, and go on", AnswerThen::GoOn),
        asking("answer, and rest", AnswerThen::Rest),
        dispatch("interrupt", Command::Interrupt),
        dispatch("stop", Command::Stop),
        queued("discard", Command::Discard),
        dispatch("configure", Command::Configure { change: Box::new(change) }),
        dispatch("rename", Command::Rename { title: "Another".into() }),
        dispatch("suggest a title", Command::SuggestTitle { title: "Another".into() }),
        dispatch("shelve", Command::Shelve { shelf: Shelf::Archived }),
        dispatch("rebind", Command::Rebind { workspace: ELSEWHERE.into() }),
        // Refused: one that is taken is the matter of `crate::undo`.
        dispatch("undo", Command::undo("no-such-change")),
    ]
}

fn dispatch(name: &'static str, command: Command) -> Dispatch {
    Dispatch { name, command, mode: PermissionMode::Auto, queued: false }
}

fn requeue(change: QueueChange) -> Command {
    Command::Requeue { message: MessageId::new(WAITING), change }
}

fn message() -> NewMessage {
    NewMessage { id: Some(MessageId::new(NEW)), parts: vec![UserPart::text("and this")] }
}

fn say(on_incomplete: OnIncomplete) -> Command {
    Command::Say { message: message(), on_incomplete, agent: None }
}

impl Dispatch {
    /// How often a journal shows what the command does; `None` if it leaves no trace of its own.
    pub(super) fn traces(&self, events: &[Event]) -> Option<usize> {
        let is_new = |id: &MessageId| *id == MessageId::new(NEW);
        let count = |is: &dyn Fn(&Event) -> bool| events.iter().filter(|event| is(event)).count();
        let said =
            || count(&|it| matches!(it, Event::UserMessage { message, .. } if is_new(message)));
        let ended =
            |end| count(&|it| matches!(it, Event::TurnEnded { end: got, .. } if *got == end));
        Some(match &self.command {
            Command::Say { .. } | Command::Queue { .. } | Command::Steer { .. } => said(),
            Command::Unqueue { .. } => count(&|it| matches!(it, Event::MessageUnqueued { .. })),
            Command::Requeue { .. } => count(&|it| matches!(it, Event::MessageRequeued { .. })),
            Command::Retry { .. } => count(&|it| matches!(it, Event::MessageRetried { .. })),
            Command::Answer { inquiry, .. } => count(
                &|it| matches!(it, Event::InquiryAnswered { inquiry: got, .. } if got == inquiry),
            ),
            Command::Stop => ended(TurnEnd::Stopped),
            Command::Discard => ended(TurnEnd::Discarded),
            Command::Configure { .. } => count(&|it| {
                let Event::ConfigChanged { change } = it else { return false };
                change.answer_tokens_max == Some(MARK)
            }),
            Command::Rename { .. } | Command::SuggestTitle { .. } => {
                count(&|it| matches!(it, Event::TitleGiven { .. }))
            }
            Command::Shelve { .. } => count(&|it| matches!(it, Event::ConversationShelved { .. })),
            Command::Rebind { .. } => count(&|it| matches!(it, Event::WorkspaceBound { .. })),
            Command::Undo { .. } => count(&|it| matches!(it, Event::UndoStarted { .. })),
            // A kill may take the interrupt's effect, and a resume that finds a turn running has none.
            Command::Resume | Command::Interrupt | _ => return None,
        })
    }

    /// Whether another sender may do the same: then a refusal leaves a trace, too.
    pub(super) fn is_anybodys(&self) -> bool {
        matches!(self.command, Command::Answer { .. })
    }
}
