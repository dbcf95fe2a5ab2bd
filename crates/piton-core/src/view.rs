//! What faces show: one type with everything, and how it moves.
//!
//! [`View`] is a picture of the fold at one entry, its cursor. [`ViewChange`] is how the picture
//! moves with the next entry: plain data, which a face applies without a journal or a state. [`Live`]
//! is what no entry holds yet. All three are serialisable, and described in `docs/view.md`.
//!
//! A face imports from here only. Events stay private to the engine: their types that are also part
//! of a view are exported again below. Nothing here knows a screen.

mod allowance;
mod apply;
mod call;
mod change;
mod conversation;
mod edit;
mod live;
mod next;
mod status;
mod turn;
mod words;

pub use self::allowance::Allowance;
pub use self::apply::Refused;
pub use self::call::{Always, Answer, CallState, CallView, FileChange, QuestionView, ResultView};
pub use self::change::{Patch, ViewChange};
pub use self::conversation::{
    Asking, Context, Covered, Head, ImportedView, QueuedView, SummingUp, UndoView, VIEW_VERSION,
    View,
};
pub use self::edit::EditView;
pub use self::live::{Live, LiveCall, LiveStep};
pub use self::next::Next;
pub use self::status::Status;
pub use self::turn::{
    AttemptView, ContextView, FailureView, Halt, ItemView, Kept, MessagePart, MessageView,
    OutageView, PartView, StepState, StepView, TurnHead, TurnView,
};
pub use self::words::{answer_text, said, title};
pub use crate::decide::calls::UNKNOWN_TEXT;
pub use crate::event::{
    About, BlobRef, BreakReason, Choice, Diff, EffectClass, Effort, FailureClass, FilePreview,
    FinishReason, ForkOrigin, Found, Grants, ImportPiece, ImportRemark, ImportSource,
    InquiryAnswer, InquiryKind, ModelRef, Outcome, ParentCall, PartialKind, PermissionMode,
    PermissionRule, Preview, Price, RuleEffect, RuleScope, Shape, TurnEnd, UndoOutcome, Usage,
    Wants,
};
pub use crate::permit::{Part, Width};
pub use crate::state::ModelUsage;
pub use crate::tasks::{Task, TaskStatus};
