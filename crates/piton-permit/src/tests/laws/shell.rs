//! The reader of command lines, held against a real shell: what is certain is what bash runs.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::lines::{changed, plain};
use super::tape::Tape;
use crate::line::Line;

/// Lines that are tried.
const LINES: usize = 80;
/// Numbers that a line is made from.
const NUMBERS: usize = 40;

/// Tells every command that bash would run, with its words, and runs none: nothing is built in, and nothing
/// is found. A command ends as `LAST` says, so that `&&` and `||` are both followed.
const TELLING: &str = r#"exec 9>>told
command_not_found_handle() { /usr/bin/printf '%s\037' "$@" $'\036' >&9; $LAST; }
enable -n . : [ alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs \
    disown echo eval exec exit export false fc fg getopts hash help history jobs kill let local logout mapfile \
    popd printf pushd pwd read readarray readonly return set shift shopt source suspend test times trap true \
    type typeset ulimit umask unalias unset wait enable
"#;
/// Places that a line which is misread must not change.
const REAL_PLACES: [&str; 8] = ["/etc", "/bin", "/usr", "/h", "/home", "/tmp", "/proc", "./"];

/// The commands that bash runs for a line.
fn told(directory: &Path, line: &str) -> BTreeSet<Vec<String>> {
    let script = directory.join("line.sh");
    let told = directory.join("told");
    fs::write(&script, format!("{TELLING}{line}\n")).unwrap();
    fs::write(&told, "").unwrap();
    for last in ["/usr/bin/true", "/usr/bin/false"] {
        let mut bash = Command::new("/usr/bin/bash");
        bash.arg(&script).current_dir(directory).env_clear();
        bash.env("PATH", "/nonexistent").env("LAST", last).env("LC_ALL", "C.UTF-8");
        bash.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        bash.status().unwrap();
    }
    let text = fs::read_to_string(told).unwrap();
    let commands = text.split("\u{1e}\u{1f}").filter(|command| !command.is_empty());
    let words = |command: &str| {
        let command = command.strip_suffix('\u{1f}').unwrap_or(command);
        command.split('\u{1f}').map(str::to_owned).collect()
    };
    commands.map(words).collect()
}

fn line(seed: &mut u64) -> String {
    let mut number = || {
        *seed =
            seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *seed >> 16
    };
    let numbers: Vec<u64> = (0..NUMBERS).map(|_| number()).collect();
    let tape = &mut Tape::new(&numbers);
    if tape.is_one_in(2) { changed(tape) } else { plain(tape).text }
}

#[test]
fn what_is_certain_is_what_a_real_shell_runs() {
    let tools = ["/usr/bin/bash", "/usr/bin/printf", "/usr/bin/true", "/usr/bin/false"];
    if tools.iter().any(|tool| !Path::new(tool).exists()) {
        eprintln!("skipped: no bash in /usr/bin");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let (mut seed, mut tried) = (1, 0);
    while tried < LINES {
        let text = line(&mut seed);
        let line = Line::read(&text);
        let is_named = line.commands.iter().all(|words| !words[0].contains('/'));
        let is_elsewhere = REAL_PLACES.iter().any(|place| text.contains(place));
        if !line.is_certain() || !is_named || is_elsewhere || line.commands.is_empty() {
            continue;
        }
        tried += 1;
        let read: BTreeSet<_> = line.commands.into_iter().collect();
        assert_eq!(told(directory.path(), &text), read, "{text:?}");
    }
}

// A control: what is not certain, a shell reads in another way.
#[test]
fn what_is_not_certain_runs_other_commands_than_can_be_seen() {
    if !Path::new("/usr/bin/bash").exists() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    for text in ["ls $(rm b)", "x=s; l$x", "l{s,x}", "for x in a; do ls $x; done"] {
        let line = Line::read(text);
        let read: BTreeSet<_> = line.commands.iter().cloned().collect();
        assert!(!line.is_certain(), "{text}");
        assert_ne!(told(directory.path(), text), read, "{text}");
    }
}
