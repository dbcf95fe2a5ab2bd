//! The database of opencode, with what lies only in its log, and the files of older versions.

use std::fs;
use std::path::Path;

use piton_core::history::History;
use piton_import::{ImportError, candidates_below, digests, read};
use rusqlite::Connection;
use serde_json::Value;

use crate::told::{file, only, told};

/// What a history says, with its remarks in no order: rows and single files have no lines.
fn told_without_lines(history: &History) -> Vec<String> {
    let told = told(history);
    let without = told.lines().map(|line| match line.split_once('@') {
        Some((kind, rest)) => {
            format!("{kind}{}", rest.trim_start_matches(|it: char| it.is_ascii_digit()))
        }
        None => line.to_owned(),
    });
    let mut lines: Vec<_> = without.collect();
    lines.sort();
    lines
}

fn export() -> Value {
    serde_json::from_slice(&fs::read(file("opencode_export.json")).unwrap()).unwrap()
}

/// Writes the session of the export into a database, its last message only into the log, as a crash leaves it.
fn crashed(path: &Path) -> Connection {
    let db = Connection::open(path).unwrap();
    db.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;
         CREATE TABLE session (id TEXT, parent_id TEXT, directory TEXT, title TEXT, version TEXT, revert TEXT,
            time_created INTEGER, time_updated INTEGER);
         CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT);
         CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT);
         INSERT INTO session VALUES ('ses_test', NULL, '/no/such/place', 'Two files', '1.2.3', NULL, 1, 2);
         INSERT INTO session VALUES ('ses_child', 'ses_test', '/x', 'a helper', '1.2.3', NULL, 1, 2);
         INSERT INTO session VALUES ('ses_empty', NULL, '/x', 'nothing said', '1.2.3', NULL, 1, 1);",
    )
    .unwrap();
    let whole = export();
    let messages = whole["messages"].as_array().unwrap();
    for (place, message) in messages.iter().enumerate() {
        if place + 1 == messages.len() {
            db.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        }
        let id = message["info"]["id"].as_str().unwrap();
        db.execute(
            "INSERT INTO message VALUES (?1, 'ses_test', ?2, 0, ?3)",
            (id, i64::try_from(place).unwrap(), message["info"].to_string()),
        )
        .unwrap();
        for (number, part) in message["parts"].as_array().unwrap().iter().enumerate() {
            let name = format!("prt_{place}_{number:02}");
            db.execute(
                "INSERT INTO part VALUES (?1, ?2, 'ses_test', ?3)",
                (name, id, part.to_string()),
            )
            .unwrap();
        }
    }
    db
}

#[test]
fn what_lies_only_in_the_log_is_read_and_nothing_is_touched() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("opencode.db");
    let open = crashed(&path);
    // As a crash leaves it: without anybody who would tidy up.
    let left = dir.path().join("left");
    fs::create_dir(&left).unwrap();
    for name in ["opencode.db", "opencode.db-wal"] {
        fs::copy(dir.path().join(name), left.join(name)).unwrap();
    }
    drop(open);
    let path = left.join("opencode.db");
    let before: Vec<_> =
        ["opencode.db", "opencode.db-wal"].map(|name| fs::read(left.join(name)).unwrap()).into();
    let found = read(&path, None).unwrap();
    assert_eq!(found.len(), 1, "neither a helper nor an empty one");
    assert_eq!(
        told_without_lines(&found[0].history),
        told_without_lines(&only(&file("opencode_export.json")).history)
    );
    let after: Vec<_> =
        ["opencode.db", "opencode.db-wal"].map(|name| fs::read(left.join(name)).unwrap()).into();
    assert_eq!(before, after, "nothing of theirs is changed");
    assert_eq!(fs::read_dir(&left).unwrap().count(), 2, "and nothing is put beside it");
    let one = read(&path, Some("ses_test")).unwrap();
    assert_eq!(one[0].history.source.digest, found[0].history.source.digest);
    let none = read(&path, Some("ses_none")).unwrap_err();
    assert!(matches!(none, ImportError::NoSession { .. }), "{none}");
    let listed = candidates_below(&left);
    let named: Vec<_> = listed.iter().map(|it| it.session.as_deref().unwrap()).collect();
    assert_eq!(named, ["ses_test", "ses_empty"]);
    assert_eq!(digests(&listed)[0].as_ref(), Some(&found[0].history.source.digest));
}

#[test]
fn a_file_that_only_begins_like_a_database_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("opencode.db");
    fs::write(&path, b"SQLite format 3\0 and nothing else").unwrap();
    let error = read(&path, None).unwrap_err();
    assert!(matches!(error, ImportError::Database { .. }), "{error}");
}

#[test]
fn files_of_versions_before_1_2_say_the_same() {
    let whole = export();
    for layout in ["storage", "info"] {
        let dir = tempfile::tempdir().unwrap();
        let (session, messages, parts) = match layout {
            "storage" => ("session/project", "message/ses_test".to_owned(), "part".to_owned()),
            _ => (
                "session/info",
                "session/message/ses_test".to_owned(),
                "session/part/ses_test".to_owned(),
            ),
        };
        let put = |directory: &str, name: &str, value: &Value| {
            let directory = dir.path().join(directory);
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join(name), value.to_string()).unwrap();
        };
        let mut info = whole["info"].clone();
        info["time"] = serde_json::json!({ "created": 1 });
        put(session, "ses_test.json", &info);
        for message in whole["messages"].as_array().unwrap() {
            let id = message["info"]["id"].as_str().unwrap();
            put(&messages, &format!("{id}.json"), &message["info"]);
            for (number, part) in message["parts"].as_array().unwrap().iter().enumerate() {
                put(&format!("{parts}/{id}"), &format!("prt_{number:02}.json"), part);
            }
        }
        let found = candidates_below(dir.path());
        assert_eq!(found.len(), 1, "{layout}: {found:?}");
        let found = only(&found[0].path);
        assert_eq!(
            told_without_lines(&found.history),
            told_without_lines(&only(&file("opencode_export.json")).history),
            "{layout}"
        );
    }
}
