//! Deaths at every step of the protocol, and at random instants, counted in a ledger of effects.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use piton_core::event::{Handle, Outcome};
use piton_core::id::{CallId, ConversationId, TurnId};
use piton_tools::supervise::Supervisor;
use piton_tools::{Arguments, Finished, Job, Settled, Shell, Site, Tool};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::command::end_of_command;
use crate::world::{World, lines_of};

/// Tells a process of this binary that it is an agent, and where.
const AGENT: &str = "PITON_TEST_AGENT";
/// Rounds with random deaths.
const ROUNDS: u32 = 220;
/// Deaths come within this time, in microseconds: a little more than a round takes.
const LIFE_US: u64 = 60_000;

const COMMAND: &str = "echo x >> ledger; sleep 0.01; echo said; exit 7";

/// What a death at a step of the protocol may lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    /// It ran once, and its status is known.
    Exact,
    /// It never ran, and the model is told so.
    NotStarted,
}

#[test]
fn crash_at_every_step_of_the_protocol_runs_nothing_twice_and_loses_no_status() {
    use Expected::{Exact, NotStarted};
    for (point, expected) in [
        // The agent.
        ("claimed", Exact),
        ("intended", Exact),
        ("sent", Exact),
        // The outer supervisor.
        ("taken", NotStarted),
        ("passed-on", Exact),
        // The inner one.
        ("received", NotStarted),
        ("shut", NotStarted),
        ("started", NotStarted),
        ("synced", NotStarted),
        ("opened", Exact),
        ("inner-ended", Exact),
        ("inner-recorded", Exact),
        ("inner-reaped", Exact),
        // Both.
        ("inner-ended,outer-ended", Exact),
        ("inner-ended,outer-recorded", Exact),
        ("inner-ended,outer-reaped", Exact),
        // All three.
        ("sent,inner-ended,outer-ended", Exact),
    ] {
        let world = World::new();
        let call = json!({ "tool": "shell", "arguments": { "command": COMMAND } });
        let steps = json!([{ "calls": [call] }, { "say": "Done." }]);
        let model = world.script(&json!({ "steps": steps }).to_string());
        let mut agent = world.command(&["query", "go", "--permissions", "auto", "--model", &model]);
        let ran = agent.env("PITON_FAIL_POINT", point).output().unwrap();
        if !ran.status.success() {
            let ran = world.run(&["query", "--continue"]);
            assert_eq!(ran.code, 0, "{point}: {}", ran.stderr);
        }
        let end = end_of_command(&world);
        let count = lines_of(&world.work("ledger"));
        let found = match (count, end["outcome"].as_str(), end["output"]["exit_code"].as_i64()) {
            (1, Some("ok"), Some(7)) => Exact,
            (0, Some("failed"), None) => NotStarted,
            _ => panic!("{point}: {count} effects, {end}"),
        };
        assert_eq!(found, expected, "{point}: {end}");
    }
}

// The check of the check: a gate that opens before the start is recorded is noticed.
#[test]
fn a_command_finds_its_start_recorded_unless_the_gate_opens_too_early() {
    for (point, recorded) in [("", "1"), ("gate-before-record", "0")] {
        let world = World::new();
        let command = "grep -c '{\"S\"' \"$PITON_HOME\"/calls/*/*/log > found; exit 0";
        let call = json!({ "tool": "shell", "arguments": { "command": command } });
        let steps = json!([{ "calls": [call] }, { "say": "Done." }]);
        let model = world.script(&json!({ "steps": steps }).to_string());
        let mut agent = world.command(&["query", "go", "--permissions", "auto", "--model", &model]);
        assert!(agent.env("PITON_FAIL_POINT", point).output().unwrap().status.success());
        assert_eq!(fs::read_to_string(world.work("found")).unwrap().trim(), recorded, "{point}");
    }
}

/// One place with one call, which agents come to one after the other.
struct Place {
    root: PathBuf,
}

impl Place {
    fn tool(&self) -> Shell {
        let program = PathBuf::from(env!("CARGO_BIN_EXE_piton"));
        Shell::supervised(Arc::new(Supervisor::new(program, self.root.join("calls"), Vec::new())))
    }

    fn site(&self) -> Site {
        Site {
            workspace: self.root.join("work"),
            scratch: self.root.clone(),
            conversation: ConversationId::new("c"),
        }
    }

    fn arguments() -> Arguments {
        json!({ "command": COMMAND }).as_object().unwrap().clone()
    }

    fn handle(name: &str) -> Handle {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        Handle::Job { directory: format!("c/{name}"), boot: Some(boot.trim().to_owned()) }
    }

    async fn run(&self, name: &str) -> Finished {
        let job = Job {
            site: Arc::new(self.site()),
            call: CallId { turn: TurnId(1), step: 1, index: 0 },
            arguments: Arc::new(Self::arguments()),
            handle: Self::handle(name),
            cancel: CancellationToken::new(),
        };
        self.tool().run(job).await
    }

    fn effects(&self) -> usize {
        lines_of(&self.root.join("work/ledger"))
    }
}

