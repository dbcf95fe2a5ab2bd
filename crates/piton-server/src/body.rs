//! Bodies of requests: whole, in time, not too large, and of the type that is taken.

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, header};
use bytes::Bytes;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::de::DeserializeOwned;

use crate::fault::{Fault, Kind};
use crate::limits::{BODY_WAIT, JSON_BYTES_MAX};

/// A body as JSON. An empty body is an object without fields.
#[derive(Debug)]
pub(crate) struct JsonBody<T>(pub(crate) T);

/// A JSON body as it was sent.
#[derive(Debug)]
pub(crate) struct JsonText(pub(crate) String);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = Fault;

    async fn from_request(request: Request, state: &S) -> Result<Self, Fault> {
        let JsonText(text) = JsonText::from_request(request, state).await?;
        let wrong = |error| Fault::bad(format!("the body is not what is taken here: {error}"));
        serde_json::from_str(&text).map(Self).map_err(wrong)
    }
}

impl<S: Send + Sync> FromRequest<S> for JsonText {
    type Rejection = Fault;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Fault> {
        let is_json = is_json(request.headers());
        let bytes = whole(request.into_body(), JSON_BYTES_MAX).await?;
        if bytes.is_empty() {
            return Ok(Self("{}".into()));
        }
        if !is_json {
            // A form of another site can send anything but this without asking first.
            let message = "a body is taken as application/json only";
            return Err(Fault::new(Kind::WrongType, message));
        }
        let text = String::from_utf8(bytes.to_vec());
        text.map(Self).map_err(|_| Fault::bad("the body is no text"))
    }
}

/// Reads a body to its end.
pub(crate) async fn whole(body: Body, bytes_max: usize) -> Result<Bytes, Fault> {
    let reading = Limited::new(body, bytes_max).collect();
    match tokio::time::timeout(BODY_WAIT, reading).await {
        Ok(Ok(read)) => Ok(read.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            let message = format!("the body has more than {bytes_max} bytes, which is the most");
            Err(Fault::new(Kind::TooLarge, message))
        }
        Ok(Err(_)) => Err(Fault::bad("the body broke off; nothing of it is kept")),
        Err(_) => {
            let message = format!("the body was not whole after {} s", BODY_WAIT.as_secs());
            Err(Fault::new(Kind::TooSlow, message).hint("nothing of it is kept; send it again"))
        }
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media_type = value.and_then(|value| value.split(';').next()).unwrap_or_default();
    media_type.trim().eq_ignore_ascii_case("application/json")
}
