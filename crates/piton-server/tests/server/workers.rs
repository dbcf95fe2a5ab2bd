//! Workers on the page of the conversation that they work for, and in the list.

use std::time::Duration;

use axum::body::Body;
use axum::http::StatusCode;
use http_body_util::BodyExt as _;
use serde_json::Value;

use crate::stage::{Event, HOST, Listener, Stage};

const HANDED_ON: &str = r#"{"steps":[
    {"calls":[{"tool":"delegate","arguments":{"task":"count the reeds"}}]},{"say":"Three reeds."}],
    "workers":[{"task":"count the reeds","steps":[
        {"say":"I write them down.","calls":[{"tool":"write_file","arguments":{"path":"a.txt","content":"3"}}]},
        {"say":"They are **three**."}]}]}"#;

async fn read(stage: &Stage, path: &str) -> String {
    let mut request = stage.request("GET", path, Body::empty());
    request.headers_mut().insert("piton", "module".parse().unwrap());
    let answer = stage.send(request).await;
    assert_eq!(answer.status(), StatusCode::OK, "{path}");
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(bytes.to_vec()).unwrap()
}

async fn press(stage: &Stage, path: &str, form: &str) {
    let mut request = stage.request("POST", path, Body::from(form.to_owned()));
    let headers = request.headers_mut();
    headers.insert("content-type", "application/x-www-form-urlencoded".parse().unwrap());
    headers.insert("origin", format!("http://{HOST}").parse().unwrap());
    headers.insert("piton", "module".parse().unwrap());
    assert_eq!(stage.send(request).await.status(), StatusCode::NO_CONTENT, "{path}");
}

/// Reads until an event holds some words; it.
async fn told(listener: &mut Listener, words: &str) -> Event {
    loop {
        let event = listener.next().await.expect("the stream ended");
        if event.data.to_string().contains(words) {
            return event;
        }
    }
}

/// The names of the elements that an event moves.
fn moved(event: &Event) -> Vec<String> {
    let ops = event.data.as_array().unwrap();
    ops.iter().map(|op| op[1].as_str().unwrap().to_owned()).collect()
}

