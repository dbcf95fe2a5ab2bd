//! Clients that are too many, and clients that do not read, over real connections.

use piton_proof::client::{Client, Events, Known};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket};

use crate::stage::Stage;

/// Serves a stage at a free port.
async fn serve(stage: &Stage, connections_max: usize) -> Client {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server = stage.server.clone().with_connections_max(connections_max);
    tokio::spawn(async move { server.serve(listener).await });
    Client { address, token: stage.token.clone() }
}

/// Reads until the view is at an entry.
async fn read_to(events: &mut Events, known: &mut Known, end: u64) {
    while known.view.cursor.0 < end {
        known.take(&events.next().await.unwrap().unwrap()).unwrap();
    }
}

// Bad input: ten thousand connections, in small.
#[tokio::test]
async fn connections_beyond_the_limit_are_refused_with_a_typed_error_and_nothing_is_lost() {
    let stage = Stage::new(r#"{"steps":[{"say":"one"}]}"#);
    let id = stage.begin().await;
    let client = serve(&stage, 2).await;
    let query = format!("c={id}");
    let mut first = client.events(&query, None).await.unwrap();
    let second = client.events(&query, None).await.unwrap();
    for _ in 0..100 {
        let (status, body) = client.ask("GET", "/api/v1/models", "").await.unwrap();
        let told: Value = serde_json::from_str(&body).unwrap();
        assert_eq!((status, &told["error"]["kind"]), (429, &json!("busy")), "{body}");
        assert!(told["error"]["id"].is_string() && told["error"]["hint"].is_string(), "{body}");
    }
    // Those who are in are not disturbed.
    let mut known = Known::default();
    stage.post(&format!("/conversations/{id}/prompt"), json!({ "text": "go", "wait": true })).await;
    let end = stage.view(&id).await;
    read_to(&mut first, &mut known, end.cursor.0).await;
    assert_eq!(known.view, end);
    // There is room again as soon as somebody leaves.
    drop(second);
    while client.ask("GET", "/api/v1/models", "").await.unwrap().0 != 200 {}
}

// D32: a reader that takes a byte now and then holds nobody up, and has everything in the end.
#[tokio::test]
async fn a_reader_that_hardly_reads_holds_nobody_up_and_misses_nothing() {
    let long = "a long answer ".repeat(15_000);
    let steps: Vec<_> = (0..16)
        .map(|_| json!({ "say": long, "calls": [{ "tool": "look", "arguments": {} }] }))
        .collect();
    let look = json!({ "name": "look", "effect": "read_only", "output": "nothing" });
    let stage = Stage::new(&json!({ "steps": steps, "tools": [look] }).to_string());
    let id = stage.begin().await;
    let client = serve(&stage, 10).await;
    let query = format!("c={id}");
    // A client with little room, which takes one byte and stops.
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    let mut slow = socket.connect(client.address.parse().unwrap()).await.unwrap();
    let (address, token) = (&client.address, &client.token);
    let head = format!(
        "GET /api/v1/events?{query} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\r\n"
    );
    slow.write_all(head.as_bytes()).await.unwrap();
    assert_eq!(slow.read_u8().await.unwrap(), b'H');
    let (mut quick, mut known) = (client.events(&query, None).await.unwrap(), Known::default());
    let path = format!("/conversations/{id}/prompt");
    let prompt = json!({ "text": "go", "wait": true });
    stage.post(&path, prompt).await;
    let end = stage.view(&id).await;
    read_to(&mut quick, &mut known, end.cursor.0).await;
    assert_eq!(known.view, end);
    assert!(3_000_000 < serde_json::to_string(&end).unwrap().len());
    // It goes on where it was, by what the server sent and by what it reads again.
    let mut behind = Events::go_on(slow, b"H").await.unwrap();
    let mut late = Known::default();
    read_to(&mut behind, &mut late, end.cursor.0).await;
    assert_eq!(late.view, end);
}
