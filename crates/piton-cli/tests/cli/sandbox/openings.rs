//! Openings in the sandbox: what a rule opens is open, what a call asks for asks, and what was stopped is named.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::Path;

use piton_tools::sandbox::try_namespaces;
use serde_json::{Value, json};

use super::can_hold;
use crate::world::{Ran, World};

/// A world whose workspace and outside are not in the temporary directory; `OUT` is the place outside.
struct Site {
    world: World,
    outside: tempfile::TempDir,
}

impl Site {
    fn new(settings: &str) -> Self {
        let site = Self { world: World::new(), outside: tempfile::tempdir_in("/var/tmp").unwrap() };
        fs::create_dir(site.world.path("home")).unwrap();
        for name in ["open", "other"] {
            fs::create_dir(site.outside.path().join(name)).unwrap();
        }
        fs::write(site.world.path("home/piton.toml"), site.named(settings)).unwrap();
        site
    }

    fn named(&self, text: &str) -> String {
        text.replace("OUT", &self.out())
    }

    fn out(&self) -> String {
        self.outside.path().canonicalize().unwrap().display().to_string()
    }

    fn has(&self, name: &str) -> bool {
        self.outside.path().join(name).exists()
    }

    /// One turn with one command and what it asks for.
    fn runs(&self, command: &str, needs: &str, flags: &[&str]) -> Ran {
        let needs: Value = serde_json::from_str(&self.named(needs)).unwrap();
        let arguments = json!({ "command": self.named(command), "needs": needs });
        let script = json!({ "steps": [
            { "say": "Go.", "calls": [{ "tool": "shell", "arguments": arguments }] },
            { "say": "Done." }
        ] });
        let model = self.world.script(&script.to_string());
        self.world.run(&[&["query", "go", "--new", "--model", &model][..], flags].concat())
    }

    /// The end of the newest command.
    fn end(&self) -> Value {
        let mut events = self.world.events().into_iter();
        events.rfind(|it| it["type"] == "ToolFinished").unwrap()
    }

    fn told(&self) -> String {
        self.end()["output"]["text"].as_str().unwrap().to_owned()
    }
}

const AUTO: [&str; 2] = ["--permissions", "auto"];
const WRITES: &str = "touch OUT/open/new";
const NEEDS: &str = r#"{"write":["OUT/open"]}"#;

#[test]
fn what_a_rule_opens_is_open_for_its_commands_and_no_others() {
    if !can_hold() {
        return;
    }
    let rule = "[[permissions]]\ntool = \"shell\"\ncommand = \"touch *\"\neffect = \"allow\"\n\
                write = [\"OUT/open\"]\n";
    let site = Site::new(rule);
    assert_eq!(site.runs(WRITES, "{}", &[]).code, 0);
    assert!(site.has("open/new"), "{}", site.told());
    assert_eq!(site.runs("touch OUT/other/new", "{}", &[]).code, 0);
    assert!(!site.has("other/new"));
    // In a line with a command that no rule allows it is not open.
    let site = Site::new(rule);
    assert_eq!(site.runs("touch OUT/open/new; sh -c true", "{}", &AUTO).code, 0);
    assert!(!site.has("open/new"));
    // Without the opening the same rule does not let it through.
    let site = Site::new(rule.split("write").next().unwrap());
    assert_eq!(site.runs(WRITES, "{}", &[]).code, 0);
    assert!(!site.has("open/new"));
}

#[test]
fn closed_places_and_variables_are_opened_by_a_rule() {
    if !can_hold() {
        return;
    }
    let seen = |openings: &str| {
        let site = Site::new(&format!(
            "[sandbox]\ndeny_read = [\"OUT/other\"]\n[[permissions]]\ntool = \"shell\"\n\
             command = \"sh *\"\neffect = \"allow\"\n{openings}"
        ));
        fs::write(site.outside.path().join("other/key"), "canary one\n").unwrap();
        fs::write(site.outside.path().join("other/more"), "canary two\n").unwrap();
        let script = json!({ "steps": [
            { "calls": [{ "tool": "shell", "arguments": {
                "command": site.named("sh -c 'cat OUT/other/key OUT/other/more; env'") } }] },
            { "say": "Done." }
        ] });
        let model = site.world.script(&script.to_string());
        let mut command = site.world.command(&["query", "go", "--model", &model]);
        let ran = site.world.ran(command.env("MY_TOKEN", "canary three").output().unwrap());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let told = site.told();
        ["one", "two", "three"].map(|it| told.contains(&format!("canary {it}")))
    };
    assert_eq!(seen(""), [false, false, false]);
    assert_eq!(seen("read = [\"OUT/other/key\"]\n"), [true, false, false]);
    assert_eq!(seen("read = [\"OUT/other\"]\nenv = [\"MY_TOKEN\"]\n"), [true, true, true]);
}

