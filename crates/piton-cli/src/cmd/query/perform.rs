//! Sees a turn through: shows it, asks a person where one is needed, and stops when told to.

use std::future::{pending, ready};
use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;

use piton::{Attendance, FileLeftOut, OnIncomplete, Policy, SessionError, Subscription, Update};
use piton_agent::rules::strangers::Strangers;
use piton_agent::{Overrides, ProfileRequest, SandboxGap, Standing, TurnStart, typed as named};
use piton_core::id::Seq;
use piton_core::outcome::Ending;
use piton_core::summary::shorten;
use piton_core::view::{TurnEnd, View};
use piton_store::StoreError;

use super::face::Face;
use super::interrupt::{Chosen, RESTART_TEXT};
use super::mail::Mail;
use super::open::{Life, Opened};
use super::watch::{Rules, Watch, answered};
use super::{Asked, Errand, begin};
use crate::output::{Form, Output};
use crate::render::answer::Pace;
use crate::render::incomplete::Newest;
use crate::render::rule;
use crate::report::{Fault, Report, key_advice};
use crate::signals::Signals;
use crate::terminal::{Terminal, Typed};

/// How often the spinner turns.
const SPIN_EVERY: Duration = Duration::from_millis(120);

/// Longest command line that is shown, in letters.
const COMMAND_LETTERS_MAX: usize = 80;

/// Where a turn is shown.
#[derive(Debug)]
pub(super) struct Stage<'a> {
    pub(super) output: &'a mut Output,
    pub(super) signals: Signals,
    pub(super) terminal: Option<Terminal>,
    pub(super) form: Form,
}

impl Stage<'_> {
    /// Asks on the terminal and waits for a line.
    pub(super) async fn ask(&mut self, question: &str) -> Result<String, Fault> {
        let terminal = self.terminal.as_mut().ok_or(Fault::Interrupted)?;
        terminal.show(question);
        tokio::select! {
            biased;
            _ = self.signals.next() => Err(Fault::Interrupted),
            line = terminal.line() => line.ok_or(Fault::Interrupted),
        }
    }
}

/// Somebody is there to be asked, also what was asked before.
fn attend(opened: &mut Opened, errand: Errand, watch: &mut Watch) {
    opened.session.attend(Attendance::Attended);
    if matches!(errand, Errand::Resume | Errand::Send(OnIncomplete::Resume)) {
        watch.find_open_questions(opened.session.state());
    }
}

