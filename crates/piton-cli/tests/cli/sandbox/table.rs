//! The table of attempts (Must show 1): what a hostile program tries, and what rules with a wildcard let it start.
//!
//! Every attempt is made three times in places of their own: without a wall, where it must get through; in the setting
//! `auto`; and in the setting `on`, where even a rule with `confined = false` opens nothing. As the user who runs the
//! tests and, if that is root, as an ordinary one too. Each program that a rule names is a call of its own; what a
//! program tries by itself is made in one command.

mod arena;
mod git;
mod programs;
mod row;
mod system;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use piton_tools::sandbox::try_namespaces;
use serde_json::{Value, json};

pub(crate) use self::arena::picture;
use self::arena::{Arena, User};
use self::row::{Control, Row, Sign};
use super::can_hold;
use crate::world::lines;

/// What `docs/sandbox.md` says is not held, and why.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("lock a file", "locks: who may read a file may lock it, and no wall of the kernel knows that"),
    ("read arguments", "command lines: hiding them takes a process number space of their own"),
];
/// What it says is not held where there are no namespaces.
const WITHOUT_NAMESPACES: &[(&str, &str)] = &[
    ("mode", ATTRIBUTES),
    ("mode, newer call", ATTRIBUTES),
    ("owner and times", ATTRIBUTES),
    ("times", ATTRIBUTES),
    ("attribute", ATTRIBUTES),
    ("flags", ATTRIBUTES),
    ("attach shared memory", SHARED),
    ("remove shared memory", SHARED),
    ("put into a queue", SHARED),
    ("set a semaphore", SHARED),
];
/// What reaches nobody, where there are namespaces: the network is the command's own, and empty.
const IN_ITS_OWN_NETWORK: &[(&str, &str)] =
    &[("listen", "nobody can connect"), ("routes", "there are none but its own")];
const ATTRIBUTES: &str = "modes, owners, times and attributes: Landlock does not know them";
const SHARED: &str = "System V: programs need these calls for themselves";

/// Seconds for one call of a program, and for one attempt in a command.
const CALL_S: u64 = 60;
const ATTEMPT_S: u64 = 15;
/// Most calls of one turn.
const CALLS_MAX: usize = 90;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Setting {
    /// No wall.
    Control,
    Auto,
    On,
}

/// What became of the attempts in one setting.
struct Played {
    /// By number; what could not be tried is not there.
    through: BTreeMap<usize, bool>,
    /// What they said, by number.
    said: BTreeMap<usize, String>,
    /// What is wrong with the place as a whole.
    damage: Vec<String>,
}

#[test]
fn the_table_holds_for_whoever_runs_the_tests() {
    the_table_holds(User::Own);
}

#[test]
fn the_table_holds_for_an_ordinary_user() {
    if rustix::process::getuid().is_root() {
        the_table_holds(User::Nobody);
    } else {
        eprintln!("skipped: whoever runs the tests is an ordinary user already");
    }
}

/// All attempts, and how many of them are calls of their own.
fn rows() -> (Vec<Row>, usize) {
    let called: Vec<Row> = [programs::PROGRAMS, git::GIT, git::OBEYED].concat();
    let count = called.len();
    ([&called[..], system::FILES, system::PROCESSES, system::OTHERS].concat(), count)
}

