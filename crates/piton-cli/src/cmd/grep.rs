//! `piton grep`: lines of conversations that match. Reads the index, and the journals as far as it does not
//! know them yet; takes no lease.

use std::collections::BTreeSet;
use std::sync::Arc;

use piton::Shelf;
use piton::search::{Hit, Hits, Pattern, PatternError, Query, Search};
use piton_agent::Settings;
use piton_core::id::ConversationId;
use piton_store::Journal;

use super::ls::here;
use crate::flags::{Grep, GrepOutput};
use crate::output::Output;
use crate::render::hits;
use crate::render::lines::Line;
use crate::report::{Fault, Report};
use crate::{store, target};

/// Finds them.
pub(crate) async fn run(
    grep: &Grep,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    let pattern = match pattern(grep) {
        Ok(pattern) => pattern,
        Err(error) => {
            let regex = matches!(error, PatternError::Regex(_));
            let hint = if regex { "\nhint: without --regex it is taken as it is" } else { "" };
            return Ok(Report::misuse(&format!("error: {error}{hint}")));
        }
    };
    if !settings.has_database()? {
        return Ok(Report::not_found("Nothing was found: there are no conversations yet."));
    }
    let journal: Arc<dyn Journal> = store::open(settings, output)?;
    let conversation = match &grep.id {
        Some(typed) => Some(target::by_prefix(&*journal, typed, settings).await?),
        None => None,
    };
    let everywhere = grep.all || conversation.is_some();
    let query = Query {
        conversation,
        directory: if everywhere { None } else { here(settings) },
        worker: (!everywhere).then_some(false),
        scopes: grep.scopes(),
        hidden: grep.discarded,
        context: if grep.output == GrepOutput::Hits { grep.context } else { 0 },
        each_max: grep.each_max(),
        hits_max: grep.hits_max(),
        ..Query::new(pattern)
    };
    let search = Search::open(Arc::clone(&journal), &settings.home).await?;
    let mut found = search.find(&query).await?;
    if !grep.discarded {
        without_removed(&*journal, query.conversation.as_ref(), &mut found).await?;
    }
    if found.hits.is_empty() {
        let wider = if everywhere { "" } else { " To look in all directories: piton grep --all" };
        return Ok(Report::not_found(&format!("Nothing was found.{wider}")));
    }
    show(grep, &query.pattern, &found, output);
    if found.more {
        output.talk("There are more hits: piton grep --limit 0");
    }
    Ok(Report::ok("done"))
}

/// Leaves out conversations that somebody removed. What one shares with a removed one is its own, too.
async fn without_removed(
    journal: &dyn Journal,
    only: Option<&ConversationId>,
    found: &mut Hits,
) -> Result<(), Fault> {
    let names: BTreeSet<_> = match only {
        Some(only) => [only.clone()].into(),
        None => found.hits.iter().map(|hit| hit.conversation.clone()).collect(),
    };
    for name in names {
        let shelf = journal.status(&name).await?.map(|listed| listed.row.shelf);
        if shelf.is_none_or(|shelf| shelf == Shelf::Removed) {
            found.hits.retain(|hit| only.is_none() && hit.conversation != name);
        }
    }
    Ok(())
}

fn pattern(grep: &Grep) -> Result<Pattern, PatternError> {
    if grep.regex { Pattern::regex(&grep.pattern) } else { Pattern::exactly(&grep.pattern) }
}

fn show(grep: &Grep, pattern: &Pattern, found: &Hits, output: &mut Output) {
    let by_conversation = || found.hits.chunk_by(|one, next| one.conversation == next.conversation);
    let first = |hits: &[Hit]| hits.first().map(|hit| hit.conversation.to_string());
    match (grep.output, grep.json) {
        (GrepOutput::Hits | GrepOutput::Text, true) => {
            for hit in &found.hits {
                output.json(&Line::hit(hit));
            }
        }
        (GrepOutput::Ids | GrepOutput::Count, true) => {
            for hits in by_conversation() {
                let conversation = first(hits).unwrap_or_default();
                let count = (grep.output == GrepOutput::Count).then_some(hits.len());
                output.json(&Line::HitCount { conversation: &conversation, hits: count });
            }
        }
        (GrepOutput::Ids, false) => {
            for hits in by_conversation() {
                output.data(&format!("{}\n", first(hits).unwrap_or_default()));
            }
        }
        (GrepOutput::Count, false) => {
            for hits in by_conversation() {
                output.data(&format!("{}:{}\n", first(hits).unwrap_or_default(), hits.len()));
            }
        }
        (GrepOutput::Text, false) => {
            for hit in &found.hits {
                output.data(&format!("{}\n", hit.line));
            }
        }
        (GrepOutput::Hits, false) => {
            let cut = output.is_watched().then_some(pattern);
            output.data(&hits::lines(&found.hits, 0 < grep.context, cut));
        }
    }
}
