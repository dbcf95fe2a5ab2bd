//! A title that the model finds. After the first turn of a conversation it is asked for by a process of its
//! own, so that nobody waits for it. One that is killed leaves the first words as the title, and nothing else.

use std::os::unix::process::CommandExt as _;
use std::process::{Command as Process, Stdio};

use piton::{Command, reader};
use piton_agent::{Agent, Reader, Settings};
use piton_core::id::ConversationId;
use piton_core::view::{TurnEnd, View};

use super::send::send;
use crate::output::Output;
use crate::report::{Fault, Report};
use crate::{store, target};

/// This binary, also if another one has its name by now.
const OWN_PROGRAM: &str = "/proc/self/exe";

/// Has a title found for a conversation whose first turn is complete, if that is wanted. What goes wrong is
/// noted in the log alone.
pub(in crate::cmd) fn ask_beside(agent: &Agent, id: &ConversationId, view: &View, reader: Reader) {
    if !agent.wants_title(view, reader) {
        return;
    }
    let mut process = Process::new(OWN_PROGRAM);
    process.args(["rename", "--suggest", id.as_str()]).process_group(0);
    process.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    agent.settings().environment.give_keys(&mut process);
    match process.spawn() {
        // A chat goes on for long, and would be left with what is over.
        Ok(mut process) => drop(std::thread::spawn(move || process.wait())),
        Err(error) => tracing::warn!(%error, "nobody can be asked for a title"),
    }
}

/// Asks for a title and gives it, unless there is one.
pub(super) async fn run(
    typed: &str,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    let journal = store::open(settings, output)?;
    let id = target::by_prefix(&*journal, typed, settings).await?;
    let state = reader::state(&*journal, &id).await?;
    if state.opened.as_ref().is_some_and(|opened| opened.title.is_some()) {
        return Ok(Report::nothing("The conversation has a title, and keeps it."));
    }
    let view = View::from(&state);
    if !view.shown().any(|turn| turn.head.end == Some(TurnEnd::Completed)) {
        return Ok(Report::nothing("There is no complete turn yet that a title could be for."));
    }
    let agent = Agent::load(settings.clone())?;
    let title = match agent.suggested_title(&view).await {
        Ok(Some(title)) => title,
        Ok(None) => return Ok(failed("the model said nothing")),
        Err(error) => return Ok(failed(&error.to_string())),
    };
    send(journal, &id, Command::SuggestTitle { title: title.clone() }, settings).await?;
    output.talk(&format!("Suggested as a title of conversation {id}: {title}"));
    Ok(Report::ok("done").kept_in(id))
}

fn failed(why: &str) -> Report {
    tracing::warn!(why, "no title was found");
    Report::broken(&format!("error: no title was found: {why}"))
}
