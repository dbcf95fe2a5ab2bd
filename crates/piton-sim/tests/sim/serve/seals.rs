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
