//! What a person does with a long conversation: commands of the real program, with their time and peak memory,
//! against the same commands on a short one.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};

use crate::entries::ENTRIES;
use crate::finding::{Store, WORD};
use crate::measure::{Bench, Outcome, median, ratio, runtime, shown};
use crate::report::{Row, Target};

/// Runs one command, and tells its time and peak memory.
pub(crate) const COMMAND_ONLY: &str = "command-only";

const SHORT: usize = 1_000;
const ROUNDS: usize = 15;
/// What grows at most so much from 1,000 entries to 100,000.
const FLAT: Target = Target::AtMost(1.5);

/// A command, and how it may grow.
#[derive(Clone, Copy, Debug)]
struct Asked {
    time: &'static str,
    memory: &'static str,
    arguments: &'static [&'static str],
    /// What takes it back, so that it can be done again. Not measured.
    back: Option<&'static [&'static str]>,
    target: Target,
}

/// In this order: what changes the store comes behind what reads it.
const COMMANDS: [Asked; 5] = [
    Asked {
        time: "open 100,000 entries whole: `print --turns 1`",
        memory: "the same, peak memory",
        arguments: &["print", "c0", "--turns", "1"],
        back: None,
        target: Target::None,
    },
    Asked {
        time: "last turn of 100,000 entries: `print --last`",
        memory: "the same, peak memory",
        arguments: &["print", "c0", "--last"],
        back: None,
        target: FLAT,
    },
    Asked {
        time: "a word in 100,000 entries: `grep`",
        memory: "the same, peak memory",
        arguments: &["grep", "--all", WORD],
        back: None,
        target: FLAT,
    },
    Asked {
        time: "fork 100,000 entries: `fork`",
        memory: "the same, peak memory",
        arguments: &["fork", "c0"],
        back: None,
        target: FLAT,
    },
    Asked {
        time: "sum up 100,000 entries: `compact`",
        memory: "the same, peak memory",
        arguments: &["compact", "c0"],
        back: Some(&["uncompact", "c0"]),
        target: Target::None,
    },
];

/// All figures.
pub(crate) fn commands(bench: &Bench) -> Outcome<Vec<Row>> {
    let piton = bench.bin.join("piton");
    let runtime = runtime()?;
    let made = |name: &str, count: usize| -> Outcome<PathBuf> {
        let home = bench.dir.path().join(name);
        Store::of_one(&runtime, &home, count)?;
        Ok(home)
    };
    let (short, long) = (made("commands-short", SHORT)?, made("commands-long", ENTRIES)?);
    let mut rows = Vec::new();
    for asked in COMMANDS {
        let run = |home: &Path| -> Outcome<Used> {
            let used = once(&piton, home, asked.arguments)?;
            if let Some(back) = asked.back {
                once(&piton, home, back)?;
            }
            Ok(used)
        };
        // The first one fills the index.
        run(&long)?;
        run(&short)?;
        let mut used = [Vec::new(), Vec::new()];
        for _ in 0..ROUNDS {
            for (home, used) in [&long, &short].into_iter().zip(&mut used) {
                used.push(run(home)?);
            }
        }
        rows.extend(compared(asked, used));
    }
    Ok(rows)
}

fn compared(asked: Asked, [long, short]: [Vec<Used>; 2]) -> [Row; 2] {
    let (long, short) = (Used::middle(long), Used::middle(short));
    let mb = |used: Used| format!("{:.1} MB", used.peak_kb / 1024.0);
    [
        Row {
            what: asked.time,
            value: shown(long.time),
            floor: format!("1,000 entries {}", shown(short.time)),
            figure: ratio(long.time, short.time),
            unit: "x",
            target: asked.target,
        },
        Row {
            what: asked.memory,
            value: mb(long),
            floor: format!("1,000 entries {}", mb(short)),
            figure: long.peak_kb / short.peak_kb.max(1.0),
            unit: "x",
            target: asked.target,
        },
    ]
}

/// What a command used.
#[derive(Clone, Copy, Debug)]
struct Used {
    time: Duration,
    peak_kb: f64,
}

impl Used {
    /// The middle of the times, and that of the peaks.
    fn middle(mut all: Vec<Self>) -> Self {
        let time = median(all.iter().map(|used| used.time).collect());
        all.sort_by(|a, b| a.peak_kb.total_cmp(&b.peak_kb));
        let peak_kb = all.get(all.len() / 2).map_or(0.0, |used| used.peak_kb);
        Self { time, peak_kb }
    }
}

/// Runs a command of the program in a process that has no other children: the system tells the peak of all
/// children of a process at once.
fn once(piton: &Path, home: &Path, arguments: &[&str]) -> Outcome<Used> {
    let output = Command::new(std::env::current_exe()?)
        .arg(COMMAND_ONLY)
        .args([home, piton])
        .args(arguments)
        .stderr(Stdio::inherit())
        .output()?;
    let told = String::from_utf8(output.stdout)?;
    let told = told.split_whitespace().map(str::parse).collect::<Result<Vec<f64>, _>>()?;
    match *told.as_slice() {
        [seconds, peak_kb] => Ok(Used { time: Duration::from_secs_f64(seconds), peak_kb }),
        _ => Err(format!("`piton {}` failed", arguments.join(" ")).into()),
    }
}

/// The process that has one child.
pub(crate) fn command_only(home: &str, piton: &str, arguments: &[&str]) -> Outcome<()> {
    let start = Instant::now();
    let ended = Command::new(piton)
        .args(arguments)
        .env("PITON_HOME", home)
        .env("HOME", home)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    let seconds = start.elapsed().as_secs_f64();
    if !ended.success() {
        return Err(format!("piton ended with {ended}").into());
    }
    let peak = getrusage(UsageWho::RUSAGE_CHILDREN)?.max_rss();
    writeln!(std::io::stdout(), "{seconds} {peak}")?;
    Ok(())
}
