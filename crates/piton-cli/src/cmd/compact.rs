//! `piton compact`: sums up the older part of a conversation. `piton uncompact` takes the summary off.

use std::sync::Arc;
use std::time::Duration;

use piton::chance::{Chance as _, SystemChance};
use piton::{
    Accepted, Command, CommandError, Conversation, Engine, Envelope, Toolbox, Verdict, Work, reader,
};
use piton_agent::{
    Agent, AgentProfiles, Catalogue, EngineParts, Overrides, Settings, engine_to_write,
};
use piton_core::command::nothing_to_sum_up;
use piton_core::id::{CommandId, ConversationId};
use piton_core::tokens::Tokens;
use piton_core::view::{Covered, View};
use piton_store::{Holder, Journal};

use super::letter;
use super::query::beside;
use super::query::stage::Stage;
use crate::flags::{Compact, Uncompact};
use crate::output::{Form, Output};
use crate::render::room;
use crate::report::{Fault, LetterFault, Report, holding};
use crate::signals::{Push, Signals};
use crate::target;

/// How often it is shown that the model is waited for.
const SPIN_EVERY: Duration = Duration::from_millis(120);
/// How long another process is waited for to leave the conversation.
const LOCK_WAIT: Duration = Duration::from_secs(1);

const NOT_DONE: &str = "the conversation is not summed up";
const NOT_UNDONE: &str = "the summary stays";

/// Sums up.
pub(crate) async fn run(
    flags: &Compact,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    let (journal, id) = target::find(flags.id.as_deref(), settings, output).await?;
    let agent = Arc::new(Agent::load(settings.clone())?);
    let signals = Signals::listen()?;
    let errand = Errand { agent, journal, id: id.clone(), focus: flags.focus.clone() };
    let (form, terminal, beside) = (Form::Text, None, None);
    let mut stage = Stage { output, signals, terminal, form, conversation: None, beside };
    Ok(errand.perform(seconds(flags.wait), &mut stage).await?.kept_in(id))
}

/// Takes the summary off.
pub(crate) async fn undo(
    flags: &Uncompact,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    let (journal, id) = target::find(flags.id.as_deref(), settings, output).await?;
    Ok(take_off((journal, &id), seconds(flags.wait), settings, output).await?.kept_in(id))
}

/// Longer than anybody waits; a clock has an end.
fn seconds(typed: u64) -> Duration {
    Duration::from_secs(typed.min(u32::MAX.into()))
}

/// Takes the summary off a conversation.
pub(super) async fn take_off(
    (journal, id): (Arc<dyn Journal>, &ConversationId),
    wait: Duration,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    if reader::state(&*journal, id).await?.overlay.is_none() {
        return Ok(Report::nothing("No summary lies over this conversation."));
    }
    let engine = engine_to_write(journal.clone(), settings)?;
    let conversation = engine.conversation(id);
    let work = conversation.start(named(Command::Uncompact)).await;
    let work = work.map_err(|error| fault(error, NOT_UNDONE, id))?;
    taken(&work, &conversation, &*journal, (NOT_UNDONE, wait)).await?;
    engine.shutdown(Duration::ZERO).await;
    let Tokens { expected, trigger, .. } = Tokens::from(&reader::state(&*journal, id).await?);
    output.talk(&format!(
        "The summary is taken off: everything is sent again, about {} tokens.",
        room::grouped(expected)
    ));
    if trigger < expected {
        output.talk(&format!(
            "hint: room is made above {}, so your next message has it summed up again, unless the model \
             takes more: piton query --model MODEL",
            room::grouped(trigger)
        ));
    }
    Ok(Report::ok("done"))
}

/// A conversation that is to be summed up.
#[derive(Debug)]
pub(super) struct Errand {
    pub(super) agent: Arc<Agent>,
    pub(super) journal: Arc<dyn Journal>,
    pub(super) id: ConversationId,
    pub(super) focus: Option<String>,
}

