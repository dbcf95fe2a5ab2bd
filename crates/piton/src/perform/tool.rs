//! Running tools: prepared before the intent, started behind it, recorded one by one.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use piton_core::decide::calls::{UNKNOWN_TEXT, doubt};
use piton_core::decide::permission::{is_denied, leads_elsewhere};
use piton_core::event::{
    BY_POLICY, EffectClass, Event, Grants, Handle, InDoubtPolicy, InquiryAnswer, InquiryKind,
    Outcome, OutputFile, ToolOutput, ToolSpec,
};
use piton_core::id::CallId;
use piton_core::permit::{grants, is_look, runs_free};
use piton_core::state::{Call, Progress, Raised, Started};
use piton_core::summary::shorten;
use piton_store::{AppendError, StoreError};
use piton_tools::{
    Arguments, Consent, Finished, Image, Job, OUTPUT_BYTES_MAX, Progress as Said, Ran, Settled,
    Tool, WITHHELD_TEXT,
};

use crate::driver::Driver;
use crate::flight::{Begun, Landing, Launch, ToolLanding};
use crate::read_output::{READ_OUTPUT, read_on};

/// What the model is told of a call that was about to start when the user interrupted.
const NOT_BEGUN_TEXT: &str = "Not run: the user interrupted.";
/// What the model is told of a call that had not taken effect and is no longer allowed.
const NOT_ALLOWED_TEXT: &str = "Interrupted before it took effect; \
     the permission rules of this conversation no longer allow it.";

/// Room kept for the words on what was left out, in bytes.
const CUT_NOTE_BYTES_MAX: usize = 512;

/// A call with what is needed to perform it.
pub(super) struct Ready {
    pub(super) call: Call,
    pub(super) tool: Arc<dyn Tool>,
    pub(super) arguments: Arc<Arguments>,
}

