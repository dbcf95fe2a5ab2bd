//! What was not let through, and why.

use std::fmt;
use std::io;
use std::net::IpAddr;

use piton_core::permit::host::Host;

/// What is said of a host that no grant names.
pub(crate) const NOT_GRANTED: &str = "not granted";

/// Where a client wants to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) host: Host,
    pub(super) port: u16,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// A connection that did not come about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    /// The host with its port, as far as it was understood.
    pub(crate) host: Option<String>,
    /// Why.
    pub(crate) why: Why,
}

impl Refused {
    pub(super) fn to(target: &Target, why: Why) -> Self {
        Self { host: Some(target.to_string()), why }
    }

    /// Whether the wall is the reason, and not the network or the client.
    pub(crate) fn is_by_wall(&self) -> bool {
        match self.why {
            Why::NotGranted
            | Why::LeadsTo(_)
            | Why::OtherServerName(_)
            | Why::NoServerName
            | Why::OtherHost(_) => true,
            Why::NotFound(_) | Why::Unreachable(_) | Why::Unclear(_) | Why::Broken(_) => false,
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Some(host) => write!(f, "{host}: {}", self.why),
            None => write!(f, "{}", self.why),
        }
    }
}

/// Why a connection did not come about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// No grant names the host with this port.
    NotGranted,
    /// The name leads to an address that is not public, and that no grant names.
    LeadsTo(IpAddr),
    /// The client asks for another TLS name there.
    OtherServerName(String),
    /// The client speaks TLS and does not say to whom.
    NoServerName,
    /// The client asks for another host there.
    OtherHost(String),
    /// The name has no address.
    NotFound(String),
    /// Nobody answers there.
    Unreachable(String),
    /// What the client says is not understood.
    Unclear(&'static str),
    /// The connection to the client broke.
    Broken(io::ErrorKind),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotGranted => f.write_str(NOT_GRANTED),
            Self::LeadsTo(address) => {
                write!(
                    f,
                    "leads to {address}, which is not public; a grant has to name that address"
                )
            }
            Self::OtherServerName(name) => write!(f, "asked there for the TLS name {name:?}"),
            Self::NoServerName => f.write_str("asked there for no TLS name"),
            Self::OtherHost(name) => write!(f, "asked there for the host {name:?}"),
            Self::NotFound(why) => write!(f, "no address: {why}"),
            Self::Unreachable(why) => write!(f, "not reached: {why}"),
            Self::Unclear(why) => write!(f, "not understood: {why}"),
            Self::Broken(kind) => write!(f, "broken off: {kind}"),
        }
    }
}

impl From<io::Error> for Why {
    fn from(error: io::Error) -> Self {
        Self::Broken(error.kind())
    }
}

impl From<Why> for Refused {
    fn from(why: Why) -> Self {
        Self { host: None, why }
    }
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Why::from(error).into()
    }
}
