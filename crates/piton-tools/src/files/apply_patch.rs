//! `apply_patch`: several files are changed by one patch, all of them or none.
//!
//! What the text of a patch means, `piton_core::patch` knows; where its hunks fit, `hunks`; what becomes
//! of each file, `laid_out`. The changes themselves are made like all changes of files.

mod hunks;
mod laid_out;

use async_trait::async_trait;
use piton_core::event::{ArgumentRole, EffectClass, Handle, Preview, ToolSpec};
use piton_core::id::CallId;
use piton_core::patch::{self, Section};
use serde::Deserialize;

use self::laid_out::laid_out;
use super::change::{self, Applied, Changes, Compared, Wanted};
use super::workspace::Place;
use crate::contract::{
    Arguments, Finished, Job, Prepared, Refusal, Settled, Site, Tool, blocking, parse_arguments,
};

const SCHEMA: &str = r#"{
    "type": "object",
    "properties": {
        "patch": {"type": "string", "description": "The patch, from `*** Begin Patch` to `*** End Patch`. In between, for each file: `*** Add File: PATH` with lines that begin with `+`; `*** Delete File: PATH`; or `*** Update File: PATH`, if it is renamed `*** Move to: PATH`, and hunks. A hunk begins with `@@`, behind it a line of the file that stands before the hunk if that is needed to find it, e.g. `@@ fn main() {`. Its lines begin with a blank (stays), `-` (goes) or `+` (comes): some lines of context, exactly as in the file, before and after each change. Paths are relative to the workspace."}
    },
    "required": ["patch"],
    "additionalProperties": false
}"#;

/// The tool.
#[derive(Clone, Copy, Debug)]
pub struct ApplyPatch;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PatchArguments {
    patch: String,
}

#[async_trait]
impl Tool for ApplyPatch {
    fn spec(&self) -> ToolSpec {
        let description = "Changes several files in one step: creates, updates, renames and deletes. \
                           All of the patch is applied, or nothing of it. For one place in one file \
                           edit_file is simpler.";
        ToolSpec::new("apply_patch", description, SCHEMA, EffectClass::Digested)
            .with_roles([("patch", ArgumentRole::Patch)])
    }

    async fn prepare(
        &self,
        site: &Site,
        _: CallId,
        arguments: &Arguments,
    ) -> Result<Prepared, Refusal> {
        let wanted: PatchArguments = parse_arguments(SCHEMA, arguments)?;
        let site = site.clone();
        // Elsewhere: the files have to be read, searched and digested.
        blocking::whole(move || Ok(Changes::prepared(&wanted.laid_out(&site)?))).await
    }

    async fn preview(&self, site: &Site, arguments: &Arguments) -> Option<Preview> {
        let wanted: PatchArguments = parse_arguments(SCHEMA, arguments).ok()?;
        let site = site.clone();
        let shown = blocking::whole(move || {
            let files = wanted.laid_out(&site)?;
            if files.iter().any(|file| file.place.is_kept_back(&site)) {
                return Ok(None);
            }
            let compared: Vec<_> = files.iter().map(compared).collect();
            Ok::<_, Refusal>(Some(change::preview_all(&compared)))
        });
        shown.await.ok().flatten()
    }

    async fn run(&self, job: Job) -> Finished {
        if job.cancel.is_cancelled() {
            return Finished::cancelled("stopped before anything was changed");
        }
        // To the end once begun: a half-made change would have to be settled.
        blocking::whole(move || {
            let wanted: PatchArguments = parse_arguments(SCHEMA, &job.arguments)?;
            let changes = Changes::recorded(&job.site, &job.handle)?;
            let applied = changes.apply(&job.site, job.call, || {
                let old = |place: &Place| changes.old(&job.site, place);
                laid_out(&job.site, &wanted.sections()?, old)
            })?;
            Ok(report(&applied))
        })
        .await
        .unwrap_or_else(Finished::from)
    }

    async fn settle(&self, site: &Site, _: &Arguments, handle: &Handle) -> Settled {
        let (site, handle) = (site.clone(), handle.clone());
        blocking::whole(move || Ok(Changes::recorded(&site, &handle)?.settle(&site)))
            .await
            .unwrap_or_else(|Refusal(text)| Settled::Unknown(text))
    }

    async fn abandon(&self, site: &Site, handle: &Handle) {
        let (site, handle) = (site.clone(), handle.clone());
        blocking::whole(move || {
            Changes::recorded(&site, &handle).map(|changes| changes.abandon(&site))
        })
        .await
        .unwrap_or_default();
    }
}

impl PatchArguments {
    fn sections(&self) -> Result<Vec<Section<'_>>, Refusal> {
        patch::read(&self.patch)
            .map_err(|fault| Refusal(format!("{fault}. Nothing of the patch was applied")))
    }

    /// What the files are to become, as they are now.
    fn laid_out(&self, site: &Site) -> Result<Vec<Wanted>, Refusal> {
        laid_out(site, &self.sections()?, |place| change::current(site, place))
            .map_err(|Refusal(why)| Refusal(format!("{why}. Nothing of the patch was applied")))
    }
}

fn compared(file: &Wanted) -> Compared<'_> {
    Compared { path: file.place.shown(), old: file.old.as_deref(), new: file.new.as_deref() }
}

fn report(applied: &[(Place, Applied)]) -> Finished {
    let now = applied.iter().filter_map(|(place, applied)| match applied {
        Applied::Now { old, new } => {
            Some(Compared { path: place.shown(), old: old.as_deref(), new: new.as_deref() })
        }
        Applied::Earlier => None,
    });
    let now: Vec<_> = now.collect();
    let files = |count: usize| if count == 1 { "1 file".into() } else { format!("{count} files") };
    let mut did = format!("applied the patch to {}", files(applied.len()));
    let earlier = applied.len() - now.len();
    if 0 < earlier {
        did =
            format!("{did}; {} had been changed before the agent was interrupted", files(earlier));
    }
    change::report_all(&did, &now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schema_and_struct_agree() {
        crate::contract::arguments::assert_agree::<PatchArguments>(SCHEMA);
    }
}
