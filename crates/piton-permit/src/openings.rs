//! What openings in the wall mean: which places, hosts and names, whether some are among others, and what is wrong
//! with one.
//!
//! Knows texts only. A place is compared as it is written; what it means on a machine is found out by the tools.

use serde::Deserialize;
use serde_json::Value;

use super::host::{EVERYWHERE, HostRule};
use super::line::is_unseen;
use super::{obeyed, path};
use crate::grant::Grants;
use crate::preset::Preset;

/// Most entries of one kind of opening.
const ENTRIES_MAX: usize = 64;
/// Longest entry, in bytes.
const ENTRY_BYTES_MAX: usize = 4096;
/// Most that a call asks for, in bytes: what a question can show in whole.
const NEEDS_BYTES_MAX: usize = 2_000;
/// Where every confined command may write beside the workspace.
const TEMPORARY: [&str; 2] = ["/tmp", "/dev/shm"];

/// What a call asks for, as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Needs {
    preset: Option<Preset>,
    network: Vec<String>,
    sockets: Vec<String>,
    write: Vec<String>,
    read: Vec<String>,
    env: Vec<String>,
    devices: Vec<String>,
}

impl Needs {
    /// What is to be opened, or what is wrong with it.
    pub fn grants(self) -> Result<Grants, String> {
        let Self { preset, network, sockets, write, read, env, devices } = self;
        let mut grants = Grants { network, sockets, write, read, env, devices };
        let Grants { network, sockets, write, read, env, devices } = &grants;
        let entries = [network, sockets, write, read, env, devices].into_iter().flatten();
        if NEEDS_BYTES_MAX < entries.map(String::len).sum() {
            return Err(format!("more than {NEEDS_BYTES_MAX} bytes in all; ask for less"));
        }
        if let Some(preset) = preset {
            grants.add(&preset.grants_with_hosts(&grants.network));
        }
        fault(&grants).map_or(Ok(grants), Err)
    }
}

/// Reads what a call asks for: nothing, if that is not understood.
pub(super) fn read(value: &Value) -> Grants {
    let needs = serde_json::from_value::<Needs>(value.clone());
    needs.ok().and_then(|needs| needs.grants().ok()).unwrap_or_default()
}

/// Whether openings are among others. `workspace` and `added` are open anyway, except what programs outside
/// obey.
pub(super) fn covers(given: &Grants, wanted: &Grants, workspace: &str, added: &[String]) -> bool {
    let listed = |given: &[String], entry: &String| {
        given.iter().any(|own| own == entry || own == EVERYWHERE)
    };
    let below = |places: &[String], place: &String| places.iter().any(|root| is_below(place, root));
    let in_open_place = |place: &String| {
        // `~/x` is no path in the workspace.
        let whole = Some(place.as_str()).filter(|place| place.starts_with('/'));
        let inside = whole.and_then(|place| path::within_any(workspace, added, place));
        // Also where the workspace lies below one of these.
        inside.map_or_else(
            || TEMPORARY.iter().any(|root| is_below(place, root)),
            |inside| !obeyed::is_one(&inside),
        )
    };
    let writes = |place: &String| below(&given.write, place) || in_open_place(place);
    wanted.network.iter().all(|host| reaches(&given.network, host))
        && wanted.sockets.iter().all(|socket| listed(&given.sockets, socket))
        && wanted.write.iter().all(writes)
        && wanted.read.iter().all(|place| below(&given.read, place) || writes(place))
        && wanted.env.iter().all(|name| given.env.contains(name))
        && wanted.devices.iter().all(|device| below(&given.devices, device))
}

/// Whether a host with its port is among those that are opened.
pub(super) fn reaches(given: &[String], wanted: &str) -> bool {
    if given.iter().any(|own| own == EVERYWHERE) {
        return true;
    }
    let Ok(wanted) = HostRule::read(wanted) else { return false };
    given.iter().filter_map(|own| HostRule::read(own).ok()).any(|own| own.covers(&wanted))
}

/// Whether a path, as it is in the workspace, lies in a place that is opened for writing.
pub(super) fn writes(given: &Grants, workspace: &str, path: &str) -> bool {
    let whole = if path.starts_with('/') { path.to_owned() } else { format!("{workspace}/{path}") };
    given.write.iter().any(|root| is_below(&whole, root))
}

fn is_below(place: &str, root: &str) -> bool {
    let root = root.trim_end_matches('/');
    place.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// What openings mean, in words that follow "it asks to" or "it may".
pub fn words(grants: &Grants) -> Vec<String> {
    let Grants { network, sockets, write, read, env, devices } = grants;
    let mut words = Vec::new();
    let mut say = |entries: &[String], all: &str, one: &str| {
        let is_all = |entry: &String| entry == EVERYWHERE;
        if entries.iter().any(is_all) {
            words.push(all.to_owned());
        } else if !entries.is_empty() {
            let shown: Vec<_> = entries.iter().map(|entry| shown(entry)).collect();
            words.push(format!("{one} {}", shown.join(", ")));
        }
    };
    say(network, "connect to every host", "connect to");
    say(sockets, "use all sockets of this machine", "use the socket");
    say(write, "write everywhere", "write in");
    say(read, "read everywhere", "read");
    say(env, "see all variables", "see the variable");
    say(devices, "use all devices", "use the device");
    words
}

/// An entry, in quotes if it could be read as more words than one.
fn shown(entry: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "_./:$~*@%+=-[]".contains(letter);
    let shown = if entry.chars().all(plain) { entry.to_owned() } else { format!("{entry:?}") };
    if entry.ends_with("docker.sock") {
        return format!("{shown} (and with it do anything on this machine)");
    }
    shown
}

/// What is wrong with openings; none if they mean something.
pub fn fault(grants: &Grants) -> Option<String> {
    let Grants { network, sockets, write, read, env, devices } = grants;
    let all = [network, sockets, write, read, env, devices];
    if all.iter().any(|entries| ENTRIES_MAX < entries.len()) {
        return Some(format!("more than {ENTRIES_MAX} entries of one kind"));
    }
    if all.iter().any(|entries| entries.iter().any(|entry| ENTRY_BYTES_MAX < entry.len())) {
        return Some(format!("an entry is longer than {ENTRY_BYTES_MAX} bytes"));
    }
    let hosts = network.iter().filter(|host| *host != EVERYWHERE);
    hosts
        .filter_map(|host| HostRule::read(host).err())
        .chain(sockets.iter().filter_map(|it| of_socket(it)))
        .chain(write.iter().chain(read).chain(devices).filter_map(|it| of_place(it)))
        .chain(env.iter().filter_map(|name| of_name(name)))
        .next()
}

fn of_socket(socket: &str) -> Option<String> {
    match socket.strip_prefix('$') {
        _ if socket == EVERYWHERE => None,
        Some(name) => of_name(name),
        None => of_place(socket),
    }
}

fn of_place(place: &str) -> Option<String> {
    let is_whole = place.starts_with('/') || place.starts_with("~/");
    let has_detour = place.split('/').skip(1).any(|name| matches!(name, "." | ".."));
    if !is_whole {
        return Some(format!("`{place}` must begin with / or ~/"));
    }
    let is_odd = place.contains(['*', '\0']) || place.chars().any(is_unseen);
    (has_detour || is_odd).then(|| format!("`{place}`: write a plain path, without `..` and `*`"))
}

fn of_name(name: &str) -> Option<String> {
    let letter = |it: char| it.is_ascii_alphanumeric() || it == '_';
    let is_name = !name.is_empty() && name.chars().all(letter);
    (!is_name).then(|| format!("`{name}` is no name of a variable"))
}
