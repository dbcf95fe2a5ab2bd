//! `shell` with a supervisor: the command outlives the agent.
//!
//! Starting and coming back are one door. A run with a handle that was used before
//! finds its record claimed, and waits for what is there instead of starting anything.

use std::io::{self, PipeReader, PipeWriter, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::{Duration, Instant};

use piton_core::event::{Handle, Outcome};
use piton_core::id::{CallId, TurnId};

use super::capture::Captured;
use super::end_notes::{self, STILL_RUNNING, exit_code, told_of};
use super::line::{Line, Reads};
use super::protected;
use super::tail;
use crate::contract::{Finished, Job, Prepared, Quotes, Refusal, Settled, Site, Tidying, blocking};
use crate::sandbox::{Policy, RanCommand};
use crate::supervise::{
    Attached, End, Intent, LOG_VERSION, Order, Patience, Printed, Status, Story, Supervisor,
    Verdict, Why, boot, forbid, goes_on, now_ms,
};

/// The same with a supervisor: the call returns much sooner, and the command goes on.
const SUPERVISED_TIMEOUT_S_DEFAULT: u64 = 600;
/// Letters of chance in the name of a record.
const CHANCE_LETTERS: u32 = 6;
/// How long a command has to be silent to have said what it had to say.
const SILENCE: Duration = Duration::from_millis(300);
/// How long to wait for the first words of a command whose input stays open, unless told otherwise.
pub(crate) const WORDS_WITHIN: Duration = Duration::from_secs(10);

/// The supervised way.
#[derive(Clone, Debug)]
pub(super) struct Supervised(pub(super) Arc<Supervisor>);

impl Supervised {
    /// Names the record of this start. Nothing is made yet.
    pub(super) fn prepare(site: &Site, call: CallId) -> Result<Prepared, Refusal> {
        let directory = format!("{}/{call}-{}", site.conversation, chance()?);
        let handle = Handle::Job { directory, boot: Some(boot().to_owned()) };
        Ok(Prepared { handle, path: None })
    }

    /// Starts the command, or attaches to it, and waits.
    pub(super) async fn run(&self, job: Job, line: Line) -> Finished {
        let Some(name) = name_of(&job.handle).map(str::to_owned) else {
            return Finished::failed("the start of the command was recorded without a place");
        };
        if job.cancel.is_cancelled() {
            return Finished::cancelled("stopped before the command was started");
        }
        let is_fed = matches!(line.input, Reads::Later | Reads::Terminal);
        let wait = if is_fed { WORDS_WITHIN } else { self.0.patience() };
        let wait = line.wait_s.map_or(wait, Duration::from_secs);
        let record = self.0.shelf().directory(&name);
        let sandbox = match line.walls.policy(self.0.rules(), &job) {
            Ok(sandbox) => sandbox,
            // It was started before, and goes on behind the walls that were recorded then.
            Err(_) if Attached::open(&self.0.shelf().directory(&name)).is_ok() => None,
            Err(lacking) => return Finished::failed(format!("not run: {lacking}")),
        };
        let input = line.input.clone().bytes();
        let intent = Intent { sandbox, ..intent(job.call, &name, line) };
        let supervisor = self.0.clone();
        let showing = tail::show(supervisor.shelf().directory(&name), job.progress.clone());
        let (word, speaker) = match io::pipe() {
            Ok(pipe) => pipe,
            Err(error) => return Finished::failed(format!("the command did not start: {error}")),
        };
        let minding = blocking::whole(move || {
            let directory = supervisor.shelf().directory(&name);
            let until = Some(Instant::now() + wait);
            let patience = Patience { until, word: &word, order: Order::Stop(Why::Interrupt) };
            let waited =
                supervisor.start(&directory, intent, input.as_ref()).and_then(|mut attached| {
                    let (end, story) = if is_fed {
                        wait_for_words(&mut attached, &patience, 0)?
                    } else {
                        attached.wait(&patience)?
                    };
                    finished(&attached, &end, &story, 0)
                });
            Ok(waited.unwrap_or_else(|error| {
                Finished::failed(format!("the command could not be run: {error}"))
            }))
        });
        let ended = tokio::select! {
            finished = listening(minding, &job, speaker) => finished,
            never = showing => match never {},
        };
        let tell = |attached: &_, end: &_, story: &_| finished(attached, end, story, 0);
        let ended = protected::consult(record, &job, ended, tell).await;
        // What earlier ones left running may have changed something since.
        for record in self.0.shelf().undecided(&job.site.conversation) {
            protected::consult_late(record, &job).await;
        }
        ended
    }

    /// What became of a command whose agent died.
    pub(super) async fn settle(&self, handle: &Handle) -> Settled {
        let Handle::Job { directory: name, boot: began } = handle.clone() else {
            return Settled::Unknown("the command was started without a record".into());
        };
        let supervisor = self.0.clone();
        let settling = blocking::whole(move || {
            let directory = supervisor.shelf().directory(&name);
            let settled = match Attached::open(&directory) {
                Ok(attached) => settled(attached),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    if began.is_some_and(|began| began != boot()) {
                        return Ok(Settled::Unknown(NO_RECORD.into()));
                    }
                    forbid(&directory).and_then(|()| settled(Attached::open(&directory)?))
                }
                Err(error) => Err(error),
            };
            Ok(settled.unwrap_or_else(|error| {
                Settled::Unknown(format!("the record of the command cannot be read: {error}"))
            }))
        });
        settling.await.unwrap_or_else(|refusal| Settled::Unknown(refusal.0))
    }

    pub(super) fn forget(&self, handle: &Handle) {
        if let Some(name) = name_of(handle).map(str::to_owned) {
            let shelf = self.0.shelf().clone();
            drop(blocking::beside(move || shelf.forget(&name)));
        }
    }

    pub(super) fn tidy(&self, site: &Site, needed: &[Handle]) -> Tidying {
        let needed: Vec<String> = needed.iter().filter_map(name_of).map(str::to_owned).collect();
        let (shelf, conversation) = (self.0.shelf().clone(), site.conversation.clone());
        blocking::beside(move || {
            // What was given to a command is below its record.
            let of = |name: &str| needed.iter().any(|it| it.starts_with(name));
            shelf.sweep(&conversation, of);
        })
    }

    pub(super) async fn leave_turn(&self, site: &Site, turn: TurnId) -> Vec<String> {
        let (shelf, conversation) = (self.0.shelf().clone(), site.conversation.clone());
        let leaving = blocking::whole(move || Ok(shelf.leave_turn(&conversation, turn)));
        leaving.await.unwrap_or_default()
    }
}

