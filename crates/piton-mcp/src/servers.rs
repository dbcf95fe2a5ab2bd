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

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use super::*;
    use crate::expand::Expand;
    use crate::settings::{Origin, WrittenServer};

    /// Numbers the tool that it lists, and says that there is another one once the file `go` is there.
    const COUNTS: &str = r#"n=0
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9][0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}\n' "$id" ;;
    *'"tools/list"'*)
      n=$((n + 1))
      printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"t%s","inputSchema":{}}]}}\n' "$id" "$n"
      [ $n = 1 ] && (
        while [ ! -e go ]; do sleep 0.01; done
        printf '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n'
      ) & ;;
  esac
done"#;

    fn counting(home: &Path) -> Servers {
        let args = vec!["-c".to_owned(), COUNTS.to_owned()];
        let written =
            WrittenServer { command: Some("sh".into()), args, ..WrittenServer::default() };
        let settings = written.settle("s", Origin::Settings, &Expand::new(&|_| None, &[]));
        let (lists, http) = (home.join("lists"), || Err(String::new()));
        Servers::new(
            vec![settings],
            Place { workspace: home.to_owned(), lists, calls: home.join("calls"), http },
        )
    }

    async fn names(servers: &Servers, freshness: Freshness) -> Vec<String> {
        let Offer { tools, notes } = servers.tools(freshness).await;
        assert_eq!(notes, Vec::<String>::new());
        tools.iter().map(|tool| tool.spec().name).collect()
    }

    #[tokio::test]
    async fn a_server_that_has_news_is_asked_when_the_next_turn_begins_and_only_then() {
        let home = tempfile::tempdir().unwrap();
        let servers = counting(home.path());
        assert_eq!(names(&servers, Freshness::Fresh).await, ["s__t1"]);
        std::fs::write(home.path().join("go"), "").unwrap();
        let has_news = async {
            while !servers.servers[0].has_news() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_mins(1), has_news).await.unwrap();
        assert_eq!(names(&servers, Freshness::Kept).await, ["s__t1"]);
        assert_eq!(names(&servers, Freshness::Fresh).await, ["s__t2"]);
        assert_eq!(names(&servers, Freshness::Fresh).await, ["s__t2"]);
        servers.close().await;
        // Whoever comes later begins with what is kept.
        let later = counting(home.path());
        assert_eq!(names(&later, Freshness::Fresh).await, ["s__t2"]);
        assert!(!later.servers[0].has_news());
    }

    #[tokio::test]
    async fn one_that_hangs_is_waited_for_as_long_as_it_was_said_and_told_of() {
        let home = tempfile::tempdir().unwrap();
        let mut servers = Vec::new();
        for name in ["a", "b", "c"] {
            let args = vec!["-c".to_owned(), "exec sleep 600".to_owned()];
            let written = WrittenServer {
                command: Some("sh".into()),
                args,
                connect_seconds: Some(1),
                ..WrittenServer::default()
            };
            servers.push(written.settle(name, Origin::Settings, &Expand::new(&|_| None, &[])));
        }
        let (lists, http) = (home.path().join("lists"), || Err(String::new()));
        let calls = home.path().join("calls");
        let place = Place { workspace: home.path().to_owned(), lists, calls, http };
        let offer = Servers::new(servers, place).tools(Freshness::Fresh).await;
        assert!(offer.tools.is_empty());
        assert_eq!(offer.notes.len(), 3, "{:?}", offer.notes);
        assert!(offer.notes[0].contains("within 1 s (connect_seconds)"), "{:?}", offer.notes);
    }
}
