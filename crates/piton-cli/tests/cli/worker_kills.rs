//! `kill -9` at random instants of turns whose workers do real work (M16).
//!
//! Parent and workers live in one process and die together. What must hold is judged from files and
//! journals: every command and payment of every worker took effect once, what had ended was not asked
//! again, and nothing that was in a journal is gone.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use crate::world::{World, lines};

/// Turns per test run.
const ROUNDS: u64 = 40;
/// Kills of one turn before it is let go.
const KILLS_PER_ROUND_MAX: u32 = 3;
const WORKERS: usize = 3;
/// Lives are ended within this time, in microseconds: a little less than a whole turn takes.
const LIFE_US: u64 = 90_000;
/// The seeds are fixed: a round that fails, fails again.
const SEED: u64 = 16;

fn below(chance: &mut u64, bound: u64) -> u64 {
    *chance =
        chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*chance >> 33) % bound
}

fn task(worker: usize) -> String {
    format!("task {worker}")
}

/// The parent hands out tasks, by calls or by a plan; every worker runs a command and pays.
fn script(coordinated: bool) -> String {
    let tasks: Vec<String> = (0..WORKERS).map(task).collect();
    let calls: Vec<Value> = tasks
        .iter()
        .map(|task| json!({ "tool": "delegate", "arguments": { "task": task } }))
        .collect();
    let first = if coordinated {
        json!({ "say": json!(tasks).to_string() })
    } else {
        json!({ "calls": calls })
    };
    let workers: Vec<Value> = (0..WORKERS)
        .map(|worker| {
            let command = format!("echo {worker} >> shell.log");
            json!({ "task": task(worker), "steps": [
                { "say": "I begin.", "chunk": 3, "calls": [
                    { "tool": "shell", "arguments": { "command": command } }] },
                { "calls": [{ "tool": format!("pay{worker}") }] },
                { "say": format!("Worker {worker} is done.") }
            ] })
        })
        .collect();
    let tools: Vec<Value> = (0..WORKERS)
        .map(|worker| {
            let (name, log) = (format!("pay{worker}"), format!("pay{worker}.log"));
            json!({ "name": name, "effect": "once", "append_to": log, "output": "paid" })
        })
        .collect();
    json!({ "steps": [first, { "say": "All done." }], "workers": workers, "tools": tools })
        .to_string()
}

struct Round {
    world: World,
    model: String,
    coordinated: bool,
    /// All journals as they were last seen.
    seen: BTreeMap<String, Vec<Value>>,
}

impl Round {
    fn new(coordinated: bool) -> Self {
        let world = World::new();
        let model = world.script(&script(coordinated));
        Self { world, model, coordinated, seen: BTreeMap::new() }
    }

    /// What a user would type next, or nothing when the turn is over.
    fn next(&self) -> Option<Vec<&str>> {
        let rows = self.world.rows();
        match rows.iter().find(|row| row["parent"].is_null()) {
            Some(row) if row["turns"] != 0 && row["status"] == "" => None,
            Some(row) if row["turns"] != 0 => Some(vec!["query", "--continue"]),
            Some(_) | None => {
                let mut args = vec!["query", "go", "--permissions", "auto", "--model", &self.model];
                args.extend(self.coordinated.then_some("--coordinate"));
                Some(args)
            }
        }
    }

    /// Nothing that was in a journal is gone or changed, and a worker that had ended is left alone.
    fn check_journals(&mut self) {
        let rows = self.world.rows();
        let ids = rows.iter().map(|row| row["conversation"].as_str().unwrap().to_owned());
        let mut now = BTreeMap::new();
        for id in ids {
            let entries = lines(&self.world.run(&["print", "--json", "--raw", &id]).stdout);
            now.insert(id, entries);
        }
        for (id, before) in &self.seen {
            let now = now.get(id).unwrap_or_else(|| panic!("{id} is gone"));
            assert_eq!(before.get(..), now.get(..before.len()), "entries of {id} changed");
            let has_ended = before.last().is_some_and(|it| it["event"]["type"] == "TurnEnded");
            assert!(!id.contains('_') || !has_ended || before.len() == now.len(), "{id} again");
        }
        self.seen = now;
    }

    /// What the world looks like at the end.
    fn check_end(&self) {
        let shell = fs::read_to_string(self.world.work("shell.log")).unwrap_or_default();
        let workers: Vec<_> = self.seen.keys().filter(|id| id.contains('_')).collect();
        assert_eq!(workers.len(), WORKERS, "{workers:?}");
        for worker in 0..WORKERS {
            let ran = shell.lines().filter(|line| *line == worker.to_string()).count();
            assert_eq!(ran, 1, "command of worker {worker}: {shell}");
            let log = self.world.work(&format!("pay{worker}.log"));
            let paid = fs::read_to_string(log).unwrap_or_default().lines().count();
            assert!(paid <= 1, "worker {worker} paid {paid} times");
        }
        for id in workers {
            let of = |kind: &str| {
                let entries = self.seen.get(id).into_iter().flatten();
                entries.filter(|entry| entry["event"]["type"] == kind).count()
            };
            assert_eq!((of("ConversationOpened"), of("TurnStarted")), (1, 1), "{id}");
            assert_eq!((of("ModelAnswered"), of("TurnEnded")), (3, 1), "{id}: no answer twice");
        }
    }
}

// M16, K22
#[test]
fn crash_of_parent_and_workers_at_random_instants_repeats_nothing() {
    let mut chance = SEED;
    let mut kills = 0;
    for number in 0..ROUNDS {
        let mut round = Round::new(number % 2 == 1);
        let mut left = KILLS_PER_ROUND_MAX;
        while let Some(args) = round.next() {
            let after = (0 < left).then(|| Duration::from_micros(below(&mut chance, LIFE_US)));
            let killed = round.world.live(&args, after);
            kills += u32::from(killed);
            left -= u32::from(killed);
            drop(args);
            round.check_journals();
        }
        round.check_end();
    }
    println!("kill -9 of workers: {kills} kills in {ROUNDS} turns, 0 violations");
    assert!(0 < kills);
}
