//! `piton doctor --salvage`: brings back the conversations of a damaged database.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use piton::chance::{Chance as _, SystemChance};
use piton::clock::{Clock as _, SystemClock};
use piton::rescue::{Restored, cut_from, missed, refers_to, rescuer, restore, without_shared};
use piton_agent::{BroughtBack, Settings};
use piton_core::id::{ConversationId, Seq};
use piton_store::{Extent, Journal, Salvage, Salvaged, StoreError, salvage};

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
    let Some(file) = file.map(Path::to_owned).or_else(|| newest_aside(settings)) else {
        return Ok(Report::nothing("No damaged database was set aside here."));
    };
    if is_in_use(&file, settings) {
        return Ok(Report::misuse(
            "error: that is the database in use\nhint: a damaged one is set aside by the next command, under another name",
        ));
    }
    output.talk(&format!("Reading {}; nothing in it is changed.", file.display()));
    let told = &mut |page, pages| output.talk(&format!("page {page} of {pages}"));
    let found = salvage(&file, told)?;
    if !found.is_ours {
        return Ok(Report::misuse(&format!(
            "error: {} is no database of piton, and nothing of one is in it",
            file.display()
        )));
    }
    let mut count = Count::default();
    let missed = missed(&*journal).await?;
    let ends = ends(&found);
    for conversation in origins_first(&found) {
        let sharing = Sharing::of(conversation, &found, &ends, &missed);
        match bring_back(&*journal, &found, conversation, &sharing).await {
            Ok((id, restored)) => {
                count.add(conversation, restored);
                show(&id, conversation, restored, json, output);
                if let (Some(told), Restored::Now(_)) = (sharing.told(), restored) {
                    output.talk(&told);
                }
            }
            Err(fault) => {
                let name = conversation.conversation.as_ref().map_or("?", |id| id.as_str());
                output.talk(&format!("{name} was not brought back: {fault}"));
                count.failed.push(name.to_owned());
            }
        }
    }
    for id in lost(&*journal, &found).await? {
        let name = id.as_str();
        if count.failed.iter().any(|failed| failed == name) {
            continue;
        }
        if json {
            output.json(&Line::Salvaged { conversation: name, extent: "lost", entries: 0 });
        } else {
            output.lines(&format!("{name}  no entry of it was found, so it is not brought back"));
        }
        count.lost.push(name.to_owned());
    }
    if count.failed.is_empty() {
        settings.note_brought_back(&file, count.how_much(&found));
    }
    Ok(count.report(&found))
}

/// The last one that was set aside; if everything was brought back already, the last of those.
fn newest_aside(settings: &Settings) -> Option<PathBuf> {
    let back = || settings.brought_back().pop().map(|(path, _)| path);
    settings.set_aside().pop().or_else(back)
}

/// A conversation after those that it was cut from: what it means begins there.
fn origins_first(found: &Salvage) -> Vec<&Salvaged> {
    let refers = |it: &Salvaged| {
        let mut refers = found.first(it).map(|first| refers_to(&first)).unwrap_or_default();
        // Where that was purged, a copy has what it shares.
        refers.extend(it.conversation.as_ref().map(ConversationId::of_origin));
        refers
    };
    let mut left: Vec<_> = found.conversations.iter().map(|it| (it, refers(it))).collect();
    let mut ordered = Vec::new();
    loop {
        let names: BTreeSet<_> =
            left.iter().filter_map(|(it, _)| it.conversation.clone()).collect();
        let (ready, later): (Vec<_>, Vec<_>) =
            left.into_iter().partition(|(_, refers)| !refers.iter().any(|id| names.contains(id)));
        // Those that are left lead in a circle; there is no order for them.
        let is_done = ready.is_empty();
        ordered.extend(ready.into_iter().map(|(it, _)| it));
        if is_done {
            ordered.extend(later.into_iter().map(|(it, _)| it));
            return ordered;
        }
        left = later;
    }
}

/// How far the conversations go that were found.
fn ends(found: &Salvage) -> BTreeMap<&ConversationId, Seq> {
    let named = found.conversations.iter();
    named.filter_map(|it| it.conversation.as_ref().map(|id| (id, it.end))).collect()
}

/// What a conversation shares with others, as far as that came back.
enum Sharing {
    /// All of it.
    All,
    /// Of what it was cut from, the end did not come back: what they share is missing.
    Less(ConversationId),
    /// Nothing came back of what it was cut from.
    Nothing(ConversationId),
    /// Forks that are here share more with it than there is. Under its name it would be taken for their past.
    Other(ConversationId),
}

