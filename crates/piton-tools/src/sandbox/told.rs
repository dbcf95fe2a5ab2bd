//! What is told of a command that failed behind the wall: what stood in its way, as far as that can be known,
//! and what to ask for.
//!
//! The kernel tells nobody what it refused. So what a command printed is held against its policy: a path on a
//! line that complains, a host that could not be reached. What the proxy refused is known exactly.

use std::path::{Component, Path, PathBuf};

use piton_core::event::Grants;
use piton_core::permit::grants::words;
use piton_core::permit::host::{Host, HostRule};
use piton_core::permit::obeyed;
use rustix::fs::{Access, FileType, Mode, access, stat};

use super::policy::Policy;
use super::walls::DEVICES;
use crate::contract::excerpt;
use crate::proxy::NOT_GRANTED;

/// What programs print when they are refused something, in small letters.
const SIGNS: [&str; 10] = [
    "permission denied",
    "not permitted",
    "eacces",
    "eperm",
    "read-only",
    "erofs",
    "device or resource busy",
    "ebusy",
    "bad system call",
    // git, of objects.
    "unable to create temporary",
];
/// What they print when a file is locked because programs outside obey it.
const LOCK_SIGNS: [&str; 4] = ["read-only", "erofs", "device or resource busy", "ebusy"];
/// What is told of a command that goes on without the network of this machine.
const APART_TOLD: &str = "[it has no network of this machine: commands in the sandbox reach a server that it starts, the \
                          user does not. If that is needed, call again with needs, such as \
                          {\"network\":[\"127.0.0.1:PORT\"]}: a yes of the user runs it outside]";
/// What they print when a file became too large.
const FILE_SIGNS: [&str; 2] = ["file size limit", "file too large"];
/// A megabyte, in bytes.
const MB: u64 = 1 << 20;
/// What they print when there is no network.
const NETWORK_SIGNS: [&str; 7] =
    ["resolv", "network", "socket", "connect", "unreachable", "unable to access", "getaddrinfo"];
/// Words that stand in front of the name of a host.
const HOST_SIGNS: [&str; 5] = ["host", "hostname", "to", "eai_again", "enotfound"];
/// What they print when a directory cannot be made.
const DIRECTORY_SIGNS: [&str; 2] = ["create directory", "mkdir"];
/// What they print when they do not find what is outside the wall of a command that only looks.
const LOOK_SIGNS: [&str; 2] = ["not found", "not a git repository"];
/// What is told then. There is a way out: what runs other programs asks.
const LOOKS_TOLD: &str = "[it ran without asking the user, in a sandbox that reads only the workspace \
                          and the system's own files, writes nowhere and has no network; to ask the \
                          user instead, put `env` in front of the command]";
/// Most places that are told.
const PLACES_TOLD_MAX: usize = 4;
/// Longest note about a sandbox, in bytes.
const TOLD_BYTES_MAX: usize = 768;
/// Lines of an output that are looked through, from its end.
const LINES_MAX: usize = 200;
/// Longest line that is looked at, in bytes.
const LINE_BYTES_MAX: usize = 4096;
/// Ports by the schemes of addresses.
const PORTS: [(&str, u16); 5] =
    [("https", 443), ("http", 80), ("ssh", 22), ("git", 9418), ("git+https", 443)];
/// Programs by the words that start them, and what opens all that they usually need.
const PRESETS: [(&str, &str); 8] = [
    ("cargo", "cargo"),
    ("go", "go"),
    ("npm", "npm"),
    ("npx", "npm"),
    ("pip", "pip"),
    ("pip3", "pip"),
    ("ssh", "git-ssh"),
    ("git", "git-ssh"),
];
/// The preset of those that speak SSH. Others than `ssh` do so only now and then.
const OF_SSH: &str = "git-ssh";
/// Where the files of SSH are, from the user's own directory on.
const SSH_FILES: &str = "~/.ssh/";
/// What joins commands, so that the exit code is not that of each of them.
const JOINTS: [char; 3] = ['|', ';', '\n'];
/// What parts the words of a message.
const EDGES: [char; 17] = [
    '\'', '"', '`', '\u{2018}', '\u{2019}', '\u{201c}', '\u{201d}', '(', ')', '<', '>', '[', ']',
    ',', ';', '|', '=',
];

