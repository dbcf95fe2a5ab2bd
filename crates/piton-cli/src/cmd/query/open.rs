//! Finds or begins the conversation, and makes its model ready.

use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use piton::clock::{Clock as _, SystemClock};
use piton::{
    Attending, CommandError, Conversation, Engine, FollowError, Hold, LeaseWait, OpenError,
    Refusal, Verdict, reader,
};
use piton_agent::{Agent, AgentProfiles, AgentTools, Catalogue, EngineParts, Overrides, Settings};
use piton_core::id::{CommandId, ConversationId, Seq};
use piton_core::view::{ModelRef, View};
use piton_store::{
    Batch, CommitName, Durability, Holder, Journal, MemoryJournal, NewRecord, StoreError,
};

use super::mail::Mail;
use crate::flags::Query;
use crate::output::Output;
use crate::render::incomplete::Newest;
use crate::report::{Fault, LetterFault, fault};
use crate::{store, target};

/// The program that supervises commands: this one, executed again. Not its path: the file there may
/// be another one by now.
const SUPERVISOR: &str = "/proc/self/exe";

/// After how long a person is told that another process is in the way.
const SILENT_WAIT: Duration = Duration::from_millis(300);

/// A conversation that is ready for a turn. This process has its writer's place.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) engine: Engine,
    pub(super) conversation: Conversation,
    /// What there is to show of it, as far as this process has looked.
    pub(super) view: View,
    pub(super) model: ModelRef,
    pub(super) life: Life,
    pub(super) tools: Arc<AgentTools>,
    pub(super) profiles: Arc<AgentProfiles>,
    _hold: Hold,
    attending: Option<Attending>,
}

impl Opened {
    /// Somebody is there to be asked, or nobody is.
    pub(super) fn attend(&mut self, is_there: bool) {
        if !is_there {
            self.attending = None;
        } else if self.attending.is_none() {
            self.attending = Some(self.conversation.attend());
        }
    }

    /// Looks at the conversation again.
    pub(super) async fn look(&mut self) -> Result<(), Fault> {
        self.view = look(&self.engine, self.conversation.id()).await?;
        Ok(())
    }

    /// What became of a command; none if nobody has taken it.
    pub(super) async fn verdict(&self, command: &CommandId) -> Result<Option<Verdict>, Fault> {
        match self.conversation.verdict(command).await {
            Err(CommandError::Store(error))
                if matches!(*error, StoreError::UnknownConversation(_)) =>
            {
                Ok(None)
            }
            verdict => Ok(verdict?),
        }
    }

    /// Why a command did not do what it should; `what` says what does not happen.
    pub(super) fn fault(&self, error: CommandError, what: &'static str) -> Fault {
        let CommandError::Refused(refusal) = error else { return error.into() };
        match (refusal, self.view.head.open.and_then(|_| Newest::of(&self.view))) {
            (Refusal::Incomplete, Some(turn)) => {
                let conversation = self.conversation.id().clone();
                Fault::Incomplete { conversation, turn: Box::new(turn) }
            }
            (refusal, _) => {
                let conversation = self.conversation.id().clone();
                LetterFault::Refused { what, refusal, conversation }.into()
            }
        }
    }
}

/// What there is to show of a conversation; nothing, if it has not begun.
async fn look(engine: &Engine, id: &ConversationId) -> Result<View, Fault> {
    match engine.view(id).await {
        Err(FollowError::Unknown(_)) => Ok(View::default()),
        view => Ok(view?),
    }
}

/// Which conversation, with which model, and how long to wait for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    pub(super) query: &'a Query,
    /// What the flags change.
    pub(super) overrides: &'a Overrides,
    pub(super) agent: &'a Arc<Agent>,
    pub(super) lock_wait: Duration,
}

/// What is special about a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    /// Nothing.
    Known,
    /// It has just begun.
    New,
    /// It ends with this process.
    Passing,
}

impl Life {
    pub(super) fn note(self) -> &'static str {
        match self {
            Self::Known => "",
            Self::New => " (new)",
            Self::Passing => " (not recorded)",
        }
    }
}

