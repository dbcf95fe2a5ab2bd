//! What a provider rejects is rejected here, in its own words.

use piton_sim::script::Script;
use piton_sim::serve::{Options, PATHS, Server};
use serde_json::{Value, json};

use super::{played, post, refused};

fn silent() -> Server {
    Server::start(Script::default()).unwrap()
}

async fn check(path: &str, body: Value, status: u16, message: &str) {
    let (found, said) = refused(&silent(), path, &body).await;
    let words = said["error"]["message"].as_str().or(said["detail"].as_str()).unwrap_or_default();
    assert_eq!((found, words), (status, message), "{path}: {said}");
}

fn anthropic(messages: Value) -> Value {
    json!({ "model": "claude-sonnet-4-5", "max_tokens": 9, "stream": true, "messages": messages })
}

#[tokio::test]
async fn anthropic_objects_to_calls_and_results_out_of_order() {
    let call = json!({ "type": "tool_use", "id": "call_1", "name": "look", "input": {} });
    let result = json!({ "type": "tool_result", "tool_use_id": "call_1", "content": "hi" });
    let user = json!({ "role": "user", "content": "go" });
    let called = json!({ "role": "assistant", "content": [call] });
    check(
        "/v1/messages",
        anthropic(json!([user, called, user])),
        400,
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: \
         call_1. Each `tool_use` block must have a corresponding `tool_result` block in the next \
         message.",
    )
    .await;
    check(
        "/v1/messages",
        anthropic(json!([{ "role": "user", "content": [result] }])),
        400,
        "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: call_1. \
         Each `tool_result` block must have a corresponding `tool_use` block in the previous \
         message.",
    )
    .await;
    check(
        "/v1/messages",
        anthropic(json!([user, called, { "role": "user", "content": [result, result] }])),
        400,
        "messages.2.content.1: each tool_use must have a single result. Found multiple \
         `tool_result` blocks with id: call_1",
    )
    .await;
}

#[tokio::test]
async fn chat_objects_to_calls_and_results_out_of_order() {
    let function = json!({ "name": "look", "arguments": "{}" });
    let call = json!({ "id": "call_1", "type": "function", "function": function });
    let user = json!({ "role": "user", "content": "go" });
    let called = json!({ "role": "assistant", "content": null, "tool_calls": [call] });
    let result = json!({ "role": "tool", "tool_call_id": "call_1", "content": "hi" });
    let body = |messages: Value| json!({ "model": "m", "messages": messages });
    check(
        "/v1/chat/completions",
        body(json!([user, called, user])),
        400,
        "An assistant message with 'tool_calls' must be followed by tool messages responding to \
         each 'tool_call_id'. The following tool_call_ids did not have response messages: call_1",
    )
    .await;
    check(
        "/v1/chat/completions",
        body(json!([user, called, result, result])),
        400,
        "Invalid parameter: Duplicate value for 'tool_call_id' of 'call_1', in messages[2] and \
         messages[3].",
    )
    .await;
    check(
        "/deepseek/chat/completions",
        body(json!([user, called, result])),
        400,
        "The reasoning_content in the thinking mode must be passed back to the API.",
    )
    .await;
    check(
        "/mistral/v1/chat/completions",
        body(json!([user, called, result])),
        400,
        "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.",
    )
    .await;
}

#[tokio::test]
async fn responses_and_codex_object_to_calls_and_results_out_of_order() {
    let user = json!({ "role": "user", "content": "go" });
    let call =
        json!({ "type": "function_call", "call_id": "call_1", "name": "look", "arguments": "{}" });
    let output = json!({ "type": "function_call_output", "call_id": "call_1", "output": "hi" });
    let body = |input: Value| json!({ "model": "m", "input": input });
    check(
        "/v1/responses",
        body(json!([user, call])),
        400,
        "No tool output found for function call call_1.",
    )
    .await;
    check(
        "/v1/responses",
        body(json!([user, output])),
        400,
        "No tool call found for function call output with call_id call_1.",
    )
    .await;
    check(
        "/v1/responses",
        json!({ "model": "m", "input": "go", "previous_response_id": "resp_9" }),
        400,
        "Previous response with id 'resp_9' not found.",
    )
    .await;
    check(
        "/backend-api/codex/responses",
        json!({ "model": "m", "input": [user], "instructions": "x", "stream": true }),
        400,
        "Store must be set to false",
    )
    .await;
}

