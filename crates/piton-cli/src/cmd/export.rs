//! `piton export`: a conversation in a form that others can read. Takes no lease.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;

use piton::reader;
use piton_agent::Settings;
use piton_core::id::{ConversationId, Seq};
use piton_core::view::View;
use piton_store::Journal;

use super::print::fill_in;
use crate::flags::{Export, ExportFormat};
use crate::output::Output;
use crate::render::export::{html, markdown};
use crate::render::lines::Line;
use crate::render::print::Detail;
use crate::report::{Fault, Report};
use crate::{store, target};

/// Only the owner may read what was said.
const PRIVATE: u32 = 0o600;

/// Writes it.
pub(crate) async fn run(
    export: &Export,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    let nothing = Fault::NoConversation { aside: settings.set_aside() };
    if !settings.has_database()? && export.id.is_none() {
        return Err(nothing);
    }
    let journal: Arc<dyn Journal> = store::open(settings, output)?;
    let id = match &export.id {
        Some(typed) => target::by_prefix(&*journal, typed, settings).await?,
        None => target::newest(&*journal, settings).await?.ok_or(nothing)?,
    };
    let text = text(&*journal, &id, export.format).await?;
    match &export.output {
        None => output.data(&text),
        Some(path) => {
            if let Err(error) = write(path, &text) {
                return Ok(Report::misuse(&format!(
                    "error: {} cannot be written: {error}",
                    path.display()
                )));
            }
            output.talk(&format!("Conversation {id} is written to {}", path.display()));
        }
    }
    Ok(Report::ok("done").kept_in(id))
}

async fn text(
    journal: &dyn Journal,
    id: &ConversationId,
    format: ExportFormat,
) -> Result<String, Fault> {
    if format == ExportFormat::Jsonl {
        let mut text = String::new();
        reader::each_record(journal, id, Seq::default(), |record| {
            // Writing to a string cannot fail.
            writeln!(text, "{}", Line::record(record).text()).unwrap_or_default();
            ControlFlow::Continue(())
        })
        .await?;
        return Ok(text);
    }
    let mut view = View::from(&reader::state(journal, id).await?);
    fill_in(journal, &mut view, Detail::Outputs).await;
    Ok(match format {
        ExportFormat::Html => html(&view, id.as_str()),
        ExportFormat::Md | ExportFormat::Jsonl => markdown(&view, id.as_str()),
    })
}

/// A file that is there is somebody's.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
