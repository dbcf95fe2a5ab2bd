//! Tools of the settings: commands with arguments, results, questions and exactly one effect.

use std::fs;
use std::path::Path;

use crate::person::Person;
use crate::sandbox::can_hold;
use crate::world::{World, lines_of, wait_until};

/// Writes the settings, and a script that calls the tool once.
fn prepare(world: &World, settings: &str, arguments: &str) -> String {
    fs::create_dir_all(world.path("home")).unwrap();
    fs::write(world.path("home/piton.toml"), settings).unwrap();
    let call = format!(r#"{{"tool":"deploy","arguments":{arguments}}}"#);
    world.script(&format!(r#"{{"steps":[{{"calls":[{call}]}},{{"say":"Done."}}]}}"#))
}

/// The settings of a tool that runs a line.
fn tool(line: &str, more: &str) -> String {
    format!("[tools.deploy]\ndescription = \"Deploys.\"\ncommand = '''{line}'''\n{more}\n")
}

fn query(model: &str) -> [&str; 6] {
    ["query", "go", "--permissions", "auto", "--model", model]
}

/// What the tool gave, and its exit code.
fn result(world: &World) -> (String, Option<i64>) {
    let events = world.events();
    let ended = events.iter().find(|event| event["type"] == "ToolFinished").expect("an end");
    (ended["output"]["text"].as_str().unwrap().to_owned(), ended["output"]["exit_code"].as_i64())
}

/// Everything that is kept, as one text.
fn everything_in(directory: &Path) -> Vec<u8> {
    let mut all = Vec::new();
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            all.extend(everything_in(&entry.path()));
        } else {
            all.extend(fs::read(entry.path()).unwrap_or_default());
        }
    }
    all
}

fn has(all: &[u8], text: &str) -> bool {
    all.windows(text.len()).any(|here| here == text.as_bytes())
}

#[test]
fn a_command_reads_its_arguments_and_its_output_is_the_result() {
    let world = World::new();
    let settings = "[tools.deploy]\ndescription = \"Deploys.\"\n\
        command = [\"sh\", \"-c\", \"cat; echo key: $OPENAI_API_KEY; echo oops >&2; exit 3\"]\n\
        parameters.properties.to = { type = \"string\" }\nparameters.required = [\"to\"]\n";
    let model = prepare(&world, settings, r#"{"to":"it's"}"#);
    let run = world.command(&query(&model)).env("OPENAI_API_KEY", "sk-secret").output().unwrap();
    let run = world.ran(run);
    assert_eq!((run.code, run.stdout.as_str()), (0, "Done.\n"), "{}", run.stderr);
    let (text, code) = result(&world);
    assert_eq!(text, "{\"answers\":{},\"arguments\":{\"to\":\"it's\"}}\nkey:\noops\n[exit code 3]");
    assert_eq!(code, Some(3));
    let world = World::new();
    let model = prepare(&world, settings, "{}");
    assert_eq!(world.run(&query(&model)).code, 0);
    assert!(result(&world).0.contains("`to` is missing"));
}

// The words of `[sandbox]`, as for servers.
#[test]
fn what_is_open_to_a_tool_in_the_sandbox_is_said_with_it() {
    if !can_hold() {
        return;
    }
    for (sandbox, writes, sees) in [
        ("", false, false),
        ("sandbox = true", false, false),
        ("sandbox = false", true, true),
        ("sandbox = { write = [\"OUT\"] }", true, false),
        ("sandbox = { env = [\"SOME_TOKEN\"] }", false, true),
    ] {
        for passing in [&[][..], &["--no-persist"]] {
            let (world, outside) = (World::new(), tempfile::tempdir_in("/var/tmp").unwrap());
            let place = outside.path().to_str().unwrap();
            let line = format!("echo x > {place}/new; echo $SOME_TOKEN > seen");
            let model = prepare(&world, &tool(&line, &sandbox.replace("OUT", place)), "{}");
            let mut command = world.command(&[&query(&model)[..], passing].concat());
            let ran = world.ran(command.env("SOME_TOKEN", "canary").output().unwrap());
            assert_eq!(ran.code, 0, "{}", ran.stderr);
            assert_eq!(outside.path().join("new").exists(), writes, "{sandbox} {passing:?}");
            let seen = fs::read_to_string(world.work("seen")).unwrap();
            assert_eq!(seen.trim() == "canary", sees, "{sandbox} {passing:?}");
        }
    }
}

// What a repository brings is not run: CVE-2025-59536 and its like.
#[test]
fn a_repository_brings_no_tools() {
    let world = World::new();
    let model = prepare(&world, "", "{}");
    for place in ["piton.toml", ".piton/piton.toml", ".piton.toml", ".config/piton/piton.toml"] {
        let path = world.work(place);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, tool("touch ran", "")).unwrap();
    }
    assert_eq!(world.run(&query(&model)).code, 0);
    assert!(result(&world).0.contains("There is no tool deploy"));
    assert!(!world.work("ran").exists());
}

#[test]
fn settings_that_make_no_sense_are_refused_before_anything_is_done() {
    let world = World::new();
    let model = prepare(&world, &tool("x", "parameters.required = [\"to\"]"), "{}");
    let run = world.run(&query(&model));
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("tools.deploy: parameters.required names \"to\""),
        "{}",
        run.stderr
    );
}