/// Performs the errand, then what a person chose in the meantime, and reports how the turn was
/// left.
pub(super) async fn perform(
    mut opened: Opened,
    mut errand: Errand,
    asked: &Asked<'_>,
    mail: &mut Mail,
    stage: &mut Stage<'_>,
) -> Result<Report, Fault> {
    loop {
        let mut seen = see_through(&mut opened, errand, asked, mail, stage).await?;
        say_stopped(&opened.session.take_stopped(), stage);
        if let Some(chosen) = seen.watch.stopped(&mut stage.terminal) {
            seen.catch_up(opened.session.state().end, mail, stage).await?;
            match follow(chosen, &mut opened, mail, stage).await? {
                Followed::Errand(next) => {
                    errand = next;
                    continue;
                }
                Followed::Closed => return Ok(Report::ok("closed")),
                Followed::Nothing => {}
            }
        }
        return seen.end(opened, asked, mail, stage).await;
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
    mail: &mut Mail,
    stage: &mut Stage<'_>,
) -> Result<Followed, Fault> {
    let text = match chosen {
        // Whoever does not type a reply after all leaves the turn to be resumed.
        Chosen::Reply => stage.ask("your reply: ").await.unwrap_or_default(),
        Chosen::Restart => RESTART_TEXT.to_owned(),
        Chosen::Stop => return close(opened, TurnEnd::Stopped, stage).await,
        Chosen::Abort => return close(opened, TurnEnd::Discarded, stage).await,
        Chosen::Exit | Chosen::Continue => return Ok(Followed::Nothing),
    };
    if text.trim().is_empty() {
        return Ok(Followed::Nothing);
    }
    mail.write_next(text);
    Ok(Followed::Errand(Errand::Send(OnIncomplete::Inject)))
}

async fn close(
    opened: &mut Opened,
    end: TurnEnd,
    stage: &mut Stage<'_>,
) -> Result<Followed, Fault> {
    if opened.session.state().open_turn().is_none() {
        // It was faster than the person.
        return Ok(Followed::Nothing);
    }
    opened.session.close_turn(end).await?;
    stage.output.talk(match end {
        TurnEnd::Discarded => "The turn is discarded. It stays in the journal, hidden.",
        TurnEnd::Stopped | TurnEnd::Completed => "The turn is closed with what is there.",
    });
    Ok(Followed::Closed)
}

/// A turn that was shown until nothing ran any more.
struct Seen {
    watch: Watch,
    updates: Subscription,
    /// Nothing, if we left at once.
    ending: Option<Result<Ending, SessionError>>,
}

impl Seen {
    /// Shows everything up to an entry.
    async fn catch_up(
        &mut self,
        end: Seq,
        mail: &mut Mail,
        stage: &mut Stage<'_>,
    ) -> Result<(), Fault> {
        while self.watch.state().end < end
            && let Some(update) = self.updates.next().await?
        {
            mail.see(&update);
            self.watch.show(&update, stage.output);
        }
        self.watch.end(stage.output);
        Ok(())
    }

    /// Shows the rest, and says how the turn was left.
    async fn end(
        mut self,
        opened: Opened,
        asked: &Asked<'_>,
        mail: &mut Mail,
        stage: &mut Stage<'_>,
    ) -> Result<Report, Fault> {
        let Opened { session, life, model, .. } = opened;
        let conversation = session.conversation().clone();
        // With the session gone the updates come to an end, and all of them are shown.
        drop(session);
        while let Some(update) = self.updates.next().await? {
            mail.see(&update);
            self.watch.show(&update, stage.output);
        }
        self.watch.end(stage.output);
        let Some(ending) = self.ending else {
            // A commit may still be on its way, so it is unknown whether the message has arrived.
            let is_kept = life != Life::Passing && self.watch.state().open_turn().is_some();
            return Err(Fault::LeftAtOnce { kept: is_kept.then_some(conversation) });
        };
        mail.seen_all();
        let ending = ending?;
        let turn = Newest::of(&View::from(self.watch.state()));
        let key = key_advice(asked.agent.providers(), &model);
        let report = Report::of_turn(&ending, &conversation, turn.as_ref(), &key);
        Ok(if life == Life::Passing { report } else { report.kept_in(conversation) })
    }
}

/// Shows the turn until nothing of it runs any more.
async fn see_through(
    opened: &mut Opened,
    errand: Errand,
    asked: &Asked<'_>,
    mail: &mut Mail,
    stage: &mut Stage<'_>,
) -> Result<Seen, Fault> {
    let state = opened.session.state().clone();
    // Subscribed before the first fact is pushed, so that every one of them is shown.
    let mut updates = opened.session.subscribe(state.end);
    let pace = if stage.output.is_watched() { Pace::Streamed } else { Pace::Whole };
    let face = Face::new(state, stage.form, pace, errand.turn(&opened.session));
    let rules = Rules { file: asked.settings.file.clone(), batch: asked.agent.asks_in_batches() };
    let mut watch = Watch::new(face, opened.session.controller(), rules);
    prepare(opened, errand, asked, stage).await?;
    // A file that is refused leaves no conversation behind, so none is announced.
    let message = mail.leave(&opened.session).await?;
    let shown = (stage.form == Form::Json).then(|| View::from(watch.state()));
    begin(opened, shown, errand, asked, stage);
    tell_of_files(opened, stage.output);
    if stage.terminal.is_some() {
        attend(opened, errand, &mut watch);
    }
    let session = &mut opened.session;
    let mut work = pin!(async {
        match errand {
            Errand::Send(on_incomplete) if asked.overrides.coordinate => {
                session.coordinate(message, on_incomplete).await
            }
            Errand::Send(on_incomplete) => session.send(message, on_incomplete).await,
            Errand::Resume | Errand::Release => session.resume().await,
        }
    });
    let ending = loop {
        tokio::select! {
            // Work first: an interrupt that comes before the turn has begun would be forgotten.
            biased;
            ending = &mut work => break Some(ending),
            push = stage.signals.next() => {
                if watch.interrupt(push, &mut stage.terminal, stage.output).is_break() {
                    break None;
                }
            }
            // Held back while somebody types; updates wait where they are.
            update = next(&mut updates), if !watch.is_asking() => {
                let update = update?;
                mail.see(&update);
                watch.show(&update, stage.output);
            }
            typed = typed(&mut stage.terminal), if watch.is_asking() => {
                if watch.take_in(typed, &mut stage.terminal, stage.output).is_break() {
                    break None;
                }
            }
            // Somebody else may answer in the meantime.
            update = looked(&mut watch.lookout), if watch.is_asking() => {
                watch.look(&update?, &mut stage.terminal);
            }
            known = answered(&mut watch.answering) => watch.settle(known, stage.output),
            // Only when all updates are shown: a question may be settled by one of them.
            () = ready(()), if watch.may_ask() && stage.terminal.is_some() => {
                watch.ask(&mut stage.terminal, stage.output, updates.clone());
            }
            () = tokio::time::sleep(SPIN_EVERY), if stage.output.can_spin() => {
                watch.spin(stage.output);
            }
        }
    };
    Ok(Seen { watch, updates, ending })
}

/// Says what was stopped with its turn.
pub(super) fn say_stopped(commands: &[String], stage: &mut Stage<'_>) {
    for command in commands {
        let line = shorten(command, COMMAND_LETTERS_MAX);
        stage.output.talk(&format!("Stopped with the turn: {line}"));
    }
}

async fn prepare(
    opened: &mut Opened,
    errand: Errand,
    asked: &Asked<'_>,
    stage: &mut Stage<'_>,
) -> Result<(), Fault> {
    let (agent, workspace) = (&asked.agent, asked.settings.workspace()?);
    let profile = agent.profile(&request(opened, errand, asked, stage).await?)?;
    let session = &mut opened.session;
    session.configure(&profile.config());
    session.leave_unattended(profile.live.unattended);
    let config = &session.state().config;
    let unasked = stage.terminal.is_none() && profile.live.unattended.permissions == Policy::Auto;
    for gap in agent.sandbox_gaps(&asked.overrides, config.permissions.mode, unasked) {
        let (what, lack) = match gap {
            SandboxGap::Weaker(lack) => ("commands run without all of their sandbox", lack),
            SandboxGap::NotRun(lack) => ("commands are not run", lack),
        };
        stage.output.talk(&format!("warning: {what}: {lack}"));
    }
    for file in asked.settings.shared_files() {
        stage.output.talk(&format!(
            "warning: {} has a second name (a hard link), under which tools and commands may reach it; \
             replace it by a copy",
            file.display()
        ));
    }
    let strangers = Strangers::new(agent, workspace).with(&config.tools);
    for stranger in strangers.among(&config.permissions.rules) {
        stage.output.talk(&format!("warning: {}", rule::stranger(&stranger)));
    }
    Ok(())
}

/// What the profile of the turn depends on.
async fn request(
    opened: &mut Opened,
    errand: Errand,
    asked: &Asked<'_>,
    stage: &Stage<'_>,
) -> Result<ProfileRequest, Fault> {
    let mut offered = piton::Config::default();
    opened.session.offer_tools(&mut offered).await.map_err(SessionError::from)?;
    let state = opened.session.state();
    let workspace = match &state.opened {
        Some(opened) if !opened.workspace.is_empty() => PathBuf::from(&opened.workspace),
        Some(_) | None => asked.settings.workspace()?.to_owned(),
    };
    Ok(ProfileRequest {
        workspace,
        present: state.config.clone(),
        standing: match opened.life {
            Life::Known => Standing::Known,
            Life::New | Life::Passing => Standing::New,
        },
        // The model that was made ready when the conversation was opened.
        overrides: Overrides { model: Some(opened.model.clone()), ..asked.overrides.clone() },
        turn: if errand.begins() {
            TurnStart::Begins { tools: offered.tools }
        } else {
            TurnStart::GoesOn
        },
        attendance: match stage.terminal {
            Some(_) => Attendance::Attended,
            None => Attendance::Unattended,
        },
    })
}

/// What the model does not get of earlier messages is said to the person too.
fn tell_of_files(opened: &Opened, output: &mut Output) {
    for FileLeftOut { name, why } in opened.session.files_left_out() {
        let model = named(&opened.model);
        output.talk(&format!("note: {model} {why}; it is only told of {name}"));
    }
}

/// The next update. There always is one while the session lives.
async fn next(updates: &mut Subscription) -> Result<Update, StoreError> {
    match updates.next().await? {
        Some(update) => Ok(update),
        None => pending().await,
    }
}

async fn looked(lookout: &mut Option<Subscription>) -> Result<Update, StoreError> {
    match lookout {
        Some(lookout) => next(lookout).await,
        None => pending().await,
    }
}

async fn typed(terminal: &mut Option<Terminal>) -> Typed {
    match terminal {
        Some(terminal) => terminal.typed().await,
        None => pending().await,
    }
}
