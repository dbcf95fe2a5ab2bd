//! The page on commands has every command and every reply, as they are read and written.

use piton_core::command::{Command, Envelope, Opened, Reply};
use serde::Serialize;
use serde::de::DeserializeOwned;

const PAGE: &str = include_str!("../../../../docs/commands.md");

/// All kinds that a type can be read from: its reader names them when it meets another one.
fn kinds<T: DeserializeOwned + std::fmt::Debug>() -> Vec<String> {
    let unknown = serde_json::from_str::<T>(r#"{"kind":"?"}"#).unwrap_err().to_string();
    let known = unknown.split_once("expected one of").unwrap().1;
    known.split('`').skip(1).step_by(2).map(ToOwned::to_owned).collect()
}

/// The lines of the page's examples that begin so.
fn examples(beginning: &str) -> Vec<&'static str> {
    let blocks = PAGE.split("```json\n").skip(1);
    let lines = blocks.flat_map(|block| block.split("```").next().unwrap().lines());
    lines.filter(|line| line.starts_with(beginning)).collect()
}

fn kind(value: &impl Serialize) -> String {
    serde_json::to_value(value).unwrap()["kind"].as_str().unwrap().to_owned()
}

fn assert_every_kind_is_there<T: DeserializeOwned + std::fmt::Debug>(mut shown: Vec<String>) {
    let mut known = kinds::<T>();
    assert!(!known.is_empty());
    for kind in &known {
        assert!(PAGE.contains(&format!("\n| `{kind}` |")), "docs/commands.md has no row of {kind}");
    }
    known.sort();
    shown.sort();
    shown.dedup();
    assert_eq!(shown, known, "an example of each in docs/commands.md");
}

#[test]
fn the_page_on_commands_has_each_of_them_as_it_is_written() {
    let read = |text: &&str| {
        let Ok(Opened::Command(envelope)) = Envelope::from_text(text) else { panic!("{text}") };
        assert_eq!(envelope.to_text().as_deref(), Some(*text));
        kind(&envelope.command)
    };
    assert_every_kind_is_there::<Command>(examples(r#"{"v":"#).iter().map(read).collect());
}

#[test]
fn the_page_on_commands_has_each_reply_as_it_is_written() {
    let read = |text: &&str| {
        let reply: Reply = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&reply).unwrap(), *text);
        kind(&reply)
    };
    assert_every_kind_is_there::<Reply>(examples(r#"{"kind":"#).iter().map(read).collect());
}
