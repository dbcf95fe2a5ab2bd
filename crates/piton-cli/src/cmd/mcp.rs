//! `piton mcp`: servers of tools, what they offer, and whether they may be started.

mod written;

use futures_util::future::join_all;
use piton_agent::{Agent, FoundServers, Offered, OfferedKind, Overrides, ServersRun, Settings};
use piton_mcp::{
    About, ConnectFault, Listed, Origin, PROJECT_FILE, Project, Server, ServerSettings, Servers,
};

use crate::flags::{Mcp, McpWish};
use crate::output::Output;
use crate::render::lines::Line;
use crate::render::servers;
use crate::render::visible::{visible, visible_name};
use crate::report::{Fault, Report};

/// Longest description in a list, in letters.
const DESCRIPTION_LETTERS_MAX: usize = 80;

/// What is said where there is no server.
const NO_SERVERS: &str = "There are no MCP servers. To add one: piton mcp add NAME -- COMMAND ARGS, \
                          or piton mcp add NAME --url URL; piton help mcp says more.";

/// Does it.
pub(crate) async fn run(
    flags: &Mcp,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    let agent = Agent::load(settings.clone())?;
    match flags.wish.as_ref().unwrap_or(&McpWish::List) {
        McpWish::List => list(&agent, flags.json, output).await,
        McpWish::Tools { server } => tools(&agent, server.as_deref(), flags.json, output).await,
        McpWish::Add(server) => written::add(server, settings, output),
        McpWish::Remove { name } => written::remove(name, settings, output),
        McpWish::Trust { revoke: true, .. } => revoke(&agent, output),
        McpWish::Trust { unconfined: false, .. } => trust(&agent, ServersRun::Confined, output),
        McpWish::Trust { unconfined: true, .. } => trust(&agent, ServersRun::Unconfined, output),
    }
}

/// What a server said when it was asked.
type Looked = Result<(About, Vec<Listed>), ConnectFault>;

/// Asks all servers at once; one that does not answer must not hold up the others.
async fn look(servers: &Servers) -> Vec<Looked> {
    let looked = join_all(servers.iter().map(|server| server.look())).await;
    servers.close().await;
    looked
}

async fn list(agent: &Agent, json: bool, output: &mut Output) -> Result<Report, Fault> {
    let workspace = agent.settings().workspace()?;
    let FoundServers { allowed, held, notices } = agent.servers(workspace, &Overrides::default());
    let off: Vec<_> = allowed.iter().filter(|server| !server.enabled).cloned().collect();
    let servers = Servers::new(allowed, agent.server_place(workspace));
    let looked = look(&servers).await;
    let mut rows = 0;
    for (server, looked) in servers.iter().zip(looked) {
        show(server.settings(), &State::of(&looked), json, output);
        rows += 1;
    }
    for server in &off {
        show(server, &State::Off, json, output);
    }
    for server in &held {
        show(server, &State::Held, json, output);
    }
    for notice in &notices {
        output.talk(&servers::notice(notice));
    }
    if rows + off.len() + held.len() == 0 {
        return Ok(Report::nothing(NO_SERVERS));
    }
    Ok(Report::ok("listed"))
}

/// How it stands with a server.
enum State<'a> {
    Ready(&'a About, usize),
    Failed(&'a ConnectFault),
    Off,
    Held,
}

impl<'a> State<'a> {
    fn of(looked: &'a Looked) -> Self {
        match looked {
            Ok((about, tools)) => Self::Ready(about, tools.len()),
            Err(fault) => Self::Failed(fault),
        }
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Ready(..) => "ready",
            Self::Failed(_) => "failed",
            Self::Off => "off",
            Self::Held => "not_trusted",
        }
    }

    fn told(&self) -> String {
        match self {
            Self::Ready(about, tools) => {
                let About { name, version, protocol, left_out } = about;
                let left_out = left_out.iter().map(|why| format!("\nleft out: {why}"));
                let left_out: String = left_out.collect();
                format!("ready: {tools} tools, {name} {version}, protocol {protocol}{left_out}")
            }
            Self::Failed(fault) => format!("failed: {fault}"),
            Self::Off => "off: enabled = false".into(),
            Self::Held => {
                "not trusted, or changed since; to look at it and decide: piton trust".into()
            }
        }
    }
}