/// What a line complains about.
#[derive(Clone, Copy, Debug)]
struct Complaint {
    /// Files.
    of_files: bool,
    /// A directory that cannot be made.
    of_directory: bool,
}

/// A command that has run, as far as the sandbox tells about it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RanCommand<'a> {
    pub(crate) command: &'a str,
    pub(crate) directory: &'a Path,
    /// Whether its exit code says that something went wrong.
    pub(crate) has_failed: bool,
    /// What the proxy refused: hosts, and why.
    pub(crate) refused: &'a [(String, String)],
}

impl Policy {
    /// Adds to what a command printed what the sandbox stopped, if something in there looks as if that were
    /// the reason. Where the exit code is that of another command (`curl … | tail`), only what is known.
    pub(crate) fn explain(&self, ran: RanCommand<'_>, text: &mut String) {
        let printed = text.to_ascii_lowercase();
        let has = |signs: &[&str]| signs.iter().any(|sign| printed.contains(sign));
        if self.looks.is_some() {
            if ran.has_failed && (has(&SIGNS) || has(&LOOK_SIGNS)) {
                excerpt::note(text, LOOKS_TOLD);
            }
            return;
        }
        if let Some(most) = self.limits.file_bytes
            && ran.has_failed
            && has(&FILE_SIGNS)
        {
            let most = most / MB;
            let told =
                format!("[files have at most {most} MB in the sandbox; the user can change that]");
            excerpt::note(text, &told);
        }
        let is_unreached = !self.network && has(&NETWORK_SIGNS);
        if !ran.refused.is_empty() {
            return excerpt::note(text, excerpt::head(&of_hosts(ran.refused), TOLD_BYTES_MAX));
        }
        let mut missing = Missing::default();
        if ran.has_failed {
            missing.grants.env = self.withheld_from(ran.command, text);
        }
        let is_stopped = has(&SIGNS) || is_unreached;
        if is_stopped && (ran.has_failed || ran.command.contains(JOINTS)) {
            self.find_missing(ran, text, &mut missing);
        }
        let told = match (missing.grants.is_empty() && missing.preset.is_none(), ran.has_failed) {
            (true, true) if is_stopped => self.told(is_unreached),
            (true, _) => return,
            (false, has_failed) => missing.told(has_failed),
        };
        excerpt::note(text, excerpt::head(&told, TOLD_BYTES_MAX));
    }

