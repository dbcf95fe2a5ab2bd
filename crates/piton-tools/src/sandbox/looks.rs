//! What a command sees that only looks: few places, few variables, and a git that obeys no repository.
//!
//! The wall holds without any of the variables here. They keep git from trying what the wall refuses, and
//! from starting programs that the settings of a repository name. No variable turns off an external diff
//! (an empty name is taken for a program), nor drivers and filters that attributes of a repository choose,
//! because their names are its own. They may start, behind the wall, where they change nothing and reach
//! nobody.

pub(super) mod worktree;

use std::path::{Path, PathBuf};
use std::process::Command;

use piton_core::permit::{SYSTEM_FILES, SYSTEM_PROGRAMS};

use super::policy::Looks;

/// Where programs are looked for: where the wall lets them run. A `PATH` of the user may lead into the
/// workspace.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:\
                    /run/current-system/sw/bin";

/// Variables that go through: language, time zone, and whose command it is.
const KEPT: [&str; 11] = [
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_COLLATE",
    "LC_CTYPE",
    "LC_MESSAGES",
    "LC_NUMERIC",
    "LC_TIME",
    "LOGNAME",
    "TZ",
    "USER",
];

/// Variables for git: take no lock, read no settings of the user, ask nobody, fetch nothing.
const GIT: [(&str, &str); 8] = [
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_ASKPASS", "false"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_EDITOR", "false"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_SSH_COMMAND", "false"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// Settings that win over those of a repository. Whose repository it is does not matter behind the wall.
const GIT_SETTINGS: [(&str, &str); 15] = [
    ("core.alternateRefsCommand", "false"),
    ("core.askPass", "false"),
    ("core.attributesFile", "/dev/null"),
    ("core.editor", "false"),
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("core.sshCommand", "false"),
    ("credential.helper", ""),
    ("gpg.program", "false"),
    ("gpg.ssh.program", "false"),
    ("gpg.x509.program", "false"),
    ("log.showSignature", "false"),
    ("protocol.allow", "never"),
    ("safe.directory", "*"),
];

/// The places that such a command reads, each as it is behind its links.
pub(super) fn reading(workspace: &Path, added: &[String]) -> Looks {
    let real = |place: &&str| Path::new(place).canonicalize().ok();
    let mut programs: Vec<PathBuf> = Vec::new();
    for place in SYSTEM_PROGRAMS.iter().filter_map(real) {
        if !programs.iter().any(|known| place.starts_with(known)) {
            programs.push(place);
        }
    }
    let mut read = vec![workspace.to_owned()];
    // Recorded without links: what is one by now opens nothing when the wall is built.
    read.extend(added.iter().map(PathBuf::from).filter(|added| added.is_absolute()));
    read.extend(worktree::repository(workspace));
    for place in SYSTEM_FILES.iter().filter_map(real) {
        if !programs.iter().any(|known| place.starts_with(known)) {
            read.push(place);
        }
    }
    Looks { read, programs }
}

/// Gives a command that only looks the variables that it may see.
pub(super) fn set_variables(command: &mut Command) {
    let kept = KEPT.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
    command.env_clear().env("PATH", PATH).envs(kept).envs(GIT);
    command.env("GIT_CONFIG_COUNT", GIT_SETTINGS.len().to_string());
    for (number, (key, value)) in GIT_SETTINGS.iter().enumerate() {
        command.env(format!("GIT_CONFIG_KEY_{number}"), key);
        command.env(format!("GIT_CONFIG_VALUE_{number}"), value);
    }
}
