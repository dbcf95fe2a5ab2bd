//! `piton answer`: answers what a turn asks, from any terminal, today or tomorrow.
//!
//! A question is a fact in the journal, and so is its answer. Nothing runs here unless `--continue`
//! says so. If another process is at work on the conversation, that one records the answer.

pub(crate) mod elsewhere;

use std::sync::Arc;
use std::time::Duration;

use clap::Parser as _;
use piton::{LeaseWait, Reply};
use piton_core::event::{Inquiry, InquiryKind, RuleEffect, RuleScope, Shape};
use piton_core::id::{ConversationId, InquiryId, Seq};
use piton_core::state::{State, Turn};
use piton_store::Journal;

use self::elsewhere::{Held, Recorded};
use super::query;
use crate::ask::{Heard, Offer, Prompt};
use crate::flags::{Answer, Command, Flags, Scope};
use crate::output::Output;
use crate::render::lines::Line;
use crate::report::{Fault, Report};
use crate::settings::Settings;
use crate::wiring::Wiring;
use crate::{reader, target, wiring};

/// Shows the questions, or answers the first of them.
pub(crate) async fn run(
    answer: &Answer,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    let nothing = Fault::NoConversation { aside: settings.set_aside() };
    if !settings.has_database()? && answer.id.is_none() {
        return Err(nothing);
    }
    let journal = wiring::open_store(settings, output)?;
    let id = match &answer.id {
        Some(typed) => target::by_prefix(&*journal, typed, settings).await?,
        None => target::newest(&*journal, settings).await?.ok_or(nothing)?,
    };
    if answer.word.is_none() && answer.text.is_none() && !answer.decline {
        return show(&*journal, &id, answer, settings, output).await;
    }
    let asked = to_answer(&askers(&*journal, &id).await?, answer);
    let mut recorded = Err(Fault::NothingAsked(id.clone()));
    for (asker, inquiry) in &asked {
        let one = record(journal.clone(), (asker, inquiry), answer, settings, output).await;
        recorded = match (one, recorded) {
            // A rule of the one before may answer it.
            (Err(Fault::NotOpen { .. }), Ok(recorded)) => Ok(recorded),
            (one, _) => Ok(one?),
        };
    }
    let recorded = recorded?;
    if let Recorded::There(holder) = recorded {
        let who = holder.map_or_else(String::new, |holder| format!(" {}", holder.pid));
        output.talk(&format!("Process{who} has taken it, and goes on with the turn."));
        return Ok(Report::ok("done"));
    }
    // A worker goes on with the conversation that it works for.
    let id = id.as_worker().map_or(id, |(parent, _)| parent);
    if !answer.resume {
        let hint = format!("to go on: piton query --continue --id {id}");
        output.talk(&format!("hint: {hint}"));
        return Ok(Report::ok("done"));
    }
    let mut words = vec!["piton", "query", "--continue", "--id", id.as_str()];
    words.extend(answer.json.then_some("--json"));
    match Flags::try_parse_from(words).map(|flags| flags.command) {
        Ok(Command::Query(query)) => query::run(query, settings, output).await,
        Ok(_) => Ok(Report::ok("done")),
        Err(error) => Ok(Report::misuse(&error.to_string())),
    }
}

/// Which questions are meant: the first one, or all permissions that are asked for now. What is asked
/// later nobody has seen yet.
fn to_answer(
    askers: &[(ConversationId, State)],
    answer: &Answer,
) -> Vec<(ConversationId, InquiryId)> {
    let open = askers.iter().flat_map(|(asker, state)| {
        questions(state).into_iter().map(move |asked| (asker.clone(), asked))
    });
    let meant = open.filter(|(_, asked)| !answer.all || asked.kind == InquiryKind::Permission);
    let meant = meant.map(|(asker, asked)| (asker, asked.id));
    meant.take(if answer.all { usize::MAX } else { 1 }).collect()
}

