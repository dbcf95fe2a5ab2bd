//! Standard input: what it is connected to, what a query takes it for, and reading it with patience.
//!
//! Decided by the type of the file alone, before anything is read: a pipe, a socket or a regular file
//! was put there by somebody. A terminal, `/dev/null` or a closed input brings nothing by itself.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read as _};
use std::path::PathBuf;
use std::time::Duration;

use rustix::fs::{FileType, fstat};
use tokio::sync::oneshot;

use super::plan::Source;
use super::stage::Stage;
use crate::flags::Query;
use crate::output::{Form, Output};
use crate::report::{Fault, InputFault};
use crate::signals::Signals;

/// What standard input is called as a file of a message.
pub(super) const NAME: &str = "stdin";
/// How it is written where a file is named.
const SIGN: &str = "-";

/// After how long a person is told what is waited for.
const SILENT_WAIT: Duration = Duration::from_secs(1);

/// What standard input is connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A person types.
    Terminal,
    /// Another program writes.
    Pipe,
    /// A file.
    File,
    /// Nothing that would be read unasked.
    Nothing,
}

/// What a query takes standard input for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// For nothing.
    Unread,
    /// For the message, because it is named.
    NamedMessage,
    /// For the message, because there is no other and something is there.
    FoundMessage,
    /// For a file that goes along, because it is named.
    NamedPart,
    /// For a file that goes along, because something is there.
    FoundPart,
}

impl Kind {
    /// Looks at standard input.
    pub(super) fn look() -> Self {
        let stdin = io::stdin();
        if stdin.is_terminal() {
            return Self::Terminal;
        }
        match fstat(&stdin).map(|stat| FileType::from_raw_mode(stat.st_mode)) {
            Ok(FileType::Fifo | FileType::Socket) => Self::Pipe,
            Ok(FileType::RegularFile) => Self::File,
            Ok(_) | Err(_) => Self::Nothing,
        }
    }

    /// Whether somebody put it there so that it is read.
    fn brings(self) -> bool {
        matches!(self, Self::Pipe | Self::File)
    }

    /// What is said while its end is waited for, and after how long.
    fn notice(self) -> (String, Duration) {
        if self == Self::Terminal {
            let notice = "Reading from the terminal: Ctrl-D on a line of its own ends the input, \
                 Ctrl-C gives up.";
            return (notice.into(), Duration::ZERO);
        }
        let what = if self == Self::Pipe { ", which is a pipe" } else { "" };
        let notice = format!(
            "Waiting for the end of standard input{what}. If nothing is to be read from there: \
             --no-stdin"
        );
        (notice, SILENT_WAIT)
    }
}

/// Decides what standard input is for.
pub(super) fn role(query: &Query, source: &Source, kind: Kind) -> Result<Role, InputFault> {
    let files = query.files.iter().filter(|path| path.as_os_str() == SIGN).count();
    let named = files + usize::from(*source == Source::Stdin);
    if 1 < named {
        return Err(InputFault::StdinTwice);
    }
    if named == 1 && query.no_stdin {
        return Err(InputFault::StdinUnread);
    }
    Ok(match source {
        Source::Stdin => Role::NamedMessage,
        _ if named == 1 => Role::NamedPart,
        _ if query.no_stdin || !kind.brings() => Role::Unread,
        Source::Words(_) | Source::File(_) => Role::FoundPart,
        Source::Unsaid => Role::FoundMessage,
        Source::Nowhere if !query.files.is_empty() && !query.draft => Role::FoundPart,
        Source::Nowhere => Role::Unread,
    })
}

/// The files that are named, without standard input.
pub(super) fn without_sign(files: &[PathBuf]) -> Vec<PathBuf> {
    files.iter().filter(|path| path.as_os_str() != SIGN).cloned().collect()
}

/// Whether somebody has written to a standard input that is not read.
pub(super) fn is_left(kind: Kind, role: Role) -> bool {
    let waits = || rustix::io::ioctl_fionread(io::stdin()).is_ok_and(|bytes| 0 < bytes);
    role == Role::Unread && kind.brings() && waits()
}

/// Reads standard input to its end, or one byte more than `bytes_max`, so that too much is told from
/// just enough.
pub(super) async fn read(bytes_max: u64, stage: &mut Stage<'_>) -> Result<Vec<u8>, Fault> {
    let read = move || {
        let mut bytes = Vec::new();
        io::stdin().lock().take(bytes_max + 1).read_to_end(&mut bytes).map(|_| bytes)
    };
    let notice = Kind::look().notice();
    Ok(patiently(read, notice, stage).await?.map_err(InputFault::Stdin)?)
}

