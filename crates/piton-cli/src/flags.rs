//! Exactly what was typed. Nothing is looked up here.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};
use piton_agent::{Overrides, SandboxMode, UnattendedPolicy};
use piton_core::view::{Effort, ModelRef, PermissionMode};
use piton_sim::script::{Fault as ScriptFault, parse_fault};

mod drafts;
mod mcp;
mod send;
mod stop;

pub(crate) use self::drafts::DraftsFlags;
pub(crate) use self::mcp::{Mcp, McpWish, SimMcp};
pub(crate) use self::send::Send;
pub(crate) use self::stop::Stop;
use crate::output::Form;

/// Most rows that `ls` shows unless told otherwise.
const LS_ROWS: usize = 50;

/// What exit codes mean, for whoever asks for help.
const EXIT_CODES: &str = "Exit codes: 0 ok, 1 task failed, 2 usage, 3 needs a person, 4 limit, \
    5 may work later, 6 incomplete turn, 130 interrupted (Ctrl-C, SIGTERM, or SIGHUP from a \
    terminal that was closed)";

/// A coding agent whose turns are never lost.
#[derive(Debug, Parser)]
#[command(name = "piton", version, arg_required_else_help = true, disable_help_subcommand = true)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct Flags {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Say something and see the turn through; the answer goes to standard output
    Query(Box<Query>),
    /// Show what a turn asks, or answer it
    Answer(Answer),
    /// Show the rules that say what may run, or take one back
    Permissions(Permissions),
    /// List conversations, the newest first
    Ls(Ls),
    /// Show a conversation
    Print(Print),
    /// Show the messages that were typed in this directory and not sent, or forget one
    Drafts(DraftsFlags),
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
    /// Take back what was changed in a file of this directory, the newest change first
    Undo(Undo),
    /// Servers of tools: show them, their tools, or trust those of this directory
    Mcp(Mcp),
    /// Show what holds on this machine, and what to do about the rest
    Doctor(Doctor),
    /// Show the models that can answer, and what keeps providers from answering
    Models(Models),
    /// Play a provider, for tests of this and other agents
    #[command(subcommand)]
    Sim(Sim),
}

/// The flags of `piton query`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("left").args(["queue", "steer"]))]
#[expect(clippy::struct_excessive_bools, reason = "one per flag; they are independent")]
pub(crate) struct Query {
    /// What to say; `-` reads it from standard input
    #[arg(value_name = "TEXT")]
    pub(crate) text: Option<String>,
    /// The conversation, or the beginning of its id; else the newest one of this directory
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Begin a conversation
    #[arg(long, conflicts_with_all = ["id", "resume", "discard_turn"])]
    pub(crate) new: bool,
    /// A file that goes along: an image, a PDF, a text; can be given several times
    #[arg(long = "file", short = 'f', value_name = "PATH")]
    pub(crate) files: Vec<PathBuf>,
    /// Who answers: provider/model, demo, or script:FILE
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// How much the model should think: auto, none, minimal, low, medium, high, max
    #[arg(long, value_name = "EFFORT")]
    pub(crate) effort: Option<Effort>,
    /// Most tokens of one answer; 0 leaves it to the provider
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) max_tokens: Option<u32>,
    /// Let workers do it: the model splits it into subtasks, and answers from their results
    #[arg(long, conflicts_with_all = ["resume", "discard_turn"])]
    pub(crate) coordinate: bool,
    /// Go on with the incomplete turn; with TEXT, keep its work and add a message
    #[arg(long = "continue", value_name = "TEXT", conflicts_with = "discard_turn")]
    #[expect(clippy::option_option, reason = "absent, without a text, with a text")]
    pub(crate) resume: Option<Option<String>>,
    /// Discard the incomplete turn
    #[arg(long)]
    pub(crate) discard_turn: bool,
    /// One JSON object per line on standard output
    #[arg(long)]
    pub(crate) json: bool,
    /// Most model answers in one turn; 0 is no limit
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) max_steps: Option<u32>,
    /// What may run without asking
    #[arg(long, value_name = "MODE")]
    pub(crate) permissions: Option<Mode>,
    /// What becomes of questions while nobody is there
    #[arg(long, value_name = "POLICY")]
    pub(crate) unattended: Option<Unattended>,
    /// When commands are confined to the workspace [default: auto]
    #[arg(long, value_name = "MODE")]
    pub(crate) sandbox: Option<Sandbox>,
    /// Confined commands have no network
    #[arg(long)]
    pub(crate) no_network: bool,
    /// Never ask anything on the terminal (also: `PITON_NO_INPUT=1`)
    #[arg(long)]
    pub(crate) no_input: bool,
    /// How long to wait for a conversation that another process works on; 0 does not wait
    /// [default: 30, or ask on a terminal]
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    pub(crate) lock_wait: Option<u64>,
    /// Behind what runs and waits: if another process works on the conversation, the message is left
    /// for it, and its answer is shown when it comes
    #[arg(long, conflicts_with_all = ["new", "resume", "discard_turn", "no_persist", "coordinate"])]
    pub(crate) queue: bool,
    /// Into the open turn, before its next request, also if another process works on it
    #[arg(long, conflicts_with_all = ["queue", "new", "resume", "discard_turn", "no_persist", "coordinate"])]
    pub(crate) steer: bool,
    /// With --queue or --steer: do not wait for the answer of another process
    #[arg(long, requires = "left")]
    pub(crate) no_wait: bool,
    /// Bind the conversation to another directory first, where it works from then on
    #[arg(long, value_name = "DIR", requires = "id", conflicts_with = "no_persist")]
    pub(crate) workspace: Option<PathBuf>,
    /// Send the newest message that was kept because it could not be sent, to the conversation that it
    /// was meant for; `piton drafts` shows them
    #[arg(long, conflicts_with = "text")]
    pub(crate) draft: bool,
    /// Take no lock and record nothing
    #[arg(long, conflicts_with_all = ["resume", "discard_turn", "draft"])]
    pub(crate) no_persist: bool,
}

