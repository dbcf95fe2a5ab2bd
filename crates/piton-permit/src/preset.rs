//! Openings that programs of every day need.
//!
//! Hosts are those that the programs use unless told otherwise; a rule lists its own beside them. What a program
//! keeps is opened as far as nothing outside the sandbox runs or obeys it by itself: never a directory of
//! programs, never settings. A cache that programs outside use too is such a way out all the same, which is why
//! a person writes a preset into a rule, or is asked where a call wants one.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::grant::Grants;

/// A program whose openings are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// git over SSH, with the keys of the agent.
    GitSsh,
    /// git over HTTPS.
    GitHttps,
    /// cargo: index, downloads, and its caches.
    Cargo,
    /// npm: the registry and its cache.
    Npm,
    /// pip: the index, downloads, and its cache.
    Pip,
    /// go: proxy, checksums, and its caches.
    Go,
    /// docker: its socket, and with it everything on this machine.
    Docker,
}

/// What a preset opens, a list each.
struct Openings {
    network: &'static [&'static str],
    sockets: &'static [&'static str],
    write: &'static [&'static str],
    read: &'static [&'static str],
    env: &'static [&'static str],
}

const NOTHING: Openings = Openings { network: &[], sockets: &[], write: &[], read: &[], env: &[] };

impl Preset {
    /// What it opens.
    pub fn grants(self) -> Grants {
        let Openings { network, sockets, write, read, env } = self.openings();
        let owned = |entries: &[&str]| entries.iter().map(ToString::to_string).collect();
        Grants {
            network: owned(network),
            sockets: owned(sockets),
            write: owned(write),
            read: owned(read),
            env: owned(env),
            devices: Vec::new(),
        }
    }

    /// What it opens for a call that names hosts, too. If none of them is one of the preset's, they stand in place of
    /// the preset's. In a rule they stand beside them.
    pub fn grants_with_hosts(self, hosts: &[String]) -> Grants {
        let mut grants = self.grants();
        if !hosts.is_empty() && !hosts.iter().any(|host| grants.network.contains(host)) {
            grants.network.clear();
        }
        grants
    }

    fn openings(self) -> Openings {
        match self {
            Self::GitSsh => Openings {
                network: &["github.com:22", "gitlab.com:22", "bitbucket.org:22", "codeberg.org:22"],
                sockets: &["$SSH_AUTH_SOCK"],
                // No private keys: the agent has them.
                read: &[
                    "~/.ssh/known_hosts",
                    "~/.ssh/config",
                    "~/.ssh/id_ed25519.pub",
                    "~/.ssh/id_ecdsa.pub",
                    "~/.ssh/id_rsa.pub",
                ],
                env: &["SSH_AUTH_SOCK"],
                ..NOTHING
            },
            Self::GitHttps => Openings {
                network: &[
                    "github.com:443",
                    "gitlab.com:443",
                    "bitbucket.org:443",
                    "codeberg.org:443",
                ],
                ..NOTHING
            },
            Self::Cargo => Openings {
                network: &[
                    "index.crates.io:443",
                    "static.crates.io:443",
                    "crates.io:443",
                    "github.com:443",
                ],
                write: &["~/.cargo/registry/", "~/.cargo/git/"],
                ..NOTHING
            },
            Self::Npm => {
                Openings { network: &["registry.npmjs.org:443"], write: &["~/.npm/"], ..NOTHING }
            }
            Self::Pip => Openings {
                network: &["pypi.org:443", "files.pythonhosted.org:443"],
                write: &["~/.cache/pip/"],
                ..NOTHING
            },
            Self::Go => Openings {
                network: &["proxy.golang.org:443", "sum.golang.org:443"],
                write: &["~/go/pkg/mod/", "~/go/pkg/sumdb/", "~/.cache/go-build/"],
                ..NOTHING
            },
            Self::Docker => {
                Openings { sockets: &["/var/run/docker.sock"], env: &["DOCKER_HOST"], ..NOTHING }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grants;

    const ALL: [Preset; 7] = [
        Preset::GitSsh,
        Preset::GitHttps,
        Preset::Cargo,
        Preset::Npm,
        Preset::Pip,
        Preset::Go,
        Preset::Docker,
    ];

    #[test]
    fn every_preset_opens_something_that_can_be_meant() {
        for preset in ALL {
            let grants = preset.grants();
            assert!(!grants.is_empty(), "{preset:?}");
            assert_eq!(grants::fault(&grants), None, "{preset:?}");
        }
    }

    #[test]
    fn no_preset_opens_what_programs_outside_run_or_obey() {
        for preset in ALL {
            for place in preset.grants().write {
                let place = place.trim_end_matches('/');
                for kept in ["bin", "config", "config.toml", "credentials.toml", ".npmrc", ".ssh"] {
                    assert!(!place.ends_with(kept), "{preset:?} {place}");
                }
                assert!(!["~", "~/.cargo", "~/go"].contains(&place), "{preset:?} {place}");
            }
        }
    }
}
