//! Forms of the page, as a browser or the module sends them, and what they are answered with.

use axum::extract::{FromRequest, Multipart, Request};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use piton::id::MessageId;

use crate::body::whole;
use crate::fault::{Fault, Kind};
use crate::limits::{BODY_WAIT, JSON_BYTES_MAX, UPLOAD_BYTES_MAX};

/// Files of one form.
const FILES_MAX: usize = 16;

/// What a form holds.
#[derive(Debug, Default)]
pub(super) struct Form {
    fields: Vec<(String, String)>,
    /// Files that came along, with their names.
    pub(super) files: Vec<(String, Bytes)>,
    /// Whether the module of the page sent it.
    is_module: bool,
}

impl Form {
    /// The first value of a field that is not blank.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let mut named = self.fields.iter().filter(|(known, _)| known == name);
        let found = named.find(|(_, value)| !value.trim().is_empty());
        found.map(|(_, value)| value.as_str())
    }

    /// All values of a field.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let named = self.fields.iter().filter(move |(known, _)| known == name);
        named.map(|(_, value)| value.as_str())
    }

    /// A number.
    pub(super) fn number(&self, name: &str) -> Option<u32> {
        self.get(name)?.parse().ok()
    }

    /// The message that it is about.
    pub(super) fn message(&self) -> Result<MessageId, Fault> {
        let named = self.get("message").ok_or_else(|| Fault::bad("no message is named"))?;
        Ok(MessageId::new(named))
    }

    /// What the form is answered with: the page stays where it is.
    pub(super) fn done(&self, back: &str) -> Done {
        Done { is_module: self.is_module, to: back.to_owned(), leads: false }
    }

    /// The same for a form that leads elsewhere.
    pub(super) fn leads_to(&self, to: &str) -> Done {
        Done { is_module: self.is_module, to: to.to_owned(), leads: true }
    }
}

/// The answer to a form that was taken.
#[derive(Debug)]
pub(super) struct Done {
    is_module: bool,
    to: String,
    leads: bool,
}

impl IntoResponse for Done {
    fn into_response(self) -> Response {
        let Ok(to) = HeaderValue::try_from(self.to) else {
            return StatusCode::NO_CONTENT.into_response();
        };
        match (self.is_module, self.leads) {
            (true, false) => StatusCode::NO_CONTENT.into_response(),
            (true, true) => (StatusCode::NO_CONTENT, [(header::LOCATION, to)]).into_response(),
            (false, _) => (StatusCode::SEE_OTHER, [(header::LOCATION, to)]).into_response(),
        }
    }
}

/// Whether the module of the page asks.
pub(super) fn is_module(headers: &HeaderMap) -> bool {
    headers.contains_key("piton")
}

impl<S: Send + Sync> FromRequest<S> for Form {
    type Rejection = Fault;

    async fn from_request(request: Request, state: &S) -> Result<Self, Fault> {
        let is_module = is_module(request.headers());
        let media_type = request.headers().get(header::CONTENT_TYPE);
        let media_type = media_type.and_then(|value| value.to_str().ok()).unwrap_or_default();
        if media_type.starts_with("multipart/form-data") {
            let reading = parts(request, state);
            let slow = || Fault::new(Kind::TooSlow, "the form took too long");
            let form = tokio::time::timeout(BODY_WAIT, reading).await.map_err(|_| slow())??;
            return Ok(Self { is_module, ..form });
        }
        if !media_type.is_empty() && !media_type.starts_with("application/x-www-form-urlencoded") {
            return Err(Fault::new(Kind::WrongType, "a form is taken here, and nothing else"));
        }
        let bytes = whole(request.into_body(), JSON_BYTES_MAX).await?;
        let fields = serde_urlencoded::from_bytes(&bytes);
        let fields = fields.map_err(|error| Fault::bad(format!("this is no form: {error}")))?;
        Ok(Self { fields, files: Vec::new(), is_module })
    }
}

/// A form with files in it.
async fn parts<S: Send + Sync>(request: Request, state: &S) -> Result<Form, Fault> {
    let broken = |error: axum::extract::multipart::MultipartError| {
        Fault::bad(format!("the form broke off: {error}"))
    };
    let mut read = Multipart::from_request(request, state)
        .await
        .map_err(|error| Fault::bad(error.to_string()))?;
    let (mut form, mut left) = (Form::default(), UPLOAD_BYTES_MAX);
    while let Some(mut field) = read.next_field().await.map_err(broken)? {
        let name = field.name().unwrap_or_default().to_owned();
        let file = field.file_name().map(ToOwned::to_owned);
        let mut content = Vec::new();
        while let Some(piece) = field.chunk().await.map_err(broken)? {
            left = left.checked_sub(piece.len()).ok_or_else(|| {
                let most = UPLOAD_BYTES_MAX;
                Fault::new(Kind::TooLarge, format!("the files have more than {most} bytes"))
            })?;
            content.extend_from_slice(&piece);
        }
        match file {
            Some(file) if !content.is_empty() => form.files.push((file, content.into())),
            // A field for files that was left empty.
            Some(file) if file.is_empty() => {}
            Some(file) => return Err(Fault::bad(format!("{file} is empty")).hint("take it away")),
            None => {
                let text = String::from_utf8(content).map_err(|_| Fault::bad("no text"))?;
                form.fields.push((name, text));
            }
        }
        if FILES_MAX < form.files.len() {
            return Err(Fault::bad(format!("a message takes at most {FILES_MAX} files")));
        }
    }
    Ok(form)
}
