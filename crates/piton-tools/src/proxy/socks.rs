//! Clients that speak SOCKS5, without a login.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Ipv6Addr, TcpStream};

use piton_core::permit::host::Host;

use super::gateway::Gateway;
use super::refusal::{Refused, Target, Why};
use super::relay;

const VERSION: u8 = 5;
const NO_LOGIN: u8 = 0;
const NO_METHOD: u8 = 0xFF;
const CONNECT: u8 = 1;
const BY_V4: u8 = 1;
const BY_NAME: u8 = 3;
const BY_V6: u8 = 4;

/// What is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reply {
    Open = 0,
    Failed = 1,
    NotAllowed = 2,
    Unreachable = 4,
    NoSuchCommand = 7,
}

/// Hears where a client wants to go, and connects it.
pub(super) fn attend(gateway: &Gateway, mut client: &TcpStream) -> Result<(), Refused> {
    let [version, count] = read(client)?;
    let mut methods = vec![0; usize::from(count)];
    client.read_exact(&mut methods)?;
    if version != VERSION {
        return Err(Why::Unclear("this is no SOCKS5").into());
    }
    let has_method = methods.contains(&NO_LOGIN);
    client.write_all(&[VERSION, if has_method { NO_LOGIN } else { NO_METHOD }])?;
    if !has_method {
        return Err(Why::Unclear("a client of SOCKS that wants to log in").into());
    }
    let reached = asked(client).and_then(|target| Ok((gateway.reach(&target)?, target)));
    match reached {
        Ok((server, target)) => {
            answer(client, Reply::Open)?;
            relay::tunnel(gateway, (client, Vec::new()), &server, &target)
        }
        Err(refused) => {
            gateway.tell(&refused);
            let reply = match refused.why {
                _ if refused.is_by_wall() => Reply::NotAllowed,
                Why::NotFound(_) | Why::Unreachable(_) => Reply::Unreachable,
                Why::Unclear(COMMAND) => Reply::NoSuchCommand,
                Why::NotGranted
                | Why::LeadsTo(_)
                | Why::OtherServerName(_)
                | Why::NoServerName
                | Why::OtherHost(_)
                | Why::Unclear(_)
                | Why::Broken(_) => Reply::Failed,
            };
            answer(client, reply).ok();
            Err(refused)
        }
    }
}

/// What is said of a client that wants something else than a connection.
const COMMAND: &str = "a command of SOCKS other than CONNECT";

fn asked(mut client: &TcpStream) -> Result<Target, Refused> {
    let [version, command, _, kind] = read(client)?;
    if version != VERSION || command != CONNECT {
        return Err(Why::Unclear(COMMAND).into());
    }
    let (host, shown) = match kind {
        BY_V4 => {
            let address = Ipv4Addr::from(read::<4>(client)?);
            (Some(Host::Address(address.into())), address.to_string())
        }
        BY_V6 => {
            let address = Ipv6Addr::from(read::<16>(client)?);
            (Some(Host::Address(address.into())), address.to_string())
        }
        BY_NAME => {
            let [length] = read(client)?;
            let mut name = vec![0; usize::from(length)];
            client.read_exact(&mut name)?;
            let name = String::from_utf8_lossy(&name).into_owned();
            (Host::read(&name), name)
        }
        _ => return Err(Why::Unclear("the kind of an address of SOCKS").into()),
    };
    let port = u16::from_be_bytes(read(client)?);
    match host {
        Some(host) => Ok(Target { host, port }),
        None => Err(Refused { host: Some(format!("{shown}:{port}")), why: Why::NotGranted }),
    }
}

fn read<const N: usize>(mut client: &TcpStream) -> Result<[u8; N], Why> {
    let mut bytes = [0; N];
    client.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn answer(mut client: &TcpStream, reply: Reply) -> Result<(), Why> {
    // The address that it is bound to says nothing.
    client.write_all(&[VERSION, reply as u8, 0, BY_V4, 0, 0, 0, 0, 0, 0])?;
    Ok(())
}
