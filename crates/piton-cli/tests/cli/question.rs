//! Questions of tools, and a person who answers now, later or from elsewhere.

use crate::mcp;
use crate::person::Person;
use crate::world::World;

const WHICH: &str = r#"{"steps":[{"calls":[{"tool":"ask_user",
    "arguments":{"question":"Which colour?","options":["red","blue"]}}]},{"say":"As you like."}]}"#;

fn ask(arguments: &str) -> String {
    let call = format!(r#"{{"tool":"ask_user","arguments":{arguments}}}"#);
    format!(r#"{{"steps":[{{"calls":[{call},{call}]}},{{"say":"Thanks."}}]}}"#)
}

// J15, J32, J33: nobody is there, and somebody answers later.
#[test]
fn a_question_of_a_headless_run_is_answered_later() {
    let world = World::new();
    let model = world.script(WHICH);
    let run = world.run(&["query", "go", "--model", &model]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("ask_user — \"Which colour?\""), "{}", run.stderr);
    assert!(!run.stderr.contains("--permissions auto"), "no permission is asked: {}", run.stderr);
    assert!(world.run(&["ls"]).stdout.contains("waiting-for-input (ask_user)"));
    let shown = world.run(&["answer"]);
    assert_eq!(shown.stdout, "Which colour?\n");
    assert_eq!(shown.stderr, "answers: red, blue, --text TEXT, --decline\n");
    let json = world.run(&["answer", "--json"]).stdout;
    assert!(json.contains(r#""id":"1.1.0.question.1""#), "{json}");
    assert!(
        json.contains(r#""kind":"question","call":"1.1.0","wants":{"name":"question""#),
        "{json}"
    );
    let no = world.run(&["answer", "green"]);
    assert_eq!(no.code, 2);
    assert!(
        no.stderr.contains("answer with one of red, blue, --text TEXT, --decline"),
        "{}",
        no.stderr
    );
    assert_eq!(no.stderr.matches("red, blue").count(), 1, "{}", no.stderr);
    let done = world.run(&["answer", "2", "--continue"]);
    assert_eq!((done.code, done.stdout.as_str()), (0, "As you like.\n"), "{}", done.stderr);
    let printed = world.run(&["print", "--json", "--raw"]).stdout;
    assert!(printed.contains(r#""answer":{"answer":"text","text":"blue"}"#), "{printed}");
    assert!(printed.contains(r#""outcome":"ok","output":{"text":"blue"}"#), "{printed}");
}

// J34: several at once, one after the other, in words and without.
#[test]
fn several_questions_are_answered_in_order() {
    let world = World::new();
    let model = world.script(&ask(r#"{"question":"Why?"}"#));
    assert_eq!(world.run(&["query", "go", "--model", &model]).code, 3);
    assert_eq!(world.run(&["answer"]).stdout, "Why?\nWhy?\n");
    for unset in [&["answer", ""][..], &["answer", "--text", " "]] {
        let empty = world.run(unset);
        assert_eq!(empty.code, 2, "{}", empty.stderr);
        assert!(empty.stderr.contains("the answer is empty; --decline"), "{}", empty.stderr);
    }
    let first = world.run(&["answer", "--text", "because of that"]);
    assert_eq!(first.code, 0, "{}", first.stderr);
    assert!(first.stderr.contains("Answered \"because of that\": Why?"), "{}", first.stderr);
    assert!(first.stderr.contains("1 more to answer"), "{}", first.stderr);
    let done = world.run(&["answer", "--decline", "--continue"]);
    assert_eq!((done.code, done.stdout.as_str()), (0, "Thanks.\n"), "{}", done.stderr);
    let printed = world.run(&["print", "--json", "--raw"]).stdout;
    assert!(printed.contains("because of that"), "{printed}");
    assert!(printed.contains("The user declined to answer."), "{printed}");
}

// M9: kill -9 with the question on the screen; asked again, under the same id.
#[test]
fn a_question_survives_a_kill_and_is_asked_again() {
    let world = World::new();
    let model = world.script(WHICH);
    let mut person = Person::starts(&world, &["query", "go", "--model", &model]);
    person.sees("Which colour?").sees("1  red").sees("2  blue").sees("number or words: ");
    drop(person);
    let mut person = Person::starts(&world, &["query", "--continue"]);
    person.sees("Which colour?").sees("number or words: ").types("5\n");
    person.sees("Not understood: answer with one of red, blue.");
    person.sees("Which colour?").sees("number or words: ").types("blue\n").sees("As you like.");
    let (code, screen) = person.leaves();
    assert_eq!(code, 0, "{screen}");
    let printed = world.run(&["print", "--json", "--raw"]).stdout;
    assert_eq!(printed.matches("InquiryRaised").count(), 1, "asked again, not anew: {printed}");
    assert!(printed.contains("1.1.0.question.1"), "{printed}");
}

// Ctrl-C is about the form: the call goes on, and the server knows that nobody answered.
#[test]
fn ctrl_c_in_a_form_cancels_the_form_and_not_the_turn() {
    for fields in 0..2 {
        let (world, script) = mcp::asking("elicit");
        let mut person = mcp::person(&world, &script);
        person.sees("(y) answer, (n) no answer, (?) help: ");
        if fields == 1 {
            person.types("y\n").sees("Your name: ").types("Ad");
        }
        person.types("\x03").sees("Done.");
        let (code, screen) = person.leaves();
        assert_eq!(code, 0, "{screen}");
        assert_eq!(mcp::result(&world), ("ok".into(), r#"{"action":"cancel"}"#.into()));
        assert_eq!(mcp::ledger(&world), ["elicit a cancel"]);
    }
}

// J15: what to give is said in plain text too, and the example fits.
#[test]
fn a_form_of_a_server_is_filled_in_from_a_command_line() {
    let (world, script) = mcp::asking("elicit");
    let mut person = mcp::person(&world, &script);
    person.sees("(y) answer, (n) no answer, (?) help: ");
    let shown = world.run(&["answer"]).stderr;
    for line in [
        "answers: --text JSON, --decline\n",
        "field colour (Which one?): one of red, green, required\n",
        "field count (count, at least 1): a whole number, may be left out, default 3\n",
        "field name (Your name): a text, required\n",
        "field sure: true or false, may be left out\n",
        r#"for example: piton answer --text '{"colour":"red","count":3,"name":"TEXT"}'"#,
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    let missing = world.run(&["answer", "--text", r#"{"colour":"red"}"#]);
    assert_eq!(missing.code, 2, "{}", missing.stderr);
    assert!(missing.stderr.contains("the field `name` is missing"), "{}", missing.stderr);
    assert!(missing.stderr.contains("field name (Your name): a text"), "{}", missing.stderr);
    let example = r#"{"colour":"red","count":3,"name":"TEXT"}"#;
    let done = world.run(&["answer", "--text", example]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    person.sees("Done.");
    assert_eq!(person.leaves().0, 0);
    assert_eq!(mcp::ledger(&world), ["elicit a accept"]);
}
