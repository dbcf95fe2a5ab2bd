//! Standing decisions: what they reach, where they are kept, and how they go.

use std::fs;

use crate::person::Person;
use crate::world::{World, lines_of};

/// Each turn pays once.
const PAY: &str = r#"{"steps":[{"calls":[{"tool":"pay"}]},{"say":"Paid."},
    {"calls":[{"tool":"pay"}]},{"say":"Paid."}],
    "tools":[{"name":"pay","effect":"once","append_to":"pay.log","output":"paid"}]}"#;
const ASKED: &str =
    "(y) yes, (a) always, (v) never, (e) edit, (m) done by hand, (n) no, (?) help: ";

fn settings(world: &World) -> String {
    fs::read_to_string(world.path("home/piton.toml")).unwrap_or_default()
}

fn write_settings(world: &World, text: &str) {
    fs::create_dir_all(world.path("home")).unwrap();
    fs::write(world.path("home/piton.toml"), text).unwrap();
}

/// Begins a conversation in a directory of the world; gives the exit code.
fn pays(world: &World, model: &str, directory: &str) -> i32 {
    fs::create_dir_all(world.path(directory)).unwrap();
    let mut command = world.command(&["query", "go", "--new", "--model", model]);
    world.ran(command.current_dir(world.path(directory)).output().unwrap()).code
}

// D44: each scope from the command line; listed, effective in the next session, and taken back.
#[test]
fn a_standing_decision_reaches_as_far_as_was_said() {
    // (scope, asks in a new conversation here, asks elsewhere, listed as)
    for (scope, here, elsewhere) in [("conversation", 3, 3), ("project", 0, 3), ("user", 0, 0)] {
        let world = World::new();
        write_settings(&world, "# my settings\nmodel = \"demo\" # for now\n");
        let model = world.script(PAY);
        assert_eq!(pays(&world, &model, "work"), 3);
        let answered = world.run(&["answer", "always", "--scope", scope]);
        assert_eq!(answered.code, 0, "{}", answered.stderr);
        assert!(answered.stderr.contains("From now on: allow pay, "), "{}", answered.stderr);
        assert_eq!(lines_of(&world.work("pay.log")), 0, "an answer runs nothing");
        assert_eq!(world.run(&["query", "--continue"]).code, 0);
        assert_eq!(world.run(&["query", "again"]).code, 0, "the next call of this conversation");
        let listed = world.run(&["permissions"]).stdout;
        assert!(listed.starts_with(&format!("1  allow pay  {scope}  ")), "{listed}");
        assert_eq!(pays(&world, &model, "work"), here, "{scope}");
        assert_eq!(pays(&world, &model, "other"), elsewhere, "{scope}");
        assert!(settings(&world).starts_with("# my settings\nmodel = \"demo\" # for now\n"));
        assert_eq!(settings(&world).contains("pay"), scope != "conversation");
        if scope != "conversation" {
            assert_eq!(world.run(&["permissions", "revoke", "1"]).code, 0);
            assert!(!settings(&world).contains("pay"), "{}", settings(&world));
            assert_eq!(pays(&world, &model, "work"), 3, "{scope}");
        }
    }
}

