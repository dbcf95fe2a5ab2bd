//! The page: documents, the stream that moves them, and forms.

use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use piton::view::Status;
use piton::{Command, ConversationId, LeaseWait, NewMessage};
use serde_json::{Value, json};

use crate::stage::{Event, HOST, Listener, Stage};

const TALK: &str = r#"{"steps":[{"say":"one"},{"say":"two"},{"say":"three"}]}"#;
const SLOW: &str = r#"{"steps":[{"say":"slowly said","chunk":1,"chunk_ms":1000},{"say":"two"}]}"#;
const ASKS: &str = r#"{"steps":[
    {"calls":[{"tool":"ask_user","arguments":{"question":"Which colour?"}}]},
    {"say":"Blue it is."}
]}"#;
const WRITES: &str = r#"{"steps":[
    {"calls":[{"tool":"write_file","arguments":{"path":"a.txt","content":"hi"}}]},
    {"say":"Written."}
]}"#;
const FAILS: &str = r#"{"steps":[{"say":"late","faults":[{"kind":{"fail":"auth"},"times":1}]}]}"#;

/// A browser: with or without the module of the page.
#[derive(Clone, Copy)]
enum Browser {
    Module,
    Plain,
}

async fn send(
    stage: &Stage,
    browser: Browser,
    path: &str,
    form: &[(&str, &str)],
) -> Response<Body> {
    let body = serde_urlencoded::to_string(form).unwrap();
    let mut request = stage.request("POST", path, Body::from(body));
    let headers = request.headers_mut();
    headers.insert("content-type", "application/x-www-form-urlencoded".parse().unwrap());
    headers.insert("origin", format!("http://{HOST}").parse().unwrap());
    match browser {
        Browser::Module => headers.insert("piton", "module".parse().unwrap()),
        Browser::Plain => headers.insert("accept", "text/html".parse().unwrap()),
    };
    stage.send(request).await
}

/// Presses something that is taken.
async fn press(stage: &Stage, path: &str, form: &[(&str, &str)]) {
    let answer = send(stage, Browser::Module, path, form).await;
    let status = answer.status();
    assert_eq!(status, StatusCode::NO_CONTENT, "{path}: {}", text(answer).await);
}

async fn text(answer: Response<Body>) -> String {
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(bytes.to_vec()).unwrap()
}

async fn read(stage: &Stage, path: &str) -> String {
    let answer = stage.send(stage.request("GET", path, Body::empty())).await;
    assert_eq!(answer.status(), StatusCode::OK, "{path}");
    text(answer).await
}

/// The entry that a page shows.
fn cursor(html: &str) -> u64 {
    let (_, behind) = html.split_once("data-cursor=\"").unwrap();
    behind.split('"').next().unwrap().parse().unwrap()
}

