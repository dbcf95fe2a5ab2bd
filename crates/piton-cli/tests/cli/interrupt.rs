//! Interrupts: the first keeps everything, the second leaves at once.

use std::fs::{self, File};
use std::process::{Command, Stdio};

use expect_test::expect;
use rustix::process::{Pid, Signal, kill_process, test_kill_process_group};

use crate::world::{Ran, World, lines, wait_until};

const WAITS: &str = r#"{"steps":[
    {"say":"Two.","calls":[{"tool":"fast"},{"tool":"slow"}]},{"say":"Done."}],
    "tools":[{"name":"fast","effect":"read_only","output":"quick"},
             {"name":"slow","effect":"read_only","wait_for":"go","output":"late"}]}"#;

fn signal(child: &std::process::Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// A turn that was interrupted when one of its two tools had ended.
fn interrupted(by: Signal) -> (World, Ran) {
    let world = World::new();
    let model = world.script(WAITS);
    let child = world.spawn(&["query", "go", "--model", &model]);
    world.wait_for_events("ToolFinished", 1);
    signal(&child, by);
    let ran = world.finish(child);
    (world, ran)
}

// K35, K36, X12
#[test]
fn an_interrupt_keeps_what_is_done_and_leaves_the_turn_to_be_resumed() {
    let (world, ran) = interrupted(Signal::INT);
    expect![[r#"
        Two.
        2> conversation AAAAAAAAAA (new), turn 1, model script:DIR/script.json
        2> • fast
        2> • slow
        2> ✓ fast — quick
        2> – slow — cancelled
        2> [interrupted]
        2> hint: the work is kept; to go on: piton query --continue --id AAAAAAAAAA
        2> hint: to begin the turn anew, from its message: piton retry --id AAAAAAAAAA
        2> hint: to discard the turn: piton query --discard-turn --id AAAAAAAAAA
        exit 130
    "#]]
    .assert_eq(&world.shown(&ran));
    world.check(
        &[&["print"], &["query", "--continue"]],
        expect![[r#"
            $ piton print
            ⏳ Incomplete turn (pending follow-up)
            > go
            Two.
            ✓ fast — completed
            – slow — cancelled
            [interrupted]
            2> conversation AAAAAAAAAA: 100 tokens in, 10 out
            exit 0
            $ piton query --continue
            Done.
            2> conversation AAAAAAAAAA, turn 1, model script:DIR/script.json
            2> Resuming. Interrupted (pending follow-up)
            exit 0
        "#]],
    );
}

#[test]
fn a_polite_kill_is_an_interrupt() {
    let (world, ran) = interrupted(Signal::TERM);
    assert_eq!(ran.code, 130);
    fs::write(world.work("go"), "").unwrap();
    assert_eq!(world.run(&["query", "--continue"]).stdout, "Done.\n");
}

#[test]
fn a_terminal_that_is_closed_is_an_interrupt() {
    let (world, ran) = interrupted(Signal::HUP);
    assert_eq!(ran.code, 130);
    assert!(ran.stderr.contains("– slow — cancelled\n[interrupted]\n"), "{}", ran.stderr);
    assert_eq!(world.run(&["query", "--continue"]).stdout, "Done.\n");
}

#[test]
fn a_terminal_that_is_closed_never_counts_as_impatience() {
    let world = World::new();
    // It ends by itself a while after it was asked to.
    let model = world.script(
        r#"{"steps":[{"calls":[{"tool":"shell",
            "arguments":{"command":"trap 'touch asked; sleep 1; exit 0' TERM; touch here; while :; do sleep 0.1; done"}}]}]}"#,
    );
    let child = world.spawn(&["query", "go", "--permissions", "auto", "--model", &model]);
    wait_until(|| world.work("here").exists());
    signal(&child, Signal::INT);
    wait_until(|| world.work("asked").exists());
    signal(&child, Signal::HUP);
    assert_eq!(world.finish(child).code, 130);
    assert!(world.events().iter().any(|event| event["type"] == "TurnBroke"));
}

#[test]
fn whoever_wants_hang_ups_ignored_is_obeyed() {
    let world = World::new();
    let model = world.script(WAITS);
    let piton = world.command(&["query", "go", "--model", &model]);
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]).arg(piton.get_program());
    command.args(piton.get_args()).current_dir(world.path("work"));
    command.envs(piton.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    world.wait_for_events("ToolFinished", 1);
    signal(&child, Signal::HUP);
    fs::write(world.work("go"), "").unwrap();
    let ran = world.finish(child);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "Two.\nDone.\n"), "{}", ran.stderr);
}

