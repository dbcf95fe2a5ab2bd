//! Answers to a call that do not wholly keep to the protocol, read as far as they can be.
//!
//! A server that answers has got the call, so the call is not lost. The model is told what the server
//! said, even if the form is wrong.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::Value;

/// The answer as a result. `None` if it says that it is something else, of which nothing is known
/// here.
pub(crate) fn loose(answer: &Value) -> Option<CallToolResult> {
    let kind = answer.get("resultType").unwrap_or(&Value::Null);
    if !kind.is_null() && kind != "complete" {
        return None;
    }
    let structured = answer.get("structuredContent").filter(|it| !it.is_null());
    let blocks = match answer.get("content") {
        Some(Value::Array(blocks)) => blocks.iter().map(block).collect(),
        Some(Value::Null) | None if structured.is_some() => Vec::new(),
        Some(Value::Null) | None => vec![odd("answer", answer)],
        Some(Value::String(text)) => vec![ContentBlock::text(text)],
        Some(content) => vec![odd("content", content)],
    };
    let mut result = CallToolResult::success(blocks);
    result.structured_content = structured.cloned();
    result.is_error = answer.get("isError").and_then(Value::as_bool);
    Some(result)
}

fn block(told: &Value) -> ContentBlock {
    serde_json::from_value(told.clone())
        .unwrap_or_else(|_| told.as_str().map_or_else(|| odd("content", told), ContentBlock::text))
}

/// What nobody knows how to read is shown as it is.
fn odd(what: &str, told: &Value) -> ContentBlock {
    ContentBlock::text(format!("[{what} of an unknown kind]\n{told}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The texts of an answer, and whether it says that it failed.
    fn check(answer: Value, expected: Option<(&[&str], bool)>) {
        let found = loose(&answer).map(|result| {
            let texts = result.content.iter().filter_map(ContentBlock::as_text);
            let texts: Vec<String> = texts.map(|text| text.text.clone()).collect();
            (texts, result.is_error == Some(true))
        });
        let expected = expected.map(|(texts, failed)| {
            (texts.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>(), failed)
        });
        assert_eq!(found, expected, "{answer}");
    }

    #[test]
    fn one_part_that_is_not_known_takes_no_other_along() {
        let text = json!({"type": "text", "text": "done it"});
        let video = json!({"type": "video", "data": "AAAA"});
        check(
            json!({"content": [text, video, "more"], "isError": true}),
            Some((
                &[
                    "done it",
                    "[content of an unknown kind]\n{\"data\":\"AAAA\",\"type\":\"video\"}",
                    "more",
                ],
                true,
            )),
        );
        check(json!({"content": "done it"}), Some((&["done it"], false)));
        check(
            json!({"content": {"a": 1}}),
            Some((&["[content of an unknown kind]\n{\"a\":1}"], false)),
        );
    }

    #[test]
    fn an_answer_of_another_form_is_shown_as_it_is() {
        check(json!("ok"), Some((&["[answer of an unknown kind]\n\"ok\""], false)));
        check(json!({"a": 1}), Some((&["[answer of an unknown kind]\n{\"a\":1}"], false)));
        check(json!({"structuredContent": [1], "isError": "no"}), Some((&[], false)));
        check(json!({"content": 7, "resultType": "later"}), None);
    }
}
