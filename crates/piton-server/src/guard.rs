//! In front of every request: is it for this server, from a page of ours, and from somebody known?
//!
//! And behind every answer: the headers that keep a page safe, one error body, and a line in the log for
//! each request that was refused.

use std::net::IpAddr;
use std::sync::atomic::Ordering;

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse as _, Response};

use crate::access::Who;
use crate::fault::{Fault, Kind, Told, tell_refused};
use crate::serve::{Encrypted, Listening};
use crate::shared::Shared;

/// The cookie that holds a browser's token.
pub(crate) const COOKIE: &str = "piton";
/// Names by which this machine calls itself.
const OWN_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];
/// Paths that need no token.
const PUBLIC: [&str; 3] = ["/healthz", "/sign-in", "/favicon.ico"];
/// Where files of the page are, which are the same for everybody.
const ASSETS: &str = "/assets/";

/// Headers of every answer.
const HEADERS: [(HeaderName, &str); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; \
         connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; \
         frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types piton",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("permissions-policy"), "camera=(), microphone=(), geolocation=()"),
];

/// Lets a request through, or refuses it.
pub(crate) async fn guard(
    State(shared): State<Shared>,
    mut request: Request,
    next: Next,
) -> Response {
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let wants_page = wants_page(&request);
    let answer = match admit(&shared, &mut request) {
        Ok(()) => next.run(request).await,
        Err(fault) => {
            shared.counts.refused.fetch_add(1, Ordering::Relaxed);
            fault.into_response()
        }
    };
    let mut answer = Fault::instead_of(answer);
    shared.counts.requests.fetch_add(1, Ordering::Relaxed);
    tell(&shared, &method, &path, &answer);
    if wants_page && let Some(told) = answer.extensions().get::<Told>() {
        let page = (answer.status(), Html(told.page())).into_response();
        answer = page;
    }
    for (name, value) in HEADERS {
        answer.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    let no_store = HeaderValue::from_static("no-store");
    answer.headers_mut().entry(header::CACHE_CONTROL).or_insert(no_store);
    answer
}

/// Whether a person looks at the answer: a browser that opens a page of ours, or sends a form of it.
fn wants_page(request: &Request) -> bool {
    let (headers, path) = (request.headers(), request.uri().path());
    let accepts = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    accepts.is_some_and(|accepts| accepts.contains("text/html"))
        && !path.starts_with("/api/")
        && !headers.contains_key("piton")
}

/// Writes a line for a request that was refused, or that failed here. Never its query: that may be a
/// code.
fn tell(shared: &Shared, method: &Method, path: &str, answer: &Response) {
    let Some(Told { id, kind, .. }) = answer.extensions().get() else { return };
    let status = answer.status();
    if status.is_server_error() {
        shared.counts.failed.fetch_add(1, Ordering::Relaxed);
        tracing::error!(error = %id, ?kind, %method, path, status = status.as_u16(), "request failed");
    } else {
        tell_refused(method, path, answer);
    }
}

fn admit(shared: &Shared, request: &mut Request) -> Result<(), Fault> {
    let headers = request.headers();
    let own_address = request.extensions().get::<Listening>().map(|listening| listening.0);
    let host = host(request)?;
    // A target that names a host counts before the header, which must not name another machine either.
    for host in host.into_iter().chain(headers.get(header::HOST).and_then(|it| it.to_str().ok())) {
        if !is_our_name(shared, host, own_address) {
            return Err(foreign_host(host));
        }
    }
    let host = host.ok_or_else(|| foreign_host(""))?;
    if headers.contains_key(header::UPGRADE) {
        return Err(Fault::new(Kind::Upgrade, "this server speaks plain HTTP only"));
    }
    let path = request.uri().path();
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    // A page of ours may be opened from anywhere. What it holds is read by itself only.
    let is_page = reads && !path.starts_with("/api/") && !path.starts_with("/page/");
    let encrypted = request.extensions().get::<Encrypted>().is_some();
    let site = site(headers, host, encrypted);
    if site == Site::Foreign && !is_page {
        return Err(foreign_origin());
    }
    if PUBLIC.contains(&path) || path.starts_with(ASSETS) {
        return Ok(());
    }
    let bearer = bearer(headers);
    let Some(secret) = bearer.or_else(|| cookie(headers)) else {
        return Err(Fault::new(Kind::NoToken, "this request has no token").hint(SIGN_IN));
    };
    // Only a browser has a cookie, and a browser says from where it comes before it changes anything.
    if bearer.is_none() && !reads && site == Site::Unsaid {
        return Err(foreign_origin());
    }
    let who = known(shared, secret)?;
    request.extensions_mut().insert(who);
    Ok(())
}

const SIGN_IN: &str =
    "open the address that piton serve printed, or make a token: piton serve token NAME";

fn known(shared: &Shared, secret: &str) -> Result<Who, Fault> {
    let who = shared.parts.tokens.who(secret, shared.parts.clock.now());
    who.ok_or_else(|| Fault::new(Kind::WrongToken, "the token is not known").hint(SIGN_IN))
}

fn foreign_host(host: &str) -> Fault {
    Fault::new(Kind::ForeignHost, format!("this server does not answer for the host {host:?}"))
        .hint("use the printed address, or name the host in the settings: serve.names")
}

fn foreign_origin() -> Fault {
    Fault::new(Kind::ForeignOrigin, "this request comes from a page of another site")
}

/// The host that a request is for. One that names several is none of a browser.
fn host(request: &Request) -> Result<Option<&str>, Fault> {
    let mut headers = request.headers().get_all(header::HOST).iter();
    let header = headers.next().map(|host| host.to_str().unwrap_or("?"));
    if headers.next().is_some() {
        return Err(Fault::bad("the request has several Host headers"));
    }
    Ok(request.uri().authority().map(Authority::as_str).or(header))
}

/// Whether a host is this server: by a name, or by the address that it listens on. Any port: a tunnel has
/// another one.
fn is_our_name(shared: &Shared, host: &str, own_address: Option<IpAddr>) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let is = |known: &str| name.eq_ignore_ascii_case(known);
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().ok();
    OWN_NAMES.into_iter().any(is)
        || shared.parts.names.iter().any(|known| is(known))
        || address.is_some_and(|address| own_address == Some(address))
}

