//! Tools of the settings in the crash suites: the engine dies at every point of turns whose tools are
//! real commands under real supervisors, and the effects are counted in a file that the commands
//! write (M1, M6, M8, M9, J33, X7).
//!
//! The engine is in this process and only its future is dropped; commands and supervisors go on, as
//! after `kill -9`. The whole binary is killed in `kill9.rs`, the supervisors in `command_deaths.rs`.

use std::path::Path;

use piton_proof::crash::provider::InProcess;
use piton_proof::crash::tally::Tally;
use piton_proof::crash::turns::{COMMAND_TURNS, TurnScript};
use piton_proof::crash::{self, Play};
use piton_proof::world::{Mistake, Runner, Workshop};
use tempfile::TempDir;

/// Recoveries are killed again at every so manieth point; which ones depends on the first kill.
const NTH: u64 = 12;

fn supervised(directory: &Path) -> Workshop {
    Workshop::new(directory, Runner::Supervised(env!("CARGO_BIN_EXE_piton").into()))
}

fn play<'a>(turn: &'a TurnScript, shop: &'a Workshop) -> Play<'a> {
    Play::new(turn, &InProcess).with_commands(shop)
}

fn check(suite: &str, tally: &Tally, classes: &[&str]) {
    println!("{suite}: {tally}");
    let shown: Vec<_> = tally.violations.iter().take(5).collect();
    assert!(tally.violations.is_empty(), "{shown:#?}");
    // Commands that end at the same moment share a commit, so runs differ by some points.
    assert!(tally.points / 2 < tally.kills, "most points were reached");
    let done: Vec<_> = tally.effects.keys().copied().collect();
    assert_eq!(done, classes);
}

const DECLARABLE: [&str; 4] = ["idempotent", "once", "read_only", "supervised"];

#[tokio::test]
async fn commands_crash_once_at_every_point() {
    let directory = TempDir::new().unwrap();
    let shop = supervised(directory.path());
    let mut tally = Tally::default();
    for turn in COMMAND_TURNS {
        tally.add(crash::once_everywhere(play(turn, &shop)).await);
    }
    check("command tools, killed once at every point", &tally, &DECLARABLE);
}

#[tokio::test]
async fn commands_crash_again_while_they_recover() {
    let directory = TempDir::new().unwrap();
    let shop = supervised(directory.path());
    let tally = crash::twice_at_every(play(&COMMAND_TURNS[0], &shop), NTH).await;
    check("command tools, killed again while recovering", &tally, &DECLARABLE);
}

// Without a supervisor a command ends with its agent, and nobody knows how far it came.
#[tokio::test]
async fn commands_crash_without_a_supervisor() {
    let directory = TempDir::new().unwrap();
    let shop = Workshop::new(directory.path(), Runner::Plain);
    let mut tally = Tally::default();
    for turn in COMMAND_TURNS {
        tally.add(crash::once_everywhere(play(turn, &shop)).await);
    }
    let classes = ["idempotent", "once", "read_only"];
    check("command tools without supervisors, killed once at every point", &tally, &classes);
}

#[tokio::test]
async fn commands_crash_oracle_notices_a_class_that_is_treated_wrongly() {
    for mistake in [Mistake::OnceRunsAgain, Mistake::RecordsAreIgnored] {
        let directory = TempDir::new().unwrap();
        let shop = supervised(directory.path()).mistaken(mistake);
        let tally = crash::once_everywhere(play(&COMMAND_TURNS[0], &shop)).await;
        let twice = tally.violations.iter().filter(|what| what.contains("took effect 2 times"));
        let twice = twice.count();
        println!("control {mistake:?}: {tally}; {twice} effects twice (some are wanted)");
        assert!(0 < twice, "{mistake:?} went unnoticed");
    }
}
