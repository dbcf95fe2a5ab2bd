//! What can go wrong with the message of a query before it is a message.

use std::io;
use std::path::PathBuf;

use piton_agent::custom_commands::CustomFault;
use piton_core::id::ConversationId;

use super::code::Code;

/// Why there is no message to send.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InputFault {
    /// Nothing was said.
    #[error("there is nothing to say")]
    NoText,
    /// The text is blank.
    #[error("the message is empty")]
    EmptyText,
    /// Two texts were given.
    #[error("there are two texts: {first} and {second}")]
    TwoTexts {
        /// Where the first one stands.
        first: &'static str,
        /// Where the other one stands.
        second: &'static str,
    },
    /// The text is larger than a message may be.
    #[error("the message is larger than {bytes_max} bytes")]
    LongText {
        /// The most.
        bytes_max: u64,
    },
    /// The text is larger than an entry can be, once it is stored.
    #[error("the message takes {bytes} bytes as it is stored, more than {bytes_max}")]
    LongStored {
        /// What it takes.
        bytes: usize,
        /// The most.
        bytes_max: usize,
    },
    /// Standard input cannot be read as text.
    #[error("cannot read standard input")]
    Stdin(#[source] io::Error),
    /// Standard input is wanted for two things.
    #[error("standard input can be read once, and - stands for it twice")]
    StdinTwice,
    /// Standard input is wanted, and not to be read.
    #[error("- stands for standard input, which --no-stdin leaves alone")]
    StdinUnread,
    /// The file with the message cannot be read.
    #[error("cannot read {}", path.display())]
    PromptFile {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file with the schema of the answer cannot be used.
    #[error("cannot use the schema {}: {why}", path.display())]
    Schema {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// No answer matched its schema.
    #[error("the answer does not match its schema: {why}")]
    NoMatch {
        /// What is wrong with the last one.
        why: String,
    },
    /// A chat has no terminal, or none that lines can be read from.
    #[error("a chat needs a terminal")]
    NoTerminal(#[source] io::Error),
    /// A command of the person in a chat could not be started.
    #[error("the command could not be started")]
    Command(#[source] io::Error),
    /// A command of the user cannot be used.
    #[error(transparent)]
    Custom(CustomFault),
    /// A command of the user runs others, and a turn runs.
    #[error("/{name} runs commands of yours, which have to wait until the turn is over")]
    CustomLater {
        /// Its name.
        name: String,
    },
    /// A conversation is to be changed, and too little of its id was typed.
    #[error("{typed} is too short to change a conversation by: {min} letters of its id are needed")]
    ShortId {
        /// What was typed.
        typed: String,
        /// The only one that begins so.
        found: ConversationId,
        /// How many letters are needed.
        min: usize,
    },
    /// Nobody knows which editor to open.
    #[error("no editor is named")]
    NoEditor,
    /// The editor could not be started, or did not end well.
    #[error("the editor `{command}` {why}")]
    Editor {
        /// How it is called.
        command: String,
        /// What became of it.
        why: String,
        /// Where the text is that was written meanwhile.
        kept: Option<PathBuf>,
    },
}

impl InputFault {
    pub(super) fn code(&self) -> Code {
        match self {
            Self::NoText
            | Self::EmptyText
            | Self::TwoTexts { .. }
            | Self::LongText { .. }
            | Self::LongStored { .. }
            | Self::StdinTwice
            | Self::StdinUnread
            | Self::Custom(_)
            | Self::CustomLater { .. }
            | Self::NoTerminal(_)
            | Self::Schema { .. }
            | Self::NoEditor
            | Self::ShortId { .. }
            | Self::PromptFile { .. } => Code::Usage,
            Self::Stdin(_) | Self::Command(_) | Self::NoMatch { .. } | Self::Editor { .. } => {
                Code::Failed
            }
        }
    }

    /// A word for programs.
    pub(super) fn reason(&self) -> &'static str {
        match self {
            Self::NoText | Self::EmptyText => "empty_text",
            Self::TwoTexts { .. } => "two_texts",
            Self::LongText { .. } | Self::LongStored { .. } => "long_text",
            Self::Stdin(_) | Self::StdinTwice | Self::StdinUnread => "standard_input",
            Self::PromptFile { .. } => "file",
            Self::Editor { .. } | Self::NoEditor => "editor",
            Self::Schema { .. } | Self::NoMatch { .. } => "output_schema",
            Self::NoTerminal(_) => "terminal",
            Self::ShortId { .. } => "short_id",
            Self::Custom(_) | Self::CustomLater { .. } | Self::Command(_) => "command",
        }
    }

    /// What to do next, one way per line.
    pub(super) fn hints(&self) -> Vec<String> {
        let hint = match self {
            Self::NoText => {
                return vec![
                    "piton query \"list the files here\"".into(),
                    "to go on with an incomplete turn: piton query --continue".into(),
                ];
            }
            Self::ShortId { found, .. } => {
                return vec![format!("the one that begins so is {found}; piton print {found}")];
            }
            Self::EmptyText => "say something, or give - and pipe a text in",
            Self::Schema { .. } => {
                "check the path after --output-schema, and that it has a JSON Schema"
            }
            Self::NoMatch { .. } => "the answers are kept; piton print shows them",
            Self::NoTerminal(_) => "to say one thing without one: piton query TEXT",
            Self::Command(_) => "see that there is a shell named sh",
            Self::TwoTexts { .. } => "keep one of them",
            Self::LongText { .. } => "put it into a file and name the file",
            Self::LongStored { .. } => {
                "control characters take six bytes each; put it into a file and name the file"
            }
            Self::Stdin(_) => "pipe a text in UTF-8 in, or give it as an argument",
            Self::StdinTwice => "take - for the message or for one file",
            Self::StdinUnread => "leave out one of them",
            Self::CustomLater { .. } => "say it once more then; Ctrl-C stops the turn",
            Self::Custom(CustomFault::Unknown { .. }) => {
                "mend the name; to send the text as it is, put a blank in front of it"
            }
            Self::Custom(CustomFault::Untrusted { .. } | CustomFault::Held { .. }) => {
                return vec![
                    "to look at it and decide: piton trust".into(),
                    "to send the text as it is, put a blank in front of it".into(),
                ];
            }
            Self::Custom(CustomFault::NoWall { .. }) => {
                return vec![
                    "look at what it runs; to run it outside the sandbox: piton query --sandbox off"
                        .into(),
                    "to send the text as it is, put a blank in front of it".into(),
                ];
            }
            Self::Custom(CustomFault::NotRun { .. }) => {
                "to send the text as it is, put a blank in front of it"
            }
            Self::Custom(CustomFault::OfRepository { path, own, .. }) => {
                let folder = own.parent().unwrap_or(own).display();
                let (path, own) = (path.display(), own.display());
                return vec![
                    format!("to make it your own: mkdir -p {folder} && cp -r {path} {own}"),
                    "to send the text as it is, put a blank in front of it".into(),
                ];
            }
            Self::Custom(CustomFault::Unusable { .. }) => {
                "mend the file; piton help skills has its form"
            }
            Self::PromptFile { .. } => "check the path after --prompt-file; it counts from here",
            Self::Editor { kept: Some(path), .. } => {
                let path = path.display();
                return vec![format!(
                    "what you wrote is in {path}: piton query --prompt-file {path}"
                )];
            }
            Self::NoEditor => "set EDITOR, for example EDITOR=nano",
            Self::Editor { kept: None, .. } => {
                "VISUAL or EDITOR names the editor; the message can also be an argument"
            }
        };
        vec![hint.into()]
    }
}
