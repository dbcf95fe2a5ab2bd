//! What the Responses API says of a request that breaks a rule.

use serde_json::{Value, json};

use crate::serve::asked::{list, number_behind, text};
use crate::serve::openai::{invalid, schema};
use crate::serve::refusal::Refusal;

/// The objection to the first finding, in the service's words.
pub(super) fn of(findings: &[String], body: &Value) -> Option<Refusal> {
    let first = findings.first()?;
    let (rule, what) = first.split_once(": ").unwrap_or((first, ""));
    let at = number_behind(first, "input[").unwrap_or(0);
    let item = list(body, "input").get(at).unwrap_or(&Value::Null);
    let (id, call) = (text(item, "id"), text(item, "call_id"));
    let of_input = |message: &str| invalid(message, json!("input"), Value::Null);
    Some(match rule {
        "R-CALL-NO-OUTPUT" => {
            let call = what.rsplit(' ').next().unwrap_or_default();
            of_input(&format!("No tool output found for function call {call}."))
        }
        "R-ORPHAN-OUTPUT" => {
            of_input(&format!("No tool call found for function call output with call_id {call}."))
        }
        "R-REASONING-FOLLOW" => of_input(&format!(
            "Item '{id}' of type 'reasoning' was provided without its required following item."
        )),
        "R-STATELESS-REF" => {
            let message = format!(
                "Item with id '{id}' not found. Items are not persisted when `store` is set to \
                 false. Try again with `store` set to true, or remove this item from your input."
            );
            Refusal { status: 404, ..of_input(&message) }
        }
        "R-DUP-ITEM" => of_input(&format!(
            "Duplicate item found with id {id}. Remove duplicate items from your input and try \
             again."
        )),
        "R-ID-PREFIX" => of_input(&format!(
            "Invalid 'input[{at}].id': '{id}'. Expected an ID that begins with '{}'.",
            prefix(text(item, "type"))
        )),
        "R-CALLID" => of_input(&format!(
            "Invalid 'input[{at}].call_id': string too long. Expected a string with maximum \
             length 64, but got a string with length {} instead.",
            call.len()
        )),
        "R-ROLE" => of_input(&format!(
            "Invalid value: '{}'. Supported values are: 'assistant', 'system', 'developer', and \
             'user'.",
            text(item, "role")
        )),
        "R-MAXTOK" => invalid(
            "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16.",
            json!("max_output_tokens"),
            json!("integer_below_min_value"),
        ),
        "R-SCHEMA" => schema(first, "parameters"),
        "X-STORE" => detail("Store must be set to false"),
        "X-STREAM" => detail("Stream must be set to true"),
        "X-INSTRUCTIONS" => detail("Instructions are required"),
        "X-SYSTEM" => detail("System messages are not allowed"),
        "X-PARAM" => {
            let parameter = what.rsplit(' ').next().unwrap_or_default();
            detail(&format!("Unsupported parameter: {parameter}"))
        }
        _ => of_input(&format!("Invalid request: {what} ({rule}).")),
    })
}

fn prefix(kind: &str) -> &'static str {
    match kind {
        "function_call" => "fc",
        "reasoning" => "rs",
        "custom_tool_call" => "ctc",
        _ => "msg",
    }
}

/// How the Codex backend says no.
pub(super) fn detail(message: &str) -> Refusal {
    Refusal::new(400, json!({ "detail": message }))
}
