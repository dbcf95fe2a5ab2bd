//! One place with one call, which processes come to one after the other.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use piton_core::event::{Handle, Outcome as Ended, Permissions};
use piton_core::id::{CallId, ConversationId, TurnId};
use piton_tools::sandbox::{Rules, When};
use piton_tools::supervise::Supervisor;
use piton_tools::{ApplyPatch, Arguments, EditFile, Shell, Site, Tool, WriteFile};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::outcome::Outcome;
use crate::people::{self, ROOT};
use crate::trace::Watch;

/// Says that commands run in the sandbox, to all processes of an experiment.
const WALL: &str = "PITON_FAULTS_WALL";
/// The call that everything is about.
pub(crate) const CALL: CallId = CallId { turn: TurnId(1), step: 1, index: 0 };
/// Longest wait for something that must happen.
const DEADLINE: Duration = Duration::from_secs(90);
/// How often to look.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// What is to be done, as an engine would have recorded it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Deed {
    pub(crate) tool: String,
    pub(crate) arguments: Arguments,
    pub(crate) handle: Handle,
}

impl Deed {
    pub(crate) fn tool(&self, root: &Path) -> Outcome<Box<dyn Tool>> {
        Ok(match self.tool.as_str() {
            "write_file" => Box::new(WriteFile),
            "edit_file" => Box::new(EditFile),
            "apply_patch" => Box::new(ApplyPatch),
            _ => {
                let program = std::env::current_exe()?;
                let supervisor = Supervisor::new(program, root.join("calls"), Vec::new());
                let supervisor =
                    if is_walled() { supervisor.sandbox(walled()) } else { supervisor };
                Box::new(Shell::supervised(std::sync::Arc::new(supervisor)))
            }
        })
    }
}

/// Whether commands run in the sandbox.
pub(crate) fn is_walled() -> bool {
    std::env::var_os(WALL).is_some_and(|wall| wall == "on")
}

/// The sandbox as it is by itself, around every command.
fn walled() -> Rules {
    Rules { when: When::Always, network: false, unix_sockets: false, ..Rules::none() }
}

/// What an agent was told.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Said {
    /// How the call was settled, if a later process said this.
    pub(crate) verdict: String,
    /// What came of it.
    pub(crate) outcome: Ended,
    pub(crate) exit_code: Option<i32>,
    pub(crate) text: String,
    /// Effects that there were when it was settled.
    pub(crate) effects: usize,
}

/// A place, and what happened there.
#[derive(Debug)]
pub(crate) struct Scene {
    directory: TempDir,
}

impl Scene {
    /// A new one, in which `deed` is to be done.
    pub(crate) fn new(deed: &Deed) -> Outcome<Self> {
        let scene = Self::empty()?;
        fs::create_dir(scene.root().join("work"))?;
        scene.ask(deed)?;
        Ok(scene)
    }

    /// A new one with nothing in it.
    pub(crate) fn empty() -> io::Result<Self> {
        Ok(Self { directory: TempDir::with_prefix("piton-faults-")? })
    }

    /// Takes everything away.
    pub(crate) fn clear(&self) -> io::Result<()> {
        fs::remove_dir_all(self.root())?;
        fs::create_dir(self.root())
    }

    pub(crate) fn ask(&self, deed: &Deed) -> Outcome<()> {
        Ok(fs::write(self.root().join("deed"), serde_json::to_vec(deed)?)?)
    }

    pub(crate) fn root(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn work(&self, name: &str) -> PathBuf {
        self.root().join("work").join(name)
    }

    /// What a process of ours says in the end.
    pub(crate) fn said(&self, part: &str) -> Option<Said> {
        serde_json::from_slice(&fs::read(self.root().join(part)).ok()?).ok()
    }

    /// Starts a process: `first` to do the deed, `later` to find out what became of it.
    pub(crate) fn come(&self, part: &str, watch: &Watch) -> Outcome<Child> {
        let mut command = match watch {
            Watch::Everything(_) => {
                let mut command = Command::new("strace");
                command.args(crate::story::ARGUMENTS).arg("-o").arg(self.root().join("trace"));
                command.arg(std::env::current_exe()?);
                command
            }
            Watch::Nothing | Watch::Mistake(_) | Watch::One { .. } => {
                Command::new(std::env::current_exe()?)
            }
        };
        command.arg(part).arg(self.root()).env(ROOT, self.root()).stdin(Stdio::null());
        // What cargo sets for tests makes the loader look in many places, which nobody needs killed.
        command.stdout(Stdio::null()).stderr(Stdio::null()).env_remove("LD_LIBRARY_PATH");
        watch.announce(&mut command, &self.root().join("trace"));
        Ok(command.spawn()?)
    }

    /// The same, to its end.
    pub(crate) fn come_and_go(&self, part: &str, watch: &Watch) -> Outcome<()> {
        let mut child = self.come(part, watch)?;
        ended(&mut child)
    }

    /// What was traced.
    pub(crate) fn trace(&self) -> Outcome<String> {
        Ok(String::from_utf8_lossy(&fs::read(self.root().join("trace"))?).into_owned())
    }

    /// Effects of the command so far.
    pub(crate) fn effects(&self) -> usize {
        effects(self.root())
    }

    /// Waits until all processes have ended; says how many stay.
    pub(crate) fn empties(&self) -> Result<(), String> {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let left = people::of(self.root());
            if left.is_empty() {
                return Ok(());
            }
            if deadline < Instant::now() {
                for pid in &left {
                    people::kill(*pid);
                }
                return Err(format!("{} processes were left behind", left.len()));
            }
            // wait: other people's processes announce their end to nobody
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

/// Effects of the command so far, in the scene at `root`.
pub(crate) fn effects(root: &Path) -> usize {
    fs::read_to_string(root.join("work/ledger")).unwrap_or_default().lines().count()
}

/// Waits for the end of a process.
pub(crate) fn ended(child: &mut Child) -> Outcome<()> {
    let deadline = Instant::now() + DEADLINE;
    while child.try_wait()?.is_none() {
        if deadline < Instant::now() {
            child.kill()?;
            child.wait()?;
            return Err("an agent hangs".into());
        }
        // wait: with a deadline, so that what hangs is found
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(())
}

/// Where the tools work.
pub(crate) fn site(root: &Path) -> Site {
    Site {
        workspace: root.join("work"),
        scratch: root.to_owned(),
        conversation: ConversationId::new("c"),
        permissions: Permissions::default(),
        closed: piton_tools::Closed::default(),
    }
}
