//! What lies beside a session: the files in which its sub-agents worked.

use std::fs;
use std::path::{Path, PathBuf};

use crate::recognise::Format;

/// Most files that are named.
const FILES_MAX: usize = 100;

/// The files of the sub-agents of a session, where its program keeps them.
pub(crate) fn sub_agents(path: &Path, format: Format, session: Option<&str>) -> Vec<PathBuf> {
    let Some(directory) = place(path, format, session) else { return Vec::new() };
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let paths = entries.flatten().map(|entry| entry.path());
    let is_session = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "jsonl");
    let mut found: Vec<_> = paths.filter(is_session).take(FILES_MAX).collect();
    found.sort();
    found
}

fn place(path: &Path, format: Format, session: Option<&str>) -> Option<PathBuf> {
    match format {
        Format::Claude => Some(path.with_extension("").join("subagents")),
        Format::Qwen => Some(path.parent()?.parent()?.join("subagents").join(path.file_stem()?)),
        // A name that is a path would lead elsewhere.
        Format::Gemini => {
            let name = session.filter(|name| !name.contains(['/', '\\', '.']))?;
            Some(path.parent()?.join(name))
        }
        Format::Codex
        | Format::CodexPacked
        | Format::GeminiObject
        | Format::Pi
        | Format::OpencodeDatabase
        | Format::OpencodeExport
        | Format::OpencodeTree
        | Format::Messages => None,
    }
}
