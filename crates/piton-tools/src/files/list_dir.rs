//! `list_dir`: the entries of one directory.
//!
//! Shows links as links and follows none. Looks at nothing below.

use std::os::fd::OwnedFd;

use async_trait::async_trait;
use piton_core::event::{ArgumentRole, EffectClass, ToolSpec};
use piton_core::id::CallId;
use rustix::fs::{AtFlags, Dir, FileType, readlinkat, statat};
use serde::Deserialize;

use super::left_out::LeftOut;
use super::workspace::{Place, kind_name};
use crate::contract::{
    Arguments, Finished, Job, OUTPUT_BYTES_MAX, Prepared, Refusal, Site, Tool, blocking, excerpt,
    parse_arguments,
};
use piton_core::summary::name_on_one_line;

/// Most entries that are shown.
const ENTRIES_SHOWN_MAX: usize = 1_000;
/// Most names that are read, to be sorted; a directory beyond that is no place to look around in.
const NAMES_READ_MAX: usize = 100_000;
/// Room kept for the note at the end, in bytes.
const NOTE_BYTES_MAX: usize = 256;

const SCHEMA: &str = r#"{
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "Directory, relative to the workspace. Default: the workspace."}
    },
    "required": [],
    "additionalProperties": false
}"#;

/// The tool.
#[derive(Clone, Copy, Debug)]
pub struct ListDir;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ListArguments {
    path: Option<String>,
}

#[async_trait]
impl Tool for ListDir {
    fn spec(&self) -> ToolSpec {
        let description = "Lists one directory, sorted: directories end with `/`, files have their \
                           size, links show their target.";
        ToolSpec::new("list_dir", description, SCHEMA, EffectClass::ReadOnly)
            .with_roles([("path", ArgumentRole::WorkspacePath)])
    }

    async fn prepare(
        &self,
        site: &Site,
        _: CallId,
        arguments: &Arguments,
    ) -> Result<Prepared, Refusal> {
        // In place: resolving and opening a path takes microseconds.
        let (place, _) = open(site, arguments)?;
        Ok(place.prepared())
    }

    async fn run(&self, job: Job) -> Finished {
        let Job { site, arguments, cancel, .. } = job;
        blocking::reading(&cancel, move || {
            let (place, directory) = open(&site, &arguments)?;
            let left_out = LeftOut::new(&site, "list_dir", &place);
            list(place.shown(), &directory, left_out).map(Finished::ok)
        })
        .await
    }
}

fn open(site: &Site, arguments: &Arguments) -> Result<(Place, OwnedFd), Refusal> {
    let wanted: ListArguments = parse_arguments(SCHEMA, arguments)?;
    let place = Place::locate(site, wanted.path.as_deref().unwrap_or("."))?;
    if place.kind(site) == Some(FileType::RegularFile) {
        return Err(Refusal(format!("`{}` is a file: use read_file", place.shown())));
    }
    let directory = place.open_directory(site)?;
    Ok((place, directory))
}

fn list(shown: &str, directory: &OwnedFd, mut left_out: LeftOut) -> Result<String, Refusal> {
    let broken = |errno| {
        let error = std::io::Error::from(errno);
        Refusal(format!("`{shown}` cannot be listed: {error}"))
    };
    let mut names = Vec::new();
    let mut more = false;
    for entry in Dir::read_from(directory).map_err(broken)? {
        let entry = entry.map_err(broken)?;
        if matches!(entry.file_name().to_bytes(), b"." | b"..") {
            continue;
        }
        if NAMES_READ_MAX <= names.len() {
            more = true;
            break;
        }
        if !left_out.hides(&below(shown, entry.file_name())) {
            names.push(entry.file_name().to_owned());
        }
    }
    let mut text = String::new();
    if names.is_empty() {
        text = format!("[`{shown}` is empty]");
    }
    names.sort();
    let mut count = 0;
    for name in names.iter().take(ENTRIES_SHOWN_MAX) {
        let line = line(directory, name);
        if OUTPUT_BYTES_MAX - NOTE_BYTES_MAX < text.len() + line.len() {
            break;
        }
        text.push_str(&line);
        count += 1;
    }
    if count < names.len() || more {
        let all = if more { "more than " } else { "" };
        let all = format_args!("{all}{}", names.len());
        excerpt::note(
            &mut text,
            format_args!("[{count} of {all} entries shown: use glob with a pattern]"),
        );
    }
    left_out.note(&mut text);
    Ok(text)
}

/// The path of an entry from the workspace.
fn below(shown: &str, name: &std::ffi::CStr) -> String {
    let name = name.to_string_lossy();
    if shown == "." { name.into_owned() } else { format!("{shown}/{name}") }
}

fn line(directory: &OwnedFd, name: &std::ffi::CString) -> String {
    let printed = name_on_one_line(&name.to_string_lossy()).into_owned();
    // Gone since the directory was read: not an entry any more.
    let Ok(stat) = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) else {
        return String::new();
    };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => format!("{printed}/\n"),
        FileType::RegularFile => format!("{printed}  {} bytes\n", stat.st_size),
        FileType::Symlink => {
            let target = readlinkat(directory, name, Vec::new());
            let target = target.map_or_else(
                |_| "?".into(),
                |target| name_on_one_line(&target.to_string_lossy()).into_owned(),
            );
            format!("{printed} -> {target}\n")
        }
        other @ (FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown) => format!("{printed}  ({})\n", kind_name(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schema_and_struct_agree() {
        crate::contract::arguments::assert_agree::<ListArguments>(SCHEMA);
    }
}
