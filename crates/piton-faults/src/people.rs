//! Other processes, and chance.

use std::fs;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};

/// Names the scene that a process belongs to, to everything that it starts.
pub(crate) const ROOT: &str = "PITON_FAULTS_ROOT";

/// Chance from a seed, so that a failing run can be repeated.
#[derive(Debug)]
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound.max(1)
    }

    pub(crate) fn one_of<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        let bound = u64::try_from(all.len()).unwrap_or(u64::MAX);
        all.get(usize::try_from(self.below(bound)).unwrap_or(0))
    }
}

/// All processes of the scene at `root`. Dead ones that were not reaped do not count.
pub(crate) fn of(root: &Path) -> Vec<i32> {
    let mark = format!("{ROOT}={}", root.display());
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let all = all.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    all.filter(|pid| *pid != own)
        .filter(|pid| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
        })
        .collect()
}

/// Children of a process, of any of its threads.
pub(crate) fn children(pid: i32) -> Vec<i32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = threads.map(|thread| fs::read_to_string(thread.path().join("children")));
    let lists = lists.map(Result::unwrap_or_default).collect::<Vec<_>>().concat();
    lists.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// Kills any of four: the bits of `who` are the outer supervisor, the inner one, the agent, and what starts
/// commands in the sandbox.
pub(crate) fn kill_some(agent: i32, who: u64) {
    for outer in children(agent) {
        let inner = children(outer);
        if who & 8 != 0 {
            let below = inner.iter().flat_map(|inner| children(*inner));
            let below: Vec<_> = below.flat_map(|it| [vec![it], children(it)].concat()).collect();
            below.into_iter().filter(|pid| starts_commands(*pid)).for_each(kill);
        }
        if who & 1 != 0 {
            kill(outer);
        }
        if who & 2 != 0 {
            inner.into_iter().for_each(kill);
        }
    }
    if who & 4 != 0 {
        kill(agent);
    }
}

/// Whether a process is a founder or a warden.
fn starts_commands(pid: i32) -> bool {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    words.split(|byte| *byte == 0).any(|word| word == b"founder" || word == b"warden")
}

pub(crate) fn kill(pid: i32) {
    if let Some(pid) = Pid::from_raw(pid) {
        // It may be gone already.
        kill_process(pid, Signal::KILL).ok();
    }
}
