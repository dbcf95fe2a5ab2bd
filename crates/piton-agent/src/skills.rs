//! Skills: folders with a `SKILL.md`, which the model loads by name when a task needs one.
//!
//! The model sees a list of names with one sentence each. The tool `skill` gives the text, and files that
//! lie beside it. The user's own folders are read, and those of a workspace that is trusted: before that, what a
//! repository brings would reach the prompt before anybody has looked at it.

mod tool;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) use self::tool::SkillTool;
use crate::front_matter::FrontMatter;
use crate::settings::Settings;
use crate::trust::{is_inside, real};

/// The file that makes a folder a skill.
const FILE: &str = "SKILL.md";
/// Most bytes of a file that are read to find its head.
const HEAD_BYTES_MAX: usize = 8 * 1024;
/// Most folders that are looked at in one place.
const FOLDERS_MAX: usize = 1_000;
/// Most skills that count.
const SKILLS_MAX: usize = 200;
/// Longest name, in characters.
const NAME_CHARS_MAX: usize = 64;
/// Most characters of the list.
const LIST_CHARS_MAX: usize = 8_000;
/// Most characters of what is said of one skill, and how few are left of it where there is no room.
const SAID_CHARS_MAX: usize = 300;
const SAID_CHARS_MIN: usize = 40;

/// A skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Skill {
    pub(crate) name: String,
    description: String,
    pub(crate) directory: PathBuf,
    /// The workspace that brings it; none if it is the user's own.
    of: Option<PathBuf>,
}

/// The skills that there are, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Skills {
    pub(crate) all: Vec<Skill>,
    /// Folders that do not count, and why.
    pub(crate) notes: Vec<SkillNote>,
}

/// A folder that is no skill, or one that does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillNote {
    /// Its file.
    pub path: PathBuf,
    /// Why it does not count.
    pub why: String,
}

/// Folders of a workspace in which agents look for skills.
const WORKSPACE_FOLDERS: [&str; 3] = [".piton/skills", ".claude/skills", ".agents/skills"];

impl Skills {
    /// Looks for the user's skills, then for those of a workspace that is trusted. Of two with one name, the
    /// first found counts.
    pub(crate) fn find(settings: &Settings, workspace: &Path) -> Self {
        let home = settings.environment.user_directory();
        let places = settings.config().map(|own| own.join("skills")).into_iter();
        let places = places.chain(home.map(|home| home.join(".agents/skills")));
        let places = places.chain(home.map(|home| home.join(".claude/skills")));
        let mut found = Self::default();
        found.add(places, None);
        if settings.trust_in(workspace).is_ok_and(|trust| trust.is_given()) {
            found.add_of(workspace, home);
        }
        found.all.sort_by(|a, b| a.name.cmp(&b.name));
        found
    }

    /// The skills that a workspace brings, whether they count or not.
    pub(crate) fn of_workspace(settings: &Settings, workspace: &Path) -> Self {
        let mut found = Self::default();
        found.add_of(workspace, settings.environment.user_directory());
        found
    }

    fn add_of(&mut self, workspace: &Path, home: Option<&Path>) {
        // What lies in the home directory is the user's own.
        if home.is_none_or(|home| real(home) != real(workspace)) {
            let places = WORKSPACE_FOLDERS.iter().map(|folder| workspace.join(folder));
            self.add(places, Some(workspace));
        }
    }

    fn add(&mut self, places: impl Iterator<Item = PathBuf>, of: Option<&Path>) {
        let mut names: BTreeSet<_> = self.all.iter().map(|skill| skill.name.clone()).collect();
        for directory in places.flat_map(|place| folders(&place)) {
            if of.is_some_and(|workspace| !is_inside(&directory, workspace)) {
                self.note(&directory, "it leads out of the workspace".into());
                continue;
            }
            match Skill::read(&directory, of) {
                Ok(None) => {}
                Ok(Some(_)) if self.all.len() == SKILLS_MAX => {
                    self.note(&directory, format!("there are more than {SKILLS_MAX} skills"));
                }
                Ok(Some(skill)) if !names.insert(skill.name.clone()) => {
                    self.note(&directory, format!("another skill is called {} too", skill.name));
                }
                Ok(Some(skill)) => self.all.push(skill),
                Err(why) => self.note(&directory, why),
            }
        }
    }

