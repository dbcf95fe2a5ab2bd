//! Finds the message of a query: on the command line, on standard input, in a file or in an editor.

use std::path::PathBuf;

use piton_agent::Settings;
use piton_core::attachment::{FILES_BYTES_MAX, is_textual, media_type};

use super::attach::{Attached, Empty};
use super::editor::{self, Written};
use super::plan::Source;
use super::stage::Stage;
use super::stdin::{self, Kind, NAME, Role};
use super::text::{decoded, sendable};
use crate::drafts::TEXT_BYTES_MAX;
use crate::report::{Fault, InputFault};

/// What there is to send, as far as it is known before the text is safe.
#[derive(Debug, Default)]
pub(super) struct Input {
    /// What is said.
    pub(super) text: Option<String>,
    /// What standard input brings beside it.
    pub(super) piped: Piped,
    /// Lists of directories that it mentions.
    pub(super) listings: Vec<Attached>,
    /// A file in which the text was written. It goes when the text is safe elsewhere.
    pub(super) written: Option<PathBuf>,
}

/// What standard input brings as a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Piped {
    /// Nothing.
    #[default]
    Nothing,
    /// It is read when the text is safe: it may never end.
    Later(Empty),
    /// This.
    Now(Vec<u8>),
}

/// Finds the message; none if a person was asked for one and wrote nothing.
pub(super) async fn find(
    source: Source,
    role: Role,
    settings: &Settings,
    stage: &mut Stage<'_>,
) -> Result<Option<Input>, Fault> {
    let piped = match role {
        Role::FoundPart => Piped::Later(Empty::Ignored),
        Role::NamedPart => Piped::Later(Empty::Refused),
        Role::Unread | Role::NamedMessage | Role::FoundMessage => Piped::Nothing,
    };
    let text = match source {
        Source::Nowhere => None,
        Source::Words(text) => Some(sendable(text)?),
        Source::Stdin => {
            let bytes = stdin::read(TEXT_BYTES_MAX, stage).await?;
            Some(sendable(decoded(bytes, InputFault::Stdin)?)?)
        }
        Source::File(path) => {
            let bytes = stdin::read_file(path.clone(), TEXT_BYTES_MAX, stage).await?;
            let unreadable = |source| InputFault::PromptFile { path, source };
            Some(sendable(decoded(bytes, unreadable)?)?)
        }
        Source::Unsaid if role == Role::FoundMessage => return found(stage).await.map(Some),
        Source::Unsaid => return edited(settings, stage).await,
    };
    Ok(Some(Input { text, piped, ..Input::default() }))
}

/// The message that a pipe or a file brings. What is no text goes as a file.
async fn found(stage: &mut Stage<'_>) -> Result<Input, Fault> {
    let bytes = stdin::read(FILES_BYTES_MAX, stage).await?;
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(InputFault::NoText.into());
    }
    // What was cut off may be half a letter, so the size comes first.
    let is_whole = bytes.len() as u64 <= FILES_BYTES_MAX;
    if is_whole && !is_textual(media_type(NAME, &bytes)) {
        return Ok(Input { piped: Piped::Now(bytes), ..Input::default() });
    }
    let text = Some(sendable(decoded(bytes, InputFault::Stdin)?)?);
    Ok(Input { text, ..Input::default() })
}

/// The message that a person writes in an editor.
async fn edited(settings: &Settings, stage: &mut Stage<'_>) -> Result<Option<Input>, Fault> {
    let environment = &settings.environment;
    let is_there = stage.terminal.is_some() && Kind::look() == Kind::Terminal;
    let Some(editor) = editor::named(environment).filter(|_| is_there) else {
        return Err(InputFault::NoText.into());
    };
    let written = editor::write(&editor, environment, "", stage).await?;
    Ok(written.map(|Written { text, path }| {
        let (text, written) = (Some(text), Some(path));
        Input { text, written, ..Input::default() }
    }))
}
