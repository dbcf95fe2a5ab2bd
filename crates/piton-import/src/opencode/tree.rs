//! Sessions of opencode before 1.2: a file for each session, message and part.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::fields::text;
use crate::lines;

/// Most files that one directory of a session is read for.
const FILES_MAX: usize = 100_000;

/// Puts a session together as `opencode export` would print it. `info` is what its own file holds.
pub(crate) fn tree(path: &Path, info: &[u8]) -> io::Result<Vec<u8>> {
    let Ok(info) = serde_json::from_slice::<Value>(lines::without_mark(info)) else {
        return Ok(info.to_vec());
    };
    let name = text(&info, "id").unwrap_or_default().to_owned();
    let (messages_in, parts_in) = places(path, &name);
    let (mut messages, mut damage) = (Vec::new(), Vec::new());
    for message in objects(&messages_in, &mut damage)? {
        let id = text(&message, "id").unwrap_or_default().to_owned();
        let parts =
            if is_plain(&id) { objects(&parts_in.join(&id), &mut damage)? } else { Vec::new() };
        messages.push(json!({ "info": message, "parts": parts }));
    }
    messages.sort_by_key(|message| {
        let created = message.pointer("/info/time/created").and_then(Value::as_u64);
        let id = message.pointer("/info/id").and_then(Value::as_str).unwrap_or_default();
        (created.unwrap_or_default(), id.to_owned())
    });
    let mut whole = Map::new();
    whole.insert("info".to_owned(), info);
    whole.insert("messages".to_owned(), Value::Array(messages));
    if !damage.is_empty() {
        whole.insert("damaged".to_owned(), Value::Array(damage));
    }
    Ok(Value::Object(whole).to_string().into_bytes())
}

/// Where the messages of a session lie, and the parts of messages.
fn places(path: &Path, session: &str) -> (PathBuf, PathBuf) {
    let directory = path.parent().unwrap_or(path);
    let above = directory.parent().unwrap_or(directory);
    // The oldest layout has all three beside each other.
    if directory.file_name().is_some_and(|name| name == "info") {
        return (above.join("message").join(session), above.join("part").join(session));
    }
    let storage = above.parent().unwrap_or(above);
    (storage.join("message").join(session), storage.join("part"))
}

/// Whether a name stays in its directory.
fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

/// The objects in the files of a directory, by name. A directory that is not there holds none.
fn objects(directory: &Path, damage: &mut Vec<Value>) -> io::Result<Vec<Value>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let paths = entries.take(FILES_MAX).map(|entry| entry.map(|entry| entry.path()));
    let mut paths = paths.collect::<io::Result<Vec<_>>>()?;
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
    paths.sort();
    let mut objects = Vec::new();
    for path in paths {
        match serde_json::from_slice::<Value>(&lines::whole(&path)?) {
            Ok(value @ Value::Object(_)) => objects.push(value),
            _ => damage.push(json!(format!("{} cannot be read", path.display()))),
        }
    }
    Ok(objects)
}
