//! `piton sim serve`: another process plays the provider.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpListener;
use std::process::{Child, Command};

use serde_json::Value;

use crate::world::{World, lines, wait_until};

const SCRIPT: &str = r#"{ "steps": [
    { "say": "Looking.", "calls": [{ "tool": "read_file", "arguments": { "path": "a.txt" } }] },
    { "say": "It says hi." }
] }"#;

/// A serving process, and the variables that it printed.
struct Serving {
    child: Child,
    stdout: BufReader<std::process::ChildStdout>,
    variables: Vec<(String, String)>,
}

impl Serving {
    fn start(world: &World, args: &[&str]) -> Self {
        let mut child = world.spawn(&[&["sim", "serve"], args].concat());
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut serving = Self { child, stdout, variables: Vec::new() };
        while serving.variables.last().is_none_or(|(name, _)| name != "OPENROUTER_API_KEY") {
            let mut line = String::new();
            serving.stdout.read_line(&mut line).unwrap();
            let variable = line.trim_end().strip_prefix("export ").unwrap();
            let (name, value) = variable.split_once('=').unwrap();
            serving.variables.push((name.to_owned(), value.to_owned()));
        }
        serving
    }

    /// A command whose requests come here.
    fn client(&self, world: &World, args: &[&str]) -> Command {
        let mut command = world.command(args);
        command.envs(self.variables.iter().cloned()).env("NO_PROXY", "127.0.0.1");
        command
    }

    /// Ends it as Ctrl-C does; its exit code, and what it said.
    fn interrupt(mut self) -> (Option<i32>, String, String) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        let code = self.child.wait().unwrap().code();
        let (mut stdout, mut stderr) = (String::new(), String::new());
        self.stdout.read_to_string(&mut stdout).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        (code, stdout, stderr)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // A test that failed before it came to the end must not leave it behind.
        self.child.kill().unwrap_or_default();
        self.child.wait().map(drop).unwrap_or_default();
    }
}

#[test]
fn what_it_prints_leads_a_client_to_it() {
    let world = World::new();
    std::fs::write(world.work("a.txt"), "hi\n").unwrap();
    std::fs::write(world.path("script.json"), SCRIPT).unwrap();
    let script = world.path("script.json");
    let fault = ["--script", script.to_str().unwrap(), "--fault", "2:529,wait=1"];
    let serving = Serving::start(&world, &fault);
    let args = ["query", "go", "--model", "anthropic/claude-sonnet-4-5"];
    let output = serving.client(&world, &args).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "Looking.\nIt says hi.\n", "{stderr}");
    let (code, _, stderr) = serving.interrupt();
    assert_eq!(code, Some(0), "{stderr}");
    let said: Vec<&str> = stderr.lines().skip(1).collect();
    assert_eq!(
        said,
        [
            "anthropic POST /v1/messages, step 1: 200",
            "anthropic POST /v1/messages, step 2: 529 (fault: 529)",
            "anthropic POST /v1/messages, step 2: 200",
        ]
    );
}

#[test]
fn bodies_of_requests_are_kept_where_that_is_asked_for() {
    let world = World::new();
    let (bodies, place) = (world.path("bodies/here"), world.path("taken"));
    let serving = Serving::start(&world, &["--bodies", bodies.to_str().unwrap()]);
    for said in ["hello there", "good bye"] {
        let args = ["query", said, "--model", "openai/gpt-5"];
        assert!(serving.client(&world, &args).status().unwrap().success());
    }
    wait_until(|| bodies.join("2.json").exists());
    assert_eq!(serving.interrupt().0, Some(0));
    let body = |name: &str| std::fs::read_to_string(bodies.join(name)).unwrap();
    assert!(body("1.json").contains("hello there") && !body("1.json").contains("good bye"));
    assert!(body("2.json").contains("good bye"));
    assert_eq!(std::fs::read_dir(&bodies).unwrap().count(), 2);
    std::fs::write(&place, "").unwrap();
    let ran = world.run(&["sim", "serve", "--bodies", place.to_str().unwrap()]);
    assert!(ran.code != 0 && ran.stderr.contains("cannot write"), "{}", ran.stderr);
}

#[test]
fn without_a_script_the_demo_model_answers() {
    let world = World::new();
    std::fs::write(world.work("a.txt"), "hi\n").unwrap();
    let serving = Serving::start(&world, &[]);
    let args = ["query", "read a.txt", "--model", "gemini/gemini-3-pro"];
    let output = serving.client(&world, &args).output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(stdout.contains("Done. This is what the tools gave:"), "{stdout}");
    assert_eq!(serving.interrupt().0, Some(0));
}

#[test]
fn data_for_programs_is_one_object_per_line() {
    let world = World::new();
    let mut child = world.spawn(&["sim", "serve", "--json"]);
    let stdout = BufReader::new(child.stdout.take().unwrap());
    let mut serving = Serving { child, stdout, variables: Vec::new() };
    let mut first = String::new();
    serving.stdout.read_line(&mut first).unwrap();
    let first: Value = serde_json::from_str(&first).unwrap();
    let url = first["url"].as_str().unwrap().to_owned();
    assert_eq!((&first["type"], &first["v"]), (&Value::from("serving"), &Value::from(2)));
    assert_eq!(first["variables"]["OPENAI_BASE_URL"], format!("{url}/v1"));
    let mut client = world.command(&["query", "hello", "--model", "openai/gpt-5"]);
    client.env("OPENAI_BASE_URL", format!("{url}/v1")).env("OPENAI_API_KEY", "k3y");
    assert!(client.env("NO_PROXY", "127.0.0.1").status().unwrap().success());
    let mut request = String::new();
    serving.stdout.read_line(&mut request).unwrap();
    let seen = &lines(&request)[0];
    assert_eq!(seen["type"], "request");
    assert_eq!((&seen["dialect"], &seen["status"]), (&"openai-responses".into(), &200.into()));
    assert_eq!((&seen["step"], &seen["path"]), (&1.into(), &"/v1/responses".into()));
    let (code, rest, stderr) = serving.interrupt();
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(lines(&rest).last().unwrap()["exit_code"], 0);
    assert!(!format!("{first}{request}{rest}{stderr}").contains("k3y"));
}

#[test]
fn what_cannot_be_served_is_told() {
    let world = World::new();
    std::fs::write(world.path("bad.json"), r#"{ "steps": [{ "sing": "la" }] }"#).unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let bad = world.path("bad.json");
    for (args, said) in [
        (["--script", "gone.json"], "error: cannot read the script gone.json"),
        (["--script", bad.to_str().unwrap()], "unknown field `sing`"),
        (["--fault", "cute"], "no fault is called \"cute\""),
        (["--fault", "0:cut"], "steps are numbered from 1"),
        (["--fault", "cut,when=2"], "none of after=EVENTS"),
        (["--port", "70000"], "70000 is not in 0..=65535"),
        (["--port", &port], "error: cannot listen on port"),
    ] {
        let ran = world.run(&[&["sim", "serve"], &args[..]].concat());
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{args:?}: {}", ran.stderr);
        assert_eq!(ran.stdout, "", "{args:?}");
    }
}
