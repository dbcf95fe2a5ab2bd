//! What is said when a turn begins or goes on.

use piton::OnIncomplete;
use piton_agent::{is_demo, typed};
use piton_core::id::TurnId;
use piton_core::view::{PermissionMode, View};

use super::again;
use super::asked::Asked;
use super::errand::Errand;
use super::opened::{Life, Opened};
use super::stage::Stage;
use super::waiting;
use crate::flags::Mode;
use crate::output::Form;
use crate::render::incomplete::{self, Newest};
use crate::render::lines::Line;

/// What is said in front of an answer of the demo model.
const DEMO_NOTE: &str =
    "The demo model answers: no key, no network, no language model. Choose another with --model.";

/// Says which conversation and turn this is, and what becomes of an incomplete one. `shown` is what
/// was there before, and what the changes that follow begin with, where they go out as data.
pub(super) fn begin(
    opened: &Opened,
    shown: &View,
    errand: Errand,
    asked: &Asked<'_>,
    stage: &mut Stage<'_>,
) {
    announce(opened, Some(shown), errand.turn(shown), stage);
    if errand.begins() && asked.query.turn.permissions.is_none() {
        match opened.life {
            // In a chat it was said before.
            Life::Known if stage.beside.is_some() => {}
            Life::Known => tell_of_mode(shown.head.mode, "as in the turn before", stage),
            Life::New | Life::Passing => {
                tell_of_mode(asked.agent.default_mode(), "as the settings say", stage);
            }
        }
    }
    if let Errand::Retry = errand {
        again::tell(shown, asked, stage);
        return;
    }
    let Some(open) = shown.open_turn() else {
        if let Some(note) = waiting::note(shown.queue.len(), errand) {
            stage.output.talk(&note);
        }
        return;
    };
    let newest = Newest::of(shown);
    let waits = newest.as_ref().map(incomplete::waits_for).unwrap_or_default();
    let note = match errand {
        Errand::Resume => format!("Resuming. {waits}"),
        Errand::Send(OnIncomplete::Resume) => {
            format!("Resuming, your message comes after that. {waits}")
        }
        Errand::Send(OnIncomplete::Inject) => {
            let left = newest.as_ref().and_then(incomplete::left_open).unwrap_or(waits);
            format!("The message is added to the incomplete turn. {left}")
        }
        Errand::Send(OnIncomplete::Discard) => {
            format!("Turn {} is discarded. It stays in the journal, hidden.", open.head.id.0)
        }
        Errand::Send(OnIncomplete::Ask) | Errand::Release | Errand::Retry => return,
    };
    stage.output.talk(&note);
    if let Errand::Send(OnIncomplete::Discard) = errand
        && let Some(note) = waiting::note(shown.queue.len(), errand)
    {
        stage.output.talk(&note);
    }
}

/// Says which mode counts although nobody has just typed it: a person who forgot it would be surprised by
/// what runs.
fn tell_of_mode(mode: PermissionMode, why: &str, stage: &mut Stage<'_>) {
    if mode == PermissionMode::Ask {
        return;
    }
    let mode = Mode::from(mode).typed();
    let hint = "to be asked again: --permissions ask";
    stage.output.talk(&format!("permissions {mode}, {why}; {hint}"));
}

/// Says which conversation, turn and model this is; as data too, if that is wanted.
pub(super) fn announce(opened: &Opened, shown: Option<&View>, turn: TurnId, stage: &mut Stage<'_>) {
    let conversation = opened.conversation.id();
    let life = opened.life.note();
    let model = typed(&opened.model);
    // In a chat it is said once.
    if stage.beside.is_none() || opened.life != Life::Known {
        let said = format!("conversation {conversation}{life}, turn {}, model {model}", turn.0);
        stage.output.talk(&said);
    }
    if opened.life != Life::Known {
        if is_demo(&opened.model) {
            stage.output.talk(DEMO_NOTE);
        } else if let Some(variable) = &opened.chosen_by {
            stage.output.talk(&format!(
                "{model} answers because {variable} is set and no model is chosen; to choose: --model MODEL, or \
                 model = \"MODEL\" in the settings; piton models lists them"
            ));
        }
    }
    if let Some(view) = shown.filter(|_| stage.form == Form::Json) {
        stage.output.json(&Line::view_of_turn(conversation.as_str(), turn, view.clone()));
    }
}
