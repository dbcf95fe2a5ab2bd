//! All servers of a process, and the tools they offer.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt as _};
use piton_tools::Tool;

use crate::cache::Kept;
use crate::connection::ConnectFault;
use crate::listing::Listed;
use crate::place::Place;
use crate::server::Server;
use crate::settings::ServerSettings;
use crate::tool::McpTool;

/// Most servers that are started and asked at the same time. Each has its own longest wait.
const ASKED_AT_ONCE_MAX: usize = 32;

/// Servers that are wanted and allowed.
#[derive(Debug)]
pub struct Servers {
    servers: Vec<Arc<Server>>,
}

/// How new the lists of tools must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// A turn begins: a list that was kept will do while its server looks as it did. The others are
    /// asked.
    Fresh,
    /// A turn goes on with the tools it has: what was kept will do, whatever became of the server.
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

    /// The tools of all servers. Those that have to be asked are asked at the same time; one that is
    /// away keeps nobody. A server whose tools are known is started by the first call.
    pub async fn tools(&self, freshness: Freshness) -> Offer {
        let lists: Vec<_> = self.servers.iter().map(|server| list(server, freshness)).collect();
        let lists: Vec<_> = stream::iter(lists).buffered(ASKED_AT_ONCE_MAX).collect().await;
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
    let settings = &server.settings;
    let is_enough = |kept: &Kept| match freshness {
        Freshness::Fresh => kept.is_fresh && !server.has_news(),
        Freshness::Kept => true,
    };
    if let Some(Kept { listing, .. }) = server.known().filter(is_enough) {
        // What is missing was missing when the turn began.
        let note = left_out(settings, &listing.left_out(settings));
        let is_new = freshness == Freshness::Fresh;
        return (listing.offered(settings), note.filter(|_| is_new));
    }
    match server.look().await {
        Ok((about, tools)) => (tools, left_out(settings, &about.left_out)),
        Err(fault) => {
            let known = server.known().map(|kept| kept.listing.offered(settings));
            let note = note(server, &fault, known.is_some());
            (known.unwrap_or_default(), Some(note))
        }
    }
}

/// That some tools of a server cannot be used.
fn left_out(settings: &ServerSettings, left_out: &[String]) -> Option<String> {
    let (name, why) = (&settings.name, left_out.join("; "));
    let note = format!("mcp: {name}: going on without some of its tools: {why}");
    (!why.is_empty()).then_some(note)
}

fn note(server: &Server, fault: &ConnectFault, known: bool) -> String {
    let then =
        if known { "its tools are offered as they were last seen" } else { "going on without it" };
    let name = &server.settings.name;
    format!("mcp: {name}: {}; {then} (piton mcp list says more)", fault.reason)
}
