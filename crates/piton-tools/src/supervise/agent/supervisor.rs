//! Starts commands that outlive this process.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use super::attach::Attached;
use super::claim::{Claimed, claim};
use super::input_file::InputFile;
use super::pair::Pairs;
use super::shelf::Shelf;
use crate::fail;
use crate::sandbox::{Policy, Rules, try_namespaces};
use crate::supervise::process::feed::{Feed, Kind};
use crate::supervise::process::handover::{Parcel, Source};
use crate::supervise::record::guard;
use crate::supervise::record::log::Intent;

/// How long a call waits for its command unless told otherwise.
const WAIT_DEFAULT: Duration = Duration::from_mins(1);
/// Supervises the commands of this process.
#[derive(Debug)]
pub struct Supervisor {
    shelf: Shelf,
    pairs: Pairs,
    wait: Duration,
    sandbox: Rules,
    program: PathBuf,
    holds_hosts: OnceLock<bool>,
}

impl Supervisor {
    /// Keeps records in `calls` and runs `program`, which must give `dispatch` its arguments
    /// before it does anything else. Commands do not see the variables named in `hidden`. They are
    /// not confined.
    pub fn new(program: PathBuf, calls: PathBuf, hidden: Vec<OsString>) -> Self {
        let (shelf, pairs) = (Shelf::new(calls), Pairs::new(program.clone(), hidden));
        let (sandbox, holds_hosts) = (Rules::none(), OnceLock::new());
        Self { shelf, pairs, wait: WAIT_DEFAULT, sandbox, program, holds_hosts }
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

    /// Whether a command can be let reach single hosts here: it takes a network of its own. Tried once.
    pub(crate) fn holds_hosts(&self) -> bool {
        let tried = || matches!(try_namespaces(&self.program), Ok(Ok(())));
        self.sandbox.confines() && *self.holds_hosts.get_or_init(tried)
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
        mut intent: Intent,
        input: Option<&InputFile>,
    ) -> io::Result<Attached> {
        let fed = intent.input.then(|| Kind::of(&intent));
        let (marker, guarded) = (intent.marker.clone(), apart(&mut intent, directory));
        let claim = match claim(directory, intent)? {
            Claimed::Ours(claim) => claim,
            Claimed::Taken => return Attached::open(directory),
        };
        if let Some(policy) = &guarded {
            guard::begin(directory, &marker, policy)?;
        }
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
        let outer = self.pairs.send(parcel)?;
        fail::here("sent");
        Ok(Attached::started(claim, wire, outer))
    }
}

/// Takes what is protected out of the record, if there is any: it stands in a note beside it. Gives the whole policy.
fn apart(intent: &mut Intent, directory: &Path) -> Option<Policy> {
    let policy = intent.sandbox.as_mut().filter(|policy| !policy.protect.is_empty())?;
    let whole = policy.clone();
    policy.protect.clear();
    intent.guard = Some(directory.to_owned());
    Some(whole)
}
