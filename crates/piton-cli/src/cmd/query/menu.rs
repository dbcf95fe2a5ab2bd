//! What a person chooses about a turn that is incomplete, or about messages that wait.
//!
//! Nothing is held meanwhile. A choice counts for what was shown: if the conversation has moved since,
//! the person is asked again.

use piton::{ForkAt, OnIncomplete};
use piton_core::id::{ConversationId, Seq};
use piton_core::view::View;

use super::errand::Errand;
use super::mail::Mail;
use super::opened::Opened;
use super::stage::Stage;
use super::waiting;
use crate::ask::held::WaitingChoice;
use crate::ask::{Choice, Editing, choose, turn_menu};
use crate::render::incomplete::{self, Newest};
use crate::report::Fault;

/// What a person has to choose about.
#[derive(Debug)]
pub(super) struct Menu {
    conversation: ConversationId,
    view: View,
}

/// What a person chose.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chosen {
    pub(super) errand: Errand,
    /// Whether the messages that wait are taken back first.
    pub(super) drop_waiting: bool,
    /// The last entry that the person saw something of.
    pub(super) seen: Seq,
}

/// Where a query goes on behind a menu.
#[derive(Debug)]
pub(super) enum Decided {
    /// In the conversation.
    Here(Chosen),
    /// In a fork of it, in front of the incomplete turn.
    InFork { id: ConversationId, at: ForkAt },
}

/// What is wanted of an incomplete turn.
enum Wanted {
    Errand(Errand),
    Fork,
}

impl Menu {
    pub(super) fn of(opened: &Opened) -> Self {
        Self { conversation: opened.conversation.id().clone(), view: opened.view.clone() }
    }

    /// Asks the person.
    pub(super) async fn choose(
        &self,
        mail: &mut Mail,
        stage: &mut Stage<'_>,
    ) -> Result<Decided, Fault> {
        let Self { conversation, view } = self;
        let errand = match view.head.open.and_then(|_| Newest::of(view)) {
            Some(turn) => match about_turn(self, &turn, mail, stage).await? {
                Wanted::Errand(errand) => errand,
                Wanted::Fork => {
                    let at = ForkAt::BeforeTurn(turn.turn().head.id);
                    return Ok(Decided::InFork { id: conversation.clone(), at });
                }
            },
            None => Errand::Send(OnIncomplete::Ask),
        };
        // Behind a turn that goes on, they have their turns as they were queued.
        let would_go = errand.begins() && !view.queue.is_empty();
        let drop_waiting = would_go
            && match waiting::choose(conversation, &view.queue, stage).await? {
                WaitingChoice::First => false,
                WaitingChoice::Drop => true,
                WaitingChoice::Keep => return Err(Fault::LeftAlone),
            };
        Ok(Decided::Here(Chosen { errand, drop_waiting, seen: view.cursor }))
    }
}

/// Asks what to do with the incomplete turn.
async fn about_turn(
    Menu { conversation, view }: &Menu,
    turn: &Newest,
    mail: &mut Mail,
    stage: &mut Stage<'_>,
) -> Result<Wanted, Fault> {
    let editing =
        if incomplete::is_only_a_message(turn) { Editing::Possible } else { Editing::Impossible };
    let waits = incomplete::waits_for(turn);
    stage.output.talk(&format!("Conversation {conversation} has an incomplete turn.\n{waits}"));
    waiting::tell(&view.queue, stage);
    let errand = match choose(stage.choose(&turn_menu(editing)).await?) {
        Choice::Resume => Errand::Send(OnIncomplete::Resume),
        Choice::Retry => Errand::Retry,
        Choice::Discard => Errand::Send(OnIncomplete::Discard),
        Choice::Edit => {
            let typed = stage.ask("The new message (empty: what you have just sent): ").await?;
            if !typed.trim().is_empty() {
                mail.write(typed);
            }
            Errand::Send(OnIncomplete::Discard)
        }
        Choice::Fork => return Ok(Wanted::Fork),
        Choice::Quit => return Err(Fault::LeftAlone),
    };
    Ok(Wanted::Errand(errand))
}