impl Driver<'_> {
    /// Prepares calls and records their starts; they run after the commit.
    pub(crate) async fn start_tools(&mut self, calls: Vec<CallId>) {
        for call in calls {
            match self.ready(call) {
                Ok(ready) => self.start(ready).await,
                Err(reason) => self.fail(call, reason),
            }
        }
    }

    /// Finds out what became of calls of a dead driver.
    pub(crate) async fn settle(&mut self, calls: Vec<CallId>) {
        for call in calls {
            if let Some(origin) = self.origin_of(call) {
                self.settle_elsewhere(call, &origin).await;
                continue;
            }
            let ready = match self.ready(call) {
                Ok(ready) => ready,
                Err(reason) => {
                    self.leave_unknown(call, reason);
                    continue;
                }
            };
            let Progress::InDoubt(started) = &ready.call.progress else { continue };
            let handle = started.handle.clone();
            let repeatable =
                matches!(started.effect, EffectClass::ReadOnly | EffectClass::Idempotent)
                    && matches!(handle, Handle::Job { .. });
            let settled = tokio::select! {
                biased;
                // It changes nothing, so it can be asked again: the call stays in doubt.
                () = self.controls.interrupted() => continue,
                settled = caught(ready.tool.settle(&self.site, &ready.arguments, &handle)) => settled,
            };
            match settled.unwrap_or_else(Settled::Unknown) {
                // Permission may have been withdrawn since it was started.
                Settled::NotApplied if is_denied(self.log.state(), &ready.call) => {
                    self.leave(call, Outcome::Denied, NOT_ALLOWED_TEXT.into());
                }
                Settled::NotApplied => self.start(ready).await,
                // It does not run any more, and twice is the same as once.
                Settled::Unknown(_) if repeatable && !is_denied(self.log.state(), &ready.call) => {
                    self.start(ready).await;
                }
                Settled::Running => self.attach(ready),
                Settled::Applied(finished) => {
                    let begun = Begun::Elsewhere;
                    self.record(ToolLanding { call, finished, begun }).await;
                }
                Settled::Unknown(found) => self.leave_unknown(call, found),
            }
        }
    }

    /// Calls that have not begun never do; says whether there were any.
    pub(crate) fn scrap_launches(&mut self) -> bool {
        let scrapped: Vec<CallId> = self.launches.drain(..).filter_map(|it| it.call).collect();
        for call in &scrapped {
            self.leave(*call, Outcome::Cancelled, NOT_BEGUN_TEXT.into());
        }
        !scrapped.is_empty()
    }

    /// Cancelled tools that do not stop: their outcome is unknown, and they are dropped.
    pub(crate) async fn abandon_tools(&mut self) {
        self.land_what_ended().await;
        for call in self.running() {
            self.leave(call, Outcome::Unknown, UNKNOWN_TEXT.into());
        }
        self.flights.clear();
    }

    pub(super) fn ready(&self, id: CallId) -> Result<Ready, String> {
        let turn = self.log.state().open_turn();
        let call = turn.and_then(|turn| turn.call(id)).ok_or("the call is gone")?.clone();
        let tool = self.toolbox.get(&call.name).cloned();
        let tool = tool.ok_or_else(|| format!("this piton has no tool {}", call.name))?;
        let arguments = serde_json::from_str(&call.arguments).map_err(|error| error.to_string())?;
        Ok(Ready { call, tool, arguments: Arc::new(arguments) })
    }

    async fn start(&mut self, ready: Ready) {
        let Ready { call, tool, arguments } = ready;
        let prepared = tokio::select! {
            biased;
            // It touches nothing, so nothing is lost: the call was not started.
            () = self.controls.interrupted() => return,
            prepared = caught(tool.prepare(&self.site, call.id, &arguments)) => prepared,
        };
        let prepared = match prepared {
            Ok(Ok(prepared)) => prepared,
            Ok(Err(refusal)) => return self.fail(call.id, refusal.to_string()),
            Err(crash) => return self.fail(call.id, crash),
        };
        let found = self.found_at(prepared.path);
        if leads_elsewhere(self.log.state(), &call, &found) {
            // It was not judged for this place yet. Recorded, and judged before it starts.
            return self.log.push(Event::CallLocated { call: call.id, found });
        }
        let (effect, handle) = (self.effect(&call), prepared.handle);
        self.log.push(Event::ToolStarted { call: call.id, effect, handle: handle.clone() });
        let ready = Ready { call, tool, arguments };
        self.launch(ready, handle, Begun::Here);
    }

    /// Waits for the end of what a dead driver started, like for anything else that runs: it can be
    /// interrupted, and its siblings do not wait for it.
    fn attach(&mut self, ready: Ready) {
        let Progress::InDoubt(Started { effect, handle }) = ready.call.progress.clone() else {
            return;
        };
        let call = ready.call.id;
        self.log.push(Event::ToolStarted { call, effect, handle: handle.clone() });
        self.launch(ready, handle, Begun::Elsewhere);
    }

    fn effect(&self, call: &Call) -> EffectClass {
        let tool = self.log.state().config.tool(&call.name);
        tool.map_or(EffectClass::Once, |tool| tool.effect)
    }

    /// On whose word the call runs, today or in the driver that died.
    fn consent(&self, call: &Call) -> Consent {
        let state = self.log.state();
        let turn = state.open_turn();
        let asked = turn.and_then(|turn| turn.inquiry(call.id, InquiryKind::Permission));
        let is_look = |tool: &ToolSpec| {
            is_look(&state.config.permissions, state.workspace(), tool, &call.arguments)
        };
        let runs_free = |tool: &ToolSpec| {
            runs_free(&state.config.permissions, state.workspace(), tool, &call.arguments)
        };
        match asked {
            Some(raised) if raised.by.as_deref() == Some(BY_POLICY) => Consent::Widely,
            // An answer with a rule says: as the rule says, from this call on.
            Some(raised) if is_approved(raised) && !raised.by_rule => Consent::WordForWord,
            _ if state.config.tool(&call.name).is_some_and(is_look) => Consent::OnlyLooks,
            _ if state.config.tool(&call.name).is_some_and(runs_free) => Consent::WordForWord,
            _ => Consent::Widely,
        }
    }

    /// What is open in the wall for the call: by rules, and by a person who allowed this very call.
    fn grants(&self, call: &Call) -> Grants {
        let state = self.log.state();
        let Some(tool) = state.config.tool(&call.name) else { return Grants::default() };
        let permissions = &state.config.permissions;
        let mut opened = grants::granted(permissions, state.workspace(), tool, &call.arguments);
        let turn = state.open_turn();
        let asked = turn.and_then(|turn| turn.inquiry(call.id, InquiryKind::Permission));
        if asked.is_some_and(|raised| is_approved(raised) && !raised.by_rule) {
            opened.add(&grants::needs(tool, &call.arguments));
        }
        opened
    }

    fn launch(&mut self, ready: Ready, handle: Handle, begun: Begun) {
        let Ready { call, tool, arguments } = ready;
        let consent = self.consent(&call);
        let (grants, call) = (self.grants(&call), call.id);
        let cancel = self.cancel.child_token();
        let (site, asker) = (self.site.clone(), self.asks.asker(self.responses(call)));
        let watch = self.progress.clone();
        let progress = Said::to(move |shown| watch.say(call, shown));
        let job = Job { site, call, arguments, handle, consent, grants, cancel, asker, progress };
        let flight = Box::pin(async move {
            match caught(async { tool.run_or_park(job).await }).await {
                Ok(Ran::Parked { question }) => Landing::Parked { call, question },
                Ok(Ran::Finished(finished)) => Landing::Tool(ToolLanding { call, finished, begun }),
                Ok(Ran::Unrecorded(error)) => Landing::Unrecorded(refusal_of(error)),
                Err(crash) => {
                    let finished = Finished::failed(crash);
                    Landing::Tool(ToolLanding { call, finished, begun })
                }
            }
        });
        self.launches.push(Launch { call: Some(call), flight });
    }

    /// Takes in the end of a call.
    pub(crate) async fn record(&mut self, landing: ToolLanding) {
        let ToolLanding { call, mut finished, begun } = landing;
        // Secrets that a dead process told the tool are not known here: the output cannot be searched.
        let forgotten = if begun == Begun::Elsewhere { self.forgotten(call) } else { Vec::new() };
        match finished.asks.take() {
            None => {}
            Some(questions) if forgotten.is_empty() => return self.suspend(call, questions),
            // It did nothing yet, so it may run again, and this process is told the secrets then.
            Some(_) => return self.suspend(call, forgotten),
        }
        let notes = remarks(&finished).to_owned();
        // The output of a command that another call had started.
        let quotes = finished.quotes.take().filter(|quotes| quotes.call != call);
        if !forgotten.is_empty() {
            let code = finished.exit_code.map(|code| format!("[exit code {code}]"));
            withhold(&mut finished, &code.unwrap_or_default());
        } else if let Some(quotes) = quotes.filter(|quotes| !self.knows_secrets_of(quotes.call)) {
            withhold(&mut finished, &quotes.notes);
        } else {
            let veil = self.veil();
            veil.text(&mut finished.text);
            finished.full = finished.full.map(|full| veil.bytes(&full));
            // One with a secret in it would be none any more without it.
            finished.images.retain(|image| veil.bytes(&image.content) == image.content);
        }
        let (mut text, cut) = bounded(finished.text);
        let is_change = self.is_change(call);
        let blob = match finished.full.or(cut) {
            None => None,
            Some(full) => match self.parts.journal.put_blob(&full).await {
                Ok(blob) => Some(blob),
                Err(error) => {
                    // The result itself matters more than its long form.
                    text = format!("{text}\n[the whole output could not be kept: {error}]");
                    None
                }
            },
        };
        let files = self.kept(std::mem::take(&mut finished.images), &mut text).await;
        // What was searched for secrets, cut or withheld may not end in the remarks any more.
        let mut note_bytes = if text.ends_with(&notes) { notes.len() as u64 } else { 0 };
        if let Some(blob) = blob.as_ref().filter(|_| self.can_read_on() && !is_change) {
            let note = format!("\n{}", read_on(call, blob.bytes, shown_first(&text)));
            text.push_str(&note);
            note_bytes += note.len() as u64;
        }
        let (text, exit_code) = (text.into(), finished.exit_code);
        let output = ToolOutput { text, exit_code, blob, note_bytes, files };
        self.settled.extend(self.to_forget(call));
        self.withdraw_questions(call);
        self.log.push(Event::ToolFinished { call, outcome: finished.outcome, output });
    }

    /// Whether the model can ask for the rest of an output.
    fn can_read_on(&self) -> bool {
        self.log.state().config.tool(READ_OUTPUT).is_some()
    }

    /// Whether a call changes files: the whole difference is kept for people.
    fn is_change(&self, call: CallId) -> bool {
        let call = self.log.state().open_turn().and_then(|turn| turn.call(call));
        call.is_some_and(|call| !call.edits.is_empty())
    }

    /// Keeps images beside the journal, so that its entry can refer to them.
    async fn kept(&mut self, images: Vec<Image>, text: &mut String) -> Vec<OutputFile> {
        let mut files = Vec::new();
        for Image { name, media_type, content } in images {
            match self.parts.journal.put_blob(&content).await {
                Ok(blob) => {
                    files.push(OutputFile { name, media_type: media_type.to_owned(), blob });
                }
                Err(error) => {
                    *text = format!("{text}\n[the image {name} could not be kept: {error}]");
                }
            }
        }
        files
    }

    /// What was recorded at the start of a call, with the tool that knows what it means.
    pub(crate) fn to_forget(&self, id: CallId) -> Option<(Arc<dyn Tool>, Handle)> {
        let call = self.log.state().open_turn()?.call(id)?;
        let (Progress::Running(started) | Progress::InDoubt(started)) = &call.progress else {
            return None;
        };
        let is_ours = !matches!(started.handle, Handle::None | Handle::Origin { .. });
        let tool = self.toolbox.get(&call.name).filter(|_| is_ours)?;
        Some((tool.clone(), started.handle.clone()))
    }

    pub(crate) fn fail(&mut self, call: CallId, reason: String) {
        self.leave(call, Outcome::Failed, reason);
    }

    pub(super) fn leave(&mut self, call: CallId, outcome: Outcome, mut text: String) {
        self.withdraw_questions(call);
        self.veil().text(&mut text);
        let output = ToolOutput::text(bounded(text).0);
        self.log.push(Event::ToolFinished { call, outcome, output });
    }

    /// Nothing proves what became of the call: a person decides, or the model is told.
    fn leave_unknown(&mut self, id: CallId, mut found: String) {
        if self.forgotten(id).is_empty() {
            self.veil().text(&mut found);
        } else {
            found = WITHHELD_TEXT.into();
        }
        let state = self.log.state();
        let call = state.open_turn().and_then(|turn| turn.call(id)).cloned();
        match (state.config.in_doubt, call) {
            (InDoubtPolicy::Ask, Some(call)) => {
                let mut inquiry = doubt(&call);
                inquiry.question = format!("{} {found}", inquiry.question);
                self.log.push(Event::InquiryRaised { inquiry });
            }
            (InDoubtPolicy::Ask | InDoubtPolicy::TellModel, _) => {
                self.leave(id, Outcome::Unknown, format!("{UNKNOWN_TEXT} {found}"));
            }
        }
    }
}

