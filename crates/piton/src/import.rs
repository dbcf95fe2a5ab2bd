//! Taking over a conversation that another program wrote: a history becomes a journal.
//!
//! The journal consists of the same facts as any other, so everything works on it. All of it is one commit:
//! a process that dies here leaves nothing, or all. Its name comes from the digest of what was read, so the
//! same file is taken over once.

use std::path::Path;

use piton_core::decide::calls::UNKNOWN_TEXT;
use piton_core::event::{
    AnswerPart, BlobRef, BreakReason, EffectClass, Entry, Event, FailureClass, FinishReason,
    Handle, ImportPiece, ModelRef, Outcome, OutputFile, REMARKS_MAX, ToolOutput, TurnEnd, Usage,
    UserPart,
};
use piton_core::history::{
    History, PastAnswer, PastAnswerPart, PastCall, PastEnd, PastFile, PastItem, PastPart, PastTurn,
};
use piton_core::id::{Attempt, CallId, ConversationId, Digest, MessageId, Seq, Timestamp, TurnId};
use piton_core::state::State;
use piton_store::{AppendError, Batch, CommitName, Durability, Holder, Journal, StoreError};

use crate::clock::Clock;
use crate::error::OpenError;
use crate::lease::{self, LeaseWait};
use crate::log::{record, status_row};
use crate::reader;

/// Largest piece of an original that is kept as one, in bytes.
const PIECE_BYTES_MAX: usize = 32 * 1024 * 1024;
/// How often another name is tried, if the first one belongs to something else.
const NAMES_MAX: usize = 4;
/// Letters of a digest that make a name.
const NAME_LETTERS: usize = 16;
/// What is said of a turn whose file ends in the middle of it.
const ENDS_HERE: &str = "the imported session ends here";

/// What became of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// A new conversation has it.
    New(ConversationId),
    /// It was taken over before.
    Known(ConversationId),
}

/// Why a history was not taken over. Nothing of it is recorded.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The conversation cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The journal refused.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// Every name that it could have belongs to another conversation.
    #[error("all names for this conversation belong to others")]
    NoName,
}

impl From<StoreError> for WriteError {
    fn from(error: StoreError) -> Self {
        Self::Open(error.into())
    }
}

/// A history to be taken over.
#[derive(Clone, Copy, Debug)]
pub struct TakeOver<'a> {
    /// What was said.
    pub history: &'a History,
    /// What it was read from, byte for byte.
    pub original: &'a [u8],
    /// The directory that the conversation works in from now on.
    pub workspace: &'a Path,
}

