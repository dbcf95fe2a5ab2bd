//! Agent and server die at every phase of a call, and at random; effects are counted in a ledger.
//!
//! A tool that is not known to be harmless takes effect at most once per call, whoever dies. What is
//! recorded as done was done once; what is recorded as not sent was not done.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use serde_json::Value;

use crate::mcp::{ledger, with_server};
use crate::world::{Ran, World};

/// Most lives of an agent in one round; each fault ends one.
const LIVES_MAX: usize = 8;
/// How a run ends that was killed.
const KILLED: i32 = -1;

/// Calls of one round: tool, key, and in which step.
type Calls = [(&'static str, String)];

/// What the server speaks. In the newest revision every call is a task.
#[derive(Clone, Copy)]
enum Revision {
    Older,
    Newest,
}

fn script(steps: &[Vec<(&'static str, String)>]) -> String {
    let mut text = String::from(r#"{"steps":["#);
    for step in steps {
        let calls = step.iter().map(|(tool, key)| {
            format!(r#"{{"tool":"sim__{tool}","arguments":{{"key":"{key}"}}}}"#)
        });
        write!(text, r#"{{"calls":[{}]}},"#, calls.collect::<Vec<_>>().join(",")).unwrap();
    }
    text + r#"{"say":"Done."}]}"#
}

/// Sees the turn through, however often the agent is killed on the way.
fn live(world: &World, model: &str) -> Ran {
    for _ in 0..LIVES_MAX {
        let begun = world.path("home/piton.db").exists() && !world.rows().is_empty();
        let ran = if begun {
            world.run(&["query", "--continue"])
        } else {
            world.run(&["query", "go", "--new", "--permissions", "auto", "--model", model])
        };
        if ran.code != KILLED {
            return ran;
        }
    }
    panic!("killed more often than there are faults");
}

/// Key of each call, and how it ended.
fn outcomes(world: &World) -> BTreeMap<String, (String, String)> {
    let events = world.events();
    let mut keys = BTreeMap::new();
    for event in events.iter().filter(|event| event["type"] == "ModelAnswered") {
        let parts = event["parts"].as_array().unwrap();
        for call in parts.iter().filter(|part| part["part"] == "Call") {
            let arguments: Value =
                serde_json::from_str(call["arguments"].as_str().unwrap()).unwrap();
            let key = arguments["key"].as_str().unwrap().to_owned();
            keys.insert(call["call"].as_str().unwrap().to_owned(), key);
        }
    }
    let mut found = BTreeMap::new();
    for end in events.iter().filter(|event| event["type"] == "ToolFinished") {
        let call = end["call"].as_str().unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let told = (text(&end["outcome"]), text(&end["output"]["text"]));
        assert!(found.insert(keys[call].clone(), told).is_none(), "{call} ended twice");
    }
    found
}

/// One round; every violation of what must hold is a line.
fn violations(
    steps: &[Vec<(&'static str, String)>],
    faults: &[String],
    revision: Revision,
) -> Vec<String> {
    let mut args = match revision {
        Revision::Older => Vec::new(),
        Revision::Newest => vec!["--modern"],
    };
    for fault in faults {
        args.extend(["--fault", fault]);
    }
    violations_in(&with_server("trust = true", &args), steps, faults)
}

/// The same with a server whose tools are known: it is started by the first call.
fn violations_when_known(
    steps: &[Vec<(&'static str, String)>],
    faults: &[String],
    revision: Revision,
) -> Vec<String> {
    let world = World::new();
    fs::create_dir(world.path("home")).unwrap();
    // What goes wrong is in a file, because a server with other arguments is another one.
    let (file, ledger) = (world.path("faults"), world.path("ledger"));
    let modern = match revision {
        Revision::Older => "",
        Revision::Newest => "--modern",
    };
    let line = format!(
        "exec {} sim mcp {modern} --ledger {} $(cat {})",
        env!("CARGO_BIN_EXE_piton"),
        ledger.display(),
        file.display()
    );
    let text = format!("[mcp.sim]\ncommand = \"sh\"\nargs = [\"-c\", {line:?}]\ntrust = true\n");
    fs::write(world.path("home/piton.toml"), text).unwrap();
    fs::write(&file, "").unwrap();
    assert_eq!(world.run(&["mcp", "tools"]).stderr, "");
    let args: Vec<String> = faults.iter().map(|fault| format!("--fault {fault}")).collect();
    fs::write(&file, args.join(" ")).unwrap();
    violations_in(&world, steps, faults)
}

fn violations_in(
    world: &World,
    steps: &[Vec<(&'static str, String)>],
    faults: &[String],
) -> Vec<String> {
    let model = world.script(&script(steps));
    let ran = live(world, &model);
    let mut found = Vec::new();
    if ran.code != 0 {
        found.push(format!("{faults:?}: exit {}: {}", ran.code, ran.stderr));
    }
    let (effects, outcomes) = (ledger(world), outcomes(world));
    let calls: &Calls = &steps.concat();
    for (tool, key) in calls {
        let count = effects.iter().filter(|line| **line == format!("{tool} {key}")).count();
        let Some((outcome, text)) = outcomes.get(key) else {
            found.push(format!("{faults:?}: {tool} {key} has no end"));
            continue;
        };
        let holds = match (*tool, outcome.as_str()) {
            ("count", "ok") => count == 1,
            ("count", "unknown") => count <= 1,
            ("count", "failed") => count == 0,
            // These may run again; what is said to be done was done.
            (_, "ok") => 1 <= count,
            (_, "failed") => true,
            _ => false,
        };
        if !holds {
            found.push(format!("{faults:?}: {tool} {key}: {outcome}, {count} times: {text}"));
        }
    }
    found
}

fn one(tool: &'static str, key: &str) -> Vec<(&'static str, String)> {
    vec![(tool, key.to_owned())]
}

// M: ambiguous calls are never replayed.
#[test]
fn crash_of_agent_or_server_at_every_phase_of_a_call() {
    let mut found = Vec::new();
    let mut rounds = 0;
    for victim in ["die", "kill", "both"] {
        for phase in ["greeted", "listed", "read:b", "effect:b", "half:b", "answered:b"] {
            let steps = [one("count", "a"), one("count", "b"), one("count", "c")];
            found.extend(violations(&steps, &[format!("{victim}@{phase}")], Revision::Older));
            rounds += 1;
        }
        for phase in ["greeted", "read:b", "effect:b", "answered:b", "polled:task-2"] {
            let steps = [one("count", "a"), one("count", "b"), one("count", "c")];
            found.extend(violations(&steps, &[format!("{victim}@{phase}")], Revision::Newest));
            rounds += 1;
        }
    }
    for tool in ["put", "look"] {
        for phase in ["read:b", "effect:b"] {
            let steps = [one("count", "a"), one(tool, "b")];
            for revision in [Revision::Older, Revision::Newest] {
                found.extend(violations(&steps, &[format!("kill@{phase}")], revision));
                rounds += 1;
            }
        }
    }
    println!("mcp: {rounds} deaths at known phases, {} violations", found.len());
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn crash_at_every_phase_of_a_call_that_starts_its_server() {
    let mut found = Vec::new();
    let mut rounds = 0;
    for victim in ["die", "kill", "both"] {
        for phase in ["greeted", "listed", "read:a", "effect:a", "half:a", "answered:a"] {
            let steps =
                [vec![("count", "a".to_owned()), ("put", "p".to_owned())], one("count", "b")];
            for revision in [Revision::Older, Revision::Newest] {
                found.extend(violations_when_known(
                    &steps,
                    &[format!("{victim}@{phase}")],
                    revision,
                ));
                rounds += 1;
            }
        }
    }
    println!("mcp: {rounds} deaths of servers with known tools, {} violations", found.len());
    assert_eq!(found, Vec::<String>::new());
}

// Without this the others would prove nothing.
#[test]
fn a_second_run_would_be_counted() {
    let world = with_server("trust = true", &["--fault", "kill@effect:b"]);
    let model = world.script(&script(&[one("put", "b")]));
    assert_eq!(live(&world, &model).code, 0);
    assert_eq!(ledger(&world), ["put b", "put b"]);
}

/// Chance that is the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }

    fn pick<T: Copy>(&mut self, among: &[T]) -> T {
        among[self.roll(among.len())]
    }
}

/// Steps with calls side by side, and one to three deaths somewhere in them.
fn random_round(seed: u64) -> Vec<String> {
    let mut dice = Dice(seed);
    let mut steps = Vec::new();
    let mut keys = Vec::new();
    for step in 0..=dice.roll(3) {
        let calls = (0..=dice.roll(2)).map(|call| {
            let key = format!("k{step}{call}");
            keys.push(key.clone());
            (dice.pick(&["count", "count", "put", "look"]), key)
        });
        steps.push(calls.collect());
    }
    let faults: Vec<String> = (0..=dice.roll(3))
        .map(|_| {
            let victim = dice.pick(&["die", "kill", "both"]);
            let phase = dice.pick(&["listed", "read", "effect", "half", "answered"]);
            let place = dice.roll(keys.len());
            match phase {
                "listed" => format!("{victim}@listed"),
                phase => format!("{victim}@{phase}:{}", keys[place]),
            }
        })
        .collect();
    let revision = if seed.is_multiple_of(2) { Revision::Older } else { Revision::Newest };
    violations(&steps, &faults, revision)
}

fn random_rounds(seeds: std::ops::Range<u64>) {
    let rounds = seeds.end - seeds.start;
    let found: Vec<String> = seeds.flat_map(random_round).collect();
    println!("mcp: {rounds} rounds with random deaths, {} violations", found.len());
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn crash_at_random_first_half() {
    random_rounds(0..35);
}

#[test]
fn crash_at_random_second_half() {
    random_rounds(35..70);
}
