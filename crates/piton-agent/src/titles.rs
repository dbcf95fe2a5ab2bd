//! Where titles of conversations come from, as the settings say it.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::Deserialize;

/// Where titles come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Titles {
    /// The model is asked once, after the first turn.
    Model,
    /// The first words of the first message.
    FirstWords,
}

/// A text that names no source of titles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("titles is one of model, first-words")]
pub struct NoTitles;

impl FromStr for Titles {
    type Err = NoTitles;

    fn from_str(text: &str) -> Result<Self, NoTitles> {
        match text {
            "model" => Ok(Self::Model),
            "first-words" => Ok(Self::FirstWords),
            _ => Err(NoTitles),
        }
    }
}
