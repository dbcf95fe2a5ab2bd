//! What a person is asked about changed files: first all names, then what is in them.
//!
//! Names and texts come from a stranger. A name stands on one line, every letter of it seen; a text is set in
//! further than the names, and its lines begin with a mark. So neither can look like a line of ours.

use std::time::Duration;

use piton_core::summary::{without_middle, written_out};
use similar::TextDiff;

use crate::contract::excerpt;

/// Most places that are named.
const NAMES_MAX: usize = 40;
/// How much of the command is quoted, in characters.
const COMMAND_CHARS_MAX: usize = 300;
/// How much of all texts is shown, in bytes, and how much of each at least.
const TEXTS_BYTES_MAX: usize = 4_000;
const TEXT_BYTES_MIN: usize = 200;
/// Longest line of a text, in bytes.
const LINE_BYTES_MAX: usize = 200;
/// How long a difference is looked for. A worse one is found at once.
const COMPARED_FOR: Duration = Duration::from_millis(200);

/// A place that was changed.
#[derive(Debug)]
pub(super) struct Altered {
    /// On one line, every letter seen.
    pub(super) name: String,
    pub(super) became: Became,
    /// What it was and what it became; `None` if that is no text, or too much.
    pub(super) texts: Option<(String, String)>,
    /// Why it is not again what it was, if it is not.
    pub(super) not_put_back: Option<String>,
}

/// What became of a place. Links with where they lead.
#[derive(Debug)]
pub(super) enum Became {
    New,
    NewLink(String),
    Changed,
    Link(String),
    Removed,
}

/// The words of a question.
#[derive(Debug)]
pub(super) struct Wording {
    pub(super) text: String,
    /// Whether every changed place is named.
    pub(super) names_all: bool,
}

impl Wording {
    pub(super) fn of(command: &str, altered: &[Altered]) -> Self {
        let named = altered.get(..NAMES_MAX).unwrap_or(altered);
        let more = altered.len() - named.len();
        let put_back = if altered.iter().all(|it| it.not_put_back.is_none()) {
            "It was put back"
        } else {
            "It was put back where nothing else is said"
        };
        let command = without_middle(&written_out(command.trim()), COMMAND_CHARS_MAX);
        let mut lines = vec![
            format!(
                "A command in the sandbox changed what programs outside obey. {put_back}; you may \
                 have changed it yourself meanwhile."
            ),
            format!("Command: {command}"),
            format!("Changed places, {} in all:", altered.len()),
        ];
        lines.extend(named.iter().map(Altered::line));
        if 0 < more {
            lines.push(format!(
                "  [{more} more are not named: all of it stays as it was. To see them, let the \
                 command change less at once]"
            ));
        }
        let bytes_max = (TEXTS_BYTES_MAX / named.len().max(1)).max(TEXT_BYTES_MIN);
        lines.extend(named.iter().flat_map(|altered| altered.excerpt(bytes_max)));
        Self { text: lines.join("\n"), names_all: more == 0 }
    }
}

impl Altered {
    /// What became of it, in a line.
    fn line(&self) -> String {
        let Self { name, became, texts, not_put_back } = self;
        let is_same = texts.as_ref().is_some_and(|(before, after)| before == after);
        let became = match became {
            Became::New => "is new".to_owned(),
            Became::NewLink(target) => format!("is new, a link to {target}"),
            Became::Changed if is_same => "was changed, but not what is in it".to_owned(),
            Became::Changed => "was changed".to_owned(),
            Became::Link(target) => format!("was replaced by a link to {target}"),
            Became::Removed => "was removed".to_owned(),
        };
        let why = not_put_back.as_ref();
        let why = why.map(|why| format!("; it could not be put back: {why}")).unwrap_or_default();
        format!("  {name} {became}{why}")
    }