#[test]
fn nothing_opens_our_own_settings() {
    if !can_hold() {
        return;
    }
    let site = Site::new("");
    let home = site.world.path("home").display().to_string();
    let rule = format!(
        "# canary\n[[permissions]]\ntool = \"shell\"\ncommand = \"cat *\"\neffect = \"allow\"\n\
         write = [\"{home}\", \"{home}/piton.toml\"]\n"
    );
    fs::write(site.world.path("home/piton.toml"), rule).unwrap();
    let command = format!("cat {home}/piton.toml");
    assert_eq!(site.runs(&command, "{}", &AUTO).code, 0);
    assert!(!site.told().contains("canary"), "{}", site.told());
}

#[test]
fn a_call_that_asks_for_an_opening_asks_a_person_in_every_mode() {
    if !can_hold() {
        return;
    }
    let allowed = "[[permissions]]\ntool = \"shell\"\ncommand = \"touch *\"\neffect = \"allow\"\n";
    for (settings, flags) in [("", &AUTO[..]), (allowed, &[])] {
        let site = Site::new(settings);
        assert_eq!(site.runs(WRITES, NEEDS, flags).code, 3, "it waits for an answer");
        let shown = site.world.run(&["answer"]);
        let shown = format!("{}{}", shown.stdout, shown.stderr);
        let told = site.named("it asks to write in OUT/open");
        assert!(shown.replace("\n  > ", "").contains(&told), "{shown}");
        assert!(shown.contains("a yes runs it outside the sandbox"), "{shown}");
        let ran = site.world.run(&["answer", "yes", "--continue"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(site.has("open/new"), "a yes is for this call, outside the sandbox");
        // Once.
        fs::remove_file(site.outside.path().join("open/new")).unwrap();
        assert_eq!(site.runs(WRITES, NEEDS, flags).code, 3);
        assert_eq!(site.world.run(&["answer", "no", "--continue"]).code, 0);
        assert!(!site.has("open/new"));
    }
}

#[test]
fn always_writes_a_rule_with_the_opening_and_later_calls_run_in_the_sandbox() {
    if !can_hold() {
        return;
    }
    let site = Site::new("");
    assert_eq!(site.runs(WRITES, NEEDS, &AUTO).code, 3);
    let always = ["answer", "always", "--scope", "user", "--width", "first-words", "--continue"];
    let ran = site.world.run(&always);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let written = fs::read_to_string(site.world.path("home/piton.toml")).unwrap();
    assert!(written.contains(&site.named("write = [\"OUT/open\"]")), "{written}");
    let listed = site.world.run(&["permissions"]).stdout;
    let told = site.named("allow shell `touch *`, and may write in OUT/open");
    assert!(listed.contains(&told), "{listed}");
    let tried = site.world.run(&["permissions", "try", "touch x", "--json"]).stdout;
    let line: Value = serde_json::from_str(tried.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&line["effect"], &line["wall"], &line["rule"]),
        (&json!("allow"), &json!("sandbox"), &json!(1))
    );
    assert_eq!(line["grants"]["write"], json!([site.named("OUT/open")]));
    let denied = ["permissions", "try", "make", "--permissions", "read-only"];
    assert!(site.world.run(&denied).stdout.starts_with("denied: the mode read-only"));
    let tried = site.world.run(&["permissions", "try", "touch x"]).stdout;
    let told = site.named("runs in the sandbox, and may write in OUT/open: rule 1");
    assert!(tried.starts_with(&told), "{tried}");
    // What a rule opens here is opened in a trial, too.
    let file = site.world.path("home/piton.toml");
    let hosts = "[[permissions]]\ntool = \"shell\"\ncommand = \"curl *\"\neffect = \"allow\"\nnetwork = [\"127.0.0.1:81\"]\n";
    fs::write(&file, format!("{written}\n{hosts}")).unwrap();
    let tried = site.world.run(&["permissions", "try", "curl http://127.0.0.1:81/"]).stdout;
    let runs = "runs in the sandbox, and may connect to 127.0.0.1:81: rule 2";
    let has_namespaces =
        matches!(try_namespaces(Path::new(env!("CARGO_BIN_EXE_piton"))), Ok(Ok(())));
    assert_eq!(tried.starts_with(runs), has_namespaces, "{tried}");
    fs::remove_file(site.outside.path().join("open/new")).unwrap();
    assert_eq!(site.runs("touch OUT/open/new OUT/other/new", NEEDS, &AUTO).code, 0);
    assert!(site.has("open/new") && !site.has("other/new"), "{}", site.told());
}

// A yes to one host, or to one directory, for ever must not open everything for the call that asked.
#[test]
fn the_call_that_always_is_answered_to_runs_as_its_rule_says() {
    if !can_hold() {
        return;
    }
    let both = "touch OUT/open/new OUT/other/new";
    for (width, is_free) in [("first-words", false), ("exactly", false), ("unconfined", true)] {
        let site = Site::new("");
        assert_eq!(site.runs(both, NEEDS, &AUTO).code, 3);
        let ran = site.world.run(&["answer", "always", "--width", width, "--continue"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(site.has("open/new"), "{width}: {}", site.told());
        assert_eq!(site.has("other/new"), is_free, "{width}: {}", site.told());
    }
    // Without openings: what is allowed word for word runs outside, what is allowed more widely does not.
    for (width, is_free) in [("first-words", false), ("exactly", true)] {
        let site = Site::new("");
        assert_eq!(site.runs(both, "{}", &[]).code, 3);
        let ran = site.world.run(&["answer", "always", "--width", width, "--continue"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert_eq!(site.has("other/new"), is_free, "{width}: {}", site.told());
    }
}

// git writes its settings by renaming, which no mount allows.
#[test]
fn settings_of_git_are_written_where_a_rule_opens_them() {
    if !can_hold() {
        return;
    }
    let site = Site::new("");
    let workspace = site.world.path("work");
    let git = |words: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.args(words).current_dir(&workspace).env("HOME", &workspace).output().unwrap()
    };
    assert!(git(&["init", "-q"]).status.success());
    assert_eq!(site.runs("git config a.b one", "{}", &AUTO).code, 0);
    let file = workspace.join(".git/config");
    let needs = format!(r#"{{"write":["{}"]}}"#, file.display());
    assert!(site.told().contains(&format!("call again with needs {needs}")), "{}", site.told());
    assert_eq!(site.runs("git config a.b two", &needs, &AUTO).code, 3);
    let always = ["answer", "always", "--scope", "user", "--width", "first-words", "--continue"];
    assert_eq!(site.world.run(&always).code, 0);
    for value in ["two", "three"] {
        if value == "three" {
            assert_eq!(site.runs("git config a.b three", &needs, &AUTO).code, 0);
        }
        let set = String::from_utf8(git(&["config", "a.b"]).stdout).unwrap();
        assert_eq!(set.trim(), value, "{}", site.told());
    }
}

#[test]
fn a_call_that_cannot_run_asks_nobody() {
    let site = Site::new("");
    for (needs, why) in [
        (r#"{"network":["a.example:81"],"proxy":true}"#, "has no field `proxy`"),
        (r#"{"network":"a.example:81"}"#, "must be of type array"),
        (r#"{"preset":"everything"}"#, "must be one of"),
    ] {
        let ran = site.runs("true", needs, &[]);
        assert_eq!(ran.code, 0, "nobody is asked: {}", ran.stderr);
        assert!(site.told().contains(why), "{}", site.told());
    }
}

#[test]
fn where_nobody_is_nothing_is_opened_and_the_model_is_told() {
    if !can_hold() {
        return;
    }
    let site = Site::new("");
    assert_eq!(site.runs(WRITES, NEEDS, &["--unattended", "auto"]).code, 0);
    assert!(!site.has("open/new"));
    let told = site.told();
    assert!(told.contains("asks for openings in the sandbox that no rule"), "{told}");
}

#[test]
fn what_was_stopped_is_named_with_what_to_ask_for() {
    if !can_hold() {
        return;
    }
    let site = Site::new("[sandbox]\ndeny_read = [\"OUT/other\"]\n");
    fs::write(site.outside.path().join("other/key"), "canary\n").unwrap();
    let told = |command: &str| {
        assert_eq!(site.runs(command, "{}", &AUTO).code, 0);
        site.told()
    };
    let written = told(WRITES);
    let needs = site.named(r#"call again with needs {"write":["OUT/open"]}"#);
    assert!(written.contains(&needs), "{written}");
    let read = told("cat OUT/other/key");
    let needs = site.named(r#"call again with needs {"read":["OUT/other/key"]}"#);
    assert!(read.contains(&needs), "{read}");
    let fetched =
        told("python3 -c 'import urllib.request as u; u.urlopen(\"http://a.example:81/\")'");
    let needs = r#"call again with needs {"network":["a.example:81"]}"#;
    assert!(fetched.contains(needs), "{fetched}");
    // The exit code is that of the last command, and most lines of agents end so.
    let piped = told("touch OUT/open/new 2>&1 | tail -1; echo finished");
    let needs = site.named(r#"call again with needs {"write":["OUT/open"]}"#);
    assert!(piped.contains(&needs), "{piped}");
    let silent = told("echo touch: OUT/open/new: Permission denied");
    assert!(!silent.contains("needs"), "{silent}");
}

#[test]
fn there_is_no_network_unless_it_is_opened() {
    if !can_hold() {
        return;
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let connects = |settings: &str, flags: &[&str]| {
        let site = Site::new(settings);
        let command = format!(
            "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}))'"
        );
        assert_eq!(site.runs(&command, "{}", &[&AUTO, flags].concat()).code, 0);
        site.end()["output"]["exit_code"] == 0
    };
    let rule = "[[permissions]]\ntool = \"shell\"\ncommand = \"python3 *\"\neffect = \"allow\"\n\
                network = [\"*\"]\n";
    assert!(connects("[sandbox]\nmode = \"off\"\n", &[]), "the control");
    assert!(connects("[sandbox]\nnetwork = true\n", &[]));
    assert!(connects(rule, &[]));
    assert!(!connects("", &[]));
    assert!(!connects("[sandbox]\nnetwork = true\n", &["--no-network"]));
    assert!(!connects(rule, &["--no-network"]));
}

/// Whether mounts tell sockets apart here.
fn can_open_singly() -> bool {
    let can = try_namespaces(Path::new(env!("CARGO_BIN_EXE_piton"))).unwrap();
    if let Err(why) = &can {
        eprintln!("skipped: no namespaces here ({why})");
    }
    can.is_ok()
}

/// Answers everybody who connects.
fn listen(place: &Path) {
    let listener = UnixListener::bind(place).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let mut asked = String::new();
            BufReader::new(&stream).read_line(&mut asked).ok();
            stream.write_all(b"HTTP/1.0 200 OK\r\n\r\nanswered").ok();
        }
    });
}

#[test]
fn a_socket_that_a_rule_opens_opens_no_other() {
    if !can_hold() || !can_open_singly() {
        return;
    }
    // With a network of its own, and with that of the machine.
    for network in ["", "network = [\"*\"]\n"] {
        let rule = |program: &str| {
            format!(
                "[[permissions]]\ntool = \"shell\"\ncommand = \"{program} *\"\neffect = \"allow\"\n\
                 sockets = [\"OUT/mine\"]\n{network}"
            )
        };
        let site = Site::new(&["curl", "python3"].map(rule).concat());
        for name in ["mine", "theirs"] {
            listen(&site.outside.path().join(name));
        }
        let connect = |name: &str, flags: &[&str]| {
            let command = format!("curl -s -m 5 --unix-socket OUT/{name} http://x/");
            assert_eq!(site.runs(&command, "{}", flags).code, 0);
            site.told().contains("answered")
        };
        assert!(connect("mine", &[]), "{}", site.told());
        assert!(!connect("theirs", &[]), "{network}");
        assert!(connect("theirs", &["--permissions", "auto", "--sandbox", "off"]), "a control");
        // Letters are as closed as what is connected.
        let _letters = UnixDatagram::bind(site.outside.path().join("box")).unwrap();
        let sends = |pair: &str| {
            let script = format!("import socket as s; a = {pair}; a.sendto(b'x', 'OUT/box')");
            let command = format!("python3 -c \"{script}\"");
            let ran = |flags: &[&str]| {
                assert_eq!(site.runs(&command, "{}", flags).code, 0);
                site.end()["output"]["exit_code"] == 0
            };
            (ran(&[]), ran(&["--permissions", "auto", "--sandbox", "off"]))
        };
        for pair in
            ["s.socketpair(s.AF_UNIX, s.SOCK_DGRAM)[0]", "s.socket(s.AF_UNIX, s.SOCK_DGRAM)"]
        {
            assert_eq!(sends(pair), (false, true), "{network} {pair}");
        }
        // One that came later is closed for the next command.
        listen(&site.outside.path().join("later"));
        assert!(!connect("later", &[]), "{network}");
        assert!(connect("mine", &[]), "{}", site.told());
    }
}
