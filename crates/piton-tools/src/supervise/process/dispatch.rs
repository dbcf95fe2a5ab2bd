//! The entry of our binary when it is executed again.

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use super::role::Role;
use super::{inner, outer, terminal};
use crate::reexec::WORD;
use crate::sandbox;

/// Acts as a supervisor if the arguments say so. To be called before anything else is set up: every
/// first command of an agent waits for it twice.
pub fn dispatch(mut arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    if arguments.nth(1)? != OsStr::new(WORD) {
        return None;
    }
    let role = arguments.next()?;
    if role == OsStr::new(terminal::SESSION) {
        terminal::become_leader(arguments).ok();
        return Some(ExitCode::FAILURE);
    }
    if let Some(code) = sandbox::probe::dispatch(&role, &arguments.by_ref().collect::<Vec<_>>()) {
        return Some(code);
    }
    let role = [Role::Outer, Role::Inner].into_iter().find(|it| role == OsStr::new(it.name()))?;
    let done = match role {
        Role::Outer => outer::run(),
        Role::Inner => inner::run(),
    };
    Some(if done.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
