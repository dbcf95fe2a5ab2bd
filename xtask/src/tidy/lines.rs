//! What may not stand in a line: promises without a number, tests that do not run, blind waiting.

use super::rust_text::Line;
use super::{Report, Source, Tree, prose, rust_text};

/// Marks of unfinished work. They need the number of a note, as in `TODO(0012)`.
const UNFINISHED: [&str; 3] = ["TODO", "FIXME", "XXX"];

/// Code that is never finished, and what to do instead.
const FORBIDDEN: [(&str, &str); 4] = [
    ("#[ignore", "a test runs or is removed"),
    (", ignore)]", "a test runs or is removed"),
    ("todo!(", "write it, or leave it out"),
    ("unimplemented!(", "write it, or leave it out"),
];

pub(super) fn check(tree: &Tree, report: &mut Report) {
    for file in tree.files() {
        if file.is_rust() {
            let lines = rust_text::lines(&file.text);
            forbidden_code(file, &lines, report);
            if is_test(&file.path) {
                blind_waiting(file, &lines, report);
            }
        }
        if file.is_rust() || file.is_markdown() {
            unfinished_work(file, report);
        }
    }
}

fn unfinished_work(file: &Source, report: &mut Report) {
    for (index, line) in prose::lines(file).iter().enumerate() {
        for mark in UNFINISHED {
            if words_of(line, mark).any(|behind| !begins_with_number(behind)) {
                let message = format!("{mark} needs the number of a note: {mark}(0012)");
                report.line(&file.path, index + 1, message);
            }
        }
    }
}

fn forbidden_code(file: &Source, lines: &[Line], report: &mut Report) {
    for (index, line) in lines.iter().enumerate() {
        for (code, instead) in FORBIDDEN {
            if line.code.contains(code) {
                report.line(&file.path, index + 1, format!("`{code}`: {instead}"));
            }
        }
    }
}

/// A test that sleeps is slow when all is well and wrong when the machine is busy.
fn blind_waiting(file: &Source, lines: &[Line], report: &mut Report) {
    for (index, line) in lines.iter().enumerate() {
        let sleeps = words_of(&line.code, "sleep").any(|behind| behind.starts_with('('))
            && !line.code.contains(".sleep(")
            && !line.code.contains("fn sleep(");
        if sleeps && !gives_reason(lines, index) {
            let message = "wait for a condition, or say `// wait: why` on this line or above";
            report.line(&file.path, index + 1, message);
        }
    }
}

/// Whether the line, or the comment directly above it, says why it waits.
fn gives_reason(lines: &[Line], index: usize) -> bool {
    let (before, from) = lines.split_at_checked(index).unwrap_or((lines, &[]));
    let above = before
        .iter()
        .rev()
        .take_while(|line| line.code.trim().is_empty() && !line.comment.is_empty());
    from.iter().take(1).chain(above).any(|line| {
        line.comment
            .trim_start_matches('/')
            .trim_start()
            .strip_prefix("wait:")
            .is_some_and(|reason| !reason.trim().is_empty())
    })
}

fn is_test(path: &str) -> bool {
    path.split('/').any(|part| part == "tests" || part.ends_with("tests.rs"))
}

/// For every occurrence of the whole word, the text behind it.
fn words_of<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = &'a str> {
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).filter_map(move |(at, _)| {
        let (before, found) = text.split_at_checked(at)?;
        let behind = found.strip_prefix(word)?;
        (!before.ends_with(in_word) && !behind.starts_with(in_word)).then_some(behind)
    })
}

/// `(0012)`, and perhaps more.
fn begins_with_number(text: &str) -> bool {
    text.strip_prefix('(')
        .and_then(|text| text.split_once(')'))
        .is_some_and(|(number, _)| number.parse::<u32>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::report::findings;

    #[test]
    fn unfinished_work_has_a_number() {
        let text = "// TODO: this\n// TODO(0012): that\nlet a = \"TODO\"; // FIXME(soon)\n";
        assert_eq!(
            findings(check, &[("a.rs", text), ("b.md", "XXX\nXXXL, `TODO`\n")]),
            [
                "a.rs:1: TODO needs the number of a note: TODO(0012)",
                "a.rs:3: FIXME needs the number of a note: FIXME(0012)",
                "b.md:1: XXX needs the number of a note: XXX(0012)",
            ]
        );
    }

    #[test]
    fn every_test_runs_and_every_function_is_written() {
        let text = "#[ignore = \"slow\"]\n#[cfg_attr(miri, ignore)]\nfn f() { todo!() }\n\
                    fn g() { unimplemented!(\"later\") }\n// todo!(\nf(\"#[ignore]\")\n";
        assert_eq!(
            findings(check, &[("a.rs", text)]),
            [
                "a.rs:1: `#[ignore`: a test runs or is removed",
                "a.rs:2: `, ignore)]`: a test runs or is removed",
                "a.rs:3: `todo!(`: write it, or leave it out",
                "a.rs:4: `unimplemented!(`: write it, or leave it out",
            ]
        );
    }

    #[test]
    fn a_test_does_not_wait_blindly() {
        let text = "thread::sleep(ms);\ntokio::time::sleep(ms).await; // wait: the disk is slow\n\
                    // wait: a reason\n// of two lines\nsleep(ms);\nclock.sleep(ms);\n// wait:\nsleep(ms);\n";
        let message = "wait for a condition, or say `// wait: why` on this line or above";
        assert_eq!(
            findings(check, &[("crates/a/tests/a/main.rs", text), ("crates/a/src/a.rs", text)]),
            [1, 8].map(|line| format!("crates/a/tests/a/main.rs:{line}: {message}"))
        );
    }
}
