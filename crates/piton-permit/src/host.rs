//! Hosts as grants name them, and as clients ask for them.
//!
//! A name is compared before it becomes an address: in small letters and without a dot at its end. A number is
//! never a name, however it is written.

use std::fmt;
use std::net::IpAddr;

/// The whole network, in place of a host.
pub const EVERYWHERE: &str = "*";
/// Longest name of a host, in bytes.
const NAME_BYTES_MAX: usize = 253;
/// Longest part of a name between two dots, in bytes.
const LABEL_BYTES_MAX: usize = 63;

/// A host that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// By its name, in small letters.
    Name(String),
    /// By its address.
    Address(IpAddr),
}

impl Host {
    /// Reads a host. `None` if it is neither a name nor an address in its usual form.
    pub fn read(text: &str) -> Option<Self> {
        let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        if let Ok(address) = bare.unwrap_or(text).parse() {
            return Some(Self::Address(address));
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        let labels = name.split('.');
        let is_label = |label: &str| {
            let letter = |it: char| it.is_ascii_alphanumeric() || "-_".contains(it);
            (1..=LABEL_BYTES_MAX).contains(&label.len()) && label.chars().all(letter)
        };
        // `127.1`, `2130706433` and `0x7f.1` are numbers to those who resolve names.
        let last = name.rsplit('.').next().unwrap_or_default();
        let is_number = last.starts_with(|first: char| first.is_ascii_digit());
        let is_name = name.len() <= NAME_BYTES_MAX && labels.into_iter().all(is_label);
        (is_name && !is_number).then_some(Self::Name(name))
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V4(address)) => write!(f, "{address}"),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

/// What a grant says of hosts: one host, or all below a name, and the port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRule {
    host: Host,
    below: bool,
    port: u16,
}

impl HostRule {
    /// Reads a rule such as `crates.io:443`, `*.crates.io:443` or `[::1]:8080`; says what is wrong with it.
    pub fn read(text: &str) -> Result<Self, String> {
        let form = "write a host with its port, such as `crates.io:443` or `*.crates.io:443`";
        let Some((name, port)) = text.rsplit_once(':') else {
            return Err(format!("`{text}` has no port: {form}"));
        };
        let port: u16 = match port.parse() {
            Ok(port) if port != 0 => port,
            Ok(_) | Err(_) => return Err(format!("`{text}` has no port from 1 to 65535: {form}")),
        };
        let (name, below) = name.strip_prefix("*.").map_or((name, false), |name| (name, true));
        let is_bare_v6 = name.contains(':') && !name.starts_with('[');
        let host = Host::read(name).filter(|_| !is_bare_v6);
        let host = host.ok_or_else(|| format!("`{text}` names no host: {form}"))?;
        match &host {
            Host::Address(_) if below => Err(format!("`{text}` names no host: {form}")),
            // Names that lead to this machine are refused, so that no other name can.
            Host::Name(name) if name == "localhost" || name.ends_with(".localhost") => {
                Err(format!(
                    "`{text}`: a server of this machine is named by its address, 127.0.0.1:{port}"
                ))
            }
            Host::Name(_) | Host::Address(_) => Ok(Self { host, below, port }),
        }
    }

    /// Whether it lets a client reach a host.
    pub fn allows(&self, host: &Host, port: u16) -> bool {
        self.port == port && self.has(host)
    }

    /// The address that it names; none if it names no address.
    pub fn address(&self) -> Option<IpAddr> {
        match self.host {
            Host::Address(address) => Some(address),
            Host::Name(_) => None,
        }
    }

    /// Whether it allows all that another rule allows.
    pub fn covers(&self, other: &Self) -> bool {
        self.port == other.port
            && match (self.below, other.below) {
                (false, true) => false,
                (true, true) => self.host == other.host || self.has(&other.host),
                (_, false) => self.has(&other.host),
            }
    }

    fn has(&self, host: &Host) -> bool {
        match (&self.host, host) {
            (Host::Name(own), Host::Name(name)) if self.below => {
                name.strip_suffix(own.as_str()).is_some_and(|front| front.ends_with('.'))
            }
            (own, host) => own == host,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> HostRule {
        HostRule::read(text).unwrap()
    }

    #[test]
    fn a_host_is_a_name_or_an_address_and_no_number_in_disguise() {
        let read = |text: &str| Host::read(text).map(|host| host.to_string());
        for (text, plain) in [
            ("Crates.IO", "crates.io"),
            ("crates.io.", "crates.io"),
            ("127.0.0.1", "127.0.0.1"),
            ("[::1]", "[::1]"),
            ("::1", "[::1]"),
            ("my_host", "my_host"),
            ("1password.com", "1password.com"),
        ] {
            assert_eq!(read(text).as_deref(), Some(plain), "{text}");
        }
        for text in [
            "",
            ".",
            "a..b",
            "crates.io..",
            "127.1",
            "2130706433",
            "0x7f000001",
            "0177.0.0.1",
            "a b",
            "a/b",
            "a:b",
            "a@b",
            "cr\u{e4}tes.io",
            "127.0.0.1.",
            "x\0",
            "*",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(Host::read(&"a.".repeat(200)), None);
    }

    #[test]
    fn a_rule_allows_what_it_names_and_nothing_beside() {
        let allows = |rule_text: &str, host: &str, port| {
            Host::read(host).is_some_and(|host| rule(rule_text).allows(&host, port))
        };
        assert!(allows("crates.io:443", "crates.io", 443));
        assert!(allows("CRATES.io.:443", "Crates.io.", 443));
        assert!(allows("*.crates.io:443", "static.crates.io", 443));
        assert!(allows("*.crates.io:443", "a.b.crates.io", 443));
        assert!(allows("[::1]:80", "::1", 80));
        for (rule, host, port) in [
            ("crates.io:443", "crates.io", 80),
            ("crates.io:443", "static.crates.io", 443),
            ("*.crates.io:443", "crates.io", 443),
            ("*.crates.io:443", "evilcrates.io", 443),
            ("*.crates.io:443", "crates.io.evil.org", 443),
            ("127.0.0.1:80", "127.0.0.2", 80),
            ("127.0.0.1:80", "::ffff:127.0.0.1", 80),
        ] {
            assert!(!allows(rule, host, port), "{rule} {host}");
        }
    }

    #[test]
    fn a_rule_that_can_never_mean_what_it_says_is_named() {
        for (text, why) in [
            ("crates.io", "no port"),
            ("crates.io:", "no port"),
            ("crates.io:0", "no port"),
            ("crates.io:https", "no port"),
            ("https://crates.io:443", "no host"),
            ("*:443", "no host"),
            ("*.127.0.0.1:443", "no host"),
            ("::1:80", "no host"),
            ("a.*.b:443", "no host"),
            ("localhost:8080", "127.0.0.1:8080"),
        ] {
            let fault = HostRule::read(text).unwrap_err();
            assert!(fault.contains(why), "{text}: {fault}");
        }
    }

    #[test]
    fn a_wider_rule_covers_a_narrower_one() {
        let covers = |one: &str, other: &str| rule(one).covers(&rule(other));
        assert!(covers("a.io:443", "A.io:443") && covers("*.a.io:443", "x.a.io:443"));
        assert!(covers("*.a.io:443", "*.a.io:443") && covers("*.a.io:443", "*.x.a.io:443"));
        assert!(!covers("a.io:443", "*.a.io:443") && !covers("*.a.io:443", "a.io:443"));
        assert!(!covers("a.io:443", "a.io:80"));
    }
}
