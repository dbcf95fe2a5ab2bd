//! What commands may touch, as written in the settings and as overridden.
//!
//! Only the user's own settings say it: a repository must not open its own walls.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use piton_core::event::{Grants, PermissionMode};
use piton_core::permit::grants;
use piton_core::permit::host::EVERYWHERE;
use piton_core::permit::obeyed::OF_USER;
use piton_tools::sandbox::{Kernel, Limits, Openings, Rules, When, WrittenPlace};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::environment::Environment;

/// When commands are confined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SandboxMode {
    /// Never.
    Off,
    /// What nobody approved word for word, as well as the kernel can.
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
    /// The network of confined commands: none, all of it, or hosts with their ports (`["crates.io:443"]`).
    #[schemars(schema_with = "network_form", extend("x-flag" = "--no-network", "default" = false))]
    network: Option<WrittenNetwork>,
    /// Whether confined commands may use sockets of this machine. Services behind them act outside.
    #[schemars(extend("default" = false))]
    unix_sockets: Option<bool>,
    /// Further places that confined commands may write to. They begin with / or ~/.
    #[schemars(extend("default" = []))]
    write: Vec<WrittenPlace>,
    /// Places that confined commands may not read. They begin with / or ~/.
    #[schemars(extend("default" = []))]
    deny_read: Vec<WrittenPlace>,
    /// Places that are closed to confined commands by themselves, such as `~/.ssh`, and are to be read.
    #[schemars(extend("default" = []))]
    read: Vec<WrittenPlace>,
    /// What confined commands do not change, and tools for files only after a question, beside what is known by
    /// itself: names in a workspace, such as `.husky`, or whole places, which begin with / or ~/.
    #[schemars(extend("default" = []))]
    protect: Vec<WrittenName>,
    /// Variables that confined commands see although their names are those of secrets or services.
    #[schemars(extend("default" = []))]
    env: Vec<String>,
    /// Most processes of confined commands at once, where a cgroup or a namespace of users can be made; 0 is no limit.
    #[schemars(extend("default" = PROCESSES_DEFAULT))]
    processes: Option<u64>,
    /// Most memory, in megabytes: of confined commands together where a cgroup can be made, and of each of their processes; 0 is no limit.
    #[schemars(extend("default" = 0))]
    memory_mb: Option<u64>,
    /// Largest file that confined commands write, in megabytes; 0 is no limit.
    #[schemars(extend("default" = FILE_MB_DEFAULT))]
    file_mb: Option<u64>,
    /// Most files that a process of theirs has open; 0 leaves it as it is.
    #[schemars(extend("default" = 0))]
    open_files: Option<u64>,
}

/// Most processes of confined commands, unless the settings say otherwise: more than any build starts.
const PROCESSES_DEFAULT: u64 = 4_096;
/// Largest file that they write, in megabytes, unless the settings say otherwise: what fills a disk.
const FILE_MB_DEFAULT: u64 = 16 * 1_024;
/// A megabyte, in bytes.
const MB: u64 = 1 << 20;
/// The network of confined commands, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
enum WrittenNetwork {
    /// All of it, or none.
    All(bool),
    /// These hosts.
    Hosts(Vec<String>),
}

impl<'de> Deserialize<'de> for WrittenNetwork {
    fn deserialize<D: Deserializer<'de>>(field: D) -> Result<Self, D::Error> {
        field.deserialize_any(NetworkVisitor)
    }
}

fn network_form(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["boolean", "array"], "items": { "type": "string" } })
}

struct NetworkVisitor;

impl<'de> Visitor<'de> for NetworkVisitor {
    type Value = WrittenNetwork;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("true, false or a list of hosts with their ports, such as [\"crates.io:443\"]")
    }

    fn visit_bool<E: de::Error>(self, all: bool) -> Result<Self::Value, E> {
        Ok(WrittenNetwork::All(all))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut network = Vec::new();
        while let Some(host) = entries.next_element()? {
            network.push(host);
        }
        let grants = Grants { network, ..Grants::default() };
        match grants::fault(&grants) {
            Some(fault) => Err(de::Error::custom(fault)),
            None => Ok(WrittenNetwork::Hosts(grants.network)),
        }
    }
}

