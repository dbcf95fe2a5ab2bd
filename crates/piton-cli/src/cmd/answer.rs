//! `piton answer`: answers what a turn asks, from any terminal, today or tomorrow.
//!
//! A question is a fact in the journal, and so is its answer. Nothing runs here unless `--continue`
//! says so. If another process is at work on the conversation, that process records the answer.

mod askers;
mod desk;
mod elsewhere;
mod meant;
mod record;

use std::time::Duration;

use clap::Parser as _;
use piton::{Engine, Kept, Standing};
use piton_agent::{Settings, engine_to_write};
use piton_core::id::ConversationId;
use piton_core::view::{InquiryKind, RuleEffect, RuleScope, TurnView, View};
use piton_store::Holder;
use tokio::time::Instant;

use self::askers::askers;
use self::desk::{Desk, Recorded};
use super::query;
use crate::ask::Offer;
use crate::flags::{Answer, Command, Flags, Width};
use crate::output::Output;
use crate::render::lines::Line;
use crate::render::paint::Painted;
use crate::render::question::{laid_out, shown};
use crate::render::tool::{kept_answer, said};
use crate::report::{Fault, Report};
use crate::target;

/// Shows the questions, or answers the first of them.
pub(crate) async fn run(
    answer: &Answer,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    let (journal, id) = target::find(answer.id.as_deref(), settings, output).await?;
    let engine = engine_to_write(journal, settings)?;
    if answer.word.is_none() && answer.text.is_none() && !answer.decline {
        return show(&engine, &id, answer, settings, output).await;
    }
    let asking = askers(&engine, &id).await?;
    if asking.is_empty() {
        let last = last_answer(&engine.view(&id).await?);
        return Err(Fault::NothingAsked { conversation: id, last });
    }
    let meant = meant::meant(&asking, answer, settings)?;
    if meant.is_empty() {
        return Err(Fault::NothingAsked { conversation: id, last: None });
    }
    // Longer than anybody waits; a clock has an end.
    let wait = Duration::from_secs(answer.wait.min(u32::MAX.into()));
    let deadline = Instant::now() + wait;
    let desk = Desk { engine: engine.clone(), deadline, all: answer.all };
    let recorded = desk.record(meant, output).await;
    // A worker goes on with the conversation that it works for.
    let asker = id.clone();
    let id = id.as_worker().map_or(id, |(parent, _)| parent);
    let woken = match &recorded {
        Ok(Recorded::There(_)) => elsewhere::wake(&desk, &id).await,
        Ok(Recorded::Here) | Err(_) => Ok(()),
    };
    // The conversation is free again for the process that goes on.
    engine.shutdown(Duration::ZERO).await;
    let recorded = recorded?;
    woken?;
    if let Recorded::There(holder) = recorded
        && goes_on(&engine, &id, &holder, output).await?
    {
        return Ok(Report::ok("done"));
    }
    let left = askers(&engine, &asker).await?;
    let left: usize = left.iter().map(|(_, view)| view.open_questions().count()).sum();
    if 0 < left {
        output.talk(&format!("{left} more to answer: piton answer --id {asker}"));
    }
    if !answer.resume {
        let hint = format!("to go on: piton query --continue --id {id}");
        output.talk(&format!("hint: {hint}"));
        return Ok(Report::ok("done"));
    }
    let mut words = vec!["piton", "query", "--continue", "--id", id.as_str()];
    words.extend(answer.json.then_some("--json"));
    match Flags::try_parse_from(words).map(|flags| flags.command) {
        Ok(Some(Command::Query(query))) => query::run(query, settings, output).await,
        Ok(_) => Ok(Report::ok("done")),
        Err(error) => Ok(Report::misuse(&error.to_string())),
    }
}

