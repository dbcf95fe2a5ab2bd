//! The tool `skill`: gives the text of a skill, or a file that lies beside it.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Component, Path};
use std::sync::Arc;

use async_trait::async_trait;
use piton_core::event::{EffectClass, ToolSpec};
use piton_tools::{Finished, Job, Refusal, Tool, parse_arguments};
use serde::Deserialize;

use super::{FILE, Skill, Skills};
use crate::front_matter::FrontMatter;
use crate::trust::is_inside;

/// Most characters that one call gives.
const CHARS_MAX: usize = 20_000;
/// Most bytes of a file that are read.
const BYTES_MAX: u64 = 1024 * 1024;
/// Most files of a folder that are named.
const FILES_MAX: usize = 50;
/// How deep a folder is looked through for files to name.
const DEPTH_MAX: usize = 3;

const SCHEMA: &str = r#"{
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "The name in the list of skills."},
        "file": {"type": "string", "description": "A file of the skill, as its text names it. Default: the text itself."},
        "offset": {"type": "integer", "minimum": 0, "description": "Characters to skip."}
    },
    "required": ["name"],
    "additionalProperties": false
}"#;

/// The tool.
#[derive(Debug)]
pub(crate) struct SkillTool {
    skills: Arc<Skills>,
}

#[derive(Debug, Deserialize)]
struct Wanted {
    name: String,
    file: Option<String>,
    #[serde(default)]
    offset: usize,
}

impl SkillTool {
    pub(super) fn new(skills: Arc<Skills>) -> Self {
        Self { skills }
    }

    fn give(&self, wanted: &Wanted) -> Result<String, Refusal> {
        let skill = self.skills.by_name(&wanted.name).ok_or_else(|| {
            let names: Vec<_> = self.skills.all.iter().map(|skill| skill.name.as_str()).collect();
            Refusal(format!("there is no skill `{}`; there are: {}", wanted.name, names.join(", ")))
        })?;
        let text = match &wanted.file {
            Some(file) => read(skill, file)?,
            None => whole(skill)?,
        };
        let behind: String = text.chars().skip(wanted.offset).collect();
        let given: String = behind.chars().take(CHARS_MAX).collect();
        let left = behind.chars().count() - given.chars().count();
        if left == 0 {
            return Ok(given);
        }
        let next = wanted.offset + CHARS_MAX;
        Ok(format!("{given}\n[{left} more characters; to read on: offset {next}]"))
    }
}

#[async_trait]
impl Tool for SkillTool {
    fn spec(&self) -> ToolSpec {
        let description = "Gives the text of a skill of the user: how to do a kind of task. Also gives \
                           files that its text names.";
        ToolSpec::new("skill", description, SCHEMA, EffectClass::ReadOnly)
    }

    async fn run(&self, job: Job) -> Finished {
        let given = parse_arguments(SCHEMA, &job.arguments).and_then(|wanted| self.give(&wanted));
        given.map_or_else(Finished::from, Finished::ok)
    }
}

/// The text of a skill, with where it is and what lies beside it.
fn whole(skill: &Skill) -> Result<String, Refusal> {
    let text = read(skill, FILE)?;
    let read = FrontMatter::read(&text).map_err(Refusal)?;
    let of = if skill.of.is_some() { " (of this project, not the user's own)" } else { "" };
    let mut shown =
        format!("Skill {}{of}, in {:?}.\n\n", skill.name, skill.directory.to_string_lossy());
    shown.push_str(read.body.trim_end());
    let mut files = Vec::new();
    name_files(&skill.directory, Path::new(""), DEPTH_MAX, &mut files);
    if !files.is_empty() {
        let more = files.len().saturating_sub(FILES_MAX);
        files.truncate(FILES_MAX);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        // Writing to a string cannot fail.
        write!(shown, "\n\nFiles of this skill: {}{more}", files.join(", ")).unwrap_or_default();
    }
    Ok(shown)
}

/// A file of the skill. No link leads out of its folder.
fn read(skill: &Skill, file: &str) -> Result<String, Refusal> {
    let path = Path::new(file);
    let is_below =
        path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !is_below {
        return Err(Refusal(format!("`{file}` is not below the folder of the skill")));
    }
    let refuse = |error: std::io::Error| Refusal(format!("cannot read `{file}`: {error}"));
    let folder = fs::canonicalize(&skill.directory).map_err(refuse)?;
    // A link may have been put in its place since it was found.
    if skill.of.as_ref().is_some_and(|workspace| !is_inside(&folder, workspace)) {
        return Err(Refusal(format!("the skill `{}` leads out of the workspace", skill.name)));
    }
    let real = fs::canonicalize(folder.join(path)).map_err(refuse)?;
    if !real.starts_with(&folder) {
        return Err(Refusal(format!("`{file}` leads out of the folder of the skill")));
    }
    if !real.is_file() {
        return Err(Refusal(format!("`{file}` is no file")));
    }
    let mut bytes = Vec::new();
    File::open(&real).map_err(refuse)?.take(BYTES_MAX).read_to_end(&mut bytes).map_err(refuse)?;
    String::from_utf8(bytes).map_err(|_| Refusal(format!("`{file}` is no text")))
}

/// Names the files of a folder, but its text.
fn name_files(root: &Path, below: &Path, depth: usize, files: &mut Vec<String>) {
    let entries = fs::read_dir(root.join(below)).into_iter().flatten().flatten();
    let mut entries: Vec<_> = entries.collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = below.join(entry.file_name());
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && 1 < depth => name_files(root, &path, depth - 1, files),
            Ok(kind) if kind.is_file() && path != Path::new(FILE) => {
                files.push(format!("{:?}", path.to_string_lossy()));
            }
            _ => {}
        }
    }
}