    fn note(&mut self, directory: &Path, why: String) {
        self.notes.push(SkillNote { path: directory.join(FILE), why });
    }

    /// What the model is told of them; nothing, if there are none.
    pub(crate) fn list(&self) -> Option<String> {
        if self.all.is_empty() {
            return None;
        }
        let is_own = self.all.iter().any(|skill| skill.of.is_none());
        let whose = if is_own { "the user" } else { "this project" };
        let head = format!(
            "# Skills of {whose}\nIf a task fits one, load it with the tool `skill` before you begin."
        );
        let room = LIST_CHARS_MAX / self.all.len();
        let said_max = room.clamp(SAID_CHARS_MIN, SAID_CHARS_MAX);
        let mut list = head;
        for (shown, skill) in self.all.iter().enumerate() {
            let of = if skill.of.is_some() { " (of this project, not the user's own)" } else { "" };
            let line = format!("\n- {}{of}: {}", skill.name, skill.said(said_max));
            if LIST_CHARS_MAX < list.chars().count() + line.chars().count() {
                let left = self.all.len() - shown;
                // Writing to a string cannot fail.
                write!(list, "\n({left} more are left out here)").unwrap_or_default();
                break;
            }
            list.push_str(&line);
        }
        Some(list)
    }

    /// The tool that loads them, if there are any.
    pub(crate) fn tool(self: &Arc<Self>) -> Option<SkillTool> {
        (!self.all.is_empty()).then(|| SkillTool::new(self.clone()))
    }

    pub(crate) fn by_name(&self, name: &str) -> Option<&Skill> {
        self.all.iter().find(|skill| skill.name == name)
    }
}

impl Skill {
    /// Reads the head of a skill; none, if the folder has no such file.
    fn read(directory: &Path, of: Option<&Path>) -> Result<Option<Self>, String> {
        let path = directory.join(FILE);
        if !path.is_file() {
            return Ok(None);
        }
        if of.is_some() && !is_inside(&path, directory) {
            return Err("it leads out of its folder".into());
        }
        // With room for all of it, the file is read at once, and not in ever larger pieces.
        let mut head = Vec::with_capacity(HEAD_BYTES_MAX);
        let file = File::open(&path).map_err(|error| error.to_string())?;
        file.take(HEAD_BYTES_MAX as u64)
            .read_to_end(&mut head)
            .map_err(|error| error.to_string())?;
        let head = String::from_utf8_lossy(&head);
        let read = FrontMatter::read(&head)?;
        let folder = directory.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = read.text("name").map(ToOwned::to_owned).or(folder).unwrap_or_default();
        let is_fit = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
        if name.is_empty() || NAME_CHARS_MAX < name.chars().count() || !name.chars().all(is_fit) {
            return Err(format!("its name has other letters than a-z, 0-9 and -: {name:?}"));
        }
        let description = read.text("description").ok_or("its head has no description")?;
        let description = description.split_whitespace().collect::<Vec<_>>().join(" ");
        let (directory, of) = (directory.to_owned(), of.map(ToOwned::to_owned));
        Ok(Some(Self { name, description, directory, of }))
    }

    /// The beginning of its description.
    fn said(&self, chars_max: usize) -> String {
        let sentence = self.description.split_inclusive(". ").next().unwrap_or_default();
        let said = if self.description.chars().count() <= chars_max {
            &self.description
        } else {
            sentence.trim_end()
        };
        if said.chars().count() <= chars_max {
            return said.to_owned();
        }
        let cut: String = said.chars().take(chars_max).collect();
        format!("{cut}…")
    }
}

/// The folders in a place, by name.
fn folders(place: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    folders.sort();
    folders.truncate(FOLDERS_MAX);
    folders
}

#[cfg(test)]
mod tests;
