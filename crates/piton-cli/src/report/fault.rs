//! What can go wrong before or beside a turn, with advice.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use piton::{CommandError, FollowError, OpenError, SessionError};
use piton_agent::config::ConfigError;
use piton_agent::rules::file::RuleFileError;
use piton_agent::{AddedError, CodeInWords, LoadError, ModelError, SettingsError, TrustFault};
use piton_core::id::ConversationId;
use piton_mcp::ProjectFault;
use piton_store::{Holder, LeaseError, StoreError};

use super::answering::{NEXT_QUESTION, SECRET, answering, instead, nothing_asked, taking};
use super::attach::AttachFault;
use super::code::Code;
use super::command::CommandFault;
use super::config::{self, PROVIDERS, loading};
use super::forking::ForkFault;
use super::holding::holding;
use super::import::ImportFault;
use super::input::InputFault;
use super::letter::LetterFault;
use super::opening::{RENAME, opening};
use super::refused::going_on;
use super::server::ServerFault;
use super::storing::storing;
use super::undo::UndoFault;
use crate::render::incomplete::{self, Newest};

/// What helps with servers of tools.
const SERVERS: &str =
    "piton mcp list shows the servers; piton help mcp says how they are written down";

/// What helps with a server whose words hold code.
const CODE_IN_WORDS: [&str; 2] = [
    "to run it in the sandbox: piton mcp trust",
    "to run it outside: put the program into a file of the workspace, and name that file in .mcp.json",
];

