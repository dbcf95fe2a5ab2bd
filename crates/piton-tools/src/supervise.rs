//! Commands that outlive the agent, each started at most once, with an end that is not lost.
//!
//! Three rooms: `agent` (what the agent does), `process` (what the two supervisor processes do) and
//! `record` (what is on disk, and the verdict drawn from it).
//!
//! The agent claims a call by creating its log (`agent/claim`), writes down what is to run, and hands
//! the open files to two supervisors (`agent/pair`, `process/handover`): our own binary, executed
//! again. The outer supervisor passes them on to the inner one. The inner one starts a process that
//! waits behind a gate (`process/gate`), records and syncs which process that is, and only then opens
//! the gate. The end is recorded before the process is reaped, by the inner supervisor, or by the
//! outer one if the inner one was killed (`process/reaper`). The command prints straight into a file
//! (`record/output`). It reads nothing, or a file, or texts that are written to it later
//! (`agent/write_input`, `record/input`), which the supervisors pass on (`process/feed`).
//!
//! A later process looks at lock and log (`record/verdict`) and attaches, collects, adopts or says
//! what cannot be known (`agent/attach`). A command that is no longer wanted is stopped with all that
//! it started (`process/stopping`).
//!
//! This room knows neither arguments nor how a result reads: the tools in `shell` do.

pub(crate) mod agent;
pub(crate) mod process;
pub(crate) mod record;

pub(crate) use self::agent::attach::{Attached, End, Order, Patience};
pub(crate) use self::agent::claim::forbid;
pub(crate) use self::agent::input_file::InputFile;
pub(crate) use self::agent::shelf::goes_on;
pub use self::agent::shelf::{Kept, KeptState, Shelf};
pub use self::agent::supervisor::Supervisor;
pub use self::agent::write_input::{
    Delivery, DeliveryState, INPUT_BYTES_MAX, InputFault, InputText,
};
pub use self::process::dispatch::dispatch;
pub(crate) use self::record::identity::boot;
pub use self::record::log::{Intent, Why};
pub(crate) use self::record::log::{LOG_VERSION, Story, now_ms};
pub(crate) use self::record::output::left_out;
pub use self::record::output::{HEAD_BYTES, Printed, TAIL_BYTES};
pub use self::record::status::Status;
pub(crate) use self::record::verdict::Verdict;
