//! `kill -9` at random instants, with real files, real commands and the real database.
//!
//! A round is one turn. It is killed again and again until it has been killed often enough, then
//! let go to its end. What must hold is judged from the files alone: each edit took effect exactly
//! once, each command exactly once, what has no supervisor at most once, and nothing that was in the
//! journal is ever gone.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use crate::world::{World, lines};

/// Kills per test run.
const KILLS: u32 = 210;
/// Kills of one turn before it is let go.
const KILLS_PER_ROUND_MAX: u32 = 6;
const STEPS: u32 = 4;
/// Lives are ended within this time, in microseconds: a little less than a whole turn takes.
const LIFE_US: u64 = 45_000;

/// Chance from a seed, so that a failing run can be repeated.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Every step edits one file, writes another, runs a command and uses two tools that count.
fn script() -> String {
    let mut steps: Vec<Value> = (1..=STEPS)
        .map(|step| {
            json!({ "say": format!("Step {step}."), "chunk": 3, "calls": [
                { "tool": "edit_file", "arguments":
                    { "path": "counter.txt", "old": format!("n={}.", step - 1), "new": format!("n={step}.") } },
                { "tool": "write_file", "arguments":
                    { "path": format!("out/{step}.txt"), "content": format!("content {step}\n") } },
                { "tool": "shell", "arguments": { "command": format!("echo {step} >> shell.log") } },
                { "tool": "pay" },
                { "tool": "look" }
            ] })
        })
        .collect();
    steps.push(json!({ "say": "All steps done." }));
    let tools = json!([
        { "name": "pay", "effect": "once", "append_to": "pay.log", "output": "paid" },
        { "name": "look", "effect": "read_only", "output": "seen" }
    ]);
    json!({ "steps": steps, "tools": tools }).to_string()
}

struct Round {
    world: World,
    model: String,
    seen: Vec<Value>,
}

impl Round {
    fn new() -> Self {
        let world = World::new();
        let model = world.script(&script());
        fs::write(world.work("counter.txt"), "n=0.\n").unwrap();
        Self { world, model, seen: Vec::new() }
    }

    /// What a user would type next, or nothing when the turn is over.
    fn next(&self) -> Option<Vec<&str>> {
        let rows = self.world.rows();
        let begin = vec!["query", "go", "--permissions", "auto", "--model", &self.model];
        match rows.first() {
            None => Some(begin),
            Some(row) if row["turns"] == 0 => Some(begin),
            Some(row) if row["status"] == "" => None,
            Some(_) => Some(vec!["query", "--continue"]),
        }
    }

    /// Nothing that was in the journal is gone or changed.
    fn check_prefix(&mut self) {
        if self.world.rows().is_empty() {
            assert!(self.seen.is_empty(), "a conversation is gone");
            return;
        }
        let now = lines(&self.world.run(&["print", "--json", "--raw"]).stdout);
        assert!(self.seen.len() <= now.len(), "entries are gone");
        assert_eq!(self.seen[..], now[..self.seen.len()], "entries changed");
        self.seen = now;
    }

    /// What the world looks like at the end.
    fn check_end(&self) {
        let counter = fs::read_to_string(self.world.work("counter.txt")).unwrap();
        assert_eq!(counter, format!("n={STEPS}.\n"), "an edit was lost or done twice");
        for step in 1..=STEPS {
            let path = self.world.work(&format!("out/{step}.txt"));
            assert_eq!(fs::read_to_string(path).unwrap(), format!("content {step}\n"));
        }
        let finished = self.outcomes();
        for (log, index) in [("shell.log", 2), ("pay.log", 3)] {
            let counts = count_lines(&fs::read_to_string(self.world.work(log)).unwrap_or_default());
            for step in 1..=STEPS {
                let call = format!("1.{step}.{index}");
                let name = if log == "pay.log" { call.clone() } else { step.to_string() };
                let count = counts.get(&name).copied().unwrap_or(0);
                assert!(count <= 1, "{log}: {call} took effect {count} times");
                match finished.get(&call).map(String::as_str) {
                    Some("ok") => assert_eq!(count, 1, "{log}: {call} is said to be done"),
                    // A command outlives its agent: what became of it is never unknown.
                    Some("unknown") if log == "pay.log" => {}
                    other => panic!("{log}: {call} ended as {other:?}"),
                }
            }
        }
        let left: Vec<_> = fs::read_dir(self.world.work(""))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.contains(".tmp"))
            .collect();
        assert!(left.is_empty(), "left behind: {left:?}");
    }

    /// How each call ended, by its name.
    fn outcomes(&self) -> BTreeMap<String, String> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let ends = self.seen.iter().map(|entry| &entry["event"]);
        let ends = ends.filter(|event| event["type"] == "ToolFinished");
        ends.map(|event| (text(&event["call"]), text(&event["outcome"]))).collect()
    }
}

fn count_lines(text: &str) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    for line in text.lines() {
        *counts.entry(line.to_owned()).or_default() += 1;
    }
    counts
}

// K22, M1-M7, M11, M14, M15, M18
#[test]
fn crash_of_the_real_binary_at_random_instants_loses_and_doubles_nothing() {
    let seed = std::env::var("PITON_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| u64::from(std::process::id()));
    println!("PITON_SEED={seed}");
    let mut chance = Chance(seed);
    let (mut kills, mut rounds, mut unknown) = (0, 0, 0);
    while kills < KILLS {
        let mut round = Round::new();
        let mut left = KILLS_PER_ROUND_MAX;
        while let Some(args) = round.next() {
            let after = (0 < left).then(|| Duration::from_micros(chance.below(LIFE_US)));
            let killed = round.world.live(&args, after);
            kills += u32::from(killed);
            left -= u32::from(killed);
            drop(args);
            round.check_prefix();
        }
        round.check_end();
        unknown += round.outcomes().values().filter(|outcome| *outcome == "unknown").count();
        rounds += 1;
    }
    println!(
        "kill -9: {kills} kills in {rounds} turns, {unknown} calls left unknown, 0 violations"
    );
}