/// Why a command could not do its work.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// There is no message to send.
    #[error(transparent)]
    Input(#[from] InputFault),
    /// No unsent message is kept.
    #[error("no unsent message is kept for this directory")]
    NoDraft,
    /// No single unsent message has such a name.
    #[error("no unsent message, or more than one, has a name that begins with {typed:?}")]
    UnknownDraft {
        /// What was typed.
        typed: String,
    },
    /// The draft cannot be kept apart from the message that was sent.
    #[error("cannot rename a draft")]
    Draft(#[source] io::Error),
    /// There is nothing of this name to explain.
    #[error("there is no command and no topic of this name")]
    NoTopic { near: Vec<String> },
    /// A file of the project cannot be written.
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
    /// A file cannot go along.
    #[error(transparent)]
    Attach(#[from] AttachFault),
    /// Tools cannot work in a directory.
    #[error(transparent)]
    Added(#[from] AddedError),
    /// No conversation has such an id.
    #[error("there is no conversation {typed}")]
    UnknownConversation {
        /// What was typed.
        typed: String,
        /// Ids that begin alike.
        near: Vec<ConversationId>,
        /// Damaged databases, where it may be.
        aside: Vec<PathBuf>,
    },
    /// Several conversations have such an id.
    #[error("several conversations begin with {typed}")]
    Ambiguous {
        /// What was typed.
        typed: String,
        /// Which ones.
        found: Vec<ConversationId>,
    },
    /// A command cannot be found, read or stopped.
    #[error(transparent)]
    Command(#[from] CommandFault),
    /// A session of another agent is not taken over.
    #[error(transparent)]
    Import(#[from] ImportFault),
    /// A change of a file is not taken back.
    #[error(transparent)]
    Undo(#[from] UndoFault),
    /// A conversation is not forked.
    #[error(transparent)]
    Fork(#[from] ForkFault),
    /// A command for another process did not come to its end.
    #[error(transparent)]
    Letter(#[from] LetterFault),
    /// A server does not do what it was asked.
    #[error(transparent)]
    Server(#[from] ServerFault),
    /// No rule has that number.
    #[error("there is no rule {number}; there are {count}")]
    NoRule {
        /// What was typed.
        number: usize,
        /// How many there are.
        count: usize,
    },
    /// A standing rule cannot be written down or taken out.
    #[error(transparent)]
    RuleFile(#[from] RuleFileError),
    /// A rule of a conversation that another process works on.
    #[error("{rule} stays, because conversation {conversation} is held by {}", holding(holder.as_ref()))]
    RuleHeld {
        /// The rule.
        rule: String,
        /// Its number.
        number: usize,
        /// The conversation.
        conversation: ConversationId,
        /// The process.
        holder: Option<Holder>,
    },
    /// Nobody waits for an answer.
    #[error("conversation {conversation} asks nothing")]
    NothingAsked {
        /// The conversation.
        conversation: ConversationId,
        /// What was answered last, and by whom.
        last: Option<String>,
    },
    /// Somebody else was faster.
    #[error("already answered by {by}, {answer}: {question}")]
    AnsweredOtherwise {
        /// What was asked.
        question: String,
        /// What counts.
        answer: String,
        /// By whom it was given, in words for people.
        by: String,
    },
    /// Nobody waits for this answer any more.
    #[error("the question is not open any more, and nobody answered it: {question}")]
    NotOpen {
        /// What was asked.
        question: String,
    },
    /// Somebody took the answer away before it was taken.
    #[error("the answer was taken away before it counted{}: {question}", instead(kept.as_ref()))]
    TakenAway {
        /// What was asked.
        question: String,
        /// The answer that is kept in its place.
        kept: Option<String>,
    },
    /// The process at work on the conversation has not taken the answer.
    #[error("the answer is kept, but {} has not taken it yet", holding(holder.as_ref()))]
    NotTaken {
        /// The conversation.
        conversation: ConversationId,
        /// The process.
        holder: Option<Holder>,
    },
    /// That is no answer to the question.
    #[error("that does not answer: {question}")]
    NoAnswer {
        /// What is asked.
        question: String,
        /// What can be answered.
        words: String,
        /// Why it does not, and what else there is to know.
        more: Vec<String>,
    },
    /// A secret that was to be written into a command line.
    #[error("a secret is taken on a terminal only: {question}")]
    SecretOnTerminal {
        /// What is asked.
        question: String,
    },
    /// This directory has no conversation.
    #[error("there is no conversation in this directory")]
    NoConversation {
        /// Damaged databases, where one may be.
        aside: Vec<PathBuf>,
    },
    /// The last turn is not over, and nobody said what to do with it.
    #[error(
        "Conversation {conversation} has an incomplete turn.\n{}\n\n{}",
        incomplete::waits_for(turn),
        incomplete::commands(conversation)
    )]
    Incomplete {
        /// The conversation.
        conversation: ConversationId,
        /// The turn.
        turn: Box<Newest>,
    },
    /// A person looked at the incomplete turn and went away.
    #[error("Nothing was changed.")]
    LeftAlone,
    /// A person left the menu of a conversation that another process works on.
    #[error(
        "Nothing was sent or changed. Conversation {conversation} stays with the process that works on it."
    )]
    Quit {
        /// The conversation.
        conversation: ConversationId,
    },
    /// Stopped from outside before or beside a turn.
    #[error("interrupted")]
    Interrupted,
    /// Stopped from outside for the second time, in the middle of a turn.
    #[error("interrupted")]
    LeftAtOnce {
        /// The conversation, if it has the turn.
        kept: Option<ConversationId>,
    },
    /// The model cannot be had.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The conversation cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The turn cannot go on.
    #[error(transparent)]
    Session(Arc<SessionError>),
    /// The store cannot do its work.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A directory of ours cannot be used.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The settings cannot be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A setting cannot be shown or changed.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The port cannot be had.
    #[error("cannot listen on port {port} of 127.0.0.1")]
    Listen {
        /// The port.
        port: u16,
        /// What the system said.
        source: io::Error,
    },
    /// No server of tools has that name.
    #[error("there is no MCP server {0}")]
    NoServer(String),
    /// A server is to run outside the sandbox, and nobody can tell which files it runs.
    #[error(transparent)]
    CodeInWords(CodeInWords),
    /// A server of tools has that name.
    #[error("there is an MCP server {0} already")]
    ServerKnown(String),
    /// A server of tools cannot be written down or taken out.
    #[error(transparent)]
    ServerFile(RuleFileError),
    /// What the workspace says of servers cannot be used.
    #[error(transparent)]
    Project(#[from] ProjectFault),
    /// What a person approved cannot be read or kept.
    #[error(transparent)]
    Trust(#[from] TrustFault),
    /// The system does not let us run.
    #[error("cannot start")]
    Runtime(#[source] io::Error),
}

impl Fault {
    /// The conversation, if another process is at work on it.
    pub(crate) fn held(&self) -> Option<&ConversationId> {
        let Self::Open(OpenError::Lease(LeaseError::Held { conversation, .. })) = self else {
            return None;
        };
        Some(conversation)
    }

    /// Whether somebody may ask later why it failed.
    pub(crate) fn is_worth_a_record(&self) -> bool {
        self.code() == Code::Failed
    }

    pub(super) fn code(&self) -> Code {
        match self {
            Self::Letter(fault) => fault.code(),
            Self::Server(fault) => fault.code(),
            Self::Import(fault) => fault.code(),
            Self::Input(fault) => fault.code(),
            Self::Config(error) => config::code(error),
            Self::Fork(fault) => fault.code(),
            Self::NoDraft
            | Self::NoTopic { .. }
            | Self::UnknownDraft { .. }
            | Self::Attach(_)
            | Self::Added(_)
            | Self::UnknownConversation { .. }
            | Self::Ambiguous { .. }
            | Self::NoConversation { .. }
            | Self::NoRule { .. }
            | Self::NoServer(_)
            | Self::CodeInWords(_)
            | Self::ServerKnown(_)
            | Self::Project(_)
            | Self::NothingAsked { .. }
            | Self::AnsweredOtherwise { .. }
            | Self::NotOpen { .. }
            | Self::TakenAway { .. }
            | Self::NoAnswer { .. }
            | Self::SecretOnTerminal { .. }
            | Self::Command(CommandFault::NotFound(_) | CommandFault::NotGiven { .. })
            | Self::Undo(UndoFault::Unknown { .. })
            | Self::Model(_)
            | Self::Load(_)
            | Self::Settings(
                SettingsError::Directory(_)
                | SettingsError::DirectoryName(_)
                | SettingsError::NoHome,
            )
            | Self::Listen { .. }
            | Self::Open(
                OpenError::Unknown(_)
                | OpenError::Workspace { .. }
                | OpenError::WorkspaceName { .. },
            ) => Code::Usage,
            Self::Open(OpenError::Lease(LeaseError::Held { .. }))
            | Self::NotTaken { .. }
            | Self::Undo(UndoFault::Running { .. } | UndoFault::NotTaken { .. })
            | Self::RuleHeld { .. } => Code::Transient,
            Self::Incomplete { .. } | Self::LeftAlone => Code::Incomplete,
            Self::Quit { .. } | Self::Interrupted | Self::LeftAtOnce { .. } => Code::Interrupted,
            Self::Draft(_)
            | Self::Write { .. }
            | Self::Undo(UndoFault::Refused { .. })
            | Self::Command(
                CommandFault::Closed { .. }
                | CommandFault::CutOff { .. }
                | CommandFault::Endless { .. },
            )
            | Self::Open(OpenError::Lease(LeaseError::Store(_)) | OpenError::Store(_))
            | Self::Session(_)
            | Self::Store(_)
            | Self::Settings(SettingsError::Home { .. } | SettingsError::Make { .. })
            | Self::Trust(_)
            | Self::RuleFile(_)
            | Self::ServerFile(_)
            | Self::Runtime(_) => Code::Failed,
        }
    }

    /// A word for programs.
    pub(super) fn reason(&self) -> &'static str {
        match self {
            Self::Input(fault) => fault.reason(),
            Self::NoTopic { .. } => "no_topic",
            Self::NoDraft | Self::UnknownDraft { .. } => "no_draft",
            Self::Attach(_) | Self::Write { .. } => "file",
            Self::UnknownConversation { .. } | Self::Open(OpenError::Unknown(_)) => {
                "unknown_conversation"
            }
            Self::Ambiguous { .. } => "ambiguous_conversation",
            Self::NoConversation { .. } => "no_conversation",
            Self::Command(_) => "command",
            Self::Import(_) => "import",
            Self::Undo(_) => "undo",
            Self::Fork(_) => "fork",
            Self::Letter(fault) => fault.reason(),
            Self::Server(fault) => fault.reason(),
            Self::Incomplete { .. } | Self::LeftAlone => "incomplete_turn",
            Self::Quit { .. } | Self::Interrupted | Self::LeftAtOnce { .. } => "interrupted",
            Self::Model(_) | Self::Load(_) => "model",
            Self::Open(OpenError::Workspace { .. } | OpenError::WorkspaceName { .. })
            | Self::Settings(SettingsError::Directory(_) | SettingsError::DirectoryName(_))
            | Self::Added(_) => "workspace",
            Self::Open(OpenError::Lease(LeaseError::Held { .. })) | Self::RuleHeld { .. } => "held",
            Self::NotTaken { .. } => "not_taken",
            Self::AnsweredOtherwise { .. } | Self::NotOpen { .. } | Self::TakenAway { .. } => {
                "already_answered"
            }
            Self::NoRule { .. } | Self::RuleFile(_) => "rule",
            Self::NoServer(_)
            | Self::CodeInWords(_)
            | Self::ServerKnown(_)
            | Self::ServerFile(_)
            | Self::Project(_) => "mcp",
            Self::Trust(_) => "trust",
            Self::NothingAsked { .. } => "nothing_asked",
            Self::NoAnswer { .. } | Self::SecretOnTerminal { .. } => "answer",
            Self::Open(OpenError::Lease(LeaseError::Store(_)) | OpenError::Store(_))
            | Self::Session(_)
            | Self::Store(_) => "store",
            Self::Draft(_) | Self::Settings(_) => "home",
            Self::Config(_) => "settings",
            Self::Listen { .. } => "listen",
            Self::Runtime(_) => "runtime",
        }
    }

    /// What to do next, one way per line.
    pub(super) fn hints(&self) -> Vec<String> {
        match self {
            Self::Input(fault) => fault.hints(),
            Self::NoDraft => vec!["say something: piton query \"TEXT\"".into()],
            Self::UnknownDraft { .. } => vec!["piton draft shows them with their names".into()],
            Self::Attach(fault) => fault.hints(),
            Self::Added(_) => vec!["check the path after --add-dir; it counts from here".into()],
            Self::UnknownConversation { near, aside, .. } => {
                let mut hints = Vec::new();
                if !near.is_empty() {
                    hints.push(format!("these are near: {}", names(near)));
                }
                hints.push("piton ls --all shows all of them".into());
                hints.extend(about(aside));
                hints
            }
            Self::Ambiguous { found, .. } => {
                vec![format!("give more letters; these begin so: {}", names(found))]
            }
            Self::NoServer(_) | Self::Project(_) => vec![SERVERS.into()],
            Self::CodeInWords(_) => CODE_IN_WORDS.map(Into::into).to_vec(),
            Self::Trust(_) => vec!["see to the file; piton help trust says what it holds".into()],
            Self::ServerKnown(name) => vec![known_server(name)],
            Self::ServerFile(_) => vec!["see to the file and try again".into()],
            Self::NoRule { .. } => vec!["piton permissions shows them with their numbers".into()],
            Self::RuleFile(_) => vec![RULE_FILE.into()],
            Self::RuleHeld { number, conversation, .. } => rule_held(*number, conversation),
            Self::NothingAsked { conversation, last } => nothing_asked(conversation, last.as_ref()),
            Self::AnsweredOtherwise { .. } | Self::NotOpen { .. } | Self::TakenAway { .. } => {
                vec![NEXT_QUESTION.into()]
            }
            Self::NotTaken { conversation, .. } => vec![taking(conversation)],
            Self::NoAnswer { words, more, .. } => answering(words, more),
            Self::SecretOnTerminal { .. } => vec![SECRET.into()],
            Self::Command(fault) => fault.hints(),
            Self::Import(fault) => fault.hints(),
            Self::Undo(fault) => fault.hints(),
            Self::Fork(fault) => fault.hints(),
            Self::Letter(fault) => fault.hints(),
            Self::Server(fault) => fault.hints(),
            Self::NoConversation { aside } => {
                let mut hints = vec![
                    "piton ls --all shows the conversations of all directories".into(),
                    "piton query \"list the files here\" begins one".into(),
                ];
                hints.extend(about(aside));
                hints
            }
            Self::Model(error) => choosing(error),
            Self::Listen { .. } => {
                vec!["choose another one with --port; 0 takes one that is free".into()]
            }
            Self::Open(error) => opening(error),
            Self::Session(error) => going_on(error),
            Self::Store(error) => storing(error),
            Self::Config(error) => config::hints(error),
            Self::Load(error) => vec![loading(error)],
            Self::Settings(error) => vec![placing(error).into()],
            Self::Draft(_) => vec![WRITABLE_HOME.into()],
            Self::NoTopic { near } => {
                let near = near.iter().map(|name| format!("did you mean: piton help {name}"));
                near.chain(["piton help names all commands and topics".into()]).collect()
            }
            Self::Write { .. } => vec!["see that you may write in this directory".into()],
            Self::LeftAtOnce { kept } => left_at_once(kept.as_ref()),
            Self::Incomplete { .. }
            | Self::LeftAlone
            | Self::Quit { .. }
            | Self::Interrupted
            | Self::Runtime(_) => Vec::new(),
        }
    }
}

fn known_server(name: &str) -> String {
    format!("choose another name, or first: piton mcp remove {name}")
}

fn choosing(error: &ModelError) -> Vec<String> {
    match error {
        ModelError::Unknown { .. } => vec![
            "name it as provider/model, for example anthropic/claude-opus-5-5".into(),
            "demo needs no key and no network; script:FILE follows a script".into(),
            PROVIDERS.into(),
        ],
        ModelError::Provider(_) | ModelError::NoDefault { .. } => vec![PROVIDERS.into()],
        ModelError::Several(_) => vec![
            "choose one: --model MODEL, PITON_MODEL=MODEL, or model = \"MODEL\" in the settings"
                .into(),
        ],
        ModelError::ScriptFile { .. } | ModelError::Script { .. } => {
            vec!["mend the file, or choose another model; piton help sim has its form".into()]
        }
    }
}

/// What to do about a home in which nothing can be written.
const WRITABLE_HOME: &str = "set PITON_HOME to a directory you can write to";

fn placing(error: &SettingsError) -> &'static str {
    match error {
        SettingsError::Directory(_) => "change to a directory that exists",
        SettingsError::DirectoryName(_) => RENAME,
        SettingsError::NoHome => "set HOME, or PITON_HOME to a directory",
        SettingsError::Home { .. } => {
            "PITON_HOME has to be a directory that you may read and write"
        }
        SettingsError::Make { .. } => WRITABLE_HOME,
    }
}

fn rule_held(number: usize, conversation: &ConversationId) -> Vec<String> {
    let stop = format!("piton stop {conversation}");
    vec![
        format!("only that process writes the conversation: wait for its end, or: {stop}"),
        format!("then: piton permissions revoke {number} --id {conversation}"),
    ]
}

/// What to do about settings that cannot be changed.
const RULE_FILE: &str = "see to the file and try again, or decide for this conversation only";

impl From<SessionError> for Fault {
    fn from(error: SessionError) -> Self {
        Self::Session(Arc::new(error))
    }
}

impl From<CommandError> for Fault {
    fn from(error: CommandError) -> Self {
        match error {
            CommandError::Open(error) => match Arc::try_unwrap(error) {
                Ok(error) => Self::Open(error),
                Err(error) => LetterFault::Command(CommandError::Open(error)).into(),
            },
            CommandError::Store(error) => match Arc::try_unwrap(error) {
                Ok(error) => Self::Store(error),
                Err(error) => LetterFault::Command(CommandError::Store(error)).into(),
            },
            CommandError::Failed(mut error) => {
                while let SessionError::Shared(inner) = &*error {
                    error = inner.clone();
                }
                Self::Session(error)
            }
            CommandError::Refused(_)
            | CommandError::SecretElsewhere
            | CommandError::EngineGone
            | _ => LetterFault::Command(error).into(),
        }
    }
}

impl From<FollowError> for Fault {
    fn from(error: FollowError) -> Self {
        match error {
            FollowError::Store(error) => Self::Store(error),
            FollowError::Unknown(_)
            | FollowError::CursorAhead { .. }
            | FollowError::EngineGone
            | _ => LetterFault::Follow(error).into(),
        }
    }
}

fn left_at_once(kept: Option<&ConversationId>) -> Vec<String> {
    let kept =
        kept.map(|id| format!("the turn is kept; to go on: piton query --continue --id {id}"));
    let killed = "a command that was running was killed; check what it had done";
    kept.into_iter().chain([killed.into()]).collect()
}

/// What to know about damaged databases when something was not found.
pub(crate) fn about(aside: &[PathBuf]) -> Option<String> {
    let newest = aside.last()?.display();
    let count = match aside.len() {
        1 => "a damaged database lies".into(),
        count => format!("{count} damaged databases lie"),
    };
    Some(format!(
        "{count} beside the present one; to bring back what can be read: piton doctor --salvage {newest}"
    ))
}

fn names(ids: &[ConversationId]) -> String {
    ids.iter().map(ConversationId::as_str).collect::<Vec<_>>().join(", ")
}
