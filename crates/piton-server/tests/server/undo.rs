//! Changes of files that are taken back on the page, and a limit that is raised there.

use std::fs;

use axum::body::Body;
use axum::http::{Response, StatusCode};
use http_body_util::BodyExt as _;
use piton::id::CommandId;
use piton::{Command, ConversationId, Envelope, NewMessage, Sender};
use piton_agent::Overrides;

use crate::stage::{HOST, Stage};

const WRITES: &str = r#"{"steps":[
    {"calls":[{"tool":"write_file","arguments":{"path":"a.txt","content":"hi"}}]},
    {"say":"Written."},{"say":"Nothing more."}
]}"#;

async fn send(stage: &Stage, path: &str, form: &str) -> Response<Body> {
    let mut request = stage.request("POST", path, Body::from(form.to_owned()));
    let headers = request.headers_mut();
    headers.insert("content-type", "application/x-www-form-urlencoded".parse().unwrap());
    headers.insert("origin", format!("http://{HOST}").parse().unwrap());
    headers.insert("piton", "module".parse().unwrap());
    stage.send(request).await
}

async fn text(answer: Response<Body>) -> String {
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(bytes.to_vec()).unwrap()
}

async fn read(stage: &Stage, path: &str) -> String {
    let mut request = stage.request("GET", path, Body::empty());
    request.headers_mut().insert("piton", "module".parse().unwrap());
    let answer = stage.send(request).await;
    assert_eq!(answer.status(), StatusCode::OK, "{path}");
    text(answer).await
}

/// Says something with flags, and waits until the turn rests.
async fn say(stage: &Stage, id: &str, flags: &Overrides) {
    let from = Sender { flags: serde_json::to_string(flags).ok(), ..Sender::default() };
    let command = Command::say(NewMessage::text("write"));
    let envelope = Envelope { id: CommandId::new("said"), from, command };
    let conversation = stage.engine.conversation(&ConversationId::new(id));
    conversation.perform_envelope(envelope).await.unwrap();
}

fn allowing() -> Overrides {
    Overrides {
        permissions: Some(piton::view::PermissionMode::AcceptEdits),
        ..Overrides::default()
    }
}

/// The name of the change that a preview offers.
fn offered(html: &str) -> String {
    let (_, behind) = html.split_once("name=\"change\" value=\"").expect(html);
    behind.split('"').next().unwrap().to_owned()
}

#[tokio::test]
async fn a_change_is_taken_back_made_again_and_never_over_somebody_elses() {
    let stage = Stage::new(WRITES);
    let (id, file) = (stage.begin().await, stage.dir.path().join("work/a.txt"));
    say(&stage, &id, &allowing()).await;
    let page = read(&stage, &format!("/c/{id}")).await;
    assert!(page.contains("Undo this change…") && page.contains("Go back…"), "{page}");
    let path = format!("/c/{id}/undo/1.1.0");
    let preview = read(&stage, &path).await;
    assert!(preview.contains("goes: it was not there before"), "{preview}");
    let change = offered(&preview);
    let undo = format!("do=undo&change={change}");
    assert_eq!(send(&stage, &path, &undo).await.status(), StatusCode::NO_CONTENT);
    assert!(!file.exists());
    // Another tab was slower: nothing happens.
    assert_eq!(send(&stage, &path, &undo).await.status(), StatusCode::NO_CONTENT);
    assert!(!file.exists());
    let preview = read(&stage, &path).await;
    assert!(preview.contains("Make it again"), "{preview}");
    let again = format!("do=again&change={}", offered(&preview));
    assert_eq!(send(&stage, &path, &again).await.status(), StatusCode::NO_CONTENT);
    assert_eq!(fs::read_to_string(&file).unwrap(), "hi");
    fs::write(&file, "mine").unwrap();
    let preview = read(&stage, &path).await;
    assert!(preview.contains("stays: it was changed since"), "{preview}");
    assert!(!preview.contains("<button"), "{preview}");
    let answer = send(&stage, &path, &format!("do=undo&change={}", offered(&preview))).await;
    assert_eq!(answer.status(), StatusCode::CONFLICT);
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    let answer = send(&stage, &path, "do=undo&change=none").await;
    assert_eq!(answer.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn going_back_is_a_fork_and_takes_files_along_if_that_is_wanted() {
    let stage = Stage::new(WRITES);
    let (id, file) = (stage.begin().await, stage.dir.path().join("work/a.txt"));
    say(&stage, &id, &allowing()).await;
    let path = format!("/c/{id}/back/1");
    let preview = read(&stage, &path).await;
    assert!(preview.contains("a.txt") && preview.contains("take the files back"), "{preview}");
    for (form, stays) in [("do=fork", true), ("do=files", false)] {
        let answer = send(&stage, &path, form).await;
        assert_eq!(answer.status(), StatusCode::NO_CONTENT, "{form}");
        let to = answer.headers()["location"].to_str().unwrap().to_owned();
        assert!(to != format!("/c/{id}") && !read(&stage, &to).await.contains("Written."), "{to}");
        assert_eq!(file.exists(), stays, "{form}");
    }
    assert!(read(&stage, &format!("/c/{id}")).await.contains("Written."));
}

#[tokio::test]
async fn a_turn_that_stopped_at_its_limit_can_be_granted_more() {
    let stage = Stage::new(WRITES);
    let id = stage.begin().await;
    say(&stage, &id, &Overrides { steps_max: Some(1), ..allowing() }).await;
    let page = read(&stage, &format!("/c/{id}")).await;
    assert!(page.contains("Raise and resume") && page.contains("1 of 1 used"), "{page}");
    for wrong in ["do=raise&steps=0", "do=raise&steps=many", "do=raise", "do=raise&cost=-1"] {
        let answer = send(&stage, &format!("/c/{id}/continue"), wrong).await;
        assert_eq!(answer.status(), StatusCode::BAD_REQUEST, "{wrong}");
    }
    let mut tab = stage.listen(&format!("c={id}"), None).await;
    let answer = send(&stage, &format!("/c/{id}/continue"), "turn=1&do=raise&steps=7").await;
    assert_eq!(answer.status(), StatusCode::NO_CONTENT);
    while stage.view(&id).await.head.open.is_some() {
        tab.next().await.expect("the stream ended");
    }
    assert_eq!(stage.view(&id).await.head.allowance.steps_max, 7);
}
