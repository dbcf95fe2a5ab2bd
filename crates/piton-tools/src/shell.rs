//! Tools that run commands.
//!
//! Knows arguments and how a result reads. With a supervisor a command outlives the agent
//! (`supervised`), and other tools wait for it, write to it and stop it. Without one (`plain`)
//! `process` watches it and `capture` keeps its output in bounds, and nobody knows what became of it
//! when the agent dies.

mod capture;
mod command_tool;
mod end_notes;
mod line;
mod plain;
mod process;
mod protected;
mod shell_stop;
mod shell_tool;
mod shell_wait;
mod shell_write;
mod supervised;
mod tail;

pub use self::capture::SPILL_BYTES_MAX;
pub use self::command_tool::{
    CommandDefinition, CommandTool, NEEDS_INPUT_CODE, Program,
    TIMEOUT_S_DEFAULT as COMMAND_TIMEOUT_S_DEFAULT,
};
pub use self::end_notes::STILL_RUNNING;
pub(crate) use self::protected::{passing_notes, shown_places};
pub use self::shell_stop::ShellStop;
pub use self::shell_tool::Shell;
pub use self::shell_wait::ShellWait;
pub use self::shell_write::ShellWrite;