#[tokio::test]
async fn schemas_that_are_combined_at_the_root_are_rejected() {
    let schema = json!({ "type": "object", "properties": {}, "oneOf": [{}] });
    let user = json!([{ "role": "user", "content": "go" }]);
    let mut body = anthropic(user.clone());
    body["tools"] = json!([{ "name": "pick", "input_schema": schema }]);
    check(
        "/v1/messages",
        body,
        400,
        "tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the \
         top level",
    )
    .await;
    let said = "Invalid schema for function 'pick': schema must have type 'object' and not have \
                'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.";
    let tool = json!({ "type": "function", "function": { "name": "pick", "parameters": schema } });
    let body = json!({ "model": "m", "messages": user, "tools": [tool] });
    check("/v1/chat/completions", body, 400, said).await;
    let tool = json!({ "type": "function", "name": "pick", "parameters": schema });
    let body = json!({ "model": "m", "input": user, "tools": [tool] });
    check("/v1/responses", body, 400, said).await;
    let declared = json!([{ "name": "pick", "parametersJsonSchema": schema }]);
    let contents = json!([{ "role": "user", "parts": [{ "text": "go" }] }]);
    check(
        "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
        json!({ "contents": contents, "tools": [{ "functionDeclarations": declared }] }),
        400,
        "Unable to submit request because a functionDeclaration `parameters` schema specified \
         other fields alongside any_of. When using any_of, it must be the only field set.",
    )
    .await;
}

#[tokio::test]
async fn gemini_objects_to_calls_and_results_out_of_order() {
    let path = "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse";
    let user = json!({ "role": "user", "parts": [{ "text": "go" }] });
    let call = json!({ "functionCall": { "name": "look", "args": {} } });
    let called = json!({ "role": "model", "parts": [call, call] });
    let response = json!({ "functionResponse": { "name": "look", "response": { "output": "a" } } });
    let results = json!({ "role": "user", "parts": [response] });
    let count = "Please ensure that the number of function response parts is equal to the number \
                 of function call parts of the function call turn.";
    check(path, json!({ "contents": [user, called, results] }), 400, count).await;
    let path = "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse";
    let called = json!({ "role": "model", "parts": [call] });
    let unsigned = "Function call is missing a thought_signature in functionCall parts. This is \
                    required for tools to work correctly.";
    check(path, json!({ "contents": [user, called, results] }), 400, unsigned).await;
}

// K56
#[tokio::test]
async fn a_missing_or_wrong_key_is_told_in_the_providers_shape() {
    let options = Options { key: Some("another".into()), ..Options::default() };
    let picky = Server::with(Script::default(), options).unwrap();
    for played in played() {
        let url = format!("{}{}", picky.url(), played.path);
        let bare = super::client().post(url).body(played.body.to_string()).send().await.unwrap();
        if played.name == "local-chat" {
            assert_eq!(bare.status(), 200);
            continue;
        }
        let (bare, wrong) = (bare, post(&picky, played.path, &played.body).await.unwrap());
        for answer in [bare, wrong] {
            let status = answer.status().as_u16();
            let body = answer.bytes().await.unwrap();
            let failure = played.dialect.failure(status, &|_| None, &body);
            let class = piton_core::event::FailureClass::Auth;
            assert_eq!(failure.class, class, "{} {status}: {failure}", played.path);
        }
    }
    let keys = format!("{:?}", picky.seen());
    assert!(!keys.contains("k3y") && keys.contains("[key]"), "keys are not kept");
}

#[tokio::test]
async fn an_unknown_path_is_told_which_there_are() {
    let server = silent();
    let (status, said) = refused(&server, "/v2/messages?key=s3cret", &json!({})).await;
    let message = said["error"]["message"].as_str().unwrap().to_owned();
    assert_eq!(status, 404);
    assert!(message.starts_with("Nothing is served at POST /v2/messages."), "{message}");
    assert!(PATHS.iter().all(|path| message.contains(path)), "{message}");
    let seen = server.seen();
    assert_eq!((seen[0].path.as_str(), seen[0].dialect), ("/v2/messages?key=[key]", ""));
    assert_eq!(seen[0].note, "nothing is served there");
}

#[tokio::test]
async fn a_body_that_is_no_json_is_refused() {
    let server = silent();
    for played in played() {
        let url = format!("{}{}", server.url(), played.path);
        let request = super::client().post(url).header("x-api-key", "k").bearer_auth("k");
        let answer = request.header("x-goog-api-key", "k").body("{").send().await.unwrap();
        let status = answer.status().as_u16();
        let failure = played.dialect.failure(status, &|_| None, &answer.bytes().await.unwrap());
        let class = piton_core::event::FailureClass::InvalidRequest;
        assert_eq!((status, failure.class), (400, class), "{}", played.path);
        assert!(failure.message.contains("not valid JSON"), "{}", failure.message);
    }
}

#[tokio::test]
async fn fields_that_are_not_known_are_borne() {
    let server = silent();
    for mut played in played() {
        if played.name == "codex" {
            continue; // the backend itself rejects what it does not know
        }
        played.body["service_tier"] = json!("default");
        played.body["something_new"] = json!({ "a": [1] });
        let answer = post(&server, played.path, &played.body).await.unwrap();
        assert_eq!(answer.status(), 200, "{}", played.path);
    }
}
