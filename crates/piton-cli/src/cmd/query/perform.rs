//! Sees a turn through: shows it, asks a person where one is needed, and stops when told to.

use std::future::ready;
use std::pin::pin;
use std::time::{Duration, Instant};

use anstyle::Style as Look;
use piton::{Command, CommandError, FollowError, News, OnIncomplete, Rested, Work};
use piton_agent::{Reader, typed as named};
use piton_core::coordinate::COORDINATOR;
use piton_core::summary::shorten;
use piton_core::view::{ItemView, MessagePart, TurnEnd, View};

use super::again;
use super::approve;
use super::asked::Asked;
use super::begin::begin;
use super::beside;
use super::editor;
use super::errand::Errand;
use super::face::Face;
use super::feed::{Feed, Told};
use super::heartbeat::Heartbeat;
use super::interrupt::{Chosen, RESTART_TEXT};
use super::link::Link;
use super::mail::Mail;
use super::notes;
use super::opened::{Life, Opened};
use super::schema::{self, AGAIN_MAX};
use super::stage::Stage;
use super::still_running;
use super::waiting;
use super::watch::{Rules, Watch, answered};
use crate::ask::Content;
use crate::cmd::rename::ask_beside;
use crate::output::{Form, Output};
use crate::render::answer::Pace;
use crate::render::incomplete::Newest;
use crate::render::paint::{Painted, Span};
use crate::render::status::status;
use crate::render::wrap::wrap;
use crate::report::{Fault, InputFault, Remedies, Report};

/// How often it is shown what is waited for.
const SPIN_EVERY: Duration = Duration::from_millis(120);

/// Longest command line that is shown, in letters.
const COMMAND_LETTERS_MAX: usize = 80;

/// Performs the errand, then what a person chose in the meantime, and reports how the turn was
/// left.
pub(super) async fn perform(
    opened: &mut Opened,
    mut errand: Errand,
    asked: &mut Asked<'_>,
    mail: &mut Mail,
    stage: &mut Stage<'_>,
) -> Result<Report, Fault> {
    let mut again = 0;
    let work = approve::mode_of_work(&opened.view);
    loop {
        let seen = see_through(opened, errand, asked, mail, stage).await;
        if let Some(terminal) = &mut stage.terminal {
            terminal.want_lines();
        }
        let mut seen = seen?;
        let chosen = seen.watch.stopped(&mut stage.terminal);
        seen.catch_up(stage).await?;
        opened.view = seen.watch.view().clone();
        seen.tell_status(opened, stage);
        if opened.life != Life::Passing {
            let reader = if stage.terminal.is_some() { Reader::Person } else { Reader::Nobody };
            ask_beside(&asked.agent, opened.conversation.id(), &opened.view, reader);
        }
        if let Some(chosen) = chosen {
            match follow(chosen, opened, asked, mail, stage).await? {
                Followed::Errand(next) => {
                    errand = next;
                    continue;
                }
                Followed::Closed => {
                    opened.look().await?;
                    let (id, view) = (opened.conversation.id(), &opened.view);
                    return Ok(Report::ok("closed").about(id, view.turns.last()));
                }
                Followed::Nothing => {}
            }
        }
        let report = seen.end(opened, asked)?;
        if approve::has_plan(&opened.view) {
            match approve::approve(opened, work, asked, mail, stage).await {
                Some(next) => errand = next,
                None => return Ok(approve::tell_how(report, opened, work)),
            }
            continue;
        }
        match matched(report, again, asked, stage)? {
            Matched::Yes(report) => return Ok(report),
            Matched::No(message) => {
                again += 1;
                mail.write_next(message);
                errand = Errand::Send(OnIncomplete::Ask);
            }
        }
    }
}

/// Whether an answer matches its schema.
enum Matched {
    /// It does, or none is wanted.
    Yes(Report),
    /// It is asked for again, with this message.
    No(String),
}

/// Holds the answer against its schema, and shows it where it matches.
fn matched(
    report: Report,
    again: u32,
    asked: &Asked<'_>,
    stage: &mut Stage<'_>,
) -> Result<Matched, Fault> {
    let Some((schema, answer)) = asked.schema.as_ref().zip(report.final_answer()) else {
        return Ok(Matched::Yes(report));
    };
    match schema.check(answer) {
        Ok(json) => {
            if stage.form == Form::Text {
                stage.output.json_text(&json);
            }
            Ok(Matched::Yes(report.with_answer(json)))
        }
        Err(why) if AGAIN_MAX <= again => Err(InputFault::NoMatch { why }.into()),
        Err(why) => {
            stage.output.talk(&format!("The answer does not match its schema: {why}"));
            Ok(Matched::No(schema::again(&why)))
        }
    }
}

