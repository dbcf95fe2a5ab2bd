//! Checks the body of a request against what the service is known to reject.
//!
//! Written against the service's rules, not against our encoder, so that the one can be held
//! against the other: by property tests, and by the simulator that plays the service. It finds; it
//! mends nothing. Each finding begins with the id of its rule. Stricter than some models are:
//! what one of them rejects is a finding.

use std::collections::BTreeSet;

use serde_json::Value;

/// Kinds of content of a part; each part has one.
const DATA: [&str; 9] = [
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
];
/// What a schema of parameters cannot say of itself beside its type.
const COMBINED: [&str; 3] = ["anyOf", "oneOf", "allOf"];
/// What the service accepts where a signature is missing.
const SENTINELS: [&str; 2] =
    ["skip_thought_signature_validator", "context_engineering_is_the_way_to_go"];

/// All findings in a body. The model stands in the URL of a request, so rules that only some
/// models have are checked only if the body names one; see [`violations_for`].
pub fn violations(body: &Value) -> Vec<String> {
    violations_for(body.get("model").and_then(Value::as_str).unwrap_or_default(), body)
}

/// All findings in a body that goes to a model.
pub fn violations_for(model: &str, body: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let contents = body.get("contents").and_then(Value::as_array);
    let contents = contents.map_or(&[][..], Vec::as_slice);
    if contents.is_empty() {
        found.push("G-PARTS: there are no contents".to_owned());
    }
    if let Some(system) = body.get("systemInstruction") {
        check_parts(system, "systemInstruction", &mut found);
    }
    let mut turns: Vec<Turn<'_>> = Vec::new();
    for (at, content) in contents.iter().enumerate() {
        check_parts(content, &format!("contents[{at}]"), &mut found);
        let turn = Turn::of(content, at, &mut found);
        if turns.last().is_some_and(|last| last.is_model == turn.is_model) {
            found.push(format!("G-ALTERNATE: contents[{at}] has the role of the one before"));
        }
        turns.push(turn);
    }
    check_order(&turns, &mut found);
    if must_sign(model) {
        check_signed(&turns, &mut found);
    }
    check_tools(body, &mut found);
    found
}

/// One content, by what matters for the order.
struct Turn<'a> {
    is_model: bool,
    calls: Vec<&'a Value>,
    responses: Vec<&'a Value>,
    first_call: Option<&'a Value>,
    is_response_first: bool,
}

impl<'a> Turn<'a> {
    fn of(content: &'a Value, at: usize, found: &mut Vec<String>) -> Self {
        let role = content.get("role").and_then(Value::as_str);
        let is_model = role == Some("model");
        if !is_model && role != Some("user") {
            found.push(format!("G-ROLE: contents[{at}] has the role {role:?}"));
        }
        let parts = parts(content);
        let all = |key| parts.iter().filter_map(|part| part.get(key)).collect::<Vec<_>>();
        let (calls, responses) = (all("functionCall"), all("functionResponse"));
        if !is_model && !calls.is_empty() {
            found.push(format!("G-ROLE: contents[{at}] has calls, but is not the model's"));
        }
        if is_model && !responses.is_empty() {
            found.push(format!("G-ROLE: contents[{at}] has responses, but is the model's"));
        }
        let first_call = parts.iter().find(|part| part.get("functionCall").is_some());
        let leading = parts.iter().take_while(|part| part.get("functionResponse").is_some());
        let is_response_first = leading.count() == responses.len();
        Self { is_model, calls, responses, first_call, is_response_first }
    }
}

