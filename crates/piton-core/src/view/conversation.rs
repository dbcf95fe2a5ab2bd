//! A conversation as faces show it.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::allowance::Allowance;
use super::call::{Place, QuestionView, needs_person};
use super::next::{self, Next};
use super::status::Status;
use super::turn::{MessagePart, TurnView};
use super::words::title;
use crate::event::{
    Effort, ForkOrigin, ImportRemark, ImportSource, Limits, ModelRef, ParentCall, PermissionMode,
    QueuePlace, TurnEnd, UndoIntent, UndoOutcome, Usage,
};
use crate::id::{CallId, DriverId, InquiryId, MessageId, Seq, StepId, Timestamp, TurnId};
use crate::state::{AskedPiece, Cut, Imported, ModelUsage, Overlay, Queued, State, Undone};
use crate::tasks::Task;

/// Version of the form in which a view is written as data. Fields may be added under the same
/// version; whatever else changes raises it.
pub const VIEW_VERSION: u32 = 1;

/// All there is to show of a conversation, as of one entry of its journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct View {
    /// Version of this form.
    pub v: u32,
    /// The last entry that it holds.
    pub cursor: Seq,
    /// What is known of the conversation as a whole.
    pub head: Head,
    /// Turns in order, the open one last. Discarded ones are among them, and not to be shown.
    pub turns: Vec<TurnView>,
    /// Turns that a retry of an earlier message superseded: hidden, kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub superseded: Vec<TurnView>,
    /// Messages that wait for the open turn to complete, in the order in which they will run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queue: Vec<QueuedView>,
    /// Changes of files that a person took back, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undos: Vec<UndoView>,
    /// The summary that the model sees in place of the oldest turns. The turns stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covered: Option<Covered>,
    /// Entries that did not fit, and changed nothing.
    pub strays: u64,
    /// Entries of kinds that this build does not know.
    pub unknown: u64,
}

/// What is known of a conversation as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Head {
    /// The given title, or the first words of the first message.
    pub title: String,
    /// The directory that tools are confined to.
    pub workspace: String,
    /// The conversation that it was cut from, and where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<ForkOrigin>,
    /// Whether that one is gone, with what was said there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub origin_gone: bool,
    /// The call that it works for, if it is a worker's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentCall>,
    /// The program that it was taken over from, and what was mended then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<ImportedView>,
    /// Who answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelRef>,
    /// What runs without asking.
    pub mode: PermissionMode,
    /// How much the model should think.
    pub effort: Effort,
    /// What the open turn waits for.
    pub status: Status,
    /// The turn that is not over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<TurnId>,
    /// Who drove last. Whether that driver is still there is not a fact of the journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<DriverId>,
    /// Tokens of all answers.
    pub usage: Usage,
    /// The same by the model that answered, in the order in which they first did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub used: Vec<ModelUsage>,
    /// What a turn may use.
    #[serde(default)]
    pub allowance: Allowance,
    /// How full the model's window is.
    pub context: Context,
    /// Questions that wait for an answer, in the order in which they were raised.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asking: Vec<Asking>,
    /// What a person can do next.
    pub next: Vec<Next>,
    /// What a model is summing up, if one is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summing_up: Option<SummingUp>,
    /// When a turn last began or ended.
    pub touched: Timestamp,
}

/// Where a conversation of another program came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ImportedView {
    /// The file and the program that wrote it.
    pub source: ImportSource,
    /// What was mended, left out or noted, in the order of the file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<ImportRemark>,
    /// How many more remarks there were.
    pub more: u64,
    /// When it was taken over.
    pub at: Timestamp,
}

/// A part that a model is summing up, to make room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct SummingUp {
    /// Estimated size of the request for which room is made, in tokens.
    pub tokens: u64,
    /// Since when.
    pub since: Timestamp,
}

/// How full the model's window is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Context {
    /// Tokens of the newest request: estimated, and corrected by what the provider counted before.
    pub tokens: u64,
    /// What that is a part of: what a person set as the most, else the model's window; 0 if neither is
    /// known.
    pub tokens_max: u64,
}

/// A question that waits, by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Asking {
    /// The question.
    pub question: InquiryId,
    /// The call it is about; the question stands there.
    pub call: CallId,
}

/// A message that waits for the open turn to complete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct QueuedView {
    /// Its name.
    pub id: MessageId,
    /// Text and files, in order.
    pub parts: Vec<MessagePart>,
    /// What it waits for.
    pub place: QueuePlace,
    /// When it was queued.
    pub at: Timestamp,
}

/// A change of a file that a person took back, or wanted to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct UndoView {
    /// The change, by the name under which it is kept.
    pub change: String,
    /// The file, relative to its workspace.
    pub path: String,
    /// Whether the change had been taken back before, and was made again.
    pub again: bool,
    /// What became of it; absent as long as nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<UndoOutcome>,
    /// More about it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// When it was wanted.
    pub at: Timestamp,
}

/// A summary in place of the oldest turns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Covered {
    /// The last turn that it covers whole; 0 if there is none.
    pub through: TurnId,
    /// The last step that it covers of a turn behind that; the messages of that turn are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<StepId>,
    /// What the model sees.
    pub summary: Arc<str>,
    /// How many parts of it a model wrote; the rest was put together from the journal.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pieces: u32,
    /// Why the model was of no use for it, in words behind "the model's summary", if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// Estimated size of the next request before it was made, in tokens; 0 if nobody said.
    #[serde(default)]
    pub tokens_before: u64,
    /// And behind it.
    #[serde(default)]
    pub tokens_after: u64,
    /// When it was made.
    pub at: Timestamp,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands in a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Default for View {
    /// The view of a conversation that has not begun.
    fn default() -> Self {
        Self::from(&State::default())
    }
}

