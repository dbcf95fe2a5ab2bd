//! What commands may touch, as written in the settings and as overridden.
//!
//! Only the user's own settings say it: a repository must not open its own walls.

use std::path::PathBuf;

use piton_core::event::PermissionMode;
use piton_tools::sandbox::{Kernel, Rules, When};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::environment::Environment;

/// When commands are confined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SandboxMode {
    /// Never.
    Off,
    /// In the permission mode `auto`, as well as the kernel can.
    #[default]
    Auto,
    /// Always; a command that cannot be confined is not run.
    On,
}

/// The table `[sandbox]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WrittenSandbox {
    /// When commands are confined.
    #[schemars(extend("x-flag" = "--sandbox"))]
    mode: SandboxMode,
    /// Whether confined commands have a network.
    #[schemars(extend("x-flag" = "--no-network", "default" = true))]
    network: Option<bool>,
    /// Whether confined commands may use sockets of this machine.
    #[schemars(extend("default" = true))]
    unix_sockets: Option<bool>,
    /// Further places that confined commands may write to. They begin with / or ~/.
    #[schemars(extend("default" = []))]
    write: Vec<WrittenPlace>,
    /// Places that confined commands may not read. They begin with / or ~/.
    #[schemars(extend("default" = []))]
    deny_read: Vec<WrittenPlace>,
}

/// A place as written: whole, or from the user's own directory.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
pub(crate) struct WrittenPlace(String);

impl TryFrom<String> for WrittenPlace {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if text.starts_with('/') || text.starts_with("~/") {
            return Ok(Self(text));
        }
        Err(format!("`{text}` must begin with / or ~/"))
    }
}

impl WrittenPlace {
    pub(crate) fn resolve(&self, environment: &Environment) -> Result<PathBuf, String> {
        let Some(rest) = self.0.strip_prefix("~/") else { return Ok(PathBuf::from(&self.0)) };
        let place = environment.user_directory().map(|directory| directory.join(rest));
        place
            .filter(|place| place.is_absolute())
            .ok_or_else(|| format!("`{}`: HOME names no directory; begin with /", self.0))
    }
}

/// What commands may touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sandbox {
    mode: SandboxMode,
    network: Option<bool>,
    unix_sockets: Option<bool>,
    write: Vec<PathBuf>,
    deny_read: Vec<PathBuf>,
}

impl Sandbox {
    /// What the settings mean in an environment.
    pub(crate) fn new(written: &WrittenSandbox, environment: &Environment) -> Result<Self, String> {
        let places = |places: &[WrittenPlace]| -> Result<Vec<_>, String> {
            places.iter().map(|place| place.resolve(environment)).collect()
        };
        Ok(Self {
            mode: written.mode,
            network: written.network,
            unix_sockets: written.unix_sockets,
            write: places(&written.write)?,
            deny_read: places(&written.deny_read)?,
        })
    }

    /// The rules for commands. A mode that is given counts before that of the settings; nobody can
    /// read what is in `own_places`.
    pub(crate) fn rules(
        &self,
        mode: Option<SandboxMode>,
        no_network: bool,
        own_places: Vec<PathBuf>,
    ) -> Rules {
        let when = match mode.unwrap_or(self.mode) {
            SandboxMode::Off => When::Never,
            SandboxMode::Auto => When::Unasked,
            SandboxMode::On => When::Always,
        };
        let mut closed = self.deny_read.clone();
        closed.extend(own_places);
        Rules {
            when,
            network: self.network.unwrap_or(true) && !no_network,
            unix_sockets: self.unix_sockets.unwrap_or(true),
            write: self.write.clone(),
            closed,
        }
    }
}

/// What this kernel cannot hold of what the rules promise to a conversation, a line each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SandboxGap {
    /// Commands run, without all of their sandbox.
    Weaker(String),
    /// Commands are not run.
    NotRun(String),
}

/// Looks for gaps. The conversation is `unasked` if a policy allows its calls in place of a person.
pub(crate) fn gaps(
    rules: &Rules,
    mode: PermissionMode,
    unasked: bool,
    environment: &Environment,
) -> Vec<SandboxGap> {
    let gap = match rules.when {
        _ if !rules.apply_to(mode, unasked) => return Vec::new(),
        When::Never => return Vec::new(),
        When::Unasked => SandboxGap::Weaker,
        When::Always => SandboxGap::NotRun,
    };
    let lacks = Kernel::ask().lacks(&rules.at(environment.temporary()));
    lacks.into_iter().map(gap).collect()
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

    #[test]
    fn a_place_from_the_users_own_directory_needs_one() {
        let written: WrittenSandbox = toml::from_str("deny_read = [\"~/.ssh\"]\n").unwrap();
        let home = |home: &str| Environment::new("/".into(), [("HOME".into(), home.into())]);
        let sandbox = Sandbox::new(&written, &home("/me")).unwrap();
        assert_eq!(sandbox.deny_read, [PathBuf::from("/me/.ssh")]);
        for nowhere in [home(""), Environment::new("/".into(), [])] {
            let fault = Sandbox::new(&written, &nowhere).unwrap_err();
            assert!(fault.starts_with("`~/.ssh`: HOME names no directory"), "{fault}");
        }
    }
}
