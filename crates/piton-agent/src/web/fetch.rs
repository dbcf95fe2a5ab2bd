//! Gets the bytes of a page: each hop is checked, and nothing goes on for ever.

use std::error::Error as _;
use std::sync::{Arc, OnceLock};

use reqwest::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use reqwest::{Client, Response, Url};

use super::page::{Answer, refused_kind};
use super::reach::{Lookup, NotPublic, PrivateHosts, PublicOnly, check_number, system_lookup};
use crate::providers::client_builder;

/// Most bytes of a page that are read, unpacked. What comes behind them is left.
const PAGE_BYTES_MAX: usize = 5 * 1024 * 1024;
/// Most redirects of one host that are followed.
const REDIRECTS_MAX: usize = 5;
/// Longest address that the model is told, in bytes.
const TOLD_ADDRESS_BYTES_MAX: usize = 2_000;
/// What we can read, best first.
const READABLE: &str =
    "text/markdown, text/html;q=0.9, text/*;q=0.8, application/json;q=0.8, */*;q=0.1";

/// What becomes of redirects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Redirects {
    /// Those within a host are followed.
    SameHost,
    /// None is followed.
    Tell,
}

/// What was got.
#[derive(Debug)]
pub(super) enum Got {
    /// A page.
    Page(Answer),
    /// A redirect that is not followed.
    Elsewhere { from: String, to: String },
}

/// Why there is no page, for the model.
#[derive(Debug, thiserror::Error)]
pub(super) enum FetchFault {
    #[error(
        "{0}. It was not fetched, and other spellings are not fetched either. The person can allow \
             the host in the settings: piton help tools"
    )]
    NotPublic(#[from] NotPublic),
    #[error("{host} cannot be reached: {why}")]
    Unreachable { host: String, why: &'static str },
    #[error("{host} answered with status {status}, without a page")]
    Status { host: String, status: u16 },
    #[error("{host} redirects more than {REDIRECTS_MAX} times")]
    Loop { host: String },
    #[error("{host} redirects to something that is no web address")]
    Nowhere { host: String },
    #[error("{0}")]
    Binary(String),
    #[error("no client can be made: {0}")]
    Client(String),
}

/// Gets pages.
pub(super) struct Fetcher {
    private: Arc<PrivateHosts>,
    lookup: Lookup,
    // Made when they are needed: loading certificates takes long.
    public: OnceLock<Result<Client, String>>,
    named: OnceLock<Result<Client, String>>,
}

impl std::fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fetcher").field("private", &self.private).finish_non_exhaustive()
    }
}

impl Fetcher {
    pub(super) fn new(private: Arc<PrivateHosts>) -> Self {
        Self::with_lookup(private, system_lookup())
    }

    pub(super) fn with_lookup(private: Arc<PrivateHosts>, lookup: Lookup) -> Self {
        Self { private, lookup, public: OnceLock::new(), named: OnceLock::new() }
    }

    /// Gets a page.
    pub(super) async fn get(&self, url: Url, redirects: Redirects) -> Result<Got, FetchFault> {
        let mut url = url;
        for _ in 0..=REDIRECTS_MAX {
            let host = host(&url);
            let response = self.ask(&url).await?;
            if !is_redirect(&response) {
                return read(response, url).await.map(Got::Page);
            }
            let to = response.headers().get(LOCATION).and_then(|to| to.to_str().ok());
            let to = to.and_then(|to| url.join(to).ok());
            let to = to.filter(|to| matches!(to.scheme(), "http" | "https"));
            let Some(to) = to else { return Err(FetchFault::Nowhere { host }) };
            if redirects == Redirects::Tell || !is_same_host(&url, &to) {
                return Ok(Got::Elsewhere { from: told(&url), to: told(&to) });
            }
            url = to;
        }
        Err(FetchFault::Loop { host: host(&url) })
    }

    /// Asks one host once.
    async fn ask(&self, url: &Url) -> Result<Response, FetchFault> {
        let client = if self.private.has(url) {
            self.named.get_or_init(|| client(None))
        } else {
            check_number(url)?;
            self.public.get_or_init(|| client(Some(PublicOnly(self.lookup.clone()))))
        };
        let client = client.as_ref().map_err(|why| FetchFault::Client(why.clone()))?;
        let sent = client.get(url.clone()).header(ACCEPT, READABLE).send().await;
        sent.map_err(|error| in_words(&error, host(url)))
    }
}

/// A client. It goes straight to the host: a proxy would turn names into addresses itself, and nobody
/// could say which ones.
fn client(names: Option<PublicOnly>) -> Result<Client, String> {
    // Every page is asked for on a connection of its own, whose address was just looked at.
    let mut builder = client_builder().no_proxy().pool_max_idle_per_host(0);
    if let Some(names) = names {
        builder = builder.dns_resolver(Arc::new(names));
    }
    builder.build().map_err(|error| error.to_string())
}

fn is_redirect(response: &Response) -> bool {
    matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// Whether whoever was asked also answers there: the same host and port, or the same host over a safe
/// connection.
fn is_same_host(from: &Url, to: &Url) -> bool {
    let usual = |url: &Url| url.port().is_none();
    let is_safer = from.scheme() == "http" && to.scheme() == "https" && usual(from) && usual(to);
    from.host_str() == to.host_str()
        && (from.scheme() == to.scheme() && from.port() == to.port() || is_safer)
        && to.username().is_empty()
        && to.password().is_none()
}

/// Reads a page, up to its end or to the limit.
async fn read(mut response: Response, url: Url) -> Result<Answer, FetchFault> {
    let host = host(&url);
    if !response.status().is_success() {
        return Err(FetchFault::Status { host, status: response.status().as_u16() });
    }
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.unwrap_or_default().to_ascii_lowercase();
    if let Some(why) = refused_kind(&kind) {
        return Err(FetchFault::Binary(why));
    }
    let (mut bytes, mut cut) = (Vec::new(), false);
    while let Some(piece) =
        response.chunk().await.map_err(|error| in_words(&error, host.clone()))?
    {
        let room = PAGE_BYTES_MAX - bytes.len();
        bytes.extend_from_slice(piece.get(..room).unwrap_or(&piece));
        if room < piece.len() {
            cut = true;
            break;
        }
    }
    Ok(Answer { url, kind, bytes, cut })
}

fn host(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_owned()
}

/// An address, bounded: whoever redirects may write a long one.
fn told(url: &Url) -> String {
    let text = url.as_str();
    match text.get(..text.floor_char_boundary(TOLD_ADDRESS_BYTES_MAX)) {
        Some(short) if short.len() < text.len() => format!("{short}… (cut)"),
        Some(_) | None => text.to_owned(),
    }
}

/// What went wrong, without the words of libraries.
fn in_words(error: &reqwest::Error, host: String) -> FetchFault {
    let mut source = error.source();
    while let Some(inner) = source {
        if let Some(refused) = inner.downcast_ref::<NotPublic>() {
            return refused.clone().into();
        }
        source = inner.source();
    }
    let why = if error.is_timeout() {
        "it does not answer in time"
    } else if error.is_connect() {
        "no connection, or no such name"
    } else if error.is_body() || error.is_decode() {
        "the page broke off or is badly packed"
    } else {
        "the request failed"
    };
    FetchFault::Unreachable { host, why }
}
