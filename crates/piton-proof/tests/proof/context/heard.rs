//! What a model hears: the parts of a request, read from its bytes alone.

use piton_core::transcript::SUMMARY_HEADING;
use serde_json::Value;

/// Whose words they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    User,
    Assistant,
    Call,
    Result,
}

/// One part of the talk.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub(crate) who: Who,
    /// Words, arguments or an output.
    pub(crate) text: String,
    /// Of a call and its result: its name on the wire, and the tool.
    pub(crate) call: String,
    pub(crate) tool: String,
}

/// A request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heard {
    pub(crate) system: String,
    pub(crate) tools: Vec<String>,
    pub(crate) talk: Vec<Said>,
    /// Most tokens of the answer, if the request says so.
    pub(crate) answer_tokens_max: Option<u64>,
}

impl Heard {
    /// Reads a body of Anthropic's or of `OpenAI`'s chat format.
    pub(crate) fn parse(body: &[u8]) -> Self {
        let body: Value = serde_json::from_slice(body).unwrap();
        let mut heard = Self { system: text_of(&body["system"]), ..Self::default() };
        heard.answer_tokens_max =
            body["max_tokens"].as_u64().or(body["max_completion_tokens"].as_u64());
        for tool in list(&body["tools"]) {
            let name = tool["name"].as_str().or(tool["function"]["name"].as_str());
            heard.tools.push(name.unwrap().to_owned());
        }
        for message in list(&body["messages"]) {
            heard.take(message);
        }
        heard
    }

    fn take(&mut self, message: &Value) {
        let content = &message["content"];
        match message["role"].as_str().unwrap() {
            "system" | "developer" => self.system += &text_of(content),
            "tool" => {
                let call = message["tool_call_id"].as_str().unwrap();
                self.result(call, text_of(content));
            }
            role => {
                let who = if role == "assistant" { Who::Assistant } else { Who::User };
                match content {
                    Value::String(text) => self.say(who, text.clone()),
                    parts => list(parts).for_each(|part| self.part(who, part)),
                }
                for call in list(&message["tool_calls"]) {
                    let function = &call["function"];
                    let arguments = function["arguments"].as_str().unwrap().to_owned();
                    self.call(call["id"].as_str(), function["name"].as_str(), arguments);
                }
            }
        }
    }

    fn part(&mut self, who: Who, part: &Value) {
        match part["type"].as_str().unwrap_or("text") {
            "tool_use" => {
                self.call(part["id"].as_str(), part["name"].as_str(), part["input"].to_string());
            }
            "tool_result" => {
                self.result(part["tool_use_id"].as_str().unwrap(), text_of(&part["content"]));
            }
            _ => self.say(who, text_of(part)),
        }
    }

    fn say(&mut self, who: Who, mut text: String) {
        // Formats that want no two messages of a user in a row make one of a summary and what stands behind it.
        let behind = ["\nWORK ", "\nASK "].iter().filter_map(|word| text.find(word)).min();
        if let Some(place) = behind.filter(|_| text.starts_with(SUMMARY_HEADING)) {
            let said = text.split_off(place);
            self.say(who, text);
            self.say(who, said.trim_start().to_owned());
            return;
        }
        let (call, tool) = (String::new(), String::new());
        self.talk.push(Said { who, text, call, tool });
    }

    fn call(&mut self, id: Option<&str>, tool: Option<&str>, text: String) {
        let (call, tool) = (id.unwrap().to_owned(), tool.unwrap().to_owned());
        self.talk.push(Said { who: Who::Call, text, call, tool });
    }

    fn result(&mut self, call: &str, text: String) {
        let known = self.talk.iter().rev().find(|said| said.who == Who::Call && said.call == call);
        let tool = known.map(|said| said.tool.clone()).unwrap_or_default();
        self.talk.push(Said { who: Who::Result, text, call: call.to_owned(), tool });
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The text of a content, a part, or a list of parts.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(text_of).collect::<Vec<_>>().join("\n"),
        Value::Object(fields) => fields.get("text").map(text_of).unwrap_or_default(),
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}
