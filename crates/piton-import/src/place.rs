//! Where session files lie, and which of them are there.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use piton_core::id::{Digest, Timestamp};
use serde_json::Value;

use crate::blocks::{self, words_of};
use crate::digest::digest;
use crate::fields::{at, text};
use crate::lines;
use crate::markers::is_note;
use crate::opencode;
use crate::parts;
use crate::recognise::{Format, recognise};

/// How many bytes of a file are looked at to list it.
const PEEK_BYTES: u64 = 256 * 1024;
/// Most files that one walk looks at.
const FILES_MAX: usize = 50_000;
/// How deep a walk goes.
const DEPTH_MAX: usize = 12;
/// Longest title, in letters.
const TITLE_LETTERS_MAX: usize = 80;

/// A session that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The file.
    pub path: PathBuf,
    /// What it is.
    pub format: Format,
    /// Which session of it, if it holds several.
    pub session: Option<String>,
    /// Its title, or the first words of its first message, as far as the beginning of the file tells.
    pub title: String,
    /// The directory that it worked in.
    pub workspace: Option<String>,
    /// When it was changed last.
    pub touched: Timestamp,
}

/// The directories of the programs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Homes {
    directories: Vec<PathBuf>,
}

impl Homes {
    /// Where the programs keep their sessions, for a person whose own directory and variables these are.
    pub fn new(home: Option<&Path>, variable: impl Fn(&str) -> Option<PathBuf>) -> Self {
        let below = |name: &str| home.map(|home| home.join(name));
        let or_below = |name: &str, usual: &str| variable(name).or_else(|| below(usual));
        let data = variable("XDG_DATA_HOME").or_else(|| below(".local/share"));
        let gemini = variable("GEMINI_CLI_HOME").map(|home| home.join(".gemini"));
        let codex = or_below("CODEX_HOME", ".codex");
        let places = [
            or_below("CLAUDE_CONFIG_DIR", ".claude").map(|it| it.join("projects")),
            codex.clone().map(|it| it.join("sessions")),
            codex.map(|it| it.join("archived_sessions")),
            data.map(|it| it.join("opencode")),
            variable("OPENCODE_DB"),
            gemini.or_else(|| below(".gemini")).map(|it| it.join("tmp")),
            variable("QWEN_RUNTIME_DIR").map(|it| it.join("projects")),
            or_below("QWEN_HOME", ".qwen").map(|it| it.join("projects")),
            or_below("PI_CODING_AGENT_DIR", ".pi/agent").map(|it| it.join("sessions")),
        ];
        let mut directories: Vec<PathBuf> = Vec::new();
        for place in places.into_iter().flatten() {
            if !directories.contains(&place) {
                directories.push(place);
            }
        }
        Self { directories }
    }

    /// The places, in no order of worth.
    pub fn places(&self) -> &[PathBuf] {
        &self.directories
    }
}

/// The sessions in the usual places, the newest first.
pub fn candidates(homes: &Homes) -> Vec<Candidate> {
    let mut found: Vec<_> =
        homes.directories.iter().flat_map(|place| candidates_below(place)).collect();
    // Lists of messages are in nobody's usual place.
    found.retain(|candidate| candidate.format != Format::Messages);
    newest_first(&mut found);
    found
}

/// The sessions in a directory and below it, the newest first. Sub-agents are part of others.
pub fn candidates_below(place: &Path) -> Vec<Candidate> {
    let mut files = Vec::new();
    walk(place, 0, &mut files);
    let mut found: Vec<_> = files.iter().flat_map(|path| look(path)).collect();
    newest_first(&mut found);
    found
}

fn newest_first(found: &mut [Candidate]) {
    found.sort_by(|one, other| {
        other.touched.cmp(&one.touched).then_with(|| one.path.cmp(&other.path))
    });
}

/// Collects files. Links are not followed.
fn walk(place: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    let Ok(kind) = fs::symlink_metadata(place) else { return };
    if kind.is_file() {
        files.push(place.to_owned());
        return;
    }
    let is_link_at_top = kind.is_symlink() && depth == 0;
    let (true, true) = (kind.is_dir() || is_link_at_top, depth < DEPTH_MAX) else { return };
    let Ok(entries) = fs::read_dir(place) else { return };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if FILES_MAX <= files.len() {
            return;
        }
        if path.file_name().is_none_or(|name| name != "subagents") {
            walk(&path, depth + 1, files);
        }
    }
}