/// The conversation that has what this digest is of, if it was taken over.
pub async fn known(
    journal: &dyn Journal,
    digest: &Digest,
) -> Result<Option<ConversationId>, StoreError> {
    for name in names(digest) {
        if journal.status(&name).await?.is_none() {
            return Ok(None);
        }
        if is_of(journal, &name, digest).await? {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// Takes a history over, once.
pub async fn write(
    journal: &dyn Journal,
    clock: &dyn Clock,
    take: TakeOver<'_>,
) -> Result<Written, WriteError> {
    let digest = &take.history.source.digest;
    for name in names(digest) {
        let host = "localhost".to_owned();
        let holder = Holder { pid: std::process::id(), host, since: clock.now() };
        let lease = lease::acquire(journal, &name, holder, LeaseWait::default()).await;
        let lease = lease.map_err(OpenError::from)?;
        if journal.status(&name).await?.is_some() {
            journal.release(lease).await?;
            if is_of(journal, &name, digest).await? {
                return Ok(Written::Known(name));
            }
            continue;
        }
        // Everything that entries refer to is durable before them.
        let mut originals = Vec::new();
        for piece in take.original.chunks(PIECE_BYTES_MAX) {
            originals.push(ImportPiece { blob: journal.put_blob(piece).await? });
        }
        let files = keep_files(journal, take.history).await?;
        let mut scribe = Scribe::new(clock.now(), digest, files);
        scribe.write(take, originals);
        let batch = Batch {
            name: CommitName::fresh(),
            expected: Seq::default(),
            records: scribe.entries.iter().map(record).collect(),
            status: status_row(&scribe.state),
            durability: Durability::Synced,
        };
        journal.append(&lease, batch).await?;
        journal.release(lease).await?;
        return Ok(Written::New(name));
    }
    Err(WriteError::NoName)
}

/// The names that content may have: made from pieces of its digest.
fn names(digest: &Digest) -> impl Iterator<Item = ConversationId> {
    let digest = digest.as_str().to_owned();
    (0..NAMES_MAX).filter_map(move |place| {
        let begin = place * NAME_LETTERS;
        let letters = digest.get(begin..begin + NAME_LETTERS)?;
        u64::from_str_radix(letters, 16).ok().map(ConversationId::from_chance)
    })
}

/// Whether a conversation was taken over from this content. Its second entry says so.
async fn is_of(
    journal: &dyn Journal,
    conversation: &ConversationId,
    digest: &Digest,
) -> Result<bool, StoreError> {
    let records = journal.read(conversation, Seq(1), 1).await?;
    let Some(entry) = records.first().map(reader::entry) else { return Ok(false) };
    let Event::ConversationImported { source, .. } = entry.event else { return Ok(false) };
    Ok(source.digest == *digest)
}

/// Keeps all files of a history, in the order in which they come.
async fn keep_files(journal: &dyn Journal, history: &History) -> Result<Vec<BlobRef>, StoreError> {
    let mut kept = Vec::new();
    for file in files(history) {
        kept.push(journal.put_blob(&file.content).await?);
    }
    Ok(kept)
}

fn files(history: &History) -> impl Iterator<Item = &PastFile> {
    let items = history.turns.iter().flat_map(|turn| &turn.items);
    items.flat_map(|item| -> Vec<&PastFile> {
        match item {
            PastItem::Said { parts, .. } => parts
                .iter()
                .filter_map(|part| match part {
                    PastPart::File(file) => Some(file),
                    PastPart::Text(_) => None,
                })
                .collect(),
            PastItem::Answer(answer) => {
                let results = answer.calls().filter_map(|call| call.result.as_ref());
                results.flat_map(|result| &result.files).collect()
            }
            PastItem::Failed { .. } => Vec::new(),
        }
    })
}

/// Writes down what happened, in the order in which it did.
struct Scribe {
    /// When it is taken over.
    now: Timestamp,
    /// When the last thing happened there.
    at: Timestamp,
    digest: Digest,
    files: std::vec::IntoIter<BlobRef>,
    entries: Vec<Entry>,
    state: State,
    messages: u32,
}

impl Scribe {
    fn new(now: Timestamp, digest: &Digest, files: Vec<BlobRef>) -> Self {
        Self {
            now,
            at: now,
            digest: digest.clone(),
            files: files.into_iter(),
            entries: Vec::new(),
            state: State::default(),
            messages: 0,
        }
    }

    fn push(&mut self, event: Event) {
        let entry = Entry { seq: self.state.end.next(), at: self.at, event };
        self.state.apply(&entry);
        self.entries.push(entry);
    }

    /// Moves on to when something happened. Time does not go back, and not ahead of now.
    fn move_to(&mut self, at: Option<Timestamp>) {
        self.at = at.unwrap_or(self.at).clamp(self.at.min(self.now), self.now);
    }

    fn write(&mut self, take: TakeOver<'_>, originals: Vec<ImportPiece>) {
        let history = take.history;
        let times = history.turns.iter().flat_map(|turn| &turn.items).filter_map(time);
        let first = times.min().unwrap_or(self.now).min(self.now);
        self.at = first;
        self.push(Event::ConversationOpened {
            workspace: take.workspace.to_string_lossy().into_owned(),
            title: history.title.clone().filter(|title| !title.trim().is_empty()),
            origin: None,
            parent: None,
        });
        self.at = self.now;
        let more = history.remarks.len().saturating_sub(REMARKS_MAX);
        self.push(Event::ConversationImported {
            source: history.source.clone(),
            remarks: history.remarks.iter().take(REMARKS_MAX).cloned().collect(),
            more: u64::try_from(more).unwrap_or(u64::MAX),
            originals,
        });
        self.at = first;
        for turn in &history.turns {
            self.turn(turn);
        }
    }

    fn turn(&mut self, turn: &PastTurn) {
        let id = self.state.next_turn();
        self.move_to(turn.items.first().and_then(time));
        self.push(Event::TurnStarted { turn: id, agent: None });
        let mut attempt = Attempt::FIRST;
        for item in &turn.items {
            self.move_to(time(item));
            match item {
                PastItem::Said { parts, .. } => self.said(parts),
                PastItem::Answer(answer) => {
                    self.answer(id, answer, attempt);
                    attempt = Attempt::FIRST;
                }
                PastItem::Failed { message, model, .. } => {
                    self.ask(model.as_ref(), attempt);
                    attempt = attempt.next();
                    self.push(failed(message));
                }
            }
        }
        match &turn.end {
            PastEnd::Completed => self.push(Event::TurnEnded { turn: id, end: TurnEnd::Completed }),
            PastEnd::Left => self.push(Event::TurnEnded { turn: id, end: TurnEnd::Stopped }),
            PastEnd::Open { why } => self.push(Event::TurnBroke {
                turn: id,
                reason: if why.is_some() {
                    BreakReason::ApiError
                } else {
                    BreakReason::Interrupted
                },
                message: why.clone().unwrap_or_else(|| ENDS_HERE.to_owned()),
            }),
        }
        if let Some(summary) = &turn.summary {
            self.push(Event::Compacted { summary: summary.clone(), through: id });
        }
    }

    fn said(&mut self, parts: &[PastPart]) {
        self.messages += 1;
        let digest: String = self.digest.as_str().chars().take(10).collect();
        let parts = parts.iter().map(|part| match part {
            PastPart::Text(text) => UserPart::Text { text: text.clone() },
            PastPart::File(file) => {
                let OutputFile { name, media_type, blob } = self.file(file);
                UserPart::File { name, media_type, blob }
            }
        });
        let parts = parts.collect();
        let message = MessageId::new(format!("{digest}-{}", self.messages));
        self.push(Event::UserMessage { message, parts, attempt: Attempt::FIRST });
    }

    /// A file, with where it is kept. They are asked for in the order in which they were kept.
    fn file(&mut self, file: &PastFile) -> OutputFile {
        let nowhere = || BlobRef { digest: Digest::new(""), bytes: 0 };
        let blob = self.files.next().unwrap_or_else(nowhere);
        let plain = |letter: char| if letter.is_control() { '_' } else { letter };
        let name = file.name.chars().map(plain).collect();
        OutputFile { name, media_type: file.media_type.clone(), blob }
    }

    fn ask(&mut self, model: Option<&ModelRef>, attempt: Attempt) -> u32 {
        let step = self.state.open_turn().map_or(1, piton_core::state::Turn::next_step);
        let unnamed = || ModelRef { provider: "imported".to_owned(), model: "unknown".to_owned() };
        self.push(Event::ModelAsked {
            step,
            attempt,
            model: model.cloned().unwrap_or_else(unnamed),
            // Nobody here made the request.
            digest: Digest::new("imported"),
            tokens_estimated: 0,
        });
        step
    }

    fn answer(&mut self, turn: TurnId, answer: &PastAnswer, attempt: Attempt) {
        let step = self.ask(answer.model.as_ref(), attempt);
        let mut index = 0;
        let parts = answer.parts.iter().map(|part| match part {
            PastAnswerPart::Text(text) => AnswerPart::Text { text: text.clone() },
            PastAnswerPart::Reasoning(text) => AnswerPart::Reasoning { text: text.clone() },
            PastAnswerPart::Call(call) => {
                let id = CallId { turn, step, index };
                index += 1;
                AnswerPart::Call {
                    call: id,
                    provider_id: call.id.clone(),
                    name: call.tool.clone(),
                    arguments: call.arguments.clone(),
                }
            }
        });
        let parts: Vec<_> = parts.collect();
        let finish = if index == 0 { FinishReason::Stop } else { FinishReason::ToolCalls };
        let (usage, dropped) = (Usage::default(), Vec::new());
        self.push(Event::ModelAnswered { parts, finish, usage, dropped, native: None });
        for (index, call) in (0..).zip(answer.calls()) {
            self.call(CallId { turn, step, index }, call);
        }
    }

    fn call(&mut self, id: CallId, call: &PastCall) {
        let effect = EffectClass::Once;
        self.push(Event::ToolStarted { call: id, effect, handle: Handle::None });
        let (outcome, output) = match &call.result {
            Some(result) => {
                self.move_to(result.at);
                let files = result.files.iter().map(|file| self.file(file)).collect();
                let outcome = if result.failed { Outcome::Failed } else { Outcome::Ok };
                let text = result.text.clone();
                (outcome, ToolOutput { files, ..ToolOutput::text(text) })
            }
            None => (Outcome::Unknown, ToolOutput::text(UNKNOWN_TEXT)),
        };
        self.push(Event::ToolFinished { call: id, outcome, output });
    }
}

/// When something happened, if that is known.
fn time(item: &PastItem) -> Option<Timestamp> {
    match item {
        PastItem::Said { at, .. } | PastItem::Failed { at, .. } => *at,
        PastItem::Answer(answer) => answer.at,
    }
}

fn failed(message: &str) -> Event {
    Event::ModelFailed {
        class: FailureClass::Unknown,
        message: message.to_owned(),
        retry_after_ms: None,
        bytes_received: 0,
        jitter_permille: 0,
        rejected: None,
        outage_ms_max: None,
        detail: None,
    }
}
