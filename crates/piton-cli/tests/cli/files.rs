//! Files that go along with a message.

use std::fs;
use std::process::Command;

use expect_test::expect;
use serde_json::Value;

use crate::loopback::{Loopback, PROVIDERS, chat, refusal, stream};
use crate::world::World;

/// The smallest thing that is taken for an image, and how it looks in base64.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
const PNG_BASE64: &str = "iVBORw0KGgo=";

const ONE: &str = r#"{"steps":[{"say":"One."},{"say":"Two."}]}"#;

fn world() -> World {
    let world = World::new();
    fs::write(world.work("a.png"), PNG).unwrap();
    world
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

// C16
#[test]
fn an_image_goes_to_every_provider() {
    for provider in &PROVIDERS {
        let world = world();
        let server = Loopback::start(vec![stream(provider.yes)]);
        let args = ["query", "A dot?", "-f", "a.png", "--model", provider.model];
        let ran = provider.run(&world, &server, &args);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "Yes.\n"), "{}", ran.stderr);
        let (_, body) = server.request(0);
        let sent = texts(&body).iter().filter(|text| text.ends_with(PNG_BASE64)).count();
        assert_eq!(sent, 1, "{}: {body}", provider.model);
        let parts = world.user_parts();
        assert_eq!((&parts[0]["part"], &parts[1]["part"]), (&"Text".into(), &"File".into()));
        assert_eq!(parts[1]["blob"]["bytes"], 8, "the journal has a reference: {parts:?}");
    }
}

