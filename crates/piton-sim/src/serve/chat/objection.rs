//! What a server of Chat Completions says of a request that breaks a rule.

use serde_json::{Value, json};

use crate::serve::asked::{list, number_behind, text};
use crate::serve::openai::{invalid, schema};
use crate::serve::refusal::Refusal;

/// The objection to the first finding, in the server's words.
pub(super) fn of(findings: &[String], body: &Value) -> Option<Refusal> {
    let first = findings.first()?;
    let (rule, what) = first.split_once(": ").unwrap_or((first, ""));
    let at = number_behind(first, "messages[").unwrap_or(0);
    let all: Vec<&str> = findings
        .iter()
        .filter_map(|finding| finding.strip_prefix(rule)?.rsplit_once(": ").map(|(_, id)| id))
        .collect();
    let plain = |message: &str| invalid(message, Value::Null, Value::Null);
    let id = what.rsplit_once(": ").map_or("", |(_, id)| id);
    Some(match rule {
        "C-TOOLCALL-NO-RESULT" => invalid(
            &format!(
                "An assistant message with 'tool_calls' must be followed by tool messages \
                 responding to each 'tool_call_id'. The following tool_call_ids did not have \
                 response messages: {}",
                all.join(", ")
            ),
            json!("messages"),
            Value::Null,
        ),
        "C-ORPHAN-TOOL" => invalid(
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding \
             message with 'tool_calls'.",
            json!(format!("messages.[{at}].role")),
            Value::Null,
        ),
        "C-DUP-TOOL" => invalid(
            &format!(
                "Invalid parameter: Duplicate value for 'tool_call_id' of '{id}', in messages[{}] \
                 and messages[{at}].",
                earlier(body, at, id)
            ),
            json!(format!("messages.[{at}].tool_call_id")),
            Value::Null,
        ),
        "C-EMPTY-TOOLCALLS" => empty(&format!("messages[{at}].tool_calls")),
        "C-EMPTY-TOOLS" => empty("tools"),
        "C-NAME" => plain(&format!(
            "Invalid 'messages[{at}].tool_calls[0].function.name': string does not match pattern. \
             Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
        )),
        "C-SCHEMA" => schema(first, "function.parameters"),
        "C-ID-LEN" => plain(&format!(
            "Invalid 'messages[{at}].tool_calls[0].id': string too long. Expected a string with \
             maximum length 40, but got a string with length {} instead.",
            id.len()
        )),
        "C-CONTENT" => plain("Invalid value for 'content': expected a string, got null."),
        "C-TOOLCHOICE" => plain(
            "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are \
             specified.",
        ),
        "C-STREAMOPT" => {
            plain("The 'stream_options' parameter is only allowed when 'stream' is enabled.")
        }
        "D-REASONING" => {
            plain("The reasoning_content in the thinking mode must be passed back to the API.")
        }
        "D-TOOLCHOICE" => plain("Thinking mode does not support this tool_choice"),
        "M-ID" => plain(&format!(
            "Tool call id was {} but must be a-z, A-Z, 0-9, with a length of 9.",
            id.trim_matches('"')
        )),
        "V-ALTERNATE" => plain(
            "After the optional system message, conversation roles must alternate \
             user/assistant/user/assistant/...",
        ),
        _ => plain(&format!("Invalid request: {what} ({rule}).")),
    })
}

fn empty(what: &str) -> Refusal {
    let message = format!(
        "Invalid '{what}': empty array. Expected an array with minimum length 1, but got an empty \
         array instead."
    );
    invalid(&message, json!(what), json!("empty_array"))
}

/// The message before `at` that has the same id.
fn earlier(body: &Value, at: usize, id: &str) -> usize {
    let messages = list(body, "messages").iter().take(at);
    messages.rev().position(|it| text(it, "tool_call_id") == id).map_or(0, |back| at - 1 - back)
}