    /// What is to be said of a command that goes on: it may be a server.
    pub(crate) fn apart(&self) -> Option<&'static str> {
        (!self.network && self.looks.is_none()).then_some(APART_TOLD)
    }

    /// What would have to be opened, as far as the output tells.
    fn find_missing(&self, ran: RanCommand<'_>, text: &str, found: &mut Missing) {
        let Missing { grants: missing, locked, .. } = found;
        for line in text.lines().rev().take(LINES_MAX).filter(|line| line.len() <= LINE_BYTES_MAX) {
            let small = line.to_ascii_lowercase();
            let complains = |signs: &[&str]| signs.iter().any(|sign| small.contains(sign));
            let (of_files, of_hosts) = (complains(&SIGNS), complains(&NETWORK_SIGNS));
            if of_files || of_hosts {
                let complaint = Complaint { of_files, of_directory: complains(&DIRECTORY_SIGNS) };
                let paths = texts(told_by(line)).filter_map(|word| path_in(word, ran.directory));
                paths.for_each(|path| self.note_path(&path, complaint, missing));
            }
            if complains(&LOCK_SIGNS) {
                // Words without these are words: "could not write config file .git/config".
                let names = texts(told_by(line)).filter(|word| word.contains(['/', '.']));
                let paths = names.map(|word| plain(&ran.directory.join(word)));
                locked.extend(paths.filter(|path| self.locks(path)));
            }
            if of_hosts && !self.network {
                missing.add(&Grants { network: hosts_in(line), ..Grants::default() });
            }
        }
        let unreached = NETWORK_SIGNS.iter().any(|sign| text.to_ascii_lowercase().contains(sign));
        let nothing_known = missing.network.is_empty() && missing.sockets.is_empty();
        if unreached && nothing_known && !self.network && missing.write.is_empty() {
            missing.network = texts(ran.command).filter_map(address_in).collect();
        }
        missing.network.retain(|host| !self.granted.hosts.contains(host));
        locked.sort();
        locked.dedup();
        missing.add(&Grants {
            write: locked.iter().map(|it| tilde(it)).collect(),
            ..Grants::default()
        });
        for entries in [&mut missing.network, &mut missing.write, &mut missing.read] {
            entries.truncate(PLACES_TOLD_MAX);
        }
        self.find_preset(ran, text, found);
    }

    /// The preset for a program that was stopped, which opens what it would be stopped at next.
    fn find_preset(&self, ran: RanCommand<'_>, text: &str, found: &mut Missing) {
        let Missing { grants: missing, preset, .. } = found;
        let is_of_ssh = |place: &String| place.starts_with(SSH_FILES);
        let reads_keys = missing.read.iter().any(is_of_ssh);
        let speaks_ssh = reads_keys || text.lines().any(|line| line.starts_with("ssh: "));
        if missing.network.is_empty() && !reads_keys {
            return;
        }
        let words: Vec<&str> = texts(ran.command).collect();
        let fits = |(word, preset): &&(&str, &str)| {
            words.contains(word) && (*preset != OF_SSH || speaks_ssh)
        };
        *preset = PRESETS.iter().find(fits).map(|(_, preset)| *preset);
        if *preset == Some(OF_SSH) {
            // The agent has the keys; no program needs to read them.
            missing.read.retain(|place| !is_of_ssh(place));
            // Hosts that are named stand in place of those that the preset opens.
            missing.network.extend(self.granted.hosts.iter().cloned());
        }
    }

    /// Whether a path is one that programs outside obey, where this command could write otherwise.
    fn locks(&self, path: &Path) -> bool {
        let below = self.write.iter().find_map(|root| path.strip_prefix(root).ok());
        let name = below.and_then(Path::to_str);
        name.is_some_and(obeyed::is_one) && !self.granted.write.iter().any(|it| it == path)
    }

    /// Variables that it was not given, and that it or its output speaks of.
    fn withheld_from(&self, command: &str, text: &str) -> Vec<String> {
        let names = |name: &String| {
            let parts = |text: &str| {
                text.split(|it: char| !it.is_ascii_alphanumeric() && it != '_').any(|it| it == name)
            };
            text.lines().rev().take(LINES_MAX).any(parts) || parts(command)
        };
        let withheld = self.withheld().filter_map(|name| name.into_string().ok()).filter(names);
        withheld.take(PLACES_TOLD_MAX).collect()
    }

    /// Notes what stands in the way of a path, if anything does. Where a line does not complain of files, it can only
    /// be a socket.
    fn note_path(&self, path: &Path, complaint: Complaint, missing: &mut Grants) {
        let kind = stat(path).ok().map(|it| FileType::from_raw_mode(it.st_mode));
        let is_socket =
            kind == Some(FileType::Socket) || path.extension().is_some_and(|it| it == "sock");
        let more = if is_socket {
            let sockets = if self.unix_sockets { Vec::new() } else { vec![tilde(path)] };
            Grants { sockets, ..Grants::default() }
        } else if !complaint.of_files {
            Grants::default()
        } else if path.starts_with(DEVICES) && path != Path::new(DEVICES) {
            let devices = if self.opens(path) { Vec::new() } else { vec![tilde(path)] };
            Grants { devices, ..Grants::default() }
        } else if self.hides(path) {
            Grants { read: vec![tilde(path)], ..Grants::default() }
        } else if let Some(place) = self.kept_from(path, complaint.of_directory) {
            Grants { write: vec![tilde(&place)], ..Grants::default() }
        } else {
            Grants::default()
        };
        missing.add(&more);
    }

    fn hides(&self, path: &Path) -> bool {
        let below = |places: &[PathBuf]| places.iter().any(|place| path.starts_with(place));
        let opened = below(&self.granted.read) || below(&self.granted.write);
        !opened && (below(&self.closed) || below(&self.unread))
    }

    /// Whether it may write there.
    fn opens(&self, path: &Path) -> bool {
        let mut written = self.write.iter().chain(&self.granted.write).chain(&self.granted.devices);
        written.any(|root| path.starts_with(root))
    }

    /// Where it would have to write for this path, if the wall and nothing else keeps it from there. A directory
    /// that is to be made has a slash at its end, which makes it: the one above it need not be opened.
    fn kept_from(&self, path: &Path, is_directory: bool) -> Option<PathBuf> {
        if self.opens(path) {
            return None;
        }
        // A place that is not there is made in the one above it.
        let there = path.ancestors().find(|place| place.exists())?;
        access(there, Access::WRITE_OK).ok()?;
        // A user's whole directory is never what a program needs.
        let home = home();
        if home.as_deref() == Some(path) {
            return None;
        }
        if home.as_deref() == Some(there) && !is_directory {
            return Some(path.to_owned());
        }
        match path.ancestors().take_while(|place| !place.exists()).last() {
            Some(made) if is_directory || made != path => Some(made.join("")),
            Some(_) | None => Some(there.to_owned()),
        }
    }

    /// What it could not do, where nothing nearer is known.
    fn told(&self, is_unreached: bool) -> String {
        let places = self.write.iter().skip(1).filter(|place| !place.starts_with("/dev"));
        let mut places: Vec<_> = places.map(|place| tilde(place)).collect();
        places.insert(0, "the workspace".into());
        if PLACES_TOLD_MAX < places.len() {
            places.truncate(PLACES_TOLD_MAX);
            places.push("and more".into());
        }
        let network = match (self.network, self.granted.hosts.as_slice()) {
            (true, _) => String::new(),
            (false, []) => "; no network".into(),
            (false, hosts) => format!("; of the network only {}", hosts.join(", ")),
        };
        let sockets = if self.unix_sockets { "" } else { "; no Unix sockets" };
        let places = places.join(", ");
        let closed = if self.closed.is_empty() { "" } else { "; some places cannot be read" };
        let example =
            if is_unreached { r#"{"network":["HOST:PORT"]}"# } else { r#"{"write":["/PLACE"]}"# };
        format!(
            "[it ran in a sandbox: writes only in {places}{closed}{network}{sockets}. If it needs more, call \
             again with needs, such as {example}, and the user is asked]"
        )
    }
}

