//! Tools of an agent: files, search, commands. Knows neither the model nor the journal nor who asked.
//!
//! A call goes through three methods. [`Tool::prepare`] looks, touches nothing, and says what will
//! settle the call after a crash. The engine records that. Only then [`Tool::run`] acts.
//! [`Tool::settle`] finds out what became of a call whose driver died.
//!
//! The rooms: `contract` (what a tool is), `files` (reading, searching, changing, undo), `shell`
//! (commands as the model sees them), [`supervise`] (commands that outlive the agent), [`sandbox`]
//! (what a command may touch). `standard` lists the tools that come with piton.

mod ask_user;
mod contract;
pub mod fail;
mod files;
mod noted;
mod proxy;
mod reexec;
pub mod sandbox;
pub mod server;
mod shell;
mod standard;
pub mod supervise;
mod update_plan;

pub use self::ask_user::AskUser;
pub use self::contract::{
    Arguments, Ask, Asker, Closed, Consent, Finished, IMAGE_BYTES_MAX, IMAGE_PIXELS_MAX, Image,
    Job, OUTPUT_BYTES_MAX, Prepared, Progress, Quotes, Ran, Refusal, Response, Responses, Settled,
    Shown, Site, Tidying, Tool, Toolbox, Track, WITHHELD_TEXT, Word, parse_arguments, refuse_unfit,
};
pub use self::files::{
    ApplyPatch, EDIT_BYTES_MAX, EditFile, Glob, Grep, ListDir, READ_BYTES_MAX, ReadFile, WriteFile,
    difference, digest_now, open_regular, read_regular, undo,
};
pub use self::shell::{
    COMMAND_TIMEOUT_S_DEFAULT, CommandDefinition, CommandTool, NEEDS_INPUT_CODE, Program,
    SPILL_BYTES_MAX, STILL_RUNNING, Shell, ShellStop, ShellWait, ShellWrite,
};
pub use self::update_plan::UpdatePlan;
