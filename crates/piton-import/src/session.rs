//! Reading one file: what it is, what it says, what is mended.

use std::io;
use std::path::Path;
use std::sync::Arc;

use piton_core::event::ImportSource;
use piton_core::history::History;

use crate::digest::digest;
use crate::error::ImportError;
use crate::lines::{self, FILE_BYTES_MAX};
use crate::recognise::{Format, LOOK_BYTES, recognise};
use crate::record::{Stand, Story};
use crate::weave::weave;
use crate::{beside, claude, codex, gemini, opencode, pi, plain, qwen};

/// A session that was found in a file.
#[derive(Clone, Debug)]
pub struct Found {
    /// What it says.
    pub history: History,
    /// What was read, byte for byte; for a database, the rows of the session as one JSON object.
    pub original: Arc<[u8]>,
}

/// Reads the sessions of a file: one, or those of a database, the newest first. With a name, only that one.
pub fn read(path: &Path, session: Option<&str>) -> Result<Vec<Found>, ImportError> {
    let failed = |source| ImportError::Unreadable { path: path.to_owned(), source };
    let found = path.metadata().map_err(failed)?;
    if !found.is_file() {
        // A pipe would be waited for, and a device has no end.
        return Err(failed(io::Error::other("it is no regular file")));
    }
    let bytes = found.len();
    let beginning = lines::beginning(path, LOOK_BYTES).map_err(failed)?;
    if lines::without_mark(&beginning).trim_ascii().is_empty() && bytes <= LOOK_BYTES {
        return Err(ImportError::Empty { path: path.to_owned() });
    }
    let mut format = recognise(&beginning);
    // The first line can be longer than what is looked at.
    if format.is_none() && (LOOK_BYTES..=FILE_BYTES_MAX).contains(&bytes) {
        format = recognise(&lines::whole(path).map_err(failed)?);
    }
    if format == Some(Format::OpencodeDatabase) {
        return of_database(path, session);
    }
    let is_like_one = lines::bare(lines::without_mark(&beginning)).starts_with(b"{");
    if FILE_BYTES_MAX < bytes && (format.is_some() || is_like_one) {
        return Err(ImportError::TooLarge { path: path.to_owned(), bytes });
    }
    let format = format.ok_or_else(|| ImportError::UnknownFormat { path: path.to_owned() })?;
    let mut original = lines::whole(path).map_err(failed)?;
    if format == Format::OpencodeTree {
        original = opencode::tree(path, &original).map_err(failed)?;
    }
    one(path, of_bytes(path, format, original)?, session)
}

/// Reads the session in bytes that came without a file; `name` is what they are called. A session that lies in
/// several files, or in a database, has to be read from there.
pub fn read_bytes(
    name: &Path,
    original: Vec<u8>,
    session: Option<&str>,
) -> Result<Vec<Found>, ImportError> {
    if lines::without_mark(&original).trim_ascii().is_empty() {
        return Err(ImportError::Empty { path: name.to_owned() });
    }
    let bytes = original.len() as u64;
    if FILE_BYTES_MAX < bytes {
        return Err(ImportError::TooLarge { path: name.to_owned(), bytes });
    }
    match recognise(&original) {
        None => Err(ImportError::UnknownFormat { path: name.to_owned() }),
        Some(Format::OpencodeDatabase | Format::OpencodeTree) => {
            let source = io::Error::other("a session of opencode is read from its own place");
            Err(ImportError::Unreadable { path: name.to_owned(), source })
        }
        Some(format) => one(name, of_bytes(name, format, original)?, session),
    }
}

/// The session of a file, if it is the one that is wanted.
fn one(path: &Path, found: Found, session: Option<&str>) -> Result<Vec<Found>, ImportError> {
    match session {
        Some(wanted) if found.history.source.session.as_deref() != Some(wanted) => {
            Err(ImportError::NoSession { path: path.to_owned(), session: wanted.to_owned() })
        }
        _ => Ok(vec![found]),
    }
}

/// Reads sessions of a database: all that belong to no other, or the one that is named.
fn of_database(path: &Path, session: Option<&str>) -> Result<Vec<Found>, ImportError> {
    let mut found = Vec::new();
    for bytes in opencode::exports(path, session)? {
        match of_bytes(path, Format::OpencodeDatabase, bytes) {
            Ok(session) => found.push(session),
            // A session in which nobody said anything is none; the others count.
            Err(ImportError::Nothing { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    if found.is_empty() {
        return Err(ImportError::Nothing { path: path.to_owned() });
    }
    Ok(found)
}

/// Reads a session whose bytes are at hand.
fn of_bytes(path: &Path, format: Format, original: Vec<u8>) -> Result<Found, ImportError> {
    let mut story = Story::default();
    match format {
        Format::Claude => claude::read(&original, &mut story),
        Format::Codex => codex::read(&original, &mut story),
        Format::CodexPacked => {
            let (bytes, fault) = lines::unpacked(&original, FILE_BYTES_MAX);
            if let Some(fault) = fault {
                story.remark(
                    "torn_line",
                    Stand::default(),
                    &format!("cannot be unpacked: {fault}"),
                );
            }
            codex::read(&bytes, &mut story);
        }
        Format::Gemini => gemini::read(&original, &mut story),
        Format::GeminiObject => gemini::read_object(&original, &mut story),
        Format::Qwen => qwen::read(&original, &mut story),
        Format::Pi => pi::read(&original, &mut story),
        Format::OpencodeDatabase | Format::OpencodeExport | Format::OpencodeTree => {
            opencode::read(&original, &mut story);
        }
        Format::Messages => plain::read(&original, &mut story),
    }
    if matches!(format, Format::Gemini | Format::GeminiObject) {
        story.workspace = story.workspace.or_else(|| gemini::workspace_beside(path));
    }
    for file in beside::sub_agents(path, format, story.session.as_deref()) {
        story.remark("sub_agent_file", Stand::default(), &file.to_string_lossy());
    }
    story.tell_unknown();
    let turns = weave(&mut story);
    if turns.is_empty() {
        return Err(ImportError::Nothing { path: path.to_owned() });
    }
    // In the order of the file; what is about no line comes last.
    story.remarks.sort_by_key(|remark| if remark.line == 0 { u64::MAX } else { remark.line });
    let source = ImportSource {
        tool: format.tool().to_owned(),
        format: format.name().to_owned(),
        version: story.version,
        session: story.session,
        path: path.to_string_lossy().into_owned(),
        digest: digest(&original),
    };
    let (title, workspace, remarks) = (story.title, story.workspace, story.remarks);
    let history = History { source, title, workspace, turns, remarks };
    Ok(Found { history, original: original.into() })
}