/// What would have to be opened, where it is known.
#[derive(Debug, Default)]
struct Missing {
    grants: Grants,
    /// A program that usually needs more than that.
    preset: Option<&'static str>,
    /// Places that are closed because programs outside obey them.
    locked: Vec<PathBuf>,
}

impl Missing {
    fn told(&self, has_failed: bool) -> String {
        let words = words(&self.grants).join(", nor ");
        let mut needs = serde_json::json!(self.grants);
        if let (Some(preset), Some(fields)) = (self.preset, needs.as_object_mut()) {
            fields.insert("preset".into(), preset.into());
        }
        let begin = if has_failed { "the sandbox did not let it go on" } else { "in the sandbox" };
        let what = if words.is_empty() { "use what it needs".into() } else { words };
        let why = if self.locked.is_empty() { "" } else { " (programs outside obey it)" };
        format!(
            "[{begin}: it may not {what}{why}. If that is needed, call again with needs {needs}, and the user is \
             asked]"
        )
    }
}

/// What is told of hosts that the proxy refused. It knows them exactly.
fn of_hosts(refused: &[(String, String)]) -> String {
    let mut told: Vec<String> = Vec::new();
    let mut network: Vec<String> = Vec::new();
    for (host, why) in refused {
        let line = format!("{host} {why}");
        if !told.contains(&line) && told.len() < PLACES_TOLD_MAX {
            told.push(line);
        }
        let is_missing = why == NOT_GRANTED && HostRule::read(host).is_ok();
        if is_missing && !network.contains(host) && network.len() < PLACES_TOLD_MAX {
            network.push(host.clone());
        }
    }
    let told = told.join("; ");
    if network.is_empty() {
        return format!("[the sandbox's network: {told}]");
    }
    let needs = serde_json::to_string(&Grants { network, ..Grants::default() }).unwrap_or_default();
    format!(
        "[the sandbox's network: {told}. If that is needed, call again with needs {needs}, and the user is asked]"
    )
}