// D77, C30
#[tokio::test(start_paused = true)]
async fn a_worker_is_shown_asked_and_answered_in_its_call() {
    let stage = Stage::new(HANDED_ON);
    let id = stage.begin().await;
    let mut tab = stage.listen_at(&format!("/page/stream?c={id}&after=0.0"), None).await;
    press(&stage, &format!("/c/{id}/say"), "text=count").await;
    let asked = told(&mut tab, "Allow once").await;
    assert_eq!((asked.name.as_str(), asked.id.as_ref()), ("passing", None));
    assert!(moved(&asked).iter().all(|name| name.starts_with("c1-1-0-")), "{asked:?}");
    // The list, and the bar of the conversation, say who waits.
    let row = &stage.get("/conversations").await["conversations"][0];
    let worker = format!("{id}_1-1-0");
    assert_eq!(
        (row["state"].as_str(), row["asking_worker"].as_str()),
        (Some("asking"), Some(&*worker))
    );
    assert!(read(&stage, "/?state=ask").await.contains("worker 1 waits for you"));
    let page = read(&stage, &format!("/c/{id}")).await;
    assert!(page.contains("id=\"c1-1-0-worker\"") && page.contains("data-worker"), "{page}");
    // A tab that comes later gets all of it.
    let mut late = stage.listen_at(&format!("/page/stream?c={id}&after=0.0"), None).await;
    let whole = told(&mut late, "Allow once").await;
    assert_eq!(moved(&whole)[0], "c1-1-0-worker");
    let questions = stage.get(&format!("/conversations/{id}/questions")).await;
    let question = questions["questions"][0]["question"]["id"].as_str().unwrap().to_owned();
    press(&stage, &format!("/c/{worker}/answer/{question}"), "answer=yes").await;
    told(&mut tab, "Three reeds.").await;
    assert!(stage.dir.path().join("work/a.txt").exists());
    // What it did is loaded when the call is opened.
    let body = read(&stage, &format!("/c/{id}/call/1.1.0")).await;
    for words in ["I write them down.", "<strong>three</strong>", "done in", "Open conversation"] {
        assert!(body.contains(words), "{words}: {body}");
    }
    let row = &stage.get("/conversations").await["conversations"][0];
    assert_eq!((row["state"].as_str(), &row["asking_worker"]), (Some("done"), &Value::Null));
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_is_stopped_stops_nobody_else() {
    let stage = Stage::new(HANDED_ON);
    let id = stage.begin().await;
    let mut tab = stage.listen_at(&format!("/page/stream?c={id}&after=0.0"), None).await;
    press(&stage, &format!("/c/{id}/say"), "text=count").await;
    told(&mut tab, "Allow once").await;
    press(&stage, &format!("/c/{id}_1-1-0/stop"), "do=interrupt").await;
    told(&mut tab, "Three reeds.").await;
    assert!(!stage.dir.path().join("work/a.txt").exists());
}

// X21
#[tokio::test(start_paused = true)]
async fn a_list_tells_a_failed_turn_from_one_that_was_stopped() {
    let stage = Stage::new(
        r#"{"steps":[{"say":"late","faults":[{"kind":{"fail":"auth"},"times":1}]},{"say":"x"}]}"#,
    );
    let id = stage.said("hello").await;
    let row = &stage.get("/conversations").await["conversations"][0];
    assert_eq!((row["state"].as_str(), row["broke"].as_str()), (Some("failed"), Some("api_error")));
    let list = read(&stage, "/").await;
    assert!(list.contains("data-is=\"bad\"") && list.contains("<span>failed</span>"), "{list}");
    let marked = |list: &str| list.split("aria-current=\"true\"").count() - 1;
    for path in ["/", "/?state=ask", "/?state=running", "/?state=open", "/?archived=1"] {
        assert_eq!(marked(&read(&stage, path).await), 1, "{path}");
    }
    press(&stage, &format!("/c/{id}/continue"), "turn=1").await;
    let mut tab = stage.listen_at(&format!("/page/stream?c={id}&after=0.0"), None).await;
    tab.until("reset").await;
    assert!(!read(&stage, "/").await.contains("<span>failed</span>"));
}

const TWO: &str = r#"{"steps":[{"calls":[
    {"tool":"delegate","arguments":{"task":"tell slowly"}},
    {"tool":"delegate","arguments":{"task":"write it"}}]},{"say":"Both are done."}],
    "workers":[
        {"task":"tell slowly","steps":[{"say":"slowly said","chunk":1,"chunk_ms":1000}]},
        {"task":"write it","steps":[
            {"calls":[{"tool":"write_file","arguments":{"path":"a.txt","content":"3"}}]},{"say":"Written."}]}]}"#;

// C30: the call waits without its worker, and somebody comes to look while another worker is at work.
#[tokio::test(start_paused = true)]
async fn an_answer_to_a_worker_counts_also_for_somebody_who_came_behind_its_question() {
    for answer in ["yes", "no"] {
        let stage = Stage::new(TWO);
        let id = stage.begin().await;
        press(&stage, &format!("/c/{id}/say"), "text=both").await;
        while stage.get("/conversations").await["conversations"][0]["asking_worker"].is_null() {
            // wait: virtual time
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let mut tab = stage.listen_at(&format!("/page/stream?c={id}&after=0.0"), None).await;
        told(&mut tab, "slowly said").await;
        let questions = stage.get(&format!("/conversations/{id}/questions")).await;
        let question = questions["questions"][0]["question"]["id"].as_str().unwrap().to_owned();
        let answer = format!("answer={answer}");
        press(&stage, &format!("/c/{id}_1-1-1/answer/{question}"), &answer).await;
        told(&mut tab, "Both are done.").await;
    }
}

// C30: the conversation waits for the answer, and for the other worker as well.
#[tokio::test(start_paused = true)]
async fn an_answer_to_one_worker_counts_also_while_another_one_works() {
    let stage = Stage::new(TWO);
    let id = stage.begin().await;
    // Nobody is there when it begins, so the call waits without its worker.
    press(&stage, &format!("/c/{id}/say"), "text=both").await;
    let mut tab = stage.listen_at(&format!("/page/stream?c={id}&after=0.0"), None).await;
    told(&mut tab, "Allow once").await;
    let questions = stage.get(&format!("/conversations/{id}/questions")).await;
    let question = questions["questions"][0]["question"]["id"].as_str().unwrap().to_owned();
    press(&stage, &format!("/c/{id}_1-1-1/answer/{question}"), "answer=yes").await;
    told(&mut tab, "Both are done.").await;
    assert!(stage.dir.path().join("work/a.txt").exists());
}
