//! A message that is written in an editor.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use piton::chance::{Chance as _, SystemChance};
use piton_agent::{Environment, Settings};
use piton_core::id::MessageId;
use tokio::sync::oneshot;

use super::stage::Stage;
use super::text::{sendable, whole};
use crate::ask::Content;
use crate::drafts::TEXT_BYTES_MAX;
use crate::output::{Form, Output};
use crate::report::{Fault, InputFault};
use crate::signals::{Push, Signals};
use crate::terminal::Terminal;

/// Variables that name an editor; the first one that says something counts.
const VARIABLES: [&str; 2] = ["VISUAL", "EDITOR"];
/// Only the owner may read what is being written.
const PRIVATE: u32 = 0o600;

/// What is put before a person in an editor.
struct Sheet<'a> {
    text: &'a str,
    /// How the name of its file ends.
    suffix: &'a str,
    /// What is said before.
    about: &'a str,
}

/// A text from an editor. Its file is there until somebody has the text safe.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) text: String,
    pub(super) path: PathBuf,
}

impl Written {
    /// Where it is until then.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The text is safe elsewhere.
    pub(crate) fn remove(self) {
        fs::remove_file(self.path).unwrap_or_default();
    }
}

/// The editor of a person, if one is named.
pub(super) fn named(environment: &Environment) -> Option<String> {
    VARIABLES.iter().find_map(|name| environment.text(name))
}

/// Lets a person write a text anew; none if nothing is left of it.
pub(crate) async fn edited(
    text: &str,
    settings: &Settings,
    output: &mut Output,
) -> Result<Option<Written>, Fault> {
    let environment = &settings.environment;
    let editor = named(environment).ok_or(InputFault::NoEditor)?;
    let (signals, form) = (Signals::listen()?, Form::Text);
    let mut stage =
        Stage { output, signals, terminal: None, form, conversation: None, beside: None };
    write(&editor, environment, text, &mut stage).await
}

/// Lets a person change what a call writes, and gives the arguments with that; none if it is as it was, or
/// nothing is left of it.
pub(in crate::cmd) async fn rewritten(
    content: &Content,
    environment: &Environment,
    stage: &mut Stage<'_>,
) -> Result<Option<String>, Fault> {
    let editor = named(environment).ok_or(InputFault::NoEditor)?;
    let Content { text, suffix, .. } = content;
    let about = &format!("Change what is written in {editor}; an empty file changes nothing.");
    let sheet = Sheet { text, suffix, about };
    let Some(written) = write_on(&sheet, &editor, environment, stage).await? else {
        return Ok(None);
    };
    // Its file stays if the journal cannot hold it.
    let arguments = content.with(&written.text).map(sendable).transpose()?;
    written.remove();
    Ok(arguments)
}

/// Lets a person write a text, which begins as `text`; none if nothing was written.
pub(super) async fn write(
    editor: &str,
    environment: &Environment,
    text: &str,
    stage: &mut Stage<'_>,
) -> Result<Option<Written>, Fault> {
    let about = &format!("Write your message in {editor}; an empty file sends nothing.");
    let sheet = Sheet { text, suffix: "md", about };
    let written = write_on(&sheet, editor, environment, stage).await?;
    Ok(written.map(|Written { text, path }| Written { text: text.trim_end().to_owned(), path }))
}

async fn write_on(
    sheet: &Sheet<'_>,
    editor: &str,
    environment: &Environment,
    stage: &mut Stage<'_>,
) -> Result<Option<Written>, Fault> {
    let failed = |why: String, kept| InputFault::Editor { command: editor.to_owned(), why, kept };
    let name = MessageId::from_chance(SystemChance.next());
    let path = environment.temporary().join(format!("piton-{name}.{}", sheet.suffix));
    // A new file: whoever may write to the directory has put no link there.
    let made = OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(&path);
    made.and_then(|mut file| file.write_all(sheet.text.as_bytes()))
        .map_err(|error| failed(format!("has no file to write to: {error}"), None))?;
    stage.output.talk(sheet.about);
    let ended = edit((editor, environment.path_beside()), &path, stage).await;
    let kept = has_content(&path).then(|| path.clone());
    if kept.is_none() {
        fs::remove_file(&path).unwrap_or_default();
    }
    let status = match ended {
        Ok(status) => {
            status.map_err(|error| failed(format!("cannot be started: {error}"), None))?
        }
        Err(fault) => {
            if let Some(path) = kept {
                stage.output.talk(&format!("What you wrote is in {}.", path.display()));
            }
            return Err(fault);
        }
    };
    if !status.success() {
        return Err(failed(format!("has failed ({status}), so nothing is sent"), kept).into());
    }
    if kept.is_none() {
        return Ok(None);
    }
    let text = read(&path).and_then(sendable);
    let text = text.map_err(|error| failed(format!("wrote what cannot be sent: {error}"), kept))?;
    Ok(Some(Written { text, path }))
}

/// Runs the editor on the terminal; it is looked for along a path. Ctrl-C belongs to the editor meanwhile.
async fn edit(
    (editor, programs): (&str, OsString),
    path: &Path,
    stage: &mut Stage<'_>,
) -> Result<io::Result<ExitStatus>, Fault> {
    // A variable may have arguments in it, so a shell reads it, as it does for git.
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(format!("{editor} \"$@\"")).arg("sh").arg(path);
    command.env("PATH", programs);
    // Its screen is the terminal, also if the answer goes elsewhere.
    if let (Ok(output), Ok(talk)) = (Terminal::screen(), Terminal::screen()) {
        command.stdout(output).stderr(talk);
    }
    let (done, mut editing) = oneshot::channel();
    std::thread::spawn(move || done.send(command.status()).ok());
    loop {
        tokio::select! {
            biased;
            ended = &mut editing => return ended.map_err(|_| Fault::Interrupted),
            push = stage.signals.next() => match push {
                Push::Interrupt => {}
                Push::Terminate | Push::Quit | Push::HangUp => return Err(Fault::Interrupted),
            },
        }
    }
}

fn has_content(path: &Path) -> bool {
    read(path).map_or(true, |text| !text.trim().is_empty())
}

fn read(path: &Path) -> Result<String, InputFault> {
    let mut bytes = Vec::new();
    let unreadable = |source| InputFault::PromptFile { path: path.to_owned(), source };
    let read = File::open(path)
        .and_then(|file| file.take(TEXT_BYTES_MAX + 1).read_to_end(&mut bytes))
        .map_err(unreadable);
    read.and_then(|_| whole(bytes, unreadable))
}