/// Shows what is asked. Takes no lease, so it also shows what another process asks.
async fn show(
    journal: &dyn Journal,
    id: &ConversationId,
    answer: &Answer,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    let askers = askers(journal, id).await?;
    for (asker, state) in &askers {
        for asked in &questions(state) {
            let offers = Offer::all(state, asked, settings.file.as_deref());
            let words = words(asked, &offers);
            if answer.json {
                output.json(&Line::question(asker.as_str(), asked, &words));
                continue;
            }
            if asker != id {
                output.talk(&format!("Worker {asker} asks:"));
            }
            output.data(&format!("{}\n", asked.question));
            output.talk(&format!("answers: {}", words.join(", ")));
            show_offers(&offers, output);
        }
    }
    if askers.is_empty() {
        return Ok(Report::nothing(&format!("Conversation {id} asks nothing.")));
    }
    Ok(Report::ok("done"))
}

/// Says what stands after always and never, and where it would be kept.
fn show_offers(offers: &[Offer], output: &mut Output) {
    for (word, effect) in [("always", RuleEffect::Allow), ("never", RuleEffect::Deny)] {
        let of_effect = offers.iter().filter(|offer| offer.standing.effect == effect);
        for offer in of_effect {
            let (scope, will) = match offer.standing.scope {
                RuleScope::Conversation => ("", ""),
                RuleScope::Project => (" --scope project", "will write "),
                RuleScope::User => (" --scope user", "will write "),
            };
            output.talk(&format!("{word}{scope}: {will}{}", offer.told()));
        }
    }
}

/// Who asks something: the conversation itself, then those that work for it.
async fn askers(
    journal: &dyn Journal,
    id: &ConversationId,
) -> Result<Vec<(ConversationId, State)>, Fault> {
    let own = read(journal, id).await?;
    let steps = own.open_turn().into_iter().flat_map(Turn::steps);
    let open = steps.flat_map(|step| &step.calls).filter(|call| !call.is_done());
    let workers: Vec<_> = open.filter_map(|call| call.worker.clone()).collect();
    let mut askers = vec![(id.clone(), own)];
    for worker in workers {
        // One that has not begun asks nothing.
        if journal.status(&worker).await?.is_some() {
            let state = read(journal, &worker).await?;
            askers.push((worker, state));
        }
    }
    askers.retain(|(_, state)| !questions(state).is_empty());
    Ok(askers)
}

async fn read(journal: &dyn Journal, id: &ConversationId) -> Result<State, Fault> {
    let mut state = State::default();
    reader::for_each_record(journal, id, |record| state.apply(&reader::entry(&record))).await?;
    Ok(state)
}

/// What is answered to which question.
struct Meant {
    asked: Inquiry,
    reply: Reply,
    /// What stands from now on.
    offer: Option<Offer>,
    /// The last entry that was read.
    after: Seq,
}

/// The question, and what was answered to it.
fn meant(
    state: &State,
    (id, inquiry): (&ConversationId, &InquiryId),
    answer: &Answer,
    settings: &Settings,
) -> Result<Meant, Fault> {
    let Some(asked) = questions(state).into_iter().find(|asked| asked.id == *inquiry) else {
        return Err(Fault::NothingAsked(id.clone()));
    };
    let offers = Offer::all(state, &asked, settings.file.as_deref());
    let (reply, offer) = understand(&asked, answer, offers)?;
    Ok(Meant { asked, reply, offer, after: state.end })
}

/// Writes the answer to a question down, or has it written down.
async fn record(
    journal: Arc<dyn Journal>,
    (id, inquiry): (&ConversationId, &InquiryId),
    answer: &Answer,
    settings: &Settings,
    output: &mut Output,
) -> Result<Recorded, Fault> {
    // Before anything is waited for: this is the question that somebody saw and answers.
    let meant = meant(&read(&*journal, id).await?, (id, inquiry), answer, settings)?;
    let engine = Wiring::to_write(journal.clone(), settings)?.engine(&[]);
    let mut session = match engine.open_within(id, LeaseWait::NONE).await.map_err(Fault::from) {
        Err(fault) if fault.is_held() => {
            let wait = Duration::from_secs(answer.wait);
            let held = Held { engine: &engine, journal: &*journal, id, wait };
            return held.leave(meant, output).await;
        }
        opened => opened?,
    };
    // Somebody may have answered while nobody was there to take it.
    session.take_letters().await?;
    let Meant { asked, reply, offer, .. } = meant;
    if !questions(session.state()).iter().any(|open| open.id == asked.id) {
        return Err(Fault::NotOpen { question: asked.question });
    }
    // Written before it is answered: what is lost between the two is asked again, and then a rule
    // answers.
    offer.as_ref().map(Offer::write).transpose()?;
    session.answer(&asked.id, reply).await?;
    output.talk(&format!("Answered: {}", asked.question));
    if let Some(offer) = offer {
        output.talk(&format!("From now on: {}", offer.told()));
    }
    match questions(session.state()).len() {
        0 => {}
        left => output.talk(&format!("{left} more to answer: piton answer --id {id}")),
    }
    Ok(Recorded::Here)
}