#[test]
fn an_interrupted_stream_keeps_its_text() {
    let world = World::new();
    let model = world.script(
        r#"{"steps":[{"say":"Hello there.","chunk":6,"faults":[{"kind":"stall","after":1}]}]}"#,
    );
    let child = world.spawn(&["query", "go", "--json", "--model", &model]);
    world.wait_for_events("ModelPartial", 1);
    signal(&child, Signal::INT);
    let ran = world.finish(child);
    let last = lines(&ran.stdout).pop().unwrap();
    assert_eq!((ran.code, &last["ending"]), (130, &"interrupted".into()));
    world.check(
        &[&["print"]],
        expect![[r#"
        $ piton print
        ⏳ Incomplete turn (pending LLM response)
        > go
        Hello
        [the answer broke off here]
        [interrupted]
        2> conversation AAAAAAAAAA
        exit 0
    "#]],
    );
}

#[test]
fn a_second_interrupt_leaves_at_once() {
    let world = World::new();
    // A command that ignores the polite signal keeps the first interrupt waiting.
    let model = world.script(
        r#"{"steps":[{"calls":[{"tool":"shell",
            "arguments":{"command":"trap '' TERM INT; echo $$ > shell.pid; touch here; for i in 1 2 3 4 5 6; do for j in 1 2 3 4 5 6 7 8 9 10; do sleep 1; done; done"}}]}]}"#,
    );
    let said = world.path("said");
    let mut command = world.command(&["query", "go", "--permissions", "auto", "--model", &model]);
    let mut child = command.stderr(File::create(&said).unwrap()).spawn().unwrap();
    wait_until(|| world.work("here").exists());
    // Two kinds, because two signals of one kind may arrive as one.
    signal(&child, Signal::INT);
    signal(&child, Signal::TERM);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let pid = fs::read_to_string(world.work("shell.pid")).unwrap();
    let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    // Killed before we left; whoever inherits it reaps it in its own time.
    wait_until(|| rustix::process::test_kill_process(pid).is_err() || is_zombie(pid));
    let said = fs::read_to_string(said).unwrap();
    let id = world.only_id();
    let end = format!(
        "[interrupted]\nhint: the turn is kept; to go on: piton query --continue --id {id}\n\
         hint: a command that was running was killed; check what it had done\n"
    );
    assert!(said.ends_with(&end), "{said}");
    let locks = fs::read_dir(world.path("home/locks")).unwrap().count();
    assert_eq!(locks, 0, "the session was dropped, not only left behind");
    assert!(!world.events().iter().any(|event| event["type"] == "TurnBroke"));
    assert_eq!(world.run(&["query", "hello"]).code, 6);
}

/// Whether a process has ended and only its parent has not looked yet.
fn is_zombie(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    stat.is_ok_and(|stat| stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" Z")))
}

// J79, J81
#[test]
fn a_conversation_that_is_worked_on_says_by_whom() {
    let world = World::new();
    let model = world.script(WAITS);
    let child = world.spawn(&["query", "go", "--model", &model]);
    let pid = child.id().to_string();
    world.wait_for_events("ToolFinished", 1);
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let ran = world.run(&["query", "me too", "--lock-wait", "0"]);
    let shown = world.shown(&ran).replace(&pid, "PID").replace(&format!("on {host}"), "on HOST");
    expect![[r#"
        2> error: conversation AAAAAAAAAA is held by process PID on HOST
        2> hint: to leave the message for that process, behind its turn: --queue
        2> hint: to say it to the turn that runs: --steer
        2> hint: to wait longer for it: --lock-wait SECONDS
        2> hint: or begin another conversation: piton query --new "TEXT"
        2> hint: your message is kept; to send it: piton query --draft
        exit 5
    "#]]
    .assert_eq(&shown);
    // J71, J78
    let listed = world.run(&["ls"]).stdout;
    assert!(listed.contains(&format!("running (pid {pid})")), "{listed}");
    let printed = world.shown(&world.run(&["print"])).replace(&pid, "PID");
    expect![[r#"
        ⏳ Incomplete turn (running, pid PID)
        > go
        Two.
        ✓ fast — completed
        … slow — running
        2> conversation AAAAAAAAAA: 100 tokens in, 10 out
        exit 0
    "#]]
    .assert_eq(&printed);
    let waiting = world.spawn(&["query", "me too", "--lock-wait", "60"]);
    fs::write(world.work("go"), "").unwrap();
    assert_eq!(world.finish(child).code, 0);
    assert_eq!(world.finish(waiting).code, 0);
    assert_eq!(world.rows()[0]["turns"], 2);
}

// K35: nobody waits for its key any more
#[test]
fn an_interrupt_ends_a_key_command_and_its_helpers() {
    let world = World::new();
    fs::create_dir_all(world.path("home")).unwrap();
    let pid = world.path("pid");
    let settings = format!(
        "[providers.mine]\ndialect = \"openai-chat\"\nbase_url = \"http://127.0.0.1:9/v1\"\n\
         key_command = [\"sh\", \"-c\", \"sleep 600 & echo $$ > {0}.new; mv {0}.new {0}; wait\"]\n",
        pid.display()
    );
    fs::write(world.path("home/piton.toml"), settings).unwrap();
    let child = world.spawn(&["query", "go", "--model", "mine/m"]);
    wait_until(|| pid.exists());
    signal(&child, Signal::INT);
    let ran = world.finish(child);
    assert_eq!(ran.code, 130, "{}", ran.stderr);
    let group = fs::read_to_string(&pid).unwrap().trim().parse().unwrap();
    let group = Pid::from_raw(group).unwrap();
    wait_until(|| test_kill_process_group(group).is_err());
}
