//! Exactly what was typed. Nothing is looked up here.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use piton_core::view;

mod attach;
mod chat;
mod compact;
mod config;
mod drafts;
mod fork;
mod grep;
mod help;
mod import;
mod init;
mod keep;
mod mcp;
mod query;
mod queue;
mod retry;
mod send;
mod serve;
mod sim;
mod stop;
mod trust;
mod turns;
mod undo;

pub(crate) use self::attach::Attach;
pub(crate) use self::chat::Chat;
pub(crate) use self::compact::{Compact, TokensFlags, Uncompact};
pub(crate) use self::config::{Config, ConfigWish};
pub(crate) use self::drafts::{DraftWish, DraftsFlags};
pub(crate) use self::fork::{Cut, Fork, Place, Rewind};
pub(crate) use self::grep::{Grep, GrepOutput};
pub(crate) use self::help::{Completions, Help, Shell};
pub(crate) use self::import::Import;
pub(crate) use self::init::Init;
pub(crate) use self::keep::{Archive, Export, ExportFormat, Rename, Rm};
pub(crate) use self::mcp::{Mcp, McpWish, NewServer, SimMcp};
pub(crate) use self::query::{EFFORTS, Mode, Query, TurnFlags};
pub(crate) use self::queue::{QueueFlags, QueueWish};
pub(crate) use self::retry::Retry;
pub(crate) use self::send::Send;
pub(crate) use self::serve::{Serve, ServeWish, TokenFlags, UnitFlags};
pub(crate) use self::sim::{Sim, SimServe};
pub(crate) use self::stop::{STOP_WAIT_S, Stop};
pub(crate) use self::trust::{Trust, TrustWish};
pub(crate) use self::turns::Turns;
pub(crate) use self::undo::{Undo, Which};
use crate::output::Form;

/// Most rows that `ls` shows unless told otherwise.
const LS_ROWS: usize = 50;

/// What exit codes mean, for whoever asks for help.
const EXIT_CODES: &str = "Exit codes: 0 ok, 1 task failed, 2 usage, 3 needs a person, 4 limit, \
    5 may work later, 6 incomplete turn, 130 interrupted (Ctrl-C, SIGTERM, or SIGHUP from a \
    terminal that was closed)";

/// A coding agent whose turns are never lost. Without a command, a chat on the terminal.
#[derive(Debug, Parser)]
#[command(name = "piton", version, disable_help_subcommand = true)]
#[command(args_conflicts_with_subcommands = true, after_help = EXIT_CODES)]
pub(crate) struct Flags {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) chat: Chat,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Say something and see the turn through; the answer goes to standard output
    Query(Box<Query>),
    /// Try the newest message again from scratch, with the model of now; its old attempt is kept
    Retry(Box<Retry>),
    /// Show what a turn asks, or answer it
    Answer(Answer),
    /// Show the rules that say what may run, or take one back
    Permissions(Permissions),
    /// List the conversations of this workspace, the newest first
    Ls(Ls),
    /// Show a conversation
    Print(Print),
    /// Find what was said in the conversations of this workspace
    Grep(Grep),
    /// Write a conversation as Markdown, as a page of HTML, or as the entries that are stored
    Export(Export),
    /// Give a conversation another title
    Rename(Rename),
    /// Put conversations away, or list them again
    Archive(Archive),
    /// Remove conversations: hide them, or take them away for good
    Rm(Rm),
    /// Take over sessions of other agents: Claude Code, Codex, opencode, Gemini CLI, Qwen Code, pi
    Import(Import),
    /// Show the messages that were typed in this workspace and not sent; write one anew, or forget it
    #[command(name = "draft", visible_alias = "drafts")]
    Drafts(DraftsFlags),
    /// Show the messages that wait in a conversation; change, move or take one back
    Queue(QueueFlags),
    /// Show the commands that run, of all conversations
    Ps(Ps),
    /// Show what a command has printed
    Logs(Logs),
    /// Write to the input of a command
    Send(Send),
    /// Stop a command, with everything it started
    Kill(Kill),
    /// Stop the turn that another process performs; it can be resumed
    Stop(Stop),
    /// Go on from a place of a conversation in another one; nothing is copied
    Fork(Fork),
    /// Go back in front of a turn: a fork there, with the files as they were, if that is wanted
    Rewind(Rewind),
    /// Take back what was changed in a file of this workspace, the newest change first
    Undo(Undo),
    /// Servers of tools: show them and their tools, add one, take one out
    Mcp(Mcp),
    /// Show what this workspace brings along for an agent, and trust it, or take that back
    Trust(Trust),
    /// Write a first AGENTS.md for this project, by looking at it
    Init(Init),
    /// Show the settings and where they come from, or change one
    Config(Box<Config>),
    /// Show what holds on this machine, and what to do about the rest
    Doctor(Doctor),
    /// Show the models that can answer, and what keeps providers from answering
    Models(Models),
    /// Sum up the older part of a conversation, so that requests are smaller; the journal keeps everything
    Compact(Compact),
    /// Take the summary off: everything is sent again
    Uncompact(Uncompact),
    /// Show how large the next request is, and how much the model takes
    Tokens(TokensFlags),
    /// Explain a command or a topic; without one, name them all
    Help(Help),
    /// Print completions for a shell, or a page for `man`
    Completions(Completions),
    /// Look at a conversation that another process or a server works on, and take part in it
    Attach(Attach),
    /// Serve conversations over HTTP, for browsers and programs; or make a token for one
    Serve(Serve),
    /// Play a provider, for tests of this and other agents
    #[command(subcommand)]
    Sim(Sim),
}

