//! The start of a turn where a person has made piton their own: instructions, servers of tools, skills.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::measure::Bench;
use crate::measure::{Outcome, interleaved, median, ratio, shown};
use crate::report::{Row, Target};
use crate::start::Stage;

const ROUNDS: usize = 40;
/// Servers are processes: fewer rounds will do.
const SERVER_ROUNDS: usize = 10;
const SKILLS: usize = 50;
const SERVERS: [&str; 2] = ["one", "two"];
const INSTRUCTION_LINES: usize = 60;
/// Where lists of tools are kept, in the home.
const LISTS: &str = "mcp-tools";

/// Start of a turn with all of it against one with nothing.
pub(crate) fn turn(bench: &Bench) -> Outcome<Vec<Row>> {
    let piton = bench.bin.join("piton");
    let bare = Stage::new(bench, "bare", r#"{"steps":[]}"#)?;
    let calls =
        SERVERS.map(|name| format!(r#"{{"tool":"{name}__echo","arguments":{{"text":"x"}}}}"#));
    let script = format!(r#"{{"steps":[{{"calls":[{}]}},{{"say":"Done."}}]}}"#, calls.join(","));
    let quiet = Stage::new(bench, "furnished", r#"{"steps":[{"say":"Done."}]}"#)?;
    furnish(&quiet, &piton)?;
    let calling = Stage { script: quiet.work.join("calls.json"), ..quiet.clone() };
    fs::write(&calling.script, script)?;
    // The first turn makes the store, and asks the servers.
    bare.first_request(&piton)?;
    quiet.first_request(&piton)?;
    let (warm, floor) =
        interleaved(ROUNDS, || quiet.first_request(&piton), || bare.first_request(&piton))?;
    let (mut cold, mut first) = (Vec::new(), Vec::new());
    for _ in 0..SERVER_ROUNDS {
        first.push(first_calls(&calling, &piton)?);
        fs::remove_dir_all(quiet.home.join(LISTS))?;
        cold.push(quiet.first_request(&piton)?);
    }
    let row = |what, value: Duration, target| Row {
        what,
        value: shown(value),
        floor: format!("a bare start {}", shown(floor)),
        figure: ratio(value, floor),
        unit: "x",
        target,
    };
    Ok(vec![
        row("start with instructions, 2 MCP servers and 50 skills", warm, Target::AtMost(1.2)),
        row("the same, tools of the servers not known", median(cold), Target::None),
        row("the first calls, which start both servers", median(first), Target::None),
    ])
}

/// From the request whose answer calls both servers to the next one.
fn first_calls(stage: &Stage, piton: &Path) -> Outcome<Duration> {
    match *stage.requests(piton)? {
        [first, second, ..] => Ok(second.saturating_sub(first)),
        _ => Err("piton did not call the servers".into()),
    }
}

fn furnish(stage: &Stage, piton: &Path) -> Outcome<()> {
    let Stage { home, work, .. } = stage;
    let rules = "- Write tests for what you change, and run them before you say that it works.\n";
    let instructions = rules.repeat(INSTRUCTION_LINES);
    fs::create_dir_all(home.join("skills"))?;
    fs::write(home.join("AGENTS.md"), &instructions)?;
    fs::write(work.join("AGENTS.md"), &instructions)?;
    for number in 0..SKILLS {
        let skill = home.join(format!("skills/skill-{number}"));
        fs::create_dir_all(&skill)?;
        let head = format!(
            "---\nname: skill-{number}\ndescription: Knows how to do task {number}.\n---\n"
        );
        fs::write(skill.join("SKILL.md"), format!("{head}\n{instructions}"))?;
    }
    let command = serde_json::to_string(piton)?;
    let server = |name: &str| {
        format!("[mcp.{name}]\ncommand = {command}\nargs = [\"sim\", \"mcp\"]\ntrust = true\n")
    };
    fs::write(home.join("piton.toml"), SERVERS.map(server).concat())?;
    Ok(())
}
