//! The entry of our binary when it is executed again.

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use super::role::Role;
use super::{founder, inner, outer, server, terminal, warden, way_out};
use crate::proxy::connect;
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
    let arguments: Vec<_> = arguments.collect();
    if let Some(code) = sandbox::probe::dispatch(&role, &arguments) {
        return Some(code);
    }
    if role == OsStr::new(connect::WORD) {
        let connected = connect::run(&arguments);
        let code = connected.map_or_else(|error| connect::complain(&error), |()| ExitCode::SUCCESS);
        return Some(code);
    }
    let mut roles = Role::ALL.into_iter();
    let role = roles.find(|it| role == OsStr::new(it.name()))?;
    let done = match role {
        Role::Outer => outer::run(),
        Role::Inner => inner::run(),
        Role::Warden => warden::run(arguments.into_iter()),
        Role::Founder => founder::run(),
        Role::Proxy => way_out::run(),
        Role::Server => server::run(arguments.into_iter()),
    };
    Some(if done.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
