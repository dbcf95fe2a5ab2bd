//! Signed reasoning that comes back altered is rejected; as it was sent, it is taken. J51, J52.

use piton_sim::script::{Fault, FaultKind, Script};
use piton_sim::serve::{Options, Server};
use serde_json::{Value, json};

use super::{post, refused};

fn thinker() -> Script {
    super::script(&json!({ "steps": [
        { "think": "Hm.", "calls": [{ "tool": "look", "arguments": {} }] },
        { "say": "Done." },
    ]}))
}

const ANTHROPIC: &str = "/v1/messages";
const RESPONSES: &str = "/v1/responses";
const GEMINI: &str = "/v1beta/models/gemini-3-pro:generateContent";

/// A request that is answered with a call, in one piece.
fn first(path: &str) -> Value {
    match path {
        ANTHROPIC => json!({
            "model": "claude-sonnet-4-5",
            "max_tokens": 9,
            "messages": [{ "role": "user", "content": "go" }],
        }),
        RESPONSES => json!({
            "model": "m",
            "store": false,
            "include": ["reasoning.encrypted_content"],
            "input": [{ "role": "user", "content": "go" }],
        }),
        _ => json!({ "contents": [{ "role": "user", "parts": [{ "text": "go" }] }] }),
    }
}

/// The request behind it: the answer goes back, with a result.
fn second(path: &str, answer: &Value) -> Value {
    let mut body = first(path);
    match path {
        ANTHROPIC => {
            let result =
                json!({ "type": "tool_result", "tool_use_id": "call_0_0", "content": "x" });
            let messages = body["messages"].as_array_mut().unwrap();
            messages.push(json!({ "role": "assistant", "content": answer["content"] }));
            messages.push(json!({ "role": "user", "content": [result] }));
        }
        RESPONSES => {
            let input = body["input"].as_array_mut().unwrap();
            input.extend(answer["output"].as_array().unwrap().iter().cloned());
            input.push(json!({
                "type": "function_call_output", "call_id": "call_0_0", "output": "x",
            }));
        }
        _ => {
            let response = json!({ "name": "look", "id": "call_0_0", "response": { "output": 1 } });
            let contents = body["contents"].as_array_mut().unwrap();
            contents.push(answer["candidates"][0]["content"].clone());
            contents.push(json!({ "role": "user", "parts": [{ "functionResponse": response }] }));
        }
    }
    body
}

async fn answer(server: &Server, path: &str, body: &Value) -> Value {
    let text = post(server, path, body).await.unwrap().text().await.unwrap();
    serde_json::from_str(&text).unwrap()
}

#[tokio::test]
async fn an_altered_signature_is_rejected_in_the_providers_words() {
    for (path, said) in [
        (ANTHROPIC, "messages.1.content.0: Invalid `signature` in `thinking` block"),
        (
            RESPONSES,
            "The encrypted content gAAA... could not be verified. Reason: Encrypted content could \
             not be decrypted or parsed.",
        ),
        (GEMINI, "Corrupted thought signature. Position: contents[1].parts[1]."),
    ] {
        let server = Server::start(thinker()).unwrap();
        let given = answer(&server, path, &first(path)).await;
        let body = second(path, &given);
        let done = answer(&server, path, &body).await.to_string();
        assert!(done.contains("Done."), "{path}: {done}");
        // Seals are told by what they are on, so another server knows them too.
        let other = Server::start(thinker()).unwrap();
        assert!(answer(&other, path, &body).await.to_string().contains("Done."), "{path}");

        let text = body.to_string();
        let sealed = text.find("\"sim").or_else(|| text.find("gAAAAAB")).unwrap() + 20;
        let altered = format!("{}x{}", &text[..sealed], &text[sealed + 1..]);
        let (status, error) =
            refused(&server, path, &serde_json::from_str(&altered).unwrap()).await;
        assert_eq!((status, error["error"]["message"].as_str()), (400, Some(said)), "{path}");
    }
}