fn questions(state: &State) -> Vec<Inquiry> {
    state.open_turn().into_iter().flat_map(Turn::pending_inquiries).cloned().collect()
}

/// What was answered, and what stands from now on.
fn understand(
    asked: &Inquiry,
    answer: &Answer,
    offers: Vec<Offer>,
) -> Result<(Reply, Option<Offer>), Fault> {
    let mut prompt = Prompt::new(asked.clone());
    let words = words(asked, &offers).join(", ");
    prompt.offer(offers);
    if prompt.is_secret() && !answer.decline {
        // It would be in the history of a shell, and nobody is there who could be told.
        return Err(Fault::SecretOnTerminal { question: asked.question.clone() });
    }
    let typed = answer.text.as_ref().or(answer.word.as_ref());
    let heard = match (&answer.word, &answer.text) {
        _ if answer.decline && asked.kind == InquiryKind::Question => Heard::Reply(Reply::Deny),
        _ if answer.decline => Heard::Ask,
        _ if asked.kind == InquiryKind::Question => {
            let read = typed.map(|typed| match &asked.wants {
                Some(wants) => wants.read(typed),
                None => Ok(typed.clone()),
            });
            read.and_then(Result::ok).map_or(Heard::Ask, |text| Heard::Reply(Reply::Text(text)))
        }
        (_, Some(text)) if asked.kind == InquiryKind::InDoubt => {
            Heard::Reply(Reply::Text(text.clone()))
        }
        (Some(word), _) => prompt.hear(&with_scope(word, answer.scope)),
        (None, _) => Heard::Ask,
    };
    match heard {
        Heard::Reply(reply) => {
            let offer = prompt.offered(&reply).cloned();
            Ok((reply, offer))
        }
        Heard::Ask => Err(Fault::NoAnswer { question: asked.question.clone(), words }),
    }
}

/// The word with how far it reaches. On a command line nobody is asked back.
fn with_scope(word: &str, scope: Option<Scope>) -> String {
    let scope = match (scope, word.to_lowercase().as_str()) {
        (Some(Scope::Project), _) => "project",
        (Some(Scope::User), _) => "user",
        (Some(Scope::Conversation), _) | (None, "a" | "always" | "v" | "never") => "conversation",
        (None, _) => "",
    };
    format!("{word} {scope}")
}

/// What can be answered.
fn words<'a>(asked: &'a Inquiry, offers: &[Offer]) -> Vec<&'a str> {
    let may = |effect| offers.iter().any(|offer| offer.standing.effect == effect);
    match asked.kind {
        InquiryKind::Permission => ["yes", "no"]
            .into_iter()
            .chain(may(RuleEffect::Allow).then_some("always"))
            .chain(may(RuleEffect::Deny).then_some("never"))
            .chain(["applied"])
            .collect(),
        InquiryKind::InDoubt => vec!["run", "done", "unknown", "--text RESULT"],
        InquiryKind::Question => match asked.wants.as_ref().map(|wants| &wants.shape) {
            Some(Shape::Confirm) => vec!["yes", "no", "--decline"],
            Some(Shape::Choice { options }) => {
                options.iter().map(String::as_str).chain(["--decline"]).collect()
            }
            Some(Shape::Form { .. }) => vec!["--text JSON", "--decline"],
            Some(Shape::Secret) => vec!["--decline"],
            Some(Shape::Text) | None => vec!["--text TEXT", "--decline"],
        },
    }
}
