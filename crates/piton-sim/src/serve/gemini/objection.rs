//! What Gemini says of a request that breaks a rule.

/// A finding in the service's words.
pub(super) fn wording(finding: &str) -> String {
    let (rule, what) = finding.split_once(": ").unwrap_or((finding, ""));
    let said = match rule {
        "G-COUNT" => {
            "Please ensure that the number of function response parts is equal to the number of \
             function call parts of the function call turn."
        }
        "G-CALL-POSITION" => {
            "Please ensure that function call turn comes immediately after a user turn or after a \
             function response turn."
        }
        "G-RESPONSE-POSITION" | "G-TRAILING-CALL" => {
            "Please ensure that function response turn comes immediately after a function call \
             turn."
        }
        "G-ENDS-MODEL" => "Please ensure that single turn requests end with a user role.",
        "G-ALTERNATE" => "Please ensure that multiturn requests alternate between user and model.",
        "G-ROLE" => "Please use a valid role: user, model.",
        "G-SIG" if what.contains("not signed") => {
            "Function call is missing a thought_signature in functionCall parts. This is required \
             for tools to work correctly."
        }
        "G-NAME" => {
            "Invalid function name. Must start with a letter or an underscore. Must be alphameric \
             (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum \
             length of 64."
        }
        "G-SCHEMA" if what.contains("at its root") => {
            "Unable to submit request because a functionDeclaration `parameters` schema specified \
             other fields alongside any_of. When using any_of, it must be the only field set."
        }
        "G-PARTS" if what.contains("kinds of content") => {
            return format!(
                "* GenerateContentRequest.{}.data: required oneof field 'data' must have one \
                 initialized field",
                what.split(' ').next().unwrap_or_default()
            );
        }
        "G-PARTS" => {
            "Unable to submit request because it must include at least one parts field, which \
             describes the prompt input."
        }
        _ => return format!("Invalid request: {what} ({rule})."),
    };
    said.to_owned()
}
