//! `piton query`: one turn, from a message to its answer, or from where it was left.

mod asked;
mod attach;
mod begin;
mod errand;
mod face;
mod feed;
mod held;
mod interrupt;
mod mail;
mod notes;
mod open;
mod opened;
mod perform;
mod plan;
mod stage;
mod waiting;
mod watch;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use piton::{OnIncomplete, check_workspace};
use piton_agent::{Agent, Settings};
use piton_core::id::ConversationId;
use piton_core::view::TurnEnd;

use self::asked::Asked;
use self::begin::announce;
use self::errand::Errand;
use self::held::{Followed, Way};
use self::mail::Mail;
use self::open::Wanted;
use self::opened::{Life, Opened};
use self::plan::{Plan, Situation, Wish};
use self::stage::Stage;
use crate::ask::held::{
    Elsewhere, HeldChoice, Present, choose_held, held_menu, held_menu_takes, held_waits,
};
use crate::ask::{Choice, Editing, choose, menu, menu_takes, not_understood};
use crate::flags::Query;
use crate::output::{Form, Output};
use crate::render::incomplete::{self, Newest};
use crate::report::{Fault, Report};
use crate::signals::Signals;
use crate::terminal::Terminal;

/// Carries a query out.
pub(crate) async fn run(
    query: Box<Query>,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    let (wish, text) = plan::request(&query)?;
    // A wrong name is found before anything is touched.
    let agent = Arc::new(Agent::load(settings.clone())?);
    let model = query.model.as_deref().map(|typed| agent.parse_model(typed)).transpose()?;
    let overrides = query.overrides(model);
    let mut mail = Mail::new(text, &query, settings)?;
    let signals = Signals::listen()?;
    let may_ask = !query.no_input && settings.environment.value("PITON_NO_INPUT").is_none();
    let terminal = may_ask.then(Terminal::open).flatten();
    let form = if query.json { Form::Json } else { Form::Text };
    let mut stage = Stage { output, signals, terminal, form };
    let mut asked = Asked { query, wish, overrides, agent, settings };
    // On the heap: the future of a turn is large, and its callers' futures would hold it.
    match Box::pin(asked.carry_out(&mut mail, &mut stage)).await {
        Err(fault) if mail.is_kept() => Ok(Report::from(&fault).with_kept_message()),
        done => done,
    }
}

impl Asked<'_> {
    async fn carry_out(&mut self, mail: &mut Mail, stage: &mut Stage<'_>) -> Result<Report, Fault> {
        mail.read_files(stage).await?;
        let mut opened = match self.open(mail, stage).await? {
            Entered::Here(opened) => *opened,
            Entered::There(report) => return Ok(report),
        };
        // The files of a kept message are known only now.
        mail.read_files(stage).await?;
        if let Some(bound) = waiting::bind(&mut opened, self, stage).await?
            && !mail.has_content()
            && self.wish == Wish::Say
        {
            return Ok(bound);
        }
        if let Some(errand) = waiting::of_left(&opened, mail, stage)? {
            return Box::pin(self.perform(opened, errand, mail, stage)).await;
        }
        let incomplete = opened.view.head.open.is_some();
        let situation = Situation {
            incomplete,
            waiting: !incomplete && !opened.view.queue.is_empty(),
            text: mail.has_content(),
            // What is not recorded must not run half of a turn that is.
            person: stage.terminal.is_some() && !self.query.no_persist,
        };
        let errand = match plan::plan(self.wish, situation) {
            Plan::Send(on_incomplete) => Errand::Send(on_incomplete),
            Plan::Resume => Errand::Resume,
            Plan::Release => Errand::Release,
            Plan::ChooseWaiting => waiting::choose(&mut opened, self, stage).await?,
            Plan::NothingToSteer => return Err(waiting::nothing_to_steer(&opened)),
            Plan::Discard => return self.discard(&opened, stage).await,
            Plan::NothingToContinue => {
                return Ok(Report::nothing("There is no incomplete turn to continue."));
            }
            Plan::NothingToDiscard => {
                return Ok(Report::nothing("There is no incomplete turn to discard."));
            }
            Plan::Refuse => return Err(refusal(&opened)),
            Plan::Choose => choose_errand(&opened, stage, mail).await?,
        };
        Box::pin(self.perform(opened, errand, mail, stage)).await
    }

    async fn perform(
        &mut self,
        mut opened: Opened,
        errand: Errand,
        mail: &mut Mail,
        stage: &mut Stage<'_>,
    ) -> Result<Report, Fault> {
        if opened.life == Life::Known {
            // Before anything is announced or started: there is nowhere to work.
            check_workspace(Path::new(&opened.view.head.workspace))?;
        }
        let done = perform::perform(&mut opened, errand, self, mail, stage).await;
        opened.engine.shutdown(Duration::ZERO).await;
        opened.tools.close().await;
        done
    }

    async fn discard(&self, opened: &Opened, stage: &mut Stage<'_>) -> Result<Report, Fault> {
        let shown = &opened.view;
        announce(opened, Some(shown), shown.head.open.unwrap_or_default(), stage);
        perform::end_turn(opened, TurnEnd::Discarded, self, stage).await?;
        stage.output.talk("The incomplete turn is discarded. It stays in the journal, hidden.");
        Ok(Report::ok("closed"))
    }

    /// Opens the conversation. If another process holds it, a person says what to do.
    async fn open(&mut self, mail: &mut Mail, stage: &mut Stage<'_>) -> Result<Entered, Fault> {
        let present = if stage.terminal.is_some() { Present::Person } else { Present::Nobody };
        let (mut lock_wait, later) = held_waits(present, self.query.lock_wait);
        let mut way = match self.wish {
            Wish::Queue => Some(Way::Queue),
            Wish::Steer => Some(Way::Steer),
            Wish::Say | Wish::Continue | Wish::Discard => None,
        };
        if way.is_some() {
            // The message goes to the process that holds the conversation, so nothing is waited for.
            lock_wait = Duration::ZERO;
        }
        loop {
            let (query, overrides, agent) = (&self.query, &self.overrides, &self.agent);
            let wanted = Wanted { query, overrides, agent, lock_wait };
            let opened = tokio::select! {
                biased;
                _ = stage.signals.next() => return Err(Fault::Interrupted),
                opened = open::open(&wanted, mail, stage.output) => opened,
            };
            let (fault, id) = match opened {
                Ok(opened) => return Ok(Entered::Here(Box::new(opened))),
                Err(fault) => match fault.held().cloned() {
                    Some(id) if way.is_some() || present == Present::Person => (fault, id),
                    Some(_) | None => return Err(fault),
                },
            };
            let chosen = match way.take() {
                Some(way) => Some(way),
                None => self.decide_about(&id, fault, stage).await?,
            };
            let Some(way) = chosen else {
                lock_wait = later;
                continue;
            };
            match held::leave(self, &id, way, mail, stage).await? {
                Followed::Done(report) => return Ok(Entered::There(report)),
                Followed::NobodyThere => {
                    // What waits there is taken in by the process that opens it next.
                    (self.query.id, self.wish) = (Some(id.to_string()), Wish::Say);
                    lock_wait = later;
                }
            }
        }
    }

    /// Asks a person about a conversation that another process works on. A way to leave the message
    /// for it, or none if the conversation is to be opened once more.
    async fn decide_about(
        &mut self,
        id: &ConversationId,
        fault: Fault,
        stage: &mut Stage<'_>,
    ) -> Result<Option<Way>, Fault> {
        stage.output.talk(&format!("{fault}."));
        match choose_about_held(self.wish, stage).await? {
            HeldChoice::Queue => return Ok(Some(Way::Queue)),
            HeldChoice::Steer => return Ok(Some(Way::Steer)),
            HeldChoice::Watch => held::watch(self, id, stage).await?,
            HeldChoice::New => (self.query.id, self.query.new) = (None, true),
            HeldChoice::Wait => {}
            HeldChoice::Quit => return Err(fault),
        }
        Ok(None)
    }
}

