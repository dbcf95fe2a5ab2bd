//! The seam to settings: what a turn begins with, and what a driver starts with.
//!
//! Model, prompt, tools and limits are frozen with the turn: a resumed turn has those that it began
//! with. Permission rules and what becomes of questions are asked for again whenever a driver starts.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use async_trait::async_trait;
use piton_core::command::Sender;
use piton_core::event::{ContextItem, ToolSpec};
use piton_core::id::{ConversationId, Digest, Timestamp};
use piton_core::state::Config;

use crate::unattended::{Attendance, Unattended};

/// Where settings come from.
#[async_trait]
pub trait Profiles: fmt::Debug + Send + Sync {
    /// What applies from now on. Called before a turn begins, and before a driver goes on with one.
    async fn profile(&self, request: ProfileRequest<'_>) -> Result<Profile, ProfileError>;

    /// What the model is told with the first message of a turn that begins now, beside what the user
    /// said: only what it does not know yet. The turn waits for this, so it must be bounded in time.
    async fn context(&self, _request: ContextRequest<'_>) -> Vec<ContextItem> {
        Vec::new()
    }
}

/// For what context is wanted.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ContextRequest<'a> {
    /// The conversation.
    pub conversation: &'a ConversationId,
    /// Where it works.
    pub workspace: &'a Path,
    /// Who sent the message; unknown for one that waited.
    pub sender: &'a Sender,
    /// What applies now, the system prompt included.
    pub config: &'a Config,
    /// What the model knows already, by name.
    pub told: &'a BTreeMap<&'a str, &'a Digest>,
    /// Whether somebody is there to answer.
    pub attendance: Attendance,
    /// The time.
    pub now: Timestamp,
}

/// For what a profile is wanted.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ProfileRequest<'a> {
    /// The conversation.
    pub conversation: &'a ConversationId,
    /// Where it works.
    pub workspace: &'a Path,
    /// Who sent the command.
    pub sender: &'a Sender,
    /// What applies now.
    pub config: &'a Config,
    /// What the conversation's tools say of themselves, in their order.
    pub tools: &'a [ToolSpec],
    /// Whether somebody is there to answer.
    pub attendance: Attendance,
    /// What comes next.
    pub moment: Moment,
}

impl<'a> ProfileRequest<'a> {
    /// A request, as the engine makes it.
    pub fn new(
        (conversation, workspace): (&'a ConversationId, &'a Path),
        (sender, attendance): (&'a Sender, Attendance),
        config: &'a Config,
        tools: &'a [ToolSpec],
        moment: Moment,
    ) -> Self {
        Self { conversation, workspace, sender, config, tools, attendance, moment }
    }
}

impl<'a> ContextRequest<'a> {
    /// A request for a turn that begins at the beginning of time, with nobody there.
    pub fn new(
        (conversation, workspace): (&'a ConversationId, &'a Path),
        sender: &'a Sender,
        config: &'a Config,
        told: &'a BTreeMap<&'a str, &'a Digest>,
    ) -> Self {
        let (attendance, now) = (Attendance::Unattended, Timestamp::default());
        Self { conversation, workspace, sender, config, told, attendance, now }
    }
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// A turn begins: everything may change.
    TurnBegins,
    /// A driver goes on with a turn: what is frozen with the turn stays.
    DriverStarts,
}

/// What applies from now on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// The configuration. What differs from the present one is recorded.
    pub config: Config,
    /// What becomes of questions while nobody is there.
    pub unattended: Unattended,
}

/// Settings that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ProfileError {
    /// What is wrong with them, and what to do.
    pub message: String,
}

/// One configuration for conversations that have none yet. One that names no tools offers all.
#[derive(Clone, Debug, Default)]
pub struct OneProfile(pub Profile);

#[async_trait]
impl Profiles for OneProfile {
    async fn profile(&self, request: ProfileRequest<'_>) -> Result<Profile, ProfileError> {
        let Self(profile) = self;
        let begun = request.config.model.is_some();
        let mut config = if begun { request.config } else { &profile.config }.clone();
        if !begun && config.tools.is_empty() {
            config.tools = request.tools.into();
        }
        Ok(Profile { config, unattended: profile.unattended })
    }
}
