//! From a host to a connection: granted, looked up, every address checked, and the checked one dialled.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs as _};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use piton_core::permit::host::{Host, HostRule};
use piton_core::public_address::is_public;

use super::refusal::{Refused, Target, Why};

/// How long a host may take to answer, for each of its addresses.
const DIAL_PATIENCE: Duration = Duration::from_secs(15);
/// Most addresses of a host that are tried.
const ADDRESSES_MAX: usize = 8;
/// How long a connection may be silent.
pub(super) const SILENCE_MAX: Duration = Duration::from_mins(10);

/// How a name becomes addresses.
type Lookup = Box<dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync>;
/// Who hears of what was refused.
type Ear = Box<dyn Fn(&Refused) + Send + Sync>;

/// Which hosts may be reached, and who hears of the others.
pub(crate) struct Gateway {
    rules: Vec<HostRule>,
    lookup: Lookup,
    ear: Ear,
    /// How many connections there are.
    pub(super) open: AtomicUsize,
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway").field("rules", &self.rules).finish_non_exhaustive()
    }
}

impl Gateway {
    /// For hosts as grants name them. One that cannot be read grants nothing.
    pub(crate) fn new(
        hosts: &[String],
        ear: impl Fn(&Refused) + Send + Sync + 'static,
    ) -> Arc<Self> {
        Self::with_lookup(hosts, ear, |name| {
            Ok((name, 0).to_socket_addrs()?.map(|address| address.ip()).collect())
        })
    }

    pub(super) fn with_lookup(
        hosts: &[String],
        ear: impl Fn(&Refused) + Send + Sync + 'static,
        lookup: impl Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync + 'static,
    ) -> Arc<Self> {
        let rules = hosts.iter().filter_map(|host| HostRule::read(host).ok()).collect();
        let (lookup, ear) = (Box::new(lookup), Box::new(ear));
        Arc::new(Self { rules, lookup, ear, open: AtomicUsize::new(0) })
    }

    /// Tells of a connection that did not come about, if the wall is the reason. Before its client hears of it: that
    /// may be gone by then, and its command with it.
    pub(super) fn tell(&self, refused: &Refused) {
        if refused.is_by_wall() {
            (self.ear)(refused);
        }
    }

    /// Connects to a host that was granted.
    pub(super) fn reach(&self, target: &Target) -> Result<TcpStream, Refused> {
        let addresses = self.addresses(target).map_err(|why| Refused::to(target, why))?;
        let mut last = Why::NotFound("it has no address".into());
        for address in addresses.into_iter().take(ADDRESSES_MAX) {
            let address = SocketAddr::new(address, target.port);
            match TcpStream::connect_timeout(&address, DIAL_PATIENCE) {
                Ok(server) => {
                    server.set_nodelay(true)?;
                    server.set_read_timeout(Some(SILENCE_MAX))?;
                    server.set_write_timeout(Some(SILENCE_MAX))?;
                    return Ok(server);
                }
                Err(error) => last = Why::Unreachable(error.to_string()),
            }
        }
        Err(Refused::to(target, last))
    }

    fn addresses(&self, target: &Target) -> Result<Vec<IpAddr>, Why> {
        let is_granted = |host: &Host| self.rules.iter().any(|rule| rule.allows(host, target.port));
        if !is_granted(&target.host) {
            return Err(Why::NotGranted);
        }
        match &target.host {
            // The rule that allows it names this very address.
            Host::Address(address) => Ok(vec![*address]),
            Host::Name(name) => {
                let found =
                    (self.lookup)(name).map_err(|error| Why::NotFound(error.to_string()))?;
                // An address that a grant names could be asked for without its name.
                let is_closed = |address: &&IpAddr| {
                    !is_public(**address) && !is_granted(&Host::Address(**address))
                };
                // One of them may be what the client is after, whichever is tried first.
                match found.iter().find(is_closed) {
                    Some(address) => Err(Why::LeadsTo(*address)),
                    None => Ok(found),
                }
            }
        }
    }
}
