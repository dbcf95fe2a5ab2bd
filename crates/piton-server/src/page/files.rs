//! Files of the directory that a conversation works in: which can be named in a message as `@path`, and
//! what goes along with a message that names some. Nothing outside of the open directories is either.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use axum::Json;
use axum::extract::{Query, State};
use piton_agent::mentions;
use serde::{Deserialize, Serialize};

use crate::fault::{Fault, Kind};
use crate::limits::UPLOAD_BYTES_MAX;
use crate::opened::Opened;
use crate::shared::Shared;

/// Longest path that is completed, in bytes.
const PATH_BYTES_MAX: usize = 4096;

/// What was typed, and where.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Wanted {
    /// The conversation, if there is one already.
    c: String,
    /// The directory of one that is not there yet.
    directory: String,
    /// What stands behind the `@`.
    q: String,
}

/// What it can become.
#[derive(Debug, Serialize)]
pub(super) struct Offered {
    /// Paths as a message names them; a directory ends with `/`.
    paths: Vec<String>,
}

/// Paths that begin as it was typed.
pub(super) async fn offer(
    State(shared): State<Shared>,
    Query(Wanted { c, directory, q }): Query<Wanted>,
) -> Result<Json<Offered>, Fault> {
    if PATH_BYTES_MAX < q.len() {
        return Err(Fault::bad(format!("a path has at most {PATH_BYTES_MAX} bytes")));
    }
    let here = if c.is_empty() {
        shared.parts.opened.place(Some(&directory).filter(|it| !it.is_empty()).map(|it| &**it))?
    } else {
        shared.workspace(&c).await?
    };
    let opened = shared.parts.opened.clone();
    blocking(move || {
        let inner = q.rsplit_once('/').map_or("", |(inner, _)| inner);
        // A path may lead out again, by dots or by a link.
        opened.check(&here.join(inner))?;
        Ok(Json(Offered { paths: mentions::beginning(&q, &here) }))
    })
    .await
}

/// A file that goes along with a message: its name, and what is in it.
pub(super) type Along = (String, Vec<u8>);

/// What a text mentions, as the terminal sends it. What is not there or not open is text.
pub(super) async fn mentioned(
    shared: &Shared,
    here: PathBuf,
    text: String,
) -> Result<Vec<Along>, Fault> {
    if !text.contains('@') {
        return Ok(Vec::new());
    }
    let opened = shared.parts.opened.clone();
    blocking(move || {
        let (mut found, mut left) = (Vec::new(), UPLOAD_BYTES_MAX);
        for path in mentions::mentioned(&text, &here) {
            let along = along(&opened, &here, &path, left)?;
            left = left.saturating_sub(along.as_ref().map_or(0, |(_, content)| content.len()));
            found.extend(along);
        }
        // Directories first, as the terminal has them.
        found.sort_by_key(|(name, _)| !name.ends_with('/'));
        Ok(found)
    })
    .await
}

fn along(
    opened: &Opened,
    here: &Path,
    path: &Path,
    bytes_max: usize,
) -> Result<Option<Along>, Fault> {
    let Some(whole) = opened.found(&here.join(path)) else { return Ok(None) };
    if whole.is_dir() {
        let (name, text) = mentions::listing(path, here);
        return Ok(Some((name, text.into_bytes())));
    }
    // A pipe or a device is not opened: it might never end.
    if !whole.is_file() {
        return Ok(None);
    }
    let name = mentions::name(path);
    let mut content = Vec::new();
    let read = File::open(&whole).and_then(|file| {
        // One more than allowed, so that too much is told from just enough.
        file.take(bytes_max as u64 + 1).read_to_end(&mut content)
    });
    read.map_err(|error| Fault::bad(format!("@{name} cannot be read: {error}")))?;
    if bytes_max < content.len() {
        let message = format!("the files have more than {UPLOAD_BYTES_MAX} bytes, with @{name}");
        return Err(Fault::new(Kind::TooLarge, message).hint("name fewer files"));
    }
    Ok((!content.is_empty()).then_some((name, content)))
}

/// Does what waits for the disk where it holds nobody up.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| Fault::new(Kind::Internal, "the directory could not be read"))?
}