/// Whether a person let the call run that a question is about.
fn is_approved(raised: &Raised) -> bool {
    let is_yes = |answer: &InquiryAnswer| {
        matches!(
            answer,
            InquiryAnswer::Allow | InquiryAnswer::Changed { .. } | InquiryAnswer::RunAgain
        )
    };
    raised.by.as_deref() != Some(BY_POLICY) && raised.answer.as_ref().is_some_and(is_yes)
}

/// What a journal said; a tool may have another way to put it.
fn refusal_of(error: Box<dyn std::error::Error + Send + Sync>) -> AppendError {
    match error.downcast::<AppendError>() {
        Ok(error) => *error,
        Err(error) => AppendError::Store(StoreError::Io {
            action: "record",
            path: "the work of a tool".into(),
            source: std::io::Error::other(error),
        }),
    }
}

/// Leaves nothing of what a command said; the notes are ours.
fn withhold(finished: &mut Finished, notes: &str) {
    let mut text = format!("{WITHHELD_TEXT}\n{notes}");
    text.truncate(text.trim_end().len());
    finished.text = text;
    finished.full = None;
    finished.images.clear();
}

/// What a tool itself says at the end of a result.
fn remarks(finished: &Finished) -> &str {
    let at = finished.text.len().saturating_sub(finished.note_bytes);
    finished.text.get(at..).unwrap_or_default()
}