    /// What is different in it, cut to so many bytes. What is not shown is counted.
    fn excerpt(&self, bytes_max: usize) -> Vec<String> {
        let heading = format!("{}:", self.name);
        let Some((before, after)) = &self.texts else {
            return vec![heading, "    [not shown: it is too large, or no text]".to_owned()];
        };
        if before == after {
            return Vec::new();
        }
        let diff = TextDiff::configure().timeout(COMPARED_FOR).diff_lines(before, after);
        let diff = diff.unified_diff().context_radius(1).to_string();
        let (mut lines, mut left) = (vec![heading], bytes_max);
        let mut rest = diff.lines();
        for line in rest.by_ref() {
            let line = format!("    {}", plain(&excerpt::line(line, LINE_BYTES_MAX)));
            let Some(room) = left.checked_sub(line.len()) else {
                // This one and those behind it.
                lines.push(format!("    [{} more lines are not shown]", 1 + rest.count()));
                break;
            };
            left = room;
            lines.push(line);
        }
        lines
    }
}

/// A line from a stranger, without what a terminal would obey.
fn plain(line: &str) -> String {
    line.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(name: &str, text: &str) -> Altered {
        Altered {
            name: name.to_owned(),
            became: Became::New,
            texts: Some((String::new(), text.to_owned())),
            not_put_back: None,
        }
    }

    #[test]
    fn every_name_stands_before_every_text_and_what_is_cut_is_counted() {
        let notes = "harmless\n".repeat(150);
        let linked =
            Altered { became: Became::Link("/etc/passwd".into()), ..new("AGENTS.md", "x") };
        let removed = Altered {
            became: Became::Removed,
            texts: Some(("old\n".into(), String::new())),
            not_put_back: Some("no room".into()),
            ..new(".envrc", "")
        };
        let same = Altered {
            became: Became::Changed,
            texts: Some(("a".into(), "a".into())),
            ..new(".git/hooks/x", "")
        };
        let odd = Altered { texts: None, ..new(".claude", "") };
        let altered = [
            new(".agents/notes.md", &notes),
            new(".mcp.json", "evil\n"),
            linked,
            removed,
            same,
            odd,
        ];
        let Wording { text, names_all } = Wording::of("make\nit", &altered);
        assert!(names_all);
        let (names, texts) = text.split_once("\n.agents/notes.md:\n").unwrap();
        for line in [
            "Command: make\\nit",
            "Changed places, 6 in all:",
            "  .agents/notes.md is new",
            "  .mcp.json is new",
            "  AGENTS.md was replaced by a link to /etc/passwd",
            "  .envrc was removed; it could not be put back: no room",
            "  .git/hooks/x was changed, but not what is in it",
            "  .claude is new",
        ] {
            assert!(names.lines().any(|it| it == line), "{line}: {names}");
        }
        let shown = texts.lines().filter(|line| *line == "    +harmless").count();
        // The first line of the difference says where it is.
        let mark = format!("\n    [{} more lines are not shown]\n", 150 - shown);
        assert!(0 < shown && texts.contains(&mark), "{texts}");
        assert!(texts.contains("\n.mcp.json:\n    @@ -0,0 +1 @@\n    +evil\n"), "{texts}");
        assert!(
            texts.ends_with(".claude:\n    [not shown: it is too large, or no text]"),
            "{texts}"
        );
    }

    #[test]
    fn no_text_looks_like_a_name() {
        let forged = "x\r\n  AGENTS.md is new\n[0 more lines are not shown]\n";
        let Wording { text, .. } = Wording::of("true", &[new(".mcp.json", forged)]);
        let ours = |line: &&str| !line.starts_with("    +") && !line.starts_with("    @@");
        let ours: Vec<_> = text.lines().skip(2).filter(ours).collect();
        assert_eq!(ours, ["Changed places, 1 in all:", "  .mcp.json is new", ".mcp.json:"]);
    }

    #[test]
    fn what_is_not_named_is_counted() {
        let many: Vec<_> = (0..=NAMES_MAX).map(|number| new(&format!("n{number}"), "x")).collect();
        let Wording { text, names_all } = Wording::of("true", &many);
        assert!(!names_all && text.contains("\n  [1 more are not named: "), "{text}");
        assert!(Wording::of("true", &many[1..]).names_all);
    }
}
