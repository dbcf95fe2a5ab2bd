//! `piton doctor --salvage`: brings back the conversations of a damaged database.

use std::fs;
use std::path::Path;

use piton::chance::{Chance as _, SystemChance};
use piton::clock::{Clock as _, SystemClock};
use piton::rescue::{Restored, rescuer, restore};
use piton_agent::Settings;
use piton_core::id::ConversationId;
use piton_store::{Extent, Journal, Salvage, Salvaged, salvage};

use crate::output::Output;
use crate::render::lines::Line;
use crate::report::{Fault, Report};
use crate::store;

/// Reads the database, and writes what is in it into the present one. Nothing of it is changed.
pub(super) async fn run(
    file: Option<&Path>,
    json: bool,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    // Opening the store sets a database aside that is known to be damaged.
    let journal = store::open(settings, output)?;
    let Some(file) = file.map(Path::to_owned).or_else(|| settings.set_aside().pop()) else {
        return Ok(Report::nothing("No damaged database was set aside here."));
    };
    if is_in_use(&file, settings) {
        return Ok(Report::broken(
            "That is the database in use. A damaged one is set aside by the next command, under another name.",
        ));
    }
    output.talk(&format!("Reading {}; nothing in it is changed.", file.display()));
    let told = &mut |page, pages| output.talk(&format!("page {page} of {pages}"));
    let found = salvage(&file, told)?;
    let mut count = Count::default();
    for conversation in &found.conversations {
        match bring_back(&*journal, &found, conversation).await {
            Ok((id, restored)) => {
                count.add(conversation, restored);
                show(&id, conversation, restored, json, output);
            }
            Err(fault) => {
                count.failed += 1;
                let name = conversation.conversation.as_ref().map_or("?", |id| id.as_str());
                output.talk(&format!("{name} was not brought back: {fault}"));
            }
        }
    }
    Ok(count.report(&found))
}

/// What became of the conversations.
#[derive(Default)]
struct Count {
    whole: usize,
    doubted: usize,
    already: usize,
    failed: usize,
}

impl Count {
    fn add(&mut self, conversation: &Salvaged, restored: Restored) {
        match (restored, conversation.extent) {
            (Restored::Already, _) => self.already += 1,
            (Restored::Nothing, _) => {}
            (Restored::Now(_), Extent::Whole) => self.whole += 1,
            (Restored::Now(_), Extent::EndInDoubt | Extent::Cut) => self.doubted += 1,
        }
    }

    fn report(&self, found: &Salvage) -> Report {
        let Self { whole, doubted, already, failed } = self;
        let lost = match found.chunks_lost {
            0 => "no commit".to_owned(),
            1 => "1 commit".to_owned(),
            lost => format!("{lost} commits"),
        };
        let end = if found.end_is_certain { "" } else { ", and the newest ones may be" };
        let told = format!(
            "Brought back: {whole} whole, {doubted} whose end may be missing. There already: {already}. \
             Not brought back: {failed}. Of the database {lost} is missing{end}."
        );
        if 0 < *failed { Report::broken(&told) } else { Report::nothing(&told) }
    }
}

async fn bring_back(
    journal: &dyn Journal,
    found: &Salvage,
    conversation: &Salvaged,
) -> Result<(ConversationId, Restored), String> {
    let told = |error: &dyn std::error::Error| error.to_string();
    let records = found.records(conversation).map_err(|error| told(&error))?;
    let name = conversation.conversation.clone();
    let id = name.unwrap_or_else(|| ConversationId::from_chance(SystemChance.next()));
    let whole = conversation.extent == Extent::Whole;
    let restored = restore(journal, &id, records, whole, rescuer(SystemClock.now())).await;
    restored.map(|restored| (id, restored)).map_err(|error| told(&error))
}

fn show(
    id: &ConversationId,
    conversation: &Salvaged,
    restored: Restored,
    json: bool,
    output: &mut Output,
) {
    let (entries, extent) = match (restored, conversation.extent) {
        (Restored::Nothing, _) => return,
        (Restored::Already, _) => (0, "already"),
        (Restored::Now(entries), Extent::Whole) => (entries, "whole"),
        (Restored::Now(entries), Extent::EndInDoubt) => (entries, "end_in_doubt"),
        (Restored::Now(entries), Extent::Cut) => (entries, "cut"),
    };
    if json {
        output.json(&Line::Salvaged { conversation: id.as_str(), extent, entries });
        return;
    }
    let told = match extent {
        "already" => "is there already; it was left alone".to_owned(),
        "whole" => format!("{entries} entries, whole"),
        "cut" => {
            format!("{entries} entries; behind them one is missing, and what follows is left out")
        }
        _ => format!(
            "{entries} entries; more may be missing at its end, so it does not go on by itself"
        ),
    };
    output.lines(&format!("{id}  {told}"));
}

/// Whether a file is the database of this home.
fn is_in_use(file: &Path, settings: &Settings) -> bool {
    let present = fs::canonicalize(settings.home.join("piton.db"));
    present.is_ok_and(|present| fs::canonicalize(file).is_ok_and(|file| file == present))
}
