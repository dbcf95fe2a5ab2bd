//! Commands of a chat that show or choose something, and commands of the user's own in it.

use std::fs;

use crate::person::Person;
use crate::world::World;

const CTRL_D: &str = "\x04";

/// Writes a file, changes it, and answers.
const CHANGES: &str = r#"{"steps":[
    {"calls":[{"tool":"write_file","arguments":{"path":"new.txt","content":"one\n"}}]},
    {"calls":[{"tool":"edit_file","arguments":{"path":"old.txt","old":"two","new":"2"}}]},
    {"calls":[{"tool":"edit_file","arguments":{"path":"old.txt","old":"three","new":"3"}}]},
    {"say":"Changed."},{"say":"Again."}]}"#;

fn sits_down(world: &World, args: &[&str]) -> Person {
    let mut person = Person::starts(world, args);
    person.sees("Ctrl-D leaves.").sees("> ");
    person
}

fn write(world: &World, path: &str, content: &str) {
    let path = world.path(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

fn leaves(mut person: Person) -> String {
    person.types(CTRL_D);
    let (code, screen) = person.leaves();
    assert_eq!(code, 0, "{screen}");
    screen
}

#[test]
fn the_effort_is_chosen_for_the_next_turns() {
    let world = World::new();
    let mut person = sits_down(&world, &[]);
    person.types("/effort\r").sees("effort auto; to choose: /effort auto|none|").sees("> ");
    person.types("/effort hihg\r").sees("did you mean").sees("high").sees("> ");
    person.types("/effort high\r").sees("effort high from your next message on").sees("> ");
    person.types("list .\r").sees("[demo").sees("> ").types("/status\r").sees("effort        high");
    person.sees("> ");
    leaves(person);
    let events = world.events();
    let change = events.iter().find(|event| event["type"] == "ConfigChanged").unwrap();
    assert_eq!(change["change"]["effort"], "high", "{change}");
}

// X9, C14: the last message is tried again, also by another model, and what broke offers that.
#[test]
fn the_last_message_is_tried_again() {
    let world = World::new();
    let fails = r#"{"steps":[{"say":"One.","faults":[{"kind":{"fail":"auth"}}]},{"say":"Two."}]}"#;
    let model = world.script(fails);
    let mut person = sits_down(&world, &["-m", &model]);
    person.types("/retry\r").sees("there is no message to try again").sees("> ");
    person.types("hi\r").sees("from its message: /retry").sees("> ");
    // A script fails in every turn of a chat as it did in the first.
    person.types("/retry\r").sees("Attempt 2 of message").sees("/discard").sees("> ");
    person.types("/retry demo\r").sees("demo answers from now on").sees("Attempt 3 of message");
    person.sees("[demo").sees("> ");
    leaves(person);
    let printed = world.run(&["print"]).stdout;
    assert_eq!(printed.matches("> hi\n").count(), 1, "{printed}");
}

#[test]
fn what_the_conversation_changed_is_shown_against_what_was_before() {
    let world = World::new();
    fs::write(world.work("old.txt"), "one\ntwo\nthree\n").unwrap();
    let model = world.script(CHANGES);
    let mut person = sits_down(&world, &["-m", &model, "--permissions", "auto"]);
    person.types("/diff\r").sees("has changed nothing").sees("> ");
    person.types("go\r").sees("Changed.").sees("[script").sees("> ").types("/diff\r");
    // Both changes of the file in one, and the file that is new.
    person.sees("Add File: new.txt").sees("Update File: old.txt").sees("-two").sees("-three");
    person.sees("+2").sees("+3").sees("> ").types("/undo\r").sees("taken back").sees("> ");
    person.types("/diff\r").sees("-two").sees("+2").sees(" three").sees("> ");
    leaves(person);
}

#[test]
fn rules_servers_and_the_state_are_shown_in_a_chat() {
    let world = World::new();
    write(&world, "home/piton.toml", "[[permissions]]\ntool = \"shell\"\neffect = \"deny\"\n");
    let mut person = sits_down(&world, &[]);
    person.types("/status\r").sees("none yet").sees("model         demo").sees("> ");
    person.types("/mcp\r").sees("There are no MCP servers").sees("> ");
    person
        .types("/permissions\r")
        .sees("permissions ask; to choose: /mode")
        .sees("1  deny shell  user")
        .sees("> ");
    person.types("/permissions auto\r").sees("permissions auto from now on").sees("> ");
    person.types("/permissions revoke x\r").sees("/permissions revoke N").sees("> ");
    person.types("/mcp add\r").sees("piton mcp changes them").sees("> ");
    person.types("list .\r").sees("[demo").sees("> ").types("/status\r").sees("1 turn");
    person.sees("permissions   auto").sees("> ");
    leaves(person);
}

// D44: the rule counts for the next call, and one that was taken back does not.
#[test]
fn rules_that_are_written_and_taken_back_count_in_the_chat_that_runs() {
    let world = World::new();
    let mut person = sits_down(&world, &[]);
    person.types("run touch one\r").sees("(?) help: ").types("a p\r");
    person.sees("From now on: allow shell `touch one`").sees("> ");
    fs::remove_file(world.work("one")).unwrap();
    person.types("run touch one\r").sees("✓ shell: touch one").sees("> ");
    assert!(world.work("one").exists());
    person.types("/permissions revoke 1\r").sees("Taken back: allow shell `touch one`").sees("> ");
    person.types("run touch one\r").sees("Run shell: touch one?").sees("(?) help: ");
    person.types("n\r").sees("> ");
    let screen = leaves(person);
    assert_eq!(screen.matches("(?) help: ").count(), 2, "{screen}");
}

#[test]
fn a_directory_is_added_and_taken_out_again() {
    let world = World::new();
    fs::create_dir(world.path("lib")).unwrap();
    let mut person = sits_down(&world, &[]);
    person.types("/dirs\r").sees("No directory was added").sees("> ");
    person.types("/dirs add ../lib\r").sees("tools may work in").sees("> ");
    person.types("list .\r").sees("[demo").sees("> ").types("/dirs\r").sees("/lib").sees("> ");
    person.types("/dirs remove ../nowhere\r").sees("was not added").sees("> ");
    person.types("/dirs remove ../lib\r").sees("no more, from your next message on").sees("> ");
    person
        .types("list .\r")
        .sees("[demo")
        .sees("> ")
        .types("/dirs\r")
        .sees("No directory")
        .sees("> ");
    leaves(person);
}

#[test]
fn a_command_of_the_repository_is_named_and_counts_once_it_is_trusted() {
    let world = World::new();
    write(&world, "work/.claude/commands/ship.md", "Ship it.\n");
    let skill = "---\ndescription: Flies.\n---\nFly.\n";
    write(&world, "work/.claude/skills/fly/SKILL.md", skill);
    let mut person = Person::starts(&world, &[]);
    person.sees("skill fly").sees("command /ship").sees("Trust it as it is now?").types("n\r");
    person.sees("You are not asked about this again").sees("> ");
    person.types("/ship now\r").sees("/ship is there, in").sees("is not trusted");
    person.sees("piton trust").sees("> ");
    person.types("/fly\r").sees("/fly is there, in").sees("> ");
    leaves(person);
    let ran = world.run(&["query", "/ship now"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("this workspace is not trusted"), "{}", ran.stderr);
    assert_eq!(world.run(&["trust", "--yes"]).code, 0);
    let ran = world.run(&["query", "/ship now"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let mut person = sits_down(&world, &[]);
    person.types("/help\r").sees("Of this workspace: /ship").sees("> ");
    leaves(person);
}

#[test]
fn a_command_below_the_root_of_the_repository_is_copied_as_the_hint_says() {
    let world = World::new();
    fs::create_dir_all(world.path("work/.git")).unwrap();
    write(&world, "work/sub/.claude/commands/ship.md", "Ship it.\n");
    let run = || {
        let mut command = world.command(&["query", "/ship now"]);
        world.ran(command.current_dir(world.path("work/sub")).output().unwrap())
    };
    let ran = run();
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    // What the hint says does what it promises.
    let hint = ran.stderr.lines().find_map(|line| line.split_once("to make it your own: "));
    let hint = hint.unwrap().1;
    assert!(world.run_line(hint).code == 0, "{hint}");
    assert_eq!(run().code, 0);
}

#[test]
fn a_side_question_that_fails_says_why() {
    let world = World::new();
    let model = world.script(r#"{"steps":[{"say":"x","faults":[{"kind":{"fail":"auth"}}]}]}"#);
    let mut person = sits_down(&world, &["-m", &model]);
    person.types("/btw and?\r").sees("The side question was not answered: scripted failure");
    person.sees("> ");
    leaves(person);
}

#[test]
fn going_on_where_there_is_no_conversation_begins_one() {
    let world = World::new();
    let mut person = sits_down(&world, &["-c"]);
    person.types("/continue\r").sees("There is no conversation to continue").sees("> ");
    person.types("list .\r").sees("(new), turn 1").sees("[demo").sees("> ");
    person.types("/continue\r").sees("There is no incomplete turn to continue");
    person.sees("hint: to go on with the conversation: just say it").sees("> ");
    leaves(person);
    let ran = world.run(&["query", "-c", "list", "."]);
    assert!(ran.stderr.contains("turn 2"), "{}", ran.stderr);
    let mut person = Person::starts(&world, &["-c"]);
    person.sees("> list .").sees("> ").types("list .\r").sees("[demo").sees("> ");
    leaves(person);
}

// What runs is what the file says; words of the person are parameters.
#[test]
fn a_command_of_the_user_has_the_output_of_commands_in_it() {
    let world = World::new();
    let body = "Look at $1:\n!`echo \"<$1|$ARGUMENTS>\"; pwd`\nand !`echo bad >&2; exit 3` end.\n";
    write(&world, "home/commands/look.md", body);
    let model = world.script(r#"{"steps":[{"say":"Yes."}]}"#);
    let said = "/look $(touch${IFS}a);touch${IFS}b `touch c`";
    let ran = world.run(&["query", said, "-m", &model]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Yes.\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("/look runs: echo bad >&2; exit 3"), "{}", ran.stderr);
    assert!(ran.stderr.contains("warning: it failed (exit status: 3)"), "{}", ran.stderr);
    let parts = world.user_parts();
    let text = parts.first().unwrap()["text"].as_str().unwrap();
    let words = said.strip_prefix("/look ").unwrap();
    let first = words.split_whitespace().next().unwrap();
    let here = world.work(".").canonicalize().unwrap();
    let expected = format!(
        "{said}\n\nLook at {first}:\n<{first}|{words}>\n{}\nand bad\n[exit status: 3] end.",
        here.display()
    );
    assert_eq!(text, expected);
    for made in ["a", "b", "c"] {
        assert!(!world.work(made).exists(), "{made} was made");
    }
}

#[test]
fn a_command_with_commands_in_it_waits_until_a_turn_is_over_and_ctrl_c_ends_it() {
    let world = World::new();
    write(&world, "home/commands/state.md", "State: !`echo fine`\n");
    write(&world, "home/commands/slow.md", "Slow: !`echo begun > begun; sleep 1000`\n");
    let model = world.script(
        r#"{"steps":[{"say":"First.","calls":[{"tool":"slow"}]},{"say":"Second."},{"say":"Third."}],
        "tools":[{"name":"slow","effect":"read_only","wait_for":"go","output":"late"}]}"#,
    );
    let mut person = sits_down(&world, &["-m", &model, "--permissions", "auto"]);
    person.types("go\r").sees("slow").types("/state\r").sees("/state runs commands of yours");
    person.types("/stat\r").sees("There is no command /stat; did you mean /stat");
    fs::write(world.work("go"), "").unwrap();
    person.sees("Second.").sees("[script").sees("> ");
    person.types("/slow\r").sees("/slow runs: echo begun");
    crate::world::wait_until(|| world.work("begun").exists());
    person.types("\x03").sees("[interrupted]").sees("> /slow").types("\x15");
    person
        .types("/state\r")
        .sees("/state runs: echo fine")
        .sees("Third.")
        .sees("[script")
        .sees("> ");
    leaves(person);
    assert!(world.run(&["print"]).stdout.contains("State: fine"));
}

// K60: what a chat does with its conversation beside talking; each is the command of the shell.
#[test]
fn a_conversation_is_shown_named_written_out_and_put_away_in_a_chat() {
    let world = World::new();
    let model = world.script(r#"{"steps":[{"say":"One."},{"say":"Two."}]}"#);
    let mut person = sits_down(&world, &["-m", &model]);
    for command in ["/print", "/attempts", "/rename x", "/export", "/archive"] {
        person.types(&format!("{command}\r")).sees("This conversation has not begun.").sees("> ");
    }
    person.types("hi\r").sees("One.").sees("> ").types("/retry\r").sees("Attempt 2").sees("One.");
    person.sees("> ").types("there\r").sees("Two.").sees("> ");
    person.types("/print\r").sees("> hi").sees("One.").sees("> there").sees("Two.").sees("> ");
    person.types("/attempts 1\r").sees("attempt 1 of 2").sees("attempt 2 of 2").sees("> ");
    person.types("/print 7\r").sees("there are no such turns").sees("> ");
    person.types("/print much\r").sees("turns are 3, 2..4").sees("> ");
    person.types("/rename A better name\r").sees("is now called: A better name").sees("> ");
    person.types("/rename\r").sees("It is called: A better name").sees("> ");
    person.types("/export talk.html\r").sees("is written to talk.html").sees("> ");
    person.types("/export talk.html\r").sees("nothing is written over it").sees("> ");
    person.types("/export\r").sees("is written to piton-").sees("> ");
    person.types("/archive\r").sees("is archived").sees("The next message begins").sees("> ");
    leaves(person);
    assert!(fs::read_to_string(world.work("talk.html")).unwrap().starts_with("<!DOCTYPE html>"));
    assert_eq!(world.rows().len(), 0);
    let put_away = world.run(&["ls", "--archived"]).stdout;
    assert!(put_away.contains("A better name"), "{put_away}");
}

// K60
#[test]
fn while_a_turn_runs_commands_that_leave_it_say_what_to_do() {
    let world = World::new();
    let model = world.script(
        r#"{"steps":[{"calls":[{"tool":"slow"}]},{"say":"Late."}],
            "tools":[{"name":"slow","effect":"read_only","wait_for":"go","output":"late"}]}"#,
    );
    let mut person = sits_down(&world, &["-m", &model, "--permissions", "auto"]);
    person.types("go\r").sees("slow");
    for name in ["fork", "retry", "edit", "print", "archive"] {
        let said = format!("/{name} has to wait until the turn is over; Ctrl-C stops it");
        person.types(&format!("/{name}\r")).sees(&said);
    }
    fs::write(world.work("go"), "").unwrap();
    person.sees("Late.").sees("> ");
    leaves(person);
    assert_eq!(world.rows().len(), 1);
}

// X1: words that were typed where a call asks are not lost in silence, and a message instead of an answer says
// what becomes of the question.
#[test]
fn a_message_that_is_typed_over_a_question_is_told_what_to_do() {
    let world = World::new();
    let model = world.script(
        r#"{"steps":[{"calls":[{"tool":"pay"}]},{"calls":[{"tool":"pay"}]},{"say":"Done."}],
            "tools":[{"name":"pay","effect":"once","output":"paid"}]}"#,
    );
    let mut person = sits_down(&world, &["-m", &model]);
    person.types("go\r").sees("Run pay?").sees("help: ").types("use the other account\r");
    person.sees("Not understood: type y,").sees("tell the model that: no use the other account");
    person.sees("Run pay?").sees("help: ").types("no use the other account\r").sees("denied");
    person.sees("Run pay?").sees("help: ").types("\x03").sees("[interrupted]").sees("> ");
    person.types("or none at all\r");
    person.sees("The message is added to the incomplete turn. pay gets no answer to \"Run pay?\".");
    person.sees("cancelled").sees("Done.").sees("> ");
    leaves(person);
    let events = world.events();
    let told = events.iter().any(|event| event.to_string().contains("use the other account"));
    assert!(told, "{events:?}");
}

/// A model that fails at first.
const FAILS: &str = r#"{"steps":[{"say":"One.","faults":[{"kind":{"fail":"auth"}}]},{"say":"Two."},{"say":"Three."}]}"#;

/// A conversation with an incomplete turn, and a model that answers from now on.
fn failed(said: &str) -> World {
    let world = World::new();
    let model = world.script(FAILS);
    assert_eq!(world.run(&["query", said, "--model", &model]).code, 1);
    world.script(&FAILS.replace(r#","faults":[{"kind":{"fail":"auth"}}]"#, ""));
    world
}

#[test]
fn a_message_that_is_queued_behind_an_incomplete_turn_waits_and_is_asked_about_later() {
    let world = failed("first");
    let mut person = sits_down(&world, &["-c"]);
    for words in ["clear", "remove 1", "show"] {
        person.types(&format!("/queue {words}\r")).sees("Not queued: that looks like a command.");
        person.sees("> ");
    }
    person.types("/queue for later\r").sees("Queued behind the incomplete turn.").sees("> ");
    person.types("/queue\r").sees("1  next   for later").sees("> ");
    person.types("/discard\r").sees("is discarded").sees("> ");
    person.types("and this\r").sees("Waiting: for later").sees("(q) keep them").types("q\r");
    person.sees("Nothing was changed.").sees("> and this").types("\r").sees("(q) keep them");
    person.types("f\r").sees("One.").sees("Two.").sees("> ");
    leaves(person);
    let printed = world.run(&["print"]).stdout;
    assert_eq!(printed, "> for later\nOne.\n\n> and this\nTwo.\n");
}

#[test]
fn a_failed_turn_is_offered_with_all_ways_on_and_what_waits_behind_it() {
    let world = failed("first");
    let mut person = sits_down(&world, &["-c"]);
    person.types("/queue for later\r").sees("Queued behind").sees("> ");
    leaves(person);
    let mut person = Person::starts(&world, &[]);
    person.sees("has an incomplete turn.").sees("1 message waits; /queue shows it.");
    person.sees("(g) retry it, (d) discard it, (k) fork it, (o) begin another").types("k\r");
    person.sees("is a fork of").sees("The next message goes there.").sees("> ");
    leaves(person);
    assert_eq!(world.rows().len(), 2);
    let world = failed("first");
    let mut person = Person::starts(&world, &[]);
    person
        .sees("(g) retry it")
        .types("retry\r")
        .sees("Attempt 2 of message")
        .sees("One.")
        .sees("> ");
    leaves(person);
    assert_eq!(world.run(&["print"]).stdout, "> first\nOne.\n");
}

#[test]
fn an_escape_at_the_prompt_takes_no_other_key_with_it() {
    let world = World::new();
    let model = world.script(r#"{"steps":[{"say":"One."}]}"#);
    let mut person = sits_down(&world, &["-m", &model]);
    person.types("\x1b");
    // wait: the terminal gives no sign that an escape was taken for what it is
    std::thread::sleep(std::time::Duration::from_millis(400));
    person.types("/retry\r").sees("This conversation has not begun").sees("> ").types("half\x1b");
    // wait: as above
    std::thread::sleep(std::time::Duration::from_millis(400));
    person.types(" a line\x1b\rand more\r").sees("One.").sees("> ");
    leaves(person);
    assert_eq!(world.run(&["print"]).stdout, "> half a line\n> and more\nOne.\n");
}
