//! What a workspace brings along for an agent, what of it counts, and what a person would open by trusting it.
//!
//! Only looks: nothing that is found here is started, and no rule, mode or address is ever read.

use std::fmt::Write as _;
use std::path::Path;

use piton_mcp::{Launch, PROJECT_FILE, Project, ServerSettings};
use sha2::{Digest as _, Sha256};

use crate::agent::Agent;
use crate::custom_commands;
use crate::mcp::CodeInWords;
use crate::skills::Skills;
use crate::trust::{Exact, Given, Reading, Trust, TrustFault, relative};

/// Files in which agents keep settings with a project. None of them is read, whatever is trusted: rules, modes,
/// hooks and addresses come from the user's own settings only.
const NEVER_READ: [&str; 12] = [
    "piton.toml",
    ".piton/piton.toml",
    ".piton/settings.toml",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".codex/config.toml",
    ".gemini/settings.json",
    ".cursor/mcp.json",
    ".vscode/mcp.json",
    ".qwen/settings.json",
    "opencode.json",
    ".opencode/opencode.json",
];

/// What is said of a server whose words hold code.
const UNTOLD: &str =
    "made of more than can be told: its words hold code, so it runs in the sandbox only";

/// What a workspace brings.
#[derive(Clone, Debug)]
pub struct Brought {
    /// Skills, commands and servers of tools, in this order.
    pub offers: Vec<Offered>,
    /// Settings of agents that are there and that nothing reads.
    pub never_read: Vec<&'static str>,
    /// What is trusted.
    pub trust: Trust,
    /// Why nothing of it is trusted, if that cannot be read.
    pub fault: Option<String>,
}

/// Something that a workspace brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offered {
    /// What it is.
    pub kind: OfferedKind,
    /// Its name.
    pub name: String,
    /// Its file or folder, from the workspace.
    pub path: String,
    /// What it starts or asks, in words; nothing for what is only read.
    pub opens: Vec<String>,
    /// The files that are approved by their exact bytes before it counts.
    pub exact: Vec<Exact>,
    /// Whether it counts.
    pub state: OfferedState,
}

/// What a workspace can bring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OfferedKind {
    /// A skill, which the model can read.
    Skill,
    /// A command, which a person types.
    Command,
    /// A server of tools.
    Server,
}

/// Whether something counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfferedState {
    /// It counts.
    Counts,
    /// Nobody has trusted it.
    NotTrusted,
    /// It was approved, and has changed since.
    Changed,
}

impl Agent {
    /// What a workspace brings, as it is now.
    pub fn brings(&self, workspace: &Path) -> Brought {
        let (settings, mut reading) = (self.settings(), Reading::new());
        let (trust, fault) = match settings.trust_in(workspace) {
            Ok(trust) => (trust, None),
            Err(fault) => (Trust::nothing(workspace.to_owned()), Some(with_source(&fault))),
        };
        let mut offers: Vec<Offered> = Skills::of_workspace(settings, workspace)
            .all
            .into_iter()
            .map(|skill| Offered {
                kind: OfferedKind::Skill,
                path: shown(&skill.directory, workspace),
                name: skill.name,
                opens: Vec::new(),
                exact: Vec::new(),
                state: OfferedState::NotTrusted,
            })
            .collect();
        let commands = custom_commands::of_workspace(settings, workspace).into_values();
        offers.extend(commands.map(|command| {
            let (lines, exact) = command.starts(settings, &mut reading).unwrap_or_default();
            Offered {
                kind: OfferedKind::Command,
                path: shown(&command.path, workspace),
                name: command.name,
                opens: lines.into_iter().map(|line| format!("runs {line}")).collect(),
                exact,
                state: OfferedState::NotTrusted,
            }
        }));
        offers.extend(self.servers_of(workspace, &mut reading));
        for offered in &mut offers {
            offered.state = offered.state_with(&trust);
        }
        let never_read = NEVER_READ.iter().copied();
        let never_read = never_read.filter(|path| workspace.join(path).is_file()).collect();
        Brought { offers, never_read, trust, fault }
    }

    /// Trusts a workspace with what it was seen to bring, and with nothing that came since.
    pub fn trust(&self, workspace: &Path, brought: &Brought, at_ms: u64) -> Result<(), TrustFault> {
        let by = self.settings().environment.text("USER").unwrap_or_else(|| "this user".into());
        let exact: Vec<Exact> =
            brought.offers.iter().flat_map(|offered| offered.exact.iter().cloned()).collect();
        self.settings().give_trust(workspace, Given { by, at_ms }, &exact)
    }