fn show(settings: &ServerSettings, state: &State<'_>, json: bool, output: &mut Output) {
    let (name, from) = (&settings.name, origin(settings.origin));
    let how = &settings.how;
    if json {
        let why = match state {
            State::Failed(fault) => fault.to_string(),
            State::Ready(about, _) => about.left_out.join("\n"),
            State::Off | State::Held => String::new(),
        };
        let (about, tools) = match state {
            State::Ready(about, tools) => (Some(*about), Some(*tools)),
            State::Failed(_) | State::Off | State::Held => (None, None),
        };
        output.json(&Line::McpServer {
            name,
            from,
            how,
            trust: settings.trust,
            state: state.word(),
            why: &why,
            tools,
            server: about.map(|about| about.name.as_str()),
            version: about.map(|about| about.version.as_str()),
            protocol: about.map(|about| about.protocol.as_str()),
        });
    } else {
        let told = state.told().replace('\n', "\n    ");
        output.lines(&format!("{name}  {from}  {how}\n    {told}"));
    }
}

fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::Settings => "piton.toml",
        Origin::Project => PROJECT_FILE,
    }
}

async fn tools(
    agent: &Agent,
    only: Option<&str>,
    json: bool,
    output: &mut Output,
) -> Result<Report, Fault> {
    let workspace = agent.settings().workspace()?;
    let FoundServers { mut allowed, held, notices } =
        agent.servers(workspace, &Overrides::default());
    if let Some(name) = only {
        let known = allowed.iter().chain(&held).any(|server| server.name == name);
        if !known {
            return Err(Fault::NoServer(name.to_owned()));
        }
        allowed.retain(|server| server.name == name);
    }
    if allowed.is_empty() && held.is_empty() && notices.is_empty() {
        return Ok(Report::nothing(NO_SERVERS));
    }
    if !allowed.is_empty() && allowed.iter().all(|server| !server.enabled) {
        return Ok(Report::nothing("No MCP server is on (enabled = false)."));
    }
    for notice in &notices {
        output.talk(&servers::notice(notice));
    }
    let servers = Servers::new(allowed, agent.server_place(workspace));
    let looked = look(&servers).await;
    for (server, looked) in servers.iter().zip(looked) {
        match looked {
            Ok((about, tools)) => {
                offered(server, &tools, json, output);
                for why in &about.left_out {
                    output.talk(&format!("mcp: {}: left out: {why}", server.settings().name));
                }
            }
            Err(fault) => output.talk(&format!("mcp: {}: {fault}", server.settings().name)),
        }
    }
    Ok(Report::ok("listed"))
}

fn offered(server: &Server, tools: &[Listed], json: bool, output: &mut Output) {
    for tool in tools {
        let spec = tool.spec(server.settings());
        if json {
            output.json(&Line::McpTool {
                name: &spec.name,
                server: &server.settings().name,
                tool: &tool.name,
                effect: spec.effect,
                description: &tool.description,
            });
        } else {
            let first = tool.description.trim().lines().next().unwrap_or_default();
            let first = piton_core::summary::shorten(first, DESCRIPTION_LETTERS_MAX);
            let effect = Line::word(&spec.effect);
            output.lines(&format!("{}  {effect}  {first}", spec.name));
        }
    }
}

/// Approves the servers of the workspace as they are, and nothing else of it.
fn trust(agent: &Agent, run: ServersRun, output: &mut Output) -> Result<Report, Fault> {
    let settings = agent.settings();
    let workspace = settings.workspace()?;
    let Some(project) = Project::read(workspace)? else {
        return Ok(Report::nothing("There is no .mcp.json in this directory."));
    };
    if run == ServersRun::Unconfined
        && let Some(code) = agent.code_in_words(&project).into_iter().next()
    {
        return Err(Fault::CodeInWords(code));
    }
    let place = match run {
        ServersRun::Confined => "in the sandbox",
        ServersRun::Unconfined => "outside the sandbox",
    };
    let brought = agent.brings(workspace);
    let servers = brought.offers.iter().filter(|offered| offered.kind == OfferedKind::Server);
    let servers: Vec<&Offered> = servers.collect();
    for server in &servers {
        let opens = server.opens.join("; ");
        let (name, opens) = (visible_name(&server.name), visible(&opens));
        output.talk(&format!("{name}: {opens} ({place})"));
    }
    for server in servers {
        settings.approve_exactly(workspace, &server.exact)?;
    }
    settings.run_servers(workspace, run)?;
    output.talk(&format!(
        "{PROJECT_FILE} of {} is trusted as it is now. Once it changes it is asked about again; piton trust \
         shows all that this workspace brings.",
        workspace.display()
    ));
    Ok(Report::ok("done"))
}

/// Takes back what was approved for servers: their file, and what they are made of.
fn revoke(agent: &Agent, output: &mut Output) -> Result<Report, Fault> {
    let settings = agent.settings();
    let workspace = settings.workspace()?;
    if !settings.disapprove(workspace, |path| path == PROJECT_FILE)? {
        return Ok(Report::nothing("It was not trusted."));
    }
    output.talk(&format!("{PROJECT_FILE} of {} is no longer trusted.", workspace.display()));
    Ok(Report::ok("done"))
}