/// What follows from a choice.
enum Followed {
    /// The turn goes on with another message.
    Errand(Errand),
    /// The turn is closed.
    Closed,
    /// It is left as it is.
    Nothing,
}

/// Does what was chosen from the menu, now that nothing runs.
async fn follow(
    chosen: Chosen,
    opened: &mut Opened,
    asked: &Asked<'_>,
    mail: &mut Mail,
    stage: &mut Stage<'_>,
) -> Result<Followed, Fault> {
    let text = match chosen {
        // Without a reply after all the turn is left to be resumed.
        Chosen::Reply => stage.ask("your reply: ").await.unwrap_or_default(),
        Chosen::Restart => RESTART_TEXT.to_owned(),
        Chosen::Stop => return close(opened, TurnEnd::Stopped, asked, stage).await,
        Chosen::Abort => return close(opened, TurnEnd::Discarded, asked, stage).await,
        Chosen::Exit | Chosen::Continue => return Ok(Followed::Nothing),
    };
    if text.trim().is_empty() {
        return Ok(Followed::Nothing);
    }
    mail.write_next(text);
    Ok(Followed::Errand(Errand::Send(OnIncomplete::Inject)))
}

async fn close(
    opened: &Opened,
    end: TurnEnd,
    asked: &Asked<'_>,
    stage: &mut Stage<'_>,
) -> Result<Followed, Fault> {
    if opened.view.head.open.is_none() {
        // It was faster than the person.
        return Ok(Followed::Nothing);
    }
    end_turn(opened, end, asked, stage).await?;
    stage.output.talk(match end {
        TurnEnd::Discarded => "The turn is discarded. It stays in the journal, hidden.",
        TurnEnd::Stopped | TurnEnd::Completed => "The turn is closed with what is there.",
    });
    Ok(Followed::Closed)
}

/// Closes the open turn, and says what was stopped with it.
pub(super) async fn end_turn(
    opened: &Opened,
    end: TurnEnd,
    asked: &Asked<'_>,
    stage: &mut Stage<'_>,
) -> Result<(), Fault> {
    let command = match end {
        TurnEnd::Discarded => Command::Discard,
        TurnEnd::Stopped | TurnEnd::Completed => Command::Stop,
    };
    let envelope = asked.envelope(command)?;
    let closing = async {
        let work = opened.conversation.start(envelope).await;
        let work = work.map_err(|error| opened.fault(error, "the turn stays as it is"))?;
        Ok::<Rested, Fault>(work.rest().await?)
    };
    let Rested { stopped, .. } = tokio::select! {
        biased;
        _ = stage.signals.next() => return Err(Fault::Interrupted),
        rested = closing => rested?,
    };
    say_stopped(&stopped, stage);
    Ok(())
}

/// A turn that was shown until nothing ran any more.
struct Seen {
    watch: Watch,
    feed: Feed,
    /// Nothing, if we left at once.
    ending: Option<Result<Rested, CommandError>>,
    begun: Instant,
}

impl Seen {
    /// Shows everything that the journal has.
    async fn catch_up(&mut self, stage: &mut Stage<'_>) -> Result<(), Fault> {
        self.watch.show_backlog(stage.output);
        follow_workers(&mut self.watch, &mut self.feed)?;
        while let Some(told) = self.feed.next_entry().await? {
            show(&mut self.watch, &mut self.feed, told, stage)?;
        }
        self.watch.end(stage.output);
        if let Some(Ok(Rested { stopped, .. })) = &self.ending {
            say_stopped(stopped, stage);
        }
        Ok(())
    }

    /// Says what still runs, and to a person who watches what the turn took.
    fn tell_status(&self, opened: &Opened, stage: &mut Stage<'_>) {
        still_running::tell(opened, stage);
        notes::tell(&opened.tools, &opened.profiles, stage.output);
        if self.ending.is_some() {
            stage.output.call_back("the turn is over");
        }
        let (Some(page), Form::Text) = (stage.output.talk_page(), stage.form) else { return };
        let turn = opened.view.turns.last().filter(|turn| turn.head.end.is_some());
        if let (Some(Ok(_)), Some(turn)) = (&self.ending, turn) {
            let ms = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
            let line = status(&opened.view, turn, &named(&opened.model), ms);
            let line = vec![Span::new(&line, Look::new().dimmed())];
            let lines = wrap(&line, page.columns);
            stage.output.talk_painted(&Painted::lines(&lines, page.style));
        }
    }

