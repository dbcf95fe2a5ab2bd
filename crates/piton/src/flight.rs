//! What a driver has in flight, and the channels on which it reaches the driver.
//!
//! These are fields of the driver. What the driver does with them is in `perform/`.

pub(crate) mod ask;
pub(crate) mod model;
pub(crate) mod progress;
pub(crate) mod summary;

use futures_util::future::BoxFuture;
use piton_core::id::CallId;
use piton_store::AppendError;
use piton_tools::Finished;

use self::model::ModelLanding;
use self::summary::SummaryLanding;
use crate::reader::CallEnd;

/// An effect that waits for its intent to be durable.
pub(crate) struct Launch {
    /// The call, if it is one.
    pub(crate) call: Option<CallId>,
    pub(crate) flight: BoxFuture<'static, Landing>,
}

/// What came back.
pub(crate) enum Landing {
    Model(ModelLanding),
    Summary(Box<SummaryLanding>),
    Tool(ToolLanding),
    /// A call waits for a person elsewhere.
    Parked {
        call: CallId,
        question: String,
    },
    /// A call of the conversation that this one was forked from has ended there.
    EndedElsewhere {
        call: CallId,
        end: CallEnd,
    },
    /// Nothing more comes of it.
    Nothing,
    /// A journal that a call writes to has refused.
    Unrecorded(AppendError),
}

/// What became of a call.
pub(crate) struct ToolLanding {
    pub(crate) call: CallId,
    pub(crate) finished: Finished,
    pub(crate) begun: Begun,
}

/// Which process began the run of a tool that has ended, and so knows what the tool was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begun {
    /// This process.
    Here,
    /// A process that is dead.
    Elsewhere,
}
