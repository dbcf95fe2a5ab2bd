use std::path::PathBuf;
use std::sync::Arc;

use piton::hooks::{HookedCall, Outcome, TurnEnd};
use piton_core::id::{ConversationId, TurnId};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;

fn read(text: &str) -> Result<HookSet, String> {
    let tables: Result<OnlyHooks, _> = toml::from_str(text);
    HookSet::read(tables.map_err(|error| error.to_string())?.hooks)
}

/// A settings file with nothing but hooks.
#[derive(serde::Deserialize)]
struct OnlyHooks {
    hooks: WrittenHooks,
}

/// Hooks for one moment that run a line.
fn hooks(list: &str, line: &str, more: &str) -> AgentHooks {
    let text = format!("[[hooks.{list}]]\ncommand = '''{line}'''\n{more}\n");
    AgentHooks::new(read(&text).unwrap(), vec![])
}

fn call(arguments: &str) -> HookedCall {
    HookedCall {
        id: "1.2.0".parse().unwrap(),
        tool: "write_file".into(),
        arguments: arguments.into(),
    }
}

fn told(workspace: PathBuf, occasion: Occasion) -> Told {
    Told { conversation: ConversationId::new("c"), workspace, turn: TurnId(1), occasion }
}

fn before(workspace: &TempDir) -> Told {
    told(workspace.path().into(), Occasion::BeforeTool(call(r#"{"path":"a"}"#)))
}

async fn opinion(line: &str, more: &str) -> Opinion {
    let place = TempDir::new().unwrap();
    hooks("before_tool", line, more).before_tool(&before(&place)).await
}

#[test]
fn a_hook_is_a_few_lines() {
    let hooks = read(
        "[[hooks.before_tool]]\ntool = \"shell\"\ncommand = [\"check.sh\", \"-x\"]\ntimeout_seconds = 3\n\
         [[hooks.before_tool]]\ntool = \"*_file\"\ncommand = \"check\"\n\
         [[hooks.turn_end]]\ncommand = \"notify-send piton\"\n",
    )
    .unwrap();
    assert_eq!(hooks.hooked(), ["*_file", "shell"]);
    let first = hooks.before_tool.first().unwrap();
    assert_eq!(first.program, Program::Words(vec!["check.sh".into(), "-x".into()]));
    assert_eq!(first.timeout, Duration::from_secs(3));
    let last = hooks.turn_end.first().unwrap();
    assert_eq!((last.tool.as_str(), last.timeout.as_secs()), ("*", TIMEOUT_SECONDS_DEFAULT));
}

#[test]
fn what_makes_no_sense_is_named() {
    let check = |text: &str, expected: &str| {
        let fault = read(text).unwrap_err();
        assert!(fault.contains(expected), "{fault}");
    };
    check("[[hooks.before_tool]]\n", "command");
    check("[[hooks.before_tool]]\ncommand = []\n", "hooks.before_tool: command is empty");
    check("[[hooks.question]]\ncommand = \" \"\n", "hooks.question: command is empty");
    check("[[hooks.after_tool]]\ncommand = \"x\"\ntool = \"\"\n", "leave it out");
    check("[[hooks.turn_end]]\ncommand = \"x\"\ntool = \"shell\"\n", "a turn has no tool");
    check("[[hooks.turn_end]]\ncommand = \"x\"\ntimeout_seconds = 0\n", "1 to 60, not 0");
    check("[[hooks.turn_end]]\ncommand = \"x\"\ntimeout_seconds = 61\n", "1 to 60, not 61");
    check("[[hooks.before_tools]]\ncommand = \"x\"\n", "before_tools");
}

#[test]
fn what_a_hook_reads_is_one_object_of_the_moment() {
    let news = |occasion| -> Value {
        let text = news::in_json(&told("/w".into(), occasion));
        assert_eq!(text.matches('\n').count(), 1);
        serde_json::from_str(&text).unwrap()
    };
    let asked = news(Occasion::BeforeTool(call(r#"{"path":"a"}"#)));
    assert_eq!(
        asked,
        json!({ "event": "before_tool", "conversation": "c", "workspace": "/w", "turn": 1,
            "call": "1.2.0", "tool": "write_file", "arguments": { "path": "a" } })
    );
    let (outcome, text) = (Outcome::Ok, Arc::from("done"));
    let after = news(Occasion::AfterTool { call: call("no json"), outcome, text });
    assert_eq!((&after["outcome"], &after["text"]), (&json!("ok"), &json!("done")));
    assert_eq!((&after["event"], &after["arguments"]), (&json!("after_tool"), &json!("no json")));
    let asks = news(Occasion::Question { call: call("{}"), question: "Run it?".into() });
    assert_eq!((&asks["event"], &asks["question"]), (&json!("question"), &json!("Run it?")));
    let ended = news(Occasion::TurnEnded(TurnEnd::Completed));
    assert_eq!((&ended["event"], &ended["end"]), (&json!("turn_end"), &json!("completed")));
    let reason = piton::hooks::BreakReason::ApiError;
    let broke = news(Occasion::TurnBroke { reason, message: "away".into() });
    assert_eq!((&broke["end"], &broke["reason"]), (&json!("broken"), &json!("api_error")));
}

#[tokio::test]
async fn a_hook_denies_by_its_exit_code_or_in_json() {
    for (line, reason) in [
        ("echo 'not today' >&2; exit 2", "not today"),
        ("exit 2", "it gave no reason."),
        (r#"echo '{"deny":"not today"}'"#, "not today"),
        (r#"echo '{"deny":"not today"}'; exit 1"#, "not today"),
        (r#"echo '{"deny":true}'"#, "it gave no reason."),
        (r#"grep -q '"path":"a"' && echo seen >&2; pwd >/dev/null; exit 2"#, "seen"),
    ] {
        let said = opinion(line, "").await;
        assert_eq!(said, Opinion { denied: Some(reason.into()), warnings: vec![] }, "{line}");
    }
}

#[tokio::test]
async fn a_hook_that_denies_nothing_lets_the_call_pass() {
    for line in ["true", "echo fine", r#"echo '{"deny":null}'"#, r#"echo '{"other":1}'"#] {
        assert_eq!(opinion(line, "").await, Opinion::default(), "{line}");
    }
    let other = opinion("exit 2", "tool = \"shell\"").await;
    assert_eq!(other, Opinion::default(), "it is for another tool");
}

#[tokio::test]
async fn a_hook_that_fails_is_told_of_and_denies_nothing() {
    for (line, more, expected) in [
        ("echo oops >&2; exit 1", "", "`echo oops >&2; exit 1` failed: exit status: 1 (oops)"),
        ("echo '{'", "", "what it printed is no JSON"),
        ("sleep 600 & sleep 600", "timeout_seconds = 1", "was stopped after 1 s"),
        ("exec yes", "timeout_seconds = 1", "was stopped after 1 s"),
    ] {
        let said = opinion(line, more).await;
        assert_eq!(said.denied, None, "{line}");
        let [warning] = said.warnings.as_slice() else { panic!("{line}: {said:?}") };
        assert!(warning.contains(expected), "{warning}");
        assert!(warning.ends_with("; it denied nothing"), "{warning}");
    }
    let text = "[[hooks.before_tool]]\ncommand = [\"/no/such/program\"]\n";
    let hooks = AgentHooks::new(read(text).unwrap(), vec![]);
    let said = hooks.before_tool(&before(&TempDir::new().unwrap())).await;
    assert!(said.warnings.first().unwrap().contains("cannot run"), "{said:?}");
    assert_eq!(hooks.take_warnings(), said.warnings);
    assert!(hooks.take_warnings().is_empty(), "it is told once");
}

#[tokio::test]
async fn a_hook_that_prints_too_much_is_read_to_its_end_and_its_reason_is_cut() {
    let said = opinion("head -c 1000000 /dev/zero | tr '\\0' x >&2; exit 2", "").await;
    assert_eq!(said.denied.map(|reason| reason.len()), Some(4 * 1024));
}

// What it left running holds its output open: that is not waited for.
#[tokio::test]
async fn a_hook_may_leave_something_running() {
    let place = TempDir::new().unwrap();
    let line = "sleep 600 & echo $! > pid; exit 2";
    let said = hooks("before_tool", line, "").before_tool(&before(&place)).await;
    assert_eq!((said.denied.is_some(), said.warnings.len()), (true, 0));
    let pid = std::fs::read_to_string(place.path().join("pid")).unwrap();
    let pid = rustix::process::Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test]
async fn the_first_hook_that_denies_is_the_last_that_runs() {
    let text = "[[hooks.before_tool]]\ncommand = \"touch one\"\n\
        [[hooks.before_tool]]\ncommand = \"exit 2\"\n[[hooks.before_tool]]\ncommand = \"touch three\"\n";
    let (hooks, place) = (AgentHooks::new(read(text).unwrap(), vec![]), TempDir::new().unwrap());
    assert!(hooks.before_tool(&before(&place)).await.denied.is_some());
    assert!(place.path().join("one").exists() && !place.path().join("three").exists());
}

#[tokio::test]
async fn hooks_that_only_listen_hear_what_they_are_for_and_cannot_deny() {
    let place = TempDir::new().unwrap();
    let hooks = hooks("after_tool", "cat > heard; exit 2", "tool = \"write_*\"");
    let after = |tool: &str| {
        let call = HookedCall { tool: tool.into(), ..call("{}") };
        Occasion::AfterTool { call, outcome: Outcome::Denied, text: "no".into() }
    };
    assert!(hooks.listens(&after("write_file")) && !hooks.listens(&after("shell")));
    assert!(!hooks.listens(&Occasion::TurnEnded(TurnEnd::Completed)));
    let warnings = hooks.tell(told(place.path().into(), after("write_file"))).await;
    assert!(warnings.first().is_some_and(|why| why.contains("exit status: 2")), "{warnings:?}");
    let heard = std::fs::read_to_string(place.path().join("heard")).unwrap();
    assert!(heard.contains(r#""outcome":"denied""#), "{heard}");
}
