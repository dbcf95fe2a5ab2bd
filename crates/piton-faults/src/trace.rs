//! `strace`, which kills, delays or fails a process at a chosen system call.
//!
//! Its counts are per system call and thread, so each part is watched alone: a process that finds
//! itself named in its environment executes itself again under `strace`, with the same number and
//! parent, and the thread that does an agent's blocking work has `strace` attached to it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{PTracer, set_ptracer};
use rustix::thread::gettid;

const WHO: &str = "PITON_FAULTS_WHO";
const WHERE: &str = "PITON_FAULTS_TRACE";
const FAULT: &str = "PITON_FAULTS_FAULT";
/// Where the tools look for mistakes to make.
const MISTAKE: &str = "PITON_FAIL_POINT";

/// How often the thread looks whether it is watched yet.
const LOOK_EVERY: Duration = Duration::from_micros(200);
/// Looks before it goes on unwatched: some ten seconds.
const LOOKS_MAX: u32 = 50_000;

/// Who is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    /// The first thread of the agent.
    Agent,
    /// The thread of the agent that does what may block.
    Hands,
    /// The outer supervisor.
    Outer,
    /// The inner one.
    Inner,
}

impl Who {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Hands => "hands",
            Self::Outer => "outer",
            Self::Inner => "inner",
        }
    }
}

/// A system call of a watched process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Point {
    pub(crate) call: String,
    pub(crate) when: u32,
    /// Whether it names a path.
    pub(crate) is_about_files: bool,
}

/// What `strace` does.
#[derive(Clone, Debug)]
pub(crate) enum Watch {
    Nothing,
    /// Writes down everything that changes files, of all processes, with a mistake made on purpose.
    Everything(&'static str),
    /// Looks at no process, with a mistake made on purpose.
    Mistake(&'static str),
    /// Looks at one process; `fault` is what to inject.
    One {
        who: Who,
        fault: Option<String>,
        mistake: &'static str,
    },
}

impl Watch {
    /// Lets all processes make a mistake.
    pub(crate) fn mistake(mistake: &'static str) -> Self {
        Self::Mistake(mistake)
    }

    /// Only writes down what `who` does.
    pub(crate) fn only(who: Who) -> Self {
        Self::One { who, fault: None, mistake: "" }
    }

    /// Kills `who` at a point.
    pub(crate) fn kill(who: Who, point: &Point) -> Self {
        Self::fault(who, point, "signal=SIGKILL")
    }

    /// Does something to `who` at a point.
    pub(crate) fn fault(who: Who, Point { call, when, .. }: &Point, what: &str) -> Self {
        let fault = Some(format!("{call}:{what}:when={when}"));
        Self::One { who, fault, mistake: "" }
    }

    /// The same with a mistake made on purpose.
    pub(crate) fn with_mistake(self, mistake: &'static str) -> Self {
        match self {
            Self::One { who, fault, .. } => Self::One { who, fault, mistake },
            Self::Nothing | Self::Everything(_) | Self::Mistake(_) => self,
        }
    }

    /// Tells the processes to come.
    pub(crate) fn announce(&self, command: &mut Command, trace: &Path) {
        match self {
            Self::Nothing => {}
            Self::Everything(mistake) | Self::Mistake(mistake) => {
                command.env(MISTAKE, mistake);
            }
            Self::One { who, fault, mistake } => {
                command.env(WHO, who.name()).env(WHERE, trace).env(MISTAKE, mistake);
                if let Some(fault) = fault {
                    command.env(FAULT, fault);
                }
            }
        }
    }
}

/// Whether there is a `strace` that works.
pub(crate) fn works() -> bool {
    let tried = Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).output();
    tried.is_ok_and(|output| output.status.success())
}

/// Becomes the same process under `strace`, if that is wanted of this one.
pub(crate) fn follow(words: &[String]) {
    let who = match words {
        [part, role, ..] if part == "supervise" => role.as_str(),
        [part, ..] if part == "first" => Who::Agent.name(),
        _ => return,
    };
    if std::env::var(WHO).is_ok_and(|wanted| wanted == who)
        && let Ok(own) = std::env::current_exe()
    {
        // Only comes back if it fails: then nobody is killed, which is noticed.
        drop(strace().arg("-D").arg(own).args(words).env_remove(WHO).exec());
    }
}

/// Has `strace` attached to this thread, if that is wanted.
pub(crate) fn follow_thread() {
    if std::env::var(WHO).is_ok_and(|wanted| wanted == Who::Hands.name()) {
        set_ptracer(PTracer::Any).ok();
        let thread = gettid().as_raw_nonzero().to_string();
        let mut tracer = strace();
        tracer.args(["-p", &thread]).stdin(Stdio::null()).stderr(Stdio::null());
        if tracer.spawn().is_ok() {
            for _ in 0..LOOKS_MAX {
                let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
                if !status.contains("TracerPid:\t0\n") {
                    return;
                }
                // wait: nobody says when strace has attached
                std::thread::sleep(LOOK_EVERY);
            }
        }
    }
}

fn strace() -> Command {
    let mut strace = Command::new("strace");
    strace
        .args(["-q", "-y", "-o"])
        .arg(std::env::var_os(WHERE).unwrap_or_else(|| "/dev/null".into()));
    if let Ok(fault) = std::env::var(FAULT) {
        let call = fault.split(':').next().unwrap_or_default();
        strace.args(["-e", &format!("trace={call}"), "-e", &format!("inject={fault}")]);
    }
    strace
}

/// The system calls in the trace of one thread, each kind counted from one.
pub(crate) fn points(trace: &str) -> Vec<Point> {
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    let calls = trace.lines().filter_map(|line| line.split_once('('));
    let is_name = |call: &str| {
        !call.is_empty() && call.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    calls
        .filter(|(call, _)| is_name(call))
        .map(|(call, arguments)| {
            let when = counts.entry(call).or_default();
            *when += 1;
            let is_about_files = arguments.contains("</");
            Point { call: call.to_owned(), when: *when, is_about_files }
        })
        .collect()
}

/// Whether the watched process was killed, as its trace says.
pub(crate) fn was_killed(trace: &str) -> bool {
    trace.contains("+++ killed by SIGKILL +++")
}
