//! `edit_file`: one text in a file becomes another.
//!
//! Exact text only. A tool that guesses what was meant changes what was not meant, sooner or later;
//! instead, a refusal says where the text is, or what comes near it.

use async_trait::async_trait;
use piton_core::event::{ArgumentRole, EffectClass, Handle, Preview, ToolSpec};
use piton_core::id::CallId;
use serde::Deserialize;

use super::change::{self, Applied, Change};
use super::workspace::Place;
use crate::contract::{
    Arguments, Finished, Job, Prepared, Refusal, Settled, Site, Tool, blocking, parse_arguments,
};

/// Most line numbers in a refusal.
const LINES_TOLD_MAX: usize = 10;

const SCHEMA: &str = r#"{
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "File to change, relative to the workspace."},
        "old": {"type": "string", "description": "Exact text to replace, with its white space. Must occur exactly once, unless replace_all is set."},
        "new": {"type": "string", "description": "Text to put in its place."},
        "replace_all": {"type": "boolean", "description": "Replace every occurrence. Default: false."}
    },
    "required": ["path", "old", "new"],
    "additionalProperties": false
}"#;

/// The tool.
#[derive(Clone, Copy, Debug)]
pub struct EditFile;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct EditArguments {
    path: String,
    old: String,
    new: String,
    replace_all: Option<bool>,
}

#[async_trait]
impl Tool for EditFile {
    fn spec(&self) -> ToolSpec {
        let description = "Replaces exact text in a file. Read the file first; give enough of the \
                           text around to make it unique.";
        ToolSpec::new("edit_file", description, SCHEMA, EffectClass::Digested)
            .with_roles([("path", ArgumentRole::WorkspacePath)])
    }

    async fn prepare(
        &self,
        site: &Site,
        _: CallId,
        arguments: &Arguments,
    ) -> Result<Prepared, Refusal> {
        let wanted: EditArguments = parse_arguments(SCHEMA, arguments)?;
        let site = site.clone();
        // Elsewhere: the file has to be read, searched and digested.
        blocking::whole(move || {
            let place = Place::locate(&site, &wanted.path)?;
            let old = change::current(&site, &place)?.ok_or_else(|| place.not_found(&site))?;
            let new = wanted.renew(place.shown(), &old).map_err(|refusal| {
                // Rules have not seen this name yet, and a refusal says what is in the file.
                place.other_name(&site, &wanted.path).unwrap_or(refusal)
            })?;
            Ok(Change::new(place, Some(&old), &new)?.prepared())
        })
        .await
    }

    async fn preview(&self, site: &Site, arguments: &Arguments) -> Option<Preview> {
        let wanted: EditArguments = parse_arguments(SCHEMA, arguments).ok()?;
        let site = site.clone();
        let shown = blocking::whole(move || {
            let place = Place::locate(&site, &wanted.path)?;
            if place.is_kept_back(&site) {
                return Ok(None);
            }
            let old = change::current(&site, &place)?.ok_or_else(|| place.not_found(&site))?;
            let new = wanted.renew(place.shown(), &old)?;
            Ok::<_, Refusal>(Some(change::preview(Some(&old), &new)))
        });
        shown.await.ok().flatten()
    }

    async fn run(&self, job: Job) -> Finished {
        if job.cancel.is_cancelled() {
            return Finished::cancelled("stopped before anything was changed");
        }
        // To the end once begun: a half-made change would have to be settled.
        blocking::whole(move || {
            let wanted: EditArguments = parse_arguments(SCHEMA, &job.arguments)?;
            let change = Change::recorded(&job.site, &job.handle)?;
            let shown = change.place().shown();
            let applied = change.apply(&job.site, job.call, |content| {
                wanted.renew(shown, content.unwrap_or_default())
            })?;
            Ok(wanted.report(&change, applied))
        })
        .await
        .unwrap_or_else(Finished::from)
    }

    async fn settle(&self, site: &Site, arguments: &Arguments, handle: &Handle) -> Settled {
        let (site, arguments, handle) = (site.clone(), arguments.clone(), handle.clone());
        blocking::whole(move || {
            let wanted: EditArguments = parse_arguments(SCHEMA, &arguments)?;
            let change = Change::recorded(&site, &handle)?;
            let renew = |content: Option<&[u8]>| {
                wanted.renew(change.place().shown(), content.unwrap_or_default())
            };
            Ok(change.settle(&site, renew))
        })
        .await
        .unwrap_or_else(|Refusal(text)| Settled::Unknown(text))
    }

    async fn abandon(&self, site: &Site, handle: &Handle) {
        change::abandon(site, handle).await;
    }
}

