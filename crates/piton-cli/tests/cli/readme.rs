//! README shows what runs print: its transcript and its picture are held against a run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use expect_test::expect_file;

use crate::emulator::picture;
use crate::person::Person;
use crate::world::World;

const CTRL_D: &str = "\x04";
const FENCE: &str = "```console\n";
const ID_LETTERS: usize = 10;
/// Columns of the picture.
pub(crate) const COLUMNS: u16 = 80;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The same text with one name for all conversations and messages, and without folders of scripts.
fn named(text: &str) -> String {
    let mut named: String = text
        .split_inclusive('\n')
        .map(|line| match line.split_once("script:/") {
            Some((before, path)) => format!("{before}script:{}", path.rsplit('/').next().unwrap()),
            None => line.to_owned(),
        })
        .collect();
    for word in ["onversation ", "draft drop "] {
        let begins: Vec<usize> = named.match_indices(word).map(|(at, _)| at + word.len()).collect();
        for at in begins {
            let id = named.get(at..at + ID_LETTERS).unwrap_or_default().to_owned();
            if !id.is_empty() && id.chars().all(|it| it.is_ascii_alphanumeric()) {
                named = named.replace(&id, "ebnrt3pcah");
            }
        }
    }
    named
}

/// What each command of a transcript printed. Tools that run side by side end in any order.
fn commands(transcript: &str) -> Vec<Vec<String>> {
    let commands = transcript.trim().trim_start_matches("$ ").split("\n$ ");
    let lines = commands.map(|it| it.trim().lines().map(str::to_owned).collect::<Vec<_>>());
    lines
        .map(|mut lines| {
            lines.sort();
            lines
        })
        .collect()
}

/// The transcript in README is what the example prints.
pub(crate) fn transcript() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let (before, behind) = readme.split_once(FENCE).unwrap();
    let (told, behind) = behind.split_once("```").unwrap();
    let line = format!("exec {}/examples/lose-a-turn.sh 2>&1", root().display());
    let ran = Command::new("sh")
        .args(["-c", &line])
        .env("PITON", env!("CARGO_BIN_EXE_piton"))
        .output()
        .unwrap();
    let printed = String::from_utf8(ran.stdout).unwrap();
    assert!(ran.status.success(), "{printed}");
    // README leaves out the ten kills and the last look.
    let printed = named(&printed);
    let (story, rest) = printed.split_once("# ten times").unwrap();
    let (_, end) = rest.split_once("\n\n").unwrap();
    let (end, _) = end.split_once("\n\n").unwrap();
    let printed = format!("{story}{end}\n");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let readme = format!("{before}{FENCE}{printed}```{behind}");
        fs::write(root().join("README.md"), readme).unwrap();
    } else {
        assert_eq!(
            commands(told),
            commands(&printed),
            "UPDATE_EXPECT=1 writes it anew:\n{printed}"
        );
    }
}

/// The picture in README is what a terminal shows of a chat with the demo model: anybody can play it.
pub(crate) fn chat(world: &World) {
    fs::write(
        world.work("greet.py"),
        "def greet(name):\n    print(\"hello\", name)\n\ngreet(\"Ada\")\n",
    )
    .unwrap();
    let mut person = Person::starts_on(world, &[], (40, COLUMNS), &[]);
    person.sees("> ").types("replace hello with goodbye in greet.py\r");
    person.sees("(?) help: ").types("y\r").sees("Done.").sees("[demo").sees("> ");
    person.types("!cat greet.py\r").sees("Ada").sees("> ");
    person.types(CTRL_D);
    let (code, written) = person.leaves();
    assert_eq!(code, 0, "{written}");
    expect_file![root().join("docs/pictures/chat.svg")]
        .assert_eq(&picture(&steady(world, &written), COLUMNS));
}

/// The same in every run: one name, one time, one directory. The size of the context depends on the day: the
/// model is told its name.
fn steady(world: &World, written: &str) -> String {
    let place = world.path("work");
    let mut steady = named(written).replace(&*place.to_string_lossy(), "~/greetings");
    let mut done = String::new();
    while let Some((before, behind)) = steady.split_once("[demo · context ") {
        let (_, behind) = behind.split_once(" s]").unwrap();
        done = format!("{done}{before}[demo · context 990 · 0.1 s]");
        steady = behind.to_owned();
    }
    done + &steady
}
