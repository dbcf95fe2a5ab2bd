//! `piton export`: a conversation in a form that others can read. Takes no lease.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use piton::reader;
use piton_agent::Settings;
use piton_core::id::ConversationId;
use piton_core::view::View;
use piton_store::{Journal, StoreError};

use super::print::fill_in;
use crate::flags::{Export, ExportFormat};
use crate::output::Output;
use crate::render::export::{html, markdown};
use crate::render::lines::Line;
use crate::render::print::Detail;
use crate::render::visible::visible;
use crate::report::{Fault, Report};
use crate::target;

/// Only the owner may read what was said.
const PRIVATE: u32 = 0o600;

/// Writes it.
pub(crate) async fn run(
    export: &Export,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    let (journal, id) = target::find(export.id.as_deref(), settings, output).await?;
    let (text, damage) = text(&*journal, &id, export.format()).await?;
    match export.output.as_deref().filter(|path| path.as_os_str() != "-") {
        None => output.document(&text),
        Some(path) => {
            if let Err(error) = write(path, &text) {
                let path = path.display();
                if error.kind() == ErrorKind::AlreadyExists {
                    return Ok(Report::misuse(&format!(
                        "error: {path} is there already, and nothing is written over it\nhint: choose another name, or write over it yourself: piton export {id} -o - >{path}"
                    )));
                }
                return Ok(Report::misuse(&format!("error: {path} cannot be written: {error}")));
            }
            output.talk(&format!("Conversation {id} is written to {}", path.display()));
        }
    }
    if let Some(gone) = reader::lineage(&*journal, &id).await?.gone {
        output.talk(&format!(
            "warning: conversation {gone}, which this one was forked from, is gone, and so is what they share"
        ));
    }
    if let Some(damage) = damage {
        output.talk("It breaks off in the middle: the next entry cannot be read.");
        return Err(damage.into());
    }
    Ok(Report::ok("done").kept_in(id))
}

/// What can be read of it, and what is wrong behind that.
async fn text(
    journal: &dyn Journal,
    id: &ConversationId,
    format: ExportFormat,
) -> Result<(String, Option<StoreError>), Fault> {
    if format == ExportFormat::Jsonl {
        let mut text = String::new();
        let read = reader::each_with_shared(journal, id, |of, record| {
            let line =
                if of == id { Line::record(record) } else { Line::shared(of.as_str(), record) };
            // Writing to a string cannot fail.
            writeln!(text, "{}", line.text()).unwrap_or_default();
        })
        .await;
        return match read {
            Err(damage @ StoreError::DamagedEntry { .. }) => Ok((text, Some(damage))),
            read => Ok(read.map(|_| (text, None))?),
        };
    }
    let (state, damage) = reader::readable(journal, id).await?;
    let mut view = View::from(&state);
    fill_in(journal, &mut view, Detail::Outputs).await;
    let text = match format {
        ExportFormat::Html => html(&view, id.as_str()),
        // It will be read on a terminal, too.
        ExportFormat::Md | ExportFormat::Jsonl => {
            visible(&markdown(&view, id.as_str())).into_owned()
        }
    };
    Ok((text, damage))
}

/// A file that is there is somebody's.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
