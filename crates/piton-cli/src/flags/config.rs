//! The flags of `piton config`.

use clap::Args;
use piton_agent::config::Given;
use piton_core::view::Effort;
use serde_json::Value;

use super::query::{Sandbox, Unattended, effort};

/// The flags of `piton config`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct Config {
    /// The setting, with dots between tables: `sandbox.mode`. Without it, shows all
    #[arg(value_name = "KEY")]
    pub(crate) key: Option<String>,
    /// What to set it to in your file
    #[arg(value_name = "VALUE", requires = "key", allow_negative_numbers = true)]
    pub(crate) value: Option<String>,
    /// The value behind `set KEY`
    #[arg(hide = true, requires = "value", allow_negative_numbers = true)]
    third: Option<String>,
    /// Take a setting out of your file
    #[arg(long, value_name = "KEY", conflicts_with = "key")]
    pub(crate) unset: Option<String>,
    /// Print the form of the file as JSON Schema
    #[arg(long, conflicts_with_all = ["key", "unset", "path"])]
    pub(crate) schema: bool,
    /// Print where your file is, or would be
    #[arg(long, conflicts_with_all = ["key", "unset"])]
    pub(crate) path: bool,
    /// One JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
    /// Show what a query with this flag would count; so the others
    #[arg(long, short = 'm', value_name = "MODEL", conflicts_with = "value")]
    pub(crate) model: Option<String>,
    /// The same for the effort
    #[arg(long, value_name = "EFFORT", conflicts_with = "value", value_parser = effort)]
    pub(crate) effort: Option<Effort>,
    /// The same for the length of answers
    #[arg(long, value_name = "N", conflicts_with = "value", allow_negative_numbers = true)]
    pub(crate) max_tokens: Option<u32>,
    /// The same for the sandbox
    #[arg(long, value_name = "MODE", conflicts_with = "value")]
    pub(crate) sandbox: Option<Sandbox>,
    /// The same for the network of confined commands
    #[arg(long, conflicts_with = "value")]
    pub(crate) no_network: bool,
    /// The same for questions while nobody is there
    #[arg(long, value_name = "POLICY", conflicts_with = "value")]
    pub(crate) unattended: Option<Unattended>,
}

/// What is wanted of settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConfigWish<'a> {
    /// Show all.
    All,
    /// Show one, or a table.
    Show(&'a str),
    /// Set one.
    Set(&'a str, &'a str),
    /// Take one out.
    Unset(&'a str),
    /// Nobody knows what.
    Unclear,
}

impl Config {
    /// What is wanted. Other programs have words for it, which are understood here too.
    pub(crate) fn wish(&self) -> ConfigWish<'_> {
        if let Some(key) = &self.unset {
            return ConfigWish::Unset(key);
        }
        let words = [&self.key, &self.value, &self.third].into_iter().flatten();
        let words: Vec<&str> = words.map(String::as_str).collect();
        if matches!(words.as_slice(), ["set" | "unset"] | ["set" | "list", _]) {
            return ConfigWish::Unclear;
        }
        match *words.as_slice() {
            [] | ["list" | "get"] => ConfigWish::All,
            ["unset", key] => ConfigWish::Unset(key),
            [key] | ["get", key] => ConfigWish::Show(key),
            [key, value] | ["set", key, value] => ConfigWish::Set(key, value),
            [..] => ConfigWish::Unclear,
        }
    }

    /// What the flags say of settings.
    pub(crate) fn given(&self) -> Vec<Given> {
        let given = |key, flag, value: Option<Value>| value.map(|value| Given { key, flag, value });
        let effort = self.effort.and_then(|effort| serde_json::to_value(effort).ok());
        let unattended = self.unattended.map(|policy| Value::from(policy.typed()));
        let network = self.no_network.then(|| Value::from(false));
        [
            given("model", "--model", self.model.as_deref().map(Value::from)),
            given("effort", "--effort", effort),
            given("max_tokens", "--max-tokens", self.max_tokens.map(Value::from)),
            given("sandbox.mode", "--sandbox", self.sandbox.map(|mode| Value::from(mode.typed()))),
            given("sandbox.network", "--no-network", network),
            given("unattended.permissions", "--unattended", unattended.clone()),
            given("unattended.questions", "--unattended", unattended),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::flags::{Command, Flags};

    #[test]
    fn words_of_other_programs_are_understood() {
        for (typed, expected) in [
            ("", ConfigWish::All),
            ("list", ConfigWish::All),
            ("model", ConfigWish::Show("model")),
            ("get model", ConfigWish::Show("model")),
            ("model demo", ConfigWish::Set("model", "demo")),
            ("set model demo", ConfigWish::Set("model", "demo")),
            ("set max_tokens -1", ConfigWish::Set("max_tokens", "-1")),
            ("unset model", ConfigWish::Unset("model")),
            ("--unset model", ConfigWish::Unset("model")),
            ("set", ConfigWish::Unclear),
            ("set model", ConfigWish::Unclear),
            ("model a b", ConfigWish::Unclear),
        ] {
            let words = ["piton", "config"].into_iter().chain(typed.split_whitespace());
            let Some(Command::Config(config)) = Flags::try_parse_from(words).unwrap().command
            else {
                unreachable!()
            };
            assert_eq!(config.wish(), expected, "{typed}");
        }
    }
}