/// What is said of a command without a record after a restart: a file system may lose the name of a
/// file whose content it was asked to keep.
const NO_RECORD: &str = "the machine was restarted, and there is no record of the command: it may \
                         or may not have run";

/// Letters that nobody else has.
pub(crate) fn chance() -> Result<String, Refusal> {
    let chance = getrandom::u64().map_err(|error| Refusal(format!("no chance: {error}")))?;
    let letters = (0..CHANCE_LETTERS).filter_map(|place| {
        char::from_digit(u32::try_from((chance >> (5 * place)) % 32).ok()?, 32)
    });
    Ok(letters.collect())
}

/// Waits until a command has printed something behind `from` and is silent, or has ended.
pub(crate) fn wait_for_words(
    attached: &mut Attached,
    patience: &Patience<'_>,
    from: u64,
) -> io::Result<(End, Story)> {
    let mut length = from;
    loop {
        let pause = Instant::now() + SILENCE;
        let until = patience.until.map_or(pause, |until| until.min(pause));
        let (end, story) = attached.wait(&Patience { until: Some(until), ..*patience })?;
        let now = Instant::now();
        let printed = attached.printed()?.length;
        let is_silent = from < printed && printed == length;
        // Back before its time: it has ended, or somebody does not want to wait any longer.
        let is_back = end != End::Running || now < until;
        if is_back || is_silent || patience.until.is_some_and(|until| until <= now) {
            return Ok((end, story));
        }
        length = printed;
    }
}