impl EditArguments {
    /// The content with the replacement made.
    fn renew(&self, shown: &str, content: &[u8]) -> Result<Vec<u8>, Refusal> {
        let Ok(content) = str::from_utf8(content) else {
            return Err(Refusal(format!("`{shown}` is not UTF-8 text: change it with shell")));
        };
        if self.old.is_empty() {
            return Err(Refusal(
                "`old` is empty: name the text to replace, or use write_file for the whole file"
                    .into(),
            ));
        }
        if self.old == self.new {
            return Err(Refusal("`old` and `new` are the same: nothing to change".into()));
        }
        let lines = lines_of(content, &self.old);
        match (lines.as_slice(), self.replace_all.unwrap_or(false)) {
            ([], _) => Err(absent(shown, content, &self.old)),
            ([_], _) | (_, true) => Ok(content.replace(&self.old, &self.new).into_bytes()),
            (many, false) => Err(Refusal(format!(
                "`old` occurs {} times in `{shown}`, {}: add lines around it until it is unique, \
                 or set replace_all",
                many.len(),
                told(many)
            ))),
        }
    }

    fn report(&self, change: &Change, applied: Applied) -> Finished {
        let Applied::Now { old, new } = applied else { return change.already() };
        let old = String::from_utf8_lossy(old.as_deref().unwrap_or_default()).into_owned();
        let count = old.matches(&self.old).count();
        let places = if count == 1 { "1 place".into() } else { format!("{count} places") };
        let did = format!("edited `{}` in {places}", change.place().shown());
        change::report(&did, &old, &String::from_utf8_lossy(&new.unwrap_or_default()))
    }
}

/// The line numbers at which `text` begins in `content`.
fn lines_of(content: &str, text: &str) -> Vec<usize> {
    let mut line = 1;
    let mut counted = 0;
    content
        .match_indices(text)
        .map(|(at, _)| {
            line += content.get(counted..at).unwrap_or_default().matches('\n').count();
            counted = at;
            line
        })
        .collect()
}

fn told(lines: &[usize]) -> String {
    let word = if lines.len() == 1 { "line" } else { "lines" };
    let numbers: Vec<String> = lines.iter().take(LINES_TOLD_MAX).map(ToString::to_string).collect();
    let rest = if LINES_TOLD_MAX < lines.len() { " and more" } else { "" };
    format!("at {word} {}{rest}", numbers.join(", "))
}

/// Says that the text is not there, and what comes near it.
fn absent(shown: &str, content: &str, old: &str) -> Refusal {
    if content.contains("\r\n") && !lines_of(&content.replace("\r\n", "\n"), old).is_empty() {
        return Refusal(format!(
            "`old` does not occur in `{shown}`: its lines end with CR LF; write `\\r\\n` in `old` \
             and `new`"
        ));
    }
    let first = old.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let near: Vec<usize> = content
        .lines()
        .zip(1..)
        .filter_map(|(line, number)| (line.trim() == first).then_some(number))
        .collect();
    let hint = if near.is_empty() {
        "read the file again".to_owned()
    } else {
        format!(
            "its first line occurs {}, with other white space or other lines behind it: read there",
            told(&near)
        )
    };
    Refusal(format!("`old` does not occur in `{shown}`: {hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renewed(content: &str, old: &str, new: &str, replace_all: Option<bool>) -> String {
        let wanted =
            EditArguments { path: "f".into(), old: old.into(), new: new.into(), replace_all };
        match wanted.renew("f", content.as_bytes()) {
            Ok(bytes) => String::from_utf8(bytes).expect("UTF-8"),
            Err(Refusal(text)) => text,
        }
    }

    #[test]
    fn schema_and_struct_agree() {
        crate::contract::arguments::assert_agree::<EditArguments>(SCHEMA);
    }

    #[test]
    fn text_that_occurs_once_is_replaced() {
        assert_eq!(renewed("a\nb\nc\n", "b", "B", None), "a\nB\nc\n");
        assert_eq!(renewed("b b b", "b", "c", Some(true)), "c c c");
        assert_eq!(renewed("a\nb\n", "a\n", "", None), "b\n");
    }

    #[test]
    fn text_that_occurs_often_is_refused_with_line_numbers() {
        let refusal = renewed("x\nb\nb b\n", "b", "c", None);
        assert!(refusal.starts_with("`old` occurs 3 times in `f`, at lines 2, 3, 3:"), "{refusal}");
        let refusal = renewed(&"b\n".repeat(50), "b", "c", Some(false));
        assert!(refusal.contains("50 times") && refusal.contains("and more"), "{refusal}");
    }

    #[test]
    fn text_that_does_not_occur_is_refused_with_a_hint() {
        assert!(renewed("a\n", "zzz", "c", None).ends_with("read the file again"));
        let refusal = renewed("fn a() {\n\tb();\n}\n", "    b();\n", "c", None);
        assert!(refusal.contains("at line 2"), "{refusal}");
        let refusal = renewed("a\r\nb\r\n", "a\nb", "c", None);
        assert!(refusal.contains("CR LF"), "{refusal}");
    }

    #[test]
    fn an_edit_that_changes_nothing_is_refused() {
        assert!(renewed("a", "a", "a", None).contains("nothing to change"));
        assert!(renewed("a", "", "a", None).contains("`old` is empty"));
    }
}
