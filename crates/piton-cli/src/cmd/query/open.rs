//! Finds or begins the conversation, and makes its model ready.

use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use piton::clock::{Clock as _, SystemClock};
use piton::{Engine, OpenError, Session, reader};
use piton_agent::{Agent, Catalogue, EngineParts, Overrides, Settings};
use piton_core::id::{ConversationId, Seq};
use piton_core::view::ModelRef;
use piton_store::{Batch, CommitName, Durability, Holder, Journal, MemoryJournal, NewRecord};
use piton_tools::Tool;

use super::mail::Mail;
use crate::flags::Query;
use crate::output::Output;
use crate::report::{Fault, fault};
use crate::{store, target};

/// The program that supervises commands: this one, executed again. Not its path: the file there may
/// be another one by now.
const SUPERVISOR: &str = "/proc/self/exe";

/// After how long a person is told that another process is in the way.
const SILENT_WAIT: Duration = Duration::from_millis(300);

/// A conversation that is ready for a turn.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) engine: Engine,
    pub(super) session: Session,
    pub(super) model: ModelRef,
    pub(super) life: Life,
    /// The tools that need no server.
    pub(super) tools: Vec<Arc<dyn Tool>>,
}

/// Which conversation, with which model, and how long to wait for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    pub(super) query: &'a Query,
    /// What the flags change.
    pub(super) overrides: &'a Overrides,
    pub(super) agent: &'a Agent,
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
    let engine = agent.engine(EngineParts { journal, models: models.clone(), scratch, lock_wait });
    let mut session = enter(&engine, target.as_ref(), settings, output).await?;
    let model = agent.model(overrides, &session.state().config)?;
    let loaded = agent.load_model(&model)?;
    models.offer(&loaded, agent.providers().get(&model.provider));
    // Which tools a script brings is known only now that the conversation has said which script.
    let mut tools = agent.local_tools(&commands);
    tools.extend(loaded.tools);
    session.work_with(&tools.iter().cloned().collect());
    Ok(Opened { engine, session, model, life, tools })
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
    engine: &Engine,
    target: Option<&ConversationId>,
    settings: &Settings,
    output: &mut Output,
) -> Result<Session, Fault> {
    let Some(id) = target else { return Ok(engine.create(settings.workspace()?).await?) };
    let mut opening = pin!(engine.open(id));
    tokio::select! {
        biased;
        opened = &mut opening => return Ok(opened?),
        () = tokio::time::sleep(SILENT_WAIT) => {}
    }
    output.talk(&format!("Waiting for another process that works on conversation {id}."));
    Ok(opening.await?)
}
