//! Bytes on their way out, in pieces of a wanted size, until they end, stop or break.

use std::collections::VecDeque;
use std::io::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::stream;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::Frame;

use super::book::Book;
use super::fault::Close;
use crate::script::pace::Pace;

/// The connection is to break here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the connection breaks, as the script wants it")]
pub(super) struct Broken;

/// The body of an answer.
pub(super) type Body = http_body_util::combinators::UnsyncBoxBody<Bytes, Broken>;

/// What is still to come.
struct Rest {
    pieces: VecDeque<Bytes>,
    pace: Pace,
    close: Close,
    book: Arc<Book>,
}

/// A body that gives these pieces, each on its own.
pub(super) fn body(pieces: Vec<Bytes>, pace: Pace, close: Close, book: Arc<Book>) -> Body {
    let all = pieces.len();
    let rest = Rest { pieces: pieces.into(), pace, close, book };
    let frames = stream::unfold(Some(rest), move |rest| async move {
        let mut rest = rest?;
        rest.pace.next(all, rest.pieces.len()).await;
        // Lets each piece leave before the next one is made.
        tokio::task::yield_now().await;
        match (rest.pieces.pop_front(), rest.close) {
            (Some(piece), _) => Some((Ok(Frame::data(piece)), Some(rest))),
            (None, Close::End) => None,
            (None, Close::Drop | Close::DropFirst) => Some((Err(Broken), None)),
            (None, Close::Stall | Close::StallFirst) => {
                rest.book.stall();
                std::future::pending().await
            }
        }
    });
    StreamBody::new(frames).boxed_unsync()
}

/// Cuts pieces to at most `size` bytes; 0 leaves them as they are.
pub(super) fn split(pieces: Vec<Vec<u8>>, size: usize) -> Vec<Bytes> {
    let pieces = pieces.into_iter().filter(|piece| !piece.is_empty()).map(Bytes::from);
    if size == 0 {
        return pieces.collect();
    }
    let small = pieces.flat_map(|mut piece| {
        std::iter::from_fn(move || {
            let next = piece.split_to(size.min(piece.len()));
            (!next.is_empty()).then_some(next)
        })
    });
    small.collect()
}

/// Packs pieces so that each can be unpacked when it arrives.
pub(super) fn packed(pieces: Vec<Vec<u8>>, close: Close) -> std::io::Result<Vec<Vec<u8>>> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    let mut packed = Vec::new();
    for piece in pieces {
        packer.write_all(&piece)?;
        packer.flush()?;
        packed.push(std::mem::take(packer.get_mut()));
    }
    // A packed body that is not ended is not whole either.
    if close == Close::End {
        packed.push(packer.finish()?);
    }
    Ok(packed)
}