    fn servers_of(&self, workspace: &Path, reading: &mut Reading) -> Vec<Offered> {
        // A file that makes no sense starts nothing; a turn and `piton mcp` say what is wrong with it.
        let Ok(Some(project)) = Project::read(workspace) else { return Vec::new() };
        let exact = self.exact_of_servers(workspace, &project, reading);
        let with_code = self.code_in_words(&project);
        let servers = self.project_servers(&project).into_iter();
        // The user's own word counts.
        let servers = servers.filter(|server| !self.mcp.contains_key(&server.name));
        let offered = servers.map(|server| Offered {
            kind: OfferedKind::Server,
            path: PROJECT_FILE.to_owned(),
            opens: opens(&server, &project, &with_code),
            name: server.name,
            exact: exact.clone(),
            state: OfferedState::NotTrusted,
        });
        offered.collect()
    }
}

impl Brought {
    /// What does not count.
    pub fn not_counting(&self) -> impl Iterator<Item = &Offered> {
        self.offers.iter().filter(|offered| offered.state != OfferedState::Counts)
    }

    /// Whether there is nothing to ask a person: all of it counts, or they have said that it should not.
    pub fn is_settled(&self) -> bool {
        let declined = self.trust.declined.as_deref();
        self.not_counting().next().is_none() || declined == Some(self.about().as_str())
    }

    /// A digest of what does not count, so that a person is asked about the same things once. The text of what
    /// starts nothing may change: it is trusted with its workspace.
    pub fn about(&self) -> String {
        let mut hash = Sha256::new();
        for Offered { kind, name, path, exact, .. } in self.not_counting() {
            hash.update(format!("{kind:?} {name:?} {path:?} {exact:?}\n"));
        }
        hash.finalize().iter().fold(String::new(), |mut hex, byte| {
            write!(hex, "{byte:02x}").unwrap_or_default();
            hex
        })
    }

    /// Kinds and names, for a line.
    pub fn in_words<'a>(offers: impl Iterator<Item = &'a Offered>) -> Vec<String> {
        let all: Vec<&Offered> = offers.collect();
        let kinds = [OfferedKind::Skill, OfferedKind::Command, OfferedKind::Server];
        let words = kinds.into_iter().filter_map(|kind| {
            let names = all.iter().filter(|offered| offered.kind == kind);
            let names: Vec<&str> = names.map(|offered| offered.name.as_str()).collect();
            (!names.is_empty()).then(|| format!("{} {}", kind.plural(), names.join(", ")))
        });
        words.collect()
    }
}

impl OfferedKind {
    fn plural(self) -> &'static str {
        match self {
            Self::Skill => "skills",
            Self::Command => "commands",
            Self::Server => "MCP servers",
        }
    }
}

impl Offered {
    /// What starts programs counts by its bytes, all else with its workspace; a command counts by both.
    fn state_with(&self, trust: &Trust) -> OfferedState {
        let is_exact = self.exact.iter().all(|exact| trust.holds(exact));
        let needs_trust = self.kind != OfferedKind::Server;
        if is_exact && (trust.is_given() || !needs_trust) {
            OfferedState::Counts
        } else if self.exact.iter().any(|exact| trust.knew(exact)) && !is_exact {
            OfferedState::Changed
        } else {
            OfferedState::NotTrusted
        }
    }
}

/// What a person opens with a server of a project, in words.
fn opens(server: &ServerSettings, project: &Project, with_code: &[CodeInWords]) -> Vec<String> {
    let mut opens = vec![starts(server, project)];
    if with_code.iter().any(|code| code.server == server.name) {
        opens.push(UNTOLD.to_owned());
    }
    opens
}

/// What a server of a project starts or asks, and what of the user it gets.
fn starts(server: &ServerSettings, project: &Project) -> String {
    let ServerSettings { name, how, launch, .. } = server;
    let (mut opens, given) = match launch {
        Ok(Launch::Program { env, .. }) => (format!("starts {how}"), env.keys()),
        Ok(Launch::Http { headers, .. }) => (format!("asks {how}"), headers.keys()),
        Err(fault) => return format!("cannot be used: {fault}"),
    };
    let given: Vec<&str> = given.map(String::as_str).collect();
    if !given.is_empty() {
        // Writing to a string cannot fail.
        write!(opens, " with {}", given.join(", ")).unwrap_or_default();
    }
    let variables: Vec<&str> = project.variables(name).into_iter().collect();
    if !variables.is_empty() {
        write!(opens, ", and reads your {}", variables.join(", ")).unwrap_or_default();
    }
    opens
}

fn shown(path: &Path, workspace: &Path) -> String {
    relative(path, workspace).unwrap_or_else(|| path.to_string_lossy().into_owned())
}

fn with_source(fault: &TrustFault) -> String {
    match std::error::Error::source(fault) {
        Some(source) => format!("{fault}: {source}"),
        None => fault.to_string(),
    }
}