impl Sharing {
    fn of(
        conversation: &Salvaged,
        found: &Salvage,
        ends: &BTreeMap<&ConversationId, Seq>,
        missed: &BTreeMap<ConversationId, Seq>,
    ) -> Self {
        let Some(id) = &conversation.conversation else { return Self::All };
        if missed.get(id).is_some_and(|through| conversation.end < *through) {
            return Self::Other(id.clone());
        }
        let cut = found.first(conversation).and_then(|first| cut_from(&first));
        match cut {
            Some((of, through)) if ends.get(&of).is_some_and(|end| *end < through) => {
                let is_any = ends.get(&of).is_some_and(|end| Seq(0) < *end);
                if is_any { Self::Less(of) } else { Self::Nothing(of) }
            }
            Some(_) | None => Self::All,
        }
    }

    fn told(&self) -> Option<String> {
        match self {
            Self::All => None,
            Self::Less(of) => Some(format!(
                "  It was forked from {of}, which came back without its end: what they share is missing here.\n  \
                 hint: piton print {of} shows what there is"
            )),
            Self::Nothing(of) => Some(format!(
                "  It was forked from {of}, of which nothing came back: what they share is missing here."
            )),
            Self::Other(id) => Some(format!(
                "  It is {id}, under another name: forks of {id} that are here share more with it than came back."
            )),
        }
    }
}

/// The conversations that others, or the list, speak of, and that are not there now.
async fn lost(
    journal: &dyn Journal,
    found: &Salvage,
) -> Result<BTreeSet<ConversationId>, StoreError> {
    let mut spoken_of: BTreeSet<_> = found.lost.iter().cloned().collect();
    let there = ends(found);
    let mut purged = BTreeSet::new();
    for conversation in &found.conversations {
        let Some(first) = found.first(conversation) else { continue };
        let copy = conversation.conversation.as_ref().map(ConversationId::of_origin);
        if copy.is_some_and(|copy| there.contains_key(&copy)) {
            // What they share was copied, so that the other one could go.
            purged.extend(cut_from(&first).map(|(of, _)| of));
        }
        spoken_of.extend(refers_to(&first));
    }
    let mut lost = BTreeSet::new();
    for id in spoken_of.difference(&purged).cloned() {
        if journal.status(&id).await?.is_none() {
            lost.insert(id);
        }
    }
    Ok(lost)
}

/// What became of the conversations.
#[derive(Default)]
struct Count {
    whole: usize,
    doubted: usize,
    already: usize,
    failed: Vec<String>,
    lost: Vec<String>,
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

    fn how_much(&self, found: &Salvage) -> BroughtBack {
        let is_cut = found.conversations.iter().any(|it| it.extent != Extent::Whole);
        let is_whole = self.lost.is_empty() && found.chunks_lost == 0 && found.end_is_certain;
        if is_whole && !is_cut { BroughtBack::Whole } else { BroughtBack::InPart }
    }

    fn report(&self, found: &Salvage) -> Report {
        let Self { whole, doubted, already, failed, lost } = self;
        let missing = match found.chunks_lost {
            0 => "no commit is missing".to_owned(),
            1 => "1 commit is missing".to_owned(),
            lost => format!("{lost} commits are missing"),
        };
        let end = if found.end_is_certain { "" } else { ", and the newest ones may be" };
        let names: Vec<_> = failed.iter().chain(lost).map(String::as_str).collect();
        let named = match names.len() {
            0 => "0".to_owned(),
            count => format!("{count} ({})", names.join(", ")),
        };
        let told = format!(
            "Brought back: {whole} whole, {doubted} whose end may be missing. There already: {already}. \
             Not brought back: {named}. Of the database {missing}{end}."
        );
        if names.is_empty() { Report::nothing(&told) } else { Report::broken(&told) }
    }
}

async fn bring_back(
    journal: &dyn Journal,
    found: &Salvage,
    conversation: &Salvaged,
    sharing: &Sharing,
) -> Result<(ConversationId, Restored), String> {
    let told = |error: &dyn std::error::Error| error.to_string();
    let mut records = found.records(conversation).map_err(|error| told(&error))?;
    let mut name = conversation.conversation.clone();
    match sharing {
        Sharing::All => {}
        Sharing::Less(_) | Sharing::Nothing(_) => {
            let mut left = records.into_iter();
            let first = left.next().map(without_shared);
            records = first.into_iter().chain(left).collect();
        }
        Sharing::Other(_) => name = None,
    }
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
    let counted = if entries == 1 { "1 entry".to_owned() } else { format!("{entries} entries") };
    let told = match extent {
        "already" => "is there already; it was left alone".to_owned(),
        "whole" => format!("{counted}, whole"),
        "cut" => format!("{counted}; behind that one is missing, and what follows is left out"),
        _ => {
            format!("{counted}; more may be missing at its end, so it does not go on by itself")
        }
    };
    output.lines(&format!("{id}  {told}"));
}

/// Whether a file is the database of this home.
fn is_in_use(file: &Path, settings: &Settings) -> bool {
    let present = fs::canonicalize(settings.home.join("piton.db"));
    present.is_ok_and(|present| fs::canonicalize(file).is_ok_and(|file| file == present))
}
