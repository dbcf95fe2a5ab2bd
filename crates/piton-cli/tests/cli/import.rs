//! `piton import`: sessions of other agents, broken in every way that is known, become conversations that
//! any provider takes. The player objects to whatever its provider would reject.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use piton_sim::script::Script;
use piton_sim::serve::{Options, Server};
use serde_json::Value;

use crate::person::Person;
use crate::world::{Ran, World, lines};

#[path = "../../../piton-import/tests/import/garden.rs"]
mod garden;

/// A file of every format, what its person said first, and whether its last turn is over.
const FILES: [(&str, &str, bool); 15] = [
    ("claude.jsonl", "tidy up the notes", true),
    ("codex.jsonl", "count the lines", false),
    ("codex.jsonl.zst", "count the lines", false),
    ("codex_old.jsonl", "hello there", false),
    ("gemini.jsonl", "what is the time?", false),
    ("gemini.json", "what is the time?", false),
    ("qwen.jsonl", "rename the file", true),
    ("pi.jsonl", "list it", false),
    ("opencode_export.json", "make two files", false),
    ("anthropic.json", "add one and one", true),
    ("chat.json", "the weather?", false),
    ("responses.json", "which year?", true),
    ("contents.json", "tick", true),
    ("lines.jsonl", "first", false),
    ("torn.json", "say it in Japanese", false),
];

/// One provider of each dialect: model and variable of its key.
const PROVIDERS: [(&str, &str); 4] = [
    ("anthropic/claude-sonnet-4-5", "ANTHROPIC_API_KEY"),
    ("openai/gpt-5", "OPENAI_API_KEY"),
    ("openai-chat/gpt-4o", "OPENAI_API_KEY"),
    ("gemini/gemini-3-pro", "GEMINI_API_KEY"),
];

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../piton-import/tests/import/files").join(name)
}

fn import(world: &World, path: &Path, more: &[&str]) -> Ran {
    world.run(&[&["import", path.to_str().unwrap()], more].concat())
}

/// The id of the one conversation that an import made.
fn imported(world: &World, name: &str) -> String {
    let ran = import(world, &file(name), &[]);
    assert_eq!(ran.code, 0, "{name}: {}", ran.stderr);
    ran.stdout.trim_end().to_owned()
}

