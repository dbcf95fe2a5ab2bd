//! What is said in a script is heard by the reader of every dialect.

use piton_core::answer::{Answer, Partial};
use piton_core::event::{AnswerPart, FinishReason};
use piton_core::id::TurnId;
use piton_sim::serve::{Options, Part, Server};
use serde_json::{Value, json};

use super::{Played, played, post, script};

async fn answer(server: &Server, played: &Played) -> Answer {
    let mut response = post(server, played.path, &played.body).await.unwrap();
    assert_eq!(response.status(), 200, "{}", played.path);
    let mut decoder = played.dialect.decoder(&[], &played.ask());
    let mut deltas = Vec::new();
    while let Some(piece) = response.chunk().await.unwrap() {
        decoder.push(&piece, &mut deltas).unwrap();
    }
    decoder.end(&mut deltas).unwrap();
    let mut partial = Partial::default();
    for delta in deltas {
        partial.push(delta);
    }
    partial.finish(TurnId(1), 0).unwrap()
}

/// What was heard: reasoning, text, calls.
fn heard(answer: &Answer) -> (String, String, Vec<(String, Value)>) {
    let (mut reasoning, mut text, mut calls) = (String::new(), String::new(), Vec::new());
    for part in &answer.parts {
        match part {
            AnswerPart::Reasoning { text: piece } => reasoning.push_str(piece),
            AnswerPart::Text { text: piece } => text.push_str(piece),
            AnswerPart::Call { name, arguments, provider_id, .. } => {
                assert!(provider_id.is_some(), "{name}");
                calls.push((name.clone(), serde_json::from_str(arguments).unwrap()));
            }
        }
    }
    (reasoning, text, calls)
}

fn three_blocks() -> Part {
    script(&json!({ "steps": [{
        "think": "Hm, grün.",
        "say": "Zwei Dateien: ä, 日本.",
        "calls": [
            { "tool": "look", "arguments": { "path": "ü.txt", "deep": [1, { "a": null }] } },
            { "tool": "look", "arguments": {} },
        ],
        "chunk": 3,
    }]}))
    .into()
}

async fn check(options: Options) {
    let server = Server::with(three_blocks(), options).unwrap();
    for played in played() {
        let answer = answer(&server, &played).await;
        let (reasoning, text, calls) = heard(&answer);
        assert_eq!(reasoning, "Hm, grün.", "{}", played.path);
        assert_eq!(text, "Zwei Dateien: ä, 日本.", "{}", played.path);
        let first = json!({ "path": "ü.txt", "deep": [1, { "a": null }] });
        let expected = [("look".to_owned(), first), ("look".to_owned(), json!({}))];
        assert_eq!(calls, expected, "{}", played.path);
        assert_eq!(answer.finish, FinishReason::ToolCalls, "{}", played.path);
        assert_eq!((answer.usage.input, answer.usage.output), (100, 10), "{}", played.path);
    }
    let seen = server.seen();
    assert!(seen.iter().all(|seen| (seen.status, seen.step) == (200, Some(0))), "{seen:?}");
}

#[tokio::test]
async fn every_dialect_hears_what_the_script_says() {
    check(Options::default()).await;
}

#[tokio::test]
async fn every_dialect_hears_it_byte_by_byte() {
    check(Options { split: 1, ..Options::default() }).await;
}

#[tokio::test]
async fn every_dialect_hears_it_packed() {
    check(Options { gzip: true, ..Options::default() }).await;
    check(Options { gzip: true, split: 1, ..Options::default() }).await;
}

// J54
#[tokio::test]
async fn every_dialect_tells_an_answer_that_the_output_limit_cut() {
    let part = script(&json!({ "steps": [{
        "say": "first",
        "calls": [{ "tool": "look", "arguments": { "path": "a" } }],
        "end": "length",
    }]}));
    let server = Server::start(part).unwrap();
    for played in played() {
        let answer = answer(&server, &played).await;
        assert_eq!(answer.finish, FinishReason::Length, "{}", played.path);
        assert_eq!(heard(&answer).2, [], "{}: a cut call is not run", played.path);
    }
}

// J53, J56
#[tokio::test]
async fn every_dialect_tells_refusals_and_bears_two_ends() {
    let part = script(&json!({ "steps": [{ "say": "No.", "end": "refused" }] }));
    let refusing = Server::start(part).unwrap();
    let part = script(&json!({ "steps": [{ "say": "Yes.", "end": "twice" }] }));
    let ending = Server::start(part).unwrap();
    for played in played() {
        let refused = answer(&refusing, &played).await;
        assert_eq!(refused.finish, FinishReason::Refused, "{}", played.path);
        assert_eq!(heard(&answer(&ending, &played).await).1, "Yes.", "{}", played.path);
    }
}

#[tokio::test]
async fn an_answer_in_one_piece_says_the_same() {
    let server = Server::start(three_blocks()).unwrap();
    for mut played in played() {
        if played.name == "codex" {
            continue; // never speaks in one piece
        }
        let path = match played.path.split_once(":stream") {
            Some((model, _)) => format!("{model}:generateContent"),
            None => played.path.to_owned(),
        };
        let body = played.body.as_object_mut().unwrap();
        body.remove("stream");
        body.remove("stream_options");
        let text = post(&server, &path, &played.body).await.unwrap().text().await.unwrap();
        let whole: Value = serde_json::from_str(&text).unwrap();
        for word in ["Zwei Dateien: ä, 日本.", "Hm, grün.", "look", "ü.txt"] {
            assert!(whole.to_string().contains(word), "{path}: {word} in {whole}");
        }
    }
}

#[tokio::test]
async fn the_demo_model_can_be_asked_in_every_dialect() {
    let server = Server::start(Part::Demo).unwrap();
    for played in played() {
        let (_, text, _) = heard(&answer(&server, &played).await);
        assert!(text.starts_with("I am piton's built-in demo model"), "{}: {text}", played.path);
    }
}

#[test]
fn the_script_of_the_documentation_can_be_read() {
    let page = include_str!("../../../../../docs/sim.md");
    let (_, rest) = page.split_once("```json\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    let script = piton_sim::script::Script::parse(example).unwrap();
    assert_eq!((script.steps.len(), script.steps[0].faults[0].times), (2, 2));
}
