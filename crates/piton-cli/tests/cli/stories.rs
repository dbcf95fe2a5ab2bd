//! The stories in `examples/`: what piton promises, played from end to end by the real binary.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").canonicalize().unwrap()
}

fn run(script: &Path) -> Output {
    let mut command = Command::new("sh");
    command.arg(script).env("PITON", env!("CARGO_BIN_EXE_piton"));
    command.output().unwrap()
}

fn plays(name: &str) {
    let played = run(&examples().join(name));
    let said = String::from_utf8_lossy(&played.stdout);
    let talk = String::from_utf8_lossy(&played.stderr);
    assert!(played.status.success(), "{said}\n{talk}");
    let last = said.lines().last().unwrap();
    assert!(last.ends_with("points played, all of them hold."), "{said}");
    println!("{name}: {last}");
}

// K1
#[test]
fn the_story_of_the_pending_turn_plays_to_its_end() {
    plays("pending-turn.sh");
}

// D51
#[test]
fn the_story_of_the_loop_plays_to_its_end() {
    plays("agent-loop.sh");
}

// J17, J21
#[test]
fn the_story_of_resumable_turns_plays_to_its_end() {
    plays("resumable-turns.sh");
}

// C3, C13
#[test]
fn the_story_of_a_retry_plays_to_its_end() {
    plays("chat-retry.sh");
}

// O2, O12, O13
#[test]
fn the_story_of_a_history_that_is_taken_plays_to_its_end() {
    plays("conversation-integrity.sh");
}

#[test]
fn broken_sessions_of_other_agents_go_on() {
    plays("import.sh");
}

/// A story of two points that plays this.
fn small(scenes: &str) -> (bool, String) {
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("small.sh");
    let here = examples();
    let text = format!(
        "here={}\n. \"$here/stage.sh\"\npoints <<'LIST'\none The first.\ntwo The second.\nLIST\n{scenes}\nthe_end\n",
        here.display()
    );
    fs::write(&script, text).unwrap();
    let played = run(&script);
    (played.status.success(), String::from_utf8(played.stderr).unwrap())
}

#[test]
fn a_story_fails_if_a_point_is_missing_or_does_not_hold() {
    let both = "play one\nsame x 1 1\nplay two\nsame x 2 2";
    assert_eq!(small(both), (true, String::new()));
    for (scenes, said) in [
        ("play one\nsame x 1 1", "every point is played; missing: two"),
        ("play one\nplay two\nsame x 2 2", "something is looked at"),
        ("play one\nsame x 1 2", "x: 1, where 2 is right"),
        ("play one\nsame x 1 1\nplay three", "three is a point of this story"),
        ("play one\nsame x 1 1\nplay one", "one is played once"),
        ("play one\nrun --version\nexits 1", "the exit code is 1"),
        ("play one\nrun --version\nsays nonsense", "it says: nonsense"),
        (
            "play one\nprintf 'b a' >\"$dir/x\"\nholds order in_order \"$dir/x\" a b",
            "does not hold: order",
        ),
    ] {
        let (is_played, told) = small(scenes);
        assert!(!is_played && told.contains(said), "{scenes}: {told}");
    }
}
