//! A message that is tried again: one message, several attempts, all of them kept.
//!
//! The tests kill at every eighth point; `dev/faults` sets `PITON_TASK_STEP=1` and kills at every one.

use std::fs;

use expect_test::expect;
use serde_json::{Value, json};

use crate::faults::{can_trace, points, trace};
use crate::loopback::{Loopback, PROVIDERS, chat, refusal, stream};
use crate::person::Person;
use crate::world::{World, lines, lines_of};

/// The smallest thing that is taken for an image, and how it looks in base64.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
const PNG_BASE64: &str = "iVBORw0KGgo=";
/// Every so many points are tried, unless the environment says otherwise.
const STEP: usize = 8;
/// Most lives behind a kill.
const LIVES_MAX: usize = 6;
/// System calls that change a file or make it durable.
const CHANGES: [&str; 7] =
    ["pwrite64", "fdatasync", "fsync", "rename", "unlinkat", "ftruncate", "write"];

/// A world with a picture and a text.
fn world() -> World {
    let world = World::new();
    fs::write(world.work("a.png"), PNG).unwrap();
    fs::write(world.work("notes.txt"), "one\r\ntwo").unwrap();
    world
}

/// A second script beside the usual one.
fn other(world: &World, script: &str) -> String {
    let path = world.path("other.json");
    fs::write(&path, script).unwrap();
    format!("script:{}", path.display())
}

fn remove_files(world: &World) {
    for name in ["a.png", "notes.txt"] {
        fs::remove_file(world.work(name)).unwrap();
    }
}

/// Every text in a JSON document.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(fields) => fields.values().flat_map(texts).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

/// What `print --attempts --json` says.
fn attempts(world: &World) -> Vec<Value> {
    lines(&world.run(&["print", "--attempts", "--json"]).stdout)
}

fn count(world: &World, kind: &str) -> usize {
    world.events().iter().filter(|event| event["type"] == kind).count()
}

