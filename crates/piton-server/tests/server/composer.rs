//! What the composer of the page asks for: files that can be named, drafts, and the source of an answer.

use std::fs;

use axum::body::Body;
use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::stage::{Stage, told};

const TALK: &str = r#"{"steps":[{"think":"Hm.","say":"**one**"},{"say":"two"}]}"#;
const ASKS: &str = r#"{"steps":[
    {"calls":[{"tool":"ask_user","arguments":{"question":"Which?","options":["red","green"]}}]},
    {"say":"So be it."}
]}"#;

/// Asks the page; the status, and the body as data.
async fn ask(stage: &Stage, method: &str, path: &str, body: Value) -> (StatusCode, Value) {
    let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
    told(stage.send(stage.request(method, path, body)).await).await
}

/// Sends a form of the page that is taken, or is not.
async fn send(stage: &Stage, path: &str, form: &[(&str, &str)]) -> (StatusCode, Value) {
    let body = serde_urlencoded::to_string(form).unwrap();
    let mut request = stage.request("POST", path, Body::from(body));
    let headers = request.headers_mut();
    headers.insert("content-type", "application/x-www-form-urlencoded".parse().unwrap());
    headers.insert("piton", "module".parse().unwrap());
    let answer = stage.send(request).await;
    if answer.status() == StatusCode::NO_CONTENT {
        return (answer.status(), Value::Null);
    }
    told(answer).await
}