fn the_table_holds(user: User) {
    if !can_hold() {
        return;
    }
    let (rows, _) = rows();
    let control = play(user, Setting::Control);
    let walled = [Setting::Auto, Setting::On].map(|setting| (setting, play(user, setting)));
    let excepted: Vec<_> = match try_namespaces(Path::new(env!("CARGO_BIN_EXE_piton"))).unwrap() {
        Ok(()) => [EXCEPTIONS, IN_ITS_OWN_NETWORK].concat(),
        Err(_) => [EXCEPTIONS, WITHOUT_NAMESPACES].concat(),
    };
    let (mut held, mut exceptions, mut skipped, mut wrong) = (0, 0, 0, String::new());
    for (number, row) in rows.iter().enumerate() {
        let Some(free) = control.through.get(&number).copied() else {
            skipped += 1;
            continue;
        };
        if !free && must_get_through(row, user) {
            let said = &control.said[&number];
            writeln!(wrong, "{}: without a wall it must get through: {said}", row.name).unwrap();
        }
        for (setting, played) in &walled {
            if !played.through.get(&number).copied().unwrap_or_default() {
                held += 1;
            } else if excepted.iter().any(|(name, _)| *name == row.name) {
                exceptions += 1;
            } else {
                let said = played.said.get(&number).map_or("", String::as_str);
                writeln!(wrong, "{}: got through ({setting:?}): {said}", row.name).unwrap();
            }
        }
    }
    for (setting, played) in &walled {
        for damage in &played.damage {
            writeln!(wrong, "{setting:?}: {damage}").unwrap();
        }
    }
    let free = control.through.values().filter(|through| **through).count();
    eprintln!(
        "the table, as {user:?}: {} attempts, {skipped} not possible for want of a program; {free} get through without \
         a wall; in 2 settings: {held} held, {exceptions} documented exceptions",
        rows.len(),
    );
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// Whether the control of an attempt proves something here.
fn must_get_through(row: &Row, user: User) -> bool {
    let is_root = user == User::Own && rustix::process::getuid().is_root();
    match row.control {
        Control::Everybody => true,
        Control::Root => is_root,
        Control::Others => user == User::Nobody,
        Control::RootIfItCan | Control::IfItCan => false,
    }
}

/// Makes all attempts in one setting.
fn play(user: User, setting: Setting) -> Played {
    let (rows, called) = rows();
    let arena = Arena::new(user);
    arena.prepare(&rows);
    let missing = missing(&arena, &rows);
    let before: Vec<_> = (0..rows.len()).map(|number| picture(&arena.out(number))).collect();
    let me = picture(&arena.path("me"));
    let (calls, own): (Vec<_>, Vec<_>) = (0..rows.len())
        .filter(|number| !missing.contains(number))
        .partition(|number| *number < called);
    let mut said = BTreeMap::new();
    let mut codes = call(&arena, &rows, &calls, setting, &mut said);
    codes.extend(by_itself(&arena, &own, setting, &mut said));
    let mut through = BTreeMap::new();
    for number in calls.into_iter().chain(own) {
        let row = &rows[number];
        let is_changed = picture(&arena.out(number)) != before[number];
        let got = match row.sign {
            Sign::Outside => is_changed,
            Sign::Says => codes[&number] == 0,
            Sign::Named(file) => {
                let text = fs::read_to_string(arena.path(file)).unwrap_or_default();
                text.contains(&token(row.name))
            }
        };
        through.insert(number, got || (is_changed && setting != Setting::Control));
    }
    let mut damage = Vec::new();
    if setting != Setting::Control {
        let now = picture(&arena.path("me"));
        damage.extend(
            now.iter().filter(|it| !me.contains(it)).map(|it| format!("changed in the home: {it}")),
        );
        if !arena.target_is_well() {
            damage.push("the process outside is not well".into());
        }
    }
    Played { through, said, damage }
}

/// A name as it can stand in a file.
fn token(name: &str) -> String {
    let words = name.split(|letter: char| !letter.is_ascii_alphanumeric());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
}

/// Attempts whose programs are not there for this user.
fn missing(arena: &Arena, rows: &[Row]) -> BTreeSet<usize> {
    let programs: BTreeSet<&str> = rows
        .iter()
        .flat_map(|row| [row.program(), row.needs])
        .filter(|it| !it.is_empty())
        .collect();
    let ask = |program: &&&str| {
        // An inner command of the shell starts nothing.
        let line = format!(
            "command -v {program} > /dev/null && case {program} in rust*) {program} --version;; esac"
        );
        let is_own = program.contains(['{', ':', '=']);
        !is_own && !arena.line(&line).output().unwrap().status.success()
    };
    let gone: BTreeSet<&str> = programs.iter().filter(ask).copied().collect();
    if !gone.is_empty() {
        eprintln!("not there: {gone:?}");
    }
    let lacks = |row: &Row| gone.contains(row.program()) || gone.contains(row.needs);
    rows.iter().enumerate().filter(|(_, row)| lacks(row)).map(|(number, _)| number).collect()
}

/// Makes each of these attempts in a call of its own, which a rule with a wildcard allows. What they exit with.
fn call(
    arena: &Arena,
    rows: &[Row],
    numbers: &[usize],
    setting: Setting,
    said: &mut BTreeMap<usize, String>,
) -> BTreeMap<usize, i64> {
    let programs: BTreeSet<&str> = numbers.iter().map(|number| rows[*number].program()).collect();
    let mode = if setting == Setting::On { "on" } else { "auto" };
    let mut settings = format!("[sandbox]\nmode = \"{mode}\"\n");
    let confined = if setting == Setting::Auto { "" } else { "confined = false\n" };
    for program in programs {
        writeln!(
            settings,
            "[[permissions]]\ntool = \"shell\"\ncommand = \"{program} *\"\neffect = \"allow\"\n{confined}"
        )
        .unwrap();
    }
    arena.write("home/piton.toml", &settings);
    let commands = numbers.iter().map(|number| arena.filled_for(*number, rows[*number].command));
    let commands: Vec<String> = commands.collect();
    // What a rule does not allow for certain is allowed by a policy in place of a person.
    let flags = match setting {
        Setting::Control => ["--permissions", "auto", "--sandbox", "off"],
        Setting::Auto | Setting::On => ["--permissions", "ask", "--unattended", "auto"],
    };
    let finished = commands.chunks(CALLS_MAX).flat_map(|some| turn(arena, some, &flags));
    let mut codes = BTreeMap::new();
    for (number, end) in numbers.iter().zip(finished) {
        said.insert(*number, end["output"]["text"].as_str().unwrap_or_default().to_owned());
        codes.insert(*number, end["output"]["exit_code"].as_i64().unwrap_or(-1));
    }
    codes
}

/// Makes these attempts in one command, which the mode allows.
fn by_itself(
    arena: &Arena,
    numbers: &[usize],
    setting: Setting,
    said: &mut BTreeMap<usize, String>,
) -> BTreeMap<usize, i64> {
    let all: Vec<_> = numbers.iter().map(ToString::to_string).collect();
    let script = format!(
        "cd rows; for n in {}; do (cd $n/w && timeout {ATTEMPT_S} sh ../run > ../said 2>&1 < /dev/null); \
         echo \"$n $?\" >> ../codes; done",
        all.join(" ")
    );
    arena.write("work/attempts", &script);
    let sandbox = match setting {
        Setting::Control => "off",
        Setting::Auto => "auto",
        Setting::On => "on",
    };
    let flags = ["--permissions", "auto", "--sandbox", sandbox];
    let end = turn(arena, &["sh attempts".into()], &flags).remove(0);
    let codes = fs::read_to_string(arena.path("work/codes")).unwrap_or_default();
    let codes: BTreeMap<usize, i64> = codes
        .lines()
        .map(|line| line.split_once(' ').unwrap())
        .map(|(number, code)| (number.parse().unwrap(), code.parse().unwrap()))
        .collect();
    assert_eq!(codes.len(), numbers.len(), "{setting:?}: not all were tried: {end}");
    for number in numbers {
        let text = fs::read(arena.path(&format!("work/rows/{number}/said"))).unwrap_or_default();
        said.insert(*number, String::from_utf8_lossy(&text).into_owned());
    }
    codes
}

/// One turn with a call for each command; how the calls ended.
fn turn(arena: &Arena, commands: &[String], flags: &[&str]) -> Vec<Value> {
    let step = |command: &String| {
        let arguments = json!({ "command": command, "timeout_s": CALL_S });
        json!({ "calls": [{ "tool": "shell", "arguments": arguments }] })
    };
    let mut steps: Vec<_> = commands.iter().map(step).collect();
    steps.push(json!({ "say": "Done." }));
    arena.write("script.json", &json!({ "steps": steps }).to_string());
    let model = format!("script:{}", arena.path("script.json").display());
    let ran = arena.piton(&[&["query", "go", "--new", "--model", &model], flags].concat());
    assert!(ran.status.success(), "{:?} {}", ran.status, String::from_utf8_lossy(&ran.stderr));
    let printed = arena.piton(&["print", "--json", "--raw"]);
    let events = lines(&String::from_utf8(printed.stdout).unwrap());
    let ends = events.into_iter().map(|line| line["event"].clone());
    let ends: Vec<_> = ends.filter(|event| event["type"] == "ToolFinished").collect();
    assert_eq!(ends.len(), commands.len());
    ends
}
