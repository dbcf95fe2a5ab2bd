//! The tool `shell` under supervisors: output, limits, stops. No agent dies here.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use piton_core::event::{Handle, Outcome, Permissions};
use piton_core::id::{CallId, ConversationId, TurnId};
use piton_tools::supervise::{HEAD_BYTES, Supervisor, TAIL_BYTES};
use piton_tools::{
    Arguments, Asker, Consent, Finished, Job, OUTPUT_BYTES_MAX, Progress, Shell, Site, Tool,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::command::is_gone;

const CALL: CallId = CallId { turn: TurnId(1), step: 1, index: 0 };

struct Bench {
    tool: Shell,
    site: Arc<Site>,
    directory: TempDir,
}

impl Bench {
    fn new() -> Self {
        Self::with(PathBuf::from(env!("CARGO_BIN_EXE_piton")))
    }

    fn with(program: PathBuf) -> Self {
        let directory = TempDir::new().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let site = Site {
            workspace: root.join("work"),
            scratch: root.clone(),
            conversation: ConversationId::new("c"),
            permissions: Permissions::default(),
            closed: piton_tools::Closed::default(),
        };
        fs::create_dir(&site.workspace).unwrap();
        let supervisor = Supervisor::new(program, root.join("calls"), Vec::new());
        Self { tool: Shell::supervised(Arc::new(supervisor)), site: Arc::new(site), directory }
    }

    async fn handle(&self, arguments: &Arguments) -> Handle {
        self.tool.prepare(&self.site, CALL, arguments).await.unwrap().handle
    }

    async fn call(&self, arguments: Value) -> Finished {
        self.call_with(arguments, &CancellationToken::new()).await
    }

    async fn call_with(&self, arguments: Value, cancel: &CancellationToken) -> Finished {
        let arguments = arguments.as_object().unwrap().clone();
        let handle = self.handle(&arguments).await;
        let finished = self.run(&arguments, &handle, cancel).await;
        assert!(finished.text.len() <= OUTPUT_BYTES_MAX, "{} bytes", finished.text.len());
        finished
    }

    async fn run(
        &self,
        arguments: &Arguments,
        handle: &Handle,
        cancel: &CancellationToken,
    ) -> Finished {
        let job = Job {
            site: self.site.clone(),
            call: CALL,
            arguments: Arc::new(arguments.clone()),
            handle: handle.clone(),
            consent: Consent::WordForWord,
            grants: piton_core::event::Grants::default(),
            cancel: cancel.clone(),
            asker: Asker::default(),
            progress: Progress::default(),
        };
        self.tool.run(job).await
    }

    /// A number that a command wrote into a file, once it is there.
    async fn pid(&self, name: &str) -> Pid {
        let path = self.site.workspace.join(name);
        loop {
            let text = fs::read_to_string(&path).unwrap_or_default();
            if let (true, Ok(pid)) = (text.ends_with('\n'), text.trim().parse()) {
                return Pid::from_raw(pid).unwrap();
            }
            // wait: a command gives no sign but what it writes
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

#[tokio::test]
async fn a_command_ends_with_its_exit_code_and_its_output() {
    let bench = Bench::new();
    let finished = bench.call(json!({ "command": "echo out; echo err >&2; exit 3" })).await;
    assert_eq!((finished.outcome, finished.exit_code), (Outcome::Ok, Some(3)));
    assert_eq!(finished.text, "out\nerr\n[exit code 3]");
    let finished = bench.call(json!({ "command": "kill -9 $$" })).await;
    assert_eq!(finished.exit_code, Some(137));
    assert_eq!(finished.text, "[killed by signal: 9 (SIGKILL)]");
    let finished = bench.call(json!({ "command": "cat; true" })).await;
    assert_eq!(finished.text, "[exit code 0, no output]");
    let longest = format!("true {}", "x".repeat(128 * 1024 - 1 - 5));
    assert_eq!(bench.call(json!({ "command": longest })).await.exit_code, Some(0));
    let finished = bench.call(json!({ "command": "syntax ( error" })).await;
    assert_eq!(finished.exit_code, Some(2), "{}", finished.text);
    assert_eq!(bench.call(json!({ "command": r"printf 'a\377b'" })).await.text, "a\u{FFFD}b");
}

#[tokio::test]
async fn a_long_output_is_shown_by_its_ends_and_kept_whole() {
    let bench = Bench::new();
    let finished = bench.call(json!({ "command": "seq 1 100000; exit 1" })).await;
    let lines: Vec<_> = (1..=100_000).map(|n| format!("{n}\n")).collect();
    let all = lines.concat();
    assert_eq!(finished.full.as_deref(), Some(all.as_bytes()));
    assert!(finished.text.starts_with("1\n2\n3\n"));
    assert!(finished.text.ends_with("99999\n100000\n[exit code 1]"));
}

#[tokio::test]
async fn a_flood_keeps_its_ends() {
    let bench = Bench::new();
    let command = "echo first; yes | head -c 40000000; echo last";
    let finished = bench.call(json!({ "command": command })).await;
    let full = finished.full.unwrap();
    assert!(full.starts_with(b"first\ny\n") && full.ends_with(b"y\nlast\n"));
    assert!(!full.contains(&0), "no hole is shown");
    assert!((full.len() as u64) < HEAD_BYTES + TAIL_BYTES + 100);
    assert!(finished.text.starts_with("first\ny\n") && finished.text.ends_with("y\nlast\n"));
    // The seal of 8 bytes takes its room from the beginning.
    let left_out = 40_000_011 + 8 - HEAD_BYTES - TAIL_BYTES;
    assert!(String::from_utf8_lossy(&full).contains(&format!("[... {left_out} bytes left out")));
}

#[tokio::test]
async fn a_command_that_empties_its_output_is_told_so() {
    let bench = Bench::new();
    for command in ["seq 1 5; echo warning > /dev/stderr; echo end", "echo a | tee /dev/stderr"] {
        let finished = bench.call(json!({ "command": command })).await;
        assert_eq!(finished.exit_code, Some(0));
        assert!(finished.text.contains("emptied this output"), "{}", finished.text);
        assert!(finished.text.contains(">&2"), "what to do instead: {}", finished.text);
    }
    let kept = "seq 1 2; echo warning >> /dev/stderr; echo end >&2";
    let finished = bench.call(json!({ "command": kept })).await;
    assert_eq!(finished.text, "1\n2\nwarning\nend\n");
}

// It has a session of its own, and no parents any more.
#[tokio::test]
async fn a_flood_of_what_a_command_left_behind_is_bounded() {
    let bench = Bench::new();
    let flood = "head -c 40000000 /dev/zero; touch over; exec sleep 600";
    let command = format!("setsid sh -c 'echo $$ > pid; {flood}' & echo begun");
    let finished = bench.call(json!({ "command": command })).await;
    assert_eq!(finished.exit_code, Some(0), "{}", finished.text);
    let pid = bench.pid("pid").await;
    let calls = bench.directory.path().join("calls");
    let out = find_out(&calls);
    loop {
        let room = out.metadata().unwrap().blocks() * 512;
        if bench.site.workspace.join("over").exists() && room < 2 * (HEAD_BYTES + TAIL_BYTES) {
            break;
        }
        // wait: supervisors bound an output in their own time
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    kill_process(pid, Signal::KILL).unwrap();
}

/// The output of the only command.
fn find_out(calls: &Path) -> File {
    let only = |directory: &Path| fs::read_dir(directory).unwrap().next().unwrap().unwrap().path();
    File::open(only(&only(calls)).join("out")).unwrap()
}

#[tokio::test]
async fn commands_run_side_by_side() {
    let bench = Bench::new();
    // Each waits for the other's file: one after the other would never end.
    let meet = |mine: &str, other: &str| {
        let command = format!("touch {mine}; while [ ! -e {other} ]; do sleep 0.01; done");
        bench.call(json!({ "command": command, "timeout_s": 20 }))
    };
    let (one, two) = tokio::join!(meet("a", "b"), meet("b", "a"));
    assert_eq!((one.exit_code, two.exit_code), (Some(0), Some(0)));
}

#[tokio::test]
async fn a_command_that_is_stopped_can_clean_up_and_keeps_its_output_and_its_code() {
    let bench = Bench::new();
    let command = "trap 'echo cleaned; exit 3' TERM; echo begun; echo $$ > pid; \
                   while :; do sleep 0.01; done";
    let stop = CancellationToken::new();
    let watch = async {
        let pid = bench.pid("pid").await;
        stop.cancel();
        pid
    };
    let (finished, pid) =
        tokio::join!(bench.call_with(json!({ "command": command }), &stop), watch);
    assert_eq!((finished.outcome, finished.exit_code), (Outcome::Cancelled, Some(3)));
    assert!(finished.text.contains("cleaned\n[stopped on request"), "{}", finished.text);
    assert!(finished.text.ends_with("\n[it left with exit code 3]"), "{}", finished.text);
    assert!(is_gone(pid));
}

// What a signal has ended has left no code: 143 would be the number of a stop, not a word of its own.
#[tokio::test]
async fn a_command_that_is_stopped_by_the_signal_has_no_code() {
    let bench = Bench::new();
    let stop = CancellationToken::new();
    let command = json!({ "command": "echo $$ > pid; exec sleep 600" });
    let watch = async {
        bench.pid("pid").await;
        stop.cancel();
    };
    let (finished, ()) = tokio::join!(bench.call_with(command, &stop), watch);
    assert_eq!((finished.outcome, finished.exit_code), (Outcome::Cancelled, None));
    assert!(!finished.text.contains("it left with"), "{}", finished.text);
}

#[tokio::test]
async fn a_limit_ends_the_whole_group_also_where_it_does_not_listen() {
    let bench = Bench::new();
    let command = "sh -c 'trap \"\" TERM; echo $$ > inner; sleep 600; sleep 600' & wait";
    let start = Instant::now();
    let finished = bench.call(json!({ "command": command, "timeout_s": 1 })).await;
    assert_eq!((finished.outcome, finished.exit_code), (Outcome::Failed, None));
    assert!(finished.text.contains("[stopped after 1 s"), "{}", finished.text);
    assert!(start.elapsed() < Duration::from_secs(20));
    let inner = bench.pid("inner").await;
    // The command itself may have ended on the polite signal; what it left is killed with it.
    crate::world::wait_until(|| is_gone(inner));
}

#[tokio::test]
async fn what_a_command_leaves_behind_goes_on_and_is_told() {
    let bench = Bench::new();
    let command = "sleep 600 & echo $! > pid; echo done";
    let finished = bench.call(json!({ "command": command })).await;
    assert_eq!(finished.exit_code, Some(0));
    assert_eq!(finished.text, "done\n[something that it started is still running]");
    let pid = bench.pid("pid").await;
    assert!(!is_gone(pid));
    kill_process(pid, Signal::KILL).unwrap();
}

#[tokio::test]
async fn a_dropped_call_takes_its_command_along() {
    let bench = Bench::new();
    let command = "trap '' TERM; sleep 600 & echo $! > inner; echo $$ > outer; wait";
    let arguments = json!({ "command": command });
    {
        let mut run = Box::pin(bench.call(arguments));
        tokio::select! {
            finished = &mut run => panic!("{finished:?}"),
            _ = bench.pid("outer") => {}
        }
    }
    for name in ["outer", "inner"] {
        let pid = bench.pid(name).await;
        crate::world::wait_until(|| is_gone(pid));
    }
}

#[tokio::test]
async fn a_handle_starts_one_command_however_often_it_is_run() {
    let bench = Bench::new();
    let arguments = json!({ "command": "echo x >> ledger; exit 4" });
    let arguments = arguments.as_object().unwrap();
    let handle = bench.handle(arguments).await;
    let never = CancellationToken::new();
    let again = || bench.run(arguments, &handle, &never);
    let (one, two, three) = tokio::join!(again(), again(), again());
    for finished in [one, two, three, again().await] {
        assert_eq!(finished.exit_code, Some(4), "{}", finished.text);
    }
    assert_eq!(fs::read_to_string(bench.site.workspace.join("ledger")).unwrap(), "x\n");
}

#[tokio::test]
async fn killed_supervisors_are_replaced() {
    let bench = Bench::new();
    let command = json!({ "command": "echo $PPID > parent" });
    for _ in 0..3 {
        assert_eq!(bench.call(command.clone()).await.exit_code, Some(0));
        let inner = bench.pid("parent").await;
        fs::remove_file(bench.site.workspace.join("parent")).unwrap();
        let outer = crate::command::parent(inner);
        for pid in [outer, inner] {
            kill_process(pid, Signal::KILL).unwrap();
            crate::world::wait_until(|| is_gone(pid));
        }
    }
}

#[tokio::test]
async fn what_cannot_be_started_says_so() {
    let bench = Bench::with("/nowhere/piton".into());
    let finished = bench.call(json!({ "command": "touch ran" })).await;
    assert_eq!(finished.outcome, Outcome::Failed);
    assert!(finished.text.contains("could not be run"), "{}", finished.text);
    assert!(!bench.directory.path().join("work/ran").exists());
}