#[tokio::test(start_paused = true)]
async fn files_are_offered_of_open_directories_only() {
    let stage = Stage::new(TALK);
    let id = stage.said("go").await;
    let work = stage.dir.path().join("work");
    fs::create_dir(work.join("src")).unwrap();
    fs::write(work.join("src/a b.rs"), "x").unwrap();
    fs::write(work.join("src/main.rs"), "x").unwrap();
    std::os::unix::fs::symlink(stage.dir.path().join("closed"), work.join("out")).unwrap();
    fs::write(stage.dir.path().join("closed/secret"), "x").unwrap();
    for (query, expected) in [
        (format!("c={id}&q=sr"), json!(["src/"])),
        (format!("c={id}&q=src/"), json!(["src/main.rs"])),
        (format!("directory={}&q=src/m", stage.work()), json!(["src/main.rs"])),
        ("q=src/m".to_owned(), json!(["src/main.rs"])),
    ] {
        let (status, told) = ask(&stage, "GET", &format!("/page/files?{query}"), Value::Null).await;
        assert_eq!((status, &told["paths"]), (StatusCode::OK, &expected), "{query}");
    }
    let long = "x".repeat(5_000);
    for (query, status, kind) in [
        (format!("c={id}&q=../"), 403, "closed_directory"),
        (format!("c={id}&q=out/"), 403, "closed_directory"),
        (format!("c={id}&q=/etc/"), 403, "closed_directory"),
        (format!("c={id}&q=src/main.rs/"), 403, "closed_directory"),
        ("directory=/etc&q=p".to_owned(), 403, "closed_directory"),
        ("c=nobody&q=a".to_owned(), 404, "unknown_conversation"),
        (format!("c={id}&q={long}"), 400, "bad_input"),
    ] {
        let (was, told) = ask(&stage, "GET", &format!("/page/files?{query}"), Value::Null).await;
        assert_eq!((was.as_u16(), &told["error"]["kind"]), (status, &json!(kind)), "{told}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_message_mentions_goes_along_if_it_is_open_and_small_enough() {
    let stage = Stage::new(TALK);
    let id = stage.said("go").await;
    let work = stage.dir.path().join("work");
    fs::write(work.join("a.txt"), "content of a").unwrap();
    fs::write(work.join("empty.txt"), "").unwrap();
    fs::create_dir(work.join("src")).unwrap();
    fs::write(work.join("src/b.rs"), "x").unwrap();
    fs::write(stage.dir.path().join("closed/secret"), "secret").unwrap();
    let text = "see @a.txt, @src @empty.txt @none @../closed/secret and @/etc/passwd";
    let (status, told) = send(&stage, &format!("/c/{id}/say"), &[("text", text)]).await;
    assert_eq!(status, StatusCode::NO_CONTENT, "{told}");
    let said = stage.get(&format!("/conversations/{id}/messages")).await;
    let parts = &said["messages"].as_array().unwrap().last().unwrap()["message"]["parts"];
    let names: Vec<_> = parts.as_array().unwrap().iter().map(|part| &part["name"]).collect();
    assert_eq!(names, [&Value::Null, &json!("src/"), &json!("a.txt")], "{parts}");
    assert_eq!((&parts[2]["text"], &parts[1]["text"]), (&json!("content of a"), &json!("b.rs\n")));

    let large = fs::File::create(work.join("large.bin")).unwrap();
    large.set_len(20 * 1024 * 1024).unwrap();
    let form = [("text", "see @large.bin"), ("how", "next")];
    let (status, told) = send(&stage, &format!("/c/{id}/say"), &form).await;
    assert_eq!((status.as_u16(), &told["error"]["kind"]), (413, &json!("too_large")), "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_draft_is_kept_over_a_restart_until_its_message_is_taken() {
    let mut stage = Stage::new(TALK);
    let id = stage.said("go").await;
    let path = format!("/c/{id}/draft");
    let none = json!({ "text": "", "at": 0 });
    assert_eq!(ask(&stage, "GET", &path, Value::Null).await, (StatusCode::OK, none.clone()));
    let (status, kept) = ask(&stage, "PUT", &path, json!({ "text": "half a th" })).await;
    assert_eq!((status, &kept["text"]), (StatusCode::OK, &json!("half a th")));
    assert!(0 < kept["at"].as_u64().unwrap());
    stage.crash().await;
    assert_eq!(ask(&stage, "GET", &path, Value::Null).await.1, kept);

    // A message that says something else leaves it, a refused one too; its own takes it away.
    send(&stage, &format!("/c/{id}/say"), &[("text", "other"), ("how", "next")]).await;
    send(&stage, &format!("/c/{id}/say"), &[("text", "half a th"), ("model", "no/such")]).await;
    assert_eq!(ask(&stage, "GET", &path, Value::Null).await.1, kept);
    let form = [("text", "half a th"), ("how", "next")];
    let (status, told) = send(&stage, &format!("/c/{id}/say"), &form).await;
    assert_eq!(status, StatusCode::NO_CONTENT, "{told}");
    assert_eq!(ask(&stage, "GET", &path, Value::Null).await.1, none);

    // An empty one is none; one that is too large is refused, and the one before stays.
    ask(&stage, "PUT", &path, json!({ "text": "next" })).await;
    let (status, told) = ask(&stage, "PUT", &path, json!({ "text": "x".repeat(300_000) })).await;
    assert_eq!((status.as_u16(), &told["error"]["kind"]), (413, &json!("too_large")));
    assert_eq!(ask(&stage, "GET", &path, Value::Null).await.1["text"], "next");
    ask(&stage, "PUT", &path, json!({ "text": " " })).await;
    assert_eq!(ask(&stage, "GET", &path, Value::Null).await.1, none);
    let (status, _) = ask(&stage, "PUT", "/c/nobody/draft", json!({ "text": "x" })).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}

#[tokio::test(start_paused = true)]
async fn the_source_of_an_answer_is_what_the_model_wrote() {
    let stage = Stage::new(TALK);
    let id = stage.said("go").await;
    let read = |step: &str| stage.request("GET", &format!("/c/{id}/source/{step}"), Body::empty());
    let answer = stage.send(read("1/1")).await;
    assert_eq!(answer.headers()["content-type"], "text/plain; charset=utf-8");
    assert_eq!(told(answer).await.1, "**one**");
    for (step, status) in [("1/9", 404), ("7/1", 404), ("x/1", 400)] {
        assert_eq!(stage.send(read(step)).await.status().as_u16(), status, "{step}");
    }
}

// Without the module nothing says which of the two was meant, so nothing is chosen in advance.
#[tokio::test(start_paused = true)]
async fn own_words_are_an_answer_and_no_answer_is_none() {
    let stage = Stage::new(ASKS);
    let id = stage.said("go").await;
    let page = stage.send(stage.request("GET", &format!("/c/{id}"), Body::empty())).await;
    let page = told(page).await.1;
    let (_, form) = page.as_str().unwrap().split_once("<fieldset class=\"opts\">").unwrap();
    assert!(!form.split("</fieldset>").next().unwrap().contains("checked"), "{form}");
    let asked = stage.get(&format!("/conversations/{id}/questions")).await;
    let question = asked["questions"][0]["question"]["id"].as_str().unwrap().to_owned();
    let path = format!("/c/{id}/answer/{question}");
    let (status, told) = send(&stage, &path, &[("answer", "text"), ("own", " ")]).await;
    assert_eq!((status.as_u16(), &told["error"]["kind"]), (400, &json!("bad_input")), "{told}");
    let (status, told) = send(&stage, &path, &[("answer", "text"), ("own", "blue")]).await;
    assert_eq!(status, StatusCode::NO_CONTENT, "{told}");
    let view = serde_json::to_string(&stage.view(&id).await).unwrap();
    assert!(view.contains("blue"), "{view}");
}