const ASKING: &str = r#"input=$(cat)
case "$input" in
    *'"sure":"yes"'*) echo "$input" >> deployed; echo deployed ;;
    *'"sure":'*) echo "as you like" ;;
    *) echo asked >> asked; echo '{"questions":[{"id":"sure","text":"Deploy?","kind":"confirm"}]}'; exit 75 ;;
esac"#;

// J15, J33, X7: asked before it acted, run again with the answer, whatever its class.
#[test]
fn a_command_asks_and_runs_again_with_the_answer() {
    for effect in ["supervised", "once", "idempotent", "read_only"] {
        let world = World::new();
        let model = prepare(&world, &tool(ASKING, &format!("effect = \"{effect}\"")), "{}");
        let run = world.run(&query(&model));
        assert_eq!(run.code, 3, "{effect}: {}", run.stderr);
        assert!(run.stderr.contains("deploy — \"Deploy?\""), "{}", run.stderr);
        assert_eq!(world.run(&["query", "--continue"]).code, 3, "nobody has answered");
        assert_eq!(lines_of(&world.work("asked")), 1, "and nothing ran meanwhile");
        let done = world.run(&["answer", "yes", "--continue"]);
        assert_eq!((done.code, done.stdout.as_str()), (0, "Done.\n"), "{}", done.stderr);
        assert_eq!(lines_of(&world.work("deployed")), 1);
        assert_eq!(result(&world).0, "deployed\n");
    }
}

#[test]
fn a_command_that_is_not_answered_is_told() {
    let world = World::new();
    let model = prepare(&world, &tool(ASKING, ""), "{}");
    assert_eq!(world.run(&query(&model)).code, 3);
    assert_eq!(world.run(&["answer", "--decline", "--continue"]).code, 0);
    assert_eq!(result(&world).0, "as you like\n");
}

#[test]
fn a_command_that_only_says_that_it_asks_has_ended() {
    let world = World::new();
    let model = prepare(&world, &tool("echo hm; exit 75", ""), "{}");
    assert_eq!(world.run(&query(&model)).code, 0);
    let (text, code) = result(&world);
    assert!(text.contains("says that the last line has questions"), "{text}");
    assert_eq!(code, Some(75));
}

const SECRET: &str = r#"input=$(cat)
case "$input" in
    *'"key":"hun'*'2"'*) echo "a good key"; echo ok > used ;;
    *) echo '{"questions":[{"id":"key","text":"Which key?","secret":true}]}'; exit 75 ;;
esac"#;

