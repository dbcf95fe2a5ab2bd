//! Which addresses may be connected to.
//!
//! The check is made on the address that is connected to, where a name has become one: a name that
//! changes its address between a check and the connection would get past any earlier one.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;

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

/// Whether the whole world can reach an address: not this machine, not the network around it, and
/// none that holds such an address inside.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// Ranges that are not public: the first address, and how many bits of it count.
const V4_NOT_PUBLIC: [(Ipv4Addr, u32); 15] = [
    (Ipv4Addr::UNSPECIFIED, 8),           // this network, unspecified
    (Ipv4Addr::new(10, 0, 0, 0), 8),      // private
    (Ipv4Addr::new(100, 64, 0, 0), 10),   // behind the NAT of a carrier
    (Ipv4Addr::new(127, 0, 0, 0), 8),     // loopback
    (Ipv4Addr::new(169, 254, 0, 0), 16),  // link-local, and what clouds tell their machines
    (Ipv4Addr::new(172, 16, 0, 0), 12),   // private
    (Ipv4Addr::new(192, 0, 0, 0), 24),    // for protocols
    (Ipv4Addr::new(192, 0, 2, 0), 24),    // for documents
    (Ipv4Addr::new(192, 88, 99, 0), 24),  // relays to IPv6
    (Ipv4Addr::new(192, 168, 0, 0), 16),  // private
    (Ipv4Addr::new(198, 18, 0, 0), 15),   // for benchmarks
    (Ipv4Addr::new(198, 51, 100, 0), 24), // for documents
    (Ipv4Addr::new(203, 0, 113, 0), 24),  // for documents
    (Ipv4Addr::new(224, 0, 0, 0), 4),     // multicast
    (Ipv4Addr::new(240, 0, 0, 0), 4),     // kept for later, broadcast
];

fn is_public_v4(address: Ipv4Addr) -> bool {
    let inside = |(first, bits): &(Ipv4Addr, u32)| {
        (address.to_bits() ^ first.to_bits()).leading_zeros() >= *bits
    };
    !V4_NOT_PUBLIC.iter().any(inside)
}

/// Ranges within the public part of IPv6 that are not public.
const V6_NOT_PUBLIC: [(Ipv6Addr, u32); 4] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23), // for protocols; Teredo holds IPv4
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32), // for documents
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16), // 6to4 holds IPv4
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20), // for documents
];

fn is_public_v6(address: Ipv6Addr) -> bool {
    let inside = |(first, bits): &(Ipv6Addr, u32)| {
        (address.to_bits() ^ first.to_bits()).leading_zeros() >= *bits
    };
    // All that is given out. Loopback, private and link-local addresses, multicast and those that hold
    // an IPv4 address (mapped, compatible, translated) are elsewhere.
    let given_out = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);
    inside(&given_out) && !V6_NOT_PUBLIC.iter().any(inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn only_what_the_whole_world_can_reach_is_public() {
        for public in [
            "1.1.1.1",
            "8.8.8.8",
            "100.63.255.255",
            "100.128.0.0",
            "172.15.0.1",
            "172.32.0.1",
            "198.20.0.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2001:200::1",
            "2a00::1",
        ] {
            assert!(is_public(address(public)), "{public}");
        }
        for private in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.8.8.8",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.168.1.1",
            "198.19.0.1",
            "224.0.0.1",
            "239.1.1.1",
            "240.0.0.1",
            "255.255.255.255",
            "192.0.2.1",
            "::",
            "::1",
            "::ffff:1.1.1.1",
            "::ffff:127.0.0.1",
            "::127.0.0.1",
            "64:ff9b::1.1.1.1",
            "64:ff9b:1::1",
            "100::1",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::1",
            "3fff::1",
            "5f00::1",
        ] {
            assert!(!is_public(address(private)), "{private}");
        }
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
