//! Readers that are connected, and to whom nothing happens.

use std::time::{Duration, Instant};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use piton_proof::client::{Client, Events};
use rustix::process::{Resource, getrlimit};
use serde_json::json;

use super::load::{self, Failed};
use super::run::{TURNS, count};
use super::server::Server;
use crate::measure::{Bench, Outcome, runtime, shown};
use crate::report::{Row, Target, progress};

/// Readers, if there are descriptors for so many.
const READERS: usize = 10_000;
/// Descriptors that are left for everything else.
const SPARE: usize = 500;
/// Readers that connect at the same time.
const CONNECTING_MAX: usize = 64;

/// Memory of a reader at rest, and whether all of them still hear something.
pub(super) fn rows(bench: &Bench) -> Outcome<Vec<Row>> {
    let server = Server::start(bench, &bench.dir.path().join("serve-idle"))?;
    let own = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let most = server.descriptors_max()?.min(usize::try_from(own).unwrap_or(usize::MAX));
    let readers = READERS.min(most.saturating_sub(SPARE));
    progress(&format!("{readers} idle readers, with {most} descriptors"));
    let runtime = runtime()?;
    let names = runtime.block_on(load::begin(&server.client, TURNS))?;
    let before = server.memory("VmRSS:")?;
    let mut connected = runtime.block_on(connect(&server.client, &names, readers))?;
    let after = server.memory("VmRSS:")?;
    let took = runtime.block_on(hear(&server.client, &names, &mut connected))?;
    server.end()?;
    Ok(vec![
        Row {
            what: "memory of an idle reader",
            value: format!("{:.1} MB with {readers} readers", after / 1024.0),
            floor: format!("without {:.1} MB; {most} descriptors allowed", before / 1024.0),
            figure: (after - before) / count(readers),
            unit: " KB",
            target: Target::AtMost(64.0),
        },
        Row {
            what: "a change in each of 1,000 conversations, until all idle readers know it",
            value: shown(took),
            floor: format!("{readers} readers"),
            figure: took.as_secs_f64() * 1e6 / count(readers),
            unit: " µs a reader",
            target: Target::None,
        },
    ])
}

/// Connects readers, and reads each one's snapshot.
async fn connect(client: &Client, names: &[String], readers: usize) -> Outcome<Vec<Events>> {
    let one = |name: &String| {
        let query = format!("c={name}");
        async move {
            let mut events = client.events(&query, None).await.map_err(Failed::by)?;
            until(&mut events, "snapshot").await?;
            Ok::<_, Failed>(events)
        }
    };
    let connecting = stream::iter(names.iter().cycle().take(readers)).map(one);
    Ok(connecting.buffered(CONNECTING_MAX).try_collect().await?)
}

/// Changes every conversation, and waits until every reader knows it.
async fn hear(client: &Client, names: &[String], readers: &mut [Events]) -> Outcome<Duration> {
    let start = Instant::now();
    for name in names {
        let path = format!("/api/v1/conversations/{name}");
        let change = json!({ "title": "another" }).to_string();
        let (status, told) = client.ask("PATCH", &path, &change).await?;
        if status != 200 {
            return Err(format!("{path} is refused with {status}: {told}").into());
        }
    }
    for reader in readers {
        until(reader, "change").await?;
    }
    Ok(start.elapsed())
}

async fn until(events: &mut Events, name: &str) -> Result<(), Failed> {
    loop {
        let event = events.next().await.map_err(Failed::by)?;
        if event.ok_or_else(|| Failed::by("the stream ended"))?.name == name {
            return Ok(());
        }
    }
}