    /// Says how the turn was left.
    fn end(self, opened: &Opened, asked: &Asked<'_>) -> Result<Report, Fault> {
        let conversation = opened.conversation.id().clone();
        let Some(rested) = self.ending else {
            let is_kept = opened.life != Life::Passing && opened.view.head.open.is_some();
            return Err(Fault::LeftAtOnce { kept: is_kept.then_some(conversation) });
        };
        let Rested { ending, .. } = rested?;
        let turn = Newest::of(&opened.view);
        let remedies = Remedies::of(&asked.agent, &opened.model).within(opened.view.head.allowance);
        let report = Report::of_turn(&ending, &conversation, turn.as_ref(), &remedies)
            .about(&conversation, opened.view.turns.last())
            .with_all_of(&opened.view);
        Ok(if opened.life == Life::Passing { report } else { report.kept_in(conversation) })
    }
}

/// Shows news, and follows workers that they tell of.
fn show(
    watch: &mut Watch,
    feed: &mut Feed,
    told: Told,
    stage: &mut Stage<'_>,
) -> Result<(), FollowError> {
    watch.take(told, &mut stage.terminal, stage.output);
    follow_workers(watch, feed)
}

/// Follows the workers that have begun, as far as that was shown.
fn follow_workers(watch: &mut Watch, feed: &mut Feed) -> Result<(), FollowError> {
    for worker in watch.workers_begun() {
        feed.join_new(&worker)?;
    }
    Ok(())
}

/// Sends what the errand says. It is durable when this returns.
async fn start(
    opened: &Opened,
    errand: Errand,
    asked: &Asked<'_>,
    mail: &mut Mail,
    stage: &mut Stage<'_>,
) -> Result<Work, Fault> {
    let command = match errand {
        Errand::Send(on_incomplete) => {
            let message = mail.leave(opened).await?;
            let agent = asked.overrides.coordinate.then(|| COORDINATOR.to_owned());
            Command::Say { message, on_incomplete, agent }
        }
        Errand::Resume | Errand::Release => Command::Resume,
        Errand::Retry => {
            if mail.has_content() {
                // It goes behind the turn that is tried again.
                waiting::queue(opened, asked, mail).await?;
            }
            Command::Retry { message: again::meant(&opened.view, asked) }
        }
    };
    let what = match errand {
        Errand::Retry => "the message is not tried again",
        Errand::Send(_) | Errand::Resume | Errand::Release => "the message was not taken",
    };
    let envelope = asked.envelope(command)?;
    let command = envelope.id.clone();
    let started = tokio::select! {
        biased;
        _ = stage.signals.next() => None,
        started = opened.conversation.start(envelope) => Some(started),
    };
    notes::tell(&opened.tools, &opened.profiles, stage.output);
    match started {
        Some(Ok(work)) => {
            mail.arrived();
            Ok(work)
        }
        Some(Err(error)) => {
            if matches!(error, CommandError::Refused(_)) {
                mail.come_back();
            }
            Err(opened.fault(error, what))
        }
        None => {
            // Nothing runs any more, so the journal says whether it was taken.
            opened.engine.shutdown(Duration::ZERO).await;
            if opened.verdict(&command).await?.is_none() {
                mail.come_back();
            }
            Err(Fault::Interrupted)
        }
    }
}

/// What watches a turn for a person.
fn watch_of(
    view: &View,
    errand: Errand,
    opened: &Opened,
    asked: &Asked<'_>,
    stage: &Stage<'_>,
) -> Watch {
    let pace = if stage.output.is_watched() { Pace::Streamed } else { Pace::Whole };
    let face = Face::new(view.clone(), stage.form, pace, errand.turn(view));
    let rules = Rules { file: asked.settings.file.clone(), batch: asked.agent.asks_in_batches() };
    let id = opened.conversation.id().clone();
    let (engine, conversation) = (opened.engine.clone(), opened.conversation.clone());
    let mut watch = Watch::new(face, Link::Own { engine, conversation }, id, rules);
    if stage.beside.is_some() {
        watch.without_menu();
    }
    watch
}

