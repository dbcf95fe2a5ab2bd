//! Connections that fail, in our own words. What the libraries say goes to the journal as it is: it
//! is written for those who write programs, and changes from one of their versions to the next.

use std::error::Error;
use std::io::{self, ErrorKind};
use std::time::Duration;

use piton_core::event::FailureClass;
use reqwest::Url;

use super::redirect::host;
use crate::model::ModelFailure;

/// What a failed connection means. An outage is waited for as long as is said.
pub(super) fn failed(error: reqwest::Error, outage: Duration) -> ModelFailure {
    let url = error.url().cloned();
    let at = url.as_ref().map_or_else(|| "the provider".into(), host);
    // The URL may carry a key.
    let error = error.without_url();
    let fault = Fault::of(&error);
    // What cannot be sent at all cannot be sent later either.
    let class = if fault == Fault::Unsendable {
        FailureClass::InvalidRequest
    } else {
        FailureClass::Network
    };
    let mut failure = ModelFailure::new(class, fault.told(&at));
    if fault.is_outage(url.as_ref()) {
        let ms = u64::try_from(outage.as_millis()).unwrap_or(u64::MAX);
        failure.outage_ms_max = Some(ms).filter(|ms| *ms != 0);
    }
    failure.detail = Some(chain(&error));
    failure
}

/// What is wrong with a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Unsendable,
    NoName,
    NoRoute,
    NoReply,
    Refused,
    NotTrusted,
    NotSecure,
    NoConnection,
    Unreadable,
    Broke,
}

/// What the system says, and what it means.
const KINDS: [(ErrorKind, Fault); 7] = [
    (ErrorKind::ConnectionRefused, Fault::Refused),
    (ErrorKind::NetworkUnreachable, Fault::NoRoute),
    (ErrorKind::HostUnreachable, Fault::NoRoute),
    (ErrorKind::NetworkDown, Fault::NoRoute),
    (ErrorKind::AddrNotAvailable, Fault::NoRoute),
    (ErrorKind::TimedOut, Fault::NoReply),
    (ErrorKind::InvalidData, Fault::NotSecure),
];

impl Fault {
    fn of(error: &reqwest::Error) -> Self {
        if error.is_builder() {
            return Self::Unsendable;
        }
        if error.is_decode() {
            return Self::Unreadable;
        }
        if !error.is_connect() {
            return Self::Broke;
        }
        let causes: Vec<_> = causes(error).collect();
        let found = causes.iter().find_map(|cause| Self::of_cause(*cause));
        let late = error.is_timeout().then_some(Self::NoReply);
        found.or(late).unwrap_or(Self::NoConnection)
    }

    fn of_cause(cause: &(dyn Error + 'static)) -> Option<Self> {
        let words = cause.to_string();
        if words.starts_with("dns error") {
            return Some(Self::NoName);
        }
        if words.contains("invalid peer certificate") {
            return Some(Self::NotTrusted);
        }
        let kind = cause.downcast_ref::<io::Error>()?.kind();
        let fault = KINDS.iter().find(|(known, _)| *known == kind);
        fault.map(|(_, fault)| *fault)
    }

    fn told(self, host: &str) -> String {
        match self {
            Self::Unsendable => {
                format!("the request to {host} cannot be sent: is its address right?")
            }
            Self::NoName => format!("cannot reach {host}: its name is not found"),
            Self::NoRoute => format!("cannot reach {host}: network unreachable"),
            Self::NoReply => format!("cannot reach {host}: no reply"),
            Self::Refused => format!("cannot reach {host}: connection refused"),
            Self::NotTrusted => {
                format!("no secure connection to {host}: its certificate is not trusted")
            }
            Self::NotSecure => format!("no secure connection to {host}"),
            Self::NoConnection => format!("cannot reach {host}"),
            Self::Unreadable => format!("what {host} sent cannot be unpacked"),
            Self::Broke => format!("the connection to {host} broke"),
        }
    }

    /// Whether it passes when the network is back. Nothing on this machine comes back by itself.
    fn is_outage(self, url: Option<&Url>) -> bool {
        let reached_nobody = matches!(
            self,
            Self::NoName | Self::NoRoute | Self::NoReply | Self::Refused | Self::NoConnection
        );
        reached_nobody && !url.is_some_and(is_here)
    }
}

fn is_here(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse();
    let loops = address.is_ok_and(|address: std::net::IpAddr| address.is_loopback());
    loops || host == "localhost" || host.ends_with(".localhost")
}

fn causes<'a>(error: &'a reqwest::Error) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(error.source(), |cause| (*cause).source())
}

/// An error with all its causes, on one line.
fn chain(error: &reqwest::Error) -> String {
    causes(error).fold(error.to_string(), |said, cause| format!("{said}: {cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client() -> reqwest::Client {
        rustls::crypto::ring::default_provider().install_default().ok();
        reqwest::Client::builder().no_proxy().build().unwrap()
    }

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn only_what_is_elsewhere_comes_back_by_itself() {
        for (address, outage) in [
            ("https://models.example.invalid/v1", true),
            ("http://192.168.0.2:11434", true),
            ("http://127.0.0.1:11434", false),
            ("http://[::1]:1", false),
            ("http://localhost:1", false),
        ] {
            assert_eq!(Fault::Refused.is_outage(Some(&url(address))), outage, "{address}");
        }
        assert!(!Fault::Broke.is_outage(Some(&url("https://h.invalid"))));
        assert!(!Fault::NotTrusted.is_outage(Some(&url("https://h.invalid"))));
    }

    #[tokio::test]
    async fn a_name_that_is_not_found_is_an_outage_and_no_library_is_quoted() {
        let error =
            client().get("http://u:pa55@nobody.invalid/x?key=k3y").send().await.unwrap_err();
        let failure = failed(error, Duration::from_mins(2));
        assert_eq!(failure.message, "cannot reach nobody.invalid: its name is not found");
        assert_eq!(failure.outage_ms_max, Some(120_000));
        let detail = failure.detail.unwrap();
        assert!(detail.contains("dns error"), "{detail}");
        assert!(!detail.contains("pa55") && !detail.contains("k3y"), "{detail}");
    }

    #[tokio::test]
    async fn a_refused_connection_is_told_in_our_own_words() {
        let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = closed.local_addr().unwrap();
        drop(closed);
        let error = client().get(format!("http://{address}/")).send().await.unwrap_err();
        let failure = failed(error, Duration::from_mins(2));
        assert_eq!(failure.message, format!("cannot reach {address}: connection refused"));
        assert_eq!((failure.class, failure.outage_ms_max), (FailureClass::Network, None));
    }
}
