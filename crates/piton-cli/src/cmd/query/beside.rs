//! What a person does beside a turn, in a chat: lines are queued or steer, and side questions are answered.
//!
//! What would change the conversation under the turn says that it has to wait.

use std::future::pending;
use std::ops::ControlFlow;
use std::time::Duration;

use piton::{Command, NewMessage, Refusal};
use piton_agent::{Settings, custom_commands, near};
use piton_core::summary::shorten;

use super::asked::Asked;
use super::input::Input;
use super::mail::Mail;
use super::opened::Opened;
use super::requeue::{change, no_message, place_behind, rows, which};
use super::side::Question;
use super::stage::{Beside, Stage};
use super::text::sendable;
use super::typed::{Now, Runs, understand};
use super::watch::Watch;
use crate::flags::{Query, QueueWish};
use crate::render::tokens;
use crate::report::{Fault, InputFault, LetterFault, Report};
use crate::signals::Push;
use crate::slash::{self, Meaning, Slash};
use crate::terminal::{Terminal, Typed};
use crate::typing::Pressed;

/// How long a change of a message that waits may take: the turn of this process takes it at once.
const CHANGE_WAIT: Duration = Duration::from_secs(10);
/// Longest text of a message that is shown again, in letters.
const SHOWN_LETTERS_MAX: usize = 60;

/// Waits for the answer to a side question.
pub(in crate::cmd) async fn answered(beside: &mut Option<Beside>) -> Result<String, String> {
    let Some(beside) = beside else { return pending().await };
    match beside.asked.join_next().await {
        Some(answer) => answer.unwrap_or_else(|error| Err(error.to_string())),
        None => pending().await,
    }
}

/// Shows the answer to a side question.
pub(in crate::cmd) fn show_answer(answer: Result<String, String>, stage: &mut Stage<'_>) {
    match answer {
        Ok(answer) => {
            stage.output.talk("by the way:");
            stage.output.answer(&answer);
            stage.output.end_line();
        }
        Err(why) => stage.output.talk(&why),
    }
}

/// Says what is known of a name that no command has.
pub(in crate::cmd) fn tell_unknown(name: &str, settings: &Settings, stage: &mut Stage<'_>) {
    if let Some(fault) = custom_commands::of_repository(settings, name) {
        Report::from(&Fault::from(InputFault::Custom(fault))).tell(stage.output);
        return;
    }
    let customs = custom_commands::all(settings);
    let known: Vec<String> = slash::names().map(str::to_owned).chain(customs.into_keys()).collect();
    let near = near(name, known.iter().map(String::as_str)).into_iter().next();
    let meant = near.map_or_else(|| ".".into(), |near| format!("; did you mean /{near}?"));
    stage.output.talk(&format!("There is no command /{name}{meant}"));
    stage
        .output
        .talk("hint: /help lists the commands. To send it as a message, begin with a blank.");
}

