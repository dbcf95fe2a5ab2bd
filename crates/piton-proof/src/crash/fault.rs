//! A disk that fails at every append of a turn, and the life after it.

use std::sync::Arc;

use piton::{NewMessage, OnIncomplete};
use piton_core::event::UserPart;
use piton_core::id::MessageId;
use piton_store::{Journal, MemoryJournal};

use super::provider::Run;
use super::tally::Tally;
use super::{Final, Met, Play, all_records, converse, end, engine, enter, live, undisturbed};
use crate::disk::{DiskFault, MortalJournal};
use crate::oracle;
use crate::world::World;

/// Lets every append fail once, each in a run of its own, and the next life finish the turn.
pub async fn disk_fails_everywhere(play: Play<'_>, fault: DiskFault) -> Tally {
    let (reference, points) = undisturbed(play).await;
    let mut tally = Tally::beginning(&reference, points);
    let mut number = 1;
    // One more than there are appends: the run that no fault reaches is the last one.
    while let Some(violations) = failed_once(play, &reference, number, fault).await {
        tally.runs += 1;
        tally.kills += 1;
        tally.violations.extend(violations);
        number += 1;
    }
    tally
}

/// What is wrong after the given append failed; `None` if there was no such append.
async fn failed_once(
    play: Play<'_>,
    reference: &Final,
    number: u64,
    fault: DiskFault,
) -> Option<Vec<String>> {
    let world = play.world();
    let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::default());
    let mortal = MortalJournal::new(journal.clone(), world.clone()).failing(number, fault);
    let mortal = Arc::new(mortal);
    let run = play.provider.begin(play.turn);
    world.begin_life(None);
    let mut found = fail(play, &*run, &journal, &world, mortal.clone()).await;
    if mortal.appends() < number {
        return None;
    }
    let before = all_records(&journal).await;
    live(play, &*run, &journal, &world).await;
    let after = all_records(&journal).await;
    found.extend(oracle::lost_anywhere(&before, &after));
    let end = end(&*run, &after, world);
    found.extend(oracle::judge(reference, &end));
    let place = |what| format!("{} append {number} {fault:?}: {what}", play.turn.name);
    Some(found.into_iter().map(place).collect())
}

/// The life that meets the fault: it must report it, and must not go on as if nothing were.
async fn fail(
    play: Play<'_>,
    run: &dyn Run,
    journal: &Arc<dyn Journal>,
    world: &World,
    mortal: Arc<MortalJournal>,
) -> Vec<String> {
    let engine = engine(play, run, journal, world, mortal.clone());
    let mut session = match enter(play, &engine, journal).await {
        Ok(session) => session,
        Err(problem) => return vec![problem],
    };
    let Err(error) = converse(play, &engine, &mut session, world).await else {
        return vec!["the fault was not reported".into()];
    };
    let mut found = Vec::new();
    if !error.to_string().contains("simulated") {
        found.push(format!("another error was reported: {error}"));
    }
    if let Met::AtWorker(_) = error {
        // Whoever answered knows that the answer was not taken. This session is as good as before.
        return found;
    }
    // The session's memory is ahead of its journal now: it must not answer from it.
    let (appends, effects) = (mortal.appends(), world.ledger().len());
    let parts = vec![UserPart::text("again")];
    let message = NewMessage { id: Some(MessageId::new("m0")), parts };
    if session.send(message, OnIncomplete::Resume).await.is_ok() {
        found.push("a message was taken after the fault".into());
    }
    if session.resume().await.is_ok() {
        found.push("the turn was resumed after the fault".into());
    }
    if (mortal.appends(), world.ledger().len()) != (appends, effects) {
        found.push("something was done after the fault".into());
    }
    found
}