fn on_a_runtime<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// No test of its own: the agent that the rounds below kill.
#[test]
fn agent_of_the_random_deaths() {
    let Some(root) = std::env::var_os(AGENT) else { return };
    let place = Place { root: root.into() };
    let finished = on_a_runtime(place.run("first"));
    // Appears whole or not at all.
    fs::write(place.root.join("said"), format!("{:?} {:?}", finished.outcome, finished.exit_code))
        .unwrap();
    fs::rename(place.root.join("said"), place.root.join("result")).unwrap();
}

fn spawn_agent(root: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "command_deaths::agent_of_the_random_deaths", "--test-threads=1"])
        .env(AGENT, root)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Children of a process, of any of its threads.
fn children(pid: i32) -> Vec<i32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = threads.map(|thread| fs::read_to_string(thread.path().join("children")));
    let lists = lists.map(Result::unwrap_or_default).collect::<Vec<_>>().concat();
    lists.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

fn kill(pid: i32) {
    // It may be gone already.
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).ok();
}

/// Chance from a seed, so that a failing run can be repeated.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

#[derive(Debug, Default)]
struct Tally {
    answered: u32,
    attached: u32,
    collected: u32,
    never_ran: u32,
    in_doubt: u32,
    /// Of all these, those whose end an agent had to ask the kernel for.
    adopted: u32,
}

// Executed at most once, always; the status exact unless the verdict says that it is in doubt.
#[test]
fn crash_of_agent_and_supervisors_at_random_instants_runs_nothing_twice() {
    let seed = std::env::var("PITON_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| u64::from(std::process::id()));
    println!("PITON_SEED={seed}");
    let mut chance = Chance(seed);
    let mut tally = Tally::default();
    for round in 0..ROUNDS {
        death(&mut chance, &mut tally, round);
    }
    println!(
        "random deaths of agent, outer and inner supervisor: {ROUNDS} rounds, {tally:?}, 0 violations"
    );
}

fn death(chance: &mut Chance, tally: &mut Tally, round: u32) {
    let directory = TempDir::new().unwrap();
    let place = Place { root: directory.path().canonicalize().unwrap() };
    fs::create_dir(place.root.join("work")).unwrap();
    let mut agent = spawn_agent(&place.root);
    let pid = i32::try_from(agent.id()).unwrap();
    // Which of the three die; never nobody.
    let who = 1 + chance.below(7);
    // wait: the instant of death is the experiment, nothing is synchronised by it
    std::thread::sleep(Duration::from_micros(chance.below(LIFE_US)));
    for outer in children(pid) {
        let inner = children(outer);
        if who & 1 != 0 {
            kill(outer);
        }
        if who & 2 != 0 {
            inner.into_iter().for_each(kill);
        }
    }
    if who & 4 != 0 {
        kill(pid);
    }
    agent.wait().unwrap();
    let said = fs::read_to_string(place.root.join("result")).ok();
    let about = format!("round {round}, deaths {who}, {} effects", place.effects());
    assert!(who & 4 != 0 || said.is_some(), "{about}: a living agent answers");
    match said.as_deref() {
        Some("Ok Some(7)") => assert_eq!(place.effects(), 1, "{about}"),
        Some("Failed None") => assert_eq!(place.effects(), 0, "{about}"),
        Some("Unknown None") | None => {}
        Some(other) => panic!("{about}: {other}"),
    }
    if said.is_some() {
        tally.answered += 1;
    } else {
        on_a_runtime(come_later(&place, tally, &about));
    }
    assert!(place.effects() <= 1, "{about}");
    let log = fs::read_to_string(place.root.join("calls/c/first/log")).unwrap_or_default();
    tally.adopted += u32::from(log.contains("adopter"));
}

/// What the next agent makes of it.
async fn come_later(place: &Place, tally: &mut Tally, about: &str) {
    let exact = |finished: Finished| {
        let found = (finished.outcome, finished.exit_code, place.effects());
        match found {
            // It failed if its gate was shut when the next agent came.
            (Outcome::Ok, Some(7), 1)
            | (Outcome::Unknown, None, 0 | 1)
            | (Outcome::Failed, None, 0) => {}
            _ => panic!("{about}: {found:?} {}", finished.text),
        }
        found.0
    };
    let settled =
        place.tool().settle(&place.site(), &Place::arguments(), &Place::handle("first")).await;
    match settled {
        Settled::NotApplied => {
            tally.never_ran += 1;
            assert_eq!(place.effects(), 0, "{about}: it ran");
            let finished = place.run("second").await;
            assert_eq!((finished.exit_code, place.effects()), (Some(7), 1), "{about}");
        }
        Settled::Running => match exact(place.run("first").await) {
            Outcome::Unknown => tally.in_doubt += 1,
            Outcome::Ok | Outcome::Failed | Outcome::Denied | Outcome::Cancelled => {
                tally.attached += 1;
            }
        },
        Settled::Applied(finished) => {
            tally.collected += 1;
            exact(finished);
        }
        Settled::Unknown(_) => tally.in_doubt += 1,
    }
}
