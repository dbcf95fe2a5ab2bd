//! What both interfaces of `OpenAI` say of a request that they do not accept.

use serde_json::{Value, json};

use super::asked::number_behind;
use super::refusal::Refusal;

/// A request that is not accepted.
pub(super) fn invalid(message: &str, param: Value, code: Value) -> Refusal {
    let error = json!({
        "message": message,
        "type": "invalid_request_error",
        "param": param,
        "code": code,
    });
    Refusal::new(400, json!({ "error": error }))
}

/// What is said of a function whose parameters are no plain object: `tools[0]: name`.
pub(super) fn schema(finding: &str, field: &str) -> Refusal {
    let tool = number_behind(finding, "tools[").unwrap_or(0);
    let function = finding.rsplit(": ").next().unwrap_or_default().trim_matches('"');
    let param = format!("tools[{tool}].{field}");
    let message = format!(
        "Invalid schema for function '{function}': schema must have type 'object' and not have \
         'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level."
    );
    invalid(&message, json!(param), json!("invalid_function_parameters"))
}