/// Says which process has taken the answer. Whether nothing is left to do here: that process goes on
/// with the turn, or the turn is over.
async fn goes_on(
    engine: &Engine,
    id: &ConversationId,
    taker: &Holder,
    output: &mut Output,
) -> Result<bool, Fault> {
    let who = format!("Process {}", taker.pid);
    let listed = engine.journal().status(id).await?;
    if listed.is_some_and(|listed| listed.holder.is_some()) {
        output.talk(&format!("{who} has taken it, and goes on with the turn."));
        return Ok(true);
    }
    let is_over = engine.view(id).await?.head.open.is_none();
    let then = if is_over { "the turn is over" } else { "has left the turn as it is" };
    output.talk(&format!("{who} has taken it, and {then}."));
    Ok(is_over)
}

/// The newest answer of the last turn: somebody may have been faster.
fn last_answer(view: &View) -> Option<String> {
    let answered =
        view.turns.last().into_iter().flat_map(TurnView::calls).flat_map(|call| &call.questions);
    let newest = answered.filter_map(|asked| Some((asked, asked.answer.as_ref()?)));
    let (asked, answer) = newest.max_by_key(|(_, answer)| answer.at)?;
    let (given, by) = (said(&answer.given), &answer.by);
    Some(format!("answered last, by {by}, {given}: {}", asked.heading))
}

/// Shows what is asked. Takes no lease, so it also shows what another process asks.
async fn show(
    engine: &Engine,
    id: &ConversationId,
    answer: &Answer,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    let asking = askers(engine, id).await?;
    for (asker, view) in &asking {
        let kept = Kept::of(&**engine.journal(), asker).await?;
        for asked in view.open_questions() {
            let offers = Offer::all(asked, &view.head.workspace, settings.file.as_deref());
            let words = meant::words(asked, &offers);
            let mut kept = kept.iter().filter_map(Kept::answer);
            let kept = kept.find(|(inquiry, _)| **inquiry == asked.id);
            let kept = kept.map(|(_, reply)| kept_answer(reply));
            if answer.json {
                let (asker, kept) = (asker.as_str(), kept.as_deref());
                output.json(&Line::question(asker, asked, &words, kept));
                continue;
            }
            if asker != id {
                output.talk(&format!("Worker {asker} asks:"));
            }
            match output.page() {
                Some(page) if asked.kind != InquiryKind::Question => {
                    output.paint(&Painted::lines(&laid_out(asked, page), page.style));
                }
                Some(_) | None => output.data(&format!("{}\n", shown(asked))),
            }
            output.talk(&format!("answers: {}", words.join(", ")));
            for line in meant::form_lines(asked) {
                output.talk(&line);
            }
            if let Some(kept) = kept {
                output
                    .talk(&format!("kept, and not taken yet: {kept}; another answer replaces it"));
            }
            if let Some(why) = &asked.no_rule {
                output.talk(&format!("no rule can be kept: {why}"));
            }
            show_offers(&offers, output);
        }
    }
    if asking.is_empty() {
        return Ok(Report::nothing(&format!("Conversation {id} asks nothing.")));
    }
    Ok(Report::ok("done"))
}

/// Says what stands after always and never, and where it would be kept.
fn show_offers(offers: &[Offer], output: &mut Output) {
    for (word, effect) in [("always", RuleEffect::Allow), ("never", RuleEffect::Deny)] {
        let of_effect = offers.iter().filter(|offer| offer.standing.effect == effect);
        let mut usual: Vec<Standing> = Vec::new();
        for offer in of_effect {
            let width = if usual.contains(&offer.standing) {
                format!(" --width {}", Width::word(offer.width))
            } else {
                usual.push(offer.standing);
                String::new()
            };
            let (scope, will) = match offer.standing.scope {
                RuleScope::Conversation => ("", ""),
                RuleScope::Project => (" --scope project", "will write "),
                RuleScope::User => (" --scope user", "will write "),
            };
            output.talk(&format!("{word}{width}{scope}: {will}{}", offer.told()));
        }
    }
}
