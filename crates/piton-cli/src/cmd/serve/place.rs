//! Where the server of a home is found: a record of it, and a lock that dies with it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use piton_agent::make_private;
use reqwest::Url;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

/// How often the lock is tried for: somebody who only looks has it for a moment.
const TRIES: usize = 10;
/// Pause between two tries.
const TRY_EVERY: Duration = Duration::from_millis(20);

/// A server that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// Its process.
    pub(crate) pid: u32,
    /// Where it is reached.
    pub(crate) url: String,
}

impl Record {
    /// Where a program of this machine reaches it. None, if it encrypts: its certificate is for other names.
    pub(crate) fn reached(&self) -> Option<Url> {
        let mut url = Url::parse(&self.url).ok().filter(|url| url.scheme() == "http")?;
        let host = url.host_str()?.trim_matches(['[', ']']);
        // One that listens everywhere also listens on loopback, and answers to no other name.
        match host.parse() {
            Ok(IpAddr::V4(Ipv4Addr::UNSPECIFIED)) => url.set_ip_host(Ipv4Addr::LOCALHOST.into()),
            Ok(IpAddr::V6(Ipv6Addr::UNSPECIFIED)) => url.set_ip_host(Ipv6Addr::LOCALHOST.into()),
            Ok(_) | Err(_) => Ok(()),
        }
        .ok()?;
        Some(url)
    }
}

/// Where it is found.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    directory: PathBuf,
}

/// The place of the one server, until this is dropped or its process dies.
#[derive(Debug)]
pub(crate) struct Held {
    record: PathBuf,
    _lock: File,
}

impl Drop for Held {
    fn drop(&mut self) {
        // One that stays says nothing without the lock.
        fs::remove_file(&self.record).unwrap_or_default();
    }
}

impl Held {
    /// Says where the server is reached.
    pub(crate) fn tell(&self, record: &Record) -> io::Result<()> {
        let aside = self.record.with_extension("part");
        fs::write(&aside, serde_json::to_string(record)?)?;
        fs::rename(&aside, &self.record)
    }
}

impl Place {
    /// The place of a home's server.
    pub(crate) fn of(home: &Path) -> Self {
        Self { directory: home.join("serve") }
    }

    /// Takes the place; none if a server has it.
    pub(crate) async fn take(&self) -> io::Result<Option<Held>> {
        make_private(&self.directory)?;
        let lock = self.open()?;
        for _ in 0..TRIES {
            match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Some(Held { record: self.record(), _lock: lock })),
                Err(rustix::io::Errno::WOULDBLOCK) => tokio::time::sleep(TRY_EVERY).await,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(None)
    }

    /// The server that runs, if one does.
    pub(crate) fn running(&self) -> Option<Record> {
        let lock = File::open(self.lock()).ok()?;
        // Whoever can have the lock is alone.
        let taken = flock(&lock, FlockOperation::NonBlockingLockShared);
        if taken != Err(rustix::io::Errno::WOULDBLOCK) {
            return None;
        }
        serde_json::from_slice(&fs::read(self.record()).ok()?).ok()
    }

    /// Where the talk of a server goes that runs in the background.
    pub(crate) fn talk(&self) -> PathBuf {
        self.directory.join("talk")
    }

    fn open(&self) -> io::Result<File> {
        OpenOptions::new().create(true).truncate(false).write(true).open(self.lock())
    }

    fn lock(&self) -> PathBuf {
        self.directory.join("lock")
    }

    fn record(&self) -> PathBuf {
        self.directory.join("server.json")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_listens_everywhere_is_reached_on_loopback() {
        for (url, reached) in [
            ("http://127.0.0.1:80", Some("http://127.0.0.1/")),
            ("http://0.0.0.0:4747", Some("http://127.0.0.1:4747/")),
            ("http://[::]:4747", Some("http://[::1]:4747/")),
            ("https://127.0.0.1:4747", None),
        ] {
            let found = Record { pid: 1, url: url.into() }.reached();
            assert_eq!(found.as_ref().map(Url::as_str), reached, "{url}");
        }
    }

    #[tokio::test]
    async fn one_server_has_the_place_and_its_record_counts_only_as_long_as_it_lives() {
        let home = tempfile::tempdir().unwrap();
        let place = Place::of(home.path());
        assert_eq!(place.running(), None);
        let held = place.take().await.unwrap().unwrap();
        let record = Record { pid: 7, url: "http://127.0.0.1:1".into() };
        held.tell(&record).unwrap();
        assert_eq!(place.running(), Some(record.clone()));
        assert!(place.take().await.unwrap().is_none());
        drop(held);
        assert_eq!(place.running(), None);
        // A record that a killed server left.
        place.take().await.unwrap().unwrap().tell(&record).unwrap();
        fs::write(place.record(), serde_json::to_string(&record).unwrap()).unwrap();
        assert_eq!(place.running(), None);
    }
}
