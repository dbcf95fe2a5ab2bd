//! Tools of the settings file in the crash suites: real commands under real supervisors.
//!
//! Each command stops twice and says so: before it acts, and behind it. At both places its driver
//! may die. A supervised command then goes on by itself, one without a supervisor ends there. Their
//! effects are lines in a file, which the commands write themselves.

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{fs, io};

use async_trait::async_trait;
use piton_core::event::{EffectClass, Handle, ToolSpec};
use piton_core::id::CallId;
use piton_store::Journal;
use piton_tools::sandbox::Rules;
use piton_tools::supervise::Supervisor;
use piton_tools::{
    Arguments, CommandDefinition, CommandTool, Finished, Job, Prepared, Program, Refusal, Settled,
    Site, Tool,
};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::json;
use tokio::net::unix::pipe;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::tool::check_intent;
use super::{Effect, World};

/// How long a command may run, in seconds. None takes so long.
const TIMEOUT_S: u64 = 60;

/// The classes that the settings can declare, each with a tool.
const TOOLS: [(&str, EffectClass); 4] = [
    ("peek", EffectClass::ReadOnly),
    ("label", EffectClass::Idempotent),
    ("job", EffectClass::Supervised),
    ("mail", EffectClass::Once),
];

/// What every tool runs. It asks before it acts if it is to ask and has no answer yet.
const LINE: &str = r#"read -r input
desk=${input#*'"desk":"'}; desk=${desk%%'"'*}
effect=${input#*'"effect":"'}; effect=${effect%%'"'*}
echo begun > "$desk/says"; read -r go < "$desk/gate"
case "$input" in '{"answers":{},'*'"ask":1'*)
    echo '{"questions":[{"id":"sure","text":"Which?"}]}'; exit 75 ;;
esac
echo "$effect" >> "$desk/../ledger"
echo acted > "$desk/says"; read -r go < "$desk/gate"
echo done"#;

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
    directory: PathBuf,
    runner: Runner,
    mistake: Option<Mistake>,
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
    fn desk(&self, job: &Job, effect: Effect) -> io::Result<(Arc<Desk>, Arc<Arguments>)> {
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
struct Desk {
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
    async fn hears(&self) -> io::Result<()> {
        loop {
            self.says.readable().await?;
            match self.says.try_read(&mut [0; 64]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read.map(|_| ()),
            }
        }
    }

    /// Lets the command pass so many times.
    fn open(&self, times: usize) -> io::Result<()> {
        self.gate.try_write(&vec![b'\n'; times]).map(|_| ())
    }
}

/// Whoever waited for a command is gone: what was supervised goes on by itself.
struct Leaving(Arc<Desk>);

impl Drop for Leaving {
    fn drop(&mut self) {
        // A command that had ended has nobody to hear it.
        self.0.open(4).unwrap_or_default();
    }
}

/// A command that runs whoever lives.
struct Busy(Arc<Yard>);

impl Busy {
    fn new(yard: Arc<Yard>) -> Self {
        yard.busy.send_modify(|busy| *busy += 1);
        Self(yard)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.send_modify(|busy| *busy -= 1);
    }
}

/// A command tool with points at which its agent may die.
#[derive(Debug)]
struct WatchedCommand {
    tool: Arc<CommandTool>,
    spec: ToolSpec,
    /// What it really is, whatever its description says.
    class: EffectClass,
    yard: Arc<Yard>,
    world: World,
    journal: Arc<dyn Journal>,
}

/// The command tools of a world, as one life finds them; none where there are no commands.
pub fn command_tools(world: &World, journal: &Arc<dyn Journal>) -> Vec<Arc<dyn Tool>> {
    let Some(yard) = &world.shared.yard else { return Vec::new() };
    let supervisor = match &yard.runner {
        Runner::Supervised(program) => {
            let calls = yard.directory.join("calls");
            Some(Arc::new(Supervisor::new(program.clone(), calls, Vec::new())))
        }
        Runner::Plain => None,
    };
    let tool = |(name, effect)| {
        let definition = definition(name, effect);
        let tool = match &supervisor {
            Some(supervisor) => definition.supervised(supervisor.clone()),
            None => definition.plain(Vec::new(), Rules::none()),
        };
        let mut spec = tool.spec();
        let class = spec.effect;
        if class == EffectClass::Once && yard.mistake == Some(Mistake::OnceRunsAgain) {
            spec.effect = EffectClass::Idempotent;
        }
        let (tool, yard) = (Arc::new(tool), yard.clone());
        let (world, journal) = (world.clone(), journal.clone());
        Arc::new(WatchedCommand { tool, spec, class, yard, world, journal }) as Arc<dyn Tool>
    };
    TOOLS.map(tool).into()
}

fn definition(name: &str, effect: EffectClass) -> CommandDefinition {
    CommandDefinition {
        name: name.into(),
        description: "A command of the simulated world.".into(),
        parameters: json!({"properties": {"ask": {"type": "integer"}}}),
        program: Program::Line(LINE.into()),
        effect,
        timeout_s: TIMEOUT_S,
        sandboxed: false,
    }
}

#[async_trait]
impl Tool for WatchedCommand {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn prepare(
        &self,
        site: &Site,
        call: CallId,
        arguments: &Arguments,
    ) -> Result<Prepared, Refusal> {
        self.tool.prepare(site, call, arguments).await
    }

    async fn run(&self, job: Job) -> Finished {
        self.world.point().await;
        check_intent(&self.world, &self.journal, &self.spec.name, &job).await;
        let finished = self.watched(job).await.unwrap_or_else(|error| {
            self.world.complain(format!("no command could be watched: {error}"));
            Finished::failed("")
        });
        self.world.point().await;
        finished
    }

    async fn settle(&self, site: &Site, arguments: &Arguments, handle: &Handle) -> Settled {
        let is_forgotten = match self.yard.mistake {
            None => false,
            Some(Mistake::RecordsAreIgnored) => true,
            // A record would show that it need not run again.
            Some(Mistake::OnceRunsAgain) => self.class == EffectClass::Once,
        };
        if is_forgotten {
            return Settled::NotApplied;
        }
        self.tool.settle(site, arguments, handle).await
    }

    fn forget(&self, site: &Site, handle: &Handle) {
        self.tool.forget(site, handle);
    }
}

impl WatchedCommand {
    /// Runs the command with a point wherever it stops. One that is found running does not stop.
    async fn watched(&self, job: Job) -> io::Result<Finished> {
        let effect = Effect {
            conversation: job.site.conversation.clone(),
            call: job.call,
            tool: self.spec.name.clone(),
            class: self.class,
        };
        let (desk, arguments) = self.yard.desk(&job, effect)?;
        let (mut running, _leaving) = self.begin(Job { arguments, ..job }, &desk);
        loop {
            tokio::select! {
                finished = &mut running => return Ok(finished),
                said = desk.hears() => said?,
            }
            self.world.point().await;
            desk.open(1)?;
        }
    }

    fn begin(
        &self,
        job: Job,
        desk: &Arc<Desk>,
    ) -> (Pin<Box<dyn Future<Output = Finished> + Send>>, Option<Leaving>) {
        let tool = self.tool.clone();
        if matches!(self.yard.runner, Runner::Plain) {
            return (Box::pin(async move { tool.run(job).await }), None);
        }
        // A driver that is dropped stops what it runs, as an interrupt does; one that is killed does
        // not. So the command runs beside it, and hears nothing from it.
        let job = Job { cancel: CancellationToken::new(), ..job };
        let busy = Busy::new(self.yard.clone());
        let task = tokio::spawn(async move {
            let finished = tool.run(job).await;
            drop(busy);
            finished
        });
        let run = async { task.await.unwrap_or_else(|error| Finished::failed(error.to_string())) };
        (Box::pin(run), Some(Leaving(desk.clone())))
    }
}
