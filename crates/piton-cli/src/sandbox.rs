//! What commands may touch, as written in the settings and as typed.
//!
//! Only the user's own settings say it: a repository must not open its own walls.

use std::env;
use std::path::PathBuf;

use clap::ValueEnum;
use piton_core::event::PermissionMode;
use piton_tools::sandbox::{Kernel, Rules, When};
use serde::Deserialize;

use crate::flags::Query;
use crate::output::Output;
use crate::settings::Settings;

/// When commands are confined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SandboxMode {
    /// Never
    Off,
    /// With `--permissions auto`, as well as the kernel can
    #[default]
    Auto,
    /// Always; a command that cannot be confined is not run
    On,
}

/// The table `[sandbox]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WrittenSandbox {
    mode: SandboxMode,
    network: Option<bool>,
    unix_sockets: Option<bool>,
    write: Vec<WrittenPlace>,
    deny_read: Vec<WrittenPlace>,
}

/// A place as written: whole, or from the user's own directory.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
struct WrittenPlace(PathBuf);

impl TryFrom<String> for WrittenPlace {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let place = match text.strip_prefix("~/") {
            Some(rest) => env::var_os("HOME").map(|home| PathBuf::from(home).join(rest)),
            None => Some(PathBuf::from(&text)),
        };
        match place {
            Some(place) if place.is_absolute() => Ok(Self(place)),
            Some(_) | None => Err(format!("`{text}` must begin with / or ~/")),
        }
    }
}

impl WrittenSandbox {
    /// What counts, with what was typed on top.
    pub(crate) fn rules(&self, query: &Query, settings: &Settings) -> Rules {
        let when = match query.sandbox.unwrap_or(self.mode) {
            SandboxMode::Off => When::Never,
            SandboxMode::Auto => When::Unasked,
            SandboxMode::On => When::Always,
        };
        let places = |written: &[WrittenPlace]| -> Vec<_> {
            written.iter().map(|WrittenPlace(place)| place.clone()).collect()
        };
        let mut closed = places(&self.deny_read);
        closed.extend(settings.own_places());
        Rules {
            when,
            network: self.network.unwrap_or(true) && !query.no_network,
            unix_sockets: self.unix_sockets.unwrap_or(true),
            write: places(&self.write),
            closed,
        }
    }
}

/// Says what this kernel cannot hold of what the rules promise to a conversation. It is `unasked` if
/// a policy allows its calls in place of a person.
pub(crate) fn warn(rules: &Rules, mode: PermissionMode, unasked: bool, output: &mut Output) {
    if !rules.apply_to(mode, unasked) {
        return;
    }
    let what = match rules.when {
        When::Never => return,
        When::Unasked => "commands run without all of their sandbox",
        When::Always => "commands are not run",
    };
    for lack in Kernel::ask().lacks(&rules.at(&env::temp_dir())) {
        output.talk(&format!("warning: {what}: {lack}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_understood_or_named() {
        let written: WrittenSandbox =
            toml::from_str("mode = \"on\"\nnetwork = false\nwrite = [\"/cache\"]\n").unwrap();
        assert_eq!(written.mode, SandboxMode::On);
        assert_eq!(written.network, Some(false));
        assert_eq!(written.write, [WrittenPlace("/cache".into())]);
        let fault = |text| toml::from_str::<WrittenSandbox>(text).unwrap_err().to_string();
        assert!(fault("write = [\"cache\"]").contains("must begin with / or ~/"));
        assert!(fault("mode = \"maybe\"").contains("maybe"));
        assert!(fault("read = []").contains("read"));
    }
}
