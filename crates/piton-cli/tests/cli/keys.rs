//! Keys of providers are nowhere but in the memory of the agent, and in what it sends: not in its environment, not
//! in its arguments, not in those of what it starts.

use std::fs;
use std::process::Command;

use piton_sim::script::Script;
use piton_sim::serve::{Options, Server};
use serde_json::json;

use crate::world::{World, wait_until};

/// A call that tells its variables, and waits.
const CALL: &str = "env > seen; echo > here; read x < gate";

/// A provider that wants this key, and whose model calls for [`CALL`].
fn serve(key: &str) -> Server {
    let steps = json!([
        { "calls": [{ "tool": "shell", "arguments": { "command": CALL } }] },
        { "say": "Done." }
    ]);
    let script = Script::parse(&json!({ "steps": steps }).to_string()).unwrap();
    Server::with(script, Options { key: Some(key.into()), ..Options::default() }).unwrap()
}

/// What a process was started with: its variables, and its words.
fn told(process: u32, what: &str) -> String {
    let bytes = fs::read(format!("/proc/{process}/{what}")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A process, and all that it started.
fn tree(process: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let started = threads.map(|thread| fs::read_to_string(thread.path().join("children")));
    let started: String = started.map(Result::unwrap_or_default).collect();
    let below = started.split_whitespace().flat_map(|child| tree(child.parse().unwrap()));
    std::iter::once(process).chain(below).collect()
}

/// Those of them that have a text in their environment or in their words.
fn with(text: &str, processes: &[u32]) -> Vec<u32> {
    let has = |it: &u32| ["environ", "cmdline"].iter().any(|what| told(*it, what).contains(text));
    processes.iter().copied().filter(has).collect()
}

/// Runs a turn of a model behind a shell that has the key in these variables, and looks at it while its command
/// runs.
fn check(settings: &str, variable: &str, model: &str, sandbox: &str) {
    let world = World::new();
    let key = format!("canary{}", world.path("").display()).replace(['/', '.'], "-");
    let server = serve(&key);
    let address = server.variables().into_iter().find(|(name, _)| *name == "ANTHROPIC_BASE_URL");
    fs::create_dir(world.path("home")).unwrap();
    let settings = settings.replace("ADDRESS", &address.unwrap().1);
    fs::write(world.path("home/piton.toml"), settings).unwrap();
    assert!(Command::new("mkfifo").arg(world.work("gate")).status().unwrap().success());
    let args = format!("query go --permissions auto --sandbox {sandbox} --model {model}");
    let line = format!("\"$PITON\" {args} & echo $! > agent; wait $!; exit $?");
    let mut shell = world.shell(&line);
    shell.envs(server.variables()).env("NO_PROXY", "127.0.0.1").env(variable, &key);
    let shell = shell.spawn().unwrap();
    wait_until(|| world.work("here").exists());
    let agent: u32 = fs::read_to_string(world.work("agent")).unwrap().trim().parse().unwrap();
    assert!(told(shell.id(), "environ").contains(&key), "the control: it was there");
    let processes = tree(shell.id());
    // The agent, its two supervisors, and the command.
    assert!(processes.contains(&agent) && 5 <= processes.len(), "{processes:?}");
    assert_eq!(with(&key, &processes), [shell.id()]);
    // It is the same process as before, and looks so.
    let program = env!("CARGO_BIN_EXE_piton");
    assert_eq!(told(agent, "cmdline"), format!("{program} {args} ").replace(' ', "\0"));
    assert_eq!(told(agent, "comm"), "piton\n");
    if rustix::process::geteuid().is_root() {
        assert!(told(agent, "environ").contains("PITON_HOME="), "its environment is read");
    }
    assert!(!fs::read_to_string(world.work("seen")).unwrap().contains(&key));
    fs::write(world.work("gate"), "\n").unwrap();
    let ran = world.finish(shell);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Done.\n"), "{}", ran.stderr);
    let seen = server.seen();
    assert_eq!(seen.iter().map(|seen| seen.status).collect::<Vec<_>>(), [200, 200]);
}

#[test]
fn a_key_leaves_the_environment_and_reaches_the_provider_alone() {
    let model = "anthropic/claude-sonnet-4-5";
    check("", "ANTHROPIC_API_KEY", model, "auto");
    check("", "ANTHROPIC_API_KEY", model, "off");
    let work = "[providers.work]\ndialect = \"anthropic\"\nbase_url = \"ADDRESS\"\nkey_env = \"OUR_WORK\"\n";
    check(work, "OUR_WORK", "work/m", "off");
}

// A key command is the user's own, and may need another key to give this one.
#[test]
fn a_key_command_sees_the_keys_of_the_environment() {
    let work = "[providers.work]\ndialect = \"anthropic\"\nbase_url = \"ADDRESS\"\n\
                key_command = [\"sh\", \"-c\", \"echo $OPENAI_API_KEY\"]\n";
    check(work, "OPENAI_API_KEY", "work/m", "off");
}

// What is read, how it ends and what it says is that of a process without a key.
#[test]
fn standard_input_and_exit_codes_are_as_without_a_key() {
    for key in [None, Some("k3y")] {
        let world = World::new();
        let run = |line: &str| {
            let mut shell = world.shell(line);
            shell.envs(key.map(|key| ("OPENAI_API_KEY", key)));
            world.ran(shell.output().unwrap())
        };
        let model = world.script(r#"{"steps":[{"say":"Done."}]}"#);
        let ran = run(&format!("echo piped | \"$PITON\" query --model {model}"));
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "Done.\n"), "{}", ran.stderr);
        assert!(world.user_parts()[0]["text"].as_str().unwrap().contains("piped"));
        let ran = run(&format!("\"$PITON\" query --new closed --model {model} <&-"));
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "Done.\n"), "{}", ran.stderr);
        assert_eq!(run("\"$PITON\" query go --model none/m").code, 2);
    }
}