// D44: what will be written is shown before it is decided.
#[test]
fn what_would_stand_is_shown_and_never_is_kept_too() {
    let world = World::new();
    let model = world.script(PAY);
    assert_eq!(pays(&world, &model, "work"), 3);
    let shown = world.run(&["answer"]).stderr;
    let file = world.path("home/piton.toml");
    let line =
        format!("never --scope user: will write deny pay, everywhere, in {}", file.display());
    assert!(shown.contains(&line), "{shown}");
    assert!(shown.contains("answers: yes, no, always, never, edit, applied\n"), "{shown}");
    assert!(!file.exists(), "showing writes nothing");
    let refused = world.run(&["answer", "yes", "--scope", "user"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert_eq!(world.run(&["answer", "never", "--scope", "user", "--continue"]).code, 0);
    assert_eq!(pays(&world, &model, "other"), 0);
    assert_eq!(lines_of(&world.path("other/pay.log")), 0);
    let again = world.run(&["permissions"]).stdout;
    assert!(again.starts_with("1  deny pay  user  "), "{again}");
}

// D44: on the terminal, in two steps, and effective for the next call at once.
#[test]
fn a_person_decides_for_a_project() {
    let world = World::new();
    let model = world.script(
        r#"{"steps":[{"calls":[{"tool":"pay"}]},{"calls":[{"tool":"pay"}]},{"say":"Paid."}],
        "tools":[{"name":"pay","effect":"once","append_to":"pay.log","output":"paid"}]}"#,
    );
    let mut person = Person::starts(&world, &["query", "go", "--model", &model]);
    person.sees("always would mean: allow pay").sees(ASKED).types("perhaps\n");
    person
        .sees("Not understood: type y, a, v, e, m, n or q.")
        .sees(ASKED)
        .types("a\n")
        .sees("allow pay");
    person.sees("(c) in this conversation").sees("(p) will write: in the project ");
    person.sees("(b) back: ").types("y\n").sees("Not understood: type c, p, u or b.");
    person.sees("(b) back: ").types("b\n").sees(ASKED).types("a\n").sees("(b) back: ");
    assert_eq!(settings(&world), "");
    person.types("p\n").sees("From now on: allow pay, in the project ").sees("Paid.");
    let (code, screen) = person.leaves();
    assert_eq!((code, screen.matches("(?) help: ").count()), (0, 3), "{screen}");
    assert_eq!(lines_of(&world.work("pay.log")), 2);
    assert!(settings(&world).contains("workspace = "), "{}", settings(&world));
}

// D44: what cannot be written is not decided.
#[test]
fn a_question_stays_open_if_its_rule_cannot_be_kept() {
    let world = World::new();
    let model = world.script(PAY);
    let mut person = Person::starts(&world, &["query", "go", "--model", &model]);
    person.sees(ASKED);
    write_settings(&world, "permissions = 3\n");
    person.types("a u\n").sees("error: cannot change the settings").sees(ASKED);
    person.types("y\n").sees("Paid.");
    assert_eq!(person.leaves().0, 0);
    assert_eq!(settings(&world), "permissions = 3\n");
}

// D43: a deny beats an allow, whatever they reach, and nothing in the workspace counts.
#[test]
fn a_deny_of_any_scope_beats_an_allow_of_any_other() {
    let rule = |effect: &str, workspace: &str| {
        format!("[[permissions]]\ntool = \"pay\"\neffect = \"{effect}\"\n{workspace}\n")
    };
    let world = World::new();
    let model = world.script(PAY);
    fs::create_dir_all(world.work(".")).unwrap();
    let here = fs::canonicalize(world.work(".")).unwrap();
    let here = format!("workspace = {here:?}");
    for (deny, allow) in [("", here.as_str()), (here.as_str(), "")] {
        write_settings(&world, &format!("{}{}", rule("allow", allow), rule("deny", deny)));
        assert_eq!(pays(&world, &model, "work"), 0);
        assert_eq!(lines_of(&world.work("pay.log")), 0, "{deny:?}");
    }
    write_settings(&world, "");
    for name in ["piton.toml", ".piton.toml", ".piton/piton.toml"] {
        fs::create_dir_all(world.work(".piton")).unwrap();
        fs::write(world.work(name), rule("allow", "")).unwrap();
    }
    assert_eq!(pays(&world, &model, "work"), 3, "a repository grants itself nothing");
}

// D49: from the command line and on a terminal.
#[test]
fn a_call_that_was_done_by_hand_is_not_run() {
    let world = World::new();
    let model = world.script(PAY);
    assert_eq!(pays(&world, &model, "work"), 3);
    let done = world.run(&["answer", "applied", "--continue"]);
    assert_eq!((done.code, done.stdout.as_str()), (0, "Paid.\n"), "{}", done.stderr);
    let mut person = Person::starts(&world, &["query", "again"]);
    person.sees(ASKED).types("m\n").sees("✓ pay — The user applied this change by hand");
    person.sees("Paid.");
    assert_eq!(person.leaves().0, 0);
    assert_eq!(lines_of(&world.work("pay.log")), 0);
}

const TWO: &str = r#"{"steps":[{"calls":[{"tool":"pay"},{"tool":"ship"}]},{"say":"Done."}],
    "tools":[{"name":"pay","effect":"once","append_to":"log","output":"paid"},
        {"name":"ship","effect":"once","append_to":"log","output":"shipped"}]}"#;

