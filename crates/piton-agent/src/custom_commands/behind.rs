//! Lines for the shell that a workspace brings. They run in the sandbox.
//!
//! A person approves such a line together with the files that its words name. Words do not tell every file that
//! a line runs: a variable, a pattern or a `cd` leads to others, and those may have changed since. So the line is
//! not judged by its words. The wall holds whatever it runs, as it holds a command of the model that ends with the
//! agent.

use std::sync::Arc;

use piton_core::event::{Grants, Handle, Outcome, Permissions};
use piton_core::id::{CallId, ConversationId, TurnId};
use piton_tools::{Asker, Closed, Consent, Finished, Job, Progress, Shell, Site, Tool as _};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::CustomFault;
use crate::agent::Agent;
use crate::overrides::Overrides;
use crate::trust::real;

/// Longest time of a line, in seconds.
const LINE_SECONDS_MAX: u64 = 120;

/// Runs the lines of a command that a workspace brings.
#[derive(Debug)]
pub struct BroughtLines {
    name: String,
    shell: Shell,
    site: Arc<Site>,
    directory: String,
    is_confined: bool,
}

/// What came of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RanLine {
    /// What it printed.
    pub output: String,
    /// How it ended, in words; nothing if there is nothing to say.
    pub remarks: String,
    /// Whether it succeeded.
    pub is_ok: bool,
}

impl Agent {
    /// How lines of a command are run that a workspace brings. Without a wall none is run, unless the person
    /// wants no sandbox.
    pub fn brought_lines(
        &self,
        name: &str,
        overrides: &Overrides,
    ) -> Result<BroughtLines, CustomFault> {
        let unfit = |why: String| CustomFault::NotRun { name: name.to_owned(), why };
        let settings = self.settings();
        let rules = self.sandbox_rules(overrides);
        let workspace = real(settings.workspace().map_err(|error| unfit(error.to_string()))?);
        let here = real(settings.directory().map_err(|error| unfit(error.to_string()))?);
        let policy = rules
            .around(&workspace)
            .map_err(|why| CustomFault::NoWall { name: name.to_owned(), why })?;
        let directory = here.to_str().ok_or_else(|| unfit("this directory is not UTF-8".into()))?;
        Ok(BroughtLines {
            name: name.to_owned(),
            shell: Shell::plain(self.key_variables(), rules),
            directory: directory.to_owned(),
            site: Arc::new(Site {
                workspace,
                scratch: settings.passing_scratch(),
                conversation: ConversationId::new("command"),
                permissions: Permissions::default(),
                closed: Closed::new(settings.own_places()),
            }),
            is_confined: policy.is_some(),
        })
    }
}

impl BroughtLines {
    /// Whether lines run in the sandbox.
    pub fn is_confined(&self) -> bool {
        self.is_confined
    }

    /// Runs a line to its end. `words` are those behind the name of the command: parameters of the shell, never
    /// a part of what it reads. Dropped, the line is stopped.
    pub async fn run(&self, line: &str, words: &str) -> RanLine {
        let arguments = json!({
            "command": with_words(line, &self.name, words),
            "dir": self.directory,
            "timeout_s": LINE_SECONDS_MAX,
        });
        let job = Job {
            site: self.site.clone(),
            call: CallId { turn: TurnId(1), step: 1, index: 0 },
            arguments: Arc::new(arguments.as_object().cloned().unwrap_or_default()),
            handle: Handle::default(),
            // Nobody allowed what it runs, word for word.
            consent: Consent::Widely,
            grants: Grants::default(),
            cancel: CancellationToken::new(),
            asker: Asker::default(),
            progress: Progress::default(),
        };
        ran(self.shell.run(job).await)
    }
}

/// What a line looked like from outside.
fn ran(finished: Finished) -> RanLine {
    let Finished { outcome, text, exit_code, note_bytes, .. } = finished;
    let is_ok = outcome == Outcome::Ok && exit_code == Some(0);
    // A line that did not start printed nothing.
    let note_bytes = if exit_code.is_none() && note_bytes == 0 { text.len() } else { note_bytes };
    let (output, remarks) =
        text.split_at_checked(text.len() - note_bytes.min(text.len())).unwrap_or((&text, ""));
    RanLine { output: output.trim_end().to_owned(), remarks: remarks.trim().to_owned(), is_ok }
}

/// A line for `sh` that runs `line` with words as its parameters.
fn with_words(line: &str, name: &str, words: &str) -> String {
    let quoted = |word: &str| format!("'{}'", word.replace('\'', r"'\''"));
    let exported = match words {
        "" => String::new(),
        words => format!("export ARGUMENTS={}; ", quoted(words)),
    };
    let all = [line, name].into_iter().chain(words.split_whitespace()).map(quoted);
    format!("{exported}exec sh -c {}", all.collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_parameters_and_never_a_part_of_the_line() {
        assert_eq!(with_words("a | b", "x", ""), "exec sh -c 'a | b' 'x'");
        let expected =
            r"export ARGUMENTS='it'\''s  $(b)'; exec sh -c 'log $1' 'x' 'it'\''s' '$(b)'";
        assert_eq!(with_words("log $1", "x", "it's  $(b)"), expected);
    }

    #[test]
    fn what_was_printed_and_what_is_remarked_are_told_apart() {
        let text = "out\n[exit code 3]".to_owned();
        let (exit_code, note_bytes) = (Some(3), "[exit code 3]".len());
        let failed = Finished { exit_code, note_bytes, ..Finished::ok(text) };
        let expected =
            RanLine { output: "out".into(), remarks: "[exit code 3]".into(), is_ok: false };
        assert_eq!(ran(failed), expected);
        let expected = RanLine { output: String::new(), remarks: "not run".into(), is_ok: false };
        assert_eq!(ran(Finished::failed("not run")), expected);
    }
}
