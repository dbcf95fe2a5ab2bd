//! Files: kept by their digest, and given back.

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use piton_core::attachment::{Sniffing, media_type};
use piton_core::id::Digest;
use piton_core::view::BlobRef;
use serde::Serialize;
use utoipa::ToSchema;

use crate::body::Pieces;
use crate::fault::{ErrorBody, Fault, Kind};
use crate::forms::FileBytes;
use crate::limits::{NAME_LETTERS_MAX, UPLOAD_BYTES_MAX};
use crate::shared::Shared;

/// Types that a browser shows and never runs.
const SHOWN: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
/// Letters of a digest.
const DIGEST_LETTERS: usize = 64;

/// A file that is kept.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BlobView {
    /// Its digest: the name to use in a message.
    blob: String,
    /// Its size.
    bytes: u64,
    /// What it is, as its first bytes say.
    media_type: String,
}

/// Upload a file
///
/// The body is the file itself. It is kept by its digest; uploading it twice is uploading it once.
#[utoipa::path(
    post,
    path = "/blobs",
    operation_id = "upload_file",
    tag = "files",
    request_body(content = inline(FileBytes), content_type = "application/octet-stream"),
    responses(
        (status = 201, description = "it is kept", body = BlobView),
        ErrorBody,
    )
)]
pub(crate) async fn keep(
    State(shared): State<Shared>,
    request: Request,
) -> Result<Response, Fault> {
    if is_too_large(request.headers()) {
        return Err(too_large());
    }
    let Ok(_place) = shared.uploads.try_acquire() else {
        let busy = "too many files are uploaded at this moment";
        return Err(Fault::new(Kind::Busy, busy).hint("try again in a moment"));
    };
    // What breaks off or is too large is dropped with its draft, and leaves nothing.
    let mut draft = shared.engine().journal().begin_blob().await?;
    let (mut sniffing, mut is_empty) = (Sniffing::default(), true);
    let mut pieces = Pieces::new(request.into_body(), UPLOAD_BYTES_MAX);
    while let Some(piece) = pieces.next().await? {
        is_empty &= piece.is_empty();
        sniffing.add(&piece);
        draft.add(&piece).await?;
    }
    if is_empty {
        return Err(Fault::bad("the file is empty"));
    }
    let BlobRef { digest, bytes } = draft.keep().await?;
    let (blob, media_type) = (digest.to_string(), sniffing.media_type("").to_owned());
    let kept = BlobView { blob, bytes, media_type };
    Ok((StatusCode::CREATED, Json(kept)).into_response())
}

/// Said before the file is on its way, where the client tells.
fn is_too_large(headers: &HeaderMap) -> bool {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    length.and_then(|length| length.parse::<usize>().ok()).is_some_and(|it| UPLOAD_BYTES_MAX < it)
}

fn too_large() -> Fault {
    let message = format!("the file has more than {UPLOAD_BYTES_MAX} bytes, which is the most");
    Fault::new(Kind::TooLarge, message)
}

/// Download a file
#[utoipa::path(
    get,
    path = "/blobs/{blob}",
    operation_id = "download_file",
    tag = "files",
    params(("blob" = String, Path, description = "the digest", pattern = "^[0-9a-f]{64}$")),
    responses(
        (status = 200, description = "the file", content(
            (inline(FileBytes) = "application/octet-stream"),
            (inline(FileBytes) = "image/png"),
            (inline(FileBytes) = "image/jpeg"),
            (inline(FileBytes) = "image/gif"),
            (inline(FileBytes) = "image/webp"),
        )),
        ErrorBody,
    )
)]
pub(crate) async fn give(
    State(shared): State<Shared>,
    Path(blob): Path<String>,
) -> Result<Response, Fault> {
    let is_digit = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    if blob.len() != DIGEST_LETTERS || !blob.chars().all(is_digit) {
        return Err(Fault::not_found("there is no such file"));
    }
    let content = shared.engine().journal().blob(&Digest::new(blob)).await?;
    let kind = media_type("", &content);
    let shown = SHOWN.contains(&kind);
    let (kind, way) =
        if shown { (kind, "inline") } else { ("application/octet-stream", "attachment") };
    let mut answer = Response::new(Body::from(content));
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_static(way));
    let alone = HeaderValue::from_static("default-src 'none'; sandbox");
    headers.insert(header::CONTENT_SECURITY_POLICY, alone);
    Ok(answer)
}

/// The name of a file, without the path that may be in it.
pub(crate) fn file_name(typed: &str) -> String {
    let last = typed.rsplit(['/', '\\']).next().unwrap_or_default();
    let name: String = last.chars().filter(|c| !c.is_control()).take(NAME_LETTERS_MAX).collect();
    let name = name.trim();
    if name.is_empty() || name.chars().all(|c| c == '.') { "file".into() } else { name.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_has_no_path_in_it() {
        for (typed, expected) in [
            ("a.txt", "a.txt"),
            ("../../etc/passwd", "passwd"),
            ("C:\\up\\b.png", "b.png"),
            ("..", "file"),
            ("", "file"),
            ("a\0b\n", "ab"),
            ("dir/", "file"),
        ] {
            assert_eq!(file_name(typed), expected, "{typed:?}");
        }
        assert_eq!(file_name(&"x".repeat(500)).len(), NAME_LETTERS_MAX);
    }
}
