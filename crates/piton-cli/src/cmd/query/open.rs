//! Finds or begins the conversation, and makes its model ready.

use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use piton::clock::{Clock as _, SystemClock};
use piton::{Conversation, Hold, LeaseWait, OpenError, reader};
use piton_agent::{Agent, AgentProfiles, AgentTools, Catalogue, EngineParts, Overrides, Settings};
use piton_core::id::{ConversationId, Seq};
use piton_store::{
    Batch, CommitName, Durability, Holder, Journal, Listed, MemoryJournal, NewRecord,
};

use super::mail::Mail;
use super::opened::{Life, Opened, look};
use crate::flags::Query;
use crate::output::Output;
use crate::render::origin;
use crate::report::{Fault, fault};
use crate::{store, target};

/// The program that supervises commands: this one, executed again. Not its path: the file there may
/// be another one by now.
pub(in crate::cmd) const SUPERVISOR: &str = "/proc/self/exe";

/// After how long a person is told that another process is in the way.
const SILENT_WAIT: Duration = Duration::from_millis(300);

/// Which conversation, with which model, and how long to wait for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    pub(super) query: &'a Query,
    /// What the flags change.
    pub(super) overrides: &'a Overrides,
    pub(super) agent: &'a Arc<Agent>,
    pub(super) lock_wait: Duration,
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
        (memory, settings.passing_scratch(), target)
    } else {
        let aside = settings.set_aside();
        let journal = store::open(settings, output)?;
        // Before the conversation is looked for or waited for: both may fail.
        mail.sort(&*journal, output).await?;
        let target = target(query, mail.meant(), &*journal, settings).await?;
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
    let tools = Arc::new(AgentTools::new(agent.clone(), &commands, overrides));
    let confined = overrides.clone();
    let profiles = Arc::new(AgentProfiles::new(agent.clone(), models.clone(), confined));
    let parts = EngineParts { journal, models: models.clone(), scratch, lock_wait };
    let engine = agent.engine(parts, tools.clone(), profiles.clone());
    let conversation = match &target {
        Some(id) => engine.conversation(id),
        None => engine.begin(settings.workspace()?)?,
    };
    // Before it is waited for, and before anything is refused.
    mail.meant_for(conversation.id());
    let hold = enter(&conversation, target.is_some(), lock_wait, output).await?;
    let view = look(&engine, conversation.id()).await?;
    if let Some(gone) = origin::gone(&view.head) {
        output.talk(&gone);
    }
    let model = agent.model(overrides, view.head.model.as_ref())?;
    let is_chosen = overrides.model.is_some() || view.head.model.is_some();
    let chosen_by = if is_chosen { None } else { agent.chosen_by_key(&model) };
    // Which tools a script brings is known only now that the conversation has said which script.
    let loaded = agent.load_model(&model)?;
    models.offer(&loaded, agent.providers().get(&model.provider));
    tools.bring(loaded.tools);
    Ok(Opened {
        engine,
        conversation,
        view,
        model,
        chosen_by,
        life,
        tools,
        profiles,
        _hold: hold,
        attending: None,
    })
}

/// The conversation that is named, or that a kept message was `meant` for; else the newest one. None if
/// one is to be begun.
async fn target(
    query: &Query,
    meant: Option<&ConversationId>,
    journal: &dyn Journal,
    settings: &Settings,
) -> Result<Option<ConversationId>, Fault> {
    match &query.turn.id {
        Some(typed) => Ok(Some(target::by_prefix(journal, typed, settings).await?)),
        None if query.new => Ok(None),
        None => match meant {
            // A message that was to begin a conversation begins one.
            Some(id) => Ok(journal.status(id).await?.map(|_| id.clone())),
            None => target::newest(journal, settings).await,
        },
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
        meant = target(query, None, &*journal, settings).await?;
        if let Some(id) = &meant {
            copy(&*journal, &*memory, id).await?;
        }
    } else if let Some(typed) = &query.turn.id {
        let (typed, near, aside) = (typed.clone(), Vec::new(), settings.set_aside());
        return Err(Fault::UnknownConversation { typed, near, aside });
    }
    Ok((memory, meant))
}

/// Copies a conversation, and the conversations that it was cut from: it refers to them.
pub(super) async fn copy(
    from: &dyn Journal,
    to: &dyn Journal,
    id: &ConversationId,
) -> Result<(), Fault> {
    let mut next = Some(id.clone());
    while let Some(id) = next {
        // A conversation that is there already closes a circle, which no sound journal has.
        if to.status(&id).await?.is_some() {
            return Ok(());
        }
        let Some(listed) = from.status(&id).await? else { return Ok(()) };
        copy_one(from, to, listed).await?;
        next = reader::origin_of(from, &id).await?.map(|origin| origin.conversation);
    }
    Ok(())
}

/// Copies one conversation.
async fn copy_one(from: &dyn Journal, to: &dyn Journal, listed: Listed) -> Result<(), Fault> {
    let id = &listed.conversation;
    let (mut records, mut files) = (Vec::new(), Vec::new());
    reader::each_record(from, id, Seq::default(), |record| {
        let entry = reader::entry(&record);
        files.extend(reader::files(&entry));
        let (at, format, body) = (record.at, record.format, record.body);
        records.push(NewRecord { at, format, body });
        ControlFlow::Continue(())
    })
    .await?;
    for digest in files {
        // A file that is lost is missing in the copy too.
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
    Ok(())
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
