//! Which addresses may be connected to.
//!
//! The check is made on the address that is connected to, where a name has become one: a name that
//! changes its address between a check and the connection would get past any earlier one.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;

use piton_core::public_address::is_public;
use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use schemars::JsonSchema;
use serde::Deserialize;

/// What `web_fetch` may reach, as written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WrittenWeb {
    /// Hosts of a private network: `host` or `host:port`.
    pub(crate) private_hosts: Vec<String>,
}

/// Hosts that may be reached although they are private: those that a person has named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PrivateHosts(Vec<(String, Option<u16>)>);

impl PrivateHosts {
    /// Reads the names; says what is wrong with one.
    pub(crate) fn read(written: &[String]) -> Result<Self, String> {
        let hosts = written.iter().map(|text| {
            let url = Url::parse(&format!("http://{text}/")).ok();
            let bare = url.as_ref().filter(|url| {
                url.username().is_empty() && url.path() == "/" && url.query().is_none()
            });
            let host = bare.and_then(Url::host_str).map(str::to_owned);
            // A port that is written out counts, also the usual one, which an address has not.
            let has_port = text.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'));
            let port = bare.and_then(Url::port_or_known_default).filter(|_| has_port);
            let host = host.ok_or_else(|| {
                format!("web.private_hosts: `{text}` is no host; write host or host:port")
            })?;
            Ok((host, port))
        });
        Ok(Self(hosts.collect::<Result<_, String>>()?))
    }

    /// Whether the host of an address was named.
    pub(super) fn has(&self, url: &Url) -> bool {
        let (host, port) = (url.host_str().unwrap_or_default(), url.port_or_known_default());
        self.0.iter().any(|(named, at)| named == host && (at.is_none() || *at == port))
    }
}

/// An address that is not connected to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} leads to {1}, an address that is not public")]
pub(super) struct NotPublic(pub(super) String, pub(super) IpAddr);

/// Refuses a host that is written as a number and is not public. Names are looked at where they become
/// numbers.
pub(super) fn check_number(url: &Url) -> Result<(), NotPublic> {
    let host = url.host_str().unwrap_or_default();
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    match bare.parse::<IpAddr>() {
        Ok(address) if !is_public(address) => Err(NotPublic(host.to_owned(), address)),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// How a name becomes addresses.
pub(super) type Lookup = Arc<dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync>;

/// As the system does it.
pub(super) fn system_lookup() -> Lookup {
    Arc::new(|name| {
        let found = (name, 0).to_socket_addrs()?;
        Ok(found.map(|address| address.ip()).collect())
    })
}

/// Gives only public addresses to whoever connects.
#[derive(Clone)]
pub(super) struct PublicOnly(pub(super) Lookup);

impl fmt::Debug for PublicOnly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PublicOnly")
    }
}

impl PublicOnly {
    /// The public addresses of a name. One that has private ones too is not refused: only the public
    /// ones are connected to.
    pub(super) fn addresses(
        &self,
        name: &str,
    ) -> Result<Vec<SocketAddr>, Box<dyn std::error::Error + Send + Sync>> {
        let found = (self.0)(name)?;
        let public = found.iter().filter(|address| is_public(**address));
        let public: Vec<_> = public.map(|address| SocketAddr::new(*address, 0)).collect();
        match found.first() {
            Some(first) if public.is_empty() => Err(NotPublic(name.to_owned(), *first).into()),
            Some(_) | None => Ok(public),
        }
    }
}

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        let this = self.clone();
        Box::pin(async move {
            let found = tokio::task::spawn_blocking(move || this.addresses(name.as_str()));
            let found: Addrs = Box::new(found.await??.into_iter());
            Ok(found)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn numbers_are_seen_in_every_spelling() {
        for private in [
            "http://127.0.0.1/",
            "http://127.1/",
            "http://2130706433/",
            "http://0x7f000001/",
            "http://0177.0.0.1/",
            "http://[::1]/",
            "http://[::ffff:7f00:1]/",
            "http://169.254.169.254/latest",
            "http://0/",
            "http://１２７.0.0.1/",
        ] {
            let url = Url::parse(private).unwrap();
            assert!(check_number(&url).is_err(), "{private}");
        }
        assert!(check_number(&Url::parse("https://1.1.1.1/").unwrap()).is_ok());
        assert!(check_number(&Url::parse("https://localhost/").unwrap()).is_ok());
    }

    #[test]
    fn a_name_that_changes_its_address_gives_no_private_one() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        let (asked, answers) =
            (AtomicUsize::new(0), ["1.1.1.1", "127.0.0.1", "8.8.8.8", "10.0.0.7"]);
        let names = PublicOnly(Arc::new(move |_| {
            let number = asked.fetch_add(1, Ordering::Relaxed);
            Ok(vec![address(answers[number % answers.len()])])
        }));
        let mut given = Vec::new();
        for _ in 0..8 {
            match names.addresses("rebinding.example") {
                Ok(found) => given.extend(found),
                Err(error) => assert!(error.downcast_ref::<NotPublic>().is_some(), "{error}"),
            }
        }
        assert_eq!(given.len(), 4);
        assert!(given.iter().all(|address| is_public(address.ip())), "{given:?}");
    }

    #[test]
    fn of_a_name_with_both_only_the_public_addresses_are_given() {
        let both = vec![address("10.0.0.1"), address("1.1.1.1"), address("::1")];
        let names = PublicOnly(Arc::new(move |_| Ok(both.clone())));
        let given = names.addresses("both.example").unwrap();
        assert_eq!(given, [SocketAddr::new(address("1.1.1.1"), 0)]);
    }

    #[test]
    fn a_private_host_counts_as_it_was_named() {
        let named = ["intranet.example", "127.0.0.1:8000", "[::1]:9000"].map(str::to_owned);
        let hosts = PrivateHosts::read(&named).unwrap();
        let has = |url: &str| hosts.has(&Url::parse(url).unwrap());
        assert!(has("https://INTRANET.example/a") && has("http://intranet.example:81/"));
        assert!(has("http://127.0.0.1:8000/") && has("http://[::1]:9000/"));
        assert!(!has("http://127.0.0.1/") && !has("http://127.0.0.1:8001/"));
        assert!(!has("http://x.intranet.example/"));
        for wrong in ["", "http://x", "a b", "x/y", "u@x"] {
            let fault = PrivateHosts::read(&[wrong.into()]).unwrap_err();
            assert!(fault.contains("host:port"), "{wrong}: {fault}");
        }
    }
}