/// The name of the record that a handle points to.
pub(crate) fn name_of(handle: &Handle) -> Option<&str> {
    match handle {
        Handle::Job { directory, .. } => Some(directory),
        Handle::None
        | Handle::Edit { .. }
        | Handle::Edits { .. }
        | Handle::Conversation { .. }
        | Handle::Task { .. }
        | Handle::Origin { .. }
        | Handle::Round { .. } => None,
    }
}

/// Lets somebody who waits in a thread hear that the call is cancelled, or that nobody waits for it
/// any more, which the end of the wire says.
pub(crate) async fn listening(
    minding: impl Future<Output = Result<Finished, Refusal>>,
    job: &Job,
    mut speaker: PipeWriter,
) -> Finished {
    tokio::pin!(minding);
    let result = tokio::select! {
        biased;
        result = &mut minding => result,
        () = job.cancel.cancelled() => {
            // If nobody listens, the command has ended: its result is on its way.
            drop(speaker.write_all(&[1]));
            minding.await
        }
    };
    result.unwrap_or_else(Finished::from)
}

fn intent(call: CallId, name: &str, line: Line) -> Intent {
    let timeout_s = match line.timeout_s {
        None if line.keep => None,
        timeout_s => Some(timeout_s.unwrap_or(SUPERVISED_TIMEOUT_S_DEFAULT)),
    };
    Intent {
        version: LOG_VERSION,
        call,
        command: line.command,
        directory: line.directory,
        timeout_ms: timeout_s.map(|timeout_s| timeout_s.saturating_mul(1_000)),
        keep: line.keep,
        at_ms: now_ms(),
        marker: name.to_owned(),
        sandbox: None,
        input: matches!(line.input, Reads::Later | Reads::Terminal),
        terminal: matches!(line.input, Reads::Terminal),
        secret: matches!(&line.input, Reads::Bytes(input) if input.has_secrets()),
        sealed: true,
        guard: None,
    }
}

fn settled(mut attached: Attached) -> io::Result<Settled> {
    let (story, verdict) = attached.look()?;
    let end = match verdict {
        Verdict::Attach | Verdict::Adopt(_) => return Ok(Settled::Running),
        Verdict::NeverRan(_) => return Ok(Settled::NotApplied),
        // A person may have something to say: it is started again, and asks.
        Verdict::Collect(_) if protected::is_open(&story) => return Ok(Settled::Running),
        Verdict::Collect(status) => End::Ended(status),
        Verdict::Rebooted | Verdict::StatusLost => {
            let (end, story) =
                attached.wait(&Patience { until: None, word: &silent()?, order: Order::Leave })?;
            let End::InDoubt(why) = end else { return Ok(Settled::Running) };
            let Finished { text, .. } = finished(&attached, &end, &story, 0)?;
            // Said once, and first: what it printed may be long.
            let printed = text.strip_suffix(&format!("[{why}]")).unwrap_or(&text).trim_end();
            return Ok(Settled::Unknown(format!("{why}.\n{printed}").trim_end().to_owned()));
        }
    };
    Ok(Settled::Applied(finished(&attached, &end, &story, 0)?))
}

fn silent() -> io::Result<PipeReader> {
    Ok(io::pipe()?.0)
}

/// The exit code of a command that was to be stopped and came first, or cleaned up and left.
fn by_itself(status: Status, notes: &mut Vec<String>) -> Option<i32> {
    let Status::Exit(code) = status else { return None };
    notes.push(format!("[it left with exit code {code}]"));
    Some(code)
}

/// The result of a call, with the output from one of its bytes on.
pub(crate) fn finished(
    attached: &Attached,
    end: &End,
    story: &Story,
    from: u64,
) -> io::Result<Finished> {
    finished_with(Vec::new(), attached, end, story, from)
}

