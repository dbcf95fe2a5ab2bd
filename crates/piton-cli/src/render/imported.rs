//! Where a conversation came from, and what was mended, in words for people.

use std::collections::BTreeMap;

use piton_core::view::{ImportRemark, ImportSource};

use super::visible::visible;

/// Most lines of a file that are named for one kind.
const LINES_MAX: usize = 10;
/// Longest text that is shown of one remark, in letters.
const TEXT_LETTERS_MAX: usize = 100;

/// Where a conversation came from, in one line.
pub(crate) fn source(source: &ImportSource) -> String {
    let tool = match source.tool.as_str() {
        "claude-code" => "Claude Code",
        "codex" => "Codex",
        "gemini-cli" => "Gemini CLI",
        "qwen-code" => "Qwen Code",
        "messages" => "a list of messages",
        other => other,
    };
    let version = source.version.as_ref().map(|it| format!(" {it}")).unwrap_or_default();
    let session = source.session.as_ref().map(|it| format!(", session {it}")).unwrap_or_default();
    format!("imported from {tool}{version}{session}: {}", source.path)
}

/// What was mended, left out or noted: a line for each kind, with its lines of the file.
pub(crate) fn remarks(remarks: &[ImportRemark], more: u64) -> Vec<String> {
    let mut kinds: BTreeMap<&str, Vec<&ImportRemark>> = BTreeMap::new();
    for remark in remarks {
        kinds.entry(&remark.kind).or_default().push(remark);
    }
    let mut said: Vec<_> = kinds.iter().map(|(kind, remarks)| of_kind(kind, remarks)).collect();
    if 0 < more {
        said.push(format!("  {more} more are not kept; the original is"));
    }
    said
}

fn of_kind(kind: &str, remarks: &[&ImportRemark]) -> String {
    let numbers: Vec<_> = remarks.iter().map(|it| it.line).filter(|line| 0 < *line).collect();
    let named: Vec<_> = numbers.iter().take(LINES_MAX).map(ToString::to_string).collect();
    let place = match named.as_slice() {
        [] => String::new(),
        [line] => format!(" (line {line})"),
        lines if lines.len() < numbers.len() => format!(" (lines {}, …)", lines.join(", ")),
        lines => format!(" (lines {})", lines.join(", ")),
    };
    let text = match remarks {
        [only] => format!(": {}", shortened(&only.text, TEXT_LETTERS_MAX)),
        _ => String::new(),
    };
    format!("  {} {}{place}{text}", remarks.len(), words(kind, remarks.len()))
}

/// What a kind is called.
fn words(kind: &str, count: usize) -> String {
    let (one, several) = match kind {
        "torn_line" => ("line that cannot be read", "lines that cannot be read"),
        "skipped_line" => ("line that is too long", "lines that are too long"),
        "call_without_result" => {
            ("call without a result, outcome unknown", "calls without a result, outcome unknown")
        }
        "synthetic_result" => (
            "result that the agent made up, outcome unknown",
            "results that the agent made up, outcome unknown",
        ),
        "duplicate_result" => ("result that is there twice", "results that are there twice"),
        "result_without_call" => ("result without its call", "results without their calls"),
        "call_without_name" => ("call without a name", "calls without a name"),
        "mended_arguments" => (
            "call with arguments that are no JSON object",
            "calls with arguments that are no JSON object",
        ),
        "partial_text" => ("answer that was never finished", "answers that were never finished"),
        "failed_attempt" => ("attempt that failed", "attempts that failed"),
        "empty_assistant_message" => ("empty answer", "empty answers"),
        "agent_made_message" => ("answer that the agent made up", "answers that the agent made up"),
        "repeated_record" => ("record that is there twice", "records that are there twice"),
        "chain_gap" => ("gap between records", "gaps between records"),
        "note" => ("message that no person typed", "messages that no person typed"),
        "agent_note" => ("note of the agent", "notes of the agent"),
        "system_prompt" => ("system prompt, not taken over", "system prompts, not taken over"),
        "error_recorded" => ("error that the agent noted", "errors that the agent noted"),
        "unknown_record" => {
            ("kind of record that is not known", "kinds of records that are not known")
        }
        "compaction" => ("summary of what was before", "summaries of what was before"),
        "other_branch" => ("branch that was left", "branches that were left"),
        "sub_agent" => ("sub-agent, left out", "sub-agents, left out"),
        "of_sub_agent" => ("conversation of a sub-agent", "conversations of sub-agents"),
        "sub_agent_file" => (
            "file of a sub-agent, which can be imported by itself",
            "files of sub-agents, which can be imported by themselves",
        ),
        "replaced_bytes" => {
            ("line with bytes that are no text", "lines with bytes that are no text")
        }
        "missing_beginning" => {
            ("beginning that is not in the file", "beginnings that are not in the file")
        }
        "cut_text" => ("text that is too long", "texts that are too long"),
        "mixed_dialects" => ("mix of dialects", "mixes of dialects"),
        "restored_list" => {
            ("list of messages that was restored", "lists of messages that were restored")
        }
        other => return other.replace('_', " "),
    };
    if count == 1 { one } else { several }.to_owned()
}

/// The first line of a text, as much of it as is worth a line.
fn shortened(text: &str, letters_max: usize) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let short: String = line.chars().take(letters_max).collect();
    let more = if short.len() < text.trim().len() { "…" } else { "" };
    format!("{}{more}", visible(&short))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remarks_are_counted_by_kind_with_their_lines() {
        let all = [
            ImportRemark::new("torn_line", 3, "{\"type"),
            ImportRemark::new("torn_line", 9, "{"),
            ImportRemark::new("call_without_result", 12, "Bash call_1"),
            ImportRemark::new("of_a_later_version", 0, "x"),
        ];
        assert_eq!(
            remarks(&all, 2),
            [
                "  1 call without a result, outcome unknown (line 12): Bash call_1",
                "  1 of a later version: x",
                "  2 lines that cannot be read (lines 3, 9)",
                "  2 more are not kept; the original is",
            ]
        );
    }
}