/// A message without the program that it comes from, where it begins with the whole path of one.
fn told_by(line: &str) -> &str {
    let is_program = |path: &str| {
        let found = path.starts_with('/').then(|| stat(path).ok()).flatten();
        found.is_some_and(|found| {
            let (kind, mode) = (FileType::from_raw_mode(found.st_mode), Mode::from(found.st_mode));
            kind == FileType::RegularFile && mode.contains(Mode::XUSR)
        })
    };
    match line.split_once(": ") {
        Some((program, rest)) if is_program(program) => rest,
        Some(_) | None => line,
    }
}

/// The words of a message.
fn texts(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split(|letter: char| letter.is_whitespace() || EDGES.contains(&letter));
    words.map(|word| word.trim_end_matches([':', '.', '!'])).filter(|word| !word.is_empty())
}

/// The path that a word is, without detours.
fn path_in(word: &str, directory: &Path) -> Option<PathBuf> {
    // `program:/path` has one behind its first colon.
    let word = if word.starts_with(['/', '~', '.']) { word } else { word.split_once(':')?.1 };
    let path = match word.strip_prefix("~/") {
        Some(rest) => home()?.join(rest),
        None if word.starts_with('/') && 1 < word.len() && !word.starts_with("//") => word.into(),
        None if word.starts_with("../") || word.starts_with("./") => directory.join(word),
        None => return None,
    };
    Some(plain(&path))
}

/// A path without detours.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            Component::RootDir | Component::Normal(_) | Component::Prefix(_) => plain.push(part),
        }
    }
    plain
}

/// The hosts that a line complains about, each with its port.
fn hosts_in(line: &str) -> Vec<String> {
    let words: Vec<&str> = texts(line).collect();
    let mut hosts: Vec<String> = words.iter().copied().filter_map(address_in).collect();
    if !hosts.is_empty() {
        return hosts;
    }
    for pair in words.windows(2) {
        let [word, name] = pair else { continue };
        let is_named = HOST_SIGNS.contains(&word.to_ascii_lowercase().as_str());
        let Some(host) = Host::read(name).filter(|_| is_named && name.contains('.')) else {
            continue;
        };
        let behind = words.iter().skip_while(|it| *it != name).skip(1);
        let mut behind = behind.skip_while(|it| **it != "port").skip(1);
        let port = behind.next().and_then(|port| port.parse::<u16>().ok());
        let usual = if line.contains("ssh") { 22 } else { 443 };
        hosts.push(format!("{host}:{}", port.unwrap_or(usual)));
    }
    hosts
}

/// The host of a word that is a web address or the like, with its port.
fn address_in(word: &str) -> Option<String> {
    let Some((scheme, rest)) = word.split_once("://") else {
        // As git writes it: `git@host:path`.
        let (host, path) = word.strip_prefix("git@")?.split_once(':')?;
        let host = Host::read(host).filter(|_| !path.is_empty())?;
        return Some(format!("{host}:22"));
    };
    let place = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let place = place.rsplit_once('@').map_or(place, |(_, place)| place);
    let usual = PORTS.iter().find(|(name, _)| scheme.ends_with(name)).map(|(_, port)| *port);
    let (name, port) = match place.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && !port.ends_with(']') => (name, port.parse().ok()),
        Some(_) | None => (place, usual),
    };
    Some(format!("{}:{}", Host::read(name)?, port?))
}

fn home() -> Option<PathBuf> {
    std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute())
}

