//! A provider refuses what it signed itself: blocks are left out, once and for all.

use std::fmt::Write as _;

use expect_test::expect;
use piton_core::state::State;
use piton_core::transcript::{Message, Transcript};

use crate::next_action::check;
use crate::sample::sample;
use crate::script::fold;

const JOURNAL: &str = include_str!("journals/v1_repair.jsonl");

/// Two turns; the first has one native answer, the second, which is open, has two.
const BLOCKS: &str = "turn user ask answer(t:one n:aaa) end:completed \
    turn user ask calls(r:a n:bbb) finish:a ask calls(r:b n:ccc) finish:b ask";

fn natives(state: &State) -> Vec<String> {
    let transcript = Transcript::from(state);
    let messages = transcript.messages().iter().filter_map(|message| match message {
        Message::Assistant(assistant) => Some(assistant),
        Message::User(_) | Message::Results(_) => None,
    });
    messages
        .map(|it| it.native.as_ref().map_or("-".into(), |native| native.raw.to_string()))
        .collect()
}

// J51, J52
#[test]
fn a_rejection_is_repaired_as_far_as_the_provider_says() {
    check(&format!("{BLOCKS} reject:latest"), expect!["repair 2.2"]);
    check(&format!("{BLOCKS} reject:turn"), expect!["repair 2.1 2.2"]);
    check(&format!("{BLOCKS} reject:aaa"), expect!["repair 1.1"]);
    // Nothing is quoted, or nothing of ours: any of them may be meant.
    check(&format!("{BLOCKS} reject:"), expect!["repair 1.1 2.1 2.2"]);
    check(&format!("{BLOCKS} reject:zzz"), expect!["repair 1.1 2.1 2.2"]);
}

// J51: a driver that dies between the failure and the repair changes nothing.
#[test]
fn a_repair_is_decided_again_after_a_crash_and_done_once() {
    let rejected = format!("{BLOCKS} reject:latest");
    check(&format!("{rejected} driver"), expect!["repair 2.2"]);
    let repaired = format!("{rejected} repair:2.2");
    check(&repaired, expect!["ask model: step 3, attempt 2"]);
    check(&format!("{repaired} driver"), expect!["ask model: step 3, attempt 2"]);
    assert_eq!(natives(&fold(&repaired)), ["aaa", "bbb", "-"]);
    // The same request, however often somebody starts anew.
    let (once, again) = (fold(&repaired), fold(&format!("{repaired} driver ask driver")));
    assert_eq!(Transcript::from(&once), Transcript::from(&again));
    assert_eq!(fold(&format!("{repaired} repair:2.2")).strays, 1, "there is nothing left to take");
}

// J51
#[test]
fn a_repair_that_takes_nothing_away_is_not_tried() {
    check("turn user ask reject:latest", expect!["break api_error: bad signature"]);
    let spent = format!("{BLOCKS} reject:turn repair:2.1+2.2 ask reject:turn");
    check(&spent, expect!["break api_error: bad signature"]);
    // What others said is not sent to this provider, so leaving it out would shrink nothing.
    check(
        "turn user ask answer(t:one n:aaa) end:completed model:other/two turn user ask reject:latest",
        expect!["break api_error: bad signature"],
    );
    // Neither is what a summary covers, or what was thrown away.
    let closed = "turn user ask answer(t:one n:aaa)";
    check(
        &format!("{closed} end:completed turn user ask reject: compact:1"),
        expect!["break api_error: bad signature"],
    );
    check(
        &format!("{closed} end:discarded turn user ask reject:"),
        expect!["break api_error: bad signature"],
    );
}

/// A turn with many native answers, and as many repairs of the latest one.
fn many(answers: u32, repairs: u32) -> String {
    let mut script = String::from("turn user");
    for step in 1..=answers {
        write!(script, " ask calls(r:c{step} n:raw{step}) finish:c{step}").unwrap();
    }
    script += " ask reject:latest";
    for step in (answers - repairs + 1..=answers).rev() {
        write!(script, " repair:1.{step} ask reject:latest").unwrap();
    }
    script
}

// J51: at most 10 in a row, and the last one takes all.
#[test]
fn repairs_are_bounded() {
    check(&many(20, 8), expect!["repair 1.12"]);
    check(&many(20, 9), expect!["repair 1.1 1.2 1.3 1.4 1.5 1.6 1.7 1.8 1.9 1.10 1.11"]);
    check(&many(20, 10), expect!["break api_error: bad signature"]);
    // Somebody who resumes grants a fresh row; a restart does not.
    let broken = format!("{} break:api_error", many(20, 10));
    check(&format!("{broken} driver"), expect!["rest"]);
    check(&format!("{broken} resume"), expect!["ask model: step 21, attempt 12"]);
    check(&format!("{broken} resume ask reject:latest"), expect!["repair 1.10"]);
}

// J51: other failures between two repairs do not make the row longer, and have their own allowance.
#[test]
fn a_repair_does_not_eat_up_the_retries() {
    let script = format!("failures_max:2 {BLOCKS} reject:latest repair:2.2 ask fail:network");
    check(&script, expect!["ask model: step 3, attempt 3, wait 1000 ms"]);
}

// J44, J51: what streamed before the rejection stays.
#[test]
fn partial_text_stays() {
    let script = "turn user ask partial:half reject:latest break:api_error";
    let state = fold(script);
    let step = state.turns.last().and_then(|turn| turn.steps().last()).unwrap();
    assert_eq!(step.streamed.text, "half");
}

#[test]
fn a_repair_of_nothing_is_a_stray() {
    let strays = |script: &str| fold(script).strays;
    assert_eq!(strays(&format!("{BLOCKS} repair:7.7")), 1);
    assert_eq!(strays("repair:1.1"), 1);
    assert_eq!(strays(&format!("{BLOCKS} repair:1.1")), 0, "early, but true");
}

// J10: the stored form is frozen from here on.
#[test]
fn the_sample_reads_back_and_means_what_it_always_meant() {
    let state = sample(JOURNAL);
    assert_eq!(natives(&state), ["-"]);
}