// D48: one answer for all calls of an answer, on a terminal, with a word or by the settings.
#[test]
fn one_answer_is_for_all_calls_that_ask() {
    for (batch, keys, done, rules) in [
        (false, "yes all\n", 2, 0),
        (false, "n all\n", 0, 0),
        (false, "a p all\n", 2, 2),
        (true, "y\n", 2, 0),
        (true, "a\nu\n", 2, 2),
    ] {
        let world = World::new();
        write_settings(&world, if batch { "[ask]\nbatch = true\n" } else { "" });
        let model = world.script(TWO);
        let mut person = Person::starts(&world, &["query", "go", "--model", &model]);
        person.sees(if batch { "one answer is for all 2 calls" } else { "2 calls ask" });
        let (mut shown, first) = (1, lines_of(&world.work("log")));
        person.sees(ASKED).types(keys);
        if !batch {
            // The second call was not on the screen yet, so this is not for it.
            person.sees("type it again").sees("also: ").sees("Run ship?").sees(ASKED);
            assert_eq!(lines_of(&world.work("log")), first, "{keys:?}");
            person.types(keys);
            shown = 2;
        }
        person.sees("Done.");
        let (code, screen) = person.leaves();
        assert_eq!((code, screen.matches("(?) help: ").count()), (0, shown), "{keys:?}: {screen}");
        assert_eq!(lines_of(&world.work("log")), done, "{keys:?}");
        assert_eq!(settings(&world).matches("[[permissions]]").count(), rules, "{keys:?}");
    }
}

// D48: whoever goes back from an answer for all has not given it.
#[test]
fn ctrl_c_takes_back_that_an_answer_is_for_all() {
    let world = World::new();
    let model = world.script(TWO);
    let mut person = Person::starts(&world, &["query", "go", "--model", &model]);
    person.sees(ASKED).types("a all\n").sees("type it again").sees(ASKED).types("a all\n");
    person.sees("(b) back: ").types("\x03").sees(ASKED).types("y\n");
    person.sees("Run ship?").sees(ASKED).types("n\n").sees("Done.");
    assert_eq!(person.leaves().0, 0);
    assert_eq!(lines_of(&world.work("log")), 1);
}

// D48: from the command line, also where a process is at work on it; "always" keeps each.
#[test]
fn all_that_is_asked_now_is_answered_at_once() {
    let world = World::new();
    let model = world.script(TWO);
    assert_eq!(pays(&world, &model, "work"), 3);
    let all = world.run(&["answer", "always", "--all", "--scope", "user", "--continue"]);
    assert_eq!((all.code, all.stdout.as_str()), (0, "Done.\n"), "{}", all.stderr);
    assert_eq!(settings(&world).matches("[[permissions]]").count(), 2);
    assert_eq!(lines_of(&world.work("log")), 2);
    let world = World::new();
    let model = world.script(TWO);
    let mut person = Person::starts(&world, &["query", "go", "--model", &model]);
    person.sees(ASKED);
    let all = world.run(&["answer", "no", "--all"]);
    assert_eq!(all.code, 0, "{}", all.stderr);
    person.sees("Done.");
    assert_eq!(person.leaves().0, 0);
    assert_eq!(lines_of(&world.work("log")), 0);
}

/// Two calls that a rule can allow, and one that none can.
const THREE: &str = r#"{"steps":[{"calls":[{"tool":"pay"},{"tool":"ship"},
        {"tool":"shell","arguments":{"command":"echo $(date)"}}]},{"say":"Done."}],
    "tools":[{"name":"pay","effect":"once","append_to":"log","output":"paid"},
        {"name":"ship","effect":"once","append_to":"log","output":"shipped"}]}"#;

