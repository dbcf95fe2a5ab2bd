//! What goes on when a turn is over.

use piton::commands::{Commands, Kept};
use piton_core::summary::shorten;

use super::opened::Opened;
use super::stage::Stage;

/// Longest command line that is shown, in letters.
const COMMAND_LETTERS_MAX: usize = 80;

/// Says which commands of the conversation go on, and how to look at them and stop them.
pub(super) fn tell(opened: &Opened, stage: &mut Stage<'_>) {
    let Some(commands) = opened.engine.commands() else { return };
    let is_ours = |kept: &Kept| kept.conversation == *opened.conversation.id();
    for kept in commands.all().iter().filter(|kept| is_ours(kept) && kept.state.goes_on()) {
        let line = kept.intent.command.split_whitespace().collect::<Vec<_>>().join(" ");
        let (line, name) = (shorten(&line, COMMAND_LETTERS_MAX), Commands::name(kept));
        stage.output.talk(&format!("Still running: {line}"));
        stage.output.talk(&format!(
            "hint: to see what it prints: piton logs {name}; to stop it: piton kill {name}"
        ));
    }
}
