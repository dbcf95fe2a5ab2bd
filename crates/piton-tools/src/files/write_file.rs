//! `write_file`: the whole content of a file, new or replaced.

use async_trait::async_trait;
use piton_core::event::{ArgumentRole, EffectClass, Handle, Preview, ToolSpec};
use piton_core::id::CallId;
use serde::Deserialize;

use super::change::versions::Undo;
use super::change::{self, Applied, Change};
use super::workspace::Place;
use crate::contract::{
    Arguments, Finished, Job, Prepared, Refusal, Settled, Site, Tidying, Tool, blocking,
    parse_arguments,
};

const SCHEMA: &str = r#"{
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "File to write, relative to the workspace. Missing directories are made."},
        "content": {"type": "string", "description": "The whole new content."}
    },
    "required": ["path", "content"],
    "additionalProperties": false
}"#;

/// The tool.
#[derive(Clone, Copy, Debug)]
pub struct WriteFile;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WriteArguments {
    path: String,
    content: String,
}

#[async_trait]
impl Tool for WriteFile {
    fn spec(&self) -> ToolSpec {
        let description = "Writes a whole file, new or replaced. To change a part of a file, use \
                           edit_file.";
        ToolSpec::new("write_file", description, SCHEMA, EffectClass::Digested)
            .with_roles([("path", ArgumentRole::WorkspacePath)])
    }

    async fn prepare(
        &self,
        site: &Site,
        _: CallId,
        arguments: &Arguments,
    ) -> Result<Prepared, Refusal> {
        let wanted: WriteArguments = parse_arguments(SCHEMA, arguments)?;
        let site = site.clone();
        // Elsewhere: the file has to be read and digested.
        blocking::whole(move || {
            let place = Place::locate(&site, &wanted.path)?;
            let old = change::current(&site, &place)?;
            let change = Change::new(place, old.as_deref(), wanted.content.as_bytes())?;
            Ok(change.prepared())
        })
        .await
    }

    async fn preview(&self, site: &Site, arguments: &Arguments) -> Option<Preview> {
        let wanted: WriteArguments = parse_arguments(SCHEMA, arguments).ok()?;
        let site = site.clone();
        let shown = blocking::whole(move || {
            let place = Place::locate(&site, &wanted.path)?;
            if place.is_kept_back(&site) {
                return Ok(None);
            }
            let old = change::current(&site, &place)?;
            Ok::<_, Refusal>(Some(change::preview(old.as_deref(), wanted.content.as_bytes())))
        });
        shown.await.ok().flatten()
    }

    async fn run(&self, job: Job) -> Finished {
        if job.cancel.is_cancelled() {
            return Finished::cancelled("stopped before anything was written");
        }
        // To the end once begun: a half-made change would have to be settled.
        blocking::whole(move || {
            let wanted: WriteArguments = parse_arguments(SCHEMA, &job.arguments)?;
            let change = Change::recorded(&job.site, &job.handle)?;
            let applied =
                change.apply(&job.site, job.call, |_| Ok(wanted.content.clone().into_bytes()))?;
            Ok(report(&change, applied))
        })
        .await
        .unwrap_or_else(Finished::from)
    }

    async fn settle(&self, site: &Site, arguments: &Arguments, handle: &Handle) -> Settled {
        let (site, arguments, handle) = (site.clone(), arguments.clone(), handle.clone());
        blocking::whole(move || {
            let wanted: WriteArguments = parse_arguments(SCHEMA, &arguments)?;
            let renew = |_: Option<&[u8]>| Ok(wanted.content.clone().into_bytes());
            Ok(Change::recorded(&site, &handle)?.settle(&site, renew))
        })
        .await
        .unwrap_or_else(|Refusal(text)| Settled::Unknown(text))
    }

    fn tidy(&self, site: &Site, _: &[Handle]) -> Tidying {
        let undo = Undo::new(&site.scratch);
        blocking::beside(move || undo.sweep())
    }

    async fn abandon(&self, site: &Site, handle: &Handle) {
        change::abandon(site, handle).await;
    }
}

fn report(change: &Change, applied: Applied) -> Finished {
    let Applied::Now { old, new } = applied else { return change.already() };
    let shown = change.place().shown();
    let new = new.unwrap_or_default();
    let new = String::from_utf8_lossy(&new);
    let size = format!("{}, {}", counted(new.lines().count(), "line"), counted(new.len(), "byte"));
    match old.map(String::from_utf8) {
        None => Finished::ok(format!("created `{shown}` ({size})")),
        // What was there was not text: there is nothing to compare.
        Some(Err(_)) => Finished::ok(format!("replaced `{shown}` ({size})")),
        Some(Ok(old)) => change::report(&format!("replaced `{shown}` ({size})"), &old, &new),
    }
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schema_and_struct_agree() {
        crate::contract::arguments::assert_agree::<WriteArguments>(SCHEMA);
    }
}
