//! `piton answer`: answers what a turn asks, from any terminal, today or tomorrow.
//!
//! A question is a fact in the journal, and so is its answer. Nothing runs here unless `--continue`
//! says so.

use std::sync::Arc;
use std::time::Duration;

use clap::Parser as _;
use piton::{Delegation, Reply, always_rules};
use piton_core::event::{Inquiry, InquiryKind, PermissionRule, RuleScope, Shape};
use piton_core::id::ConversationId;
use piton_core::state::{State, Turn};
use piton_store::Journal;

use super::query;
use crate::ask::{Heard, Prompt};
use crate::flags::{Answer, Command, Flags};
use crate::models::Catalogue;
use crate::output::Output;
use crate::render::lines::Line;
use crate::report::{Fault, Report};
use crate::settings::Settings;
use crate::wiring::{Commands, Wiring};
use crate::{reader, target, wiring};

/// How long to wait for a process that is about to leave the conversation. One that asks on its own
/// terminal does not leave.
const HELD_WAIT: Duration = Duration::from_secs(1);

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
        return show(&*journal, &id, answer, output).await;
    }
    let asker = askers(&*journal, &id).await?.into_iter().next().map(|(asker, _)| asker);
    record(journal, &asker.unwrap_or_else(|| id.clone()), answer, settings, output).await?;
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

/// Shows what is asked. Takes no lease, so it also shows what another process asks.
async fn show(
    journal: &dyn Journal,
    id: &ConversationId,
    answer: &Answer,
    output: &mut Output,
) -> Result<Report, Fault> {
    let askers = askers(journal, id).await?;
    for (asker, state) in &askers {
        for asked in &questions(state) {
            if answer.json {
                output.json(&Line::question(asker.as_str(), asked, &words(asked)));
                continue;
            }
            if asker != id {
                output.talk(&format!("Worker {asker} asks:"));
            }
            output.data(&format!("{}\n", asked.question));
            output.talk(&format!("answers: {}", words(asked).join(", ")));
            if let Some(rules) = always_rules(state, asked, RuleScope::Conversation) {
                output.talk(&format!("always: {}", told(&rules)));
            }
        }
    }
    if askers.is_empty() {
        return Ok(Report::nothing(&format!("Conversation {id} asks nothing.")));
    }
    Ok(Report::ok("done"))
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

/// Writes the answer to the first question down.
async fn record(
    journal: Arc<dyn Journal>,
    id: &ConversationId,
    answer: &Answer,
    settings: &Settings,
    output: &mut Output,
) -> Result<(), Fault> {
    let wiring = Wiring {
        journal,
        models: Arc::new(Catalogue::default()),
        delegation: Delegation::default(),
        scratch: settings.scratch()?,
        lock_wait: HELD_WAIT,
        commands: Commands::Unused,
        tools: Vec::new(),
    };
    let opened = wiring.engine(&[]).open(id).await.map_err(Fault::from);
    let mut session = opened.map_err(|fault| {
        if fault.is_held() { Fault::AskedElsewhere(fault.to_string()) } else { fault }
    })?;
    let Some(asked) = questions(session.state()).into_iter().next() else {
        return Err(Fault::NothingAsked(id.clone()));
    };
    let reply = understand(&asked, answer)?;
    let rules = match reply {
        Reply::AllowAlways => always_rules(session.state(), &asked, RuleScope::Conversation),
        Reply::Allow
        | Reply::Deny
        | Reply::RunAgain
        | Reply::TreatAsDone
        | Reply::Text(_)
        | Reply::Secret(_) => None,
    };
    session.answer(&asked.id, reply).await?;
    output.talk(&format!("Answered: {}", asked.question));
    if let Some(rules) = rules {
        output.talk(&format!("From now on without asking: {}", told(&rules)));
    }
    match questions(session.state()).len() {
        0 => {}
        left => output.talk(&format!("{left} more to answer: piton answer --id {id}")),
    }
    Ok(())
}

fn questions(state: &State) -> Vec<Inquiry> {
    state.open_turn().into_iter().flat_map(Turn::pending_inquiries).cloned().collect()
}

fn understand(asked: &Inquiry, answer: &Answer) -> Result<Reply, Fault> {
    let mut prompt = Prompt::new(asked.clone());
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
        (Some(word), _) => prompt.hear(word),
        (None, _) => Heard::Ask,
    };
    match heard {
        Heard::Reply(reply) => Ok(reply),
        Heard::Ask => Err(Fault::NoAnswer {
            question: asked.question.clone(),
            words: words(asked).join(", "),
        }),
    }
}

/// What can be answered.
fn words(asked: &Inquiry) -> Vec<&str> {
    match asked.kind {
        InquiryKind::Permission => vec!["yes", "no", "always"],
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

/// Rules, for people.
pub(crate) fn told(rules: &[PermissionRule]) -> String {
    let one = |rule: &PermissionRule| match &rule.command {
        Some(command) => format!("{} `{command}`", rule.tool),
        None => rule.tool.clone(),
    };
    let rules: Vec<_> = rules.iter().map(one).collect();
    format!("{}, in this conversation", rules.join(", "))
}
