//! Finding sessions in their usual places.

use std::fs;
use std::path::PathBuf;

use piton_import::{Format, Homes, candidates, candidates_below};

use crate::told::file;

const PLACES: [(&str, &str); 6] = [
    ("claude.jsonl", ".claude/projects/-no-such-place/a.jsonl"),
    ("codex.jsonl", ".codex/sessions/2026/02/03/rollout-a.jsonl"),
    ("codex.jsonl.zst", ".codex/archived_sessions/rollout-b.jsonl.zst"),
    ("gemini.jsonl", ".gemini/tmp/project/chats/session-a.jsonl"),
    ("qwen.jsonl", ".qwen/projects/-no-such-place/chats/a.jsonl"),
    ("pi.jsonl", ".pi/agent/sessions/--no-such-place--/a.jsonl"),
];

#[test]
fn sessions_are_found_where_their_agents_keep_them() {
    let home = tempfile::tempdir().unwrap();
    for (name, place) in PLACES {
        let place = home.path().join(place);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::copy(file(name), place).unwrap();
    }
    let helper = home.path().join(".claude/projects/-no-such-place/a/subagents/agent-1.jsonl");
    fs::create_dir_all(helper.parent().unwrap()).unwrap();
    fs::copy(file("claude.jsonl"), helper).unwrap();
    fs::write(home.path().join(".gemini/tmp/project/.project_root"), "/no/such/place\n").unwrap();
    fs::copy(file("chat.json"), home.path().join(".codex/sessions/notes.json")).unwrap();
    let found = candidates(&Homes::new(Some(home.path()), |_| None));
    let mut formats: Vec<_> = found.iter().map(|it| it.format).collect();
    formats.sort();
    assert_eq!(
        formats,
        [
            Format::Claude,
            Format::Codex,
            Format::CodexPacked,
            Format::Gemini,
            Format::Qwen,
            Format::Pi
        ],
        "no helper, no list of messages"
    );
    for candidate in &found {
        assert_eq!(candidate.workspace.as_deref(), Some("/no/such/place"), "{candidate:?}");
        assert!(!candidate.title.is_empty(), "{candidate:?}");
    }
    let elsewhere = |name: &str| (name == "CODEX_HOME").then(|| PathBuf::from("/no/such/home"));
    let found = candidates(&Homes::new(Some(home.path()), elsewhere));
    assert!(found.iter().all(|it| it.format.tool() != "codex"), "{found:?}");
}

#[test]
fn a_directory_without_sessions_has_none() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("package.json"), r#"{"name":"x","version":"1"}"#).unwrap();
    fs::write(dir.path().join("data.jsonl"), "{\"a\":1}\n").unwrap();
    assert_eq!(candidates_below(dir.path()), []);
}
