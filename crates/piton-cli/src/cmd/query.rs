//! `piton query`: one turn, from a message to its answer, or from where it was left.

mod config;
mod face;
mod open;
mod perform;
mod plan;
mod watch;

use piton::{NewMessage, OnIncomplete};
use piton_core::event::TurnEnd;
use piton_core::id::TurnId;
use piton_core::state::State;
use piton_core::view::TurnView;

use self::open::{Life, Opened};
use self::perform::Stage;
use self::plan::{Plan, Situation};
use crate::ask::{Choice, Editing, choose, menu};
use crate::flags::Query;
use crate::models;
use crate::output::{Form, Output};
use crate::render::incomplete;
use crate::render::lines::Line;
use crate::report::{Fault, Report};
use crate::settings::Settings;
use crate::signals::Signals;
use crate::terminal::Terminal;

/// What a session is to do.
#[derive(Clone, Debug)]
enum Errand {
    Send(String, OnIncomplete),
    Resume,
}

/// Does it.
pub(crate) async fn run(
    query: Box<Query>,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    let (wish, text) = plan::request(&query)?;
    let mut signals = Signals::listen()?;
    let may_ask = !query.no_input && !settings.no_input;
    let terminal = may_ask.then(Terminal::open).flatten();
    let opened = tokio::select! {
        biased;
        () = signals.next() => return Err(Fault::Interrupted),
        opened = open::open(&query, settings, output) => opened?,
    };
    let form = if query.json { Form::Json } else { Form::Text };
    let mut stage = Stage { output, signals, terminal, form };
    let situation = Situation {
        incomplete: opened.session.state().open_turn().is_some(),
        text: text.is_some(),
        // What is not recorded must not run half of a turn that is.
        person: stage.terminal.is_some() && !query.no_persist,
    };
    let text = text.unwrap_or_default();
    let errand = match plan::plan(wish, situation) {
        Plan::Send(on_incomplete) => Errand::Send(text, on_incomplete),
        Plan::Resume => Errand::Resume,
        Plan::Discard => return discard(opened, &mut stage).await,
        Plan::NothingToContinue => {
            return Ok(Report::nothing("There is no incomplete turn to continue."));
        }
        Plan::NothingToDiscard => {
            return Ok(Report::nothing("There is no incomplete turn to discard."));
        }
        Plan::Refuse => return Err(refusal(&opened)),
        Plan::Choose => choose_errand(&opened, &mut stage, text).await?,
    };
    begin(&opened, &errand, &mut stage);
    perform::perform(opened, errand, &query, settings, stage).await
}

async fn discard(mut opened: Opened, stage: &mut Stage<'_>) -> Result<Report, Fault> {
    let turn = opened.session.state().open_turn().map(|turn| turn.id);
    announce(&opened, turn.unwrap_or_default(), stage);
    opened.session.close_turn(TurnEnd::Discarded).await?;
    stage.output.talk("The incomplete turn is discarded. It stays in the journal, hidden.");
    Ok(Report::ok("closed"))
}

fn refusal(opened: &Opened) -> Fault {
    match opened.session.state().open_turn() {
        Some(turn) => Fault::Incomplete {
            conversation: opened.session.conversation().clone(),
            turn: Box::new(TurnView::from(turn)),
        },
        None => Fault::NoText,
    }
}

/// Asks a person what to do with the incomplete turn.
async fn choose_errand(
    opened: &Opened,
    stage: &mut Stage<'_>,
    text: String,
) -> Result<Errand, Fault> {
    let Fault::Incomplete { conversation, turn } = refusal(opened) else {
        return Ok(Errand::Send(text, OnIncomplete::Ask));
    };
    let editing =
        if incomplete::is_only_a_message(&turn) { Editing::Possible } else { Editing::Impossible };
    let waits = incomplete::waits_for(&turn);
    stage.output.talk(&format!("Conversation {conversation} has an incomplete turn.\n{waits}"));
    loop {
        let line = stage.ask(menu(editing)).await?;
        match choose(&line, editing) {
            Some(Choice::Resume) => return Ok(Errand::Send(text, OnIncomplete::Resume)),
            Some(Choice::Discard) => return Ok(Errand::Send(text, OnIncomplete::Discard)),
            Some(Choice::Edit) => {
                let typed = stage.ask("The new message (empty: what you have just sent): ").await?;
                let text = if typed.trim().is_empty() { text } else { typed };
                return Ok(Errand::Send(text, OnIncomplete::Discard));
            }
            Some(Choice::Quit) => return Err(Fault::LeftAlone),
            None => {}
        }
    }
}

/// Says which conversation and turn this is, and what becomes of an incomplete one.
fn begin(opened: &Opened, errand: &Errand, stage: &mut Stage<'_>) {
    let state = opened.session.state();
    announce(opened, errand.turn(state), stage);
    let Some(open) = state.open_turn() else { return };
    let waits = incomplete::waits_for(&TurnView::from(open));
    let note = match errand {
        Errand::Resume => format!("Resuming. {waits}"),
        Errand::Send(_, OnIncomplete::Resume) => {
            format!("Resuming, your message comes after that. {waits}")
        }
        Errand::Send(_, OnIncomplete::Inject) => {
            format!("Your message is added to the incomplete turn. {waits}")
        }
        Errand::Send(_, OnIncomplete::Discard) => {
            format!("Turn {} is discarded. It stays in the journal, hidden.", open.id.0)
        }
        Errand::Send(_, OnIncomplete::Ask) => return,
    };
    stage.output.talk(&note);
}

fn announce(opened: &Opened, turn: TurnId, stage: &mut Stage<'_>) {
    let conversation = opened.session.conversation();
    let life = opened.life.note();
    let model = &opened.model;
    stage
        .output
        .talk(&format!("conversation {conversation}{life}, turn {}, model {model}", turn.0));
    if models::is_demo(model) && opened.life != Life::Known {
        stage.output.talk(models::DEMO_NOTE);
    }
    if stage.form == Form::Json {
        let line = Line::conversation(conversation.as_str(), turn.0).text();
        stage.output.line(&line);
    }
}

impl Errand {
    /// The turn that it is about.
    fn turn(&self, state: &State) -> TurnId {
        match self {
            Self::Resume | Self::Send(_, OnIncomplete::Resume | OnIncomplete::Inject) => {
                state.open_turn().map_or_else(|| state.next_turn(), |turn| turn.id)
            }
            Self::Send(_, OnIncomplete::Ask | OnIncomplete::Discard) => state.next_turn(),
        }
    }

    /// Whether a turn begins, as opposed to going on.
    fn begins(&self) -> bool {
        match self {
            Self::Resume | Self::Send(_, OnIncomplete::Resume | OnIncomplete::Inject) => false,
            Self::Send(_, OnIncomplete::Ask | OnIncomplete::Discard) => true,
        }
    }

    /// The message, if there is one.
    fn message(&self) -> Option<(NewMessage, OnIncomplete)> {
        match self {
            Self::Resume => None,
            Self::Send(text, on_incomplete) => {
                Some((NewMessage::text(text.as_str()), *on_incomplete))
            }
        }
    }
}
