//! Files stay small enough to be read in one sitting.
//!
//! A file that is too long for a good reason is listed in `tidy.ratchet` with its length. The entry
//! must name the exact length, so that every growth is an edit that a reviewer sees, and every
//! shrinking is kept.

use std::collections::BTreeMap;

use super::{Report, Source, Tree};

/// Longest file, in lines.
const LINES_MAX: usize = 600;
/// Longest guide for coding agents, in lines: they pay for every line, every time.
const AGENT_GUIDE_LINES_MAX: usize = 60;
/// Where the exceptions are.
const RATCHET: &str = "tidy.ratchet";
/// Only ever grows at the top, and nobody reads it in one sitting.
const CHANGELOG: &str = "CHANGELOG.md";

pub(super) fn check(tree: &Tree, report: &mut Report) {
    let mut exceptions = exceptions(tree, report);
    let mut rust_lengths = Vec::new();
    for file in tree.files() {
        let Some(limit) = limit(file) else { continue };
        let lines = file.text.lines().count();
        if file.is_rust() {
            rust_lengths.push(lines);
        }
        match exceptions.remove(file.path.as_str()) {
            None if lines <= limit => {}
            None => {
                report.file(&file.path, format!("{lines} lines; split it, {limit} is the most"));
            }
            Some((at, _)) if lines <= limit => {
                report.line(RATCHET, at, format!("{} needs no entry any more", file.path));
            }
            Some((at, listed)) if lines < listed => {
                report.line(RATCHET, at, format!("{} is shorter now: write {lines}", file.path));
            }
            Some((_, listed)) if listed < lines => {
                report.file(&file.path, format!("{lines} lines; it had {listed} and may not grow"));
            }
            Some(_) => {}
        }
    }
    for (path, (at, _)) in exceptions {
        report.line(RATCHET, at, format!("{path} is not there"));
    }
    report.notes.extend(statistics(rust_lengths));
}

/// The most lines that a file may have, if anyone counts.
fn limit(file: &Source) -> Option<usize> {
    match file.name() {
        "AGENTS.md" => Some(AGENT_GUIDE_LINES_MAX),
        CHANGELOG => None,
        _ => (file.is_rust() || file.is_markdown()).then_some(LINES_MAX),
    }
}

/// Lines of the form `path lines`; `#` begins a comment. Gives the line of the entry and its number.
fn exceptions<'a>(tree: &'a Tree, report: &mut Report) -> BTreeMap<&'a str, (usize, usize)> {
    let mut exceptions = BTreeMap::new();
    let text = tree.file(RATCHET).map_or("", |file| &file.text);
    for (index, line) in text.lines().enumerate() {
        let at = index + 1;
        let entry = line.split('#').next().unwrap_or("").trim();
        if entry.is_empty() {
            continue;
        }
        let parsed = entry
            .split_once(' ')
            .and_then(|(path, lines)| Some((path, lines.trim().parse().ok()?)));
        match parsed {
            Some((path, lines)) if exceptions.insert(path, (at, lines)).is_none() => {}
            Some((path, _)) => report.line(RATCHET, at, format!("{path} is listed twice")),
            None => report.line(RATCHET, at, "not an entry: write `path lines`"),
        }
    }
    exceptions
}

/// How long the Rust files are.
fn statistics(mut lengths: Vec<usize>) -> Option<String> {
    lengths.sort_unstable();
    let at = |percent: usize| lengths.get((lengths.len() * percent / 100).min(lengths.len() - 1));
    let (count, longest) = (lengths.len(), lengths.last()?);
    let (median, p90) = (at(50)?, at(90)?);
    Some(format!(
        "{count} Rust files; lines: median {median}, 90th percentile {p90}, longest {longest}"
    ))
}

#[cfg(test)]
mod tests {
    use super::{check, statistics};
    use crate::tidy::report::findings;

    fn lines(count: usize) -> String {
        "//\n".repeat(count)
    }

    #[test]
    fn a_file_of_600_lines_is_the_longest() {
        assert!(findings(check, &[("a.rs", &lines(600))]).is_empty());
        assert_eq!(
            findings(check, &[("a.rs", &lines(601))]),
            ["a.rs: 601 lines; split it, 600 is the most"]
        );
    }

    #[test]
    fn the_guide_for_agents_is_shorter() {
        let found = findings(check, &[("AGENTS.md", &lines(61)), ("CHANGELOG.md", &lines(900))]);
        assert_eq!(found, ["AGENTS.md: 61 lines; split it, 60 is the most"]);
    }

    #[test]
    fn an_exception_holds_for_its_exact_length() {
        let check_with =
            |ratchet: &str| findings(check, &[("a.rs", &lines(700)), ("tidy.ratchet", ratchet)]);
        assert!(check_with("# why\na.rs 700 # a table\n").is_empty());
        assert_eq!(check_with("a.rs 699\n"), ["a.rs: 700 lines; it had 699 and may not grow"]);
        assert_eq!(check_with("a.rs 701\n"), ["tidy.ratchet:1: a.rs is shorter now: write 700"]);
    }

    #[test]
    fn stale_and_broken_exceptions_are_found() {
        let ratchet = "a.rs 20\ngone.rs 900\nwhat\na.rs 30\n";
        assert_eq!(
            findings(check, &[("a.rs", &lines(10)), ("tidy.ratchet", ratchet)]),
            [
                "tidy.ratchet:3: not an entry: write `path lines`",
                "tidy.ratchet:4: a.rs is listed twice",
                "tidy.ratchet:4: a.rs needs no entry any more",
                "tidy.ratchet:2: gone.rs is not there",
            ]
        );
    }

    #[test]
    fn lengths_are_told() {
        assert_eq!(statistics(Vec::new()), None);
        assert_eq!(
            statistics((1..=10).rev().collect()).as_deref(),
            Some("10 Rust files; lines: median 6, 90th percentile 10, longest 10")
        );
    }
}
