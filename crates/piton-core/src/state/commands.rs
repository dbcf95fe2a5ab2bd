//! The commands that a journal knows, and what they changed outside of turns.

use super::State;
use crate::event::{Event, Refusal};
use crate::id::CommandId;

/// What became of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was obeyed; the facts that it caused stand behind its entry.
    Taken,
    /// It was refused.
    Refused(Refusal),
}

impl State {
    /// Takes in what a command changed; says whether it fits.
    pub(super) fn obey(&mut self, event: &Event) -> bool {
        match (event, &mut self.opened) {
            (Event::QueueReleased, _) => {
                self.released = true;
                true
            }
            (Event::CommandTaken { command, .. }, _) => self.learn(command, Verdict::Taken),
            (Event::CommandRefused { command, refusal, .. }, _) => {
                self.learn(command, Verdict::Refused(refusal.clone()))
            }
            (Event::TitleGiven { title }, Some(opened)) => {
                opened.title = Some(title.clone());
                true
            }
            (Event::ConversationShelved { shelf }, Some(_)) => {
                self.shelf = *shelf;
                true
            }
            (Event::WorkspaceBound { workspace }, Some(opened)) => {
                opened.workspace.clone_from(workspace);
                true
            }
            (_, _) => false,
        }
    }

    /// The first word on a command counts.
    fn learn(&mut self, command: &CommandId, verdict: Verdict) -> bool {
        let fits = !self.commands.contains_key(command);
        let seq = self.end;
        self.commands.entry(command.clone()).or_insert((seq, verdict));
        fits
    }
}
