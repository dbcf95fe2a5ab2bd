//! Changes of files that a person takes back: recorded before the file is touched, and settled by the
//! next driver if this driver dies in between.

use piton_core::command::{Command, Refusal};
use piton_core::event::{Event, UndoIntent, UndoOutcome};
use piton_tools::undo::{Undo, UndoDone, UndoSettled};

use super::Session;
use crate::error::SessionError;

impl Session {
    /// Looks at the file that a command is about, and puts into the command what it means for it.
    pub(super) fn look_at_change(&self, command: &mut Command) -> Result<(), Refusal> {
        let Command::Undo { change, intent } = command else { return Ok(()) };
        let impossible = |message: String| Refusal::Impossible { message };
        let found = Undo::new(&self.parts.scratch).intend(change);
        let found = found.map_err(|refusal| impossible(refusal.0))?;
        // A worker's conversation is over when its parent hears of it: the parent tells the model.
        let (made_by, here) = (&found.conversation, self.conversation());
        if made_by != here && made_by.root() != *here {
            let other = &found.conversation;
            return Err(impossible(format!("it is a change of conversation {other}")));
        }
        *intent = Some(Box::new(found));
        Ok(())
    }

    /// Ends every undo that was meant and has no outcome: an undo that was just recorded, or an undo
    /// whose driver died. Digests tell whether it was done, so it is done once.
    pub(crate) async fn settle_undos(&mut self) -> Result<(), SessionError> {
        let open: Vec<UndoIntent> = self.state().unsettled_undos().cloned().collect();
        for intent in open {
            let (undo, change) = (Undo::new(&self.parts.scratch), intent.change.clone());
            let ended = tokio::task::spawn_blocking(move || carry_out(&undo, &intent)).await;
            // A crash in there leaves the undo open for the next driver.
            let Ok((outcome, text)) = ended else { continue };
            self.start();
            self.log.push(Event::UndoFinished { change, outcome, text });
            self.log.commit().await?;
        }
        Ok(())
    }
}

fn carry_out(undo: &Undo, intent: &UndoIntent) -> (UndoOutcome, String) {
    if undo.settle(intent) == UndoSettled::Done {
        return (UndoOutcome::Done, String::new());
    }
    match undo.perform(intent) {
        Ok(UndoDone::Now(text)) => (UndoOutcome::Done, text),
        Ok(UndoDone::Earlier) => (UndoOutcome::Done, String::new()),
        Err(refusal) => (UndoOutcome::Left, refusal.0),
    }
}