// C3, C7, C9, C13, C14, C18, X9: one message, another provider, and the files are not needed again.
#[test]
fn must_show_4_a_failed_message_with_files_is_tried_again_by_another_provider() {
    let (world, first, second) = (world(), chat(), &PROVIDERS[0]);
    let refusing = Loopback::start(vec![refusal("401 Unauthorized", "{}")]);
    let args = ["query", "A dot?", "-f", "a.png", "-f", "notes.txt", "--model", first.model];
    let ran = first.run(&world, &refusing, &args);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let id = world.only_id();
    assert!(ran.stderr.contains(&format!("piton retry --id {id}")), "{}", ran.stderr);
    remove_files(&world);
    let answering = Loopback::start(vec![stream(second.yes)]);
    let ran = second.run(&world, &answering, &["retry", "--model", second.model]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Yes.\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("Attempt 1 has changed nothing."), "{}", ran.stderr);
    let (_, body) = answering.request(0);
    let sent = texts(&body);
    assert_eq!(sent.iter().filter(|text| text.ends_with(PNG_BASE64)).count(), 1, "{body}");
    assert_eq!(sent.iter().filter(|text| text.contains("one\r\ntwo")).count(), 1, "{body}");
    assert_eq!((count(&world, "UserMessage"), count(&world, "MessageRetried")), (1, 1));
    let message = attempts(&world)[0]["message"].as_str().unwrap().to_owned();
    let shown = |args: &[&str]| world.run(args).stdout.replace(&message, "MESSAGE");
    expect![[r#"
        > A dot?
        > [image a.png, 8 bytes]
        > [file notes.txt, 8 bytes]
        Yes.
    "#]]
    .assert_eq(&shown(&["print"]));
    expect![[r#"
        > A dot?
        > [image a.png, 8 bytes]
        > [file notes.txt, 8 bytes]
        [message MESSAGE, attempt 1 of 2 · openai-chat/gpt-4o · failed, the provider answered with status 401 · 0 steps]
        [message MESSAGE, attempt 2 of 2 · anthropic/claude-sonnet-4-5 · answered · 1 step · 9 in, 7 out]
        Yes.
        The attempts of message MESSAGE changed nothing.
    "#]].assert_eq(&shown(&["print", "--attempts"]));
    let told: Vec<_> = attempts(&world)
        .iter()
        .map(|it| json!([it["attempt"], it["present"], it["models"], it["ended"], it["steps"]]))
        .collect();
    let expected = [
        json!([1, false, [first.model], "failed", 0]),
        json!([2, true, [second.model], "answered", 1]),
    ];
    assert_eq!(told, expected);
    // C26: the log names the conversation, the message, the model and how many files go along.
    let log = fs::read_to_string(world.path("home/log/piton.log")).unwrap();
    let line = log.lines().find(|line| line.contains("a message is tried again")).unwrap();
    let model = second.model;
    for part in [
        format!("conversation={id} "),
        format!("message_id={message} attempt=2 model=\"{model}\" files=2"),
    ] {
        assert!(line.contains(&part), "{part}: {line}");
    }
    assert!(log.contains("the turn of a message that was tried again is over"), "{log}");
}

// C15
#[test]
fn a_message_of_files_alone_is_tried_again() {
    let (world, provider) = (world(), chat());
    let server = Loopback::start(vec![refusal("401 Unauthorized", "{}"), stream(provider.yes)]);
    let args = ["query", "-f", "a.png", "--model", provider.model];
    assert_eq!(provider.run(&world, &server, &args).code, 1);
    remove_files(&world);
    let ran = provider.run(&world, &server, &["retry"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Yes.\n"), "{}", ran.stderr);
    assert_eq!(server.request(0).1, server.request(1).1, "the same request, byte for byte");
}

// C8: repeated attempts add nothing to the message.
#[test]
fn attempts_do_not_pile_up_in_the_message() {
    let world = World::new();
    let model = world.script(r#"{"steps":[{"say":"Yes."}]}"#);
    assert_eq!(world.run(&["query", "hi", "--model", &model]).code, 0);
    for attempt in 2..5 {
        let ran = world.run(&["retry"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(ran.stderr.contains(&format!("Attempt {attempt} of message")), "{}", ran.stderr);
    }
    assert_eq!(world.run(&["print"]).stdout, "> hi\nYes.\n");
    assert_eq!((world.user_parts().len(), attempts(&world).len()), (1, 4));
}

// C7: what the new model does not take is refused while the old attempt still counts.
#[test]
fn a_model_that_does_not_take_the_file_is_refused_and_nothing_is_hidden() {
    let (world, first) = (world(), &PROVIDERS[0]);
    fs::write(world.work("a.pdf"), b"%PDF-1.7 \xff").unwrap();
    let server = Loopback::start(vec![stream(first.yes)]);
    let args = ["query", "see", "-f", "a.pdf", "--model", first.model];
    assert_eq!(first.run(&world, &server, &args).code, 0);
    let codex = &PROVIDERS[3];
    let ran = codex.run(&world, &server, &["retry", "--model", codex.model]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("the message is not tried again: a.pdf cannot be sent"),
        "{}",
        ran.stderr
    );
    assert_eq!(count(&world, "MessageRetried"), 0);
    assert!(world.run(&["print"]).stdout.ends_with("Yes.\n"));
}

const WORKS: &str = r#"{"steps":[
    {"say":"I write.","calls":[
        {"tool":"write_file","arguments":{"path":"one.txt","content":"one\n"}},
        {"tool":"pay"},{"tool":"list_dir","arguments":{"path":"."}}]},
    {"say":"x","faults":[{"kind":{"fail":"auth"}}]}],
    "tools":[{"name":"pay","effect":"once","append_to":"pay.log","output":"paid"}]}"#;
const WORKS_BETTER: &str = r#"{"steps":[
    {"calls":[{"tool":"write_file","arguments":{"path":"two.txt","content":"two\n"}},{"tool":"pay"}]},
    {"say":"Done."}],
    "tools":[{"name":"pay","effect":"once","append_to":"pay.log","output":"paid"}]}"#;

// X9: what was done stays done, and is said before the message is tried again.
#[test]
fn effects_of_the_old_attempt_are_named_and_attempts_are_compared() {
    let world = World::new();
    let model = world.script(WORKS);
    let better = other(&world, WORKS_BETTER);
    let ran = world.run(&["query", "go", "--permissions", "auto", "--model", &model]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let ran = world.run(&["retry", "--model", &better]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Done.\n"), "{}", ran.stderr);
    let message = attempts(&world)[0]["message"].as_str().unwrap().to_owned();
    let told = ran.stderr.replace(&message, "MESSAGE");
    let said: Vec<&str> = told.lines().skip(1).take(4).collect();
    assert_eq!(
        said,
        [
            "Attempt 2 of message MESSAGE. Attempt 1 is hidden, and kept: piton print --attempts",
            "What attempt 1 did is not undone:",
            "  ✓ write_file: one.txt — completed",
            "  ✓ pay — completed",
        ],
        "{told}"
    );
    assert_eq!(lines_of(&world.work("pay.log")), 2);
    let printed = world.run(&["print", "--attempts"]).stdout.replace(&message, "MESSAGE");
    let compared: Vec<&str> =
        printed.lines().skip_while(|line| !line.starts_with("What the attempts")).collect();
    assert_eq!(
        compared,
        [
            "What the attempts of message MESSAGE did stays done:",
            "  attempt 1: ✓ write_file: one.txt — completed",
            "  attempts 1, 2: ✓ pay — completed",
            "  attempt 2: ✓ write_file: two.txt — completed",
        ],
        "{printed}"
    );
    let effects = |place: usize| attempts(&world)[place]["effects"].as_array().unwrap().len();
    assert_eq!((effects(0), effects(1)), (2, 2));
}

// C2, C34: an earlier message is not tried again over the heads of later ones.
#[test]
fn only_a_message_of_the_newest_turn_is_tried_again() {
    let world = World::new();
    let model = world.script(r#"{"steps":[{"say":"One."},{"say":"Two."}]}"#);
    assert_eq!(world.run(&["query", "first", "--model", &model]).code, 0);
    assert_eq!(world.run(&["query", "second"]).code, 0);
    let first = attempts(&world)[0]["message"].as_str().unwrap().to_owned();
    let ran = world.run(&["retry", &first]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    for part in ["belongs to an earlier turn", "hint: ", "fork"] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    let ran = world.run(&["retry", "nobody"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("there is no message nobody"), "{}", ran.stderr);
    assert_eq!(count(&world, "MessageRetried"), 0);
    let second = attempts(&world)[1]["message"].as_str().unwrap().to_owned();
    let ran = world.run(&["retry", &second[..6]]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Two.\n"), "{}", ran.stderr);
}

// What any attempt did is named, and not only what the last one did.
#[test]
fn effects_of_all_attempts_are_named() {
    let world = World::new();
    let write = json!({ "tool": "write_file", "arguments": { "path": "a.txt", "content": "x\n" } });
    let script = json!({ "steps": [{ "calls": [write] }, { "say": "One." }, { "say": "Two." }, { "say": "Three." }] });
    let model = world.script(&script.to_string());
    let ran = world.run(&["query", "go", "--permissions", "auto", "--model", &model]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let told = "What attempt 1 did is not undone:\n  ✓ write_file: a.txt — completed\n";
    for _ in 0..2 {
        let ran = world.run(&["retry", "--model", "demo"]);
        assert!(ran.code == 0 && ran.stderr.contains(told), "{}", ran.stderr);
    }
    let printed = world.run(&["print"]);
    assert!(printed.stderr.contains("3 attempts; to see them all: piton print --attempts"));
    assert!(!printed.stdout.contains("turn 1"), "plain text is as it was: {}", printed.stdout);
    let mut person = Person::starts(&world, &["print"]);
    person.sees("— turn 1 —").sees("3 attempts");
    assert_eq!(person.leaves().0, 0);
}

// An earlier message is tried again in one step, in a conversation of its own.
#[test]
fn an_earlier_message_is_tried_again_in_a_fork() {
    let world = World::new();
    for said in ["first", "second"] {
        assert_eq!(world.run(&["query", said, "--model", "demo"]).code, 0);
    }
    let origin = world.only_id();
    let first = attempts(&world)[0]["message"].as_str().unwrap().to_owned();
    let ran = world.run(&["retry", &first]);
    let hint = format!("piton retry {first} --fork --id {origin}");
    assert!(ran.code == 2 && ran.stderr.contains(&hint), "{}", ran.stderr);
    let ran = world.run(&["retry", &first[..8], "--fork", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let result = lines(&ran.stdout).pop().unwrap();
    let fork = result["conversation"].as_str().unwrap();
    assert_ne!(fork, origin);
    assert!(result["text"].as_str().is_some_and(|text| !text.is_empty()), "{result}");
    let said = |id: &str| world.run(&["print", "--style", "user", id]).stdout;
    assert_eq!(
        (said(&origin).as_str(), said(fork).as_str()),
        ("> first\n\n> second\n", "> first\n")
    );
    let listed = world.run(&["ls"]).stdout;
    assert!(listed.contains(&format!("(fork of {origin})")), "{listed}");
    let row = world.rows().into_iter().find(|row| row["conversation"] == fork).unwrap();
    assert_eq!(row["origin"], origin);
    // In a fork that is cut behind the message nothing was tried yet.
    let cut = world.run(&["fork", &origin, "--behind", &first]).stdout;
    let ran = world.run(&["retry", "--id", cut.trim_end()]);
    assert!(ran.code == 0 && ran.stderr.contains("Attempt 1 had not begun."), "{}", ran.stderr);
    assert!(!ran.stderr.contains("is hidden"), "{}", ran.stderr);
}

// Only the message that was added is tried again, so that one is named.
#[test]
fn the_message_that_is_tried_again_is_named() {
    let world = World::new();
    let model =
        world.script(r#"{"steps":[{"say":"One.","faults":[{"kind":{"fail":"auth"},"times":9}]}]}"#);
    let ran = world.run(&["query", "first", "--model", &model]);
    let anew = "hint: to begin the turn anew, from its message: piton retry --id";
    assert!(ran.code == 1 && ran.stderr.contains(anew), "{}", ran.stderr);
    let ran = world.run(&["query", "--continue", "and more"]);
    let added =
        "hint: to go back to the message that was added last (\"and more\"): piton retry --id";
    assert!(ran.code == 1 && ran.stderr.contains(added), "{}", ran.stderr);
}

#[test]
fn where_nothing_was_said_there_is_nothing_to_try_again() {
    let world = World::new();
    let ran = world.run(&["retry", "--model", "demo"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("there is no conversation in this directory"), "{}", ran.stderr);
    assert_eq!(world.rows().len(), 0, "no conversation begins");
    // One in which nothing was said.
    assert_eq!(world.run(&["query", "hi", "--model", "demo"]).code, 0);
    assert_eq!(world.run(&["fork", "--before", "1"]).code, 0);
    let ran = world.run(&["retry"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("nothing was said in this conversation"), "{}", ran.stderr);
}

// X20: whoever goes on behind a retry must not take it for one.
#[test]
fn behind_a_discarded_turn_there_is_nothing_to_try_again_and_that_is_no_success() {
    let world = World::new();
    let model = world.script(r#"{"steps":[{"say":"x","faults":[{"kind":{"fail":"auth"}}]}]}"#);
    world.run(&["query", "first", "--model", &model]);
    assert_eq!(world.run(&["query", "--discard-turn"]).code, 0);
    for args in [&["retry"][..], &["retry", "--fork"]] {
        let ran = world.run(args);
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        let told = "there is no message to try again: the last turn is discarded";
        assert!(ran.stderr.contains(told), "{}", ran.stderr);
        assert!(ran.stderr.contains("hint: to see what was said: piton print --attempts"));
    }
    assert_eq!((count(&world, "MessageRetried"), world.rows().len()), (0, 1));
}

// C9: who answered the message answers it again.
#[test]
fn the_agent_of_the_turn_stays() {
    let world = World::new();
    let fails = r#"{"steps":[{"say":"[\"one\"]","faults":[{"kind":{"fail":"auth"}}]},{"say":"Both."}],
        "workers":[{"task":"one","steps":[{"say":"1"}]}]}"#;
    let model = world.script(fails);
    let ran = world.run(&["query", "--coordinate", "go", "--model", &model]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let works = other(&world, &fails.replace(r#","faults":[{"kind":{"fail":"auth"}}]"#, ""));
    let ran = world.run(&["retry", "--model", &works]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Both.\n"), "{}", ran.stderr);
    let view = &lines(&world.run(&["print", "--json"]).stdout)[0]["view"];
    assert_eq!(view["turns"][0]["head"]["agent"], "coordinator", "{view}");
}

// J24: the menu of an incomplete turn has it by name; the message that was typed comes after it.
#[test]
fn the_menu_of_an_incomplete_turn_offers_it() {
    let world = World::new();
    let fails = r#"{"steps":[{"say":"One.","faults":[{"kind":{"fail":"auth"}}]},{"say":"Two."}]}"#;
    let model = world.script(fails);
    assert_eq!(world.run(&["query", "first", "--model", &model]).code, 1);
    let works = other(&world, &fails.replace(r#","faults":[{"kind":{"fail":"auth"}}]"#, ""));
    let mut person = Person::starts(&world, &["query", "second", "--model", &works]);
    person.sees("(g) retry it").types("g\r");
    let (code, screen) = person.leaves();
    assert_eq!(code, 0, "{screen}");
    let printed = world.run(&["print"]).stdout;
    assert_eq!(printed, "> first\nOne.\n\n> second\nTwo.\n", "{screen}");
    assert_eq!(count(&world, "MessageRetried"), 1);
}

/// Split into one subtask, which a worker does.
const SPLIT: &str = r#"{"steps":[{"say":"[\"one\"]"},{"say":"Done."}],
    "workers":[{"task":"one","steps":[
        {"calls":[{"tool":"write_file","arguments":{"path":"two.txt","content":"two\n"}}]},{"say":"1"}]}]}"#;

/// A turn that failed with files, and a model that gets it right.
struct Trial {
    world: World,
    better: String,
    /// Who answers the message; none for the usual one.
    agent: Option<&'static str>,
}

impl Trial {
    fn new() -> Self {
        Self::failed(WORKS, WORKS_BETTER, None)
    }

    fn coordinated() -> Self {
        let fails = r#"{"steps":[{"say":"x","faults":[{"kind":{"fail":"auth"}}]}]}"#;
        let trial = Self::failed(fails, SPLIT, Some("coordinator"));
        fs::write(trial.world.work("one.txt"), "one\n").unwrap();
        trial
    }

    fn failed(fails: &str, better: &str, agent: Option<&'static str>) -> Self {
        let world = world();
        let model = world.script(fails);
        let better = other(&world, better);
        let query = ["query", "go", "-f", "a.png", "-f", "notes.txt", "--permissions", "auto"];
        let coordinate = if agent.is_some() { &["--coordinate"][..] } else { &[] };
        let ran = world.run(&[&query[..], coordinate, &["--model", &model]].concat());
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        remove_files(&world);
        Self { world, better, agent }
    }

    fn retry(&self) -> [&str; 3] {
        ["retry", "--model", &self.better]
    }

    /// Goes on without faults until the message is answered, as a user would.
    fn recover(&self, fault: &str) {
        for _ in 0..LIVES_MAX {
            let (retry, retried) = (self.retry(), count(&self.world, "MessageRetried"));
            // Without workers: the newest of them may have ended where its conversation has not.
            let rows = lines(&self.world.run(&["ls", "--json"]).stdout);
            let args: &[&str] = match rows.first() {
                Some(row) if row["status"] == "" => return,
                Some(_) if retried == 1 => &["query", "--continue"],
                Some(_) | None => &retry,
            };
            let ran = self.world.run(args);
            assert_eq!(ran.code, 0, "{fault}: {args:?}: {}", ran.stderr);
        }
        panic!("{fault}: the turn does not end");
    }

    /// One message with its files, two attempts, and nothing done twice by one call.
    fn judge(&self, fault: &str) {
        let said = "> go\n> [image a.png, 8 bytes]\n> [file notes.txt, 8 bytes]\n";
        let printed = self.world.run(&["print"]).stdout;
        assert_eq!(printed.matches(said).count(), 1, "{fault}: {printed}");
        assert!(printed.ends_with("Done.\n"), "{fault}: {printed}");
        assert_eq!(count(&self.world, "UserMessage"), 1, "{fault}");
        let tried = attempts(&self.world);
        let ends: Vec<_> = tried.iter().map(|it| it["ended"].as_str().unwrap()).collect();
        assert_eq!(ends, ["failed", "answered"], "{fault}");
        // The model of now, which is another one than that of the first attempt.
        assert_eq!(tried[1]["models"], json!([self.better]), "{fault}");
        assert_ne!(tried[0]["models"], tried[1]["models"], "{fault}");
        let view = &lines(&self.world.run(&["print", "--json"]).stdout)[0]["view"];
        assert_eq!(view["turns"][0]["head"]["agent"].as_str(), self.agent, "{fault}");
        let paid = lines_of(&self.world.work("pay.log"));
        let paid_max = if self.agent.is_some() { 0 } else { 2 };
        assert!((paid_max.min(1)..=paid_max).contains(&paid), "{fault}: paid {paid} times");
        let read = |name: &str| fs::read_to_string(self.world.work(name)).unwrap_or_default();
        assert_eq!((read("one.txt"), read("two.txt")), ("one\n".into(), "two\n".into()), "{fault}");
    }
}

/// Kills a retry at its points, every so many of them, and goes on each time.
fn crash_at_points(name: &str, begin: fn() -> Trial, step: usize) {
    if !can_trace() {
        return;
    }
    let asked = std::env::var("PITON_TASK_STEP").ok().and_then(|step| step.parse().ok());
    let undisturbed = begin();
    let points = points(&undisturbed.world, &undisturbed.retry(), &CHANGES);
    undisturbed.judge("undisturbed");
    let points = points.iter().flat_map(|(call, count)| (1..=*count).map(move |when| (call, when)));
    let points: Vec<_> = points.step_by(asked.unwrap_or(step)).collect();
    let mut killed = 0;
    for (call, when) in &points {
        let fault = format!("{call}:signal=SIGKILL:when={when}");
        let trial = begin();
        let expressions = [format!("trace={call}"), format!("inject={fault}")];
        killed += usize::from(trace(&trial.world, &trial.retry(), &expressions).code != 0);
        trial.recover(&fault);
        trial.judge(&fault);
    }
    println!("{name}, {killed} of {} points reached: 0 violations", points.len());
    assert!(0 < killed, "nothing was killed");
}

// Must show 4: killed at the points of the retry, and gone on with.
#[test]
fn crash_at_the_points_of_a_retry() {
    crash_at_points("a retry", Trial::new, STEP);
}

// C9, C13: the agent of the turn and the model of now, whenever the process dies.
#[test]
fn crash_at_the_points_of_a_coordinated_retry() {
    crash_at_points("a coordinated retry", Trial::coordinated, 2 * STEP);
}