/// What may run without asking.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Mode {
    /// What only reads runs; anything else asks
    Ask,
    /// What only reads or edits files runs; anything else asks
    AcceptEdits,
    /// Everything runs
    Auto,
    /// What only reads runs; anything else is denied
    ReadOnly,
}

/// What becomes of questions while nobody is there.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Unattended {
    /// Allow calls in which no deny could hide; take defaults, or tell the tool that there is no answer
    Auto,
    /// Take defaults; what has none waits
    Defaults,
    /// Refuse calls; tell the tool that there is no answer
    Deny,
    /// Let the other calls end, and leave the turn waiting
    Defer,
}

/// When commands are confined.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Sandbox {
    /// Never
    Off,
    /// With `--permissions auto`, as well as the kernel can
    Auto,
    /// Always; a command that cannot be confined is not run
    On,
}

/// How long an answer is waited for to be taken, in seconds. A process that asks looks four times a
/// second; one that does not look is stopped, or busy with something else.
const ANSWER_WAIT_S: u64 = 10;

/// The flags of `piton answer`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct Answer {
    /// yes, no, always, never or applied (you did it by hand); run, done or unknown for a call in
    /// doubt; an option or a short text for a question. Without it, shows what is asked
    #[arg(value_name = "ANSWER")]
    pub(crate) word: Option<String>,
    /// How far always and never reach [default: conversation]
    #[arg(long, value_name = "SCOPE", requires = "word")]
    pub(crate) scope: Option<Scope>,
    /// The answer in words, or the result of a call in doubt
    #[arg(long, value_name = "TEXT", conflicts_with = "word")]
    pub(crate) text: Option<String>,
    /// Do not answer the question of a tool; it is told so
    #[arg(long, conflicts_with_all = ["word", "text"])]
    pub(crate) decline: bool,
    /// The conversation, or the beginning of its id; else the newest one of this directory
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
    /// Every conversation in the same directory
    Project,
    /// Every conversation of yours
    User,
}

/// The flags of `piton permissions`.
#[derive(Debug, Args)]
pub(crate) struct Permissions {
    #[command(subcommand)]
    pub(crate) change: Option<Revoke>,
    /// The conversation, or the beginning of its id; else the newest one of this directory
    #[arg(long, value_name = "ID", global = true)]
    pub(crate) id: Option<String>,
    /// One JSON object per line
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// What to do with a rule.
#[derive(Clone, Copy, Debug, Subcommand)]
pub(crate) enum Revoke {
    /// Take back a rule, of the conversation or of the settings
    Revoke {
        /// Its number in the list
        #[arg(value_name = "N")]
        number: usize,
    },
}

/// The flags of `piton ls`.
#[derive(Debug, Args)]
pub(crate) struct Ls {
    /// One JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
    /// All of them
    #[arg(long, conflicts_with = "limit")]
    pub(crate) all: bool,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = LS_ROWS, allow_negative_numbers = true)]
    pub(crate) limit: usize,
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
#[derive(Debug, Args)]
pub(crate) struct Print {
    /// The conversation, or the beginning of its id; else the newest one of this directory
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    /// The same, as other commands take it
    #[arg(long = "id", value_name = "ID", conflicts_with = "id", hide = true)]
    pub(crate) id_flag: Option<String>,
    /// Its view, as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// With --json: one entry per line instead, as stored
    #[arg(long, requires = "json")]
    pub(crate) raw: bool,
}

/// What to play.
#[derive(Debug, Subcommand)]
pub(crate) enum Sim {
    /// Serve a scripted model on loopback, in the dialect of every provider
    #[command(after_help = SERVE_HELP)]
    Serve(Serve),
    /// Serve tools with countable effects over the Model Context Protocol
    Mcp(SimMcp),
}