#[test]
fn a_resumed_turn_sends_the_same_image_although_the_original_is_gone() {
    let (world, provider) = (world(), chat());
    let server = Loopback::start(vec![refusal("401 Unauthorized", "{}"), stream(provider.yes)]);
    let args = ["query", "A dot?", "--file", "a.png", "--model", provider.model];
    assert_eq!(provider.run(&world, &server, &args).code, 1);
    fs::remove_file(world.work("a.png")).unwrap();
    let ran = provider.run(&world, &server, &["query", "--continue"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Yes.\n"), "{}", ran.stderr);
    assert_eq!(server.request(0).1, server.request(1).1);
    world.check(
        &[&["print"]],
        expect![[r#"
        $ piton print
        > A dot?
        > [image a.png, 8 bytes]
        Yes.
        2> conversation AAAAAAAAAA
        exit 0
    "#]],
    );
}

// C15, C16, C18, C19
#[test]
fn a_text_is_sent_as_text_and_kept_apart() {
    let (world, provider) = (world(), chat());
    fs::create_dir(world.work("notes")).unwrap();
    fs::write(world.work("notes/b.json"), "{\r\n}\r\n").unwrap();
    let server = Loopback::start(vec![stream(provider.yes), stream(provider.yes)]);
    let alone = ["query", "-f", "./notes/b.json", "--model", provider.model];
    assert_eq!(provider.run(&world, &server, &alone).code, 0);
    let lookalike = "Attached file: x\nMIME: text/plain\ny";
    let ran = provider.run(&world, &server, &["query", lookalike, "-f", "a.png"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let (_, body) = server.request(1);
    let said = body["messages"][1]["content"].as_str().unwrap();
    let said = said.split_once("</context>\n\n").unwrap().1;
    assert_eq!(said, "Attached file: notes/b.json\nMIME: application/json\n{\r\n}\r\n");
    let parts = world.user_parts();
    let kinds: Vec<_> = parts.iter().map(|part| part["part"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["InlinedFile", "Text", "File"]);
    assert_eq!(parts[0]["text"], "{\r\n}\r\n");
    let printed = world.run(&["print"]).stdout;
    assert!(printed.contains("> [file notes/b.json, 6 bytes]\n"), "{printed}");
    assert!(printed.contains("> MIME: text/plain\n"), "what was typed is shown as typed");
}

#[test]
fn what_cannot_go_along_is_told_and_the_message_kept() {
    let world = world();
    let model = world.script(ONE);
    fs::write(world.work("empty.png"), "").unwrap();
    let large = fs::File::create(world.work("large.png")).unwrap();
    large.set_len(15 * 1024 * 1024).unwrap();
    world.check(
        &[
            &["query", "see", "--model", &model, "-f", "none.png"],
            &["query", "see", "--model", &model, "-f", "."],
            &["query", "see", "--model", &model, "-f", "empty.png"],
            &["query", "see", "--model", &model, "-f", "large.png"],
            &["query", "see", "--model", &model, "-f", "a.png"],
        ],
        expect![[r#"
            $ piton query see --model script:DIR/script.json -f none.png
            2> error: cannot read none.png: No such file or directory (os error 2)
            2> hint: check the path after --file; it counts from here
            2> hint: your message is kept; to send it: piton query --draft
            exit 2
            $ piton query see --model script:DIR/script.json -f .
            2> error: . is a directory
            2> hint: name files one by one; the tools can look into directories
            2> hint: your message is kept; to send it: piton query --draft
            exit 2
            $ piton query see --model script:DIR/script.json -f empty.png
            2> error: empty.png is empty
            2> hint: there is nothing to send in it; leave it out
            2> hint: your message is kept; to send it: piton query --draft
            exit 2
            $ piton query see --model script:DIR/script.json -f large.png
            2> error: large.png is larger than 14.6 MB
            2> hint: make it smaller, or leave it in this directory and name it: tools read files in parts
            2> hint: your message is kept; to send it: piton query --draft
            exit 2
            $ piton query see --model script:DIR/script.json -f a.png
            One.
            2> conversation AAAAAAAAAA (new), turn 1, model script:DIR/script.json
            exit 0
        "#]],
    );
}

#[test]
fn a_pipe_is_read_to_its_end_and_that_is_said_before() {
    let world = world();
    let model = world.script(ONE);
    let status = Command::new("mkfifo").arg(world.work("pipe")).status().unwrap();
    assert!(status.success());
    let mut writer = Command::new("sh");
    writer.args(["-c", "cat a.png > pipe"]).current_dir(world.work("."));
    let mut writer = writer.spawn().unwrap();
    let ran = world.run(&["query", "see", "--model", &model, "-f", "pipe"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "One.\n"), "{}", ran.stderr);
    assert!(ran.stderr.starts_with("Reading pipe to its end: it is a pipe.\n"), "{}", ran.stderr);
    assert!(writer.wait().unwrap().success());
}

// C21
#[test]
fn a_model_that_does_not_see_is_not_asked_and_later_told() {
    let (world, provider) = (world(), chat());
    fs::write(world.work("b.zip"), b"PK\x03\x04\xff").unwrap();
    let server = Loopback::start(vec![stream(provider.yes), stream(provider.yes)]);
    let deaf = ["query", "A dot?", "-f", "a.png", "--model", "openai-chat/gpt-3.5-turbo"];
    let refused = provider.run(&world, &server, &deaf);
    assert_eq!((refused.code, server.requests()), (2, 0));
    let lines = provider.run(&world, &server, &[&deaf[..], &["--json"]].concat()).stdout;
    let only: Value = serde_json::from_str(&lines).expect("one line: no conversation has begun");
    assert_eq!((&only["type"], &only["reason"]), (&"result".into(), &"file".into()));
    expect![[r#"
        2> error: a.png cannot be sent: openai-chat/gpt-3.5-turbo takes no images
        2> hint: choose a model that takes it with --model; piton help models says what each takes
        2> hint: or leave it in this directory and name it, and let the tools look at it
        2> hint: your message is kept; to send it: piton query --draft
        exit 2
    "#]]
    .assert_eq(&world.shown(&refused));
    let zip = ["query", "A dot?", "-f", "b.zip", "--model", provider.model];
    let refused = provider.run(&world, &server, &zip);
    assert!(refused.stderr.contains("takes no files of type application/octet-stream"));
    // The kept message goes with its files to a model that sees.
    let ran = provider.run(
        &world,
        &server,
        &["query", "--draft", "-f", "a.png", "--model", provider.model],
    );
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    // And the conversation goes on with one that does not.
    let ran =
        provider.run(&world, &server, &["query", "And?", "--model", "openai-chat/gpt-3.5-turbo"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let told = "note: openai-chat/gpt-3.5-turbo takes no images; it is only told of a.png";
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
    let (_, body) = server.request(1);
    let sent = body["messages"][1]["content"].as_str().unwrap();
    assert!(sent.contains("(Not sent: this model takes no images.)"), "{sent}");
}

#[test]
fn a_kept_message_is_sent_with_its_files() {
    let world = world();
    let model = world.script(ONE);
    let failed = world.run(&["query", "see", "--model", &model, "-f", "a.png", "-f", "later.txt"]);
    assert_eq!(failed.code, 2);
    let told = world.run(&["query", "other", "--model", &model]);
    assert!(told.stderr.contains("An unsent message is kept: see (with a.png, later.txt)"));
    fs::write(world.work("later.txt"), "now").unwrap();
    let sent = world.run(&["query", "--draft", "--model", &model]);
    assert_eq!(sent.code, 0, "{}", sent.stderr);
    let parts = world.user_parts();
    let names: Vec<_> = parts.iter().filter_map(|part| part["name"].as_str()).collect();
    assert_eq!(names, ["a.png", "later.txt"]);
}

// J39: two messages that say the same of different things are two.
#[test]
fn a_kept_message_stays_when_its_text_is_sent_with_other_files() {
    let world = world();
    let model = world.script(ONE);
    let failed = world.run(&["query", "see", "--model", &model, "-f", "later.txt"]);
    assert_eq!(failed.code, 2);
    fs::write(world.work("later.txt"), "now").unwrap();
    let other = world.run(&["query", "see", "--model", &model, "-f", "a.png"]);
    assert_eq!(other.code, 0, "{}", other.stderr);
    let told = "An unsent message is kept: see (with later.txt)";
    assert!(other.stderr.contains(told), "{}", other.stderr);
    let sent = world.run(&["query", "--draft", "--continue"]);
    assert_eq!(sent.code, 0, "{}", sent.stderr);
    let parts = world.user_parts();
    let names: Vec<_> = parts.iter().filter_map(|part| part["name"].as_str()).collect();
    assert_eq!(names, ["a.png", "later.txt"]);
}

#[test]
fn what_is_not_recorded_has_the_files_of_what_was() {
    let (world, provider) = (world(), chat());
    let server = Loopback::start(vec![stream(provider.yes), stream(provider.yes)]);
    let args = ["query", "A dot?", "-f", "a.png", "--model", provider.model];
    assert_eq!(provider.run(&world, &server, &args).code, 0);
    let passing = ["query", "And this?", "-f", "a.png", "--no-persist"];
    assert_eq!(provider.run(&world, &server, &passing).code, 0);
    let sent = texts(&server.request(1).1).iter().filter(|it| it.ends_with(PNG_BASE64)).count();
    assert_eq!(sent, 2);
}
