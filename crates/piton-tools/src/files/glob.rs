//! `glob`: files by name.

use std::ops::ControlFlow;

use async_trait::async_trait;
use piton_core::event::{ArgumentRole, EffectClass, ToolSpec};
use piton_core::id::CallId;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::left_out::LeftOut;
use super::walk::{self, Ended, Pattern};
use super::workspace::Place;
use crate::contract::{
    Arguments, Finished, Job, OUTPUT_BYTES_MAX, Prepared, Refusal, Site, Tool, blocking, excerpt,
    parse_arguments,
};
use piton_core::summary::name_on_one_line;

/// Most paths in one result.
const PATHS_MAX: usize = 1_000;
/// Room kept for the note at the end, in bytes.
const NOTE_BYTES_MAX: usize = 256;

const SCHEMA: &str = r#"{
    "type": "object",
    "properties": {
        "pattern": {"type": "string", "description": "Glob such as `**/*.rs` or `Cargo.toml`. Without `/` it matches file names at any depth."},
        "path": {"type": "string", "description": "Directory to search, relative to the workspace. Default: the workspace."}
    },
    "required": ["pattern"],
    "additionalProperties": false
}"#;

/// The tool.
#[derive(Clone, Copy, Debug)]
pub struct Glob;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct GlobArguments {
    pattern: String,
    path: Option<String>,
}

#[async_trait]
impl Tool for Glob {
    fn spec(&self) -> ToolSpec {
        let description = "Finds files by name, sorted by path. Leaves out what .gitignore names.";
        ToolSpec::new("glob", description, SCHEMA, EffectClass::ReadOnly)
            .with_roles([("path", ArgumentRole::WorkspacePath)])
    }

    async fn prepare(
        &self,
        site: &Site,
        _: CallId,
        arguments: &Arguments,
    ) -> Result<Prepared, Refusal> {
        // In place: resolving a path takes microseconds.
        let (_, place) = look(site, arguments)?;
        Ok(place.prepared())
    }

    async fn run(&self, job: Job) -> Finished {
        let Job { site, arguments, cancel, .. } = job;
        let stop = cancel.clone();
        blocking::reading(&cancel, move || {
            let (pattern, place) = look(&site, &arguments)?;
            Ok(find(&site, &pattern, &place, &stop))
        })
        .await
    }
}

fn look(site: &Site, arguments: &Arguments) -> Result<(Pattern, Place), Refusal> {
    let wanted: GlobArguments = parse_arguments(SCHEMA, arguments)?;
    let pattern = Pattern::new(&wanted.pattern)?;
    let place = Place::locate(site, wanted.path.as_deref().unwrap_or("."))?;
    place.open_directory(site)?;
    Ok((pattern, place))
}

fn find(site: &Site, pattern: &Pattern, place: &Place, cancel: &CancellationToken) -> Finished {
    let mut text = String::new();
    let mut count = 0;
    let mut more = false;
    let mut left_out = LeftOut::new(site, "glob", place);
    let ended = walk::files(site, place, cancel, &mut left_out, |path| {
        if !pattern.is_match(place, path) {
            return ControlFlow::Continue(());
        }
        let path = name_on_one_line(path);
        let full = OUTPUT_BYTES_MAX - NOTE_BYTES_MAX < text.len() + path.len() + 1;
        if full || PATHS_MAX <= count {
            more = true;
            return ControlFlow::Break(());
        }
        text.push_str(&path);
        text.push('\n');
        count += 1;
        ControlFlow::Continue(())
    });
    if more {
        let told = "there are more: narrow the pattern or give `path`";
        excerpt::note(&mut text, format_args!("[the first {count} paths; {told}]"));
    }
    match ended {
        Ended::Cancelled => return Finished::cancelled("stopped before it was finished"),
        Ended::TooMuch => text.push_str("[too many files to look at all of them: give `path`]"),
        Ended::Done if count == 0 => text.push_str("no file matches"),
        Ended::Done => {}
    }
    left_out.note(&mut text);
    Finished::ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schema_and_struct_agree() {
        crate::contract::arguments::assert_agree::<GlobArguments>(SCHEMA);
    }
}
