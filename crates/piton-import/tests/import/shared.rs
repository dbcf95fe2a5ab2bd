//! Sessions that real agents wrote. They belong to others: read in place where they are, never copied.

use std::fs;
use std::path::{Path, PathBuf};

use piton_core::history::History;
use piton_import::{Found, candidates_below, read};
use serde_json::Value;

use crate::told::{
    assistant_texts, calls, images, is_complete, kinds, reasoning, told, user_texts,
};

/// Kinds of remarks that expectations count as repairs.
const REPAIRS: [&str; 10] = [
    "torn_line",
    "call_without_result",
    "synthetic_result",
    "duplicate_result",
    "result_without_call",
    "partial_text",
    "failed_attempt",
    "empty_assistant_message",
    "agent_made_message",
    "chain_gap",
];

/// Where the samples are, if they are at hand. `PITON_SESSIONS` names another place.
fn samples() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/sessions");
    let place = std::env::var_os("PITON_SESSIONS").map_or(beside, PathBuf::from);
    place.is_dir().then_some(place)
}

fn beginnings(texts: &[String]) -> Vec<String> {
    texts.iter().map(|text| text.chars().take(40).collect()).collect()
}

fn list(value: &Value) -> Vec<String> {
    value
        .as_array()
        .map_or(&[][..], Vec::as_slice)
        .iter()
        .map(|it| it.as_str().unwrap().to_owned())
        .collect()
}

/// Everything in which a history differs from what is expected of it.
fn differences(history: &History, expected: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut same = |what: &str, is: String, wanted: String| {
        if is != wanted {
            wrong.push(format!("{what}: {is}, wanted {wanted}"));
        }
    };
    let users = user_texts(history);
    same("user_messages", users.len().to_string(), expected["user_messages"].to_string());
    same(
        "user_texts",
        format!("{:?}", beginnings(&users)),
        format!("{:?}", list(&expected["user_texts"])),
    );
    let texts = beginnings(&assistant_texts(history));
    same(
        "assistant_texts",
        format!("{texts:?}"),
        format!("{:?}", list(&expected["assistant_texts"])),
    );
    let is: Vec<_> = calls(history)
        .iter()
        .map(|call| (call.tool.clone(), call.id.clone().unwrap_or_default(), call.result.is_some()))
        .collect();
    let wanted: Vec<_> = expected["tool_calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            let name = |key: &str| it[key].as_str().unwrap_or_default().to_owned();
            (name("name"), name("id"), it["has_result"] == true)
        })
        .collect();
    same("tool_calls", format!("{is:?}"), format!("{wanted:?}"));
    for (call, it) in calls(history).iter().zip(expected["tool_calls"].as_array().unwrap()) {
        if let (Some(part), Some(result)) = (it["result_contains"].as_str(), &call.result) {
            same("result", result.text.contains(part).to_string(), "true".to_owned());
        }
    }
    let counted = |kind: &str| kinds(history).iter().filter(|it| **it == kind).count();
    let numbers = [
        ("reasoning_blocks", reasoning(history)),
        ("images", images(history)),
        ("not_from_a_person", counted("note")),
        ("compactions", counted("compaction").min(1)),
    ];
    for (name, is) in numbers {
        if let Some(wanted) = expected[name].as_u64() {
            same(name, is.to_string(), wanted.to_string());
        }
    }
    let mut is: Vec<_> = kinds(history).into_iter().filter(|kind| REPAIRS.contains(kind)).collect();
    let repaired = expected["repaired"].as_array().unwrap();
    let mut wanted: Vec<_> = repaired.iter().map(|it| it["kind"].as_str().unwrap()).collect();
    is.sort_unstable();
    wanted.sort_unstable();
    same("repaired", format!("{is:?}"), format!("{wanted:?}"));
    let state = if is_complete(history) { "complete" } else { "incomplete" };
    same("last_state", state.to_owned(), expected["last_state"].as_str().unwrap().to_owned());
    let partial = list(&expected["partial_assistant_texts"]);
    let all = told(history);
    same(
        "partial texts",
        partial.iter().all(|text| all.contains(text.as_str())).to_string(),
        "true".to_owned(),
    );
    for error in list(&expected["errors_recorded"]) {
        same("errors_recorded", all.contains(&error).to_string(), "true".to_owned());
    }
    wrong
}

/// The files of a case that expectations hold for.
fn mains(case: &Path, expected: &Value) -> Vec<PathBuf> {
    let files = expected["files"].as_array().unwrap().iter();
    let is_main = |it: &&Value| {
        let role = it["role"].as_str().unwrap_or_default();
        role == "main" || role.contains("same expectations")
    };
    files.filter(is_main).map(|it| case.join(it["path"].as_str().unwrap())).collect()
}

#[test]
fn sessions_of_real_agents_are_read_as_expected() {
    let Some(samples) = samples() else {
        println!("skipped: sessions of real agents are not at hand");
        return;
    };
    let (mut cases, mut wrong) = (0, Vec::new());
    for agent in fs::read_dir(samples).unwrap().map(|it| it.unwrap().path()) {
        for case in fs::read_dir(agent).unwrap().map(|it| it.unwrap().path()) {
            let expected = fs::read(case.join("expect.json")).unwrap();
            let expected: Value = serde_json::from_slice(&expected).unwrap();
            for path in mains(&case, &expected) {
                cases += 1;
                let session =
                    expected["main_session"].as_str().filter(|_| path.ends_with("opencode.db"));
                let name = format!("{} {}", case.display(), path.display());
                match read(&path, session) {
                    Ok(found) => {
                        let Found { history, .. } = &found[0];
                        let all = differences(history, &expected);
                        wrong.extend(all.iter().map(|it| format!("{name}: {it}")));
                    }
                    Err(error) => wrong.push(format!("{name}: {error}")),
                }
            }
            assert!(!candidates_below(&case).is_empty(), "{}", case.display());
        }
    }
    println!("{cases} sessions of real agents");
    assert!(0 < cases, "there are none");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
