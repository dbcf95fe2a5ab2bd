//! Who reads and who begins turns, over HTTP.

use std::time::{Duration, Instant};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use piton::view::Status;
use piton_proof::client::{Client, Known};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::judged::{Reading, now_us};
use crate::measure::Outcome;

/// Requests at the same time.
const REQUESTS_MAX: usize = 64;
/// How often it is asked whether turns are over that nobody reads.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Why a reader or a request failed, in words: an error that can leave a task.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Failed(pub(super) String);

impl Failed {
    /// The words of another error.
    pub(super) fn by(error: impl std::fmt::Display) -> Self {
        Self(error.to_string())
    }
}

/// Begins conversations; their names.
pub(super) async fn begin(client: &Client, count: usize) -> Outcome<Vec<String>> {
    let one = |_| async move {
        let told = post(client, "/api/v1/conversations", &json!({})).await?;
        let name = told.get("conversation").and_then(Value::as_str);
        name.map(ToOwned::to_owned).ok_or_else(|| Failed::by("a conversation without a name"))
    };
    let names = stream::iter(0..count).map(one).buffer_unordered(REQUESTS_MAX).try_collect();
    Ok(names.await?)
}

/// A turn in each conversation, all at the same time; what readers got, and how long it took.
pub(super) async fn turns(
    client: &Client,
    names: &[String],
    readers_each: usize,
) -> Outcome<(Vec<Reading>, Duration)> {
    let (ready, mut is_ready) = mpsc::channel(names.len().max(1));
    let mut reading = JoinSet::new();
    for conversation in 0..names.len() {
        for _ in 0..readers_each {
            let name = names.get(conversation).cloned().unwrap_or_default();
            reading.spawn(read(client.clone(), name, conversation, ready.clone()));
        }
        // One conversation after the other, so that connections do not wait in line.
        for _ in 0..readers_each {
            is_ready.recv().await.ok_or("a reader left")?;
        }
    }
    let start = Instant::now();
    let say = |name: &String| {
        let path = format!("/api/v1/conversations/{name}/messages");
        async move { post(client, &path, &json!({ "text": "go" })).await.map(drop) }
    };
    let said = stream::iter(names).map(say).buffer_unordered(REQUESTS_MAX).try_collect::<()>();
    said.await?;
    let mut readings = Vec::new();
    while let Some(read) = reading.join_next().await {
        readings.push(read??);
    }
    rest(client).await?;
    Ok((readings, start.elapsed()))
}

/// Waits until no turn is open.
async fn rest(client: &Client) -> Outcome<()> {
    let path = "/api/v1/conversations?state=open&limit=1";
    loop {
        let (status, body) = client.ask("GET", path, "").await?;
        let told: Value = serde_json::from_str(&body)?;
        match told.get("conversations").and_then(Value::as_array).map(Vec::len) {
            Some(0) => return Ok(()),
            // wait: nobody reads, so nobody is told
            Some(_) => tokio::time::sleep(LOOK_EVERY).await,
            None => return Err(format!("the list is refused with {status}: {body}").into()),
        }
    }
}

/// Reads one conversation until its turn is over.
async fn read(
    client: Client,
    name: String,
    conversation: usize,
    ready: mpsc::Sender<()>,
) -> Result<Reading, Failed> {
    let mut events = client.events(&format!("c={name}"), None).await.map_err(Failed::by)?;
    let (mut known, mut came) = (Known::default(), Vec::new());
    loop {
        let event = events.next().await.map_err(Failed::by)?;
        let event = event.ok_or_else(|| Failed::by("the stream ended"))?;
        let now = now_us();
        known.take(&event).map_err(Failed::by)?;
        match event.name.as_str() {
            "snapshot" => ready.send(()).await.map_err(Failed::by)?,
            "change" => came.push((known.view.cursor, now)),
            _ => {}
        }
        if !known.view.turns.is_empty() && known.view.head.status == Status::Idle {
            return Ok(Reading { conversation, came, view: known.view });
        }
    }
}

/// Sends something that is taken.
pub(super) async fn post(client: &Client, path: &str, body: &Value) -> Result<Value, Failed> {
    let (status, told) = client.ask("POST", path, &body.to_string()).await.map_err(Failed::by)?;
    if !(200..300).contains(&status) {
        return Err(Failed(format!("{path} is refused with {status}: {told}")));
    }
    serde_json::from_str(&told).map_err(Failed::by)
}
