//! What the model is told with the first message of a turn: where and when it works, and instructions that
//! are new or changed. Each item has a name; only what the model does not know yet is told.

mod day;
mod git;

use std::collections::BTreeMap;
use std::path::Path;

use piton::Attendance;
use piton::profile::ContextRequest;
use piton_core::event::{ContextItem, PermissionMode};
use piton_core::id::Digest;
use sha2::{Digest as _, Sha256};

pub use self::day::moment;
use crate::agent::Agent;
use crate::instructions::{InstructionFile, Instructions, quoted};
use crate::overrides::Overrides;
use crate::skills::Skills;

/// What stands in front of the path in the name of an item about a file of instructions.
const INSTRUCTIONS: &str = "instructions ";
/// The name of the item about skills.
const SKILLS: &str = "skills";
/// The name of the item about directories beside the workspace.
const ADDED: &str = "added directories";
/// Bytes of a digest that are kept: enough to tell contents apart.
const DIGEST_BYTES: usize = 12;
/// What an item says whose file is gone.
const GONE: &str = "gone";

/// What is told to the model that does not know it yet.
pub(crate) async fn context(
    agent: &Agent,
    request: ContextRequest<'_>,
    instructions: &Instructions,
) -> Vec<ContextItem> {
    let mut items = facts(agent, &request).await;
    let files = instructions.files.iter().map(|file| of_file(file, &request));
    items.extend(files);
    items.extend(of_skills(&agent.skills(request.workspace), &request));
    items.retain(|item| request.told.get(item.name.as_str()) != Some(&&item.digest));
    items.extend(gone(request.told));
    items
}

/// Where and when.
async fn facts(agent: &Agent, request: &ContextRequest<'_>) -> Vec<ContextItem> {
    let environment = &agent.settings().environment;
    let workspace = request.workspace;
    let rules = agent.sandbox_rules(&Overrides::default());
    let written = rules.written(workspace, &request.config.permissions.directories);
    let path = environment.path_without(&written);
    let directory = request.sender.directory.as_deref().map(Path::new);
    let mut facts = vec![
        fact("date", day::today(request.now)),
        fact("system", system()),
        fact(
            "workspace",
            format!(
                "Workspace: {}. Relative paths begin here, for tools and commands.",
                quoted(workspace)
            ),
        ),
    ];
    facts.extend(directory.map(|directory| fact("directory", place(workspace, directory))));
    let added = &request.config.permissions.directories;
    match added_directories(added) {
        Some(told) => facts.push(fact(ADDED, told)),
        None if request.told.contains_key(ADDED) => {
            facts.push(fact(ADDED, "Tools may work in no further directories any more.".into()));
        }
        None => {}
    }
    match git::state(workspace, &path).await {
        Some(state) => facts.push(fact("git", state)),
        None if request.told.contains_key("git") => {
            facts.push(fact("git", "Git: no repository any more.".into()));
        }
        None => {}
    }
    facts.push(fact("permissions", permissions(request.config.permissions.mode)));
    facts.push(fact("person", person(request.attendance).into()));
    facts
}

fn system() -> String {
    let (os, architecture) = (std::env::consts::OS, std::env::consts::ARCH);
    let release = rustix::system::uname();
    let release = release.release().to_string_lossy();
    format!("System: {os} {release}, {architecture}. Commands run in /bin/sh.")
}

/// Where the person is.
fn place(workspace: &Path, directory: &Path) -> String {
    match directory.strip_prefix(workspace) {
        Ok(below) if below.as_os_str().is_empty() => "The person is in the workspace.".into(),
        Ok(below) => format!("The person is in {} of the workspace.", quoted(below)),
        Err(_) => format!("The person is in {}, outside of the workspace.", quoted(directory)),
    }
}

/// Where tools may work beside the workspace.
fn added_directories(added: &[String]) -> Option<String> {
    let added: Vec<_> = added.iter().map(|directory| quoted(Path::new(directory))).collect();
    let said = "Further directories that tools may work in, by their whole paths:";
    (!added.is_empty()).then(|| format!("{said} {}.", added.join(", ")))
}

fn permissions(mode: PermissionMode) -> String {
    let said = match mode {
        PermissionMode::Ask => "what only reads runs at once; anything else is asked about first",
        PermissionMode::AcceptEdits => {
            "reading and editing files runs at once; commands are asked about first"
        }
        PermissionMode::Auto => "everything runs without a question",
        PermissionMode::ReadOnly => "what only reads runs; anything else is denied",
        PermissionMode::Plan => {
            "the person wants a plan first: what only reads runs, anything else is denied. Look at what \
             matters, then answer with the plan: its steps, the files that they change, and how the result is \
             checked. The person approves it before it is carried out, so do not ask whether to go on"
        }
    };
    format!("Permissions: {said}.")
}

fn person(attendance: Attendance) -> &'static str {
    match attendance {
        Attendance::Attended => "A person is there to answer questions.",
        Attendance::Unattended => "Nobody is there to answer questions.",
    }
}

/// A file of instructions: by its digest alone if the system prompt has it.
fn of_file(file: &InstructionFile, request: &ContextRequest<'_>) -> ContextItem {
    let section = file.section();
    let name = format!("{INSTRUCTIONS}{}", file.path.display());
    let digest = digest(&section);
    let text = if request.told.contains_key(name.as_str()) {
        let replaces = "[The file has changed. This replaces what it said before.]";
        Some(format!("{section}\n{replaces}").into())
    } else {
        let prompted = request.config.system.contains(&section);
        (!prompted).then(|| section.into())
    };
    ContextItem { name, digest, text }
}

/// The list of skills: by its digest alone if the system prompt has it.
fn of_skills(skills: &Skills, request: &ContextRequest<'_>) -> Option<ContextItem> {
    let is_known = request.told.contains_key(SKILLS);
    let list = match skills.list() {
        Some(list) => list,
        None if is_known => "[The user has no skills any more.]".to_owned(),
        None => return None,
    };
    let digest = digest(&list);
    let is_prompted = !is_known && request.config.system.contains(&list);
    let text = (!is_prompted).then(|| list.into());
    Some(ContextItem { name: SKILLS.to_owned(), digest, text })
}

/// Files of instructions that the model knows and that are no more.
fn gone(told: &BTreeMap<&str, &Digest>) -> Vec<ContextItem> {
    let known = told.iter().filter(|(_, digest)| digest.as_str() != GONE);
    let files = known.filter_map(|(name, _)| Some((name, name.strip_prefix(INSTRUCTIONS)?)));
    let gone = files.filter(|(_, path)| matches!(Path::new(path).try_exists(), Ok(false)));
    gone.map(|(name, path)| ContextItem {
        name: (*name).to_owned(),
        digest: Digest::new(GONE),
        text: Some(format!("[The instructions {path:?} are gone, and count no more.]").into()),
    })
    .collect()
}

fn fact(name: &str, text: String) -> ContextItem {
    ContextItem { name: name.to_owned(), digest: digest(&text), text: Some(text.into()) }
}

fn digest(text: &str) -> Digest {
    use std::fmt::Write as _;
    let hash = Sha256::digest(text.as_bytes());
    let mut hex = String::new();
    for byte in hash.iter().take(DIGEST_BYTES) {
        // Writing to a string cannot fail.
        write!(hex, "{byte:02x}").unwrap_or_default();
    }
    Digest::new(hex)
}

#[cfg(test)]
mod tests;
