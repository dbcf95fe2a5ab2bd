//! What programs ask and send.

use std::time::Duration;

use axum::body::Body;
use axum::http::StatusCode;
use piton::view::Status;
use serde_json::{Value, json};

use crate::stage::{Stage, told};

const TALK: &str = r#"{"steps":[{"say":"one"},{"say":"two"},{"say":"three"},{"say":"four"}]}"#;
const SLOW: &str = r#"{"steps":[{"say":"slowly said","chunk":1,"chunk_ms":1000},{"say":"two"}]}"#;
const ASKS: &str = r#"{"steps":[
    {"calls":[{"tool":"ask_user","arguments":{"question":"Which colour?"}}]},
    {"say":"Blue it is."}
]}"#;
const FAILS: &str = r#"{"steps":[{"say":"late","faults":[{"kind":{"fail":"auth"},"times":1}]}]}"#;

#[tokio::test(start_paused = true)]
async fn a_conversation_is_begun_and_a_message_is_answered() {
    let stage = Stage::new(TALK);
    let id = stage.begin().await;
    let said = stage
        .post(&format!("/conversations/{id}/prompt"), json!({ "text": "go", "wait": true }))
        .await;
    assert_eq!(said["verdict"], "taken");
    assert_eq!((&said["ending"], &said["answer"]), (&json!("done"), &json!("one")));
    let view = stage.get(&format!("/conversations/{id}")).await;
    assert_eq!(view["turns"].as_array().unwrap().len(), 1);
    assert_eq!(view["head"]["workspace"], json!(stage.work()));
    let messages = stage.get(&format!("/conversations/{id}/messages")).await;
    assert_eq!(messages["messages"][0]["message"]["parts"][0]["text"], "go");
    assert_eq!(messages["messages"][0]["answer"], "one");
    let tokens = stage.get(&format!("/conversations/{id}/tokens")).await;
    assert!(tokens["expected"].is_u64(), "{tokens}");
    let none = stage.get(&format!("/conversations/{id}?turns=0")).await;
    assert_eq!(none["turns"], json!([]));
}

// C34
#[tokio::test(start_paused = true)]
async fn a_command_that_is_sent_twice_is_one_and_gives_the_same_receipt() {
    let stage = Stage::new(TALK);
    let id = stage.begin().await;
    let message = json!({ "text": "go", "id": "c1" });
    let path = format!("/conversations/{id}/messages");
    let first = stage.post(&path, message.clone()).await;
    let again = stage.post(&path, message).await;
    assert_eq!(first, again);
    let envelope =
        json!({ "v": 1, "id": "c2", "from": {}, "command": { "kind": "rename", "title": "t" } });
    let path = format!("/conversations/{id}/commands");
    let first = stage.post(&path, envelope.clone()).await;
    assert_eq!(first, stage.post(&path, envelope).await);
    assert!(first["entry"].is_u64());
    assert_eq!(stage.view(&id).await.turns.len(), 1);
    // One that is refused is refused for the same reason.
    let envelope =
        json!({ "v": 1, "id": "c3", "from": {}, "command": { "kind": "unqueue", "message": "x" } });
    let (status, one) = stage.ask("POST", &path, envelope.clone()).await;
    let (_, other) = stage.ask("POST", &path, envelope).await;
    assert_eq!(status, StatusCode::CONFLICT);
    assert_eq!(one["error"]["details"], other["error"]["details"]);
    assert_eq!(one["error"]["details"]["refusal"]["why"], "unknown_message");
}