/// Holds a tool to its bound: the beginning and the end of a text that is too long, and the whole of it.
fn bounded(text: String) -> (String, Option<Vec<u8>>) {
    if text.len() <= OUTPUT_BYTES_MAX {
        return (text, None);
    }
    let half = (OUTPUT_BYTES_MAX - CUT_NOTE_BYTES_MAX) / 2;
    let front = text.get(..text.floor_char_boundary(half)).unwrap_or_default();
    let end = text.get(text.ceil_char_boundary(text.len() - half)..).unwrap_or_default();
    let missing = text.len() - front.len() - end.len();
    let shown = format!("{front}\n[... {missing} bytes left out ...]\n{end}");
    (shown, Some(text.into_bytes()))
}

/// How much of an output stands in front of what was left out of it.
fn shown_first(text: &str) -> usize {
    let is_mark = |(at, _): &(usize, &str)| {
        let line = text.get(at + 1..).unwrap_or_default().lines().next();
        line.is_some_and(|line| line.ends_with(" bytes left out ...]"))
    };
    text.match_indices("\n[... ").find(is_mark).map_or(0, |(at, _)| at)
}

/// A tool that panics has failed: when it is prepared, run or settled.
pub(super) async fn caught<T>(work: impl Future<Output = T>) -> Result<T, String> {
    let ended = AssertUnwindSafe(work).catch_unwind().await;
    ended.map_err(|panic| format!("The tool crashed: {}.", panic_text(&*panic)))
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    shorten(&text.unwrap_or_else(|| "panic".into()), 200)
}
