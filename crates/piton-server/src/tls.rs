//! Encryption: a certificate and its key, read from files, and read again when they are renewed.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::SystemTime;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// What is spoken on an encrypted connection, the best first. A browser opens at most six connections to a
/// server by HTTP/1.1, and one for everything by HTTP/2.
const PROTOCOLS: [&[u8]; 2] = [HTTP_2, b"http/1.1"];
/// The name of HTTP/2.
pub(crate) const HTTP_2: &[u8] = b"h2";

/// Why a server cannot encrypt.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file of the certificate has none.
    #[error("{} has no certificate in PEM form", .0.display())]
    NoCertificate(PathBuf),
    /// The file of the key has none.
    #[error("{} has no private key in PEM form", .0.display())]
    NoKey(PathBuf),
    /// The two cannot be used together.
    #[error("the certificate {} and the key {} cannot be used: {source}", cert.display(), key.display())]
    Unusable {
        /// The file of the certificate.
        cert: PathBuf,
        /// The file of the key.
        key: PathBuf,
        /// What is wrong with them.
        source: rustls::Error,
    },
}

/// A certificate and its key. Cheap to clone; all clones renew together.
#[derive(Clone)]
pub struct Tls(Arc<Inner>);

struct Inner {
    cert: PathBuf,
    key: PathBuf,
    now: RwLock<Loaded>,
}

/// What was read of the files.
struct Loaded {
    acceptor: TlsAcceptor,
    seen: Seen,
}

/// What tells whether a file was replaced: when it was written, and how long it is.
type Seen = [Option<(SystemTime, u64)>; 2];

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("cert", &self.0.cert).finish_non_exhaustive()
    }
}

impl Tls {
    /// Reads a certificate with those that vouch for it, and its private key.
    pub fn read(cert: &Path, key: &Path) -> Result<Self, TlsError> {
        let loaded = Loaded { seen: seen(cert, key), acceptor: acceptor(cert, key)? };
        let (cert, key) = (cert.to_owned(), key.to_owned());
        Ok(Self(Arc::new(Inner { cert, key, now: RwLock::new(loaded) })))
    }

    /// Reads the files again if one of them was replaced; whether that gave a new certificate. After an
    /// error the old one counts, and the files are read again when one of them changes once more.
    pub fn renew(&self) -> Result<bool, TlsError> {
        let Inner { cert, key, now } = &*self.0;
        let found = seen(cert, key);
        if now.read().unwrap_or_else(PoisonError::into_inner).seen == found {
            return Ok(false);
        }
        let acceptor = acceptor(cert, key);
        let mut now = now.write().unwrap_or_else(PoisonError::into_inner);
        now.seen = found;
        now.acceptor = acceptor?;
        Ok(true)
    }

    /// What encrypts the connections that are accepted from here on.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        self.0.now.read().unwrap_or_else(PoisonError::into_inner).acceptor.clone()
    }
}

fn seen(cert: &Path, key: &Path) -> Seen {
    [cert, key].map(|path| {
        let found = fs::metadata(path).ok()?;
        Some((found.modified().ok()?, found.len()))
    })
}

fn acceptor(cert: &Path, key: &Path) -> Result<TlsAcceptor, TlsError> {
    let read = |path: &Path| {
        fs::read(path).map_err(|source| TlsError::Read { path: path.to_owned(), source })
    };
    let chain = CertificateDer::pem_slice_iter(&read(cert)?).collect::<Result<Vec<_>, _>>();
    let chain = chain.ok().filter(|chain| !chain.is_empty());
    let chain = chain.ok_or_else(|| TlsError::NoCertificate(cert.to_owned()))?;
    let secret = PrivateKeyDer::from_pem_slice(&read(key)?);
    let secret = secret.map_err(|_| TlsError::NoKey(key.to_owned()))?;
    let unusable = |source| {
        let (cert, key) = (cert.to_owned(), key.to_owned());
        TlsError::Unusable { cert, key, source }
    };
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(unusable)?
        .with_no_client_auth()
        .with_single_cert(chain, secret)
        .map_err(unusable)?;
    config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
    Ok(TlsAcceptor::from(Arc::new(config)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A certificate and a key in a directory.
    fn files(directory: &Path) -> (PathBuf, PathBuf) {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let (cert, key) = (directory.join("cert.pem"), directory.join("key.pem"));
        fs::write(&cert, made.cert.pem()).unwrap();
        fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        (cert, key)
    }

    #[test]
    fn a_certificate_is_read_and_read_again_only_when_a_file_was_replaced() {
        let (place, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (cert, key) = files(place.path());
        let tls = Tls::read(&cert, &key).unwrap();
        assert!(!tls.renew().unwrap());
        // A program that renews replaces one file, then the other: in between they do not fit.
        let (new_cert, new_key) = files(other.path());
        let chain = fs::read_to_string(new_cert).unwrap();
        fs::write(&cert, format!("# renewed\n{chain}")).unwrap();
        assert!(matches!(tls.renew(), Err(TlsError::Unusable { .. })));
        assert!(!tls.renew().unwrap(), "one complaint is enough");
        let secret = fs::read_to_string(new_key).unwrap();
        fs::write(&key, format!("# renewed\n{secret}")).unwrap();
        assert!(tls.renew().unwrap());
    }

    #[test]
    fn files_that_cannot_be_used_say_what_is_wrong_with_them() {
        let place = tempfile::tempdir().unwrap();
        let (cert, key) = files(place.path());
        let none = place.path().join("none.pem");
        let said = |cert: &Path, key: &Path| Tls::read(cert, key).unwrap_err().to_string();
        assert!(said(&none, &key).contains("cannot read"));
        assert!(said(&key, &key).contains("has no certificate"));
        assert!(said(&cert, &cert).contains("has no private key"));
    }
}