/// How long an answer is waited for to be taken, in seconds. A process that asks looks four times a
/// second; one that does not look is stopped, or busy with something else.
const ANSWER_WAIT_S: u64 = 10;

/// The flags of `piton answer`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct Answer {
    /// yes, no, always, never, edit or applied (you did it by hand); run, done or unknown for a call in
    /// doubt; an option or a short text for a question. Without it, shows what is asked
    #[arg(value_name = "ANSWER")]
    pub(crate) word: Option<String>,
    /// How far always and never reach [default: conversation]
    #[arg(long, value_name = "SCOPE", requires = "word")]
    pub(crate) scope: Option<Scope>,
    /// How much the rule of always says beside this call [default: exactly for commands, tool for others]
    #[arg(long, value_name = "WIDTH", requires = "word")]
    pub(crate) width: Option<Width>,
    /// The answer in words, or the result of a call in doubt; behind no a reason that the model reads,
    /// behind edit what runs instead
    #[arg(long, value_name = "TEXT")]
    pub(crate) text: Option<String>,
    /// Do not answer the question of a tool; it is told so
    #[arg(long, conflicts_with_all = ["word", "text"])]
    pub(crate) decline: bool,
    /// The conversation, or the beginning of its id; else the newest one of this workspace
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Answer all calls that ask for permission now
    #[arg(long, requires = "word")]
    pub(crate) all: bool,
    /// Then go on with the turn
    #[arg(long = "continue")]
    pub(crate) resume: bool,
    /// How long to wait until a process at work on the conversation has taken the answer
    #[arg(long, value_name = "SECONDS", default_value_t = ANSWER_WAIT_S, allow_negative_numbers = true)]
    pub(crate) wait: u64,
    /// One JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

/// How far a standing decision reaches.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Scope {
    /// This conversation
    Conversation,
    /// Every conversation in the same workspace
    Project,
    /// Every conversation of yours
    User,
}

/// How much a rule says beside the call that it is made of.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Width {
    /// These commands, or this path
    Exactly,
    /// The first words of each command, and whatever follows them
    FirstWords,
    /// The program of each command, and whatever follows it
    Program,
    /// Every path in the directory
    Directory,
    /// Every call of the tool
    Tool,
    /// The first words of each command, and whatever follows them, outside the sandbox
    Unconfined,
}

impl Width {
    /// As it is typed.
    pub(crate) fn word(width: view::Width) -> String {
        width.word().replace('_', "-")
    }
}

impl From<Width> for view::Width {
    fn from(width: Width) -> Self {
        match width {
            Width::Exactly => Self::Exactly,
            Width::FirstWords => Self::FirstWords,
            Width::Program => Self::Program,
            Width::Unconfined => Self::Unconfined,
            Width::Directory => Self::Directory,
            Width::Tool => Self::Tool,
        }
    }
}