#[tokio::test(start_paused = true)]
async fn a_conversation_that_is_created_twice_under_one_name_is_one() {
    let stage = Stage::new(TALK);
    let new = json!({ "id": "abcdefghjk", "title": "Mine" });
    let (first, _) = stage.ask("POST", "/conversations", new.clone()).await;
    let (again, begun) = stage.ask("POST", "/conversations", new.clone()).await;
    assert_eq!((first, again), (StatusCode::CREATED, StatusCode::OK));
    assert_eq!(begun["conversation"], "abcdefghjk");
    assert_eq!(stage.view("abcdefghjk").await.head.title, "Mine");
    let other = stage.begin().await;
    let taken = stage.refused("POST", "/conversations", json!({ "id": "ABC" })).await;
    assert_eq!(taken, (400, "bad_input".into()));
    // The name of a conversation that nobody created by it.
    stage.post(&format!("/conversations/{other}/fork"), json!({})).await;
    let listed = stage.get("/conversations").await;
    let fork = listed["conversations"].as_array().unwrap().iter();
    let mut fork = fork.map(|row| row["conversation"].as_str().unwrap());
    let fork = fork.find(|id| *id != other && *id != "abcdefghjk").unwrap();
    let taken = stage.refused("POST", "/conversations", json!({ "id": fork })).await;
    assert_eq!(taken, (409, "exists".into()));
}

#[tokio::test(start_paused = true)]
async fn of_requests_that_begin_one_conversation_at_once_one_has_begun_it() {
    let stage = Stage::new(TALK);
    let new = || stage.ask("POST", "/conversations", json!({ "id": "abcdefghjk" }));
    let (one, two, three) = tokio::join!(new(), new(), new());
    let mut told = [one.0, two.0, three.0];
    told.sort();
    assert_eq!(told, [StatusCode::OK, StatusCode::OK, StatusCode::CREATED]);
    assert_eq!(stage.get("/conversations").await["total"], 1);
}

#[tokio::test(start_paused = true)]
async fn a_fork_that_is_made_twice_under_one_name_is_one() {
    let stage = Stage::new(TALK);
    let id = stage.said("go").await;
    let path = format!("/conversations/{id}/fork");
    let new = || stage.ask("POST", &path, json!({ "id": "abcdefghjk", "at": { "turn": 1 } }));
    let (one, two) = tokio::join!(new(), new());
    let mut told = [one.0, two.0];
    told.sort();
    assert_eq!(told, [StatusCode::OK, StatusCode::CREATED]);
    assert_eq!((&one.1, &one.1["conversation"]), (&two.1, &json!("abcdefghjk")));
    assert_eq!(stage.get("/conversations").await["total"], 2);
    // A fork of the fork shares its origin.
    let again = json!({ "id": "abcdefghjm", "at": { "turn": 1 } });
    let path = "/conversations/abcdefghjk/fork";
    assert_eq!(stage.ask("POST", path, again.clone()).await.0, StatusCode::CREATED);
    assert_eq!(stage.ask("POST", path, again).await.0, StatusCode::OK);
    // A name of something else.
    let other = stage.begin().await;
    for taken in [json!({ "id": id }), json!({ "id": other })] {
        let refused = stage.refused("POST", path, taken).await;
        assert_eq!(refused, (409, "exists".into()));
    }
    let path = format!("/conversations/{other}/fork");
    let refused = stage.refused("POST", &path, json!({ "id": "abcdefghjk" })).await;
    assert_eq!(refused, (409, "exists".into()));
    let refused = stage.refused("POST", &path, json!({ "id": "ABC" })).await;
    assert_eq!(refused, (400, "bad_input".into()));
}

