//! The process that becomes the command, held back until its start is on the disk.
//!
//! A safe program cannot fork, so the gate is a shell: it reads one line from its supervisor and
//! then *becomes* the command. Number and start time stay the same, so what was recorded is the
//! command. If the line does not come, because the supervisor is dead, it records that the command
//! never ran, and is gone. Until then it has the record as its standard error, and with it the lock;
//! the command gets neither.

use std::io::{self, PipeWriter, Write as _};

use rustix::process::Pid;

use super::handover::{Parcel, Source};
use super::mark::Mark;
use super::start::Start;
use super::terminal;
use super::warden::Wardens;
use crate::supervise::record::log::Intent;

/// A command behind its gate.
#[derive(Debug)]
pub(crate) struct Gate {
    pub(crate) pid: Pid,
    opener: PipeWriter,
}

impl Gate {
    /// Starts the process; the command waits behind the gate, and will have `files` open
    /// at most. What is confined is so from here on:
    /// the gate is behind the walls already, with the record open and no way to open another.
    pub(crate) fn shut(
        wardens: &mut Wardens,
        files: Option<u64>,
        intent: &Intent,
        parcel: &Parcel,
    ) -> io::Result<Self> {
        let (waits, opener) = io::pipe()?;
        let input = match &parcel.input {
            None => None,
            Some(Source::File(file)) => Some(file.try_clone()?.into()),
            Some(Source::Feed(_)) if intent.terminal => None,
            Some(Source::Feed(feed)) => Some(feed.reader()?),
        };
        let out = match &parcel.input {
            Some(Source::Feed(feed)) if intent.terminal => terminal::theirs(&feed.pipe)?,
            Some(_) | None => parcel.out.try_clone()?,
        };
        let (log, out, waits) = (&parcel.log, &out, waits.into());
        let start = Start { intent, files, log, out, waits, input };
        let pid = match &intent.sandbox {
            None => {
                let (mut command, _input) = start.command()?;
                Pid::from_child(&command.spawn()?)
            }
            Some(policy) => wardens.start(policy, &start)?,
        };
        Mark::new(&intent.marker).put_on(pid);
        // Nobody here stops or reaps it; its keeper does that.
        Ok(Self { pid, opener })
    }

    /// Lets the command begin.
    pub(crate) fn open(mut self) -> io::Result<()> {
        self.opener.write_all(b"\n")
    }
}
