//! Outputs of calls that are sent shortened, so that a request fits the model's window.

use super::State;
use crate::event::ShortOutput;

impl State {
    /// Outputs are sent shortened. One that would not shrink stays as it is; if none shrinks, nothing
    /// has happened.
    pub(super) fn shorten(&mut self, outputs: &[ShortOutput]) -> bool {
        let mut shrank = 0;
        for ShortOutput { call, text } in outputs {
            let turn = self.turns.iter_mut().rev().find(|turn| turn.id == call.turn);
            let Some(known) = turn.and_then(|turn| turn.call_mut(*call)) else { continue };
            if known.output_sent().is_some_and(|sent| text.len() < sent.len()) {
                known.shortened = Some(text.clone());
                shrank += 1;
            }
        }
        if let Some(turn) = self.open_turn_mut().filter(|_| 0 < shrank) {
            turn.forgive_overflow();
            turn.outputs_shortened += shrank;
        }
        0 < shrank
    }
}
