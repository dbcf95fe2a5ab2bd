//! `grep`: lines that match, with ripgrep's own engine.
//!
//! Finds and reports; [`report`] knows how a result looks.

mod report;

use std::ops::ControlFlow;

use async_trait::async_trait;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use piton_core::event::{ArgumentRole, EffectClass, ToolSpec};
use piton_core::id::CallId;
use rustix::fs::FileType;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use self::report::Report;
use super::left_out::LeftOut;
use super::walk::{self, Ended, Pattern};
use super::workspace::Place;
use crate::contract::{
    Arguments, Finished, Job, Prepared, Refusal, Site, Tool, blocking, parse_arguments,
};

/// Matches in one result if the call names no number.
const MATCHES_DEFAULT: usize = 200;
/// Longest line that is searched, in bytes: a longer one is skipped with its file.
const LINE_BYTES_MAX: usize = 4 * 1024 * 1024;

const SCHEMA: &str = r#"{
    "type": "object",
    "properties": {
        "pattern": {"type": "string", "description": "Regular expression (Rust syntax), matched line by line."},
        "path": {"type": "string", "description": "File or directory to search, relative to the workspace. Default: the workspace."},
        "glob": {"type": "string", "description": "Search only files that match, such as `*.rs`."},
        "case": {"type": "string", "enum": ["smart", "sensitive", "insensitive"], "description": "Smart (default): insensitive unless the pattern has a capital letter."},
        "context": {"type": "integer", "minimum": 0, "maximum": 20, "description": "Lines to show before and after each match."},
        "max_matches": {"type": "integer", "minimum": 1, "maximum": 2000, "description": "Most matching lines to show. Default: 200."}
    },
    "required": ["pattern"],
    "additionalProperties": false
}"#;

/// The tool.
#[derive(Clone, Copy, Debug)]
pub struct Grep;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct GrepArguments {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
    #[serde(default)]
    case: Option<Case>,
    context: Option<usize>,
    max_matches: Option<usize>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Case {
    #[default]
    Smart,
    Sensitive,
    Insensitive,
}

#[async_trait]
impl Tool for Grep {
    fn spec(&self) -> ToolSpec {
        let description = "Searches file contents by regular expression and shows `path:line:text`. \
                           Leaves out binary files and what .gitignore names.";
        ToolSpec::new("grep", description, SCHEMA, EffectClass::ReadOnly)
            .with_roles([("path", ArgumentRole::WorkspacePath)])
    }

    async fn prepare(
        &self,
        site: &Site,
        _: CallId,
        arguments: &Arguments,
    ) -> Result<Prepared, Refusal> {
        // In place: building a matcher and resolving a path takes microseconds.
        let search = Search::new(site, arguments)?;
        Ok(search.place.prepared())
    }

    async fn run(&self, job: Job) -> Finished {
        let Job { site, arguments, cancel, .. } = job;
        let stop = cancel.clone();
        blocking::reading(&cancel, move || Ok(Search::new(&site, &arguments)?.run(&site, &stop)))
            .await
    }
}

/// A search, ready to go.
#[derive(Debug)]
struct Search {
    matcher: RegexMatcher,
    searcher: Searcher,
    place: Place,
    files: Option<Pattern>,
    report: Report,
}

impl Search {
    fn new(site: &Site, arguments: &Arguments) -> Result<Self, Refusal> {
        let wanted: GrepArguments = parse_arguments(SCHEMA, arguments)?;
        let matcher = matcher(&wanted)?;
        let files = wanted.glob.as_deref().map(Pattern::new).transpose()?;
        let place = Place::locate(site, wanted.path.as_deref().unwrap_or("."))?;
        if place.kind(site).is_none() {
            return Err(place.not_found(site));
        }
        let context = wanted.context.unwrap_or(0);
        let searcher = SearcherBuilder::new()
            .line_number(true)
            .before_context(context)
            .after_context(context)
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(LINE_BYTES_MAX))
            .build();
        let report = Report::new(wanted.max_matches.unwrap_or(MATCHES_DEFAULT));
        Ok(Self { matcher, searcher, place, files, report })
    }

    fn run(mut self, site: &Site, cancel: &CancellationToken) -> Finished {
        if self.place.kind(site) == Some(FileType::Directory) {
            let place = self.place.clone();
            let mut left_out = LeftOut::new(site, "grep", &place);
            let ended = walk::files(site, &place, cancel, &mut left_out, |path| {
                let wanted = self.files.as_ref().is_none_or(|files| files.is_match(&place, path));
                if wanted { self.search(site, path) } else { ControlFlow::Continue(()) }
            });
            match ended {
                Ended::Cancelled => return Finished::cancelled("stopped before it was finished"),
                Ended::TooMuch => self.report.note_too_much(),
                Ended::Done => {}
            }
            self.report.note_left_out(left_out);
        } else {
            let path = self.place.shown().to_owned();
            // One file has no next one to stop at.
            let _end = self.search(site, &path);
        }
        Finished::ok(self.report.into_text())
    }

    fn search(&mut self, site: &Site, path: &str) -> ControlFlow<()> {
        let file = Place::recorded(site, path).and_then(|place| place.open_file(site));
        let searched = match file {
            Ok(file) => {
                let sink = self.report.file(path);
                self.searcher.search_file(&self.matcher, &file, sink).is_ok()
            }
            Err(_) => false,
        };
        if !searched {
            self.report.note_unreadable();
        }
        if self.report.is_full() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

fn matcher(wanted: &GrepArguments) -> Result<RegexMatcher, Refusal> {
    let case = wanted.case.unwrap_or_default();
    RegexMatcherBuilder::new()
        .case_smart(matches!(case, Case::Smart))
        .case_insensitive(matches!(case, Case::Insensitive))
        .line_terminator(Some(b'\n'))
        .build(&wanted.pattern)
        .map_err(|error| {
            Refusal(format!(
                "the pattern is not a regular expression: {error}; escape special characters with \
                 `\\`, and match one line at a time"
            ))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schema_and_struct_agree() {
        crate::contract::arguments::assert_agree::<GrepArguments>(SCHEMA);
    }
}