// D44, D48: one that cannot be answered so fails all of them, before anything is written.
#[test]
fn all_are_answered_or_none() {
    let world = World::new();
    let model = world.script(THREE);
    assert_eq!(pays(&world, &model, "work"), 3);
    let before = world.events().len();
    let none = world.run(&["answer", "always", "--all", "--scope", "user"]);
    assert_eq!(none.code, 2, "{}", none.stderr);
    assert!(none.stderr.contains("that does not answer: Run shell: echo $(date)?"));
    assert!(none.stderr.contains("nothing is answered and no rule is written"), "{}", none.stderr);
    assert!(!none.stderr.contains("Answered"), "{}", none.stderr);
    assert_eq!((settings(&world).as_str(), world.events().len()), ("", before));
    // A file that cannot be changed decides nothing either.
    let world = World::new();
    let model = world.script(TWO);
    assert_eq!(pays(&world, &model, "work"), 3);
    write_settings(&world, "permissions = 3\n");
    let before = world.events().len();
    let none = world.run(&["answer", "always", "--all", "--scope", "project"]);
    assert_ne!(none.code, 0, "{}", none.stderr);
    assert_eq!((settings(&world).as_str(), world.events().len()), ("permissions = 3\n", before));
}

// D48: what is left is said once, behind the answers.
#[test]
fn what_is_left_to_answer_is_said_once() {
    let world = World::new();
    let model = world.script(
        r#"{"steps":[{"calls":[{"tool":"pay"},{"tool":"pay"},
            {"tool":"ask_user","arguments":{"question":"Why?"}}]},{"say":"Done."}],
        "tools":[{"name":"pay","effect":"once","append_to":"log","output":"paid"}]}"#,
    );
    assert_eq!(pays(&world, &model, "work"), 3);
    let all = world.run(&["answer", "no", "--all"]);
    assert_eq!(all.code, 0, "{}", all.stderr);
    let said: Vec<&str> = all.stderr.lines().collect();
    assert_eq!(said[..2], ["Answered no: Run pay?", "Answered no: Run pay?"]);
    assert!(said[2].starts_with("1 more to answer: piton answer --id "), "{said:?}");
    assert!(said[3].starts_with("hint: to go on: piton query --continue --id "), "{said:?}");
    assert_eq!(said.len(), 4, "{said:?}");
}

// D44: a conversation's own rule cannot be taken back behind the back of who works on it.
#[test]
fn a_rule_of_a_held_conversation_stays_and_it_is_said_what_to_do() {
    let world = World::new();
    let model = world.script(
        r#"{"steps":[{"calls":[{"tool":"pay"}]},{"calls":[{"tool":"ship"}]},{"say":"Done."}],
        "tools":[{"name":"pay","effect":"once","append_to":"log","output":"paid"},
            {"name":"ship","effect":"once","append_to":"log","output":"shipped"}]}"#,
    );
    let mut person = Person::starts(&world, &["query", "go", "--model", &model]);
    person.sees(ASKED).types("a c\n").sees("Run ship?").sees(ASKED);
    let id = world.only_id();
    let held = world.run(&["permissions", "revoke", "1"]);
    assert_eq!(held.code, 5, "{}", held.stderr);
    let pid = person.pid();
    let said = format!("allow pay stays, because conversation {id} is held by process {pid}");
    assert!(held.stderr.contains(&said), "{}", held.stderr);
    let then = format!("then: piton permissions revoke 1 --id {id}");
    assert!(held.stderr.contains(&then), "{}", held.stderr);
    assert!(!held.stderr.contains("--lock-wait"), "no such flag here: {}", held.stderr);
    person.types("n\n").sees("Done.");
    assert_eq!(person.leaves().0, 0);
    assert_eq!(world.run(&["permissions", "revoke", "1", "--id", &id]).code, 0);
}
