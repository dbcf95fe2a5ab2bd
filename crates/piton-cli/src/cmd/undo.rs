//! `piton undo`: takes back what a tool changed in a file, unless the file was changed since.

use piton::clock::{Clock as _, SystemClock};
use piton_agent::Settings;
use piton_core::id::Timestamp;
use piton_tools::undo::{Undo as Versions, Version, VersionState};

use crate::flags::Undo;
use crate::output::Output;
use crate::render::age::age;
use crate::render::lines::Line;
use crate::render::visible::visible_name;
use crate::report::{Fault, Report};

/// Why a change is not taken back.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UndoFault {
    /// No change has that number.
    #[error("there is no change {number} of a file in this directory; there are {count}")]
    Unknown {
        /// What was typed.
        number: usize,
        /// How many there are.
        count: usize,
    },
    /// Not as the file is now.
    #[error("{reason}")]
    Refused {
        /// Its number.
        number: usize,
        /// Why not.
        reason: String,
    },
}

impl UndoFault {
    /// What to do next, one way per line.
    pub(crate) fn hints(&self) -> Vec<String> {
        match self {
            Self::Unknown { .. } => vec!["piton undo --list shows them with their numbers".into()],
            Self::Refused { number, .. } => {
                vec![format!("piton undo --show {number} prints the old version")]
            }
        }
    }
}

/// One change, as the list numbers it.
struct Row {
    number: usize,
    name: String,
    version: Version,
    state: VersionState,
}

impl Row {
    fn line(&self) -> Line<'_> {
        let Self { number, version, state, .. } = self;
        let state = match (state, version.undone) {
            (VersionState::Changed, _) => "changed",
            (VersionState::Made | VersionState::NotMade, true) => "taken_back",
            (VersionState::Made | VersionState::NotMade, false) => "made",
        };
        Line::Change {
            number: *number,
            conversation: version.conversation.as_str(),
            path: &version.path,
            state,
            at: version.at_us / 1_000,
        }
    }
}

/// Lists, shows or takes back.
pub(crate) fn run(undo: &Undo, settings: &Settings, output: &mut Output) -> Result<Report, Fault> {
    let versions = Versions::new(&settings.scratch()?);
    let rows = rows(&versions, undo, settings)?;
    if undo.list {
        list(&rows, undo.json, output);
        return Ok(Report::ok("done"));
    }
    let row = match undo.number {
        Some(number) => rows.iter().find(|row| row.number == number),
        None => rows.iter().find(|row| !row.version.undone),
    };
    let Some(Row { number, name, version, .. }) = row else {
        let (Some(number), count) = (undo.number, rows.len()) else {
            output.talk("Nothing to take back in this directory.");
            return Ok(Report::ok("nothing"));
        };
        return Err(UndoFault::Unknown { number, count }.into());
    };
    let refused = |reason: String| UndoFault::Refused { number: *number, reason };
    if undo.show {
        let content = versions.content(name).map_err(|error| refused(error.to_string()))?;
        let content = content.ok_or_else(|| refused("the file did not exist before".into()))?;
        let text = String::from_utf8_lossy(&content);
        if undo.json {
            output.json(&Line::Version { number: *number, path: &version.path, text: &text });
        } else {
            output.data(&text);
        }
        return Ok(Report::ok("done"));
    }
    let done = versions.take_back(name).map_err(|refusal| refused(refusal.0))?;
    output.talk(&done);
    Ok(Report::ok("done"))
}

/// The changes in this directory, the newest first; not those that were never made.
fn rows(versions: &Versions, undo: &Undo, settings: &Settings) -> Result<Vec<Row>, Fault> {
    let id = undo.id.as_deref().unwrap_or_default().trim().to_lowercase();
    let found = versions.of(settings.workspace()?).into_iter();
    let found = found.filter(|(_, version)| version.conversation.as_str().starts_with(&id));
    let found = found.map(|(name, version)| (name, versions.state(&version), version));
    let found = found.filter(|(_, state, _)| *state != VersionState::NotMade);
    let numbered = found.zip(1..);
    Ok(numbered
        .map(|((name, state, version), number)| Row { number, name, version, state })
        .collect())
}

fn list(rows: &[Row], json: bool, output: &mut Output) {
    if json {
        for row in rows {
            output.json(&row.line());
        }
        return;
    }
    if rows.is_empty() {
        output.talk("Nothing to take back in this directory.");
    }
    let now = SystemClock.now();
    for Row { number, version, state, .. } in rows {
        let when = age(Timestamp(version.at_us / 1_000), now);
        let state = match (state, version.undone) {
            (VersionState::Changed, _) => "changed since",
            (VersionState::Made | VersionState::NotMade, true) => "taken back",
            (VersionState::Made | VersionState::NotMade, false) => "",
        };
        let path = visible_name(&version.path);
        let line = format!("{number:>3}  {when:<9}  {}  {path}  {state}", version.conversation);
        output.data(&format!("{}\n", line.trim_end()));
    }
}