/// The same, with notes before those on the end.
pub(crate) fn finished_with(
    mut notes: Vec<String>,
    attached: &Attached,
    end: &End,
    story: &Story,
    from: u64,
) -> io::Result<Finished> {
    let Printed { start, length, emptied } = attached.printed()?;
    if emptied {
        notes.push(end_notes::EMPTIED.to_owned());
    }
    let why = story.stopped.as_ref().map(|stop| stop.why);
    if why.is_none() && goes_on(story) {
        notes.push("[something that it started is still running]".to_owned());
    }
    notes.extend(protected::notes(story));
    let (outcome, code) = match (end, why) {
        (End::NeverRan(why), _) => {
            return Ok(Finished::failed(format!("the command did not start: {why}")));
        }
        (End::Ended(status), Some(Why::Timeout)) => {
            let limit_ms = story.intent.as_ref().and_then(|intent| intent.timeout_ms);
            notes.push(end_notes::timed_out(limit_ms.unwrap_or_default() / 1_000));
            (Outcome::Failed, by_itself(*status, &mut notes))
        }
        (End::Ended(status), Some(Why::Person)) => {
            notes.push(end_notes::STOPPED_BY_PERSON.to_owned());
            (Outcome::Cancelled, by_itself(*status, &mut notes))
        }
        (End::Ended(status), Some(Why::Interrupt | Why::Model)) => {
            notes.push(end_notes::STOPPED.to_owned());
            (Outcome::Cancelled, by_itself(*status, &mut notes))
        }
        (End::Ended(status), None | Some(Why::Protected)) => {
            if why.is_some() {
                notes.push(end_notes::STOPPED_FOR_PROTECTED.to_owned());
            }
            let status = as_exit_status(*status);
            notes.extend(told_of(status, length == 0));
            (Outcome::Ok, exit_code(status))
        }
        (End::InDoubt(why), _) => {
            notes.push(format!("[{why}]"));
            (Outcome::Unknown, None)
        }
        (End::Running, _) => {
            attached.detach();
            notes.push(still_running(story, length));
            let intent = story.intent.as_ref().filter(|intent| from == 0 && !intent.input);
            let policy = intent.and_then(|intent| intent.sandbox.as_ref());
            notes.extend(policy.and_then(Policy::apart).map(str::to_owned));
            (Outcome::Ok, None)
        }
    };
    let Captured { mut text, printed, full } =
        Captured::of_file(&attached.out, start + from, &notes)?;
    if let (Some(intent), Some(code)) = (&story.intent, code)
        && let Some(policy) = &intent.sandbox
    {
        let Intent { command, directory, .. } = intent;
        let (has_failed, refused) = (code != 0, &story.refused);
        policy.explain(RanCommand { command, directory, has_failed, refused }, &mut text);
    }
    let intent = story.intent.as_ref().filter(|intent| intent.secret);
    let quotes = intent.map(|intent| Quotes { call: intent.call, notes: notes.join("\n") });
    let note_bytes = text.len().saturating_sub(printed);
    Ok(Finished { exit_code: code, note_bytes, full, quotes, ..Finished::new(outcome, text) })
}

fn still_running(story: &Story, length: u64) -> String {
    let call = story.intent.as_ref().map(|intent| intent.call.to_string()).unwrap_or_default();
    let is_fed = story.intent.as_ref().is_some_and(|intent| intent.input);
    let write =
        if is_fed { format!("write to it with shell_write, call {call}; ") } else { String::new() };
    format!(
        "{STILL_RUNNING}{length} bytes of output so far; wait for more with shell_wait, call \
         {call}, from {length}; {write}stop it with shell_stop, call {call}]"
    )
}

fn as_exit_status(status: Status) -> ExitStatus {
    ExitStatus::from_raw(match status {
        Status::Exit(code) => code << 8,
        Status::Signal(signal) => signal,
    })
}
