//! The real binary under `strace`: killed at every system call that changes a file, and given
//! errors of the disk at every one of them.
//!
//! Counts of `strace` are per system call and thread, so the points are taken from a trace of an
//! undisturbed run. Where `strace` cannot be used, the tests say so; the test command installs it.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::world::{Ran, World, lines, lines_of};

/// System calls that change a file or make it durable.
const CHANGES: [&str; 9] = [
    "pwrite64",
    "fdatasync",
    "fsync",
    "rename",
    "renameat2",
    "unlink",
    "unlinkat",
    "ftruncate",
    "write",
];

struct Trial {
    world: World,
    model: String,
}

impl Trial {
    fn new() -> Self {
        let world = World::new();
        let script = json!({
            "steps": [
                { "say": "At work.", "calls": [
                    { "tool": "edit_file", "arguments":
                        { "path": "counter.txt", "old": "n=0.", "new": "n=1." } },
                    { "tool": "pay" }] },
                { "say": "All done." }],
            "tools": [{ "name": "pay", "effect": "once", "append_to": "pay.log", "output": "paid" }]
        });
        let model = world.script(&script.to_string());
        fs::write(world.work("counter.txt"), "n=0.\n").unwrap();
        Self { world, model }
    }

    /// Runs the turn under `strace`.
    fn trace(&self, expressions: &[String]) -> Ran {
        let query = ["query", "go", "--permissions", "auto", "--model", &self.model];
        trace(&self.world, &query, expressions)
    }

    fn points(&self) -> BTreeMap<String, u32> {
        let query = ["query", "go", "--permissions", "auto", "--model", &self.model];
        points(&self.world, &query, &CHANGES)
    }

    /// Goes on without faults until the turn is over, as a user would.
    fn recover(&self) {
        let begin = ["query", "go", "--permissions", "auto", "--model", &self.model];
        for _ in 0..3 {
            let rows = self.world.rows();
            let args: &[&str] = match rows.first() {
                Some(row) if row["turns"] != 0 && row["status"] == "" => return,
                Some(row) if row["turns"] != 0 => &["query", "--continue"],
                Some(_) | None => &begin,
            };
            let ran = self.world.run(args);
            assert_eq!(ran.code, 0, "{args:?}: {}", ran.stderr);
        }
        panic!("the turn does not end");
    }

    /// The edit took effect once, the payment at most once, and the journal tells the truth.
    fn judge(&self, fault: &str) {
        let counter = fs::read_to_string(self.world.work("counter.txt")).unwrap();
        assert_eq!(counter, "n=1.\n", "{fault}");
        let paid = lines_of(&self.world.work("pay.log"));
        assert!(paid <= 1, "{fault}: paid {paid} times");
        let entries = lines(&self.world.run(&["print", "--json", "--raw"]).stdout);
        let end = |call: &str| -> Value {
            let events = entries.iter().map(|entry| &entry["event"]);
            let mut ends = events.filter(|event| event["type"] == "ToolFinished");
            ends.find(|event| event["call"] == call).expect(fault)["outcome"].clone()
        };
        assert_eq!(end("1.1.0"), "ok", "{fault}");
        match end("1.1.1").as_str() {
            Some("ok") => assert_eq!(paid, 1, "{fault}"),
            Some("unknown") => {}
            other => panic!("{fault}: paid ended as {other:?}"),
        }
    }
}

/// Runs the binary under `strace`.
pub(crate) fn trace(world: &World, args: &[&str], expressions: &[String]) -> Ran {
    let inner = world.command(args);
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o"]).arg(world.path("trace"));
    for expression in expressions {
        command.args(["-e", expression]);
    }
    command.arg(inner.get_program()).args(inner.get_args());
    command.current_dir(inner.get_current_dir().unwrap());
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = command.output().unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// How often one thread makes each of some calls, at most.
pub(crate) fn points(world: &World, args: &[&str], calls: &[&str]) -> BTreeMap<String, u32> {
    let ran = trace(world, args, &[format!("trace={}", calls.join(","))]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let mut counts: BTreeMap<(String, String), u32> = BTreeMap::new();
    for line in fs::read_to_string(world.path("trace")).unwrap().lines() {
        let Some((thread, rest)) = line.split_once(' ') else { continue };
        let Some((call, _)) = rest.trim().split_once('(') else { continue };
        if calls.contains(&call) {
            *counts.entry((thread.into(), call.into())).or_default() += 1;
        }
    }
    let mut points: BTreeMap<String, u32> = BTreeMap::new();
    for ((_, call), count) in counts {
        let most = points.entry(call).or_default();
        *most = count.max(*most);
    }
    points
}

pub(crate) fn can_trace() -> bool {
    let works = Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).output();
    let works = works.is_ok_and(|output| output.status.success());
    if !works {
        println!("skipped: strace is missing or may not trace here");
    }
    works
}

/// Tries a fault at every point of some calls; gives how many.
fn everywhere(calls: &[&str], fault: &str, after: impl Fn(&Ran, &str)) -> u32 {
    let points = Trial::new().points();
    let mut tried = 0;
    for (call, count) in points.iter().filter(|(call, _)| calls.contains(&call.as_str())) {
        for when in 1..=*count {
            let what = format!("{call}:{fault}:when={when}");
            let trial = Trial::new();
            let expressions = [format!("trace={call}"), format!("inject={what}")];
            let ran = trial.trace(&expressions);
            after(&ran, &what);
            trial.recover();
            trial.judge(&what);
            tried += 1;
        }
    }
    tried
}

// M6, M14, K22
#[test]
fn crash_at_every_system_call_that_changes_a_file() {
    if can_trace() {
        let tried = everywhere(&CHANGES, "signal=SIGKILL", |_, _| {});
        println!("killed at {tried} system calls, 0 violations");
        assert!(50 < tried, "too few points: {tried}");
    }
}

// M14, J20: never a silent success, never a panic
#[test]
fn crash_of_the_disk_at_every_write_and_sync_is_reported_and_survived() {
    if can_trace() {
        let clear = |ran: &Ran, what: &str| {
            assert!(!ran.stderr.contains("panicked"), "{what}: {}", ran.stderr);
            let said = ran.stderr.lines().any(|line| line.starts_with("error: "));
            assert!(ran.code == 0 || said, "{what}: code {} {}", ran.code, ran.stderr);
        };
        let syncs = everywhere(&["fdatasync", "fsync"], "error=EIO", clear);
        let writes = everywhere(&["pwrite64"], "error=ENOSPC", clear);
        println!("{syncs} failed syncs, {writes} writes to a full disk, 0 violations");
        assert!(5 < syncs && 20 < writes, "too few points: {syncs} {writes}");
    }
}
