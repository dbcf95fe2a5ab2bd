//! All servers of a process, and the tools they offer.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::join_all;
use piton_tools::Tool;

use crate::connection::ConnectFault;
use crate::listing::Listed;
use crate::place::Place;
use crate::server::Server;
use crate::settings::ServerSettings;
use crate::tool::McpTool;

/// Servers that are wanted and allowed.
#[derive(Debug)]
pub struct Servers {
    servers: Vec<Arc<Server>>,
}

/// How new the lists of tools must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// A turn begins: asks every server.
    Now,
    /// A turn goes on with the tools it has: what was kept will do, and a server is started only if
    /// it is called.
    Kept,
}

/// What servers offer.
#[derive(Debug, Default)]
pub struct Offer {
    /// The tools, by server and in each server's order.
    pub tools: Vec<Arc<dyn Tool>>,
    /// What a person should hear.
    pub notes: Vec<String>,
}

impl Servers {
    /// Servers with these settings; those that are not enabled are left out. Starts nothing.
    pub fn new(settings: Vec<ServerSettings>, place: Place) -> Self {
        let place = Arc::new(place);
        let wanted = settings.into_iter().filter(|settings| settings.enabled);
        let servers = wanted.map(|settings| Arc::new(Server::new(settings, place.clone())));
        Self { servers: servers.collect() }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Server>> {
        self.servers.iter()
    }

    /// The tools of all servers. They are asked at the same time; one that is away keeps nobody.
    pub async fn tools(&self, freshness: Freshness) -> Offer {
        let lists = join_all(self.servers.iter().map(|server| list(server, freshness))).await;
        let (mut offer, mut names) = (Offer::default(), BTreeSet::new());
        for (server, (tools, note)) in self.servers.iter().zip(lists) {
            offer.notes.extend(note);
            for tool in tools {
                let tool = McpTool::new(server.clone(), tool);
                // Names hold a digest where they had to be changed, so this takes a collision of those.
                if names.insert(tool.spec().name) {
                    offer.tools.push(Arc::new(tool));
                }
            }
        }
        offer
    }

    /// Takes leave of all servers.
    pub async fn close(&self) {
        join_all(self.servers.iter().map(|server| server.close())).await;
    }
}

async fn list(server: &Server, freshness: Freshness) -> (Vec<Listed>, Option<String>) {
    if freshness == Freshness::Kept
        && let Some(known) = server.known()
    {
        return (known, None);
    }
    match server.look().await {
        Ok((about, tools)) => {
            let name = &server.settings.name;
            let left_out = about.left_out.join("; ");
            let note = format!("mcp: {name}: going on without some of its tools: {left_out}");
            (tools, (!left_out.is_empty()).then_some(note))
        }
        Err(fault) => {
            let known = server.known();
            let note = note(server, &fault, known.is_some());
            (known.unwrap_or_default(), Some(note))
        }
    }
}

fn note(server: &Server, fault: &ConnectFault, known: bool) -> String {
    let then =
        if known { "its tools are offered as they were last seen" } else { "going on without it" };
    let name = &server.settings.name;
    format!("mcp: {name}: {}; {then} (piton mcp list says more)", fault.reason)
}
