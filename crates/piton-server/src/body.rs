//! Bodies of requests: whole, in time, not too large, and of the type that is taken.

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, header};
use bytes::Bytes;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::{Instant, timeout, timeout_at};

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
        let mut sent: Value = serde_json::from_str(&text).map_err(wrong)?;
        // serde would also take the fields in a list, without their names, which is not described.
        if !sent.is_object() {
            return Err(Fault::bad("the body is not what is taken here: it is no object"));
        }
        whole_numbers(&mut sent);
        serde_json::from_value(sent).map(Self).map_err(wrong)
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

/// Writes `3.0` as `3`: in JSON both are the same whole number.
fn whole_numbers(sent: &mut Value) {
    match sent {
        Value::Number(number) if number.is_f64() => {
            let text = number.to_string();
            let whole = text.strip_suffix(".0").and_then(|whole| whole.parse::<i64>().ok());
            if let Some(whole) = whole {
                *number = whole.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Object(fields) => fields.values_mut().for_each(whole_numbers),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Reads a body to its end.
pub(crate) async fn whole(body: Body, bytes_max: usize) -> Result<Bytes, Fault> {
    let reading = Limited::new(body, bytes_max).collect();
    match timeout(BODY_WAIT, reading).await {
        Ok(Ok(read)) => Ok(read.to_bytes()),
        Ok(Err(error)) => Err(broken(&*error, bytes_max)),
        Err(_) => Err(too_slow()),
    }
}

/// A body that is read piece by piece: no more than one piece is in memory.
#[derive(Debug)]
pub(crate) struct Pieces {
    body: Limited<Body>,
    bytes_max: usize,
    until: Instant,
}

impl Pieces {
    /// A body of which nothing is read yet.
    pub(crate) fn new(body: Body, bytes_max: usize) -> Self {
        let until = Instant::now() + BODY_WAIT;
        Self { body: Limited::new(body, bytes_max), bytes_max, until }
    }

    /// The next piece; none at its end.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Fault> {
        loop {
            let frame = timeout_at(self.until, self.body.frame()).await.map_err(|_| too_slow())?;
            let Some(frame) = frame else { return Ok(None) };
            let frame = frame.map_err(|error| broken(&*error, self.bytes_max))?;
            // What is no data is a trailer, which tells nothing that counts here.
            if let Ok(piece) = frame.into_data() {
                return Ok(Some(piece));
            }
        }
    }
}

fn broken(error: &(dyn std::error::Error + Send + Sync + 'static), bytes_max: usize) -> Fault {
    if error.is::<LengthLimitError>() {
        let message = format!("the body has more than {bytes_max} bytes, which is the most");
        return Fault::new(Kind::TooLarge, message);
    }
    Fault::bad("the body broke off; nothing of it is kept")
}

fn too_slow() -> Fault {
    let message = format!("the body was not whole after {} s", BODY_WAIT.as_secs());
    Fault::new(Kind::TooSlow, message).hint("nothing of it is kept; send it again")
}

fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media_type = value.and_then(|value| value.split(';').next()).unwrap_or_default();
    media_type.trim().eq_ignore_ascii_case("application/json")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    async fn read(text: &str) -> Result<Value, Fault> {
        let request = Request::builder().header("content-type", "application/json");
        let request = request.body(Body::from(text.to_owned())).unwrap();
        JsonBody::<Value>::from_request(request, &()).await.map(|JsonBody(read)| read)
    }

    #[tokio::test]
    async fn a_body_is_an_object_or_nothing() {
        for (text, expected) in [
            ("", json!({})),
            (
                r#"{"at":{"turn":3.0},"more":[2.5,-1.0]}"#,
                json!({ "at": { "turn": 3 }, "more": [2.5, -1] }),
            ),
        ] {
            assert_eq!(read(text).await.unwrap(), expected, "{text}");
        }
        for text in ["null", "[null,null]", "[]", "3", "\"text\"", "true", "{", "{}x"] {
            assert_eq!(read(text).await.unwrap_err().kind, Kind::BadInput, "{text}");
        }
    }
}
