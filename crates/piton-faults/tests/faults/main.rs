#![cfg(test)]
//! The figures of `dev/faults`, from a part of the points: the whole takes minutes.

use std::process::Command;

/// Every how many-th system call is tried.
const STEP: &str = "step=40";
/// Rounds with random deaths.
const ROUNDS: &str = "rounds=100";

// K22, M14, J20: what must hold holds, and every mistake made on purpose is noticed.
#[test]
fn crash_figures_hold_and_their_controls_fail() {
    holds(&["all", STEP, ROUNDS, "seed=1"], "off");
}

// The same for commands in the sandbox, with what starts them there.
#[test]
fn crash_figures_hold_in_the_sandbox() {
    holds(&["all", STEP, ROUNDS, "seed=1", "only=command-"], "on");
}

fn holds(words: &[&str], wall: &str) {
    let strace = Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).output();
    if !strace.is_ok_and(|output| output.status.success()) {
        println!("skipped: strace is missing or may not trace here");
        return;
    }
    let mut faults = Command::new(env!("CARGO_BIN_EXE_piton-faults"));
    let output = faults.args(words).env("PITON_FAULTS_WALL", wall).output().unwrap();
    println!("{}", String::from_utf8_lossy(&output.stdout));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