fn serve() -> Server {
    let steps = vec![r#"{ "say": "On it goes." }"#; 30].join(",");
    let script = Script::parse(&format!(r#"{{ "steps": [{steps}] }}"#)).unwrap();
    Server::with(script, Options { key: Some("k3y".into()), ..Options::default() }).unwrap()
}

fn go_on(world: &World, server: &Server, provider: (&str, &str), args: &[&str]) -> Ran {
    let (model, key) = provider;
    let mut command = world.command(&[&["query", "--model", model], args].concat());
    command.envs(server.variables()).env("NO_PROXY", "127.0.0.1").env(key, "k3y");
    world.finish(command.spawn().unwrap())
}

/// The last request has one result for each call, and the server took it.
fn taken(server: &Server, name: &str) -> String {
    let seen = server.seen();
    let last = seen.last().unwrap();
    assert_eq!(last.status, 200, "{name}: {last:?}");
    String::from_utf8_lossy(&last.body).into_owned()
}

#[test]
fn every_format_prints_and_goes_on_with_every_provider() {
    for (place, (name, said, is_complete)) in FILES.into_iter().enumerate() {
        let (world, server) = (World::new(), serve());
        let id = imported(&world, name);
        let printed = world.run(&["print", &id]);
        assert_eq!(printed.code, 0, "{name}: {}", printed.stderr);
        assert!(printed.stdout.contains(said), "{name}: {}", printed.stdout);
        assert!(printed.stderr.contains("imported from"), "{name}: {}", printed.stderr);
        let status = world.rows()[0]["status"].as_str().unwrap().to_owned();
        assert_eq!(status.is_empty(), is_complete, "{name}: {status}");
        let view: Value = serde_json::from_str(
            world.run(&["print", "--json", &id]).stdout.lines().next().unwrap(),
        )
        .unwrap();
        assert_eq!(view["view"]["strays"], 0, "{name}: every fact fits");
        // First as it is, then with words: an incomplete turn is resumed before that.
        let first = PROVIDERS[place % PROVIDERS.len()];
        if !is_complete {
            let ran = go_on(&world, &server, first, &["-c", "--id", &id]);
            assert_eq!(
                (ran.code, ran.stdout.as_str()),
                (0, "On it goes.\n"),
                "{name}: {}",
                ran.stderr
            );
            taken(&server, name);
        }
        for provider in PROVIDERS {
            let ran = go_on(&world, &server, provider, &["--id", &id, "and now?"]);
            let what = format!("{name} with {}: {}", provider.0, ran.stderr);
            assert_eq!((ran.code, ran.stdout.as_str()), (0, "On it goes.\n"), "{what}");
            let body = taken(&server, &what);
            assert!(body.contains(said), "{what}: {body}");
            for foreign in
                ["c2ln", "Z0FBQUE=", "API Error", "<session_context>", "Be kind.", "aborted"]
            {
                assert!(!body.contains(foreign), "{what}: {foreign} in {body}");
            }
        }
    }
}

#[test]
fn an_incomplete_turn_takes_new_words_too() {
    for (name, said, _) in FILES.into_iter().filter(|(_, _, is_complete)| !is_complete) {
        let (world, server) = (World::new(), serve());
        let id = imported(&world, name);
        let ran = go_on(&world, &server, PROVIDERS[0], &["-c", "look again", "--id", &id]);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "On it goes.\n"), "{name}: {}", ran.stderr);
        let body = taken(&server, name);
        assert!(body.contains(said) && body.contains("look again"), "{name}: {body}");
    }
}

#[test]
fn a_call_without_a_result_is_told_as_unknown_and_the_tools_are_pitons() {
    let (world, server) = (World::new(), serve());
    let id = imported(&world, "codex.jsonl");
    let ran = go_on(&world, &server, PROVIDERS[0], &["-c", "--id", &id]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let body = taken(&server, "codex");
    assert_eq!(body.matches("its outcome is unknown").count(), 2, "one open, one made up: {body}");
    assert!(body.contains(r#"\"raw\""#) || body.contains(r#""raw""#), "broken arguments: {body}");
    assert!(body.contains(r#""name":"read_file""#), "piton's own tools are offered: {body}");
    assert!(!body.contains("of nobody"), "a result without a call is not sent: {body}");
}

// Must show 1: every format, broken in every known way, goes on with another provider.
#[test]
fn every_breakage_of_every_format_prints_and_goes_on() {
    let (world, server) = (World::new(), serve());
    // Those that say the same as another one make the same request.
    let files: Vec<_> = garden::files().into_iter().filter(|it| it.breakage.loses()).collect();
    fs::create_dir(world.path("broken")).unwrap();
    for file in &files {
        fs::write(world.path("broken").join(file.name()), &file.bytes).unwrap();
    }
    let ran = import(&world, &world.path("broken"), &["--json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let imported: Vec<_> =
        lines(&ran.stdout).into_iter().filter(|line| line["type"] == "imported").collect();
    assert_eq!(imported.len(), files.len());
    let mut counts = std::collections::BTreeMap::<String, u64>::new();
    for (place, line) in imported.iter().enumerate() {
        for (kind, count) in line["counts"].as_object().unwrap() {
            *counts.entry(kind.clone()).or_default() += count.as_u64().unwrap();
        }
        let (id, path) = (line["conversation"].as_str().unwrap(), &line["source"]["path"]);
        if place % 4 == 0 {
            let printed = world.run(&["print", id]);
            assert!(printed.stdout.contains("tidy up the garden"), "{path}: {}", printed.stderr);
        }
        let provider = PROVIDERS[place % PROVIDERS.len()];
        let ran = go_on(&world, &server, provider, &["--id", id, "-c", "and", "now?"]);
        let what = format!("{path} with {}: {}", provider.0, ran.stderr);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "On it goes.\n"), "{what}");
        let body = taken(&server, &what);
        assert!(body.contains("tidy up the garden") && !body.contains("a stray cat"), "{what}");
    }
    println!("{} broken files went on: {counts:?}", imported.len());
}

// Files of sub-agents are named, and each is a conversation of its own.
#[test]
fn sub_agents_are_named_and_can_be_imported_by_themselves() {
    let world = World::new();
    let record = |side: bool, kind: &str, id: &str, parent: Option<&str>, words: &str| {
        serde_json::json!({ "uuid": id, "parentUuid": parent, "isSidechain": side, "agentId": "a1", "type": kind,
            "sessionId": "s", "message": { "role": kind, "content": words } })
        .to_string()
    };
    let session = |side| {
        let (said, answered) = (
            record(side, "user", "1", None, "look"),
            record(side, "assistant", "2", Some("1"), "seen"),
        );
        format!("{said}\n{answered}\n")
    };
    let (main, agent) = (world.path("s.jsonl"), world.path("s/subagents/agent-a1.jsonl"));
    fs::create_dir_all(agent.parent().unwrap()).unwrap();
    fs::write(&main, session(false)).unwrap();
    fs::write(&agent, session(true)).unwrap();
    let ran = import(&world, &main, &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let said = "1 file of a sub-agent, which can be imported by itself: /";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
    let ran = import(&world, &agent, &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("1 conversation of a sub-agent (line 1): a1"), "{}", ran.stderr);
    assert_eq!(world.run(&["print", ran.stdout.trim()]).stdout, "> look\nseen\n");
}

#[test]
fn the_same_file_is_imported_once() {
    let world = World::new();
    for (name, _, _) in FILES {
        let first = imported(&world, name);
        let again = import(&world, &file(name), &[]);
        assert_eq!((again.code, again.stdout.trim_end()), (0, first.as_str()), "{name}");
        assert!(again.stderr.contains("was imported before"), "{name}: {}", again.stderr);
    }
    assert_eq!(world.rows().len(), FILES.len());
    // Another name is the same content.
    fs::copy(file("pi.jsonl"), world.path("copy.jsonl")).unwrap();
    let copied = import(&world, &world.path("copy.jsonl"), &[]);
    assert_eq!(copied.stdout.trim_end(), imported(&world, "pi.jsonl"));
}

#[test]
fn the_report_names_kinds_and_lines() {
    let world = World::new();
    let ran = import(&world, &file("claude.jsonl"), &[]);
    for said in [
        "imported from Claude Code 2.0.0",
        "1 call without a result, outcome unknown (line 6): Bash toolu_b",
        "1 line that cannot be read (line 8)",
        "2 answers that the agent made up (lines 11, 13)",
        "1 kind of record that is not known (line 15): brand-new-kind",
        "1 sub-agent, left out (line 14)",
    ] {
        assert!(ran.stderr.contains(said), "{said} in {}", ran.stderr);
    }
    let again = import(&world, &file("claude.jsonl"), &["--json"]);
    let line = &lines(&again.stdout)[0];
    assert_eq!(
        (&line["type"], &line["known"], &line["complete"]),
        (&"imported".into(), &true.into(), &true.into())
    );
    assert_eq!(line["counts"]["torn_line"], 1, "{line}");
    let id = line["conversation"].as_str().unwrap();
    let events = world.events();
    assert_eq!(events[1]["type"], "ConversationImported", "right behind the beginning");
    let kept = events[1]["originals"][0]["blob"]["bytes"].as_u64().unwrap();
    assert_eq!(kept, fs::metadata(file("claude.jsonl")).unwrap().len(), "the original is kept");
    let view = world.run(&["print", "--json", id]).stdout;
    assert!(view.contains(r#""imported":{"source":{"tool":"claude-code""#), "{view}");
}

#[test]
fn what_cannot_be_imported_is_said_and_makes_nothing() {
    let world = World::new();
    fs::create_dir(world.path("nothing")).unwrap();
    fs::write(world.path("nothing/a.txt"), "Dear diary").unwrap();
    let large = world.path("large.jsonl");
    fs::copy(file("pi.jsonl"), &large).unwrap();
    fs::OpenOptions::new().write(true).open(&large).unwrap().set_len(1 << 30).unwrap();
    // Its first line is longer than what is looked at to know it.
    let long_line = world.path("long_line.jsonl");
    fs::write(&long_line, format!("{{\"a\":\"{}", "x".repeat(2 << 20))).unwrap();
    fs::OpenOptions::new().write(true).open(&long_line).unwrap().set_len(1 << 30).unwrap();
    let rows = [
        (file("empty.jsonl"), "is empty"),
        (file("unknown.txt"), "is no session file that piton knows"),
        (world.path("nothing"), "there is no session file in"),
        (world.path("gone.jsonl"), "cannot read"),
        (PathBuf::from("/dev/zero"), "it is no regular file"),
        (long_line, "has 1073741824 bytes, and at most 268435456 are read"),
        (large, "has 1073741824 bytes, and at most 268435456 are read"),
    ];
    for (path, said) in rows {
        let ran = import(&world, &path, &[]);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
        assert!(ran.stderr.contains(said) && ran.stderr.contains("hint:"), "{}", ran.stderr);
    }
    assert_eq!(world.run(&["import"]).code, 2);
    assert!(!world.path("home/piton.db").exists(), "nothing was made");
}

// X20: the same as for one file.
#[test]
fn several_files_of_which_none_is_imported_are_no_success() {
    let world = World::new();
    let nothing = world.path("nothing.jsonl");
    fs::write(&nothing, "[]").unwrap();
    for other in [&nothing, &file("unknown.txt")] {
        let ran = import(&world, other, &[nothing.to_str().unwrap()]);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
        assert!(ran.stderr.contains("nothing was imported from 2 files"), "{}", ran.stderr);
    }
    assert_eq!(import(&world, &file("pi.jsonl"), &[nothing.to_str().unwrap()]).code, 0);
}

#[test]
fn a_line_that_is_cut_in_the_middle_of_a_character_is_told_as_such() {
    let world = World::new();
    let mut bytes = fs::read(file("pi.jsonl")).unwrap();
    bytes.extend("{\"type\":\"message\",\"text\":\"gr\u{fc}".as_bytes());
    bytes.pop();
    let cut = world.path("cut.jsonl");
    fs::write(&cut, bytes).unwrap();
    let ran = import(&world, &cut, &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("cut in the middle of a character: {\"type\""), "{}", ran.stderr);
}

#[test]
fn a_directory_gives_all_its_sessions() {
    let world = World::new();
    fs::create_dir_all(world.path("old/deep")).unwrap();
    for (name, to) in [("pi.jsonl", "old/a.jsonl"), ("qwen.jsonl", "old/deep/b.jsonl")] {
        fs::copy(file(name), world.path(to)).unwrap();
    }
    let ran = import(&world, &world.path("old"), &[]);
    assert_eq!((ran.code, ran.stdout.lines().count()), (0, 2), "{}", ran.stderr);
    assert_eq!(world.rows().len(), 2);
}

#[test]
fn the_list_shows_what_is_there_and_what_was_imported() {
    let world = World::new();
    let home = world.path("user");
    let place = home.join(".pi/agent/sessions/--x--/a.jsonl");
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    fs::copy(file("pi.jsonl"), &place).unwrap();
    let list = |args: &[&str]| {
        let mut command = world.command(&[&["import", "--list"], args].concat());
        command.env("HOME", &home).env_remove("XDG_DATA_HOME").env_remove("PI_CODING_AGENT_DIR");
        world.finish(command.spawn().unwrap())
    };
    let ran = list(&[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stdout.contains("list it") && ran.stdout.contains(place.to_str().unwrap()),
        "{}",
        ran.stdout
    );
    assert!(!world.path("home/piton.db").exists(), "looking makes nothing");
    assert!(ran.stdout.lines().nth(1).unwrap().starts_with("1  "), "{}", ran.stdout);
    assert!(ran.stderr.contains("piton import N"), "{}", ran.stderr);
    let id = imported(&world, "pi.jsonl");
    assert!(list(&["--all"]).stdout.contains(&id));
    let line = &lines(&list(&["--json"]).stdout)[0];
    assert_eq!(line["number"], 1);
    assert_eq!(
        (line["type"].as_str(), line["conversation"].as_str()),
        (Some("importable"), Some(id.as_str()))
    );
    fs::remove_dir_all(&home).unwrap();
    let none = list(&[]);
    assert_eq!((none.code, none.stdout.as_str()), (0, ""), "{}", none.stderr);
}

#[test]
fn it_works_where_the_session_worked_unless_that_is_too_much() {
    let world = World::new();
    fs::create_dir(world.path("project")).unwrap();
    let session = |directory: &str| {
        let text = fs::read_to_string(file("pi.jsonl")).unwrap();
        let path = world.path("session.jsonl");
        fs::write(&path, text.replace("/no/such/place", directory)).unwrap();
        path
    };
    let project = world.path("project");
    let works_in = |directory: &str, more: &[&str]| {
        let mut command = world
            .command(&[&["import", session(directory).to_str().unwrap(), "--json"], more].concat());
        command.env("HOME", world.path(""));
        let ran = world.finish(command.spawn().unwrap());
        lines(&ran.stdout)[0]["workspace"].as_str().unwrap().to_owned()
    };
    let (here, there) = (world.path("work"), project.to_str().unwrap());
    let here = here.to_str().unwrap();
    assert_eq!(works_in(there, &[]), there);
    assert_eq!(works_in(there, &["--here"]), here);
    for wide in ["/", world.path("").to_str().unwrap(), "/no/such/place", "relative"] {
        assert_eq!(works_in(wide, &[]), here, "{wide}");
    }
}

#[test]
fn a_kill_in_the_middle_leaves_nothing_or_all() {
    let mut text =
        String::from("{\"type\":\"session\",\"version\":1,\"id\":\"a\",\"cwd\":\"/x\"}\n");
    let long = "x".repeat(2_000);
    for number in 0..400 {
        for (role, words) in
            [("user", format!("question {number} {long}")), ("assistant", "answer".into())]
        {
            let message = serde_json::json!({ "role": role, "content": words });
            let entry = serde_json::json!({ "type": "message", "message": message });
            writeln!(text, "{entry}").unwrap();
        }
    }
    for wait_ms in [0, 5, 10, 15, 20, 25, 30, 40, 60, 100] {
        let world = World::new();
        let path = world.path("long.jsonl");
        fs::write(&path, &text).unwrap();
        let mut child = world.spawn(&["import", path.to_str().unwrap()]);
        // wait: the instant of death is the experiment, nothing is synchronised by it
        std::thread::sleep(std::time::Duration::from_millis(wait_ms));
        child.kill().unwrap();
        child.wait().unwrap();
        for row in world.rows() {
            assert_eq!(row["turns"], 400, "all of it or nothing, after {wait_ms} ms");
        }
        let ran = import(&world, &path, &[]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert_eq!((world.rows().len(), &world.rows()[0]["turns"]), (1, &400.into()));
    }
}

/// Sessions that real agents wrote belong to others: read in place where they are, never copied.
#[test]
fn sessions_of_real_agents_go_on_with_another_provider() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/sessions");
    let samples = std::env::var_os("PITON_SESSIONS").map_or(beside, PathBuf::from);
    let Ok(agents) = fs::read_dir(&samples) else {
        println!("skipped: sessions of real agents are not at hand");
        return;
    };
    let mut cases: Vec<_> = agents
        .flat_map(|it| fs::read_dir(it.unwrap().path()).unwrap())
        .map(|it| it.unwrap().path())
        .collect();
    cases.sort();
    let mut repaired = std::collections::BTreeMap::<String, u64>::new();
    for (place, case) in cases.iter().enumerate() {
        let (world, server) = (World::new(), serve());
        let ran = import(&world, case, &["--json"]);
        assert_eq!(ran.code, 0, "{}: {}", case.display(), ran.stderr);
        for line in lines(&ran.stdout).iter().filter(|line| line["type"] == "imported") {
            let id = line["conversation"].as_str().unwrap();
            for (kind, count) in line["counts"].as_object().unwrap() {
                *repaired.entry(kind.clone()).or_default() += count.as_u64().unwrap();
            }
            let printed = world.run(&["print", id]);
            assert!(printed.code == 0 && !printed.stdout.is_empty(), "{}", case.display());
            let provider = PROVIDERS[place % PROVIDERS.len()];
            let ran = go_on(&world, &server, provider, &["--id", id, "-c", "and", "now?"]);
            let what = format!("{} with {}: {}", case.display(), provider.0, ran.stderr);
            assert_eq!((ran.code, ran.stdout.as_str()), (0, "On it goes.\n"), "{what}");
            let body = taken(&server, &what);
            for foreign in ["PARTIAL-TEXT", "No response requested", "API Error", "c2lnbmF0dXJl"] {
                assert!(!body.contains(foreign), "{what}: {foreign} in {body}");
            }
        }
    }
    println!("{} sessions of real agents went on: {repaired:?}", cases.len());
}

/// A home with sessions of two agents in their usual places.
fn with_sessions(world: &World) -> PathBuf {
    let home = world.path("user");
    for (name, place) in [
        ("pi.jsonl", ".pi/agent/sessions/--x--/a.jsonl"),
        ("claude.jsonl", ".claude/projects/-x/0b1c.jsonl"),
    ] {
        let place = home.join(place);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::copy(file(name), &place).unwrap();
    }
    home
}

fn with_home(world: &World, home: &Path, args: &[&str]) -> std::process::Command {
    let mut command = world.command(args);
    command.env("HOME", home);
    for name in ["XDG_DATA_HOME", "PI_CODING_AGENT_DIR", "CLAUDE_CONFIG_DIR"] {
        command.env_remove(name);
    }
    command
}

#[test]
fn a_session_is_taken_by_its_number_in_the_list() {
    let world = World::new();
    let home = with_sessions(&world);
    let run = |args: &[&str]| world.ran(with_home(&world, &home, args).output().unwrap());
    let listed = lines(&run(&["import", "--list", "--json"]).stdout);
    let second = listed.iter().find(|line| line["number"] == 2).unwrap();
    let ran = run(&["import", "2", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(lines(&ran.stdout)[0]["source"]["path"], second["path"], "{}", ran.stdout);
    let ran = run(&["import", "1", "2"]);
    assert_eq!((ran.code, ran.stdout.lines().count()), (0, 2), "{}", ran.stderr);
    assert_eq!(world.rows().len(), 2);
    for number in ["3", "0"] {
        let ran = run(&["import", number]);
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains("there are 2"), "{}", ran.stderr);
    }
    // A file that is called like a number is a file.
    fs::copy(file("qwen.jsonl"), world.work("3")).unwrap();
    let ran = run(&["import", "3", "--json"]);
    assert_eq!(lines(&ran.stdout)[0]["source"]["tool"], "qwen-code", "{}", ran.stderr);
}

#[test]
fn a_session_comes_from_standard_input() {
    let world = World::new();
    let text = fs::read_to_string(file("pi.jsonl")).unwrap();
    let ran = world.run_with_input(&["import", "-", "--json"], &text);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(lines(&ran.stdout)[0]["source"]["path"], "standard input");
    // The same content from a file is the same conversation.
    assert_eq!(import(&world, &file("pi.jsonl"), &[]).code, 0);
    assert_eq!(world.rows().len(), 1);
    for (text, said) in [
        ("", "standard input is empty"),
        ("Dear diary", "standard input is no session file that piton knows"),
        ("SQLite format 3\0", "a session of opencode is read from its own place"),
    ] {
        let ran = world.run_with_input(&["import", "-"], text);
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains(said), "{said}: {}", ran.stderr);
    }
}

#[test]
fn the_list_and_the_help_fit_narrow_windows() {
    let world = World::new();
    let home = with_sessions(&world);
    for columns in [40, 80] {
        for args in [["import", "--list"], ["import", "--help"], ["queue", "-h"], ["help", "queue"]]
        {
            let command = with_home(&world, &home, &args);
            let mut person = Person::starts_sized(command, (24, columns), &[("NO_COLOR", "1")]);
            person.sees(if args[1] == "--list" { "TITLE" } else { "Usage:" });
            let (code, screen) = person.leaves();
            assert_eq!(code, 0, "{screen}");
            // A word that is longer than the window cannot be helped.
            let is_wide = |line: &&str| {
                usize::from(columns) < line.chars().count() && line.trim().contains(' ')
            };
            let wide = screen.lines().find(is_wide);
            assert_eq!(wide, None, "{columns} columns: {screen}");
        }
    }
}

#[test]
fn a_session_that_was_put_away_says_how_to_bring_it_back() {
    let world = World::new();
    let id = imported(&world, "pi.jsonl");
    for (away, word) in [(&["archive"][..], "archived"), (&["rm", "--yes"], "removed")] {
        assert_eq!(world.run(&[away, &[&id]].concat()).code, 0);
        let ran = import(&world, &file("pi.jsonl"), &[]);
        let told = format!("it was {word} since; to bring it back: piton archive --back {id}");
        assert!(ran.code == 0 && ran.stderr.contains(&told), "{}", ran.stderr);
        assert_eq!(world.run(&["archive", "--back", &id]).code, 0);
        assert!(!import(&world, &file("pi.jsonl"), &[]).stderr.contains("bring it back"));
    }
}
