//! What can happen: the facts of a conversation, as stored.
//!
//! This is the one file whose edits are reviewed for stored-data compatibility. Names are past facts. A released
//! variant is frozen: new fields are optional, old ones stay. An unknown kind is kept: another build may know it.

mod about;
mod command;
mod config;
mod context;
mod cost;
mod imported;
mod inquiry;
mod message;
mod model;
mod shelf;
mod summary;
mod tool;
mod undo;
mod verbatim;

use std::sync::Arc;

pub use piton_permit::{
    ArgumentRole, Grants, NotAMode, PermissionMode, PermissionRule, Permissions, RuleEffect,
    RuleScope,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

pub use self::about::{
    ARGUMENT_BYTES_MAX, ARGUMENTS_BYTES_MAX, About, DIFF_BYTES_MAX, Diff, FilePreview, Found,
    HookVerdict, Preview,
};
pub use self::command::{QueuePlace, Refusal};
pub use self::config::{
    ConfigChange, Effort, InDoubtPolicy, Limits, ModelRef, NotAModel, NotAnEffort, QUEUE_MAX,
    SCRIPT, Window, WindowSource,
};
pub use self::context::ContextItem;
pub use self::cost::{CostLimit, Price};
pub use self::imported::{ImportPiece, ImportRemark, ImportSource, REMARK_BYTES_MAX, REMARKS_MAX};
pub use self::inquiry::{BY_POLICY, Choice, Inquiry, InquiryAnswer, InquiryKind, Shape, Wants};
pub use self::message::{QueueChange, UserPart};
pub use self::model::{
    AnswerPart, FailureClass, FinishReason, Native, PartialKind, Rejected, Usage,
};
pub use self::shelf::Shelf;
pub use self::summary::{Cut, Range, ShortOutput, SummaryFault};
pub(crate) use self::tool::split_notes;
pub use self::tool::{
    BlobRef, EffectClass, FileEdit, Handle, Outcome, OutputFile, ToolOutput, ToolSpec,
};
pub use self::undo::{UndoIntent, UndoOutcome};
pub use self::verbatim::Verbatim;
use crate::id::{
    Attempt, CallId, CommandId, ConversationId, Digest, DriverId, Epoch, InquiryId, MessageId, Seq,
    StepId, Timestamp, TurnId,
};

/// Version of the stored form. A reader keeps entries of a higher version as [`Event::Unknown`].
pub const EVENT_FORMAT: u16 = 1;

/// An event with its place and time.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its position in the journal.
    pub seq: Seq,
    /// When it was appended.
    pub at: Timestamp,
    /// What happened.
    pub event: Event,
}