#[tokio::test]
async fn a_script_can_reject_signatures_that_are_intact() {
    for path in [ANTHROPIC, RESPONSES, GEMINI] {
        let fault = Fault::new(FaultKind::BadSignature).times(2);
        let options = Options { faults: vec![(None, fault)], ..Options::default() };
        let server = Server::with(thinker(), options).unwrap();
        // A request without any is not touched, and the fault waits.
        let given = answer(&server, path, &first(path)).await;
        let body = second(path, &given);
        for expected in [400, 400, 200] {
            assert_eq!(post(&server, path, &body).await.unwrap().status(), expected, "{path}");
        }
    }
}

/// Changes the first message, which stands before the answer.
fn another_beginning(path: &str, body: &mut Value) {
    match path {
        ANTHROPIC => body["messages"][0]["content"] = json!("come"),
        RESPONSES => body["input"][0]["content"] = json!("come"),
        _ => body["contents"][0]["parts"][0]["text"] = json!("come"),
    }
}

/// Instructions that were not there.
fn another_head(path: &str, body: &mut Value) {
    match path {
        ANTHROPIC => body["system"] = json!("Be brief."),
        RESPONSES => body["instructions"] = json!("Be brief."),
        _ => body["systemInstruction"] = json!({ "parts": [{ "text": "Be brief." }] }),
    }
}

/// Leaves the sealed blocks out, as a client does whose history changed for a reason.
fn without_seals(path: &str, body: &mut Value) {
    let is_sealed = |it: &Value| it["type"] == "thinking" || it["type"] == "reasoning";
    match path {
        ANTHROPIC => {
            body["messages"][1]["content"].as_array_mut().unwrap().retain(|it| !is_sealed(it));
        }
        RESPONSES => body["input"].as_array_mut().unwrap().retain(|it| !is_sealed(it)),
        _ => {
            for part in body["contents"][1]["parts"].as_array_mut().unwrap() {
                if part.get("thoughtSignature").is_some() {
                    part["thoughtSignature"] = json!("skip_thought_signature_validator");
                }
            }
        }
    }
}

// X4: as newer providers do.
#[tokio::test]
async fn a_beginning_that_changed_is_rejected_unless_the_sealed_blocks_are_left_out() {
    for path in [ANTHROPIC, RESPONSES, GEMINI] {
        let server = Server::start(thinker()).unwrap();
        let given = answer(&server, path, &first(path)).await;
        for change in [another_beginning, another_head] {
            let mut body = second(path, &given);
            change(path, &mut body);
            let (status, error) = refused(&server, path, &body).await;
            let said = error["error"]["message"].as_str().unwrap_or_default();
            assert_eq!(status, 400, "{path}: {error}");
            assert!(
                said.contains("nothing that stands before it may be changed"),
                "{path}: {said}"
            );
            without_seals(path, &mut body);
            let done = answer(&server, path, &body).await.to_string();
            assert!(done.contains("Done."), "{path}: {done}");
        }
    }
}

// Marks for caches are no part of what is said.
#[tokio::test]
async fn a_mark_for_a_cache_may_move() {
    let server = Server::start(thinker()).unwrap();
    let part = |mark: &str| format!(r#"[{{"type":"text","text":"go"{mark}}}]"#);
    let body = |content: String, rest: &str| {
        let text = format!(
            r#"{{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{{"role":"user","content":{content}}}{rest}]}}"#
        );
        serde_json::from_str::<Box<serde_json::value::RawValue>>(&text).unwrap()
    };
    let ask = async |body: Box<serde_json::value::RawValue>| {
        let text = post(&server, ANTHROPIC, &body).await.unwrap().text().await.unwrap();
        serde_json::from_str::<Value>(&text).unwrap()
    };
    let given = ask(body(part(r#","cache_control":{"type":"ephemeral"}"#), "")).await;
    let rest = format!(
        r#",{{"role":"assistant","content":{}}},{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"call_0_0","content":"x"}}]}}"#,
        given["content"]
    );
    let done = ask(body(part(""), &rest)).await.to_string();
    assert!(done.contains("Done."), "{done}");
}