// J65: typed on a terminal, not shown, not written anywhere.
#[test]
fn a_secret_is_typed_and_leaves_no_trace() {
    let world = World::new();
    let model = prepare(&world, &tool(SECRET, ""), "{}");
    let mut person = Person::starts(&world, &query(&model));
    person.sees("Which key? (not shown; empty line: no answer) ").types("hunter2\n").sees("Done.");
    let (code, screen) = person.leaves();
    assert_eq!(code, 0, "{screen}");
    assert!(!screen.contains("hunter2"), "{screen}");
    assert_eq!(lines_of(&world.work("used")), 1);
    assert_eq!(result(&world).0, "a good key\n");
    assert!(world.run(&["print", "--json", "--raw"]).stdout.contains(r#""answer":"redacted""#));
    assert!(!has(&everything_in(&world.path("home")), "hunter2"));
}

// J65: without a terminal the tool is told that there is none.
#[test]
fn a_secret_fails_without_a_terminal() {
    let world = World::new();
    let line = r#"case "$(cat)" in *'"key":null'*) echo none ;; *)
        echo '{"questions":[{"id":"key","text":"Which key?","secret":true}]}'; exit 75 ;; esac"#;
    let model = prepare(&world, &tool(line, ""), "{}");
    let run = world.run(&query(&model));
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(result(&world).0, "none\n");
}

// M9, J65: a secret that was asked for when the process died is typed later, and not in a command line.
#[test]
fn a_secret_that_was_asked_for_is_asked_for_again() {
    let world = World::new();
    let model = prepare(&world, &tool(SECRET, ""), "{}");
    let mut person = Person::starts(&world, &query(&model));
    person.sees("Which key?");
    drop(person);
    let refused = world.run(&["answer", "hunter2"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("on a terminal only"), "{}", refused.stderr);
    let mut person = Person::starts(&world, &["query", "--continue"]);
    person.sees("empty line: no answer) ").types("hunter2\n").sees("Done.");
    assert_eq!(person.leaves().0, 0);
    assert!(!has(&everything_in(&world.path("home")), "hunter2"));
}

/// Asks for a secret, begins, waits for a sign, and prints all that it was told.
const TELLTALE: &str = r#"input=$(cat)
case "$input" in
    *'"key":"hun'*) echo begun >> begun; while [ ! -e go ]; do sleep 0.01; done
        echo "logged in with $input"; exit 4 ;;
    *) echo '{"questions":[{"id":"key","text":"Which key?","secret":true}]}'; exit 75 ;;
esac"#;

/// A world in which a command was told a secret and its agent has died, before it printed that.
fn told_a_secret() -> World {
    let world = World::new();
    let model = prepare(&world, &tool(TELLTALE, ""), "{}");
    let mut person = Person::starts(&world, &query(&model));
    person.sees("Which key?").types("hunter2\n");
    wait_until(|| world.work("begun").exists());
    // The process dies with `kill -9`.
    drop(person);
    fs::write(world.work("go"), "").unwrap();
    world
}

// J65, M6: who knew the secret is gone, so nobody can search the output for it.
#[test]
fn a_secret_that_is_printed_behind_a_dead_agent_is_not_kept() {
    let world = told_a_secret();
    let done = world.run(&["query", "--continue"]);
    assert_eq!((done.code, done.stdout.as_str()), (0, "Done.\n"), "{}", done.stderr);
    let (text, code) = result(&world);
    assert!(text.contains("not kept: it may quote a secret"), "{text}");
    assert_eq!(code, Some(4));
    assert_eq!(lines_of(&world.work("begun")), 1, "it was not run again");
    // What settled the call is removed beside its end.
    wait_until(|| !has(&everything_in(&world.path("home")), "hunter2"));
}

// J65: nobody needs to know any more what became of the command, so nothing of it stays.
#[test]
fn a_secret_that_is_printed_behind_a_dead_agent_goes_with_its_turn() {
    let world = told_a_secret();
    let is_there = || has(&everything_in(&world.path("home")), "hunter2");
    wait_until(is_there);
    let shown = world.run(&["logs", "1.1.0"]);
    assert_eq!((shown.code, shown.stdout.as_str()), (0, ""), "{}", shown.stderr);
    assert!(shown.stderr.contains("it may quote a secret"), "{}", shown.stderr);
    let done = world.run(&["query", "--discard-turn"]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert!(!is_there(), "it is gone before the process is");
    assert!(!world.path("home/calls").join(world.only_id()).exists());
}

/// Asks for a secret, leaves something running, and prints all that it was told.
const LEAVING: &str = r#"input=$(cat)
case "$input" in
    *'"key":"hun'*) touch stay; (while [ -e stay ]; do sleep 0.01; done) &
        echo "logged in with $input"; exit 4 ;;
    *) echo '{"questions":[{"id":"key","text":"Which key?","secret":true}]}'; exit 75 ;;
esac"#;