/// Where a query goes on.
#[derive(Debug)]
enum Entered {
    /// Here, with the writer's place.
    Here(Box<Opened>),
    /// In the process that works on the conversation; this is how it went.
    There(Report),
}

async fn choose_about_held(wish: Wish, stage: &mut Stage<'_>) -> Result<HeldChoice, Fault> {
    let elsewhere = match wish {
        Wish::Say | Wish::Queue | Wish::Steer => Elsewhere::Possible,
        Wish::Continue | Wish::Discard => Elsewhere::Impossible,
    };
    let mut unclear = String::new();
    loop {
        let line = stage.ask(&format!("{unclear}{}", held_menu(elsewhere))).await?;
        if let Some(choice) = choose_held(&line, elsewhere) {
            return Ok(choice);
        }
        unclear = not_understood(&held_menu_takes(elsewhere));
    }
}

fn refusal(opened: &Opened) -> Fault {
    match opened.view.head.open.and_then(|_| Newest::of(&opened.view)) {
        Some(turn) => {
            let conversation = opened.conversation.id().clone();
            Fault::Incomplete { conversation, turn: Box::new(turn) }
        }
        None => Fault::NoText,
    }
}

/// Asks a person what to do with the incomplete turn.
async fn choose_errand(
    opened: &Opened,
    stage: &mut Stage<'_>,
    mail: &mut Mail,
) -> Result<Errand, Fault> {
    let Fault::Incomplete { conversation, turn } = refusal(opened) else {
        return Ok(Errand::Send(OnIncomplete::Ask));
    };
    let editing =
        if incomplete::is_only_a_message(&turn) { Editing::Possible } else { Editing::Impossible };
    let waits = incomplete::waits_for(&turn);
    stage.output.talk(&format!("Conversation {conversation} has an incomplete turn.\n{waits}"));
    waiting::tell(&opened.view.queue, stage);
    let mut unclear = String::new();
    loop {
        let line = stage.ask(&format!("{unclear}{}", menu(editing))).await?;
        match choose(&line, editing) {
            Some(Choice::Resume) => return Ok(Errand::Send(OnIncomplete::Resume)),
            Some(Choice::Discard) => return Ok(Errand::Send(OnIncomplete::Discard)),
            Some(Choice::Edit) => {
                let typed = stage.ask("The new message (empty: what you have just sent): ").await?;
                if !typed.trim().is_empty() {
                    mail.write(typed);
                }
                return Ok(Errand::Send(OnIncomplete::Discard));
            }
            Some(Choice::Quit) => return Err(Fault::LeftAlone),
            None => unclear = not_understood(&menu_takes(editing)),
        }
    }
}
