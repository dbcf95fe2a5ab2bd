//! Commands that outlive the agent, each started at most once, with an end that is not lost.
//!
//! The agent claims a call by making its log (`claim`), writes down what is to run, and hands the
//! open files to two supervisors (`pair`, `courier`): itself, executed again. The outer one
//! passes them on to the inner one, which starts a process that waits behind a gate (`gate`),
//! records and syncs which process that is, and only then opens the gate. The end is recorded
//! before the process is reaped, by the inner one, or by the outer one if that was killed
//! (`keeper`). The command prints straight into a file (`output`). It reads nothing, or a file, or what
//! anybody gives it later (`give`, `given`), which the supervisors pass on (`feed`).
//!
//! Whoever comes later looks at lock and log (`verdict`) and attaches, collects, adopts or says
//! what cannot be known (`attach`). What a person or a model has had enough of is stopped with all
//! that it started (`cancel`).
//!
//! This room knows neither arguments nor how a result reads: that is the tool's.

mod attach;
mod bell;
mod cancel;
mod claim;
mod courier;
mod exit_info;
mod feed;
mod gate;
mod give;
mod given;
mod identity;
mod inner;
mod keeper;
mod limit;
mod mark;
mod outer;
mod output;
mod pair;
mod record;
mod shelf;
mod terminal;
mod verdict;

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use crate::sandbox::{self, Rules};

pub(crate) use self::attach::{Attached, End, Order, Patience};
pub(crate) use self::claim::{Claimed, claim, forbid};
use self::courier::{Parcel, Source};
use self::feed::{Feed, Kind};
pub use self::give::{Gift, GiveFault, Given, GivenState, INPUT_BYTES_MAX};
pub(crate) use self::identity::boot;
pub(crate) use self::output::left_out;
pub use self::output::{HEAD_BYTES, Printed, TAIL_BYTES};
use self::pair::Pairs;
pub use self::record::{Intent, Status, Why};
pub(crate) use self::record::{LOG_VERSION, Story, now_ms};
pub use self::shelf::{Kept, KeptState, Shelf};
pub(crate) use self::verdict::Verdict;
use crate::fail;
use crate::shell::Input;

/// How long a call waits for its command unless told otherwise.
const WAIT_DEFAULT: Duration = Duration::from_mins(1);
/// The word that makes our binary a supervisor.
pub(crate) const WORD: &str = "supervise";

/// Supervises the commands of this process.
#[derive(Debug)]
pub struct Supervisor {
    shelf: Shelf,
    pairs: Pairs,
    wait: Duration,
    sandbox: Rules,
}

impl Supervisor {
    /// Keeps records in `calls` and runs `program`, which must give [`dispatch`] its arguments
    /// before it does anything else. Commands do not see the variables named in `hidden`. They are
    /// not confined.
    pub fn new(program: PathBuf, calls: PathBuf, hidden: Vec<OsString>) -> Self {
        let (shelf, pairs) = (Shelf::new(calls), Pairs::new(program, hidden));
        Self { shelf, pairs, wait: WAIT_DEFAULT, sandbox: Rules::none() }
    }

    /// After how long a call returns while its command goes on.
    #[must_use]
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// When commands are confined, and to what.
    #[must_use]
    pub fn sandbox(mut self, rules: Rules) -> Self {
        self.sandbox = rules;
        self
    }

    pub(crate) fn rules(&self) -> &Rules {
        &self.sandbox
    }

    /// The records of all commands.
    pub fn shelf(&self) -> &Shelf {
        &self.shelf
    }

    pub(crate) fn patience(&self) -> Duration {
        self.wait
    }

    /// Starts the command of a call, or attaches to it if it was claimed before.
    /// It reads `input`, which is not recorded, or what it is given later if the intent says so.
    pub(crate) fn start(
        &self,
        directory: &Path,
        intent: Intent,
        input: Option<&Input>,
    ) -> io::Result<Attached> {
        let fed = intent.input.then(|| Kind::of(&intent));
        let claim = match claim(directory, intent)? {
            Claimed::Ours(claim) => claim,
            Claimed::Taken => return Attached::open(directory),
        };
        let input = match (input, fed) {
            (Some(input), _) => Some(Source::File(input.file()?)),
            (None, Some(kind)) => Some(Source::Feed(Feed::create(directory, kind)?)),
            (None, None) => None,
        };
        let (wire, theirs) = io::pipe()?;
        let parcel = Parcel {
            id: 0,
            log: claim.log.try_clone()?,
            out: claim.out.try_clone()?,
            wire: theirs.into(),
            input,
        };
        self.pairs.send(parcel)?;
        fail::here("sent");
        Ok(Attached::started(claim, wire))
    }
}

/// The two kinds of supervisors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Outer,
    Inner,
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Self::Outer => "outer",
            Self::Inner => "inner",
        }
    }

    fn arguments(self) -> [&'static str; 2] {
        [WORD, self.name()]
    }
}

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
