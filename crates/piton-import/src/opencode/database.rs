//! The database of opencode 1.2 and later, which holds all sessions of all projects.
//!
//! Right after a crash nearly everything lies in the log beside it, so both are copied to a private place,
//! and the copy is opened. The original is never opened as a database.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use piton_core::id::{Digest, Timestamp};
use rusqlite::Connection;
use serde_json::{Map, Value, json};

use crate::digest::digest;
use crate::error::ImportError;
use crate::lines::FILE_BYTES_MAX;

/// Most sessions that are read from one database.
const SESSIONS_MAX: u32 = 10_000;

/// A session of a database.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) directory: String,
    pub(crate) updated: Timestamp,
}

/// A copy of a database in a private place, which goes with it.
struct Copy {
    db: Connection,
    _directory: tempfile::TempDir,
}

/// The sessions of a database that belong to no other, the newest first.
pub(crate) fn sessions(path: &Path) -> Result<Vec<Session>, ImportError> {
    list(&copy(path)?).map_err(|error| damaged(path, &error))
}

/// The sessions of a database, each as `opencode export` would print it: all that belong to no other, or the
/// one that is named.
pub(crate) fn exports(path: &Path, wanted: Option<&str>) -> Result<Vec<Vec<u8>>, ImportError> {
    let copy = copy(path)?;
    let failed = |error| damaged(path, &error);
    let names = match wanted {
        Some(name) => vec![name.to_owned()],
        None => list(&copy).map_err(failed)?.into_iter().map(|session| session.id).collect(),
    };
    let mut found = Vec::new();
    for session in names {
        match export(&copy.db, &session).map_err(failed)? {
            Some(bytes) => found.push(bytes),
            None => return Err(ImportError::NoSession { path: path.to_owned(), session }),
        }
    }
    Ok(found)
}

/// The digest of each session that belongs to no other, by its name.
pub(crate) fn digests(path: &Path) -> Result<BTreeMap<String, Digest>, ImportError> {
    let copy = copy(path)?;
    let failed = |error| damaged(path, &error);
    let mut digests = BTreeMap::new();
    for session in list(&copy).map_err(failed)? {
        if let Some(bytes) = export(&copy.db, &session.id).map_err(failed)? {
            digests.insert(session.id, digest(&bytes));
        }
    }
    Ok(digests)
}

fn copy(path: &Path) -> Result<Copy, ImportError> {
    let failed = |source| ImportError::Unreadable { path: path.to_owned(), source };
    let directory = tempfile::tempdir().map_err(failed)?;
    let to = directory.path().join("copy.db");
    let bytes = path.metadata().map_err(failed)?.len();
    if FILE_BYTES_MAX * 8 < bytes {
        return Err(ImportError::TooLarge { path: path.to_owned(), bytes });
    }
    copy_content(path, &to).map_err(failed)?;
    let log = beside(path, "-wal");
    if log.exists() {
        copy_content(&log, &beside(&to, "-wal")).map_err(failed)?;
    }
    let db = Connection::open(&to).map_err(|error| damaged(path, &error))?;
    Ok(Copy { db, _directory: directory })
}

/// The content alone: a copy of a file that may only be read is still ours to write.
fn copy_content(from: &Path, to: &Path) -> std::io::Result<u64> {
    std::io::copy(&mut fs::File::open(from)?, &mut fs::File::create(to)?)
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

fn damaged(path: &Path, error: &rusqlite::Error) -> ImportError {
    ImportError::Database { path: path.to_owned(), message: error.to_string() }
}

fn list(copy: &Copy) -> rusqlite::Result<Vec<Session>> {
    let mut rows = copy.db.prepare(
        "SELECT id, coalesce(title, ''), coalesce(directory, ''), \
         coalesce(time_updated, time_created, 0) FROM session WHERE parent_id IS NULL \
         ORDER BY 4 DESC, id LIMIT ?1",
    )?;
    let sessions = rows.query_map([SESSIONS_MAX], |row| {
        let updated: i64 = row.get(3)?;
        Ok(Session {
            id: row.get(0)?,
            title: row.get(1)?,
            directory: row.get(2)?,
            updated: Timestamp(u64::try_from(updated).unwrap_or_default()),
        })
    })?;
    sessions.collect()
}

/// A session as `opencode export` would print it. The keys of objects are in order, so the same rows give
/// the same bytes.
fn export(db: &Connection, session: &str) -> rusqlite::Result<Option<Vec<u8>>> {
    let mut info = None;
    let mut rows = db.prepare("SELECT * FROM session WHERE id = ?1")?;
    let names: Vec<String> = rows.column_names().into_iter().map(ToOwned::to_owned).collect();
    let mut found = rows.query([session])?;
    if let Some(row) = found.next()? {
        let mut fields = Map::new();
        for (place, name) in names.iter().enumerate() {
            let value: rusqlite::types::Value = row.get(place)?;
            fields.insert(name.clone(), plain(value));
        }
        info = Some(fields);
    }
    let Some(info) = info else { return Ok(None) };
    let mut damage = Vec::new();
    let mut parts: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    let mut rows =
        db.prepare("SELECT message_id, id, data FROM part WHERE session_id = ?1 ORDER BY id")?;
    let mut found = rows.query([session])?;
    while let Some(row) = found.next()? {
        let (message, id): (String, String) = (row.get(0)?, row.get(1)?);
        match object(&row.get::<_, String>(2)?, &id) {
            Some(part) => parts.entry(message).or_default().push(part),
            None => damage.push(json!(format!("part {id} cannot be read"))),
        }
    }
    let mut messages = Vec::new();
    let mut rows =
        db.prepare("SELECT id, data FROM message WHERE session_id = ?1 ORDER BY time_created, id")?;
    let mut found = rows.query([session])?;
    while let Some(row) = found.next()? {
        let id: String = row.get(0)?;
        match object(&row.get::<_, String>(1)?, &id) {
            Some(info) => {
                let parts = parts.remove(&id).unwrap_or_default();
                messages.push(json!({ "info": info, "parts": parts }));
            }
            None => damage.push(json!(format!("message {id} cannot be read"))),
        }
    }
    let mut whole = Map::new();
    whole.insert("info".to_owned(), Value::Object(info));
    whole.insert("messages".to_owned(), Value::Array(messages));
    if !damage.is_empty() {
        whole.insert("damaged".to_owned(), Value::Array(damage));
    }
    Ok(Some(Value::Object(whole).to_string().into_bytes()))
}

/// The JSON of a row, with its name in it, as the export has it.
fn object(data: &str, id: &str) -> Option<Value> {
    let mut value: Value = serde_json::from_str(data).ok()?;
    value.as_object_mut()?.insert("id".to_owned(), json!(id));
    Some(value)
}

/// A column as JSON. Columns that hold JSON themselves are read.
fn plain(value: rusqlite::types::Value) -> Value {
    match value {
        rusqlite::types::Value::Null => Value::Null,
        rusqlite::types::Value::Integer(number) => json!(number),
        rusqlite::types::Value::Real(number) => json!(number),
        rusqlite::types::Value::Text(text) if text.starts_with(['{', '[']) => {
            serde_json::from_str(&text).unwrap_or(Value::String(text))
        }
        rusqlite::types::Value::Text(text) => Value::String(text),
        rusqlite::types::Value::Blob(bytes) => json!(format!("{} bytes", bytes.len())),
    }
}