/// A path as grants write it: from the user's own directory where it lies there.
fn tilde(path: &Path) -> String {
    let below = home().and_then(|home| path.strip_prefix(home).ok().map(Path::to_owned));
    match below {
        Some(below) if below.as_os_str().is_empty() => path.display().to_string(),
        Some(below) => format!("~/{}", below.display()),
        None => path.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(root: &Path) -> Policy {
        Policy {
            write: vec![root.join("work"), "/dev/null".into(), root.join("cache")],
            closed: vec![root.join("closed")],
            ..Policy::default()
        }
    }

    fn explained(policy: &Policy, root: &Path, command: &str, printed: &str) -> String {
        let mut text = printed.to_owned();
        let (directory, has_failed) = (&root.join("work"), true);
        policy.explain(RanCommand { command, directory, has_failed, refused: &[] }, &mut text);
        text.strip_prefix(printed).unwrap().trim_start().to_owned()
    }

    #[test]
    fn what_was_stopped_is_named_and_how_to_ask_for_it() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for name in ["work", "cache", "closed", "other"] {
            std::fs::create_dir(root.join(name)).unwrap();
        }
        let shown = root.display().to_string();
        let policy = policy(&root);
        let told = |printed: &str| explained(&policy, &root, "x", &printed.replace("ROOT", &shown));
        let needs = |needs: &str| format!("needs {}", needs.replace("ROOT", &shown));
        for (printed, wanted) in [
            (
                "touch: cannot touch 'ROOT/other/x': Permission denied",
                r#"{"write":["ROOT/other"]}"#,
            ),
            ("sh: 1: cannot create ../other/x: Permission denied", r#"{"write":["ROOT/other"]}"#),
            (
                "mkdir: cannot create directory 'ROOT/other/x': Permission denied",
                r#"{"write":["ROOT/other/x/"]}"#,
            ),
            (
                "fatal: could not create leading directories of 'ROOT/other/new/.git': Permission denied",
                r#"{"write":["ROOT/other/new/"]}"#,
            ),
            (
                "npm error errno EAI_AGAIN getaddrinfo EAI_AGAIN registry.npmjs.org",
                r#"{"network":["registry.npmjs.org:443"]}"#,
            ),
            (
                "/bin/sh: 1: cannot create ../other/x: Permission denied",
                r#"{"write":["ROOT/other"]}"#,
            ),
            ("cat: ROOT/closed/key: Permission denied", r#"{"read":["ROOT/closed/key"]}"#),
            ("head: cannot open '/dev/pts/7': Permission denied", r#"{"devices":["/dev/pts/7"]}"#),
            ("curl: (6) Could not resolve host: crates.io", r#"{"network":["crates.io:443"]}"#),
            (
                "fatal: unable to access 'https://git.example:8443/a.git/': Could not resolve host: git.example",
                r#"{"network":["git.example:8443"]}"#,
            ),
            (
                "ssh: Could not resolve hostname git.example: Temporary failure in name resolution",
                r#"{"network":["git.example:22"]}"#,
            ),
            ("Failed to connect to a.example port 8080: no", r#"{"network":["a.example:8080"]}"#),
            (
                "dial unix /var/run/docker.sock: connect: operation not permitted",
                r#"{"sockets":["/var/run/docker.sock"]}"#,
            ),
        ] {
            let told = told(printed);
            assert!(told.contains(&needs(wanted)), "{printed}: {told}");
        }
        let resolution = "socket.gaierror: Temporary failure in name resolution";
        let by_command =
            explained(&policy, &root, "python x.py https://pypi.org/simple/", resolution);
        assert!(by_command.contains(r#"{"network":["pypi.org:443"]}"#), "{by_command}");
    }

    #[test]
    fn what_is_not_known_is_not_claimed() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("work")).unwrap();
        let mut policy = policy(&root);
        let told = |policy: &Policy, printed: &str| explained(policy, &root, "x", printed);
        assert_eq!(told(&policy, "3 tests failed"), "");
        let git = "error: remote unpack failed: unable to create temporary object directory";
        assert!(told(&policy, git).contains("it ran in a sandbox"));
        let denied = told(&policy, "f: Permission denied");
        assert!(denied.contains("writes only in the workspace"), "{denied}");
        assert!(denied.contains("no network; no Unix sockets"), "{denied}");
        assert!(told(&policy, "Network is unreachable").contains(r#"{"network":["HOST:PORT"]}"#));
        // In the workspace the wall is not in the way.
        let inside = format!("{}/work/f: Permission denied", root.display());
        assert!(!told(&policy, &inside).contains(r#"needs {"write":["~"#), "{inside}");
        policy.granted.hosts = vec!["crates.io:443".into()];
        let granted = told(&policy, "Could not resolve host: crates.io");
        assert!(granted.contains("of the network only crates.io:443"), "{granted}");
    }

    #[test]
    fn a_look_is_told_its_own_way_out() {
        let looks = crate::sandbox::Looks { read: Vec::new(), programs: Vec::new() };
        let policy = Policy { looks: Some(looks), ..policy(Path::new("/r")) };
        let told = explained(&policy, Path::new("/r"), "cat x", "cat: x: Permission denied");
        assert!(told.contains("put `env` in front"), "{told}");
    }
}