/// A fact of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum Event {
    /// The conversation exists. A fork names its origin and shares that prefix by reference.
    ConversationOpened {
        /// The directory that tools are confined to.
        workspace: String,
        /// A title for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// Where a fork was cut.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<ForkOrigin>,
        /// The call that it works for, if it is a worker's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<ParentCall>,
    },
    /// Configuration changed from here on. Configuration is part of the turn: a resumed turn has
    /// the model, tools and limits it was started with.
    ConfigChanged {
        /// Only what differs.
        change: ConfigChange,
    },
    /// A driver took over: what was in flight is lost (a request) or in doubt (a tool). The only crash detector.
    DriverStarted {
        /// Its name.
        driver: DriverId,
        /// The fencing number of its lease.
        epoch: Epoch,
        /// The machine it runs on.
        host: String,
        /// The boot of that machine; a process id means nothing after a reboot.
        boot: String,
        /// Its process.
        pid: u32,
    },
    /// A turn begins. Its user message follows in the same commit.
    TurnStarted {
        /// The turn.
        turn: TurnId,
        /// Who answers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
    },
    /// What piton tells the model with the first message of a turn, beside what the user said: the date, the
    /// directory, files of instructions that changed. In the same commit as the turn's beginning, and
    /// in front of its message; a resumed request repeats it. Without it, nothing is told.
    ContextAdded {
        /// The turn.
        turn: TurnId,
        /// What is told, in this order.
        items: Vec<ContextItem>,
    },
    /// The user said something. In an open turn with work behind it, it is injected after that
    /// work. A retry repeats the id with a higher attempt and replaces the parts.
    UserMessage {
        /// The message.
        message: MessageId,
        /// What it consists of.
        parts: Vec<UserPart>,
        /// Which try of this message.
        attempt: Attempt,
    },
    /// A person asked to go on with a broken turn. Grants fresh allowances of steps and failures;
    /// a mere restart of the driver does not.
    TurnResumed {
        /// The turn.
        turn: TurnId,
    },
    /// A model request is about to leave; durable before it does.
    ModelAsked {
        /// The step of the open turn, from 1.
        step: u32,
        /// Which try of this step.
        attempt: Attempt,
        /// Who is asked.
        model: ModelRef,
        /// Digest of the request, to prove that a resumed request is the same.
        digest: Digest,
        /// Estimated size of the request, in tokens.
        tokens_estimated: u64,
    },
    /// A piece of the answer as it streams, flushed in bounded time and size. Superseded by the
    /// answer. Never tool arguments.
    ModelPartial {
        /// Text or reasoning.
        kind: PartialKind,
        /// The piece.
        text: Arc<str>,
    },
    /// The model answered. Exists only for a stream that reached its end mark.
    ModelAnswered {
        /// Text, reasoning and calls, in stream order.
        parts: Vec<AnswerPart>,
        /// Why the stream ended.
        finish: FinishReason,
        /// Tokens it cost.
        usage: Usage,
        /// Names of calls that were cut off by the output limit. They are not executed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        dropped: Vec<String>,
        /// Provider-native blocks needed to continue with the same provider.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        native: Option<Native>,
    },
    /// A model request failed: one per failed attempt, visible to every face.
    ModelFailed {
        /// What kind of failure.
        class: FailureClass,
        /// What the provider or transport said, short.
        message: String,
        /// How long the provider asked to wait, in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after_ms: Option<u64>,
        /// How much of the stream had arrived.
        bytes_received: u64,
        /// Chance for the back-off, 0 to 999. Recorded, so that the time of the next try is a fact.
        jitter_permille: u16,
        /// Native blocks of earlier answers that were refused, if that was the reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rejected: Option<Rejected>,
        /// How long an outage is waited for without counting tries, in milliseconds, if nobody could be
        /// reached. Absent: somebody was, or the failure counts like any other.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        outage_ms_max: Option<u64>,
        /// What the libraries below said. For whoever reads the journal; no face shows it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
    /// Native blocks that a provider refused are not sent any more. The answers they came with stay,
    /// and so do the blocks, in their entries.
    HistoryRepaired {
        /// The steps whose answers go without.
        steps: Vec<StepId>,
    },
    /// A person is asked. State, not a message: any face finds it again.
    InquiryRaised {
        /// The question.
        inquiry: Inquiry,
    },
    /// A person (or a rule) answered. The first answer counts.
    InquiryAnswered {
        /// Which question.
        inquiry: InquiryId,
        /// The answer; secrets are never stored.
        answer: InquiryAnswer,
        /// Who answered.
        by: String,
        /// The letter that brought it from another process, so that its sender learns that it was taken.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        letter: Option<String>,
        /// Whether rules that came with it decide on the call. Then it runs as those rules say.
        #[serde(default, skip_serializing_if = "inquiry::is_false")]
        by_rule: bool,
    },
    /// A tool is about to run. Synced before it is touched: without a finish the effect is unknown, never absent.
    ToolStarted {
        /// The call.
        call: CallId,
        /// How its outcome can be settled after a crash.
        effect: EffectClass,
        /// What is needed to settle it.
        #[serde(default, skip_serializing_if = "Handle::is_none")]
        handle: Handle,
    },
    /// A tool cannot go on without answers, and has done nothing that may not be done again: it runs
    /// again from scratch when its questions are answered. Durable together with the questions.
    /// Without it, a start without a finish leaves the call in doubt.
    ToolSuspended {
        /// The call.
        call: CallId,
    },
    /// A tool ended; durable as soon as this one ends, whatever its siblings do. The first one
    /// counts, later ones are strays.
    ToolFinished {
        /// The call.
        call: CallId,
        /// How it ended.
        outcome: Outcome,
        /// What it printed.
        output: ToolOutput,
    },
    /// The turn is over. Completeness is a recorded fact, not a guess.
    TurnEnded {
        /// The turn.
        turn: TurnId,
        /// In which way.
        end: TurnEnd,
    },
    /// The driver gave up for now. Informative: its absence, as after `kill -9`, changes nothing.
    TurnBroke {
        /// The turn.
        turn: TurnId,
        /// Why.
        reason: BreakReason,
        /// More about it, for people.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        message: String,
    },
    /// A message is tried again. Later entries of the old attempt are superseded: hidden, kept.
    MessageRetried {
        /// The message.
        message: MessageId,
        /// The new attempt.
        attempt: Attempt,
    },
    /// A summary lies over a range of entries; the entries stay.
    Compacted {
        /// What the model sees instead.
        summary: Arc<str>,
        /// The last turn it covers, counted from the first.
        through: TurnId,
    },
    /// A message waits for the open turn.
    MessageQueued {
        /// The message.
        message: MessageId,
        /// What it consists of.
        parts: Vec<UserPart>,
        /// What it waits for.
        #[serde(default, skip_serializing_if = "QueuePlace::is_next")]
        place: QueuePlace,
    },
    /// A waiting message was taken back.
    MessageUnqueued {
        /// The message.
        message: MessageId,
    },
    /// Something about a waiting message changed: what it says, what it waits for, or which other ones go
    /// before it. Without this fact it is as it was queued.
    MessageRequeued {
        /// The message.
        message: MessageId,
        /// What changed.
        change: QueueChange,
    },
    /// The conversation that a call was handed to waits for a person, and nobody works on the call.
    /// The next driver looks again. Without this fact the call counts as running until then.
    CallParked {
        /// The call.
        call: CallId,
        /// What is asked there.
        question: String,
    },
    /// Who does the work of a running call, and how to ask about it, became known while it ran; or is
    /// no longer known. Durable before anybody waits for that work. Without it the call is settled by
    /// what was recorded at its start.
    CallTracked {
        /// The call.
        call: CallId,
        /// What settles it from now on.
        #[serde(default, skip_serializing_if = "Handle::is_none")]
        handle: Handle,
    },
    /// An answer was read as a plan: these are calls of its step, as if the model had asked for them.
    /// In the same commit as the answer, or decided again from it.
    CallsPlanned {
        /// The step of the open turn.
        step: u32,
        /// The calls, in order.
        calls: Vec<PlannedCall>,
    },
    /// Messages that were held back may begin their turns. Until the next turn ends, or is left.
    QueueReleased,
    /// A command was obeyed. In the same commit as the facts that it caused, in front of them.
    CommandTaken {
        /// The command.
        command: CommandId,
        /// The letter that brought it, if it came from another process.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        letter: Option<String>,
    },
    /// A command was refused, for good: sent again, it is refused again.
    CommandRefused {
        /// The command.
        command: CommandId,
        /// Why.
        refusal: Refusal,
        /// The letter that brought it, if it came from another process.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        letter: Option<String>,
    },
    /// The conversation has another title.
    TitleGiven {
        /// The title.
        title: String,
    },
    /// Tools work in another directory from here on. Never while a call is in doubt.
    WorkspaceBound {
        /// The directory.
        workspace: String,
    },
    /// Old outputs of tools are sent shortened from here on, because the request was too large. Durable
    /// before the next request. The text of each is fixed here, so that later requests begin alike; the
    /// whole outputs stay in their entries. Without this fact they are sent whole.
    OutputsShortened {
        /// The outputs, each shorter than what was sent of it before.
        outputs: Vec<ShortOutput>,
    },
    /// A summary lies over everything before a cut: whole turns, and finished steps of the turn behind them;
    /// messages of that turn are not covered. The entries stay. Durable before the next request. The text is
    /// fixed here, so that later requests begin alike. Without this fact everything is sent.
    SummaryLaid {
        /// What the model sees instead.
        summary: Arc<str>,
        /// The last turn that is covered whole; 0 if none is.
        through: TurnId,
        /// The last step that is covered of a turn behind that.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        within: Option<StepId>,
        /// Estimated size of the next request before, in tokens.
        tokens_before: u64,
        /// And behind it.
        tokens_after: u64,
        /// How many parts of it a model wrote; the rest was put together from the journal.
        #[serde(default, skip_serializing_if = "summary::is_zero")]
        pieces: u32,
    },
    /// A person wants the older part summed up now. Over when a summary is laid, when nobody waits for it any
    /// more, or when the next turn begins.
    SummaryWanted {
        /// What it should tell above all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        focus: Option<Arc<str>>,
    },
    /// A model is about to be asked to sum up a part; durable before the request leaves. Without an answer or
    /// a failure behind it, and with another driver, the request is lost and made again.
    SummaryAsked {
        /// The part.
        range: Range,
        /// Who is asked.
        model: ModelRef,
        /// Digest of the request, to prove that a repeated one is the same.
        digest: Digest,
        /// Estimated size of that request, in tokens.
        tokens_estimated: u64,
        /// Estimated size of the conversation's next request, for which room is made, in tokens.
        tokens_before: u64,
    },
    /// The model summed it up, and the text is of use: for every later summary, as long as the part is the same.
    SummaryAnswered {
        /// What it wrote.
        text: Arc<str>,
        /// Tokens it cost.
        usage: Usage,
    },
    /// It did not, or the text is of no use. Asked once more for less; then the journal alone tells.
    SummaryFailed {
        /// Why.
        why: SummaryFault,
        /// More about it, for people.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        message: String,
        /// Tokens it cost.
        #[serde(default)]
        usage: Usage,
    },
    /// A person took the summary off: everything is sent again.
    SummaryLifted,
    /// A provider said how much its model takes, when it refused a request. Counts where it is less than known.
    WindowLearned {
        /// The model.
        model: ModelRef,
        /// What it takes, in tokens.
        tokens: u64,
    },
    /// A call that has not started was looked at: where it leads, and what it would change. Nothing was
    /// touched. Durable before the question that shows it, and before the start that was judged by it.
    /// Without it the call is judged by its arguments alone, or looked at again.
    CallLocated {
        /// The call.
        call: CallId,
        /// What was found.
        #[serde(default, skip_serializing_if = "Found::is_nothing")]
        found: Found,
    },
    /// A person takes a change of a file back. Synced before the file is touched; never while a turn is
    /// performed or a call is in doubt. Without an outcome behind it nobody knows whether it was done,
    /// and the next driver finds out before anything else.
    UndoStarted {
        /// What is meant, with what settles it after a crash.
        intent: UndoIntent,
    },
    /// What became of it. The first one counts. The model is told of one that was done in its next
    /// request.
    UndoFinished {
        /// The change.
        change: String,
        /// How it ended.
        outcome: UndoOutcome,
        /// More about it, for people.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
    },
    /// The conversation is kept elsewhere: lists show it there. A turn that begins brings it back. Without
    /// this fact it is listed.
    ConversationShelved {
        /// Where.
        shelf: Shelf,
    },
    /// The conversation was written by another program, and taken over. In one commit with everything that
    /// was read, right behind its beginning. Without it, the entries are piton's own.
    ConversationImported {
        /// Where it came from.
        source: ImportSource,
        /// What was mended, left out or noted, in the order of the file.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        remarks: Vec<ImportRemark>,
        /// How many more remarks there were.
        #[serde(default, skip_serializing_if = "is_none_more")]
        more: u64,
        /// What was read, byte for byte, in order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        originals: Vec<ImportPiece>,
    },
    /// A fact that this build does not know. Kept verbatim.
    #[serde(skip)]
    Unknown(UnknownEvent),
}