fn parts(content: &Value) -> &[Value] {
    content.get("parts").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn check_parts(content: &Value, place: &str, found: &mut Vec<String>) {
    if parts(content).is_empty() {
        found.push(format!("G-PARTS: {place} has no parts"));
    }
    for (at, part) in parts(content).iter().enumerate() {
        let place = format!("{place}.parts[{at}]");
        let data = DATA.iter().filter(|key| part.get(**key).is_some_and(|it| !it.is_null()));
        let data = data.count();
        if data != 1 {
            found.push(format!("G-PARTS: {place} has {data} kinds of content, not one"));
        }
        let signature = part.get("thoughtSignature");
        if signature.is_some_and(|signature| !is_signature(signature)) {
            found.push(format!("G-SIG: {place} has a signature that is not base64"));
        }
        match part.get("text") {
            Some(Value::String(text)) if text.is_empty() && signature.is_none() => {
                found.push(format!("G-PARTS: {place} is an empty text"));
            }
            Some(Value::String(_)) | None => {}
            Some(_) => found.push(format!("G-PARTS: {place} has a text that is none")),
        }
        if let Some(blob) = part.get("inlineData")
            && ["mimeType", "data"].iter().any(|key| is_missing(blob, key))
        {
            found.push(format!("G-BLOB: {place} lacks a type or data"));
        }
        for (key, object) in [("functionCall", "args"), ("functionResponse", "response")] {
            let Some(function) = part.get(key) else {
                continue;
            };
            if !is_name(function.get("name")) {
                found
                    .push(format!("G-NAME: {place}.{key} has the name {:?}", function.get("name")));
            }
            let is_optional = key == "functionCall";
            if !function.get(object).map_or(is_optional, Value::is_object) {
                found.push(format!("G-PARTS: {place}.{key}.{object} is not an object"));
            }
        }
    }
}

fn is_missing(object: &Value, key: &str) -> bool {
    object.get(key).and_then(Value::as_str).is_none_or(str::is_empty)
}

fn check_order(turns: &[Turn<'_>], found: &mut Vec<String>) {
    let nothing: &[&Value] = &[];
    for (at, turn) in turns.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| turns.get(before));
        if !turn.calls.is_empty() {
            if before.is_none_or(|before| before.is_model) {
                found.push(format!("G-CALL-POSITION: contents[{at}] calls, not after the user"));
            }
            match turns.get(at + 1) {
                None => found.push(format!("G-TRAILING-CALL: contents[{at}] is not answered")),
                Some(next) if next.responses.len() != turn.calls.len() => {
                    let (calls, responses) = (turn.calls.len(), next.responses.len());
                    found.push(format!(
                        "G-COUNT: contents[{at}] has {calls} calls and {responses} responses"
                    ));
                }
                Some(next) => check_pairs(at, &turn.calls, &next.responses, found),
            }
        }
        let called = before.map_or(nothing, |before| &before.calls);
        if !turn.responses.is_empty() && called.is_empty() {
            found.push(format!("G-RESPONSE-POSITION: contents[{at}] responds to no call"));
        } else if !turn.is_response_first {
            found.push(format!("G-RESPONSE-POSITION: contents[{at}] has responses behind others"));
        }
    }
    if turns.last().is_some_and(|last| last.is_model && last.calls.is_empty()) {
        found.push("G-ENDS-MODEL: the last content is the model's".to_owned());
    }
    if turns.first().is_some_and(|first| first.is_model && first.calls.is_empty()) {
        found.push("G-ALTERNATE: the first content is the model's".to_owned());
    }
}

