//! Web addresses in one plain form, so that a rule for a host cannot be got round by another spelling.
//!
//! What programs may read in different ways is not clear, and then it is no address here: no rule
//! allows it, and a rule that might forbid it asks.

use std::net::{Ipv4Addr, Ipv6Addr};

/// An address whose host is clear.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    /// All of it: the scheme and the host in small letters, without the usual port, and with a path.
    pub(super) whole: String,
    /// Scheme, host and port, up to the path.
    origin: String,
}

impl Address {
    /// The pattern of a rule for everything at its host. What was allowed over a safe connection is
    /// not allowed over another one.
    pub(super) fn of_host(&self) -> String {
        format!("{}/.*", regex::escape(&self.origin))
    }

    /// Its host and port, as grants name them.
    pub(super) fn host(&self) -> String {
        let (scheme, host) = self.origin.split_once("://").unwrap_or_default();
        let name_end = host.rfind(']').unwrap_or_default();
        if host.get(name_end..).is_some_and(|rest| rest.contains(':')) {
            return host.to_owned();
        }
        format!("{host}:{}", if scheme == "https" { "443" } else { "80" })
    }
}

/// The plain form of an address; `None` if it is not clear where it leads.
pub(super) fn plain(written: &str) -> Option<Address> {
    let is_odd = |letter: char| letter.is_whitespace() || letter.is_control() || letter == '\\';
    if written.contains(is_odd) {
        return None;
    }
    let (scheme, rest) = written.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let usual_port = match scheme.as_str() {
        "http" => "80",
        "https" => "443",
        _ => return None,
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, behind) = rest.split_at_checked(end)?;
    let (host, port) = host_and_port(authority)?;
    let origin = match port {
        Some(port) if port != usual_port => format!("{scheme}://{host}:{port}"),
        Some(_) | None => format!("{scheme}://{host}"),
    };
    let slash = if behind.starts_with('/') { "" } else { "/" };
    let path = behind.split(['?', '#']).next().unwrap_or_default();
    if path.split('/').any(is_detour) {
        return None;
    }
    Some(Address { whole: format!("{origin}{slash}{behind}"), origin })
}

/// The host in small letters, and the port if there is one.
fn host_and_port(authority: &str) -> Option<(String, Option<&str>)> {
    let (host, port) = if let Some(rest) = authority.strip_prefix('[') {
        let (host, behind) = rest.split_once(']')?;
        let address: Ipv6Addr = host.parse().ok()?;
        let port = if behind.is_empty() { None } else { Some(behind.strip_prefix(':')?) };
        (format!("[{address}]"), port)
    } else {
        let (host, port) = match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        };
        (named(host)?, port)
    };
    let is_number = |port: &str| port.parse::<u16>().is_ok_and(|number| number.to_string() == port);
    port.is_none_or(is_number).then_some((host, port))
}

/// A host by its name, or by its number in the usual form.
fn named(host: &str) -> Option<String> {
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    let is_plain =
        |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    if !host.chars().all(is_plain) || host.split('.').any(str::is_empty) {
        return None;
    }
    // What ends with a number is a number, however it is written: 0x7f.1 is 127.0.0.1.
    let last = host.rsplit('.').next().unwrap_or_default();
    let is_number = last.starts_with(|letter: char| letter.is_ascii_digit());
    (!is_number || host.parse::<Ipv4Addr>().is_ok()).then_some(host)
}

/// Whether a part of a path leads back.
fn is_detour(part: &str) -> bool {
    let part = part.to_ascii_lowercase().replace("%2e", ".");
    part == "." || part == ".."
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(written: &str) -> Option<String> {
        plain(written).map(|address| address.whole)
    }

    #[test]
    fn an_address_has_one_plain_form() {
        for (written, expected) in [
            ("https://docs.rs/serde", "https://docs.rs/serde"),
            ("HTTPS://Docs.RS:443/Serde?Q=1#x", "https://docs.rs/Serde?Q=1#x"),
            ("http://docs.rs", "http://docs.rs/"),
            ("http://docs.rs?q", "http://docs.rs/?q"),
            ("http://docs.rs.:8080/", "http://docs.rs:8080/"),
            ("http://10.0.0.1/", "http://10.0.0.1/"),
            ("http://[::1]:80/", "http://[::1]/"),
        ] {
            assert_eq!(whole(written).as_deref(), Some(expected), "{written}");
        }
    }

    #[test]
    fn what_programs_may_read_in_several_ways_is_not_clear() {
        for written in [
            "docs.rs",
            "ftp://docs.rs/",
            "file:///etc/passwd",
            "https:/docs.rs/",
            "https://docs.rs@evil.example/",
            "https://user:word@docs.rs/",
            "https://docs.rs\\@evil.example/",
            "https://docs.rs/a\n.example",
            " https://docs.rs/",
            "https://docs%2ers/",
            "https://dócs.rs/",
            "https://docs..rs/",
            "https://",
            "https://docs.rs:0443/",
            "https://docs.rs:99999/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://127.1/",
            "http://0177.0.0.1/",
            "https://docs.rs/a/../b",
            "https://docs.rs/a/%2E%2e/b",
        ] {
            assert_eq!(whole(written), None, "{written}");
        }
    }

    #[test]
    fn the_pattern_of_a_host_is_for_that_host_only() {
        let pattern = plain("https://docs.rs/a?b").unwrap().of_host();
        let pattern = regex::Regex::new(&format!(r"\A(?:{pattern})\z")).unwrap();
        for (address, expected) in [
            ("https://docs.rs", true),
            ("https://DOCS.rs/x/y", true),
            ("http://docs.rs/", false),
            ("https://docs.rs:8443/", false),
            ("https://docs.rs.evil.example/", false),
            ("https://docsxrs/", false),
            ("https://evil.example/https://docs.rs/", false),
        ] {
            assert_eq!(pattern.is_match(&whole(address).unwrap()), expected, "{address}");
        }
    }
}