/// The stored bytes of an event of an unknown kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownEvent {
    /// Its type tag, if it had one.
    pub kind: String,
    /// The stored form.
    pub raw: Arc<str>,
}

/// Where a fork was cut from its origin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForkOrigin {
    /// The conversation it was cut from.
    pub conversation: ConversationId,
    /// The last entry that the fork shares.
    pub through: Seq,
}

/// The call that a worker's conversation works for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ParentCall {
    /// The conversation of the call.
    pub conversation: ConversationId,
    /// The call.
    pub call: CallId,
}

/// A call that the engine made of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedCall {
    /// Its name.
    pub call: CallId,
    /// The tool.
    pub name: String,
    /// Its arguments, as JSON.
    pub arguments: Arc<str>,
}

/// How a turn was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnEnd {
    /// The model gave its final answer.
    Completed,
    /// A person accepted what was there.
    Stopped,
    /// A person threw it away; hidden from the transcript, kept in the journal.
    Discarded,
}

/// Why a driver stopped before the end of the turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BreakReason {
    /// The model could not be reached, or refused, and the allowance is spent.
    ApiError,
    /// The model answered with nothing, twice.
    EmptyAnswer,
    /// The allowance of steps is spent.
    MaxSteps,
    /// A person interrupted.
    Interrupted,
    /// Another limit was reached: tokens, context, output length.
    Limit,
}

/// A stored type tag, read when the whole event cannot be.
#[derive(Deserialize)]
struct Tag<'a> {
    #[serde(rename = "type", borrow)]
    kind: std::borrow::Cow<'a, str>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_none_more(more: &u64) -> bool {
    *more == 0
}

impl Event {
    /// The stored form: one JSON object with a type tag.
    pub fn to_stored(&self) -> String {
        if let Self::Unknown(unknown) = self {
            return unknown.raw.to_string();
        }
        // Strings, numbers and lists of them cannot fail to serialise.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads a stored form. Total: what cannot be understood is kept as [`Event::Unknown`].
    pub fn from_stored(format: u16, stored: &str) -> Self {
        if format <= EVENT_FORMAT
            && let Ok(event) = serde_json::from_str(stored)
        {
            return event;
        }
        let kind = serde_json::from_str::<Tag<'_>>(stored)
            .map_or_else(|_| String::new(), |tag| tag.kind.into_owned());
        Self::Unknown(UnknownEvent { kind, raw: stored.into() })
    }

    /// The type tag and the rest, for faces that print events as data.
    pub fn to_raw(&self) -> Option<Box<RawValue>> {
        RawValue::from_string(self.to_stored()).ok()
    }
}