// J65: the output stays as long as something writes to it; who does not know the secret does not read it.
#[test]
fn a_secret_in_what_goes_on_is_told_to_nobody() {
    let world = World::new();
    let model = prepare(&world, &tool(LEAVING, ""), "{}");
    let wait = r#"{"calls":[{"tool":"shell_wait","arguments":{"call":"1.1.0"}}]}"#;
    world.script(&format!(
        r#"{{"steps":[{{"calls":[{{"tool":"deploy"}}]}},{wait},{{"say":"Done."}},{wait},{{"say":"Done."}}]}}"#
    ));
    let mut person = Person::starts(&world, &query(&model));
    person.sees("Which key?").types("hunter2\n").sees("Done.");
    assert_eq!(person.leaves().0, 0);
    // Whoever knows the secret covers it.
    let text = "logged in with {\"answers\":{\"key\":\"[redacted]\"},\"arguments\":{}}\n\
        [something that it started is still running]\n[exit code 4]";
    assert_eq!(world.finished("1.1.0")["output"]["text"], text);
    assert_eq!(world.finished("1.2.0")["output"]["text"], text);
    // Another process does not know it.
    let done = world.run(&["query", "and now?"]);
    assert_eq!((done.code, done.stdout.as_str()), (0, "Done.\n"), "{}", done.stderr);
    let events = world.events();
    let ended = events.iter().rfind(|event| event["type"] == "ToolFinished").unwrap();
    let withheld = "[its output is not kept: it may quote a secret that was given to it]";
    let notes = "[something that it started is still running]\n[exit code 4]";
    assert_eq!(ended["output"]["text"], format!("{withheld}\n{notes}"));
    assert_eq!(ended["output"]["exit_code"], 4);
    let shown = world.run(&["logs", "1.1.0"]);
    assert_eq!((shown.code, shown.stdout.as_str()), (0, ""), "{}", shown.stderr);
    assert!(shown.stderr.contains(withheld), "{}", shown.stderr);
    fs::remove_file(world.work("stay")).unwrap();
}

/// Begins, waits for a sign, and counts once.
const SLOW: &str = r#"echo begun >> begun
while [ ! -e go ]; do sleep 0.01; done
echo deployed >> deployed
echo deployed"#;

// M6, X7: the command outlives its agent, and takes effect exactly once.
#[test]
fn a_command_outlives_a_kill_and_its_result_is_collected() {
    // One that may run twice does not run twice at the same time.
    for effect in ["supervised", "idempotent", "read_only"] {
        let world = World::new();
        let model = prepare(&world, &tool(SLOW, &format!("effect = \"{effect}\"")), "{}");
        let mut child = world.spawn(&query(&model));
        wait_until(|| world.work("begun").exists());
        child.kill().unwrap();
        child.wait().unwrap();
        fs::write(world.work("go"), "").unwrap();
        let done = world.run(&["query", "--continue"]);
        assert_eq!((done.code, done.stdout.as_str()), (0, "Done.\n"), "{}", done.stderr);
        assert_eq!(lines_of(&world.work("begun")), 1, "{effect}");
        assert_eq!(lines_of(&world.work("deployed")), 1, "{effect}");
        assert_eq!(result(&world).0, "deployed\n");
    }
}

// M9: killed while the command runs that is going to ask. Whoever comes finds the question.
#[test]
fn a_question_of_a_command_whose_agent_died_is_found() {
    let world = World::new();
    let line = format!("echo begun >> begun\nwhile [ ! -e go ]; do sleep 0.01; done\n{ASKING}");
    let model = prepare(&world, &tool(&line, ""), "{}");
    let mut child = world.spawn(&query(&model));
    wait_until(|| world.work("begun").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    fs::write(world.work("go"), "").unwrap();
    assert_eq!(world.run(&["query", "--continue"]).code, 3);
    assert_eq!(lines_of(&world.work("asked")), 1, "it was not run again to ask");
    let done = world.run(&["answer", "yes", "--continue"]);
    assert_eq!((done.code, done.stdout.as_str()), (0, "Done.\n"), "{}", done.stderr);
    assert_eq!(lines_of(&world.work("deployed")), 1);
}

// Without a record nobody comes back to, and it works all the same.
#[test]
fn a_command_of_a_turn_that_is_not_kept_reads_its_input_too() {
    let world = World::new();
    let model = prepare(&world, &tool("cat > got", ""), r#"{"n":1}"#);
    let mut args = query(&model).to_vec();
    args.push("--no-persist");
    assert_eq!(world.run(&args).code, 0);
    let got = fs::read_to_string(world.work("got")).unwrap();
    assert_eq!(got, "{\"answers\":{},\"arguments\":{\"n\":1}}\n");
}