/// Places in the user's own directory that no confined command reads: keys, accounts, browsers, mail, what was typed
/// into shells, and what other agents keep.
const CLOSED: [&str; 64] = [
    ".Xauthority",
    ".anthropic",
    ".aws",
    ".azure",
    ".bash_history",
    ".bitcoin",
    ".boto",
    ".claude",
    ".claude.json",
    ".codex",
    ".config/BraveSoftware",
    ".config/Signal",
    ".config/Slack",
    ".config/chromium",
    ".config/doctl",
    ".config/gcloud",
    ".config/gh",
    ".config/github-copilot",
    ".config/glab-cli",
    ".config/google-chrome",
    ".config/goose",
    ".config/hcloud",
    ".config/hub",
    ".config/keepassxc",
    ".config/microsoft-edge",
    ".config/op",
    ".config/opencode",
    ".config/opera",
    ".config/rclone",
    ".config/sops",
    ".config/vivaldi",
    ".continue",
    ".cursor",
    ".fetchmailrc",
    ".fly",
    ".gemini",
    ".git-credentials",
    ".gnupg",
    ".kaggle",
    ".kube",
    ".librewolf",
    ".local/share/keyrings",
    ".local/share/opencode",
    ".mbsyncrc",
    ".mozilla",
    ".msmtprc",
    ".my.cnf",
    ".netrc",
    ".npmrc",
    ".oci",
    ".openai",
    ".password-store",
    ".pgpass",
    ".pi",
    ".pypirc",
    ".qwen",
    ".s3cfg",
    ".ssh",
    ".thunderbird",
    ".var/app/org.mozilla.firefox",
    ".vault-token",
    ".zsh_history",
    "snap/chromium",
    "snap/firefox",
];

/// The same, where it is a file in a directory with other uses.
const FILES: [&str; 11] = [
    ".cache/huggingface/token",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".composer/auth.json",
    ".config/composer/auth.json",
    ".config/containers/auth.json",
    ".config/git/credentials",
    ".docker/config.json",
    ".gem/credentials",
    ".huggingface/token",
    ".terraform.d/credentials.tfrc.json",
];

impl WrittenSandbox {
    fn limits(&self) -> Limits {
        let limit = |written: Option<u64>, usual: u64, unit: u64| {
            let most = written.unwrap_or(usual).saturating_mul(unit);
            Some(most).filter(|most| *most != 0)
        };
        Limits {
            processes: limit(self.processes, PROCESSES_DEFAULT, 1),
            memory_bytes: limit(self.memory_mb, 0, MB),
            file_bytes: limit(self.file_mb, FILE_MB_DEFAULT, MB),
            open_files: limit(self.open_files, 0, 1),
        }
    }

    /// What counts for one program, to which more is open.
    pub(crate) fn opening(&self, more: &Openings) -> Self {
        let mut all = self.clone();
        let Openings { network, unix_sockets, write, read, env } = more;
        all.network = network.map(WrittenNetwork::All).or(all.network);
        all.unix_sockets = unix_sockets.or(all.unix_sockets);
        all.write.extend(write.iter().cloned());
        all.read.extend(read.iter().cloned());
        all.env.extend(env.iter().cloned());
        all
    }
}

/// A name in a workspace, or a place as written.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
pub(crate) struct WrittenName(String);

impl TryFrom<String> for WrittenName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let mut parts = Path::new(&text).components();
        if text.trim().is_empty() || parts.any(|part| part == Component::ParentDir) {
            return Err(format!("`{text}` is no name in a workspace: name it without .."));
        }
        Ok(Self(text))
    }
}

impl WrittenName {
    fn resolve(&self, environment: &Environment) -> Result<PathBuf, String> {
        let WrittenName(text) = self;
        if text.starts_with("~/") {
            return WrittenPlace::try_from(text.clone())?.resolve(environment.user_directory());
        }
        Ok(PathBuf::from(text))
    }
}

/// What commands may touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sandbox {
    mode: SandboxMode,
    network: bool,
    hosts: Vec<String>,
    unix_sockets: Option<bool>,
    home: Option<PathBuf>,
    /// The same in the words of grants.
    opened: Grants,
    write: Vec<PathBuf>,
    deny_read: Vec<PathBuf>,
    unread: Vec<PathBuf>,
    protect: Vec<PathBuf>,
    env: Vec<String>,
    limits: Limits,
}