/// The same for a command that has no turn to show.
pub(in crate::cmd) async fn read_alone(
    bytes_max: u64,
    output: &mut Output,
) -> Result<Vec<u8>, Fault> {
    let (signals, form) = (Signals::listen()?, Form::Text);
    let mut stage =
        Stage { output, signals, terminal: None, form, conversation: None, beside: None };
    read(bytes_max, &mut stage).await
}

/// The same for a file.
pub(super) async fn read_file(
    path: PathBuf,
    bytes_max: u64,
    stage: &mut Stage<'_>,
) -> Result<Vec<u8>, Fault> {
    let notice = (format!("Waiting for the end of {}.", path.display()), SILENT_WAIT);
    let opened = path.clone();
    let read = move || {
        let mut bytes = Vec::new();
        File::open(opened)?.take(bytes_max + 1).read_to_end(&mut bytes).map(|_| bytes)
    };
    let read = patiently(read, notice, stage).await?;
    Ok(read.map_err(|source| InputFault::PromptFile { path, source })?)
}

/// Reads on a thread that ends with the process: nobody can call a read back, and leaving must not
/// wait for one.
async fn patiently(
    read: impl FnOnce() -> io::Result<Vec<u8>> + Send + 'static,
    (notice, after): (String, Duration),
    stage: &mut Stage<'_>,
) -> Result<io::Result<Vec<u8>>, Fault> {
    let (done, mut reading) = oneshot::channel();
    std::thread::spawn(move || done.send(read()).ok());
    let mut told = false;
    loop {
        tokio::select! {
            biased;
            _ = stage.signals.next() => return Err(Fault::Interrupted),
            read = &mut reading => return read.map_err(|_| Fault::Interrupted),
            () = tokio::time::sleep(after), if !told => {
                told = true;
                stage.output.talk(&notice);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cmd::query::plan::request;
    use crate::flags::{Command, Flags};

    fn decided(line: &str, kind: Kind) -> Result<Role, InputFault> {
        let flags = Flags::try_parse_from(["piton", "query"].into_iter().chain(line.split(' ')));
        let Some(Command::Query(query)) = flags.unwrap().command else { unreachable!() };
        let (_, source) = request(&query)?;
        role(&query, &source, kind)
    }

    #[test]
    fn what_standard_input_is_for_hangs_on_its_type_and_on_what_was_typed() {
        use Role::{FoundMessage, FoundPart, NamedMessage, NamedPart, Unread};
        for (line, brings, brings_not) in [
            ("review", FoundPart, Unread),
            ("fix the bug", FoundPart, Unread),
            ("-c and test", FoundPart, Unread),
            ("--discard-turn again", FoundPart, Unread),
            ("-f a.png", FoundPart, Unread),
            ("--prompt-file p.md", FoundPart, Unread),
            ("--new", FoundMessage, Unread),
            ("--queue", FoundMessage, Unread),
            ("-", NamedMessage, NamedMessage),
            ("--continue -", NamedMessage, NamedMessage),
            ("--prompt-file -", NamedMessage, NamedMessage),
            ("review -f -", NamedPart, NamedPart),
            ("review --no-stdin", Unread, Unread),
            ("--continue", Unread, Unread),
            ("-c", Unread, Unread),
            ("--discard-turn", Unread, Unread),
            ("--draft", Unread, Unread),
            ("--id a --workspace b", Unread, Unread),
        ] {
            for kind in [Kind::Pipe, Kind::File] {
                assert_eq!(decided(line, kind).unwrap(), brings, "{line} {kind:?}");
            }
            for kind in [Kind::Terminal, Kind::Nothing] {
                assert_eq!(decided(line, kind).unwrap(), brings_not, "{line} {kind:?}");
            }
        }
    }

    #[test]
    fn standard_input_is_read_once_and_never_against_ones_word() {
        let refused = |line| decided(line, Kind::Pipe).unwrap_err();
        assert!(matches!(refused("- -f -"), InputFault::StdinTwice));
        assert!(matches!(refused("x -f - -f -"), InputFault::StdinTwice));
        assert!(matches!(refused("--no-stdin -"), InputFault::StdinUnread));
        assert!(matches!(refused("x --no-stdin -f -"), InputFault::StdinUnread));
    }
}
