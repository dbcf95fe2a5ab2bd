//! What may run without asking.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::symlink;

use crate::person::Person;
use crate::world::{World, lines, lines_of};

fn write(path: &str) -> String {
    format!(
        r#"{{"calls":[{{"tool":"write_file","arguments":{{"path":"{path}","content":"x"}}}}]}}"#
    )
}

// Must show 3: a link is no way round.
#[test]
fn edits_are_accepted_but_not_through_links_and_not_in_git() {
    let world = World::new();
    fs::create_dir_all(world.work(".git/hooks")).unwrap();
    symlink(".git", world.work("link")).unwrap();
    let steps = [write("plain"), write("link/info/exclude"), write(".git/hooks/pre-commit")];
    let model = world.script(&format!(r#"{{"steps":[{},{{"say":"x"}}]}}"#, steps.join(",")));
    let run = world.run(&["query", "go", "--model", &model, "--permissions", "accept-edits"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    let printed = world.run(&["print", "--json", "--raw"]).stdout;
    assert!(printed.contains("is another name of `.git/info/exclude`"), "{printed}");
    assert!(world.work("plain").exists());
    assert!(!world.work(".git/info/exclude").exists());
    assert!(!world.work(".git/hooks/pre-commit").exists());
}

// What a person is asked about is shown whole: a tail may make all the difference.
#[test]
fn a_question_shows_the_whole_command() {
    let world = World::new();
    let command = format!("echo {} \\n&& rm -rf b", "x".repeat(300));
    let call = format!(r#"{{"tool":"shell","arguments":{{"command":"{command}"}}}}"#);
    let model = world.script(&format!(r#"{{"steps":[{{"calls":[{call}]}},{{"say":"x"}}]}}"#));
    let run = world.run(&["query", "go", "--model", &model]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains(r"x \n&& rm -rf b?"), "{}", run.stderr);
}

const PAY: &str = r#"{"steps":[{"calls":[{"tool":"pay"},{"tool":"pay"}]},{"say":"Paid."}],
    "tools":[{"name":"pay","effect":"once","append_to":"pay.log","output":"paid"}]}"#;

/// Questions that are open, by what `piton answer` shows.
fn open(world: &World) -> usize {
    world.run(&["answer"]).stdout.matches("Run pay").count()
}

// J15, J32, J34, M8: nobody is there, and somebody answers later, one question at a time.
#[test]
fn a_question_of_a_headless_run_is_answered_from_elsewhere() {
    let world = World::new();
    let model = world.script(PAY);
    assert_eq!(world.run(&["query", "go", "--model", &model]).code, 3);
    assert_eq!(open(&world), 2);
    let no = world.run(&["answer", "perhaps"]);
    assert_eq!(no.code, 2);
    assert!(no.stderr.contains("answer with one of yes, no, always"), "{}", no.stderr);
    assert_eq!(world.run(&["answer", "no"]).code, 0);
    assert_eq!(open(&world), 1);
    let done = world.run(&["answer", "yes", "--continue"]);
    assert_eq!((done.code, done.stdout.as_str()), (0, "Paid.\n"), "{}", done.stderr);
    assert_eq!(lines_of(&world.work("pay.log")), 1);
    assert_eq!(world.run(&["answer", "yes"]).code, 2, "nothing is asked any more");
}

// Must show 3: nobody decides on what they cannot see.
#[test]
fn a_question_shows_all_that_it_is_about() {
    let world = World::new();
    let model = world.script(
        r#"{"steps":[{"calls":[{"tool":"write_file",
            "arguments":{"path":"././x","content":"one\ntwo\n"}}]},{"say":"Written."}]}"#,
    );
    let run = world.run(&["query", "go", "--model", &model]);
    assert_eq!(run.code, 3);
    assert!(run.stderr.contains("\"Run write_file: x?\""), "{}", run.stderr);
    let shown = world.run(&["answer"]).stdout;
    assert_eq!(
        shown,
        "Run write_file: x?\n  new file, 2 lines:\n  | @@ -0,0 +1,2 @@\n  | +one\n  | +two\n  \
         path: \"././x\"\n"
    );
    let json = lines(&world.run(&["answer", "--json"]).stdout);
    assert_eq!(json[0]["arguments"]["content"], "one\ntwo\n");
    assert_eq!(json[0]["question"], "Run write_file: x?");
    assert_eq!(json[0]["found"]["change"]["lines_new"], 2);
    let mut person = Person::starts(&world, &["query", "--continue"]);
    person.sees("Run write_file: x?").sees("+one").sees("+two").sees("(y) yes");
    person.types("y\n").sees("Written.");
    assert_eq!(person.leaves().0, 0);
}

// M8, J32: kill -9 while the question is on the screen.
#[test]
fn a_question_survives_a_kill_and_its_effect_happens_once() {
    let world = World::new();
    let model = world.script(PAY);
    let mut person = Person::starts(&world, &["query", "go", "--model", &model]);
    person.sees("always would mean: allow pay").sees("(n) no, (?) help: ");
    drop(person);
    assert!(!world.work("pay.log").exists());
    let done = world.run(&["answer", "always"]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert!(
        done.stderr.contains("From now on: allow pay, in this conversation"),
        "{}",
        done.stderr
    );
    let done = world.run(&["query", "--continue"]);
    assert_eq!((done.code, done.stdout.as_str()), (0, "Paid.\n"), "{}", done.stderr);
    assert_eq!(lines_of(&world.work("pay.log")), 2);
}

// Must show 3, M8: nobody is there, `kill -9` at the very moment the question is durable, answered
// from a second process, and the turn completes with one effect.
#[test]
fn a_question_of_a_headless_run_survives_a_kill_as_it_is_raised() {
    let world = World::new();
    let model = world.script(
        r#"{"steps":[{"calls":[{"tool":"pay"},{"tool":"look"}]},{"say":"Paid."}],
        "tools":[{"name":"pay","effect":"once","append_to":"pay.log","output":"paid"},
            {"name":"look","effect":"read_only","wait_for":"go","output":"seen"}]}"#,
    );
    let mut child = world.spawn(&["query", "go", "--json", "--model", &model]);
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let raised = lines.into_iter().any(|line| line.contains("\"open\":true"));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(raised, "it was asked");
    fs::write(world.work("go"), "").unwrap();
    assert_eq!(open(&world), 1);
    assert_eq!(world.run(&["answer", "yes"]).code, 0);
    assert!(!world.work("pay.log").exists(), "an answer runs nothing by itself");
    let done = world.run(&["query", "--continue"]);
    assert_eq!((done.code, done.stdout.as_str()), (0, "Paid.\n"), "{}", done.stderr);
    assert_eq!(lines_of(&world.work("pay.log")), 1);
}

// J66: what nobody answers is allowed, refused or left, as the flag or the settings say.
#[test]
fn a_policy_decides_where_nobody_is() {
    for (policy, code, paid) in
        [("auto", 0, 2), ("deny", 0, 0), ("defer", 3, 0), ("defaults", 3, 0)]
    {
        for in_settings in [false, true] {
            let world = World::new();
            let model = world.script(PAY);
            let mut args = vec!["query", "go", "--model", &model];
            if in_settings {
                fs::create_dir_all(world.path("home")).unwrap();
                let text = format!("[unattended]\npermissions = \"{policy}\"\n");
                fs::write(world.path("home/piton.toml"), text).unwrap();
            } else {
                args.extend(["--unattended", policy]);
            }
            let run = world.run(&args);
            assert_eq!(run.code, code, "{policy}: {}", run.stderr);
            assert_eq!(lines_of(&world.work("pay.log")), paid, "{policy}");
        }
    }
}

// D43, D44: rules of the settings, of the workspace and of the conversation, and how they go.
#[test]
fn rules_are_listed_with_their_scope_and_taken_back() {
    let world = World::new();
    let model = world.script(PAY);
    fs::create_dir_all(world.path("home")).unwrap();
    let here = fs::canonicalize(world.work(".")).unwrap();
    let elsewhere =
        "[[permissions]]\ntool = \"pay\"\neffect = \"deny\"\nworkspace = \"/elsewhere\"\n";
    let text = format!(
        "[[permissions]]\ntool = \"shell\"\ncommand = \"rm *\"\neffect = \"deny\"\n{elsewhere}\
         [[permissions]]\ntool = \"grep\"\npath = \"src/**\"\neffect = \"ask\"\nworkspace = {here:?}\n"
    );
    fs::write(world.path("home/piton.toml"), text).unwrap();
    assert_eq!(world.run(&["query", "go", "--model", &model]).code, 3);
    assert_eq!(world.run(&["answer", "always"]).code, 0);
    let listed = world.run(&["permissions"]).stdout;
    let rows: Vec<&str> = listed.lines().collect();
    assert_eq!(rows.len(), 3, "{listed}");
    assert!(rows[0].starts_with("1  allow pay  conversation  "), "{listed}");
    assert!(rows[1].starts_with("2  deny shell `rm *`  user  "), "{listed}");
    assert!(rows[2].starts_with("3  ask grep on src/**  project  "), "{listed}");
    assert_eq!(world.run(&["permissions", "revoke", "9"]).code, 2);
    let back = world.run(&["permissions", "revoke", "2"]);
    assert_eq!(back.code, 0, "{}", back.stderr);
    assert!(back.stderr.contains("Taken back: deny shell `rm *`, user, from"), "{}", back.stderr);
    assert_eq!(world.run(&["permissions", "revoke", "1"]).code, 0);
    let json = world.run(&["permissions", "--json"]).stdout;
    assert!(!json.contains("\"pay\"") && json.contains("\"scope\":\"project\""), "{json}");
    assert_eq!(world.run(&["permissions", "revoke", "1"]).code, 0);
    assert_eq!(world.run(&["permissions"]).stdout, "");
    let left = fs::read_to_string(world.path("home/piton.toml")).unwrap();
    assert_eq!(left, elsewhere, "rules of other projects are not touched");
    assert_eq!(world.run(&["query", "--continue"]).code, 3, "the other call asks again");
    assert_eq!(lines_of(&world.work("pay.log")), 1);
}

#[test]
fn rules_that_say_nothing_new_or_are_not_used_are_marked() {
    let world = World::new();
    fs::create_dir_all(world.path("home")).unwrap();
    let rule = |effect: &str, command: &str| {
        format!(
            "[[permissions]]\ntool = \"shell\"\ncommand = \"{command}\"\neffect = \"{effect}\"\n"
        )
    };
    let rules = [
        rule("allow", "touch *"),
        rule("allow", "touch x *"),
        rule("deny", "make *"),
        rule("allow", "make all"),
    ];
    fs::write(world.path("home/piton.toml"), rules.concat()).unwrap();
    let call = r#"{"calls":[{"tool":"shell","arguments":{"command":"touch a"}}]}"#;
    let model = world.script(&format!(r#"{{"steps":[{call},{{"say":"x"}}]}}"#));
    let run = world.run(&["query", "go", "--model", &model, "--permissions", "ask"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let listed = world.run(&["permissions"]).stdout;
    let unused = "(not used in the newest conversation here)";
    let ends = [
        "(in the sandbox)".to_owned(),
        format!("(in the sandbox)  (says nothing new: rule 1 says it)  {unused}"),
        unused.to_owned(),
        format!("(says nothing: rule 3 beats it)  {unused}"),
    ];
    for (row, end) in listed.lines().zip(ends) {
        let remarks = row.split_once("piton.toml  ").unwrap().1;
        assert_eq!(remarks, end, "{listed}");
    }
    let json = lines(&world.run(&["permissions", "--json"]).stdout);
    assert_eq!(json[3]["remarks"][0], serde_json::json!({ "is": "overruled", "by": 2 }));
}

// Must show 3
#[test]
fn a_rule_that_makes_no_sense_is_refused_with_a_sentence() {
    let world = World::new();
    fs::create_dir_all(world.path("home")).unwrap();
    let text = "[[permissions]]\ntool = \"shell\"\ncommand = \"a && b\"\neffect = \"allow\"\n";
    fs::write(world.path("home/piton.toml"), text).unwrap();
    let refused = world.run(&["query", "go"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("written in plain words"), "{}", refused.stderr);
}

// D47: a bad pattern is named with its file and line; a good one counts and is listed.
#[test]
fn a_rule_matches_arguments_by_regular_expression() {
    let world = World::new();
    fs::create_dir_all(world.path("home")).unwrap();
    let rule = |pattern: &str| {
        format!(
            "# mine\n\n[[permissions]]\ntool = \"shell\"\neffect = \"allow\"\n\
             arguments = {{ command = '{pattern}' }}\n"
        )
    };
    fs::write(world.path("home/piton.toml"), rule("touch (")).unwrap();
    let refused = world.run(&["query", "go"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    for part in ["piton.toml", "line 6", "this pattern cannot be used"] {
        assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
    }
    fs::write(world.path("home/piton.toml"), rule("touch [a-z]+")).unwrap();
    let call = |line: &str| {
        format!(r#"{{"calls":[{{"tool":"shell","arguments":{{"command":"{line}"}}}}]}}"#)
    };
    let steps = [call("touch one && touch two"), call("touch one && touch 2")];
    let model = world.script(&format!(r#"{{"steps":[{},{{"say":"x"}}]}}"#, steps.join(",")));
    let run = world.run(&["query", "go", "--model", &model]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("✓ shell: touch one && touch two"), "{}", run.stderr);
    assert!(run.stderr.contains("Run shell: touch one && touch 2?"), "{}", run.stderr);
    let listed = world.run(&["permissions"]).stdout;
    assert!(
        listed.starts_with("1  allow shell where command = /touch [a-z]+/  user  "),
        "{listed}"
    );
    assert_eq!(world.run(&["permissions", "revoke", "1"]).code, 0);
    assert_eq!(fs::read_to_string(world.path("home/piton.toml")).unwrap(), "# mine\n");
}

#[test]
fn a_mode_that_is_kept_is_said() {
    let world = World::new();
    let model = world.script(r#"{"steps":[{"say":"One."},{"say":"Two."},{"say":"Three."}]}"#);
    let said = |args: &[&str]| {
        let ran = world.run(args);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.stderr.contains("permissions auto, as in the turn before")
    };
    assert!(!said(&["query", "a", "--permissions", "auto", "--model", &model]));
    assert!(said(&["query", "b"]));
    assert!(!said(&["query", "c", "--permissions", "ask"]));
    assert!(!said(&["query", "d", "--new", "--model", "demo"]));
}