impl Sandbox {
    /// What the settings mean in an environment.
    pub(crate) fn new(written: &WrittenSandbox, environment: &Environment) -> Result<Self, String> {
        let places = |places: &[WrittenPlace]| -> Result<Vec<_>, String> {
            places.iter().map(|place| place.resolve(environment.user_directory())).collect()
        };
        let (write, read) = (places(&written.write)?, places(&written.read)?);
        let (mut deny_read, mut unread) = (places(&written.deny_read)?, Vec::new());
        let protect = written.protect.iter().map(|name| name.resolve(environment));
        let own = environment.user_directory().filter(|own| own.is_absolute());
        let home = own.map(|own| own.canonicalize().unwrap_or_else(|_| own.to_owned()));
        let closed = own
            .into_iter()
            .flat_map(|own| CLOSED.iter().chain(&FILES).map(|place| own.join(place)));
        for place in closed {
            let mut opened = write.iter().chain(&read);
            if let Some(within) = opened.clone().find(|it| **it != place && it.starts_with(&place))
            {
                let (within, place) = (within.display(), place.display());
                return Err(format!(
                    "`{within}` lies in `{place}`, which is closed as a whole: name `{place}` to \
                     open all of it"
                ));
            }
            // What lies in a place that is opened stays closed, unless it is named itself. Beside a file that can
            // neither be read nor written nothing new could be made, so such a file can be written.
            let is_beside = FILES.iter().any(|file| place.ends_with(file))
                && write.iter().any(|it| place.parent() == Some(it));
            if is_beside {
                unread.push(place);
            } else if !opened.any(|it| *it == place) {
                deny_read.push(place);
            }
        }
        let (network, hosts) = match &written.network {
            None | Some(WrittenNetwork::All(false)) => (false, Vec::new()),
            Some(WrittenNetwork::All(true)) => (true, Vec::new()),
            Some(WrittenNetwork::Hosts(hosts)) => (false, hosts.clone()),
        };
        Ok(Self {
            mode: written.mode,
            network,
            hosts,
            unix_sockets: written.unix_sockets,
            home,
            opened: opened(written),
            write,
            deny_read,
            unread,
            protect: protect.collect::<Result<_, _>>()?,
            env: written.env.clone(),
            limits: written.limits(),
        })
    }

    /// What the settings open for every command: everything, where there is to be no sandbox. A mode that is
    /// given counts before that of the settings.
    pub(crate) fn opened(&self, mode: Option<SandboxMode>) -> Grants {
        if mode.unwrap_or(self.mode) != SandboxMode::Off {
            return self.opened.clone();
        }
        let (all, root) = (|| vec![EVERYWHERE.to_owned()], || vec!["/".to_owned()]);
        let env = self.opened.env.clone();
        Grants { network: all(), sockets: all(), write: root(), read: root(), env, devices: root() }
    }

    /// What others obey beside what is known by itself: what the settings name, and the user's own files, if they
    /// lie in the workspace.
    pub(crate) fn protected(&self, workspace: &Path) -> Vec<String> {
        let own = self.home.as_ref().filter(|own| own.starts_with(workspace));
        let of_user = own.into_iter().flat_map(|own| OF_USER.map(|name| own.join(name)));
        let places = self.protect.iter().cloned().chain(of_user);
        places.map(|place| place.to_string_lossy().into_owned()).collect()
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
            SandboxMode::Auto => When::Unapproved,
            SandboxMode::On => When::Always,
        };
        let mut closed = self.deny_read.clone();
        closed.extend(own_places.iter().cloned());
        Rules {
            when,
            network: self.network && !no_network,
            hosts: self.hosts.clone(),
            barred: no_network,
            own: own_places,
            home: self.home.clone(),
            unix_sockets: self.unix_sockets.unwrap_or(false),
            write: self.write.clone(),
            closed,
            unread: self.unread.clone(),
            protect: self.protect.clone(),
            env: self.env.clone(),
            limits: self.limits,
        }
    }
}

