//! The variables by which programs find the proxy. Each program knows other names.

use std::net::{IpAddr, Ipv4Addr};
use std::process::Command;

use piton_core::permit::host::HostRule;

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
    Some(format!("ssh -o ControlPath=none -o ProxyCommand='{program} {word} {connect} %h %p'"))
}