impl From<&State> for View {
    fn from(state: &State) -> Self {
        let present = state.turns.iter().map(|turn| TurnView::of(Place::Present(state, turn)));
        let past = state.superseded.iter().map(|turn| TurnView::of(Place::Past(turn)));
        Self {
            v: VIEW_VERSION,
            cursor: state.end,
            head: Head::from(state),
            turns: present.collect(),
            superseded: past.collect(),
            queue: state.queue.iter().map(QueuedView::from).collect(),
            undos: state.undos.iter().map(UndoView::from).collect(),
            covered: state.overlay.as_ref().map(Covered::from),
            strays: state.strays,
            unknown: state.unknown,
        }
    }
}

impl View {
    /// The turns that are shown: all but the discarded ones.
    pub fn shown(&self) -> impl DoubleEndedIterator<Item = &TurnView> {
        self.turns.iter().filter(|turn| turn.head.end != Some(TurnEnd::Discarded))
    }

    /// The turn that is not over.
    pub fn open_turn(&self) -> Option<&TurnView> {
        let open = self.head.open?;
        self.turns.iter().rev().find(|turn| turn.head.id == open)
    }

    /// The turn that begins next.
    pub fn next_turn(&self) -> TurnId {
        let last = self.turns.iter().chain(&self.superseded).map(|turn| turn.head.id.0).max();
        TurnId(last.unwrap_or(0) + 1)
    }

    /// The task list as it is now, the newest that a shown turn has written; empty if there is none.
    pub fn tasks(&self) -> &[Task] {
        let mut calls = self.shown().rev().flat_map(|turn| turn.calls().rev());
        calls.find(|call| call.lists_tasks()).map_or(&[], |call| call.tasks.as_slice())
    }

    /// A question of the last turn, open or answered.
    pub fn question(&self, id: &InquiryId) -> Option<&QuestionView> {
        let mut steps = self.turns.last()?.steps().rev();
        steps.find_map(|step| {
            let mut questions = step.calls.iter().flat_map(|call| &call.questions);
            questions.find(|question| question.id == *id)
        })
    }

    /// The questions that wait for an answer, in order.
    pub fn open_questions(&self) -> impl Iterator<Item = &QuestionView> {
        self.head.asking.iter().filter_map(|asking| self.question(&asking.question))
    }
}

impl From<&State> for Head {
    fn from(state: &State) -> Self {
        let opened = state.opened.as_ref();
        let turn = state.open_turn();
        let asking = turn.into_iter().flat_map(|turn| {
            turn.pending_inquiries().filter(|inquiry| {
                turn.call(inquiry.call).is_some_and(|call| needs_person(state, call, inquiry))
            })
        });
        Self {
            title: title(state),
            workspace: state.workspace().to_owned(),
            origin: opened.and_then(|opened| opened.origin.clone()),
            origin_gone: state.origin_gone,
            parent: opened.and_then(|opened| opened.parent.clone()),
            imported: state.imported.as_ref().map(ImportedView::from),
            model: state.config.model.clone(),
            mode: state.config.permissions.mode,
            effort: state.config.effort,
            status: Status::of(state),
            open: turn.map(|turn| turn.id),
            driver: state.driver.as_ref().map(|driver| driver.id.clone()),
            usage: state.usage,
            used: state.used.clone(),
            allowance: Allowance::from(state),
            context: Context::from(state),
            asking: asking
                .map(|inquiry| Asking { question: inquiry.id.clone(), call: inquiry.call })
                .collect(),
            next: next::of(state),
            summing_up: state.summing.asked.map(|asked| {
                let AskedPiece { tokens_before: tokens, at: since, .. } = asked;
                SummingUp { tokens, since }
            }),
            touched: state.touched,
        }
    }
}

impl From<&State> for Context {
    fn from(state: &State) -> Self {
        let (estimated, permille) = (state.context_estimated, state.calibration.permille());
        let tokens = permille.map_or(estimated, |it| estimated.saturating_mul(it) / 1_000);
        let Limits { context_tokens_max: set, .. } = state.config.limits;
        let window = || state.window().map_or(0, |window| window.tokens);
        let tokens_max = if set == 0 { window() } else { set };
        Self { tokens, tokens_max }
    }
}

impl From<&Imported> for ImportedView {
    fn from(imported: &Imported) -> Self {
        let Imported { source, remarks, more, at, .. } = imported.clone();
        Self { source, remarks, more, at }
    }
}

impl From<&Queued> for QueuedView {
    fn from(queued: &Queued) -> Self {
        let parts = queued.parts.iter().map(MessagePart::from).collect();
        Self { id: queued.message.clone(), parts, place: queued.place, at: queued.at }
    }
}

impl From<&Undone> for UndoView {
    fn from(undone: &Undone) -> Self {
        let Undone { intent, outcome, text, at } = undone.clone();
        let UndoIntent { change, path, again, .. } = intent;
        Self { change, path, again, outcome, text, at }
    }
}

impl From<&Overlay> for Covered {
    fn from(overlay: &Overlay) -> Self {
        let Overlay { summary, cut, pieces, fault, tokens_before, tokens_after, at, .. } =
            overlay.clone();
        let (Cut { through, within }, fault) = (cut, fault.map(|why| why.in_words().to_owned()));
        Self { through, within, summary, pieces, fault, tokens_before, tokens_after, at }
    }
}