/// The sessions of a file.
fn look(path: &Path) -> Vec<Candidate> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    if !matches!(ending, "jsonl" | "json" | "zst" | "db" | "sqlite") {
        return Vec::new();
    }
    let Ok(mut beginning) = lines::beginning(path, PEEK_BYTES) else { return Vec::new() };
    let Some(format) = recognise(&beginning) else { return Vec::new() };
    if format == Format::OpencodeDatabase {
        let sessions = opencode::sessions(path).unwrap_or_default().into_iter();
        return sessions
            .map(|session| Candidate {
                path: path.to_owned(),
                format,
                session: Some(session.id),
                title: session.title,
                workspace: Some(session.directory).filter(|directory| !directory.is_empty()),
                touched: session.updated,
            })
            .collect();
    }
    if format == Format::CodexPacked {
        beginning = lines::unpacked(&beginning, PEEK_BYTES).0;
    }
    let records = peek(&beginning);
    if records.iter().any(is_of_sub_agent) {
        return Vec::new();
    }
    let touched = path.metadata().ok().and_then(|found| found.modified().ok());
    let touched = touched.and_then(|at| at.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    let workspace = records.iter().find_map(directory);
    vec![Candidate {
        path: path.to_owned(),
        format,
        session: None,
        title: records.iter().find_map(first_words).unwrap_or_default(),
        workspace: workspace.or_else(|| crate::gemini::workspace_beside(path)),
        touched: Timestamp(u64::try_from(touched.as_millis()).unwrap_or_default()),
    }]
}

/// The records at the beginning of a file, of lines or of one object.
fn peek(beginning: &[u8]) -> Vec<Value> {
    let beginning = lines::without_mark(beginning);
    if let Ok(whole) = serde_json::from_slice::<Value>(beginning) {
        let inner = whole.get("messages").unwrap_or(&whole).as_array().cloned().unwrap_or_default();
        return [vec![whole], inner].concat();
    }
    let lines = beginning.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    lines.filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

fn is_of_sub_agent(record: &Value) -> bool {
    let parent = text(record, "parentID").or_else(|| at(record, &["info", "parentID"])?.as_str());
    at(record, &["payload", "source", "subagent"]).is_some()
        || text(record, "kind") == Some("subagent")
        || parent.is_some_and(|parent| parent.starts_with("ses_"))
}

fn directory(record: &Value) -> Option<String> {
    let places = [&["cwd"][..], &["payload", "cwd"], &["info", "directory"], &["directory"]];
    let found = places.iter().find_map(|path| at(record, path).and_then(Value::as_str))?;
    Some(found.to_owned()).filter(|found| found.starts_with('/'))
}

/// A title, or the first words of a person.
fn first_words(record: &Value) -> Option<String> {
    let title =
        at(record, &["info", "title"]).or_else(|| record.get("title")).and_then(Value::as_str);
    let title = title.map(ToOwned::to_owned).or_else(|| said(record))?;
    let line = title.lines().map(str::trim).find(|line| !line.is_empty())?;
    let short: String = line.chars().take(TITLE_LETTERS_MAX).collect();
    Some(if short.len() < line.len() { format!("{short}…") } else { short })
}

fn said(record: &Value) -> Option<String> {
    let message = record.get("message").or_else(|| record.get("payload")).unwrap_or(record);
    let is_user = text(message, "role").or_else(|| text(record, "type")) == Some("user");
    if !is_user || record.get("isMeta").and_then(Value::as_bool) == Some(true) {
        return None;
    }
    let (from_parts, _) = parts::read(message.get("parts"));
    let from_blocks = blocks::read(message.get("content"));
    let from_content = parts::read(message.get("content")).0;
    let all = [from_parts.parts, from_blocks.parts, from_content.parts];
    let words = all.iter().map(|parts| words_of(parts)).find(|words| !words.trim().is_empty())?;
    (!is_note(&words)).then_some(words)
}

/// The digests of what would be read of each, in their order; none for one that cannot be read.
pub fn digests(candidates: &[Candidate]) -> Vec<Option<Digest>> {
    let mut databases: BTreeMap<&Path, BTreeMap<String, Digest>> = BTreeMap::new();
    let of_one = |candidate: &&Candidate| candidate.format == Format::OpencodeDatabase;
    for candidate in candidates.iter().filter(of_one) {
        if !databases.contains_key(candidate.path.as_path()) {
            let found = opencode::digests(&candidate.path).unwrap_or_default();
            databases.insert(&candidate.path, found);
        }
    }
    let digest_of = |candidate: &Candidate| match (candidate.format, &candidate.session) {
        (Format::OpencodeDatabase, Some(session)) => {
            databases.get(candidate.path.as_path())?.get(session).cloned()
        }
        (Format::OpencodeTree, _) => {
            let info = lines::whole(&candidate.path).ok()?;
            Some(digest(&opencode::tree(&candidate.path, &info).ok()?))
        }
        _ => {
            let bytes = candidate.path.metadata().ok()?.len();
            let is_read = bytes <= lines::FILE_BYTES_MAX;
            is_read.then(|| lines::whole(&candidate.path).ok()).flatten().map(|it| digest(&it))
        }
    };
    candidates.iter().map(digest_of).collect()
}
