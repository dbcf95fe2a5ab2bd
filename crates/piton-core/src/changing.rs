//! What a person can change of a call before it runs: its command line, or all its arguments.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::event::ToolSpec;
use crate::permit::command_argument;

/// What can be changed: the command line of a tool that runs one, else the arguments as JSON.
pub fn text(tool: &ToolSpec, arguments: &str) -> String {
    let fields: Map<String, Value> = serde_json::from_str(arguments).unwrap_or_default();
    let line = command_argument(tool).and_then(|name| fields.get(name)).and_then(Value::as_str);
    line.unwrap_or(arguments).to_owned()
}

/// The arguments with another such text; an error says what would be understood.
pub fn arguments(tool: &ToolSpec, arguments: &str, text: &str) -> Result<Arc<str>, String> {
    let read = |text| serde_json::from_str::<Map<String, Value>>(text);
    let mut fields = read(arguments).unwrap_or_default();
    let line =
        command_argument(tool).filter(|name| fields.get(*name).is_some_and(Value::is_string));
    match line {
        Some(_) if text.trim().is_empty() => return Err("the command is empty".into()),
        Some(name) => drop(fields.insert(name.to_owned(), text.into())),
        None => {
            fields = read(text)
                .map_err(|error| format!("the arguments of a call are a JSON object ({error})"))?;
        }
    }
    Ok(Value::Object(fields).to_string().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::EffectClass;

    fn check(tool: &str, before: &str, typed: &str, after: Result<&str, &str>) {
        let tool = ToolSpec::new(tool, "", "{}", EffectClass::Once);
        let changed = arguments(&tool, before, typed);
        let begins = |error: &String| after.err().is_some_and(|after| error.starts_with(after));
        match &changed {
            Ok(changed) => assert_eq!(Ok(&**changed), after),
            Err(error) => assert!(begins(error), "{error}"),
        }
    }

    #[test]
    fn a_command_line_is_changed_alone_and_other_arguments_as_json() {
        let shell = r#"{"command":"rm a","dir":"b"}"#;
        check("shell", shell, "rm c", Ok(r#"{"command":"rm c","dir":"b"}"#));
        check("shell", shell, " ", Err("the command is empty"));
        check("pay", r#"{"to":"a"}"#, r#"{"to": "b"}"#, Ok(r#"{"to":"b"}"#));
        check("pay", r#"{"to":"a"}"#, "b", Err("the arguments of a call are a JSON object"));
        let spec = ToolSpec::new("shell", "", "{}", EffectClass::Once);
        assert_eq!(text(&spec, shell), "rm a");
        let spec = ToolSpec::new("pay", "", "{}", EffectClass::Once);
        assert_eq!(text(&spec, r#"{"to":"a"}"#), r#"{"to":"a"}"#);
    }
}
