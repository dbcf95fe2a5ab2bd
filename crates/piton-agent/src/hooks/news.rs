//! What a hook reads on standard input.

use piton::hooks::{HookedCall, Occasion, Told};
use serde_json::{Value, json};

/// One JSON object, on one line.
pub(super) fn in_json(told: &Told) -> String {
    let Told { conversation, workspace, turn, occasion } = told;
    let mut news = json!({
        "event": event(occasion),
        "conversation": conversation.as_str(),
        "workspace": workspace.to_string_lossy(),
        "turn": turn.0,
    });
    let more = match occasion {
        Occasion::BeforeTool(call) => of_call(call),
        Occasion::AfterTool { call, outcome, text } => {
            with(of_call(call), json!({ "outcome": outcome, "text": &**text }))
        }
        Occasion::Question { call, question } => {
            with(of_call(call), json!({ "question": question }))
        }
        Occasion::TurnEnded(end) => json!({ "end": end }),
        Occasion::TurnBroke { reason, message } => {
            json!({ "end": "broken", "reason": reason, "message": message })
        }
    };
    news = with(news, more);
    format!("{news}\n")
}

fn event(occasion: &Occasion) -> &'static str {
    match occasion {
        Occasion::BeforeTool(_) => "before_tool",
        Occasion::AfterTool { .. } => "after_tool",
        Occasion::Question { .. } => "question",
        Occasion::TurnEnded(_) | Occasion::TurnBroke { .. } => "turn_end",
    }
}

fn of_call(call: &HookedCall) -> Value {
    let HookedCall { id, tool, arguments } = call;
    // What a model wrote need not be JSON; then it is told as text.
    let arguments = serde_json::from_str(arguments).unwrap_or_else(|_| Value::from(&**arguments));
    json!({ "call": id.to_string(), "tool": tool, "arguments": arguments })
}

/// Both objects in one.
fn with(mut one: Value, other: Value) -> Value {
    if let (Some(fields), Value::Object(more)) = (one.as_object_mut(), other) {
        fields.extend(more);
    }
    one
}
