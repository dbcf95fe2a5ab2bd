//! `shell`: bounded in time, in output, and in what it leaves behind.

use std::fs;
use std::future::Future;
use std::time::{Duration, Instant};

use piton_core::event::{Handle, Outcome};
use piton_tools::{OUTPUT_BYTES_MAX, SPILL_BYTES_MAX, Settled};
use rustix::process::{Pid, test_kill_process};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::bench::Bench;

/// Longest wait for something that must happen.
const PATIENCE: Duration = Duration::from_secs(20);

/// Looks again and again until it is so.
async fn eventually(what: &str, so: impl Fn() -> bool) {
    let start = Instant::now();
    while !so() {
        assert!(start.elapsed() < PATIENCE, "{what} did not happen");
        // wait: polls a condition of another process; nothing announces it.
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// The process whose number a command wrote to a file, once it has.
async fn process(bench: &Bench, file: &str) -> Pid {
    let path = bench.path(file);
    let read = || fs::read_to_string(&path).ok().filter(|text| text.ends_with('\n'));
    eventually("a process number", || read().is_some()).await;
    Pid::from_raw(read().unwrap().trim().parse().unwrap()).unwrap()
}

/// Waits for the end of a process. An orphan that has ended but whose new parent does not reap it
/// has ended as well.
async fn is_gone(pid: Pid) {
    let stat = format!("/proc/{}/stat", pid.as_raw_nonzero());
    eventually("the end of a process", || {
        test_kill_process(pid).is_err()
            || fs::read_to_string(&stat).is_ok_and(|text| text.contains(") Z "))
    })
    .await;
}

fn children() -> usize {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    tasks
        .filter_map(|task| fs::read_to_string(task.ok()?.path().join("children")).ok())
        .map(|text| text.split_whitespace().count())
        .sum()
}

// K55: a command that fails is not a tool that fails.
#[tokio::test]
async fn a_command_ends_with_its_exit_code() {
    let bench = Bench::new("shell");
    let finished = bench.call(json!({"command": "echo out; echo err >&2; echo out"})).await;
    assert_eq!((finished.outcome, finished.exit_code), (Outcome::Ok, Some(0)));
    assert_eq!(finished.text, "out\nerr\nout\n");
    let finished = bench.call(json!({"command": "printf half; exit 3"})).await;
    assert_eq!((finished.outcome, finished.exit_code), (Outcome::Ok, Some(3)));
    assert_eq!(finished.text, "half\n[exit code 3]");
    let finished = bench.call(json!({"command": "true"})).await;
    assert_eq!(finished.text, "[exit code 0, no output]");
    let finished = bench.call(json!({"command": "kill -9 $$"})).await;
    assert_eq!((finished.outcome, finished.exit_code), (Outcome::Ok, Some(137)));
    assert_eq!(finished.text, "[killed by signal: 9 (SIGKILL)]");
    assert_eq!(children(), 0, "no zombie is left");
}

#[tokio::test]
async fn it_runs_in_the_workspace_without_input() {
    let bench = Bench::new("shell");
    bench.file("sub/x", "");
    let workspace = bench.site.workspace.display().to_string();
    assert_eq!(bench.ok(json!({"command": "pwd"})).await.trim(), workspace);
    assert_eq!(bench.ok(json!({"command": "ls", "dir": "sub"})).await, "x\n");
    assert_eq!(bench.ok(json!({"command": "cat; echo end"})).await, "end\n");
    bench.refusal(json!({"command": "true", "dir": "sub/x"})).await;
    bench.refusal(json!({"command": "true", "dir": "nowhere"})).await;
}

#[tokio::test]
async fn what_cannot_be_run_is_refused() {
    let bench = Bench::new("shell");
    for (arguments, told) in [
        (json!({"command": " "}), "empty"),
        (json!({"command": "a\0b"}), "NUL"),
        (json!({"command": "true", "timeout_s": 0}), "at least 1"),
        (json!({"command": "true", "timeout_s": 3601}), "at most 3600"),
        (json!({"command": "x".repeat(200_000)}), "write a script"),
    ] {
        let text = bench.refusal(arguments).await;
        assert!(text.contains(told), "{text}");
    }
    // The longest that is taken really starts.
    let longest = format!("true {}", "x".repeat(128 * 1024 - 1 - 5));
    assert_eq!(bench.ok(json!({"command": longest})).await, "[exit code 0, no output]");
}

#[tokio::test]
async fn a_long_output_is_shown_by_its_ends_and_kept_whole() {
    let bench = Bench::new("shell");
    let finished = bench.call(json!({"command": "seq 1 100000; exit 1"})).await;
    let lines: Vec<String> = (1..=100_000).map(|n| format!("{n}\n")).collect();
    let all = lines.concat();
    assert_eq!(finished.full.as_deref(), Some(all.as_bytes()));
    assert!(finished.text.starts_with("1\n2\n3\n"));
    assert!(finished.text.contains(" bytes left out ...]\n"));
    assert!(finished.text.ends_with("99999\n100000\n[exit code 1]"));
    assert!(finished.text.len() <= OUTPUT_BYTES_MAX);
    let left: Vec<_> = fs::read_dir(&bench.site.scratch).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn a_flood_is_bounded() {
    let bench = Bench::new("shell");
    let finished =
        bench.call(json!({"command": "echo first; yes | head -c 40000000; echo last"})).await;
    let full = finished.full.unwrap();
    assert!(full.starts_with(b"first\n") && full.ends_with(b"last\n"));
    assert!((full.len() as u64) < SPILL_BYTES_MAX + 100);
}

#[tokio::test]
async fn bytes_that_are_not_text_are_made_readable() {
    let bench = Bench::new("shell");
    assert_eq!(bench.ok(json!({"command": r"printf 'a\377b'"})).await, "a\u{FFFD}b");
}

#[tokio::test]
async fn a_timeout_ends_the_whole_group() {
    let bench = Bench::new("shell");
    // The inner one does not listen to SIGTERM, the outer one waits for it.
    let command = "sh -c 'trap \"\" TERM; echo $$ > inner; echo here; sleep 600; sleep 600' & \
                   echo $$ > outer; wait";
    let arguments = json!({"command": command, "timeout_s": 1});
    let start = Instant::now();
    let finished = bench.call(arguments).await;
    assert_eq!((finished.outcome, finished.exit_code), (Outcome::Failed, None));
    assert!(finished.text.starts_with("here\n[stopped after 1 s"), "{}", finished.text);
    assert!(Duration::from_secs(1) <= start.elapsed() && start.elapsed() < PATIENCE);
    is_gone(process(&bench, "inner").await).await;
    is_gone(process(&bench, "outer").await).await;
    assert_eq!(children(), 0);
}

#[tokio::test]
async fn a_command_that_is_stopped_can_clean_up_and_keeps_its_output() {
    let bench = Bench::new("shell");
    let command = "trap 'echo cleaned; exit 0' TERM; echo begun; echo $$ > pid; \
                   while :; do sleep 0.01; done";
    let stop = CancellationToken::new();
    let run = bench.tool.run(bench.job(&json!({"command": command}), &Handle::None, &stop));
    let watch = async {
        let pid = process(&bench, "pid").await;
        stop.cancel();
        pid
    };
    let (finished, pid) = tokio::join!(run, watch);
    assert_eq!(finished.outcome, Outcome::Cancelled);
    // Some shells also remark that the sleeper was terminated.
    assert!(finished.text.starts_with("begun\n"), "{}", finished.text);
    assert!(finished.text.contains("cleaned\n[stopped on request"), "{}", finished.text);
    is_gone(pid).await;
}

#[tokio::test]
async fn a_command_that_is_stopped_before_it_starts_does_not_start() {
    let bench = Bench::new("shell");
    let stop = CancellationToken::new();
    stop.cancel();
    let arguments = json!({"command": "touch ran"});
    let finished = bench.tool.run(bench.job(&arguments, &Handle::None, &stop)).await;
    assert_eq!(finished.outcome, Outcome::Cancelled);
    assert!(bench.names("").is_empty());
}

#[tokio::test]
async fn a_background_process_does_not_hold_the_call() {
    let bench = Bench::new("shell");
    let command = "sleep 600 & echo $! > pid; echo done";
    let start = Instant::now();
    let finished = bench.call(json!({"command": command})).await;
    assert!(start.elapsed() < PATIENCE);
    assert_eq!((finished.outcome, finished.exit_code), (Outcome::Ok, Some(0)));
    assert!(finished.text.starts_with("done\n[a background process"), "{}", finished.text);
    let pid = process(&bench, "pid").await;
    assert!(test_kill_process(pid).is_ok(), "it goes on");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test]
async fn a_background_process_with_its_own_output_is_nothing_to_talk_about() {
    let bench = Bench::new("shell");
    let command = "sleep 600 > log 2>&1 & echo $! > pid; echo done";
    assert_eq!(bench.ok(json!({"command": command})).await, "done\n");
    let pid = process(&bench, "pid").await;
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test]
async fn a_process_that_leaves_the_group_does_not_hold_a_stopped_call() {
    let bench = Bench::new("shell");
    let command = "setsid sh -c 'echo $$ > pid; exec sleep 600' & sleep 600";
    let finished = bench.call(json!({"command": command, "timeout_s": 1})).await;
    assert_eq!(finished.outcome, Outcome::Failed);
    let pid = process(&bench, "pid").await;
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test]
async fn a_command_that_closes_its_output_is_waited_for() {
    let bench = Bench::new("shell");
    let command = "exec > /dev/null 2>&1; sleep 0.2; touch ran; exit 4";
    let finished = bench.call(json!({"command": command})).await;
    assert_eq!(finished.exit_code, Some(4));
    assert_eq!(bench.names(""), ["ran"]);
}

// The driver dies inside its process: the future is dropped, the command must not live on.
#[tokio::test]
async fn a_dropped_call_takes_its_command_along() {
    let bench = Bench::new("shell");
    let command = "trap '' TERM; sleep 600 & echo $! > inner; echo $$ > outer; wait";
    let stop = CancellationToken::new();
    let job = bench.job(&json!({"command": command}), &Handle::None, &stop);
    let mut run = bench.tool.run(job);
    let started = process(&bench, "outer");
    tokio::pin!(started);
    let outer = std::future::poll_fn(|context| {
        assert!(run.as_mut().poll(context).is_pending());
        started.as_mut().poll(context)
    })
    .await;
    drop(run);
    is_gone(outer).await;
    is_gone(process(&bench, "inner").await).await;
    eventually("reaping", || children() == 0).await;
}

#[tokio::test]
async fn commands_run_side_by_side() {
    let bench = Bench::new("shell");
    // Each waits for the other's file: one after the other would never end.
    let meet = |mine: &str, other: &str| {
        let command = format!("touch {mine}; while [ ! -e {other} ]; do sleep 0.01; done");
        bench.call(json!({"command": command, "timeout_s": 20}))
    };
    let (one, two) = tokio::join!(meet("a", "b"), meet("b", "a"));
    assert_eq!((one.exit_code, two.exit_code), (Some(0), Some(0)));
}

#[tokio::test]
async fn what_became_of_a_command_in_doubt_is_not_guessed() {
    let bench = Bench::new("shell");
    let settled = bench.settle(&json!({"command": "true"}), &Handle::None).await;
    assert!(matches!(settled, Settled::Unknown(_)));
}