/// With ids, every response has the id of its call; without, the order tells.
fn check_pairs(at: usize, calls: &[&Value], responses: &[&Value], found: &mut Vec<String>) {
    let id = |function: &&Value| {
        let id = function.get("id").and_then(Value::as_str).unwrap_or_default();
        (!id.is_empty()).then(|| id.to_owned())
    };
    let called: Vec<_> = calls.iter().map(id).collect();
    let answered: Vec<_> = responses.iter().map(id).collect();
    let given: Vec<_> = called.iter().flatten().collect();
    if given.iter().collect::<BTreeSet<_>>().len() != given.len() {
        found.push(format!("G-ID-MATCH: contents[{at}] has two calls with one id"));
    }
    let (mut sorted, mut expected) = (answered.clone(), called.clone());
    sorted.sort();
    expected.sort();
    if sorted != expected {
        found.push(format!("G-ID-MATCH: contents[{at}] has ids {called:?}, answered {answered:?}"));
        return;
    }
    for (response, answered) in responses.iter().zip(&answered) {
        let same = |(_, called): &(&&Value, &Option<String>)| *called == answered;
        let is_named = |call: &Value| call.get("name") == response.get("name");
        if answered.is_some() && !calls.iter().zip(&called).filter(same).any(|(it, _)| is_named(it))
        {
            found.push(format!("G-ID-MATCH: contents[{at}] is answered under another name"));
        }
    }
    let unnamed = |functions: &[&Value]| {
        let without = functions.iter().filter(|function| id(function).is_none());
        without.map(|function| function.get("name").cloned()).collect::<Vec<_>>()
    };
    if unnamed(calls) != unnamed(responses) {
        found.push(format!("G-ID-MATCH: contents[{at}] is answered in another order"));
    }
}

/// The current turn begins at the last content of the user that is no response.
fn check_signed(turns: &[Turn<'_>], found: &mut Vec<String>) {
    let is_asked = |turn: &Turn<'_>| !turn.is_model && turn.responses.is_empty();
    let start = turns.iter().rposition(is_asked).unwrap_or(0);
    for (at, turn) in turns.iter().enumerate().skip(start) {
        if turn.first_call.is_some_and(|part| part.get("thoughtSignature").is_none()) {
            found.push(format!("G-SIG: the first call of contents[{at}] is not signed"));
        }
    }
}

fn check_tools(body: &Value, found: &mut Vec<String>) {
    let tools = body.get("tools").and_then(Value::as_array).into_iter().flatten();
    let declarations = tools.filter_map(|tool| tool.get("functionDeclarations")?.as_array());
    let mut names = BTreeSet::new();
    for declaration in declarations.flatten() {
        let name = declaration.get("name");
        if !is_name(name) {
            found.push(format!("G-NAME: a tool has the name {name:?}"));
        }
        if !names.insert(name.and_then(Value::as_str)) {
            found.push(format!("G-DUP-DECL: {name:?} is declared twice"));
        }
        for key in ["parameters", "parametersJsonSchema"] {
            let Some(schema) = declaration.get(key) else {
                continue;
            };
            let kind = schema.get("type").map_or(Some("object"), Value::as_str);
            if !schema.is_object() || !kind.is_some_and(|it| it.eq_ignore_ascii_case("object")) {
                found.push(format!("G-SCHEMA: {key} of {name:?} is not of an object"));
            }
            if let Some(combined) = COMBINED.iter().find(|word| schema.get(word).is_some()) {
                found.push(format!("G-SCHEMA: {key} of {name:?} has {combined} at its root"));
            }
        }
    }
}

/// `[A-Za-z_][A-Za-z0-9_.:-]{0,63}`
fn is_name(name: Option<&Value>) -> bool {
    let Some(Value::String(name)) = name else {
        return false;
    };
    let mut chars = name.chars();
    let is_first = chars.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_');
    is_first
        && name.len() <= 64
        && chars.all(|char| char.is_ascii_alphanumeric() || "_.:-".contains(char))
}

fn is_signature(signature: &Value) -> bool {
    let Value::String(text) = signature else {
        return false;
    };
    let is_base64 = |char: char| char.is_ascii_alphanumeric() || "+/-_=".contains(char);
    SENTINELS.contains(&text.as_str()) || (!text.is_empty() && text.chars().all(is_base64))
}

/// From Gemini 3 on, and for the names that always mean the newest.
fn must_sign(model: &str) -> bool {
    model.split("gemini-").skip(1).any(|version| {
        let digits: String = version.chars().take_while(char::is_ascii_digit).collect();
        if digits.is_empty() {
            version.ends_with("-latest")
        } else {
            digits.parse().is_ok_and(|major: u32| 3 <= major)
        }
    })
}
