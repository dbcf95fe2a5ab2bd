//! The flags of `piton query`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{ArgGroup, Args, ValueEnum};
use piton_agent::{Dollars, NoDollars, Overrides, SandboxMode, UnattendedPolicy};
use piton_core::view::{Effort, ModelRef, PermissionMode};

/// How often it is said that a turn goes on, in seconds.
const HEARTBEAT_S: u64 = 30;

/// Efforts as they are typed.
pub(crate) const EFFORTS: [&str; 7] = ["auto", "none", "minimal", "low", "medium", "high", "max"];

/// The flags of `piton query`.
#[derive(Debug, Default, Args)]
#[command(group = ArgGroup::new("left").args(["queue", "steer"]))]
#[expect(clippy::struct_excessive_bools, reason = "one per flag; they are independent")]
pub(crate) struct Query {
    /// What to say, in one word or several; `-` reads it from standard input. Without it, a pipe or a
    /// file on standard input is the message, and on a terminal an editor opens
    #[arg(value_name = "TEXT")]
    pub(crate) text: Vec<String>,
    /// Take the message from a file
    #[arg(long, value_name = "FILE", conflicts_with = "draft")]
    pub(crate) prompt_file: Option<PathBuf>,
    /// Begin a conversation
    #[arg(long, conflicts_with_all = ["id", "resume", "go_on", "discard_turn"])]
    pub(crate) new: bool,
    /// A file that goes along: an image, a PDF, a text; can be given several times. `-` is standard input
    #[arg(long = "file", short = 'f', value_name = "PATH")]
    pub(crate) files: Vec<PathBuf>,
    /// Let workers do it: the model splits it into subtasks, and answers from their results
    #[arg(long, conflicts_with_all = ["resume", "go_on", "discard_turn"])]
    pub(crate) coordinate: bool,
    /// Go on with the incomplete turn; with TEXT, keep its work and add a message. Without an incomplete
    /// turn TEXT is the next message
    #[arg(long = "continue", value_name = "TEXT", conflicts_with = "discard_turn")]
    #[expect(clippy::option_option, reason = "absent, without a text, with a text")]
    pub(crate) resume: Option<Option<String>>,
    /// Go on with the last conversation, as --continue does; the words behind it need no quotes:
    /// piton query -c and then run the tests
    #[arg(short = 'c', conflicts_with_all = ["resume", "discard_turn"])]
    pub(crate) go_on: bool,
    /// Discard the incomplete turn
    #[arg(long)]
    pub(crate) discard_turn: bool,
    /// The answer must be JSON that matches the JSON Schema in this file. It is asked for again where it
    /// does not; then exit code 1
    #[arg(long, value_name = "FILE", conflicts_with_all = ["queue", "steer", "discard_turn"])]
    pub(crate) output_schema: Option<PathBuf>,
    /// Leave standard input alone, also if it is a pipe or a file
    #[arg(long)]
    pub(crate) no_stdin: bool,
    /// Behind what runs and waits: if another process works on the conversation, the message is left
    /// for it, and its answer is shown when it comes
    #[arg(long, conflicts_with_all = ["new", "resume", "go_on", "discard_turn", "no_persist", "coordinate"])]
    pub(crate) queue: bool,
    /// Into the open turn, before its next request, also if another process works on it
    #[arg(long, conflicts_with_all = ["queue", "new", "resume", "go_on", "discard_turn", "no_persist", "coordinate"])]
    pub(crate) steer: bool,
    /// With --queue or --steer: do not wait for the answer of another process
    #[arg(long, requires = "left")]
    pub(crate) no_wait: bool,
    /// Bind the conversation to another directory first, where it works from then on
    #[arg(long, value_name = "DIR", requires = "id", conflicts_with = "no_persist")]
    pub(crate) workspace: Option<PathBuf>,
    /// Send the newest message that was kept because it could not be sent, to the conversation that it
    /// was meant for; `piton draft` shows them
    #[arg(long, conflicts_with = "text")]
    pub(crate) draft: bool,
    /// Take no lock and record nothing
    #[arg(long, conflicts_with_all = ["resume", "go_on", "discard_turn", "draft"])]
    pub(crate) no_persist: bool,
    #[command(flatten)]
    pub(crate) turn: TurnFlags,
    /// Try a message again, and which one: `piton retry` asks for that.
    #[arg(skip)]
    #[expect(clippy::option_option, reason = "not at all, the newest one, a certain one")]
    pub(crate) retry: Option<Option<String>>,
}

