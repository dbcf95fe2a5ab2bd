//! A task of some size: a small program with tests, from an empty directory, with every kind of tool once.
//! The real binary is killed at its system calls, and goes on until the task is done.
//!
//! The tests kill at every sixteenth point; `dev/faults` sets `PITON_TASK_STEP=1` and kills at every one.

use std::fs;

use serde_json::{Value, json};

use crate::faults::{can_trace, points, trace};
use crate::loopback::Loopback;
use crate::world::{World, lines, lines_of};

/// Every so many points are tried, unless the environment says otherwise.
const STEP: usize = 16;
/// Most lives of a task behind a kill.
const LIVES_MAX: usize = 6;
/// How often the page can be fetched.
const FETCHES_MAX: usize = 8;

/// System calls that change a file or make it durable.
const CHANGES: [&str; 8] =
    ["pwrite64", "fdatasync", "fsync", "rename", "renameat2", "unlinkat", "ftruncate", "write"];

const PATCH: &str = "*** Begin Patch\n*** Add File: test.sh\n+. ./sum.sh\n+[ \"$(sum 1 2)\" = 3 ] && echo passed\n*** Update File: sum.sh\n@@\n-sum() { echo 0; }\n+sum() { echo $(($1 + $2)); }\n*** End Patch\n";

/// What the files have in the end.
const PROGRAM: &str = "# adds numbers\nsum() { echo $(($1 + $2)); }\n";
const TEST: &str = ". ./sum.sh\n[ \"$(sum 1 2)\" = 3 ] && echo passed\n";

/// Calls whose effect can be counted, and the file that has a line for each.
const COUNTED: [(&str, &str); 3] =
    [("1.5.0", "tests.log"), ("1.10.0", "pay.log"), ("1.11.0", WORKER_LOG)];
/// What the command of the worker writes to.
const WORKER_LOG: &str = "worker.log";

/// Steps whose calls nobody is left in doubt about: all but commands, the payment and the worker.
const ALWAYS_WELL: [u32; 7] = [1, 2, 3, 4, 6, 8, 9];
/// The name of the run in which nothing is killed.
const UNDISTURBED: &str = "undisturbed";

struct Task {
    world: World,
    model: String,
    _server: Loopback,
}

impl Task {
    fn new() -> Self {
        let world = World::new();
        let body = "<h1>Sums</h1>";
        let page = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let server = Loopback::start(vec![page.into_bytes(); FETCHES_MAX]);
        let url = format!("http://{}/sums", server.address);
        fs::create_dir_all(world.path("home/skills/sums")).unwrap();
        let skill = "---\nname: sums\ndescription: How to add.\n---\nCarry the one.\n";
        fs::write(world.path("home/skills/sums/SKILL.md"), skill).unwrap();
        let address = &server.address;
        let settings = format!(
            "[web]\nprivate_hosts = [\"{address}\"]\n[sandbox]\nnetwork = [\"{address}\"]\n"
        );
        fs::write(world.path("home/piton.toml"), settings).unwrap();
        let model = world.script(&script(&url).to_string());
        Self { world, model, _server: server }
    }

    fn query(&self) -> [&str; 6] {
        ["query", "write a program that adds", "--permissions", "auto", "--model", &self.model]
    }

    /// Goes on without faults until the task is done, as a user would.
    fn recover(&self, fault: &str) {
        for _ in 0..LIVES_MAX {
            let rows = self.world.rows();
            // A worker is a conversation, too, and may be over before the task is.
            let own = rows.iter().find(|row| row["parent"].is_null());
            let begin = self.query();
            let args: &[&str] = match own {
                Some(row) if row["turns"] != 0 && row["status"] == "" => return,
                Some(row) if row["turns"] != 0 => &["query", "--continue"],
                Some(_) | None => &begin,
            };
            let ran = self.world.run(args);
            assert_eq!(ran.code, 0, "{fault}: {args:?}: {}", ran.stderr);
        }
        panic!("{fault}: the task does not end");
    }