/// How to use the server, for whoever asks for help.
const SERVE_HELP: &str = "Standard output has the variables that lead clients to the server; \
    standard error has one line per request. Ctrl-C ends it.\n\n\
    A fault is [STEP:]KIND[,after=EVENTS|,after=BYTESb][,times=N][,wait=MILLISECONDS]:\n  \
    --fault 529,times=2          the first two requests are answered with status 529\n  \
    --fault 2:drop,after=120b    the connection of step 2 breaks after 120 bytes\n  \
    --fault rate-limited,wait=50 the first request is told to wait for 50 ms\n\n\
    docs/sim.md has the form of scripts and all faults.";

/// The flags of `piton sim serve`.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// The script; else the built-in demo model answers
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,
    /// The port on 127.0.0.1; 0 takes one that is free
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) port: u16,
    /// What goes wrong, beside the faults of the script; may be given several times
    #[arg(long = "fault", value_name = "FAULT", value_parser = parse_fault)]
    pub(crate) faults: Vec<(Option<usize>, ScriptFault)>,
    /// Answer in pieces of at most so many bytes; 0 sends each event in one
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    pub(crate) split: usize,
    /// Pack answers for whoever accepts that
    #[arg(long)]
    pub(crate) gzip: bool,
    /// One JSON object per line on standard output: the address, then every request
    #[arg(long)]
    pub(crate) json: bool,
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
}

/// The flags of `piton doctor`.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
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

/// The flags of `piton undo`.
#[derive(Debug, Args)]
pub(crate) struct Undo {
    /// The number of a change in the list; else the newest one that was not taken back
    #[arg(value_name = "N")]
    pub(crate) number: Option<usize>,
    /// Show the changes that can be taken back, with their numbers
    #[arg(long, conflicts_with_all = ["number", "show"])]
    pub(crate) list: bool,
    /// Print the old version instead of putting it back
    #[arg(long)]
    pub(crate) show: bool,
    /// Only changes of this conversation, or of those whose ids begin so
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// How long to wait for a process that works on the conversation of the change
    #[arg(long, value_name = "SECONDS", default_value_t = stop::STOP_WAIT_S, allow_negative_numbers = true)]
    pub(crate) wait: u64,
    /// One JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
}

impl Flags {
    /// In which form the outcome is wanted.
    pub(crate) fn form(&self) -> Form {
        match &self.command {
            Command::Query(query) if query.json => Form::Json,
            Command::Answer(answer) if answer.json => Form::Json,
            Command::Permissions(flags) if flags.json => Form::Json,
            Command::Sim(Sim::Serve(serve)) if serve.json => Form::Json,
            Command::Mcp(mcp) if mcp.json => Form::Json,
            Command::Undo(undo) if undo.json => Form::Json,
            Command::Drafts(drafts) if drafts.json => Form::Json,
            Command::Query(_)
            | Command::Answer(_)
            | Command::Permissions(_)
            | Command::Ls(_)
            | Command::Print(_)
            | Command::Drafts(_)
            | Command::Ps(_)
            | Command::Logs(_)
            | Command::Send(_)
            | Command::Kill(_)
            | Command::Stop(_)
            | Command::Undo(_)
            | Command::Mcp(_)
            | Command::Models(_)
            | Command::Doctor(_)
            | Command::Sim(_) => Form::Text,
        }
    }
}

impl Query {
    /// What the flags change, with the model that was named.
    pub(crate) fn overrides(&self, model: Option<ModelRef>) -> Overrides {
        Overrides {
            model,
            effort: self.effort,
            answer_tokens_max: self.max_tokens,
            steps_max: self.max_steps,
            permissions: self.permissions.map(PermissionMode::from),
            unattended: self.unattended.map(UnattendedPolicy::from),
            sandbox: self.sandbox.map(SandboxMode::from),
            no_network: self.no_network,
            coordinate: self.coordinate,
        }
    }
}

impl Mode {
    /// How it is typed.
    pub(crate) fn typed(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

impl From<PermissionMode> for Mode {
    fn from(mode: PermissionMode) -> Self {
        match mode {
            PermissionMode::Ask => Self::Ask,
            PermissionMode::AcceptEdits => Self::AcceptEdits,
            PermissionMode::Auto => Self::Auto,
            PermissionMode::ReadOnly => Self::ReadOnly,
        }
    }
}

impl From<Mode> for PermissionMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Ask => Self::Ask,
            Mode::AcceptEdits => Self::AcceptEdits,
            Mode::Auto => Self::Auto,
            Mode::ReadOnly => Self::ReadOnly,
        }
    }
}

impl From<Unattended> for UnattendedPolicy {
    fn from(typed: Unattended) -> Self {
        match typed {
            Unattended::Auto => Self::Auto,
            Unattended::Defaults => Self::Defaults,
            Unattended::Deny => Self::Deny,
            Unattended::Defer => Self::Defer,
        }
    }
}

impl From<Sandbox> for SandboxMode {
    fn from(typed: Sandbox) -> Self {
        match typed {
            Sandbox::Off => Self::Off,
            Sandbox::Auto => Self::Auto,
            Sandbox::On => Self::On,
        }
    }
}
