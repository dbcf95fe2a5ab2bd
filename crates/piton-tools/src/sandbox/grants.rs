//! What grants open in a policy, on this machine.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use piton_core::event::Grants;
use piton_core::permit::host::EVERYWHERE;

use super::policy::Policy;
use super::rules::Rules;
use crate::contract::real_path::Lead;

/// What a directory allows that a grant names and that was not there: everything to its owner.
const PRIVATE_DIRECTORY: u32 = 0o700;

impl Rules {
    /// Opens what was granted to one command.
    pub(super) fn open(&self, grants: &Grants, policy: &mut Policy) {
        let Grants { network, sockets, write, read, env, devices } = grants;
        if !self.barred && !policy.network {
            let mut hosts = self.hosts.clone();
            hosts.extend(network.iter().filter(|host| !self.hosts.contains(host)).cloned());
            policy.network = hosts.iter().any(|host| host == EVERYWHERE);
            policy.granted.hosts = if policy.network { Vec::new() } else { hosts };
        }
        policy.env.extend(env.iter().filter(|name| !self.env.contains(name)).cloned());
        let places = |entries: &[String], policy: &Policy| -> Vec<PathBuf> {
            entries.iter().filter_map(|entry| self.place(entry, policy)).collect()
        };
        policy.granted.write = places(write, policy);
        // What others obey is opened by its own name only.
        policy.protect.retain(|place| !policy.granted.write.contains(place));
        policy.granted.read = places(read, policy);
        // All of them, or single ones, which are held apart by mounts.
        if !policy.unix_sockets {
            let single = places(sockets, policy);
            let are_all = sockets.iter().any(|socket| socket == EVERYWHERE);
            policy.granted.sockets = if are_all { Vec::new() } else { single };
            policy.unix_sockets = are_all || !policy.granted.sockets.is_empty();
        }
        policy.granted.devices = places(devices, policy);
    }

    /// The place that an entry means, behind its links. `None` if it is nowhere, or in a place of our own.
    fn place(&self, entry: &str, policy: &Policy) -> Option<PathBuf> {
        let place = match (entry.strip_prefix("~/"), entry.strip_prefix('$')) {
            (Some(rest), _) => self.home.as_ref()?.join(rest),
            (None, Some(name)) => PathBuf::from(std::env::var_os(name)?),
            (None, None) => PathBuf::from(entry),
        };
        if !place.is_absolute() {
            return None;
        }
        if entry.ends_with('/') {
            // A directory that a program makes at its first run: it could not make it behind the wall.
            DirBuilder::new().recursive(true).mode(PRIVATE_DIRECTORY).create(&place).ok();
        }
        // A command that can write there may have put a link in its place, which opens nothing.
        let is_theirs = policy.write.iter().any(|root| place.starts_with(root));
        let real = if is_theirs { None } else { place.canonicalize().ok() };
        let place = real.unwrap_or_else(|| plain(&place));
        let is_own = self
            .own
            .iter()
            .any(|own| place.starts_with(own) || place.starts_with(Lead::of(own).place));
        (!is_own).then_some(place)
    }
}

/// The path without a slash at its end.
fn plain(place: &Path) -> PathBuf {
    place.components().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::When;

    fn opened(rules: &Rules, grants: &Grants) -> Policy {
        let mut policy = rules.at(Path::new("/no/such/workspace"));
        rules.open(grants, &mut policy);
        policy
    }

    fn closed_rules() -> Rules {
        Rules { when: When::Always, network: false, unix_sockets: false, ..Rules::none() }
    }

    #[test]
    fn hosts_are_opened_singly_or_all_unless_the_network_is_barred() {
        let network = |host: &str| Grants { network: vec![host.into()], ..Grants::default() };
        let one = opened(&closed_rules(), &network("a.io:443"));
        assert_eq!((one.network, one.granted.hosts), (false, vec!["a.io:443".to_owned()]));
        let all = opened(&closed_rules(), &network("*"));
        assert!(all.network && all.granted.hosts.is_empty());
        let barred = Rules { barred: true, hosts: vec!["b.io:443".into()], ..closed_rules() };
        for host in ["a.io:443", "*"] {
            let none = opened(&barred, &network(host));
            assert!(!none.network && none.granted.hosts.is_empty(), "{host}");
        }
    }

    #[test]
    fn places_of_our_own_are_opened_by_no_grant() {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().canonicalize().unwrap();
        std::fs::create_dir(home.join("own")).unwrap();
        std::fs::create_dir(home.join("other")).unwrap();
        std::os::unix::fs::symlink("own", home.join("link")).unwrap();
        let own = vec![home.join("own")];
        let rules = Rules { own, home: Some(home.clone()), ..closed_rules() };
        let write = |entry: &str| Grants { write: vec![entry.into()], ..Grants::default() };
        // Below the temporary directory, which commands write to anyway, links are not followed.
        let policy = Policy { write: Vec::new(), ..rules.at(&home.join("other")) };
        let place = |entry: &str| rules.place(entry, &policy);
        assert_eq!(place("~/other"), Some(home.join("other")));
        assert_eq!(place("~/new/dir/"), Some(home.join("new/dir")));
        assert!(home.join("new/dir").is_dir());
        for entry in ["~/own", "~/own/settings", "~/link", "~/link/settings"] {
            let there = place(entry);
            assert!(entry == "~/link/settings" || there.is_none(), "{entry}: {there:?}");
        }
        assert!(opened(&rules, &write("~/own")).granted.write.is_empty());
        // Also where a link of ours leads to nothing yet.
        std::os::unix::fs::symlink("../other/none", home.join("own/settings")).unwrap();
        let rules = Rules { own: vec![home.join("own/settings")], ..rules };
        assert_eq!(rules.place("~/other/none", &policy), None);
    }
}
