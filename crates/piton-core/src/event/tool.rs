//! Tools as the journal sees them: specification, effect class, handle, outcome.

use std::collections::BTreeMap;
use std::sync::Arc;

use piton_permit::ArgumentRole;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::{ConversationId, Digest, Seq};

/// A tool as offered to the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What the model reads about it.
    pub description: Arc<str>,
    /// JSON schema of its arguments, as text.
    pub parameters: Arc<str>,
    /// How its outcome can be settled after a crash.
    pub effect: EffectClass,
    /// What its arguments mean to permission rules, by their names. A tool that declares one role
    /// declares all: an argument without one is a plain value. Empty in specs of older versions and of
    /// tools that declare nothing; then any text may be a path or a command line.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub roles: BTreeMap<String, ArgumentRole>,
    /// Whether it has walls. What nobody approved word for word runs behind one. A command line that only
    /// looks asks nobody, because its wall lets it write nothing and read little. Absent in specs of older
    /// versions and where there are no walls: there, rules with a wildcard ask.
    #[serde(default, rename = "confines_looks", skip_serializing_if = "std::ops::Not::not")]
    pub confines: bool,
    /// Whether its walls let a command reach single hosts. Where they cannot, a call that is granted hosts asks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub holds_hosts: bool,
    /// Whether a yes of a person to a call takes its command out of these walls. Absent in specs of older versions,
    /// and where the settings say that walls are always there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub frees: bool,
}

impl ToolSpec {
    /// A tool of this name.
    pub fn new(
        name: impl Into<String>,
        description: impl Into<Arc<str>>,
        parameters: impl Into<Arc<str>>,
        effect: EffectClass,
    ) -> Self {
        let (name, description, parameters) = (name.into(), description.into(), parameters.into());
        let roles = BTreeMap::new();
        let (confines, holds_hosts, frees) = (false, false, false);
        Self { name, description, parameters, effect, roles, confines, holds_hosts, frees }
    }

    /// The same, for a tool that has walls, or not.
    #[must_use]
    pub fn confining(mut self, confines: bool) -> Self {
        self.confines = confines;
        self
    }

    /// The same, for a tool whose walls let a command reach single hosts, or not.
    #[must_use]
    pub fn holding_hosts(mut self, holds_hosts: bool) -> Self {
        self.holds_hosts = holds_hosts;
        self
    }

    /// The same, for a tool whose walls a yes of a person takes away, or not.
    #[must_use]
    pub fn freeing(mut self, frees: bool) -> Self {
        self.frees = frees;
        self
    }

    /// The same, with what its arguments mean to permission rules.
    #[must_use]
    pub fn with_roles<'a>(
        mut self,
        roles: impl IntoIterator<Item = (&'a str, ArgumentRole)>,
    ) -> Self {
        self.roles.extend(roles.into_iter().map(|(name, role)| (name.to_owned(), role)));
        self
    }
}

/// How the outcome of a call that was started by a dead driver can be settled.
///
/// No path leads from "in doubt" to "run again" without `ReadOnly`, `Idempotent`, a digest, or a
/// recorded decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EffectClass {
    /// Changes nothing: run again.
    ReadOnly,
    /// Running twice is the same as once: run again.
    Idempotent,
    /// Digests of before and after are recorded: compare, then know.
    Digested,
    /// The command outlives the agent: attach again.
    Supervised,
    /// A conversation of its own: resume it.
    Child,
    /// Nothing is known: ask, or say so.
    Once,
}

/// One of several files that a call changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEdit {
    /// The file, relative to the workspace.
    pub path: String,
    /// Digest of its content before; absent if there was no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Digest>,
    /// Digest of its content after; absent if the file is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Digest>,
}