impl Errand {
    /// Sums up, and says what came of it. Another process that works on the conversation is given so much time
    /// to take it over.
    pub(super) async fn perform(
        self,
        wait: Duration,
        stage: &mut Stage<'_>,
    ) -> Result<Report, Fault> {
        let before = reader::state(&*self.journal, &self.id).await?;
        if let Some(why) = nothing_to_sum_up(&before, self.focus.as_deref()) {
            return Ok(Report::nothing(&format!("Nothing is summed up: {why}.")));
        }
        let tokens = Tokens::from(&before).expected;
        let before = View::from(&before).covered;
        let engine = self.engine()?;
        let conversation = engine.conversation(&self.id);
        let command = Command::Compact { focus: self.focus.clone() };
        let work = conversation.start(named(command)).await;
        let work = work.map_err(|error| fault(error, NOT_DONE, &self.id))?;
        if let Some(there) = taken(&work, &conversation, &*self.journal, (NOT_DONE, wait)).await? {
            let (id, who) = (&self.id, holding(Some(&there)));
            stage.output.talk(&format!(
                "Conversation {id} is held by {who}, which has taken it over and sums up before its next \
                 request."
            ));
            return Ok(Report::ok("accepted"));
        }
        let label = format!("summing up {} tokens", room::grouped(tokens));
        see_through(work, &conversation, &label, stage).await?;
        engine.shutdown(Duration::ZERO).await;
        let after = reader::state(&*self.journal, &self.id).await?;
        match View::from(&after).covered.filter(|now| Some(now) != before.as_ref()) {
            Some(covered) => tell(&covered, stage.output),
            None if after.summing.wanted.is_some() => {
                stage.output.talk("It is summed up before the next request.");
            }
            None => stage.output.talk("It was stopped, and nothing has changed."),
        }
        Ok(Report::ok("done"))
    }

    /// An engine that can ask the model, and has no tools.
    fn engine(&self) -> Result<Engine, Fault> {
        let settings = self.agent.settings();
        let models = Arc::new(Catalogue::new(settings.environment.clone()));
        let overrides = Overrides::default();
        let profiles = Arc::new(AgentProfiles::new(self.agent.clone(), models.clone(), overrides));
        let (journal, scratch) = (self.journal.clone(), settings.scratch()?);
        let parts = EngineParts { journal, models, scratch, lock_wait: LOCK_WAIT };
        Ok(self.agent.engine(parts, Arc::new(Toolbox::default()), profiles))
    }
}

/// Waits until a command is taken. Says which other process has done so, if that is still at work.
async fn taken(
    work: &Work,
    conversation: &Conversation,
    journal: &dyn Journal,
    (what, wait): (&'static str, Duration),
) -> Result<Option<Holder>, Fault> {
    let Accepted::Letter { command, letter } = work.accepted() else { return Ok(None) };
    let verdict = letter::verdict(conversation, journal, (command, letter), wait).await?;
    let holder = letter::holder(conversation, journal).await?;
    match verdict {
        Some(Verdict::Taken) => Ok(holder.filter(|holder| holder.pid != std::process::id())),
        Some(Verdict::Refused(refusal)) => {
            Err(fault(CommandError::Refused(refusal), what, conversation.id()))
        }
        None => Err(LetterFault::NotTaken { holder, what }.into()),
    }
}

/// Waits for it. The first Ctrl-C stops only this; another one leaves. Who leaves a chat meanwhile stops it too.
async fn see_through(
    work: Work,
    conversation: &Conversation,
    label: &str,
    stage: &mut Stage<'_>,
) -> Result<(), Fault> {
    let mut resting = Box::pin(work.rest());
    let mut is_stopped = false;
    if let (Some(terminal), Some(_)) = (&mut stage.terminal, &stage.beside) {
        terminal.want_keys();
    }
    let rested = loop {
        let stops = tokio::select! {
            biased;
            rested = &mut resting => break rested.map(drop).map_err(Fault::from),
            push = stage.signals.next() => {
                is_stopped |= push == Push::Quit;
                true
            }
            typed = beside::typed(&mut stage.terminal), if stage.beside.is_some() => {
                beside::stops_summary(typed, stage)
            }
            () = tokio::time::sleep(SPIN_EVERY) => {
                stage.output.tell_waiting(label, &[]);
                false
            }
        };
        if stops && is_stopped {
            break Err(Fault::Interrupted);
        }
        if stops {
            is_stopped = true;
            // One that is over by then refuses.
            drop(conversation.send(Command::StopCompacting).await);
        }
    };
    stage.output.tell_typed("");
    stage.output.rest();
    if let Some(terminal) = &mut stage.terminal {
        terminal.want_lines();
    }
    rested
}

fn tell(covered: &Covered, output: &mut Output) {
    output.talk(&room::summed_up(covered));
    output.talk(
        "hint: piton print --compacted shows what the model sees; piton uncompact takes it off",
    );
}

fn named(command: Command) -> Envelope {
    Envelope::new(CommandId::from_chance(SystemChance.next()), command)
}

fn fault(error: CommandError, what: &'static str, id: &ConversationId) -> Fault {
    let CommandError::Refused(refusal) = error else { return LetterFault::from(error).into() };
    let conversation = id.clone();
    LetterFault::Refused { what, refusal, conversation }.into()
}
