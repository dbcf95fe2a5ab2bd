//! `piton rename`: another title for a conversation, also for one that another process works on.

mod send;
mod suggest;

use piton::{Accepted, Command};
use piton_agent::Settings;

use self::send::send;
pub(super) use self::suggest::ask_beside;

use crate::flags::Rename;
use crate::output::Output;
use crate::report::{Fault, Report};
use crate::{store, target};

/// Most characters of a title.
const TITLE_CHARS_MAX: usize = 200;

/// Gives the title.
pub(crate) async fn run(
    rename: &Rename,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    if rename.suggest {
        return suggest::run(&rename.id, settings, output).await;
    }
    // One line, whatever was typed.
    let words: Vec<_> = rename.title.iter().flat_map(|part| part.split_whitespace()).collect();
    let title: String = words.join(" ").chars().take(TITLE_CHARS_MAX).collect();
    if title.is_empty() {
        return Ok(Report::misuse("error: the title is empty"));
    }
    let journal = store::open(settings, output)?;
    let id = target::to_change(&*journal, &rename.id, settings).await?;
    let sent = send(journal, &id, Command::Rename { title: title.clone() }, settings).await?;
    let told = match sent {
        Accepted::Entry(_) => format!("Conversation {id} is now called: {title}"),
        Accepted::Letter { .. } | _ => {
            format!("The process that works on conversation {id} was told to call it: {title}")
        }
    };
    output.talk(&told);
    Ok(Report::ok("done").about(&id, None).kept_in(id))
}
