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

impl Config {
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