    /// Files are as they should be, what can be counted happened once, and the journal tells the truth.
    fn judge(&self, fault: &str) {
        let read = |name: &str| fs::read_to_string(self.world.work(name)).unwrap_or_default();
        assert_eq!((read("sum.sh"), read("test.sh")), (PROGRAM.into(), TEST.into()), "{fault}");
        let entries = lines(&self.world.run(&["print", "--json", "--raw"]).stdout);
        let events: Vec<&Value> = entries.iter().map(|entry| &entry["event"]).collect();
        let ends = |call: &str| -> Vec<&Value> {
            let of_call = |it: &&&Value| it["type"] == "ToolFinished" && it["call"] == call;
            events.iter().filter(of_call).map(|event| &event["outcome"]).collect()
        };
        for step in 1..=11 {
            let call = format!("1.{step}.0");
            assert_eq!(ends(&call).len(), 1, "{fault}: {call}");
        }
        for (call, log) in COUNTED {
            let times = lines_of(&self.world.work(log));
            // A worker answers also where a command of its own was never run, and was told so.
            let own = (log == WORKER_LOG).then(|| self.end_in_worker()).flatten();
            let outcome = own.as_ref().unwrap_or(ends(call)[0]);
            let fits = if outcome == "ok" { times == 1 } else { times <= 1 };
            assert!(fits, "{fault}: {log} has {times} lines, and the call ended as {outcome}");
        }
        // What can be done again, or is settled by what is in the files, ends well after every kill.
        let all_ended_well = fault == UNDISTURBED;
        for step in (1..=11).filter(|step| all_ended_well || ALWAYS_WELL.contains(step)) {
            let call = format!("1.{step}.0");
            assert_eq!(ends(&call), ["ok"], "{fault}: {call}");
        }
        let messages = events.iter().filter(|event| event["type"] == "UserMessage").count();
        assert_eq!(messages, 1, "{fault}");
    }
}

impl Task {
    /// How the command of the worker ended, if there is one.
    fn end_in_worker(&self) -> Option<Value> {
        let rows = self.world.rows();
        let worker = rows.iter().find(|row| !row["parent"].is_null())?;
        let id = worker["conversation"].as_str().unwrap();
        let entries = lines(&self.world.run(&["print", "--json", "--raw", "--id", id]).stdout);
        let ends = entries.iter().map(|entry| &entry["event"]);
        let mut ends = ends.filter(|event| event["type"] == "ToolFinished");
        ends.next().map(|event| event["outcome"].clone())
    }
}

fn script(url: &str) -> Value {
    let call = |tool: &str, arguments: Value| json!({ "calls": [{ "tool": tool, "arguments": arguments }] });
    let plan = json!({ "plan": [{ "step": "write", "status": "in_progress" }, { "step": "test", "status": "pending" }] });
    json!({
        "steps": [
            call("update_plan", plan),
            call("skill", json!({ "name": "sums" })),
            call("write_file", json!({ "path": "sum.sh", "content": "sum() { echo 0; }\n" })),
            call("apply_patch", json!({ "patch": PATCH })),
            call("shell", json!({ "command": "sh test.sh >> tests.log" })),
            call("edit_file", json!({ "path": "sum.sh", "old": "sum()", "new": "# adds numbers\nsum()" })),
            call("shell", json!({ "command": "cat sum.sh" })),
            call("grep", json!({ "pattern": "sum" })),
            call("web_fetch", json!({ "url": url })),
            call("pay", json!({})),
            call("delegate", json!({ "task": "count" })),
            { "say": "The program adds, and its test passes." }],
        "workers": [{ "task": "count", "steps": [
            call("shell", json!({ "command": "echo counted >> worker.log" })),
            { "say": "Counted." }] }],
        "tools": [{ "name": "pay", "effect": "once", "append_to": "pay.log", "output": "paid" }]
    })
}

#[test]
fn crash_at_the_points_of_a_task_with_every_feature() {
    if !can_trace() {
        return;
    }
    let step = std::env::var("PITON_TASK_STEP").ok().and_then(|step| step.parse().ok());
    let undisturbed = Task::new();
    let points = points(&undisturbed.world, &undisturbed.query(), &CHANGES);
    undisturbed.judge(UNDISTURBED);
    let points = points.iter().flat_map(|(call, count)| (1..=*count).map(move |when| (call, when)));
    let points: Vec<_> = points.step_by(step.unwrap_or(STEP)).collect();
    let mut killed = 0;
    for (call, when) in &points {
        let fault = format!("{call}:signal=SIGKILL:when={when}");
        let task = Task::new();
        let expressions = [format!("trace={call}"), format!("inject={fault}")];
        killed += usize::from(trace(&task.world, &task.query(), &expressions).code != 0);
        task.recover(&fault);
        task.judge(&fault);
    }
    println!("a task of 12 steps, {killed} of {} points reached: 0 violations", points.len());
    assert!(20 < points.len(), "too few points: {}", points.len());
    // How often a thread makes a call differs a little from run to run.
    assert!(points.len() - points.len() / 10 <= killed, "{killed} of {} points", points.len());
}
