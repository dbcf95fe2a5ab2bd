//! Memory and bytes written by a whole turn of the real binary.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use piton_core::id::Seq;
use piton_store::{Journal, Page, SqliteJournal};
use serde_json::{Value, json};

use crate::measure::Bench;
use crate::measure::{Outcome, runtime};
use crate::report::{Row, Target};

const OUTPUT_BYTES: usize = 2_000;

/// What a process used.
struct Used {
    peak_rss_mb: f64,
    written: f64,
    payload: f64,
}

/// Turns of 50 and of 200 steps.
pub(crate) fn long_turn(bench: &Bench) -> Outcome<Vec<Row>> {
    let shell = |command: &str| json!({ "tool": "shell", "arguments": { "command": command } });
    let small = run(bench, "turn-50", 50, &shell("true"))?;
    let talk = format!("yes 0123456789abcdef | head -c {OUTPUT_BYTES}");
    let large = run(bench, "turn-200", 200, &shell(&talk))?;
    // Reading has no children, whose writes would count as ours.
    let read = json!({ "tool": "read_file", "arguments": { "path": "prose.txt" } });
    let read = run(bench, "turn-read", 200, &read)?;
    let rss = |what, used: &Used, target| Row {
        what,
        value: format!("{:.1} MB", used.peak_rss_mb),
        floor: "best other agent 154 MB".into(),
        figure: used.peak_rss_mb,
        unit: " MB",
        target: Target::AtMost(target),
    };
    Ok(vec![
        rss("peak memory, 50 steps", &small, 30.0),
        rss("peak memory, 200 steps with 2 KB outputs", &large, 40.0),
        Row {
            what: "bytes written, 200 steps with 2 KB outputs",
            value: format!("{:.0} KB", read.written / 1e3),
            floor: format!("payload {:.0} KB", read.payload / 1e3),
            figure: read.written / read.payload,
            unit: "x",
            target: Target::AtMost(3.0),
        },
    ])
}

fn run(bench: &Bench, name: &str, steps: usize, call: &Value) -> Outcome<Used> {
    let (home, work) = (bench.dir.path().join(name), bench.dir.path().join(format!("{name}-work")));
    std::fs::create_dir_all(&work)?;
    std::fs::write(work.join("prose.txt"), prose(OUTPUT_BYTES))?;
    let mut list = vec![json!({ "calls": [call] }); steps];
    // The last tool waits for us, so that we can look at the process while it is still there.
    list.push(json!({ "calls": [{ "tool": "hold" }] }));
    let hold = json!({ "name": "hold", "effect": "read_only", "wait_for": "go" });
    let reached = json!({ "name": "mark", "effect": "read_only", "append_to": "reached" });
    list.insert(steps, json!({ "calls": [{ "tool": "mark" }] }));
    let script = work.join("script.json");
    std::fs::write(&script, json!({ "steps": list, "tools": [hold, reached] }).to_string())?;
    let mut child = Command::new(bench.bin.join("piton"))
        .args(["query", "--new", "--no-input", "--permissions", "auto", "--max-steps", "0"])
        .arg("--model")
        .arg(format!("script:{}", script.display()))
        .arg("go")
        .env("PITON_HOME", &home)
        .current_dir(&work)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    wait_for(&work.join("reached"), &mut child)?;
    let peak_rss_mb = field(&child, "status", "VmHWM:")? / 1024.0;
    std::fs::write(work.join("go"), "")?;
    let written = written_in_all(&mut child)?;
    Ok(Used { peak_rss_mb, written, payload: payload(&home)? })
}

/// Words in no order, so that packing gains what it gains on text, and no more.
fn prose(bytes: usize) -> String {
    let words = ["rope", "anchor", "ledge", "the", "and", "climb", "fall", "metre", "steep", "of"];
    let (mut text, mut chance) = (String::new(), 7_u32);
    while text.len() < bytes {
        chance = chance.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let place = usize::try_from(chance >> 16).unwrap_or(0);
        text.push_str(words.get(place % words.len()).unwrap_or(&""));
        text.push_str(if place.is_multiple_of(11) { "\n" } else { " " });
        text.push_str(&(place % 1_000).to_string());
    }
    text.truncate(bytes);
    text
}

fn wait_for(path: &Path, child: &mut Child) -> Outcome<()> {
    while !path.exists() {
        if let Some(status) = child.try_wait()? {
            return Err(format!("piton ended with {status} before its last step").into());
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    Ok(())
}

/// Bytes that the process had written when it ended, its last checkpoint included: what the kernel
/// still knows of a process that has ended and was not waited for.
fn written_in_all(child: &mut Child) -> Outcome<f64> {
    loop {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id()))?;
        if stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let written = field(child, "io", "wchar:")?;
    child.wait()?;
    Ok(written)
}

fn field(child: &Child, file: &str, name: &str) -> Outcome<f64> {
    let text = std::fs::read_to_string(format!("/proc/{}/{file}", child.id()))?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)).ok_or("no such field")?;
    Ok(line.split_whitespace().next().ok_or("an empty field")?.parse()?)
}

/// Bytes of all entries: what has to be written at least.
fn payload(home: &Path) -> Outcome<f64> {
    let (journal, _) = SqliteJournal::open(home)?;
    runtime()?.block_on(async {
        let listing = journal.list(Page::first(1)).await?;
        let listed = listing.rows.first().ok_or("no conversation")?;
        let records = journal.read(&listed.conversation, Seq(0), usize::MAX >> 1).await?;
        let bytes: usize = records.iter().map(|record| record.body.len()).sum();
        Ok(f64::from(u32::try_from(bytes)?))
    })
}