/// Shows the turn until nothing of it runs any more.
async fn see_through(
    opened: &mut Opened,
    errand: Errand,
    asked: &Asked<'_>,
    mail: &mut Mail,
    stage: &mut Stage<'_>,
) -> Result<Seen, Fault> {
    let mut feed = Feed::new(opened.engine.clone(), &opened.conversation).await?;
    let view = match feed.next().await? {
        (None, News::Snapshot(view)) => *view,
        _ => opened.view.clone(),
    };
    let mut watch = watch_of(&view, errand, opened, asked, stage);
    for worker in watch.workers() {
        feed.join(&worker).await?;
    }
    opened.attend(stage.terminal.is_some());
    // What is refused leaves no conversation behind, so none is announced.
    let work = start(opened, errand, asked, mail, stage).await?;
    watch.know(mail.sent().cloned());
    begin(opened, &view, errand, asked, stage);
    tell_of_files(opened, stage.output);
    let begun = Instant::now();
    stage.output.begin_waiting(asked.agent.notify());
    let mut work = pin!(work.rest());
    let mut beat = Heartbeat::new(asked.query.turn.heartbeat, stage);
    let ending = loop {
        want_what_is_typed(&watch, stage);
        tokio::select! {
            biased;
            ending = &mut work => break Some(ending),
            push = stage.signals.next() => {
                if watch.interrupt(push, &mut stage.terminal, stage.output).is_break() {
                    break None;
                }
            }
            told = feed.next() => show(&mut watch, &mut feed, told?, stage)?,
            typed = beside::typed(&mut stage.terminal), if watch.is_asking() || stage.beside.is_some() => {
                stage.output.heard();
                let taken = if watch.is_asking() {
                    watch.take_in(typed, &mut stage.terminal, stage.output)
                } else {
                    beside::take_in(typed, (opened, asked), &mut watch, stage).await?
                };
                if taken.is_break() {
                    break None;
                }
                watch.show_backlog(stage.output);
                follow_workers(&mut watch, &mut feed)?;
            }
            answer = beside::answered(&mut stage.beside), if !watch.is_asking() => {
                beside::show_answer(answer, stage);
            }
            settled = answered(&mut watch.answering) => watch.settle(settled, stage.output),
            () = ready(()), if watch.may_ask() && stage.terminal.is_some() => {
                ask(&mut watch, &mut feed, asked, stage).await?;
            }
            () = Heartbeat::due(&mut beat) => Heartbeat::tell(beat.as_ref(), &watch, stage),
            () = tokio::time::sleep(SPIN_EVERY), if stage.output.can_tell() => {
                notes::tell(&opened.tools, &opened.profiles, stage.output);
                watch.tell_waiting(stage.output);
            }
        }
    };
    Ok(Seen { watch, feed, ending, begun })
}

/// Asks the person, unless what is there by now settles the question.
async fn ask(
    watch: &mut Watch,
    feed: &mut Feed,
    asked: &Asked<'_>,
    stage: &mut Stage<'_>,
) -> Result<(), Fault> {
    if let Some(content) = watch.content() {
        return rewrite(watch, &content, asked, stage).await;
    }
    // First everything that is there: a question may be settled by it.
    watch.show_backlog(stage.output);
    follow_workers(watch, feed)?;
    while let Some(told) = feed.next_entry().await? {
        show(watch, feed, told, stage)?;
    }
    if watch.may_ask() {
        if let Some(terminal) = &mut stage.terminal {
            terminal.want_lines();
        }
        watch.ask(&mut stage.terminal, stage.output);
        stage.output.call_back("a question waits for you");
    }
    Ok(())
}

/// Lets the person change what a call writes, in an editor. Whatever goes wrong there, the question is still
/// open, and is asked again.
async fn rewrite(
    watch: &mut Watch,
    content: &Content,
    asked: &Asked<'_>,
    stage: &mut Stage<'_>,
) -> Result<(), Fault> {
    if let Some(terminal) = &mut stage.terminal {
        terminal.want_lines();
    }
    match editor::rewritten(content, &asked.settings.environment, stage).await {
        Ok(Some(arguments)) => watch.rewrite(arguments, stage.output),
        Ok(None) => stage.output.talk("Nothing was changed."),
        Err(Fault::Interrupted) => return Err(Fault::Interrupted),
        Err(fault) => Report::from(&fault).tell(stage.output),
    }
    Ok(())
}

/// In a chat, single keys count while nothing is asked.
fn want_what_is_typed(watch: &Watch, stage: &mut Stage<'_>) {
    if let (Some(terminal), Some(_), false) =
        (&mut stage.terminal, &stage.beside, watch.is_asking())
    {
        terminal.want_keys();
    }
}

/// Says what was stopped with its turn.
fn say_stopped(commands: &[String], stage: &mut Stage<'_>) {
    for command in commands {
        let line = shorten(command, COMMAND_LETTERS_MAX);
        stage.output.talk(&format!("Stopped with the turn: {line}"));
    }
}

/// What the model does not get of earlier messages is said to the person too.
fn tell_of_files(opened: &Opened, output: &mut Output) {
    let items = opened.view.shown().flat_map(|turn| &turn.items);
    for item in items {
        let ItemView::Message(message) = item else { continue };
        for part in &message.parts {
            let MessagePart::File { name, media_type, blob } = part else { continue };
            let why = opened.engine.refusal_of_file(&opened.model, media_type, blob.bytes);
            if let Some(why) = why {
                let model = named(&opened.model);
                output.talk(&format!("note: {model} {why}; it is only told of {name}"));
            }
        }
    }
}
