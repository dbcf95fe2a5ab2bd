//! The way in for a browser: a one-time code becomes a cookie.

use axum::Extension;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderValue, Method, header};
use axum::response::{Html, IntoResponse as _, Response};
use serde::Deserialize;

use crate::access::Bearer;
use crate::body::whole;
use crate::chance;
use crate::fault::{Fault, Kind, with_causes};
use crate::guard::COOKIE;
use crate::limits::{COOKIE_SECONDS, JSON_BYTES_MAX};
use crate::serve::Encrypted;
use crate::shared::Shared;

/// What the printed address holds.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SignIn {
    code: String,
}

/// The page that asks for a code, or what follows from one in the address.
pub(crate) async fn sign_in(
    State(shared): State<Shared>,
    encrypted: Option<Extension<Encrypted>>,
    method: Method,
    Query(SignIn { code }): Query<SignIn>,
) -> Result<Response, Fault> {
    // Programs that only look at an address, such as previews of links, ask by HEAD.
    if code.is_empty() || method == Method::HEAD {
        return Ok(Html(piton_page::sign_in(None)).into_response());
    }
    redeem(&shared, &code, encrypted.is_some())
}

/// The same for a code that was typed.
pub(crate) async fn sign_in_by_form(
    State(shared): State<Shared>,
    encrypted: Option<Extension<Encrypted>>,
    request: Request,
) -> Result<Response, Fault> {
    let bytes = whole(request.into_body(), JSON_BYTES_MAX).await?;
    let SignIn { code } = serde_urlencoded::from_bytes(&bytes)
        .map_err(|error| Fault::bad(format!("this is no form: {error}")))?;
    redeem(&shared, code.trim(), encrypted.is_some())
}

/// Signs a browser in. The answer leads on by itself: a redirect would still belong to the page from
/// which the address was opened, and a strict cookie would not go with it.
fn redeem(shared: &Shared, code: &str, encrypted: bool) -> Result<Response, Fault> {
    let (tokens, now) = (&shared.parts.tokens, shared.parts.clock.now());
    if !tokens.redeem(code, now) {
        let message = "this address was used before, or is too old";
        return Err(
            Fault::new(Kind::WrongToken, message).hint("piton serve status prints another one")
        );
    }
    let name = format!("browser-{}", chance::name());
    let secret = tokens.add(&name, Bearer::Browser, now);
    let secret = secret.map_err(|error| Fault::new(Kind::Store, with_causes(&error)))?;
    // Such a cookie never goes out unencrypted.
    let secure = if encrypted { "; Secure" } else { "" };
    let cookie = format!(
        "{COOKIE}={secret}; HttpOnly; SameSite=Strict; Path=/; Max-Age={COOKIE_SECONDS}{secure}"
    );
    let cookie = HeaderValue::try_from(cookie);
    let cookie = cookie.map_err(|error| Fault::new(Kind::Internal, error.to_string()))?;
    let page = "<!doctype html><title>piton</title><p><a href=\"/\">You are signed in.</a>";
    let headers = [
        (header::SET_COOKIE, cookie),
        (header::REFRESH, HeaderValue::from_static("0;url=/")),
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
    ];
    Ok((headers, page).into_response())
}
