//! What a typed text means beyond its words: a command of the user, files and directories that it mentions.

use std::fs;
use std::path::{Path, PathBuf};

use piton_agent::{Settings, custom_commands, mentions};

use super::attach::Attached;
use super::input::Input;
use super::text::sendable;
use crate::render::visible::visible_name;
use crate::report::{Fault, InputFault};

/// Most entries of a directory that a mention lists.
const ENTRIES_MAX: usize = 500;

/// What a typed text brings along.
#[derive(Debug, Default)]
pub(super) struct Brought {
    /// Files that it mentions, as they are typed.
    pub(super) files: Vec<PathBuf>,
    /// Who answers, if its command says so.
    pub(super) model: Option<String>,
}

/// Puts the text of a command in the place of its name, and finds what the text mentions.
pub(super) fn understand(input: &mut Input, settings: &Settings) -> Result<Brought, Fault> {
    let Some(text) = &mut input.text else { return Ok(Brought::default()) };
    let mut brought = Brought::default();
    if let Some(expanded) = custom_commands::expand(settings, text).map_err(InputFault::Custom)? {
        *text = sendable(expanded.text)?;
        brought.model = expanded.model;
    }
    let here = settings.directory()?;
    for path in mentions::mentioned(text, here) {
        let Ok(found) = fs::metadata(here.join(&path)) else { continue };
        if found.is_dir() {
            input.listings.push(listing(here, &path));
        } else if 0 < found.len() || !found.is_file() {
            brought.files.push(path);
        }
    }
    Ok(brought)
}

/// The entries of a directory, one per line.
fn listing(here: &Path, path: &Path) -> Attached {
    let entries = fs::read_dir(here.join(path)).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| {
            let end = if entry.file_type().is_ok_and(|kind| kind.is_dir()) { "/" } else { "" };
            format!("{}{end}", visible_name(&entry.file_name().to_string_lossy()))
        })
        .collect();
    names.sort();
    let more = names.len().saturating_sub(ENTRIES_MAX);
    names.truncate(ENTRIES_MAX);
    if names.is_empty() {
        names.push("(the directory is empty)".into());
    }
    if 0 < more {
        names.push(format!("({more} more)"));
    }
    let name = format!("{}/", path.to_string_lossy().trim_end_matches('/'));
    Attached::text(name, format!("{}\n", names.join("\n")))
}