#[tokio::test(start_paused = true)]
async fn the_list_is_filtered_and_read_in_parts() {
    let stage = Stage::new(TALK);
    let mut ids = Vec::new();
    for title in ["red one", "blue", "red two"] {
        let begun = stage.post("/conversations", json!({ "title": title })).await;
        ids.push(begun["conversation"].as_str().unwrap().to_owned());
    }
    let (status, _) = stage
        .ask("PATCH", &format!("/conversations/{}", ids[1]), json!({ "shelf": "archived" }))
        .await;
    assert_eq!(status, StatusCode::OK);
    let titles = |list: &Value| -> Vec<String> {
        let rows = list["conversations"].as_array().unwrap().iter();
        rows.map(|row| row["title"].as_str().unwrap().to_owned()).collect()
    };
    let first = stage.get("/conversations?text=RED&limit=1").await;
    let next = first["next"].as_str().unwrap();
    let second = stage.get(&format!("/conversations?text=RED&limit=1&after={next}")).await;
    let mut both = [titles(&first), titles(&second)].concat();
    both.sort();
    assert_eq!(both, ["red one", "red two"]);
    assert_eq!(titles(&stage.get("/conversations?archived=true").await), ["blue"]);
    assert_eq!(titles(&stage.get("/conversations?state=open").await), [""; 0]);
    assert_eq!(titles(&stage.get("/conversations?directory=/none").await), [""; 0]);
    for query in ["after=xyz", "state=odd", "limit=-1", "other=1"] {
        let (status, _) =
            stage.refused("GET", &format!("/conversations?{query}"), Value::Null).await;
        assert_eq!(status, 400, "{query}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_parameter_that_is_not_taken_is_named_with_what_is() {
    let stage = Stage::new(TALK);
    let id = stage.begin().await;
    for (path, words) in [
        ("/conversations?state=odd", "state is \"odd\"; it takes ended, open or asking"),
        ("/conversations?limit=x", "limit is \"x\"; it takes a whole number from 1 to 500"),
        ("/conversations?archived=1", "archived is \"1\"; it takes true or false"),
        ("/conversations?limit=1&limit=2", "limit is there twice; it is taken once"),
        ("/conversations?x=1", "there is no parameter \"x\"; this takes state, directory, "),
        ("/running?all=1", "all is \"1\"; it takes true or false"),
        ("/running/a/1.1.0/output?from=-1", "from is \"-1\"; it takes a whole number"),
        ("/search?regex=2&q=x", "regex is \"2\"; it takes true or false"),
        ("/search", "there is nothing to look for"),
        (&format!("/conversations/{id}?turns=all"), "turns is \"all\"; it takes a whole number"),
    ] {
        let (status, told) = stage.ask("GET", path, Value::Null).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{path}");
        let message = told["error"]["message"].as_str().unwrap();
        assert!(message.starts_with(words), "{path}: {message}");
    }
}

// C3, C8, C13
#[tokio::test(start_paused = true)]
async fn a_retry_with_another_model_is_one_operation() {
    let stage = Stage::new(FAILS);
    let id = stage.begin().await;
    let path = format!("/conversations/{id}");
    let message = json!({ "text": "list .", "id": "m1", "wait": true });
    let said = stage.post(&format!("{path}/prompt"), message).await;
    assert_eq!(said["ending"], "error");
    // A model that is not there changes nothing, neither the model nor the attempt.
    let before = stage.view(&id).await;
    let other = json!({ "model": "none/such" });
    let refused = stage.refused("POST", &format!("{path}/retry"), other).await;
    assert_eq!(refused, (409, "refused".into()));
    assert_eq!(stage.view(&id).await, before);
    let retry = json!({ "id": "r1", "message": "m1", "model": "demo" });
    let receipt = stage.post(&format!("{path}/retry"), retry.clone()).await;
    assert_eq!(receipt, stage.post(&format!("{path}/retry"), retry).await);
    let mut listener = stage.listen(&format!("c={id}"), None).await;
    let mut known = crate::stage::Known::default();
    loop {
        known.take(&listener.next().await.unwrap());
        if known.view.cursor.0 > 0 && known.view.head.status == Status::Idle {
            break;
        }
    }
    let view = known.view;
    assert_eq!(view.head.model.as_ref().unwrap().provider, "demo");
    let said = stage.get(&format!("{path}/messages")).await;
    assert_eq!(said["messages"].as_array().unwrap().len(), 1, "no second bubble: {said}");
    assert_eq!(said["messages"][0]["message"]["attempt"], 2);
    assert_eq!(view.turns[0].attempts.len(), 1, "the old attempt is kept");
}

// C3
#[tokio::test(start_paused = true)]
async fn a_model_that_cannot_be_asked_is_refused_before_the_running_turn_is_interrupted() {
    let stage = Stage::new(SLOW);
    let id = stage.begin().await;
    let path = format!("/conversations/{id}");
    stage.post(&format!("{path}/messages"), json!({ "text": "go", "id": "m1" })).await;
    // No key is there.
    let keyless = "anthropic/claude-sonnet-5";
    let flags = json!({ "model": { "provider": "anthropic", "model": "claude-sonnet-5" } });
    let retry = json!({ "kind": "retry", "message": "m1" });
    for (path, body) in [
        (format!("{path}/retry"), json!({ "model": keyless })),
        (
            format!("{path}/messages"),
            json!({ "text": "x", "model": keyless, "on_incomplete": "discard" }),
        ),
        (
            format!("{path}/commands"),
            json!({ "v": 1, "id": "c1", "from": { "flags": flags.to_string() }, "command": retry }),
        ),
    ] {
        assert_eq!(stage.refused("POST", &path, body).await, (409, "refused".into()), "{path}");
        // wait: virtual time, in which an interrupt would be recorded
        tokio::time::sleep(Duration::from_secs(1)).await;
        let view = stage.view(&id).await;
        assert_eq!(view.turns[0].head.halt, None, "{path}");
    }
    let again = json!({ "text": "go", "id": "m1", "wait": true });
    let said = stage.post(&format!("{path}/prompt"), again).await;
    assert_eq!((&said["ending"], &said["answer"]), (&json!("done"), &json!("slowly said")));
    assert_eq!(stage.view(&id).await.turns[0].attempts.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_running_turn_is_interrupted_continued_stopped_and_discarded() {
    let stage = Stage::new(SLOW);
    let id = stage.begin().await;
    let path = format!("/conversations/{id}");
    for verb in ["continue", "stop", "interrupt", "discard"] {
        let refused = stage.refused("POST", &format!("{path}/{verb}"), Value::Null).await;
        assert_eq!(refused, (409, "refused".into()), "{verb}");
    }
    stage.post(&format!("{path}/messages"), json!({ "text": "go" })).await;
    stage.post(&format!("{path}/interrupt"), Value::Null).await;
    // Nothing runs any more, and the turn is open.
    let said = stage.refused("POST", &format!("{path}/messages"), json!({ "text": "more" })).await;
    assert_eq!(said, (409, "refused".into()));
    stage.post(&format!("{path}/continue"), Value::Null).await;
    stage.post(&format!("{path}/stop"), Value::Null).await;
    assert_eq!(stage.view(&id).await.head.status, Status::Idle);
    stage.post(&format!("{path}/messages"), json!({ "text": "again" })).await;
    stage.post(&format!("{path}/discard"), Value::Null).await;
    assert_eq!(stage.view(&id).await.shown().count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_question_is_read_and_answered_and_who_did_is_recorded() {
    let stage = Stage::new(ASKS);
    let id = stage.begin().await;
    let path = format!("/conversations/{id}");
    let said = stage.post(&format!("{path}/prompt"), json!({ "text": "go", "wait": true })).await;
    assert_eq!(said["ending"], "waiting_for_input");
    let asked = stage.get(&format!("{path}/questions")).await;
    assert_eq!(asked["questions"][0]["conversation"], json!(id));
    let question = asked["questions"][0]["question"]["id"].as_str().unwrap().to_owned();
    let answer = format!("{path}/questions/{question}/answer");
    let odd = stage.refused("POST", &answer, json!({})).await;
    assert_eq!(odd, (400, "bad_input".into()));
    stage.post(&answer, json!({ "reply": { "kind": "text", "value": "blue" } })).await;
    // Another tab is late, and the same failure has one surface.
    let late =
        stage.refused("POST", &answer, json!({ "reply": { "kind": "text", "value": "red" } }));
    assert_eq!(late.await, (409, "refused".into()));
    let view = stage.view(&id).await;
    let questions = view.turns[0].calls().flat_map(|call| call.questions.clone());
    let by: Vec<_> = questions.filter_map(|it| it.answer.map(|answer| answer.by)).collect();
    assert_eq!(by, ["user (test)"]);
    let none = stage.get(&format!("{path}/questions")).await;
    assert_eq!(none["questions"], json!([]));
}

#[tokio::test(start_paused = true)]
async fn messages_wait_are_changed_moved_and_taken_back() {
    let stage = Stage::new(SLOW);
    let id = stage.begin().await;
    let path = format!("/conversations/{id}");
    stage.post(&format!("{path}/messages"), json!({ "text": "go" })).await;
    for (name, text) in [("q1", "first"), ("q2", "second")] {
        let message = json!({ "text": text, "place": "next", "id": name });
        stage.post(&format!("{path}/messages"), message).await;
    }
    let queue = || async { stage.get(&format!("{path}/queue")).await["queue"].clone() };
    assert_eq!(queue().await.as_array().unwrap().len(), 2);
    for (message, change) in [
        ("q2", json!({ "before": "q1" })),
        ("q1", json!({ "says": { "text": "changed" } })),
        ("q1", json!({ "place": "steer" })),
    ] {
        let (status, told) = stage.ask("PATCH", &format!("{path}/queue/{message}"), change).await;
        assert_eq!(status, StatusCode::OK, "{told}");
    }
    let waiting = queue().await;
    let changed = waiting.as_array().unwrap().iter().find(|it| it["id"] == "q1").unwrap();
    assert_eq!(
        (&changed["parts"][0]["text"], &changed["place"]),
        (&json!("changed"), &json!("steer"))
    );
    let (status, _) = stage.ask("DELETE", &format!("{path}/queue/q2"), Value::Null).await;
    assert_eq!(status, StatusCode::OK);
    let gone = stage.refused("DELETE", &format!("{path}/queue/q2"), Value::Null).await;
    assert_eq!(gone, (409, "refused".into()));
}

#[tokio::test(start_paused = true)]
async fn a_file_is_uploaded_once_goes_with_a_message_and_is_given_back_inert() {
    let stage = Stage::new(TALK);
    let id = stage.begin().await;
    let upload =
        |content: &'static str| stage.request("POST", "/api/v1/blobs", Body::from(content));
    let (status, kept) = told(stage.send(upload("<script>alert(1)</script>")).await).await;
    assert_eq!(status, StatusCode::CREATED);
    let (_, again) = told(stage.send(upload("<script>alert(1)</script>")).await).await;
    assert_eq!(kept, again);
    let blob = kept["blob"].as_str().unwrap();
    let message = json!({ "text": "look", "files": [{ "blob": blob, "name": "../../a.html" }], "wait": true });
    stage.post(&format!("/conversations/{id}/prompt"), message).await;
    let said = stage.get(&format!("/conversations/{id}/messages")).await;
    assert_eq!(said["messages"][0]["message"]["parts"][1]["name"], "a.html");
    let given =
        stage.send(stage.request("GET", &format!("/api/v1/blobs/{blob}"), Body::empty())).await;
    let header = |name: &str| given.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(header("content-type"), "application/octet-stream");
    assert_eq!(header("content-disposition"), "attachment");
    assert!(header("content-security-policy").contains("sandbox"));
    let none = "0".repeat(64);
    for path in [format!("/blobs/{none}"), "/blobs/..%2f..%2fpiton.db".into(), "/blobs/x".into()] {
        assert_eq!(stage.refused("GET", &path, Value::Null).await.0, 404, "{path}");
    }
    let message = json!({ "text": "look", "files": [{ "blob": none, "name": "x" }] });
    let missing = stage.refused("POST", &format!("/conversations/{id}/messages"), message).await;
    assert_eq!(missing, (409, "refused".into()));
    let empty = stage.refused("POST", "/blobs", Value::Null).await;
    assert_eq!(empty, (400, "bad_input".into()));
}

#[tokio::test(start_paused = true)]
async fn models_settings_search_and_commands_are_read() {
    let stage = Stage::new(TALK);
    let id = stage.said("where is the needle").await;
    let models = stage.get("/models").await;
    assert_eq!(models["models"][0], json!({ "name": "demo", "ready": true }));
    let settings = stage.get("/settings").await;
    let keys = settings["settings"].as_array().unwrap().iter();
    assert!(keys.clone().any(|row| row["key"] == "model" && row["origin"] == "variable"));
    let found = stage.get("/search?q=needle").await;
    assert_eq!(found["hits"][0]["conversation"], json!(id));
    assert_eq!(stage.get("/search?q=haystack").await["hits"], json!([]));
    assert_eq!(stage.refused("GET", "/search?q=(&regex=true", Value::Null).await.0, 400);
    assert_eq!(stage.get("/running").await["commands"], json!([]));
    assert_eq!(stage.refused("GET", "/running/a/1.1.0/output", Value::Null).await.0, 404);
}

#[tokio::test(start_paused = true)]
async fn a_command_for_an_unknown_conversation_has_no_effect() {
    let stage = Stage::new(TALK);
    let envelope = json!({ "v": 1, "id": "c", "from": {}, "command": { "kind": "resume" } });
    for (method, path, body) in [
        ("GET", "", Value::Null),
        ("PATCH", "", json!({ "title": "x" })),
        ("POST", "/commands", envelope),
        ("POST", "/messages", json!({ "text": "x" })),
        ("POST", "/prompt", json!({ "text": "x" })),
        ("POST", "/continue", Value::Null),
        ("POST", "/retry", Value::Null),
        ("POST", "/fork", Value::Null),
        ("GET", "/queue", Value::Null),
        ("DELETE", "/queue/m", Value::Null),
        ("POST", "/questions/q/answer", json!({ "reply": { "kind": "allow" } })),
    ] {
        for id in ["abcdefghjk", "..%2f..%2fhome", "%00", "a%20b"] {
            let path = format!("/conversations/{id}{path}");
            let refused = stage.refused(method, &path, body.clone()).await;
            assert_eq!(refused, (404, "unknown_conversation".into()), "{method} {path}");
        }
    }
    assert_eq!(stage.get("/conversations").await["total"], 0);
    let refused = stage.refused("GET", "/events?c=abcdefghjk", Value::Null).await;
    assert_eq!(refused, (404, "unknown_conversation".into()));
}

#[tokio::test(start_paused = true)]
async fn only_directories_that_were_opened_are_worked_in() {
    let stage = Stage::new(TALK);
    let closed = stage.dir.path().join("closed").canonicalize().unwrap();
    let closed = closed.to_str().unwrap();
    let up = format!("{}/../closed", stage.work());
    for directory in [closed, "/", "relative", up.as_str()] {
        let refused =
            stage.refused("POST", "/conversations", json!({ "directory": directory })).await;
        assert_eq!(refused, (403, "closed_directory".into()), "{directory}");
    }
    let id = stage.begin().await;
    let path = format!("/conversations/{id}/commands");
    let flags = json!({ "directories": [closed] }).to_string();
    for (from, command) in [
        (json!({}), json!({ "kind": "rebind", "workspace": closed })),
        (json!({ "flags": flags }), json!({ "kind": "resume" })),
    ] {
        let envelope = json!({ "v": 1, "id": "c1", "from": from, "command": command });
        let refused = stage.refused("POST", &path, envelope).await;
        assert_eq!(refused, (403, "closed_directory".into()));
    }
    // A conversation that a terminal began elsewhere is read, and not gone on with.
    let elsewhere = stage.engine.begin(closed.as_ref()).unwrap();
    elsewhere.perform(piton::Command::say(piton::NewMessage::text("hi"))).await.unwrap();
    let path = format!("/conversations/{}", elsewhere.id());
    assert_eq!(stage.get(&path).await["turns"].as_array().unwrap().len(), 1);
    let refused = stage.refused("POST", &format!("{path}/messages"), json!({ "text": "x" })).await;
    assert_eq!(refused, (403, "closed_directory".into()));
}

// J97
#[tokio::test(start_paused = true)]
async fn a_server_that_died_leaves_its_turn_and_one_that_resumes_goes_on() {
    let mut stage = Stage::new(SLOW);
    let id = stage.begin().await;
    stage.post(&format!("/conversations/{id}/messages"), json!({ "text": "go" })).await;
    let row = stage.get("/conversations").await["conversations"][0].clone();
    assert_eq!(row["state"], "running", "{row}");
    stage.crash().await;
    let row = stage.get("/conversations").await["conversations"][0].clone();
    assert_eq!(row["state"], "interrupted", "{row}");
    assert_eq!(stage.server.resume_turns().await.unwrap(), 1);
    let mut listener = stage.listen(&format!("c={id}"), None).await;
    let mut known = crate::stage::Known::default();
    while known.view.cursor.0 == 0 || known.view.head.status != Status::Idle {
        known.take(&listener.next().await.unwrap());
    }
    assert_eq!(known.view.turns[0].answer().as_deref(), Some("slowly said"));
    assert_eq!(stage.server.resume_turns().await.unwrap(), 0);
}
