//! Words that agents put in the place of what a tool, a model or a person said.
//!
//! Whole texts and beginnings only, and only in their own place: a session about these tools quotes them.

/// Results that an agent made up, as a whole.
const RESULTS: [&str; 7] = [
    "aborted",
    "[Tool execution was interrupted]",
    "Tool execution aborted",
    "[Old tool result content cleared]",
    "No result provided",
    "User cancelled tool execution.",
    "[Tool result missing due to internal error]",
];

/// How results begin that an agent made up.
const RESULT_BEGINNINGS: [&str; 4] = [
    "aborted by user",
    "[Operation Cancelled]",
    "[Request interrupted by user",
    "The user doesn't want to proceed with this tool use.",
];

/// How messages begin that no person typed.
const MESSAGE_BEGINNINGS: [&str; 16] = [
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "<skills_instructions>",
    "<turn_aborted>",
    "<subagent_notification>",
    "# AGENTS.md instructions",
    "<session_context>",
    "<hook_context>",
    "<command-name>",
    "<command-message>",
    "<local-command-caveat>",
    "<local-command-stdout>",
    "<bash-input>",
    "<bash-stdout>",
    "[Request interrupted by user",
];

/// Whether an agent made this result up.
pub(crate) fn is_made_up(result: &str) -> bool {
    let text = result.trim();
    // Codex puts the time in front.
    let behind_time = match text.split_once('\n') {
        Some((first, rest)) if first.starts_with("Wall time: ") => rest.trim(),
        _ => text,
    };
    RESULTS.contains(&text)
        || RESULT_BEGINNINGS.iter().any(|marker| text.starts_with(marker))
        || behind_time.starts_with("aborted by user")
}

/// Whether an agent made this message of a person.
pub(crate) fn is_note(message: &str) -> bool {
    let text = message.trim_start();
    MESSAGE_BEGINNINGS.iter().any(|marker| text.starts_with(marker))
}

/// Whether an agent made this answer of a model.
pub(crate) fn is_filler(answer: &str) -> bool {
    let text = answer.trim();
    matches!(text, "No response requested." | "(no content)") || text.starts_with("API Error:")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_count_whole_or_at_the_beginning_only() {
        assert!(is_made_up("aborted") && is_made_up("Wall time: 2.0 seconds\naborted by user"));
        assert!(is_made_up("[Operation Cancelled] Reason: User cancelled tool execution."));
        assert!(!is_made_up("the build was aborted") && !is_made_up("aborted\nby nobody"));
        assert!(!is_made_up("grep: No result provided"));
        assert!(is_note("<turn_aborted>\n..") && !is_note("what is <turn_aborted>?"));
        assert!(is_filler("API Error: 529") && !is_filler("I saw API Error: 529"));
    }
}
