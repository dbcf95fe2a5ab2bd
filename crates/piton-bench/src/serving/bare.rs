//! The same turns on an engine without HTTP, with followers in its process.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use piton::view::Status;
use piton::{Engine, Follow, NewMessage, News, Shelf, View};
use piton_core::id::ConversationId;
use piton_core::outcome::Ending;
use tokio::task::JoinSet;

use super::judged::{self, Judged, Reading, now_us};
use super::load::Failed;
use super::run::{READERS_EACH, Run};
use super::script;
use crate::crowd;
use crate::measure::{Bench, Outcome, runtime};

/// Makes this program run the turns without a server, and tell what they were like.
pub(crate) const BARE_ONLY: &str = "serve-bare-only";

/// Runs them in a process of their own.
pub(super) fn run(bench: &Bench, turns: usize) -> Outcome<Run> {
    let home = bench.dir.path().join(BARE_ONLY);
    let output = Command::new(std::env::current_exe()?)
        .args([BARE_ONLY, &home.to_string_lossy(), &turns.to_string()])
        .output()?;
    let told = String::from_utf8(output.stdout)?;
    let told: Vec<f64> = told.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    let [p50, p99, took, wrong, before, peak] = *told.as_slice() else {
        return Err("six numbers were expected".into());
    };
    let (p50, p99) = (Duration::from_secs_f64(p50), Duration::from_secs_f64(p99));
    let (took, wrong) = (Duration::from_secs_f64(took), usize::from(wrong != 0.0));
    Ok(Run { entries: 0, wrong, p50, p99, took, before, peak })
}

/// The process.
pub(crate) fn bare_only(home: &Path, turns: usize) -> Outcome<()> {
    let engine = crowd::engine(home, &script::text(), u32::try_from(turns)?)?;
    let names: Vec<String> = (0..turns).map(|number| format!("c{number}")).collect();
    let run = runtime()?.block_on(async {
        let known = begin(&engine, &names).await?;
        let mut following = JoinSet::new();
        for (conversation, name) in names.iter().enumerate() {
            for _ in 0..READERS_EACH {
                let follow = engine.follow(&ConversationId::new(name.as_str()), None).await?;
                following.spawn(read(follow, conversation));
            }
        }
        let before = crowd::memory("VmRSS:")?;
        let start = Instant::now();
        try_join_all(known.iter().map(|conversation| async {
            let said = piton::Command::say(NewMessage::text("go"));
            let ending = conversation.perform(said).await?;
            if ending == Ending::Done {
                Outcome::Ok(())
            } else {
                Err(format!("a turn ended with {ending:?}").into())
            }
        }))
        .await?;
        let took = start.elapsed();
        let mut readings = Vec::new();
        while let Some(read) = following.join_next().await {
            readings.push(read??);
        }
        let peak = crowd::memory("VmHWM:")?;
        let judged: Judged = judged::judge(home, &names, readings).await?;
        Outcome::Ok(Run::new(judged, took, (before, peak)))
    })?;
    let seconds = |time: Duration| time.as_secs_f64();
    let Run { p50, p99, took, wrong, before, peak, .. } = run;
    let (p50, p99, took) = (seconds(p50), seconds(p99), seconds(took));
    writeln!(std::io::stdout(), "{p50} {p99} {took} {wrong} {before} {peak}")?;
    Ok(())
}

/// Conversations that have begun, and in which nothing was said.
async fn begin(engine: &Engine, names: &[String]) -> Outcome<Vec<piton::Conversation>> {
    try_join_all(names.iter().map(|name| async move {
        let id = ConversationId::new(name.as_str());
        let conversation = engine.begin_as(id, "/".as_ref())?;
        conversation.send(piton::Command::Shelve { shelf: Shelf::Listed }).await?;
        Ok(conversation)
    }))
    .await
}

/// Follows one conversation until its turn is over.
async fn read(mut follow: Follow, conversation: usize) -> Result<Reading, Failed> {
    let (mut view, mut came) = (View::default(), Vec::new());
    loop {
        match follow.next().await.map_err(Failed::by)? {
            News::Snapshot(whole) => view = *whole,
            News::Change(change) => {
                came.push((change.cursor, now_us()));
                view.apply(&change).map_err(Failed::by)?;
            }
            News::Live(_) | _ => {}
        }
        if !view.turns.is_empty() && view.head.status == Status::Idle {
            return Ok(Reading { conversation, came, view });
        }
    }
}
