//! The variables by which programs find the proxy. Each program knows other names.

use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::process::Command;

use piton_core::permit::host::HostRule;
use rustix::process::geteuid;

use super::connect;
use super::ports::{HTTP_PORT, SOCKS_PORT};
use crate::reexec;

/// Names that are set to the address of the listener for HTTP.
const HTTP: [&str; 7] = [
    "HTTP_PROXY",
    "http_proxy",
    "HTTPS_PROXY",
    "https_proxy",
    "CARGO_HTTP_PROXY",
    "npm_config_proxy",
    "npm_config_https_proxy",
];
/// Names that are set to the address of the listener for SOCKS; it looks names up.
const SOCKS: [&str; 2] = ["ALL_PROXY", "all_proxy"];
/// Names of what is not asked through the proxy.
const DIRECTLY: [&str; 2] = ["NO_PROXY", "no_proxy"];
/// Where systems keep pieces of what `ssh` is told for all users.
const SSH_PIECES: [&str; 2] = ["/etc/ssh/ssh_config.d", "/usr/etc/ssh/ssh_config.d"];
/// Has `ssh` read what its user tells it, and nothing else. Whether that can be read is tried: `test -r` does not know
/// of the wall.
const SSH_OF_USER: &str =
    r#" -F "$(cat ~/.ssh/config >/dev/null 2>&1 && echo ~/.ssh/config || echo none)""#;

/// Tells a command where its proxy is.
pub(crate) fn set_variables(hosts: &[String], command: &mut Command) {
    let (http, socks) =
        (format!("http://127.0.0.1:{HTTP_PORT}"), format!("socks5h://127.0.0.1:{SOCKS_PORT}"));
    command.envs(HTTP.map(|name| (name, &http))).envs(SOCKS.map(|name| (name, &socks)));
    // A server of the command's own stays within reach, unless one of the machine outside is granted.
    let rules = || hosts.iter().filter_map(|host| HostRule::read(host).ok());
    let is_granted = rules().any(|rule| rule.address() == Some(IpAddr::V4(Ipv4Addr::LOCALHOST)));
    let directly = if is_granted { "localhost,::1" } else { "localhost,127.0.0.1,::1" };
    command.envs(DIRECTLY.map(|name| (name, directly)));
    command.env("NODE_USE_ENV_PROXY", "1");
    if let Some(ssh) = ssh() {
        command.env("GIT_SSH_COMMAND", ssh);
    }
}

/// `ssh` with our own binary as its client of the proxy; none if the binary has no plain name.
fn ssh() -> Option<String> {
    let program = std::env::current_exe().ok()?;
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+".contains(byte);
    let program = program.to_str().filter(|it| it.as_bytes().iter().all(plain))?.to_owned();
    let (word, connect) = (reexec::WORD, connect::WORD);
    let reads = ssh_reads(geteuid().is_root(), &SSH_PIECES.map(Path::new));
    let proxy = format!("-o ProxyCommand='{program} {word} {connect} %h %p'");
    Some(format!("ssh{reads} -o ControlPath=none {proxy}"))
}

/// What `ssh` is to read. It refuses to start where such a piece belongs to others than root and its user, and in the
/// namespaces of a user root's files belong to nobody.
fn ssh_reads(is_root: bool, pieces: &[&Path]) -> &'static str {
    let has_piece =
        |place: &&Path| fs::read_dir(place).is_ok_and(|mut pieces| pieces.next().is_some());
    if !is_root && pieces.iter().any(has_piece) { SSH_OF_USER } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ssh_leaves_out_what_it_would_refuse_to_read_and_only_then() {
        let directory = tempfile::tempdir().unwrap();
        let (none, some) = (directory.path().join("none"), directory.path().join("some"));
        fs::create_dir(&some).unwrap();
        let pieces = [none.as_path(), some.as_path()];
        assert_eq!(ssh_reads(false, &pieces), "");
        fs::write(some.join("20-proxy.conf"), "").unwrap();
        assert_eq!(ssh_reads(false, &pieces), SSH_OF_USER);
        assert_eq!(ssh_reads(true, &pieces), "");
        assert_eq!(ssh_reads(false, &pieces[..1]), "");
    }
}