/// The flags of `piton permissions`.
#[derive(Debug, Args)]
pub(crate) struct Permissions {
    #[command(subcommand)]
    pub(crate) wish: Option<RulesWish>,
    /// The conversation, or the beginning of its id; else the newest one of this workspace
    #[arg(long, value_name = "ID", global = true)]
    pub(crate) id: Option<String>,
    /// One JSON object per line
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// What to do with the rules.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum RulesWish {
    /// Say what would become of a command, and why; nothing is run
    Try {
        /// The command line, in quotes
        command: String,
        /// What may run without asking; else the mode of the conversation
        #[arg(long, value_name = "MODE")]
        permissions: Option<Mode>,
    },
    /// Take back a rule, of the conversation or of the settings
    Revoke {
        /// Its number in the list
        #[arg(value_name = "N")]
        number: usize,
    },
}

/// The flags of `piton ls`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct Ls {
    /// One JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
    /// Those of all directories, and workers; with a column for the directory
    #[arg(long)]
    pub(crate) all: bool,
    /// Only those with a turn that is not over
    #[arg(long)]
    pub(crate) open: bool,
    /// Only those that wait for a person
    #[arg(long, conflicts_with = "open")]
    pub(crate) waiting: bool,
    /// Only those with this text in their title
    #[arg(long, value_name = "TEXT")]
    pub(crate) text: Option<String>,
    /// Only those that were touched since then: 90m, 12h, 3d or 2w ago
    #[arg(long, value_name = "AGE", value_parser = keep::since)]
    pub(crate) since: Option<u64>,
    /// Those that were archived
    #[arg(long)]
    pub(crate) archived: bool,
    /// Those that were removed and not purged
    #[arg(long, conflicts_with = "archived")]
    pub(crate) removed: bool,
    /// Workers as well
    #[arg(long)]
    pub(crate) workers: bool,
    /// What each has used, and what that cost by the table of prices; reads all of them
    #[arg(long)]
    pub(crate) cost: bool,
    /// At most so many; 0 is no limit [default: 50, and with --all no limit]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    limit: Option<usize>,
}

impl Ls {
    /// Whether some conversations of the place are left out.
    pub(crate) fn is_filtered(&self) -> bool {
        self.archived
            || self.removed
            || self.open
            || self.waiting
            || self.text.is_some()
            || self.since.is_some()
    }

    /// Most rows that are shown.
    pub(crate) fn rows_max(&self) -> usize {
        match self.limit {
            Some(0) => usize::MAX,
            Some(limit) => limit,
            None if self.all => usize::MAX,
            None => LS_ROWS,
        }
    }
}

/// The flags of `piton models`.
#[derive(Debug, Args)]
pub(crate) struct Models {
    /// Only this provider
    #[arg(value_name = "PROVIDER")]
    pub(crate) provider: Option<String>,
    /// Ask for lists of models although they are less than a day old
    #[arg(long)]
    pub(crate) refresh: bool,
    /// One JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

/// The flags of `piton print`.
#[derive(Debug, Default, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct Print {
    /// The conversation, or the beginning of its id; else the newest one of this workspace
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    /// The same, as other commands take it
    #[arg(long = "id", value_name = "ID", conflicts_with = "id", hide = true)]
    pub(crate) id_flag: Option<String>,
    /// Only these turns: 3, 2..4, 2.. or ..4; -1 is the last one, -3.. the last three
    #[arg(long, value_name = "RANGE", allow_hyphen_values = true)]
    turns: Option<Turns>,
    /// Only the last turn, or the last N
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "1")]
    #[arg(conflicts_with_all = ["turns", "raw"])]
    last: Option<u32>,
    /// How much of it to show [default: all but what calls gave]
    #[arg(long, value_name = "STYLE", conflicts_with_all = ["full", "json"])]
    pub(crate) style: Option<PrintStyle>,
    /// Do not show a long conversation page by page
    #[arg(long)]
    pub(crate) no_pager: bool,
    /// With all that calls gave, below each: what a command printed, what a tool answered
    #[arg(long, conflicts_with = "json")]
    pub(crate) full: bool,
    /// With all attempts of each message, and what each of them did; with --json one object for each
    #[arg(long)]
    pub(crate) attempts: bool,
    /// What the model sees: the next request, with the summary and shortened outputs in place
    #[arg(long, conflicts_with_all = ["json", "full"])]
    pub(crate) compacted: bool,
    /// Its view, as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Text with the control characters in it; with --json one entry per line instead, as stored
    #[arg(long, conflicts_with = "attempts")]
    pub(crate) raw: bool,
}

/// How much of a conversation is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PrintStyle {
    /// What you said
    User,
    /// What you and the model said
    Chat,
    /// And a line for each call
    Brief,
    /// And all that calls changed and gave
    Full,
}

