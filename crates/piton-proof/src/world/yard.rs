//! Where the commands of a suite run, and where each of them stops until it may go on.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{fs, io};

use piton_tools::{Arguments, Job};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use tokio::net::unix::pipe;
use tokio::sync::watch;

use super::effect::Effect;

/// Where commands of a suite run, and how.
#[derive(Debug)]
pub struct Workshop {
    directory: PathBuf,
    runner: Runner,
    mistake: Option<Mistake>,
    yards: AtomicU64,
}

/// Who looks after commands.
#[derive(Clone, Debug)]
pub enum Runner {
    /// This program, as a supervisor: they outlive their agent.
    Supervised(PathBuf),
    /// Nobody: they end with their agent.
    Plain,
}

/// A class that is treated wrongly on purpose, to see whether the oracle notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// What happens once is taken for something that may be repeated.
    OnceRunsAgain,
    /// Nobody looks at the record of a command: it counts as never run.
    RecordsAreIgnored,
}

impl Workshop {
    /// Commands leave everything in this directory.
    pub fn new(directory: &Path, runner: Runner) -> Self {
        let (directory, yards) = (directory.to_owned(), AtomicU64::new(0));
        Self { directory, runner, mistake: None, yards }
    }

    /// Makes a mistake.
    #[must_use]
    pub fn mistaken(mut self, mistake: Mistake) -> Self {
        self.mistake = Some(mistake);
        self
    }

    /// A place for one run.
    pub(super) fn yard(&self) -> Yard {
        let number = self.yards.fetch_add(1, Ordering::Relaxed);
        Yard {
            directory: self.directory.join(number.to_string()),
            runner: self.runner.clone(),
            mistake: self.mistake,
            busy: watch::Sender::default(),
            desks: Mutex::default(),
        }
    }
}

/// The commands of one run, over all lives.
#[derive(Debug)]
pub(super) struct Yard {
    pub(super) directory: PathBuf,
    pub(super) runner: Runner,
    pub(super) mistake: Option<Mistake>,
    /// Commands that outlive their agents, and have not ended.
    busy: watch::Sender<u64>,
    /// One for each start, with the effect that the command is to have. What is written to a desk
    /// would be lost if nobody had it open.
    desks: Mutex<Vec<(Arc<Desk>, Effect)>>,
}

impl Yard {
    fn desks(&self) -> MutexGuard<'_, Vec<(Arc<Desk>, Effect)>> {
        self.desks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What commands have written down.
    pub(super) fn ledger(&self) -> Vec<Effect> {
        // There is none before the first effect.
        let lines = fs::read_to_string(self.directory.join("ledger")).unwrap_or_default();
        let desks = self.desks();
        let numbers = lines.lines().filter_map(|line| line.parse::<usize>().ok());
        numbers.filter_map(|number| desks.get(number)).map(|(_, effect)| effect.clone()).collect()
    }

    /// Waits until no command runs that outlived its agent.
    pub(super) async fn quiet(&self) {
        // The sender is here, so the wait cannot fail.
        self.busy.subscribe().wait_for(|busy| *busy == 0).await.map(|_| ()).unwrap_or_default();
    }

    /// A desk for a command, and its arguments with where that is.
    pub(super) fn desk(
        &self,
        job: &Job,
        effect: Effect,
    ) -> io::Result<(Arc<Desk>, Arc<Arguments>)> {
        let mut desks = self.desks();
        let number = desks.len();
        let place = self.directory.join(format!("desk-{number}"));
        let desk = Arc::new(Desk::set_up(&place)?);
        desks.push((desk.clone(), effect));
        let mut arguments = (*job.arguments).clone();
        arguments.insert("desk".into(), place.to_string_lossy().into());
        arguments.insert("effect".into(), number.to_string().into());
        Ok((desk, Arc::new(arguments)))
    }
}

/// Where a command says how far it is, and waits until it may go on.
#[derive(Debug)]
pub(super) struct Desk {
    says: pipe::Receiver,
    gate: pipe::Sender,
}

impl Desk {
    fn set_up(place: &Path) -> io::Result<Self> {
        fs::create_dir_all(place)?;
        let (says, gate) = (place.join("says"), place.join("gate"));
        for path in [&says, &gate] {
            mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
        }
        // For both directions, so that neither side waits for the other to open it.
        let mut both = pipe::OpenOptions::new();
        let both = both.read_write(true);
        Ok(Self { says: both.open_receiver(says)?, gate: both.open_sender(gate)? })
    }

    /// Waits until the command says something.
    pub(super) async fn hears(&self) -> io::Result<()> {
        loop {
            self.says.readable().await?;
            match self.says.try_read(&mut [0; 64]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read.map(|_| ()),
            }
        }
    }

    /// Lets the command pass so many times.
    pub(super) fn open(&self, times: usize) -> io::Result<()> {
        self.gate.try_write(&vec![b'\n'; times]).map(|_| ())
    }
}

/// The agent that waited for a command is gone: what was supervised goes on by itself.
pub(super) struct Leaving(pub(super) Arc<Desk>);

impl Drop for Leaving {
    fn drop(&mut self) {
        // A command that had ended has nobody to hear it.
        self.0.open(4).unwrap_or_default();
    }
}

/// A command that runs, also without an agent.
pub(super) struct Busy(Arc<Yard>);

impl Busy {
    pub(super) fn new(yard: Arc<Yard>) -> Self {
        yard.busy.send_modify(|busy| *busy += 1);
        Self(yard)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.send_modify(|busy| *busy -= 1);
    }
}
