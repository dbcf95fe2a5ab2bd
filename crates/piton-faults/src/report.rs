//! The table, and a word on the way. The only file that prints.

use std::collections::BTreeMap;
use std::process::Command;

use crate::plan::Plan;

/// Violations that are shown one by one.
const SHOWN_MAX: usize = 5;

/// One experiment.
#[derive(Debug)]
pub(crate) struct Row {
    what: String,
    /// Built with a mistake on purpose: it has to be found.
    is_control: bool,
    tried: u32,
    found: BTreeMap<&'static str, u32>,
    violations: Vec<String>,
}

impl Row {
    /// What must never go wrong.
    pub(crate) fn of(what: impl Into<String>) -> Self {
        let what = what.into();
        progress(&format!("{what} …"));
        Self { what, is_control: false, tried: 0, found: BTreeMap::new(), violations: Vec::new() }
    }

    /// What must go wrong, or the experiment sees nothing.
    pub(crate) fn control(what: impl Into<String>) -> Self {
        Self { is_control: true, ..Self::of(format!("control: {}", what.into())) }
    }

    /// One more try, with what came of it.
    pub(crate) fn count(&mut self, at: &str, judged: Result<&'static str, String>) {
        self.tried += 1;
        match judged {
            Ok(found) => *self.found.entry(found).or_default() += 1,
            Err(violation) => {
                if !self.is_control {
                    progress(&format!("  VIOLATION at {at}: {violation}"));
                }
                self.violations.push(format!("{at}: {violation}"));
            }
        }
    }

    /// Whether it came out as it should.
    pub(crate) fn holds(&self) -> bool {
        0 < self.tried && self.violations.is_empty() != self.is_control
    }
}

/// Prints the table as Markdown.
#[expect(clippy::print_stdout, reason = "the table is what this program is for")]
pub(crate) fn print(rows: &[Row], plan: &Plan) {
    println!("commit {}, seed {}", commit(), plan.seed);
    println!();
    println!("| experiment | tried | what came of it | violations | as it should be |");
    println!("|---|---|---|---|---|");
    for row in rows {
        let found: Vec<String> =
            row.found.iter().map(|(what, count)| format!("{count} {what}")).collect();
        let holds = if row.holds() { "yes" } else { "NO" };
        let (what, tried, violations) = (&row.what, row.tried, row.violations.len());
        println!("| {what} | {tried} | {} | {violations} | {holds} |", found.join(", "));
    }
    for row in rows.iter().filter(|row| !row.holds()) {
        for violation in row.violations.iter().take(SHOWN_MAX) {
            println!("{}: {violation}", row.what);
        }
    }
}

/// Says what is going on.
#[expect(clippy::print_stderr, reason = "long work shows progress")]
pub(crate) fn progress(line: &str) {
    eprintln!("{line}");
}

/// Which source this is.
fn commit() -> String {
    let run = |args: &[&str]| {
        let output = Command::new("git").args(args).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let Some(commit) = run(&["rev-parse", "--short=12", "HEAD"]) else { return "unknown".into() };
    let is_clean = run(&["status", "--porcelain"]).is_some_and(|changes| changes.is_empty());
    if is_clean { commit } else { format!("{commit} with changes") }
}