/// Takes in what was typed while the turn runs and nothing is asked.
pub(super) async fn take_in(
    typed: Typed,
    (opened, asked): (&Opened, &Asked<'_>),
    watch: &mut Watch,
    stage: &mut Stage<'_>,
) -> Result<ControlFlow<()>, Fault> {
    let keys = match typed {
        Typed::Key(keys) => keys,
        // A terminal without single keys.
        Typed::Line(line) => format!("{line}\n").into_bytes(),
        Typed::Nothing => {
            return Ok(watch.interrupt(Push::HangUp, &mut stage.terminal, stage.output));
        }
    };
    let Some(beside) = &mut stage.beside else { return Ok(ControlFlow::Continue(())) };
    let pressed = beside.typing.take(&keys);
    stage.output.tell_typed(&beside.typing.text());
    for pressed in pressed {
        match pressed {
            Pressed::Escape => {
                let next = watch.interrupt(Push::Interrupt, &mut stage.terminal, stage.output);
                if next.is_break() {
                    return Ok(next);
                }
            }
            Pressed::Line(line) if is_quit(&line) => {
                if let Some(beside) = &mut stage.beside {
                    beside.leaves = true;
                }
                // Ctrl-C may mean a summary alone; this means the turn.
                let next = watch.interrupt(Push::Terminate, &mut stage.terminal, stage.output);
                if next.is_break() {
                    return Ok(next);
                }
            }
            Pressed::Line(line) => {
                let done = obey(&line, (opened, asked), watch, stage).await;
                // What cannot be said now does not disturb the turn.
                if let Err(fault) = done {
                    Report::from(&fault).tell(stage.output);
                }
            }
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// Takes in what was typed while a summary is made that a person asked for. Says whether that is to be stopped:
/// by the escape key, or because the chat is left. A line waits for the prompt.
pub(in crate::cmd) fn stops_summary(typed: Typed, stage: &mut Stage<'_>) -> bool {
    let Some(beside) = &mut stage.beside else { return false };
    let keys = match typed {
        Typed::Key(keys) => keys,
        Typed::Line(line) => format!("{line}\n").into_bytes(),
        Typed::Nothing => {
            beside.leaves = true;
            return true;
        }
    };
    let mut stops = false;
    for pressed in beside.typing.take(&keys) {
        match pressed {
            Pressed::Escape => stops = true,
            Pressed::Line(line) if is_quit(&line) => (stops, beside.leaves) = (true, true),
            Pressed::Line(line) => {
                let said = "That has to wait until the summary is there; Ctrl-C stops it.";
                stage.output.talk(said);
                // It can be sent then with one key.
                beside.typing.take(line.as_bytes());
            }
        }
    }
    stage.output.tell_typed(&beside.typing.text());
    stops
}

/// Waits for what is typed next; for ever, where no terminal is.
pub(in crate::cmd) async fn typed(terminal: &mut Option<Terminal>) -> Typed {
    match terminal {
        Some(terminal) => terminal.typed().await,
        None => pending().await,
    }
}

/// Whether a line leaves the chat: the turn is stopped and kept.
fn is_quit(line: &str) -> bool {
    matches!(slash::meaning(line, |_| false), Meaning::Command(Slash { name: "quit", .. }))
}

// K58, K60
async fn obey(
    line: &str,
    (opened, asked): (&Opened, &Asked<'_>),
    watch: &Watch,
    stage: &mut Stage<'_>,
) -> Result<(), Fault> {
    let customs = custom_commands::all(asked.settings);
    let Slash { name, words } = match slash::meaning(line, |name| customs.contains_key(name)) {
        Meaning::Message(text) if is_answer(&text) => {
            let said = "Not sent: that looks like the answer to a question, and none is open.";
            stage.output.talk(said);
            return Ok(());
        }
        Meaning::Message(text) => return queue(text, (opened, asked), stage).await,
        Meaning::Command(command) if command.is_possible_while_busy() => command,
        Meaning::Command(Slash { name, .. }) => {
            stage
                .output
                .talk(&format!("/{name} has to wait until the turn is over; Ctrl-C stops it"));
            return Ok(());
        }
        Meaning::Shell(_) => {
            stage.output.talk("a command of yours has to wait until the turn is over");
            return Ok(());
        }
        Meaning::Unknown(name) => {
            tell_unknown(&name, asked.settings, stage);
            return Ok(());
        }
    };
    match (name, words) {
        ("queue", words) => of_queue(words, (opened, asked), watch, stage).await?,
        ("steer", words) => {
            let shown = shorten(&words, SHOWN_LETTERS_MAX);
            say(words, |message| Command::Steer { message }, (opened, asked), stage).await?;
            stage.output.talk(&format!("goes into the turn: {shown}"));
        }
        ("btw", words) => {
            let question = Question {
                text: words,
                agent: asked.agent.clone(),
                overrides: asked.overrides.clone(),
                journal: opened.engine.journal().clone(),
                about: Some(opened.conversation.id().clone()),
                model: opened.model.clone(),
            };
            if let Some(beside) = &mut stage.beside {
                beside.asked.spawn(question.answer());
            }
            stage.output.talk("asked on the side");
        }
        ("help", _) => stage.output.talk(&slash::help()),
        ("tokens", _) => stage.output.talk(&tokens::told(watch.view()).join("\n")),
        (_, _) => {}
    }
    Ok(())
}

/// Shows what waits, changes it, or adds a message.
async fn of_queue(
    words: String,
    (opened, asked): (&Opened, &Asked<'_>),
    watch: &Watch,
    stage: &mut Stage<'_>,
) -> Result<(), Fault> {
    if words.is_empty() || words == "list" {
        let waiting = rows(watch.view()).join("\n");
        let is_empty = watch.view().queue.is_empty();
        stage.output.talk(if is_empty { "No message waits." } else { &waiting });
    } else if words == "drop" {
        for queued in watch.view().queue.clone() {
            let (message, failed) = (queued.id, "a message was not taken back");
            send(Command::Unqueue { message }, opened, asked, failed).await?;
        }
        stage.output.talk("The messages that waited are taken back.");
    } else if QueueWish::of(&words).is_some() {
        requeue(&words, (opened, asked), stage).await?;
    } else if let Some(instead) = QueueWish::mistaken(&words) {
        stage.output.talk(&no_message(instead));
    } else if let Some(usage) = QueueWish::lacking(&words) {
        stage.output.talk(&which(usage, watch.view()));
    } else {
        queue(words, (opened, asked), stage).await?;
    }
    Ok(())
}

/// Changes a message that waits.
async fn requeue(
    words: &str,
    (opened, asked): (&Opened, &Asked<'_>),
    stage: &mut Stage<'_>,
) -> Result<(), Fault> {
    let Some(wish) = QueueWish::of(words) else { return Ok(()) };
    if matches!(&wish, QueueWish::Edit { text, .. } if text.is_empty()) {
        let said = "An editor has to wait until the turn is over; /queue edit N TEXT does not.";
        stage.output.talk(said);
        return Ok(());
    }
    let parts = (&opened.engine, CHANGE_WAIT);
    let told = change(wish, &opened.conversation, parts, asked.settings, stage.output).await?;
    stage.output.talk(&told);
    Ok(())
}

/// Queues a message behind the turn.
async fn queue(
    text: String,
    (opened, asked): (&Opened, &Asked<'_>),
    stage: &mut Stage<'_>,
) -> Result<(), Fault> {
    let shown = shorten(&text, SHOWN_LETTERS_MAX);
    match say(text, |message| Command::Queue { message }, (opened, asked), stage).await {
        Err(Fault::Letter(LetterFault::Refused {
            refusal: Refusal::QueueFull { max }, ..
        })) => {
            let said = format!("Queue is full: {max} messages wait; /queue shows them");
            stage.output.talk(&said);
            stage.output.talk("hint: your message is kept; to send it: piton query --draft");
        }
        done => {
            done?;
            let listed = opened.engine.journal().status(opened.conversation.id()).await?;
            let waiting = listed.map_or(0, |listed| listed.row.waiting);
            let place = match place_behind(waiting.saturating_sub(1) as usize) {
                place if place.is_empty() => place,
                place => format!(" ({place})"),
            };
            stage.output.talk(&format!("queued: {shown}{place}"));
        }
    }
    Ok(())
}

/// Sends a message with the files that it mentions. It is kept as a draft until it is durable.
async fn say(
    text: String,
    command: impl FnOnce(NewMessage) -> Command,
    (opened, asked): (&Opened, &Asked<'_>),
    stage: &mut Stage<'_>,
) -> Result<(), Fault> {
    let mut input = Input { text: Some(sendable(text)?), ..Input::default() };
    let confining = Some((&*asked.agent, &asked.overrides));
    let runs = Runs { settings: asked.settings, confining, now: Now::Busy };
    let brought = understand(&mut input, runs, stage).await?;
    let query = Query { files: brought.files, ..Query::default() };
    let mut mail = Mail::new(input, &query, asked.settings)?;
    mail.read_files(stage).await?;
    let message = mail.leave(opened).await?;
    send(command(message), opened, asked, "the message was not taken").await?;
    mail.arrived();
    Ok(())
}

/// Whether a line was meant for a question that had gone, or had not come yet.
pub(in crate::cmd) fn is_answer(text: &str) -> bool {
    let text = text.trim().to_lowercase();
    text.chars().count() == 1 || ["yes", "no", "always", "never"].contains(&text.as_str())
}

async fn send(
    command: Command,
    opened: &Opened,
    asked: &Asked<'_>,
    what: &'static str,
) -> Result<(), Fault> {
    // Flags count when a turn begins, and this one has begun with them.
    let mut envelope = asked.envelope(command)?;
    envelope.from.flags = None;
    let started = opened.conversation.start(envelope).await;
    started.map_err(|error| opened.fault(error, what))?;
    Ok(())
}
