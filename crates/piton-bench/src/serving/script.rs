//! What the model says in each turn: text that streams, and calls in between.

use std::time::Duration;

use serde_json::json;

/// Steps with a call; behind them comes the answer.
const STEPS: u32 = 3;
/// Pieces of text of a step.
const PIECES: u32 = 20;
/// Letters of a piece.
const PIECE_LETTERS: usize = 20;
/// Pause in front of each piece.
const PAUSE: Duration = Duration::from_millis(100);

/// The script.
pub(super) fn text() -> String {
    let letters = PIECE_LETTERS * PIECES as usize;
    let say: String = "a word and another ".chars().cycle().take(letters).collect();
    let pause = PAUSE.as_millis();
    let step = json!({ "say": say, "chunk": PIECE_LETTERS, "chunk_ms": pause,
        "calls": [{ "tool": "look" }] });
    let answer = json!({ "say": say, "chunk": PIECE_LETTERS, "chunk_ms": pause });
    let mut steps = vec![step; STEPS as usize];
    steps.push(answer);
    let look = json!({ "name": "look", "effect": "read_only", "output": "nothing to be seen" });
    json!({ "steps": steps, "tools": [look] }).to_string()
}

/// How long a turn takes by its pauses alone.
pub(super) fn pace() -> Duration {
    // A call is opened and closed by a piece of its own, and each answer ends with one.
    let calls = 2 * STEPS;
    PAUSE * ((STEPS + 1) * (PIECES + 1) + calls)
}