/// What every turn takes that a person sets going: in which conversation, by whom, how far, and how it is
/// told.
#[derive(Clone, Debug, Default, Args)]
#[expect(clippy::struct_excessive_bools, reason = "one per flag; they are independent")]
pub(crate) struct TurnFlags {
    /// The conversation, or the beginning of its id; else the newest one of this workspace
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Who answers: provider/model, demo, or script:FILE
    #[arg(long, short = 'm', value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// How much the model should think: auto, none, minimal, low, medium, high, max
    #[arg(long, value_name = "EFFORT", value_parser = effort)]
    pub(crate) effort: Option<Effort>,
    /// Most tokens of one answer; 0 leaves it to the provider
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) max_tokens: Option<u32>,
    /// One JSON object per line on standard output
    #[arg(long)]
    pub(crate) json: bool,
    /// Answers as the model wrote them, with all that a terminal obeys
    #[arg(long, conflicts_with = "json")]
    pub(crate) raw: bool,
    /// Most model answers in one turn; 0 is no limit
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) max_steps: Option<u32>,
    /// Stop the turn before its next request once it has used so many tokens, and keep it; exit code 4
    #[arg(long, value_name = "N")]
    pub(crate) max_turn_tokens: Option<u64>,
    /// The same once it has cost so much, by the table of prices
    #[arg(long, value_name = "DOLLARS", value_parser = dollars)]
    pub(crate) max_cost: Option<u64>,
    /// Without a terminal, say so often that the turn goes on; 0 never does
    #[arg(long, value_name = "SECONDS", default_value_t = HEARTBEAT_S)]
    pub(crate) heartbeat: u64,
    /// Stop the turn when so many seconds are over, and keep it; exit code 4. 0 is no limit
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout: Option<u64>,
    /// Write the last line of --json into this file, whole or not at all
    #[arg(long, value_name = "PATH")]
    pub(crate) result_file: Option<PathBuf>,
    /// What may run without asking
    #[arg(long, value_name = "MODE")]
    pub(crate) permissions: Option<Mode>,
    /// Change nothing: look, and end with a plan that you approve, change or leave. The same as
    /// --permissions plan
    #[arg(long, conflicts_with = "permissions")]
    pub(crate) plan: bool,
    /// What becomes of questions while nobody is there
    #[arg(long, value_name = "POLICY")]
    pub(crate) unattended: Option<Unattended>,
    /// When commands are confined to the workspace [default: auto]
    #[arg(long, value_name = "MODE")]
    pub(crate) sandbox: Option<Sandbox>,
    /// Confined commands have no network
    #[arg(long)]
    pub(crate) no_network: bool,
    /// Print the answer, and never ask anything on the terminal (also: `PITON_NO_INPUT=1`)
    #[arg(long, short = 'p', visible_alias = "print")]
    pub(crate) no_input: bool,
    /// How long to wait for a conversation that another process works on; 0 does not wait
    /// [default: 30, or ask on a terminal]
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    pub(crate) lock_wait: Option<u64>,
    /// A directory beside the workspace that tools may read and write from now on, and commands in a
    /// sandbox too; can be given several times. The conversation keeps it
    #[arg(long, value_name = "DIR")]
    pub(crate) add_dir: Vec<PathBuf>,
    /// Take a directory out again that was added; can be given several times
    #[arg(long, value_name = "DIR")]
    pub(crate) remove_dir: Vec<PathBuf>,
}

/// An effort, or what may be meant.
pub(super) fn effort(typed: &str) -> Result<Effort, String> {
    typed
        .parse()
        .map_err(|fault: <Effort as FromStr>::Err| piton_agent::with_near(typed, fault.to_string()))
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
    /// The same, whatever rules allow, until you have approved a plan
    Plan,
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

/// An amount of dollars, in millionths.
fn dollars(typed: &str) -> Result<u64, NoDollars> {
    typed.parse().map(Dollars::microdollars)
}

impl TurnFlags {
    /// What the flags change, with the model and the directories that were named.
    pub(crate) fn overrides(&self, model: Option<ModelRef>, directories: Vec<String>) -> Overrides {
        Overrides {
            model,
            effort: self.effort,
            answer_tokens_max: self.max_tokens,
            steps_max: self.max_steps,
            tokens_max: self.max_turn_tokens,
            microdollars_max: self.max_cost,
            permissions: self.permissions.map(PermissionMode::from),
            unattended: self.unattended.map(UnattendedPolicy::from),
            sandbox: self.sandbox.map(SandboxMode::from),
            no_network: self.no_network,
            directories,
            removed_directories: Vec::new(),
            coordinate: false,
        }
    }
}

impl Mode {
    /// How it is typed.
    pub(crate) fn typed(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

impl Unattended {
    /// How it is typed.
    pub(crate) fn typed(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

impl Sandbox {
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
            PermissionMode::Plan => Self::Plan,
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
            Mode::Plan => Self::Plan,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_effort_that_is_offered_is_understood() {
        assert!(EFFORTS.iter().all(|typed| effort(typed).is_ok()));
    }

    #[test]
    fn amounts_are_read_in_millionths_of_a_dollar() {
        for (typed, expected) in [
            ("0.5", Some(500_000)),
            ("$2", Some(2_000_000)),
            ("0", Some(0)),
            ("1e3", Some(1_000_000_000)),
        ] {
            assert_eq!(dollars(typed).ok(), expected, "{typed}");
        }
        for wrong in ["", "-1", "much", "NaN", "inf", "1e9"] {
            assert!(dollars(wrong).is_err(), "{wrong}");
        }
    }
}
