//! `piton compact`: sums up the older part of a conversation. `piton uncompact` takes the summary off.

use std::sync::Arc;
use std::time::Duration;

use piton::chance::{Chance as _, SystemChance};
use piton::{Command, CommandError, Engine, Envelope, Toolbox, Work, reader};
use piton_agent::{
    Agent, AgentProfiles, Catalogue, EngineParts, Overrides, Settings, engine_to_write,
};
use piton_core::command::nothing_to_sum_up;
use piton_core::id::{CommandId, ConversationId};
use piton_core::tokens::Tokens;
use piton_core::view::{Covered, View};
use piton_store::Journal;

use crate::flags::{Compact, Uncompact};
use crate::output::Output;
use crate::render::room;
use crate::report::{Fault, LetterFault, Report, holding};
use crate::signals::{Push, Signals};
use crate::{store, target};

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
    let (journal, id) = meant(flags.id.as_deref(), settings, output).await?;
    let agent = Arc::new(Agent::load(settings.clone())?);
    let mut signals = Signals::listen()?;
    let errand = Errand { agent, journal, id: id.clone(), focus: flags.focus.clone() };
    Ok(errand.perform(&mut signals, output).await?.kept_in(id))
}

/// Takes the summary off.
pub(crate) async fn undo(
    flags: &Uncompact,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    let (journal, id) = meant(flags.id.as_deref(), settings, output).await?;
    Ok(take_off(journal, &id, settings, output).await?.kept_in(id))
}

async fn meant(
    typed: Option<&str>,
    settings: &Settings,
    output: &mut Output,
) -> Result<(Arc<dyn Journal>, ConversationId), Fault> {
    let nothing = Fault::NoConversation { aside: settings.set_aside() };
    if !settings.has_database()? && typed.is_none() {
        return Err(nothing);
    }
    let journal: Arc<dyn Journal> = store::open(settings, output)?;
    let id = match typed {
        Some(typed) => target::by_prefix(&*journal, typed, settings).await?,
        None => target::newest(&*journal, settings).await?.ok_or(nothing)?,
    };
    Ok((journal, id))
}

/// Takes the summary off a conversation.
pub(super) async fn take_off(
    journal: Arc<dyn Journal>,
    id: &ConversationId,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    if reader::state(&*journal, id).await?.overlay.is_none() {
        return Ok(Report::nothing("No summary lies over this conversation."));
    }
    let engine = engine_to_write(journal.clone(), settings)?;
    let work = engine.conversation(id).start(named(Command::Uncompact)).await;
    let work = work.map_err(|error| fault(error, NOT_UNDONE, id))?;
    work.rest().await?;
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
    /// Sums up, and says what came of it.
    pub(super) async fn perform(
        self,
        signals: &mut Signals,
        output: &mut Output,
    ) -> Result<Report, Fault> {
        let before = reader::state(&*self.journal, &self.id).await?;
        if let Some(why) = nothing_to_sum_up(&before, self.focus.as_deref()) {
            return Ok(Report::nothing(&format!("Nothing is summed up: {why}.")));
        }
        let tokens = Tokens::from(&before).expected;
        let before = View::from(&before).covered;
        let engine = self.engine()?;
        let command = Command::Compact { focus: self.focus.clone() };
        let work = engine.conversation(&self.id).start(named(command)).await;
        let work = work.map_err(|error| fault(error, NOT_DONE, &self.id))?;
        if matches!(work.accepted(), piton::Accepted::Letter { .. }) {
            let listed = self.journal.status(&self.id).await?;
            let holder = listed.and_then(|listed| listed.holder);
            let (id, who) = (&self.id, holding(holder.as_ref()));
            output.talk(&format!(
                "Conversation {id} is held by {who}, which sums it up before its next request."
            ));
            return Ok(Report::ok("accepted"));
        }
        let label = format!("summing up {} tokens", room::grouped(tokens));
        see_through(work, (&engine, &self.id), (&label, signals), output).await?;
        engine.shutdown(Duration::ZERO).await;
        let view = View::from(&reader::state(&*self.journal, &self.id).await?);
        match view.covered.filter(|now| Some(now) != before.as_ref()) {
            Some(covered) => tell(&covered, output),
            None => output.talk("It was stopped, and nothing has changed."),
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

/// Waits for it. The first Ctrl-C stops only this; another one leaves.
async fn see_through(
    work: Work,
    (engine, id): (&Engine, &ConversationId),
    (label, signals): (&str, &mut Signals),
    output: &mut Output,
) -> Result<(), Fault> {
    let mut resting = Box::pin(work.rest());
    let mut is_stopped = false;
    loop {
        tokio::select! {
            biased;
            rested = &mut resting => {
                output.rest();
                rested?;
                return Ok(());
            }
            push = signals.next() => {
                if is_stopped || push == Push::Quit {
                    return Err(Fault::Interrupted);
                }
                is_stopped = true;
                // One that is over by then refuses.
                drop(engine.conversation(id).send(Command::StopCompacting).await);
            }
            () = tokio::time::sleep(SPIN_EVERY) => output.tell_waiting(label, &[]),
        }
    }
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
