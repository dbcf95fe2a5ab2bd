//! Taking the writer's place of a conversation.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use piton_core::id::ConversationId;
use piton_store::Holder;

use crate::error::OpenError;
use crate::lease::{self, LeaseWait};
use crate::log::Log;
use crate::parts::Parts;
use crate::session::{self, Session};

/// Takes the writer's place of a conversation that may or may not have begun.
pub(crate) async fn enter_at(
    parts: &Arc<Parts>,
    conversation: ConversationId,
    workspace: &Path,
    wait: LeaseWait,
) -> Result<Session, OpenError> {
    // Before anything is made: a directory that cannot be used leaves no trace.
    let workspace = session::canonical(workspace)?;
    let mut session = enter(parts, conversation, wait).await?;
    session.set_workspace(&workspace);
    Ok(session)
}

/// Takes the writer's place of a conversation that has begun. Writes nothing.
pub(crate) async fn open(
    parts: &Arc<Parts>,
    conversation: &ConversationId,
    wait: LeaseWait,
) -> Result<Session, OpenError> {
    if parts.journal.status(conversation).await?.is_none() {
        return Err(OpenError::Unknown(conversation.clone()));
    }
    let mut session = enter(parts, conversation.clone(), wait).await?;
    let workspace = PathBuf::from(session.state().workspace());
    session.set_workspace(&workspace);
    Ok(session)
}

async fn enter(
    parts: &Arc<Parts>,
    conversation: ConversationId,
    wait: LeaseWait,
) -> Result<Session, OpenError> {
    let Parts { journal, clock, host, lives, .. } = &**parts;
    let holder = Holder { pid: std::process::id(), host: host.clone(), since: clock.now() };
    let lease = lease::acquire(&**journal, &conversation, holder, wait).await?;
    let log = Log::open(journal.clone(), clock.clone(), lease, lives).await?;
    Ok(Session::new(parts.clone(), log))
}