impl Print {
    /// Some turns of a conversation, or all of it, below what is on the screen.
    pub(crate) fn below(id: String, turns: Option<Turns>) -> Self {
        let (id, no_pager) = (Some(id), true);
        Self { id, turns, no_pager, ..Self::default() }
    }

    /// The turns that are wanted; none if all are.
    pub(crate) fn turns(&self) -> Option<Turns> {
        self.last.map(Turns::last).or(self.turns)
    }
}

/// The flags of `piton ps`.
#[derive(Debug, Args)]
pub(crate) struct Ps {
    /// Also those that have ended and are still kept
    #[arg(long)]
    pub(crate) all: bool,
    /// One JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

/// The flags of `piton logs`.
#[derive(Debug, Args)]
pub(crate) struct Logs {
    /// The command, as `piton ps` names it; its call or its conversation is enough where that is clear
    #[arg(value_name = "COMMAND")]
    pub(crate) command: String,
    /// Go on until it ends
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// With the control characters in it: colours, titles and whatever else a terminal obeys
    #[arg(long)]
    pub(crate) raw: bool,
}

/// The flags of `piton doctor`.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Bring back the conversations of a damaged database: of the newest that was set aside, or of this file
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    #[expect(clippy::option_option, reason = "the flag, and its value")]
    pub(crate) salvage: Option<Option<PathBuf>>,
    /// One JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

/// The flags of `piton kill`.
#[derive(Debug, Args)]
pub(crate) struct Kill {
    /// The command, as `piton ps` names it; its call or its conversation is enough where that is clear
    #[arg(value_name = "COMMAND")]
    pub(crate) command: String,
}

impl Command {
    /// Whether nothing of it may be kept.
    pub(crate) fn records_nothing(&self) -> bool {
        matches!(self, Self::Query(query) if query.no_persist)
    }
}

impl Flags {
    /// In which form the outcome is wanted.
    pub(crate) fn form(&self) -> Form {
        self.command.as_ref().map_or(Form::Text, Command::form)
    }
}

impl Command {
    fn form(&self) -> Form {
        match self {
            Self::Query(query) if query.turn.json => Form::Json,
            Self::Retry(retry) if retry.turn.json => Form::Json,
            Self::Answer(answer) if answer.json => Form::Json,
            Self::Permissions(flags) if flags.json => Form::Json,
            Self::Serve(serve) if serve.json => Form::Json,
            Self::Attach(attach) if attach.json => Form::Json,
            Self::Sim(Sim::Serve(serve)) if serve.json => Form::Json,
            Self::Mcp(mcp) if mcp.json => Form::Json,
            Self::Trust(trust) if trust.json => Form::Json,
            Self::Fork(fork) if fork.json => Form::Json,
            Self::Rewind(rewind) if rewind.json => Form::Json,
            Self::Undo(undo) if undo.json => Form::Json,
            Self::Drafts(drafts) if drafts.json => Form::Json,
            Self::Queue(queue) if queue.json => Form::Json,
            Self::Config(config) if config.json => Form::Json,
            Self::Rename(rename) if rename.json => Form::Json,
            Self::Archive(archive) if archive.json => Form::Json,
            Self::Rm(rm) if rm.json => Form::Json,
            Self::Import(import) if import.json => Form::Json,
            Self::Query(_)
            | Self::Retry(_)
            | Self::Answer(_)
            | Self::Permissions(_)
            | Self::Ls(_)
            | Self::Print(_)
            | Self::Grep(_)
            | Self::Export(_)
            | Self::Rename(_)
            | Self::Archive(_)
            | Self::Rm(_)
            | Self::Import(_)
            | Self::Drafts(_)
            | Self::Queue(_)
            | Self::Config(_)
            | Self::Init(_)
            | Self::Ps(_)
            | Self::Logs(_)
            | Self::Send(_)
            | Self::Kill(_)
            | Self::Stop(_)
            | Self::Fork(_)
            | Self::Rewind(_)
            | Self::Undo(_)
            | Self::Mcp(_)
            | Self::Trust(_)
            | Self::Models(_)
            | Self::Doctor(_)
            | Self::Tokens(_)
            | Self::Compact(_)
            | Self::Uncompact(_)
            | Self::Help(_)
            | Self::Completions(_)
            | Self::Serve(_)
            | Self::Attach(_)
            | Self::Sim(_) => Form::Text,
        }
    }
}
