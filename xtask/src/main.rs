//! `cargo xtask tidy` and `cargo xtask ci`.

use std::env;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, ExitCode};

use xtask::tidy;

/// Wrong usage, as most command line programs report it.
const EXIT_USAGE: u8 = 2;

fn main() -> io::Result<ExitCode> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["tidy"] => tidy(tidy::root()),
        ["ci"] => ci(tidy::root()),
        [] | [_, ..] => {
            writeln!(io::stderr(), "usage: cargo xtask tidy | ci")?;
            Ok(ExitCode::from(EXIT_USAGE))
        }
    }
}

/// Prints what is untidy, and a summary either way.
fn tidy(root: &Path) -> io::Result<ExitCode> {
    let report = tidy::check(&tidy::Tree::read(root)?);
    write!(io::stdout(), "{report}")?;
    Ok(if report.findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs the one test command, whose exit code is ours.
fn ci(root: &Path) -> io::Result<ExitCode> {
    let status = Command::new("sh").arg("dev/test.sh").current_dir(root).status()?;
    // A script killed by a signal has no code; it has not passed.
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
