//! A disk that fails at every append of a turn, and the life after it.

use std::sync::Arc;
use std::time::Duration;

use piton_store::{Journal, MemoryJournal};

use super::life::{Life, Met, gone};
use super::tally::Tally;
use super::{Final, Play, all_records, end, live, undisturbed};
use crate::disk::{DiskFault, MortalJournal};
use crate::oracle;

/// How long an engine is left alone behind a fault.
const QUIET: Duration = Duration::from_secs(5);

/// Who goes on behind a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// Another process.
    Other,
    /// The same engine, at the next command. It may not believe its memory.
    Same,
}

/// Lets every append fail once, each in a run of its own, and the next life finish the turn.
pub async fn disk_fails_everywhere(play: Play<'_>, fault: DiskFault) -> Tally {
    let (reference, points) = undisturbed(play).await;
    let mut tally = Tally::beginning(&reference, points);
    let mut number = 1;
    // One more than there are appends: the run that no fault reaches is the last one.
    while let Some(violations) = failed_once(play, &reference, (number, fault), Next::Other).await {
        tally.runs += 1;
        tally.kills += 1;
        tally.violations.extend(violations);
        // A scripted worker fails once an engine: the same one would see it succeed.
        if play.turn.script().workers.is_empty() {
            let same = failed_once(play, &reference, (number, fault), Next::Same).await;
            tally.violations.extend(same.into_iter().flatten());
        }
        number += 1;
    }
    tally
}

/// What is wrong after the given append failed; `None` if there was no such append.
async fn failed_once(
    play: Play<'_>,
    reference: &Final,
    (number, fault): (u64, DiskFault),
    next: Next,
) -> Option<Vec<String>> {
    let world = play.world();
    let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::default());
    let mortal = MortalJournal::mortal(journal.clone(), world.clone()).failing(number, fault);
    let mortal = Arc::new(mortal);
    let run = play.provider.begin(play.turn);
    world.begin_life(None);
    let mut found = Vec::new();
    let before = {
        let life = match Life::begin(play, &*run, &journal, &world, mortal.clone()) {
            Ok(life) => life,
            Err(problem) => return Some(vec![problem]),
        };
        found.extend(fail(&life, &mortal).await);
        if mortal.appends() < number {
            return None;
        }
        let before = all_records(&journal).await;
        if next == Next::Same
            && let Err(error) = life.converse().await
        {
            found.push(format!("the engine does not go on: {error}"));
        }
        before
    };
    if !gone(&mortal).await {
        found.push("a task outlived its engine".into());
    }
    if next == Next::Other {
        world.begin_life(None);
        live(play, &*run, &journal, &world).await;
    }
    let after = all_records(&journal).await;
    found.extend(oracle::lost_anywhere(&before, &after));
    let end = end(&*run, &after, world);
    found.extend(oracle::judge(reference, &end));
    let place = |what| format!("{} append {number} {fault:?} {next:?}: {what}", play.turn.name);
    Some(found.into_iter().map(place).collect())
}

/// The life that meets the fault: it must report it, and must not go on as if nothing were.
async fn fail(life: &Life<'_>, mortal: &MortalJournal) -> Vec<String> {
    let Err(error) = life.converse().await else {
        return vec!["the fault was not reported".into()];
    };
    let mut found = Vec::new();
    if !error.to_string().contains("simulated") {
        found.push(format!("another error was reported: {error}"));
    }
    if let Met::AtWorker(_) = error {
        // The sender of the answer knows that it was not taken. The conversation is as good as before.
        return found;
    }
    // No effect begins without an append. Jobs in other hands go on.
    let appends = mortal.appends();
    tokio::time::sleep(QUIET).await;
    if mortal.appends() != appends {
        found.push("something was done after the fault".into());
    }
    found
}