/// Opens the conversation that is meant. Writes nothing.
pub(super) async fn open(
    wanted: &Wanted<'_>,
    mail: &mut Mail,
    output: &mut Output,
) -> Result<Opened, Fault> {
    let Wanted { query, overrides, agent, lock_wait } = *wanted;
    let settings = agent.settings();
    let (journal, scratch, target) = if query.no_persist {
        let (memory, target) = passing(query, settings, output).await?;
        (memory, settings.environment.temporary().to_owned(), target)
    } else {
        let aside = settings.set_aside();
        let journal = store::open(settings, output)?;
        // Before the conversation is looked for or waited for: both may fail.
        mail.sort(&*journal, output).await?;
        let target = target(query, &*journal, settings).await?;
        let missing = target.is_none() && !query.new;
        if let Some(hint) = fault::about(&aside).filter(|_| missing) {
            output.talk(&format!("hint: {hint}"));
        }
        (journal, settings.scratch()?, target)
    };
    let life = match &target {
        _ if query.no_persist => Life::Passing,
        Some(_) => Life::Known,
        None => Life::New,
    };
    let commands = match life {
        // Nobody could come back to them.
        Life::Passing => agent.plain_commands(overrides),
        Life::Known | Life::New => agent.supervised_commands(SUPERVISOR.into(), overrides),
    };
    let models = Arc::new(Catalogue::new(settings.environment.clone()));
    let tools = Arc::new(AgentTools::new(agent.clone(), &commands));
    let confined = overrides.clone();
    let profiles = Arc::new(AgentProfiles::new(agent.clone(), models.clone(), confined));
    let parts = EngineParts { journal, models: models.clone(), scratch, lock_wait };
    let engine = agent.engine(parts, tools.clone(), profiles.clone());
    let conversation = match &target {
        Some(id) => engine.conversation(id),
        None => engine.begin(settings.workspace()?)?,
    };
    let hold = enter(&conversation, target.is_some(), lock_wait, output).await?;
    let view = look(&engine, conversation.id()).await?;
    let model = agent.model(overrides, view.head.model.as_ref())?;
    // Which tools a script brings is known only now that the conversation has said which script.
    let loaded = agent.load_model(&model)?;
    models.offer(&loaded, agent.providers().get(&model.provider));
    tools.bring(loaded.tools);
    Ok(Opened {
        engine,
        conversation,
        view,
        model,
        life,
        tools,
        profiles,
        _hold: hold,
        attending: None,
    })
}

async fn target(
    query: &Query,
    journal: &dyn Journal,
    settings: &Settings,
) -> Result<Option<ConversationId>, Fault> {
    match &query.id {
        Some(typed) => Ok(Some(target::by_prefix(journal, typed, settings).await?)),
        None if query.new => Ok(None),
        None => target::newest(journal, settings).await,
    }
}

/// A conversation in memory: a copy of the one that is meant, taken without its lease.
async fn passing(
    query: &Query,
    settings: &Settings,
    output: &mut Output,
) -> Result<(Arc<dyn Journal>, Option<ConversationId>), Fault> {
    let memory: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
    let mut meant = None;
    // Opening a database that is not there would make one.
    if settings.has_database()? {
        let journal = store::open(settings, output)?;
        meant = target(query, &*journal, settings).await?;
        if let Some(id) = &meant {
            copy(&*journal, &*memory, id).await?;
        }
    } else if let Some(typed) = &query.id {
        let (typed, near, aside) = (typed.clone(), Vec::new(), settings.set_aside());
        return Err(Fault::UnknownConversation { typed, near, aside });
    }
    Ok((memory, meant))
}

/// Copies a conversation, and those that it was cut from: without them it would mean less.
async fn copy(from: &dyn Journal, to: &dyn Journal, id: &ConversationId) -> Result<(), Fault> {
    let mut next = Some(id.clone());
    while let Some(id) = next {
        // One that is there already closes a circle, which no honest journal has.
        next = match to.status(&id).await? {
            None => copy_one(from, to, &id).await?,
            Some(_) => None,
        };
    }
    Ok(())
}

/// Copies one conversation; names the one that it was cut from.
async fn copy_one(
    from: &dyn Journal,
    to: &dyn Journal,
    id: &ConversationId,
) -> Result<Option<ConversationId>, Fault> {
    let Some(listed) = from.status(id).await? else { return Ok(None) };
    let (mut records, mut files, mut origin) = (Vec::new(), Vec::new(), None);
    reader::each_record(from, id, Seq::default(), |record| {
        let entry = reader::entry(&record);
        origin = reader::origin(&entry).cloned().or(origin.take());
        files.extend(reader::files(&entry));
        let (at, format, body) = (record.at, record.format, record.body);
        records.push(NewRecord { at, format, body });
        ControlFlow::Continue(())
    })
    .await?;
    for digest in files {
        // One that is lost is lost here too.
        if let Ok(content) = from.blob(&digest).await {
            to.put_blob(&content).await?;
        }
    }
    let (name, status, durability) = (CommitName::fresh(), listed.row, Durability::Relaxed);
    let batch = Batch { name, expected: Seq::default(), records, status, durability };
    let holder = Holder { pid: std::process::id(), host: String::new(), since: SystemClock.now() };
    let lease = to.lease(id, holder).await.map_err(OpenError::from)?;
    to.append(&lease, batch).await.map_err(piton::SessionError::from)?;
    to.release(lease).await?;
    Ok(origin)
}

/// Takes the writer's place, and says so when that takes long.
async fn enter(
    conversation: &Conversation,
    is_known: bool,
    lock_wait: Duration,
    output: &mut Output,
) -> Result<Hold, Fault> {
    let wait = LeaseWait { max: lock_wait, ..LeaseWait::default() };
    let mut holding = pin!(conversation.hold(wait));
    if is_known {
        tokio::select! {
            biased;
            held = &mut holding => return Ok(held?),
            () = tokio::time::sleep(SILENT_WAIT) => {}
        }
        let id = conversation.id();
        output.talk(&format!("Waiting for another process that works on conversation {id}."));
    }
    Ok(holding.await?)
}