/// Where a request comes from, as a browser says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Site {
    /// From a page of this server, or typed by a person.
    Own,
    /// From a page of another one.
    Foreign,
    /// No browser said anything.
    Unsaid,
}

/// What a browser says of the page that sends a request. Behind a proxy that encrypts, a page of ours came by
/// https although this server is asked by http; the other way round it is a page of somebody else.
fn site(headers: &HeaderMap, host: &str, encrypted: bool) -> Site {
    // Each of several counts: nobody can tell which one a browser wrote.
    let texts = |name: HeaderName| -> Vec<&str> {
        headers.get_all(name).iter().map(|value| value.to_str().unwrap_or("?")).collect()
    };
    let fetched = texts(HeaderName::from_static("sec-fetch-site"));
    let origins = texts(header::ORIGIN);
    let own = |origin: &str| {
        let plain = origin.strip_prefix("http://").filter(|_| !encrypted);
        let authority = plain.or(origin.strip_prefix("https://"));
        authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
    };
    let foreign = fetched.iter().any(|site| !matches!(*site, "same-origin" | "none"))
        || origins.iter().any(|origin| !own(origin));
    match (foreign, !fetched.is_empty() || !origins.is_empty()) {
        (true, _) => Site::Foreign,
        (false, true) => Site::Own,
        (false, false) => Site::Unsaid,
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, secret) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(secret.trim())
}

fn cookie(headers: &HeaderMap) -> Option<&str> {
    let values = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = values.flat_map(|value| value.split(';')).filter_map(|it| it.split_once('='));
    pairs.find(|(name, _)| name.trim() == COOKIE).map(|(_, secret)| secret.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(headers: &[(&'static str, &str)], expected: Site) {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(HeaderName::from_static(name), value.parse().unwrap());
        }
        assert_eq!(site(&map, "localhost:80", false), expected, "{headers:?}");
    }

    #[test]
    fn an_unencrypted_page_of_the_same_name_is_foreign_to_an_encrypted_server() {
        for (origin, expected) in
            [("https://localhost:80", Site::Own), ("http://localhost:80", Site::Foreign)]
        {
            let headers = HeaderMap::from_iter([(header::ORIGIN, origin.parse().unwrap())]);
            assert_eq!(site(&headers, "localhost:80", true), expected, "{origin}");
        }
    }

    #[test]
    fn a_browser_says_where_a_request_comes_from() {
        check(&[], Site::Unsaid);
        check(&[("origin", "http://localhost:80")], Site::Own);
        check(&[("sec-fetch-site", "same-origin")], Site::Own);
        check(&[("sec-fetch-site", "none")], Site::Own);
        for foreign in ["null", "http://localhost", "http://localhost:80.evil", "file://", "\u{e9}"]
        {
            check(&[("origin", foreign)], Site::Foreign);
        }
        for foreign in ["cross-site", "same-site", "", "?"] {
            check(&[("sec-fetch-site", foreign)], Site::Foreign);
        }
        let both = [("origin", "http://localhost:80"), ("sec-fetch-site", "cross-site")];
        check(&both, Site::Foreign);
        let (own, foreign) = (("origin", "http://localhost:80"), ("origin", "http://evil.test"));
        check(&[own, foreign], Site::Foreign);
        check(&[foreign, own], Site::Foreign);
        check(&[own, own], Site::Own);
    }
}