/// Reads until the page has been moved to an entry; everything that came.
async fn moved_to(listener: &mut Listener, end: u64) -> Vec<Event> {
    let mut events = Vec::new();
    loop {
        let event = listener.next().await.expect("the stream ended");
        let at = event.id.as_ref().and_then(|id| id.split('.').next()?.parse::<u64>().ok());
        events.push(event);
        if at.is_some_and(|at| end <= at) {
            return events;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_conversation_is_a_document_and_the_list_is_beside_it() {
    let stage = Stage::new(TALK);
    let id = stage.said("what is <b>here</b>").await;
    let page = read(&stage, &format!("/c/{id}")).await;
    assert!(page.starts_with("<!DOCTYPE html>"), "{page}");
    assert!(page.contains("what is &lt;b&gt;here&lt;/b&gt;") && page.contains("one"), "{page}");
    assert!(page.contains(&format!("data-conversation=\"{id}\"")));
    for path in ["/", "/?state=open", "/?archived=1", "/new", "/search?q=here", "/search"] {
        assert!(read(&stage, path).await.contains("id=\"main\""), "{path}");
    }
    assert!(read(&stage, "/search?q=here").await.contains("<mark>here</mark>"));
    let answer = stage.send(stage.request("GET", "/", Body::empty())).await;
    let policy = answer.headers()["content-security-policy"].to_str().unwrap();
    assert!(policy.contains("script-src 'self'") && !policy.contains("unsafe"), "{policy}");
    assert_eq!(answer.headers()["cache-control"], "no-store");
    // What the document names is there, for everybody, and for ever.
    let (_, behind) = page.split_once("src=\"/assets/").unwrap();
    let name = behind.split('"').next().unwrap();
    let request = Request::builder().uri(format!("/assets/{name}")).header("host", HOST);
    let asset = stage.send(request.body(Body::empty()).unwrap()).await;
    assert_eq!(asset.status(), StatusCode::OK);
    assert!(asset.headers()["cache-control"].to_str().unwrap().contains("immutable"));
}

#[tokio::test(start_paused = true)]
async fn a_browser_that_is_not_signed_in_is_asked_to_and_a_fault_is_a_page() {
    let stage = Stage::new(TALK);
    let get = |path: &str| {
        let request =
            Request::builder().uri(path).header("host", HOST).header("accept", "text/html");
        request.body(Body::empty()).unwrap()
    };
    let answer = stage.send(get("/")).await;
    assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
    assert!(text(answer).await.contains("<h1>Sign in</h1>"));
    let answer = stage.send(get("/sign-in")).await;
    assert_eq!(answer.status(), StatusCode::OK);
    let mut request = stage.request("GET", "/c/abcdefghjk", Body::empty());
    request.headers_mut().insert("accept", "text/html".parse().unwrap());
    let answer = stage.send(request).await;
    assert_eq!(answer.status(), StatusCode::NOT_FOUND);
    assert!(text(answer).await.contains("there is no conversation abcdefghjk"));
    // A code that is typed.
    let code = stage.code();
    let request = Request::builder()
        .method("POST")
        .uri("/sign-in")
        .header("host", HOST)
        .header("origin", format!("http://{HOST}"))
        .body(Body::from(format!("code={code}")))
        .unwrap();
    let answer = stage.send(request).await;
    assert!(answer.headers().contains_key("set-cookie"), "{}", answer.status());
}

#[tokio::test(start_paused = true)]
async fn what_is_sent_by_a_form_comes_back_on_the_stream() {
    let stage = Stage::new(TALK);
    let id = stage.said("go").await;
    let page = read(&stage, &format!("/c/{id}")).await;
    let path = format!("/page/stream?c={id}&after={}.0", cursor(&page));
    let mut listener = stage.listen_at(&path, None).await;
    press(&stage, &format!("/c/{id}/say"), &[("text", "more"), ("how", "now"), ("id", "m1")]).await;
    // Pressed twice, it is sent once.
    press(&stage, &format!("/c/{id}/say"), &[("text", "more"), ("how", "now"), ("id", "m1")]).await;
    let mut seen = String::new();
    while !seen.contains("two") {
        let event = listener.next().await.unwrap();
        assert_ne!(event.name, "reset", "{event:?}");
        if event.name == "patch" {
            seen.push_str(&event.data.to_string());
        }
    }
    assert!(seen.contains("more"), "{seen}");
    assert_eq!(stage.view(&id).await.turns.len(), 2);
    // A page that was away goes on where it was, or reads itself again.
    let end = stage.view(&id).await.cursor.0;
    let last = format!("{}.0", end - 1);
    let mut back = stage.listen_at(&format!("/page/stream?c={id}"), Some(&last)).await;
    let events = moved_to(&mut back, end).await;
    assert!(events.iter().any(|event| event.name == "patch"), "{events:?}");
    for odd in ["999999.0", "1.0", "nonsense"] {
        let mut odd = stage.listen_at(&format!("/page/stream?c={id}&after={odd}"), None).await;
        let reset = odd.until("reset").await;
        assert!(reset.id.unwrap().starts_with(&format!("{end}.")));
    }
    assert_eq!(cursor(&read(&stage, &format!("/c/{id}/main")).await), end);
}

#[tokio::test(start_paused = true)]
async fn text_streams_to_the_page_and_a_turn_that_runs_can_be_stopped_by_two_tabs() {
    let stage = Stage::new(SLOW);
    let id = stage.begin().await;
    let mut listener = stage.listen_at(&format!("/page/stream?c={id}&after=0.0"), None).await;
    press(&stage, &format!("/c/{id}/say"), &[("text", "go"), ("how", "now")]).await;
    let mut live = String::new();
    while !live.contains("slowly") {
        let event = listener.next().await.unwrap();
        if event.name == "live" {
            assert_eq!(event.id, None);
            live = event.data.to_string();
        }
    }
    // A turn that runs has a button that stops it, and none that resumes it.
    let page = read(&stage, &format!("/c/{id}/main")).await;
    assert!(page.contains("data-stop") && !page.contains("value=\"resume\""), "{page}");
    press(&stage, &format!("/c/{id}/stop"), &[("do", "interrupt")]).await;
    press(&stage, &format!("/c/{id}/stop"), &[("do", "interrupt")]).await;
    while stage.view(&id).await.turns[0].head.halt.is_none() {
        listener.next().await.unwrap();
    }
    assert_eq!(stage.view(&id).await.turns[0].head.end, None);
}

#[tokio::test(start_paused = true)]
async fn a_turn_of_another_process_is_shown_as_running_until_that_is_gone() {
    let stage = Stage::new(SLOW);
    let id = stage.begin().await;
    let (other, _server) = stage.another();
    let conversation = other.conversation(&ConversationId::new(&*id));
    // This engine keeps the writer's place for a moment.
    let hold = conversation.hold(LeaseWait::default()).await.unwrap();
    conversation.send(Command::say(NewMessage::text("go"))).await.unwrap();
    let page = read(&stage, &format!("/c/{id}/main")).await;
    assert!(page.contains("data-stop") && !page.contains("value=\"resume\""), "{page}");
    assert_eq!(stage.get("/conversations").await["conversations"][0]["state"], "running");
    let mut listener = stage.listen_at(&format!("/page/stream?c={id}&after=1.0"), None).await;
    other.shutdown(Duration::ZERO).await;
    drop((hold, other));
    let mut told = String::new();
    while !told.contains("value=\\\"resume\\\"") {
        told.push_str(&listener.next().await.unwrap().data.to_string());
    }
    assert!(read(&stage, &format!("/c/{id}/main")).await.contains("value=\"resume\""));
}

// C3: two tabs press the same button, and one command is sent.
#[tokio::test(start_paused = true)]
async fn a_failed_message_is_tried_again_once_however_many_tabs_press() {
    let stage = Stage::new(FAILS);
    let id = stage.begin().await;
    press(&stage, &format!("/c/{id}/say"), &[("text", "list ."), ("how", "now"), ("id", "m1")])
        .await;
    let mut listener = stage.listen(&format!("c={id}"), None).await;
    while stage.view(&id).await.turns.first().is_none_or(|turn| turn.head.halt.is_none()) {
        listener.next().await.unwrap();
    }
    let page = read(&stage, &format!("/c/{id}/main")).await;
    assert_eq!(page.matches("value=\"retry\"").count(), 1, "one place: {page}");
    let form = [("message", "m1"), ("attempt", "1"), ("model", "demo")];
    let path = format!("/c/{id}/retry");
    let (one, other) = tokio::join!(
        send(&stage, Browser::Module, &path, &form),
        send(&stage, Browser::Module, &path, &form),
    );
    assert_eq!((one.status(), other.status()), (StatusCode::NO_CONTENT, StatusCode::NO_CONTENT));
    while stage.view(&id).await.head.status != Status::Idle {
        listener.next().await.unwrap();
    }
    let view = stage.view(&id).await;
    assert_eq!((view.turns.len(), view.turns[0].attempts.len()), (1, 1));
    assert_eq!(view.head.model.as_ref().unwrap().provider, "demo");
}

#[tokio::test(start_paused = true)]
async fn a_question_is_answered_by_a_form_and_a_late_tab_is_told_once() {
    let stage = Stage::new(ASKS);
    let id = stage.said("go").await;
    let page = read(&stage, &format!("/c/{id}")).await;
    let (_, behind) = page.split_once(&format!("action=\"/c/{id}/answer/")).unwrap();
    let question = behind.split('"').next().unwrap();
    let path = format!("/c/{id}/answer/{question}");
    press(&stage, &path, &[("answer", "text"), ("text", "blue")]).await;
    // The same answer is the same command; another one is late.
    press(&stage, &path, &[("answer", "text"), ("text", "blue")]).await;
    let late = send(&stage, Browser::Module, &path, &[("answer", "text"), ("text", "red")]).await;
    assert_eq!(late.status(), StatusCode::CONFLICT);
    let told: Value = serde_json::from_str(&text(late).await).unwrap();
    assert_eq!(told["error"]["kind"], "refused");
    let late = send(&stage, Browser::Plain, &path, &[("answer", "text"), ("text", "red")]).await;
    assert_eq!(late.status(), StatusCode::CONFLICT);
    assert!(text(late).await.starts_with("<!DOCTYPE html>"));
}

#[tokio::test(start_paused = true)]
async fn a_permission_is_given_with_a_rule_for_the_project_which_is_kept_first() {
    let stage = Stage::new(WRITES);
    let id = stage.said("go").await;
    let asked = stage.get(&format!("/conversations/{id}/questions")).await;
    let question = asked["questions"][0]["question"]["id"].as_str().unwrap();
    let path = format!("/c/{id}/answer/{question}");
    let odd =
        send(&stage, Browser::Module, &path, &[("answer", "always"), ("rule", "none.x")]).await;
    assert_eq!(odd.status(), StatusCode::CONFLICT);
    let mut listener = stage.listen(&format!("c={id}"), None).await;
    press(&stage, &path, &[("answer", "always"), ("rule", "project.tool")]).await;
    while stage.view(&id).await.head.status != Status::Idle {
        listener.next().await.unwrap();
    }
    assert_eq!(std::fs::read_to_string(stage.dir.path().join("work/a.txt")).unwrap(), "hi");
    let kept = std::fs::read_to_string(stage.dir.path().join("home/piton.toml")).unwrap();
    assert!(kept.contains("write_file"), "{kept}");
}

#[tokio::test(start_paused = true)]
async fn a_mode_that_answers_the_open_question_lets_the_turn_go_on() {
    let stage = Stage::new(WRITES);
    let id = stage.said("go").await;
    assert!(matches!(stage.view(&id).await.head.status, Status::WaitingForInput { .. }));
    let mut listener = stage.listen(&format!("c={id}"), None).await;
    press(&stage, &format!("/c/{id}/model"), &[("permissions", "accept-edits")]).await;
    while stage.view(&id).await.head.status != Status::Idle {
        listener.next().await.unwrap();
    }
    assert_eq!(std::fs::read_to_string(stage.dir.path().join("work/a.txt")).unwrap(), "hi");
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_rests_on_a_question_can_be_stopped() {
    let stage = Stage::new(ASKS);
    let id = stage.said("go").await;
    let page = read(&stage, &format!("/c/{id}")).await;
    assert!(page.contains("data-stop"), "{page}");
    press(&stage, &format!("/c/{id}/stop"), &[("do", "interrupt")]).await;
    let page = read(&stage, &format!("/c/{id}")).await;
    assert!(page.contains(">Stopped<"), "{page}");
    assert!(page.contains("Stop here"), "{page}");
    // The question is still there to be answered, and the answer goes on.
    let asked = stage.get(&format!("/conversations/{id}/questions")).await;
    let question = asked["questions"][0]["question"]["id"].as_str().unwrap();
    let mut listener = stage.listen(&format!("c={id}"), None).await;
    press(&stage, &format!("/c/{id}/answer/{question}"), &[("answer", "text"), ("text", "blue")])
        .await;
    while stage.view(&id).await.head.status != Status::Idle {
        listener.next().await.unwrap();
    }
    let page = read(&stage, &format!("/c/{id}")).await;
    assert!(page.contains("answered “blue”"), "{page}");
}

#[tokio::test(start_paused = true)]
async fn everything_works_without_the_module() {
    let stage = Stage::new(TALK);
    let boundary = "XX";
    let part = |name: &str, more: &str, content: &str| {
        format!(
            "--{boundary}\r\ncontent-disposition: form-data; name=\"{name}\"{more}\r\n\r\n{content}\r\n"
        )
    };
    let body = [
        part("directory", "", &stage.work()),
        part("model", "", "demo"),
        part("text", "", "list ."),
        part("files", "; filename=\"../b.txt\"", "content of b"),
        part("files", "; filename=\"\"", ""),
        format!("--{boundary}--\r\n"),
    ];
    let mut request = stage.request("POST", "/new", Body::from(body.concat()));
    let kind = format!("multipart/form-data; boundary={boundary}");
    request.headers_mut().insert("content-type", kind.parse().unwrap());
    let answer = stage.send(request).await;
    assert_eq!(answer.status(), StatusCode::SEE_OTHER, "{}", text(answer).await);
    let location = answer.headers()["location"].to_str().unwrap().to_owned();
    let id = location.strip_prefix("/c/").unwrap().to_owned();
    let view = stage.view(&id).await;
    assert_eq!(view.head.model.as_ref().unwrap().provider, "demo");
    let said = stage.get(&format!("/conversations/{id}/messages")).await;
    assert_eq!(said["messages"][0]["message"]["parts"][1]["name"], "b.txt");
    for (what, form, to) in [
        ("rename", [("title", "Another")].as_slice(), location.as_str()),
        ("model", &[("model", "demo"), ("permissions", "read-only")], &location),
        ("archive", &[("do", "archive")], "/"),
    ] {
        let answer = send(&stage, Browser::Plain, &format!("{location}/{what}"), form).await;
        assert_eq!(answer.status(), StatusCode::SEE_OTHER, "{what}");
        assert_eq!(answer.headers()["location"], to, "{what}");
    }
    let view = stage.view(&id).await;
    assert_eq!(view.head.title, "Another");
    assert_eq!(serde_json::to_value(view.head.mode).unwrap(), "read-only");
    let fork = send(&stage, Browser::Plain, &format!("{location}/fork"), &[("turn", "1")]).await;
    assert_eq!(fork.status(), StatusCode::SEE_OTHER);
    assert!(read(&stage, fork.headers()["location"].to_str().unwrap()).await.contains("list ."));
    let earlier = read(&stage, &format!("{location}/earlier?before=2")).await;
    assert!(earlier.contains("list ."));
    let call = read(&stage, &format!("{location}/call/1.1.0")).await;
    assert!(call.starts_with("<!DOCTYPE html>"), "{call}");
}

#[tokio::test(start_paused = true)]
async fn messages_that_wait_are_moved_and_taken_back_on_the_page() {
    let stage = Stage::new(SLOW);
    let id = stage.begin().await;
    let say = format!("/c/{id}/say");
    press(&stage, &say, &[("text", "go"), ("how", "now")]).await;
    for name in ["q1", "q2", "q3"] {
        press(&stage, &say, &[("text", name), ("how", "next"), ("id", name)]).await;
    }
    let queue = format!("/c/{id}/queue");
    let order = || async {
        let view = stage.view(&id).await;
        view.queue.iter().map(|it| it.id.to_string()).collect::<Vec<_>>().join(" ")
    };
    for (message, wish, expected) in [
        ("q3", "up", "q1 q3 q2"),
        ("q1", "up", "q1 q3 q2"),
        ("q1", "down", "q3 q1 q2"),
        ("q1", "down", "q3 q2 q1"),
        ("q2", "remove", "q3 q1"),
    ] {
        press(&stage, &queue, &[("message", message), ("do", wish)]).await;
        assert_eq!(order().await, expected, "{message} {wish}");
    }
    press(&stage, &queue, &[("message", "q3"), ("do", "edit"), ("text", "other")]).await;
    for form in [[("message", "q2"), ("do", "up")], [("message", "q3"), ("do", "odd")]] {
        let answer = send(&stage, Browser::Module, &queue, &form).await;
        assert!(answer.status().is_client_error(), "{form:?}");
    }
}

/// The HTML that an event puts in the place of an element, if it does.
fn put<'a>(event: &'a Event, element: &str) -> Option<&'a str> {
    let ops = event.data.as_array()?;
    ops.iter().rev().find(|op| op[0] == "replace" && op[1] == element)?[2].as_str()
}

// C29: what was live before an entry does not come behind it. Found in a real browser, by a page that loads while
// an answer comes.
#[tokio::test(start_paused = true)]
async fn a_slow_reader_gets_no_live_text_that_an_entry_has_overtaken() {
    let blocks: Vec<_> = (0..60).map(|number| format!("Block {number} of the answer.")).collect();
    let step = json!({ "say": blocks.join("\n\n"), "chunk": 5, "chunk_ms": 20 });
    let stage = Stage::new(&json!({ "steps": [step] }).to_string());
    let id = stage.begin().await;
    stage.post(&format!("/conversations/{id}/messages"), json!({ "text": "go" })).await;
    let after = cursor(&read(&stage, &format!("/c/{id}")).await);
    let path = format!("/page/stream?c={id}&after={after}.0");
    let mut listener = stage.listen_at(&path, None).await;
    let (mut is_frozen, mut tails) = (false, 0);
    loop {
        // wait: a reader that is slower than the answer
        tokio::time::sleep(Duration::from_millis(150)).await;
        let event = listener.next().await.expect("the stream ended");
        let text = event.data.to_string();
        is_frozen |= event.name == "patch" && text.contains("s1-1-t-b0");
        if let Some(tail) = put(&event, "s1-1-t-l").filter(|_| is_frozen) {
            assert!(!tail.contains("Block 0 of"), "{}: {tail}", event.name);
            tails += u32::from(event.name == "live");
        }
        if text.contains("Block 59 of the answer.") && event.name == "patch" {
            break;
        }
    }
    assert!(0 < tails, "no text was live behind an entry");
}