/// What the settings open, in the words of grants: a call need not ask for it.
fn opened(written: &WrittenSandbox) -> Grants {
    let all = || vec![EVERYWHERE.to_owned()];
    let entries =
        |places: &[WrittenPlace]| places.iter().map(|place| place.text().to_owned()).collect();
    let is_open = written.unix_sockets == Some(true);
    Grants {
        network: match &written.network {
            None | Some(WrittenNetwork::All(false)) => Vec::new(),
            Some(WrittenNetwork::All(true)) => all(),
            Some(WrittenNetwork::Hosts(hosts)) => hosts.clone(),
        },
        sockets: if is_open { all() } else { Vec::new() },
        write: entries(&written.write),
        read: entries(&written.read),
        env: written.env.clone(),
        devices: Vec::new(),
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
        When::Never => return Vec::new(),
        // Elsewhere a person is asked, or a rule with a wildcard asks where there is no wall.
        When::Unapproved if !(unasked || mode == PermissionMode::Auto) => return Vec::new(),
        When::Unapproved => SandboxGap::Weaker,
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
        assert_eq!(written.network, Some(WrittenNetwork::All(false)));
        let listed: WrittenSandbox = toml::from_str("network = [\"crates.io:443\"]\n").unwrap();
        assert_eq!(listed.network, Some(WrittenNetwork::Hosts(vec!["crates.io:443".into()])));
        assert_eq!(written.write, [place("/cache")]);
        let fault = |text| toml::from_str::<WrittenSandbox>(text).unwrap_err().to_string();
        assert!(fault("write = [\"cache\"]").contains("must begin with / or ~/"));
        assert!(fault("network = [\"crates.io\"]").contains("no port"));
        assert!(fault("network = 1").contains("true, false or a list of hosts"));
        assert!(fault("mode = \"maybe\"").contains("maybe"));
        assert!(fault("reads = []").contains("reads"));
        assert!(fault("protect = [\"../x\"]").contains("without .."));
        let written: WrittenSandbox = toml::from_str("protect = [\".husky\", \"~/x\"]\n").unwrap();
        let home = Environment::new("/".into(), [("HOME".into(), "/me".into())]);
        let protected = Sandbox::new(&written, &home).unwrap().protect;
        assert_eq!(protected, [PathBuf::from(".husky"), PathBuf::from("/me/x")]);
    }

    fn place(text: &str) -> WrittenPlace {
        text.to_owned().try_into().unwrap()
    }

    #[test]
    fn to_one_program_more_is_open_than_to_all() {
        let written: WrittenSandbox =
            toml::from_str("network = true\nwrite = [\"/a\"]\nenv = [\"A\"]\n").unwrap();
        let more = Openings {
            network: Some(false),
            write: vec![place("/b")],
            read: vec![place("~/.ssh")],
            ..Openings::default()
        };
        let home = Environment::new("/".into(), [("HOME".into(), "/me".into())]);
        let rules = |written: &WrittenSandbox| {
            let sandbox = Sandbox::new(written, &home).unwrap();
            sandbox.rules(None, false, vec!["/own".into()])
        };
        let (all, one) = (rules(&written), rules(&written.opening(&more)));
        assert_eq!((all.network, one.network), (true, false));
        assert_eq!(one.write, [PathBuf::from("/a"), "/b".into()]);
        assert_eq!(one.env, ["A"]);
        let closes = |rules: &Rules, place: &str| rules.closed.contains(&PathBuf::from(place));
        assert!(closes(&all, "/me/.ssh") && !closes(&one, "/me/.ssh") && closes(&one, "/own"));
    }

    #[test]
    fn limits_have_usual_values_and_0_is_none() {
        let limits = |text: &str| toml::from_str::<WrittenSandbox>(text).unwrap().limits();
        let (processes, file_bytes) = (Some(4_096), Some(16 << 30));
        let usual = Limits { processes, file_bytes, ..Limits::default() };
        assert_eq!(limits(""), usual);
        assert!(limits("processes = 0\nfile_mb = 0\n").is_empty());
        let set = Limits { memory_bytes: Some(2 << 20), open_files: Some(9), ..usual };
        assert_eq!(limits("memory_mb = 2\nopen_files = 9\n"), set);
    }

    #[test]
    fn keys_and_accounts_are_closed_unless_they_are_opened() {
        let sandbox = |settings: &str| {
            let written: WrittenSandbox = toml::from_str(settings).unwrap();
            let home = Environment::new("/".into(), [("HOME".into(), "/me".into())]);
            Sandbox::new(&written, &home).unwrap()
        };
        let closed = |settings: &str| sandbox(settings).deny_read;
        let ssh = PathBuf::from("/me/.ssh");
        assert!(closed("").contains(&ssh) && closed("").contains(&"/me/.aws".into()));
        for place in [".npmrc", ".config/git/credentials", ".claude.json", ".bash_history"] {
            assert!(closed("").contains(&Path::new("/me").join(place)), "{place}");
        }
        for opened in ["read = [\"~/.ssh\"]", "write = [\"~/.ssh\"]"] {
            assert!(!closed(opened).contains(&ssh), "{opened}");
        }
        // Beside it something new can be made, and it cannot be read.
        let cargo = sandbox("write = [\"~/.cargo\"]");
        let credentials = "/me/.cargo/credentials.toml".into();
        assert!(!cargo.deny_read.contains(&credentials) && cargo.unread.contains(&credentials));
        let written: WrittenSandbox = toml::from_str("read = [\"~/.ssh/config\"]").unwrap();
        let home = Environment::new("/".into(), [("HOME".into(), "/me".into())]);
        let fault = Sandbox::new(&written, &home).unwrap_err();
        assert!(fault.contains("closed as a whole"), "{fault}");
    }
}
