//! Reads lines with editing, history and completion, while no turn runs.

use std::io;
use std::path::PathBuf;

use piton_agent::Settings;
use rustyline::config::{Behavior, CompletionType, Config};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Cmd, Editor, EventHandler, KeyCode, KeyEvent, Modifiers};
use tokio::sync::oneshot;

use super::complete::Words;
use crate::cmd::query::stage::Stage;
use crate::report::{Fault, InputFault};
use crate::terminal::Terminal;

const PROMPT: &str = "> ";
/// Lines that are remembered.
const HISTORY_MAX: usize = 1_000;
/// The file of the home in which they are.
const HISTORY_FILE: &str = "chat-history";
/// How long an escape waits for what makes it another key. Alone it does nothing, and takes no other key with it.
const ESCAPE_WAIT_MS: u16 = 100;
/// What ends a line that goes on in the next one.
const GOES_ON: &str = "\\\n";

type LineEditor = Editor<Words, FileHistory>;

/// The line editor.
#[derive(Debug)]
pub(super) struct Prompt {
    /// None while it reads, on a thread of its own.
    editor: Option<LineEditor>,
    history: PathBuf,
}

/// What was read.
#[derive(Debug)]
pub(super) enum Read {
    /// A line, or several.
    Line(String),
    /// Ctrl-C: what was typed is dropped.
    Nothing,
    /// The end, or a terminal that is gone.
    End,
    /// We are asked to stop.
    Pushed,
}

impl Prompt {
    pub(super) fn new(settings: &Settings) -> Result<Self, Fault> {
        let config = Config::builder()
            .behavior(Behavior::PreferTerm)
            .max_history_size(HISTORY_MAX)
            .and_then(|config| config.history_ignore_dups(true))
            .map(|config| config.history_ignore_space(true))
            .map(|config| config.completion_type(CompletionType::List))
            .map(|config| config.keyseq_timeout(Some(ESCAPE_WAIT_MS)).build());
        let editor = config.and_then(LineEditor::with_config);
        let mut editor = editor.map_err(|error| InputFault::NoTerminal(io::Error::other(error)))?;
        editor.set_helper(Some(Words::of(settings)));
        let newline = || EventHandler::Simple(Cmd::Newline);
        editor.bind_sequence(KeyEvent(KeyCode::Enter, Modifiers::ALT), newline());
        editor.bind_sequence(KeyEvent(KeyCode::Enter, Modifiers::SHIFT), newline());
        let history = settings.home.join(HISTORY_FILE);
        // A history that is not there, or cannot be read, is empty.
        editor.load_history(&history).unwrap_or_default();
        Ok(Self { editor: Some(editor), history })
    }

    /// Reads a line, of which some is typed already.
    pub(super) async fn line(&mut self, begun: &str, stage: &mut Stage<'_>) -> Result<Read, Fault> {
        let Some(mut editor) = self.editor.take() else { return Ok(Read::End) };
        let modes = stage.terminal.as_ref().and_then(Terminal::modes);
        let begun = begun.to_owned();
        let (sender, read) = oneshot::channel();
        // A thread, because the editor waits in place. It is not waited for if we leave.
        std::thread::spawn(move || {
            let line = editor.readline_with_initial(PROMPT, (&begun, ""));
            sender.send((editor, line)).unwrap_or_default();
        });
        let (editor, line) = tokio::select! {
            biased;
            _ = stage.signals.next() => {
                if let (Some(terminal), Some(modes)) = (&stage.terminal, &modes) {
                    terminal.give_back(modes);
                }
                return Ok(Read::Pushed);
            }
            read = read => match read {
                Ok(read) => read,
                Err(_) => return Ok(Read::End),
            },
        };
        let editor = self.editor.insert(editor);
        match line {
            Ok(line) if line.trim().is_empty() => Ok(Read::Line(String::new())),
            Ok(line) => {
                // A line that cannot be remembered was typed all the same.
                editor.add_history_entry(&line).unwrap_or_default();
                editor.append_history(&self.history).unwrap_or_default();
                Ok(Read::Line(line.replace(GOES_ON, "\n")))
            }
            Err(ReadlineError::Interrupted) => Ok(Read::Nothing),
            Err(_) => Ok(Read::End),
        }
    }
}
