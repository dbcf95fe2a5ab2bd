//! Every command by letter: who holds the conversation and who sends are killed at every point.

use piton_proof::disk::Flaw;
use piton_proof::letters::dispatch::every_command;
use piton_proof::letters::{self, Tally};

/// Both die at every so manieth pair of points.
const NTH: u64 = 5;
/// So many tests share the commands.
const PARTS: usize = 4;

/// One part of all commands, so that processors share the suite.
async fn every_command_once(part: usize) {
    let mut tally = Tally::default();
    for dispatch in every_command().into_iter().skip(part).step_by(PARTS) {
        let one = letters::everywhere(&dispatch, NTH).await;
        println!("{}: {one}", dispatch.name);
        assert!(0 < one.by_letter, "{} never travelled", dispatch.name);
        tally.add(one);
    }
    println!("commands by letter, part {part}: {tally}");
    let shown: Vec<_> = tally.violations.iter().take(5).collect();
    assert!(tally.violations.is_empty(), "{shown:#?}");
}

// J96, M8, M15
#[tokio::test(start_paused = true)]
async fn crash_brings_every_command_by_letter_once_first_part() {
    every_command_once(0).await;
}

#[tokio::test(start_paused = true)]
async fn crash_brings_every_command_by_letter_once_second_part() {
    every_command_once(1).await;
}

#[tokio::test(start_paused = true)]
async fn crash_brings_every_command_by_letter_once_third_part() {
    every_command_once(2).await;
}

#[tokio::test(start_paused = true)]
async fn crash_brings_every_command_by_letter_once_last_part() {
    every_command_once(3).await;
}

#[tokio::test(start_paused = true)]
async fn letters_that_nobody_disturbs_bring_every_command() {
    for dispatch in every_command() {
        let tally = letters::never(&dispatch, None).await;
        assert_eq!(tally.violations, [""; 0], "{}", dispatch.name);
        assert_eq!(tally.by_letter, 1, "{} did not travel", dispatch.name);
    }
}

#[tokio::test(start_paused = true)]
async fn crash_oracle_notices_letters_that_are_lost() {
    for dispatch in every_command() {
        let tally = letters::never(&dispatch, Some(Flaw::LettersLost)).await;
        println!("control of lost letters: {}, {tally} (some are wanted)", dispatch.name);
        let noticed = tally.violations.iter().any(|what| what.contains("it is lost"));
        assert!(noticed, "{:?}", tally.violations);
    }
}

#[tokio::test(start_paused = true)]
async fn crash_oracle_notices_commands_that_are_forgotten() {
    for dispatch in every_command().into_iter().filter(|it| it.name == "rename") {
        let tally = letters::holder_everywhere(&dispatch, Some(Flaw::TakenForgotten)).await;
        println!("control of forgotten commands: {}, {tally} (some are wanted)", dispatch.name);
        let noticed = tally.violations.iter().any(|what| what.contains("it was judged 2 times"));
        assert!(noticed, "{:?}", tally.violations);
    }
}
