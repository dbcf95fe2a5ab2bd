//! What can go wrong with a server of conversations that is spoken to.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use reqwest::Url;

use super::code::Code;

/// How a token is given.
const TOKEN: &str = "make one where the server runs: piton serve token NAME; then: PITON_TOKEN=TOKEN piton attach …";

/// Why a server does not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServerFault {
    /// What was typed is no address.
    #[error("{typed} is no address of a server or of one of its conversations")]
    Address {
        /// What was typed.
        typed: String,
    },
    /// The file with the token cannot be read.
    #[error("cannot read the token from {}", path.display())]
    TokenFile {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It cannot be reached now.
    #[error("{at}: {why}")]
    Away {
        /// The server.
        at: String,
        /// What is known of it.
        why: String,
    },
    /// Its certificate is not trusted.
    #[error("no secure connection to {at}: its certificate is not trusted")]
    NotTrusted {
        /// The server.
        at: String,
    },
    /// Somebody else answers there.
    #[error("what answers at {at} is no piton server")]
    NotPiton {
        /// The server.
        at: String,
    },
    /// It says what this build does not know.
    #[error("{at} is a newer piton than this one, and what it says cannot be read")]
    Newer {
        /// The server.
        at: String,
    },
    /// It wants to know who asks.
    #[error("{at} wants a token")]
    NoToken {
        /// The server.
        at: String,
    },
    /// It does not know the token.
    #[error("{at} does not know the token: it is wrong, or was revoked")]
    WrongToken {
        /// The server.
        at: String,
    },
    /// It has no such conversation.
    #[error("{message} at {at}")]
    UnknownConversation {
        /// The server.
        at: String,
        /// What it said.
        message: String,
    },
    /// It looked at the request, and does not do it.
    #[error("{at} refuses: {message}")]
    Refused {
        /// The server.
        at: String,
        /// What kind of refusal, in a word.
        kind: String,
        /// What it said.
        message: String,
        /// What to do, as it said.
        hint: Option<String>,
    },
    /// Which conversation is meant cannot be asked.
    #[error("{at} has several conversations, and nobody can be asked which one is meant")]
    NotChosen {
        /// The server.
        at: String,
    },
    /// It has no conversation at all.
    #[error("{at} has no conversation yet")]
    Empty {
        /// The server.
        at: String,
    },
}

impl ServerFault {
    /// A server as people name it.
    pub(crate) fn host(url: &Url) -> String {
        url.origin().ascii_serialization()
    }

    /// What a connection that failed means.
    pub(crate) fn unreachable(url: &Url, error: &reqwest::Error) -> Self {
        let at = Self::host(url);
        let causes: Vec<_> =
            std::iter::successors(error.source(), |cause| (*cause).source()).collect();
        let says = |words: &str| causes.iter().any(|cause| cause.to_string().contains(words));
        if says("invalid peer certificate") {
            return Self::NotTrusted { at };
        }
        let kind = causes.iter().find_map(|it| it.downcast_ref::<io::Error>()).map(io::Error::kind);
        let why = match kind {
            _ if says("dns error") => "the name is not found",
            Some(io::ErrorKind::ConnectionRefused) => "nobody answers there",
            Some(io::ErrorKind::InvalidData) => "no secure connection; is it http instead?",
            _ if error.is_timeout() => "no answer in time",
            _ if error.is_connect() => "cannot be reached",
            _ => "the connection broke",
        };
        Self::Away { at, why: why.into() }
    }

    /// Nothing was heard for too long.
    pub(crate) fn silent(url: &Url) -> Self {
        Self::Away { at: Self::host(url), why: "no sign of life".into() }
    }

    /// The stream was ended.
    pub(crate) fn closed(url: &Url) -> Self {
        Self::Away { at: Self::host(url), why: "the server has ended the connection".into() }
    }

    /// Somebody else answers there.
    pub(crate) fn not_piton(url: &Url) -> Self {
        Self::NotPiton { at: Self::host(url) }
    }

    /// Whether it may work later without anybody doing anything here.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self, Self::Away { .. })
    }

    pub(super) fn code(&self) -> Code {
        match self {
            Self::Away { .. } => Code::Transient,
            Self::Refused { kind, .. } if kind == "store" || kind == "internal" => Code::Failed,
            Self::NotTrusted { .. } | Self::Newer { .. } => Code::Failed,
            Self::Address { .. }
            | Self::TokenFile { .. }
            | Self::NotPiton { .. }
            | Self::NoToken { .. }
            | Self::WrongToken { .. }
            | Self::UnknownConversation { .. }
            | Self::Refused { .. }
            | Self::NotChosen { .. }
            | Self::Empty { .. } => Code::Usage,
        }
    }

    pub(super) fn reason(&self) -> &'static str {
        match self {
            Self::Address { .. } | Self::NotPiton { .. } | Self::Newer { .. } => "server",
            Self::Away { .. } => "server_away",
            Self::NotTrusted { .. } => "certificate",
            Self::TokenFile { .. } | Self::NoToken { .. } | Self::WrongToken { .. } => "token",
            Self::UnknownConversation { .. } => "unknown_conversation",
            Self::Refused { .. } => "refused",
            Self::NotChosen { .. } | Self::Empty { .. } => "no_conversation",
        }
    }

    pub(super) fn hints(&self) -> Vec<String> {
        match self {
            Self::Address { .. } => vec![
                "an address is http://HOST:PORT, or http://HOST:PORT/c/ID for one conversation"
                    .into(),
            ],
            Self::Away { .. } => vec![
                "where it should run: piton serve status says whether it does, and where".into(),
            ],
            Self::NotTrusted { .. } => vec![
                "to trust a certificate of your own: SSL_CERT_FILE=FILE piton attach …".into(),
                "the address must have the name that the certificate was made for".into(),
                "a certificate that vouches for itself must say basicConstraints=critical,CA:FALSE"
                    .into(),
            ],
            Self::NotPiton { .. } => vec!["piton serve prints the address of a server".into()],
            Self::Newer { .. } => vec!["bring this piton up to date".into()],
            Self::TokenFile { .. } | Self::NoToken { .. } | Self::WrongToken { .. } => {
                vec![TOKEN.into()]
            }
            Self::UnknownConversation { at, .. } => {
                vec![format!("piton attach {at} lists its conversations")]
            }
            Self::Refused { hint, .. } => hint.iter().cloned().collect(),
            Self::NotChosen { .. } => vec!["name one: --id ID".into()],
            Self::Empty { .. } => vec!["begin one on its page, or where it runs".into()],
        }
    }
}