/// What settles a call in doubt, recorded before the effect.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "handle", rename_all = "snake_case")]
pub enum Handle {
    /// Nothing is needed, or nothing is known.
    #[default]
    None,
    /// A change of one file.
    Edit {
        /// The file, relative to the workspace.
        path: String,
        /// Digest of its content before; absent if there was no file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<Digest>,
        /// Digest of its content after.
        after: Digest,
    },
    /// Changes of several files that are made together or not at all.
    Edits {
        /// The files, each once.
        files: Vec<FileEdit>,
    },
    /// A supervised command.
    Job {
        /// Where its record is kept.
        directory: String,
        /// The boot in which it was to start. In another one, a record that is missing proves nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        boot: Option<String>,
    },
    /// A child conversation.
    Conversation {
        /// Its id.
        id: String,
    },
    /// Work that somebody else does, who can be asked about it.
    Task {
        /// Its name there.
        id: String,
        /// When it began, as told there. Whoever forgets tasks may give a name out twice.
        since: String,
    },
    /// A request that was answered with questions, and is sent again with their answers.
    Round {
        /// How many times it was asked back, from 1.
        number: u32,
        /// What goes back together with the answers, not to be understood here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<String>,
        /// What was asked, in the words of whoever asked.
        asked: String,
    },
    /// Work of the conversation that this one was forked from. It stays there: it is neither begun
    /// again, nor attached to, nor stopped here. The journal of that conversation tells how it ended.
    Origin {
        /// The conversation that the work belongs to, or that has it from another one.
        conversation: ConversationId,
        /// Where the fork was cut. An end of the work stands behind it.
        through: Seq,
    },
}

impl Handle {
    /// Whether there is nothing to record.
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }

    /// Whether the work is in the hands of somebody else, who knows how far it is.
    pub fn is_elsewhere(&self) -> bool {
        match self {
            Self::Task { .. } | Self::Round { .. } => true,
            Self::None
            | Self::Edit { .. }
            | Self::Edits { .. }
            | Self::Job { .. }
            | Self::Conversation { .. }
            | Self::Origin { .. } => false,
        }
    }
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It did what it does. A command that exits with 1 is `Ok` with that exit code.
    Ok,
    /// It could not do what was asked.
    Failed,
    /// A person or a rule said no; it never ran.
    Denied,
    /// It was stopped, or never started because the turn went another way.
    Cancelled,
    /// It was started; nobody knows what became of it.
    Unknown,
}

/// What a call gave back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolOutput {
    /// What the model sees, bounded.
    pub text: Arc<str>,
    /// Exit code of a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The whole output, if `text` is an extract.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<BlobRef>,
    /// How many bytes at the end of `text` are remarks of the tool itself, such as the exit code of a
    /// command, and not output. Zero in entries of older versions.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub note_bytes: u64,
    /// Images that the model sees beside the text. Absent in entries of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<OutputFile>,
}

/// A file that a call gave back for the model to see.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputFile {
    /// What it is called.
    pub name: String,
    /// What it is, such as `image/png`.
    pub media_type: String,
    /// What it holds; durable before the entry refers to it.
    pub blob: BlobRef,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl ToolOutput {
    /// Plain text.
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// What was printed or found, and the remarks of the tool behind it.
    pub fn split(&self) -> (&str, &str) {
        split_notes(&self.text, self.note_bytes)
    }
}

/// A text without the remarks at its end, and those remarks.
pub(crate) fn split_notes(text: &str, note_bytes: u64) -> (&str, &str) {
    let notes = usize::try_from(note_bytes).unwrap_or(usize::MAX);
    let split = text.len().checked_sub(notes).and_then(|at| text.split_at_checked(at));
    split.unwrap_or((text, ""))
}

/// Content that is kept beside the journal, by its digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlobRef {
    /// Digest of the content.
    pub digest: Digest,
    /// Its size.
    pub bytes: u64,
}

impl BlobRef {
    /// The digests of all blobs that a stored entry speaks of, as it is written. What stands within a text
    /// is none: there the quotes are escaped.
    pub fn digests_in(entry: &str) -> impl Iterator<Item = Digest> {
        let behind = entry.split(REFERENCE).skip(1);
        let digests = behind.filter_map(|rest| rest.split_once('"').map(|(digest, _)| digest));
        digests.map(Digest::new)
    }
}

/// How an entry begins to speak of a blob.
const REFERENCE: &str = r#""blob":{"digest":""#;
