//! How much a client may want, in one place. What is beyond it is refused with a typed error.

use std::time::Duration;

use piton_core::attachment::FILES_BYTES_MAX;

/// Largest JSON body.
pub(crate) const JSON_BYTES_MAX: usize = 1024 * 1024;
/// Largest upload: what one request to a model carries.
#[expect(clippy::cast_possible_truncation, reason = "14 MiB fit any machine that runs this")]
pub(crate) const UPLOAD_BYTES_MAX: usize = FILES_BYTES_MAX as usize;
/// Most uploads at the same time: each has an open file until it is whole.
pub(crate) const UPLOADS_MAX: usize = 16;
/// Longest wait for a whole body. A client that drips bytes is cut off.
pub(crate) const BODY_WAIT: Duration = Duration::from_secs(30);
/// Longest wait for the head of a request.
pub(crate) const HEADER_WAIT: Duration = Duration::from_secs(10);
/// Most connections at the same time, where there are descriptors for so many; more are refused.
pub(crate) const CONNECTIONS_MAX: usize = 12_000;
/// Connections that are allowed however few descriptors there are.
pub(crate) const CONNECTIONS_MIN: usize = 16;
/// Most connections that are being told at the same time that there are too many; more are closed at once.
pub(crate) const REFUSALS_MAX: usize = 64;
/// Most requests at the same time on one connection of HTTP/2.
pub(crate) const REQUESTS_AT_ONCE_MAX: u32 = 64;
/// How long a connection of HTTP/2 is silent before its client is asked for a sign of life.
pub(crate) const SILENCE_WAIT: Duration = Duration::from_secs(30);
/// Pause before connections are accepted again where the system has no room for one.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Most conversations on one stream of events.
pub(crate) const STREAM_CONVERSATIONS_MAX: usize = 32;
/// Most events that are written out ahead for one reader. What it does not take stays where all readers
/// share it.
pub(crate) const AHEAD_EVENTS_MAX: usize = 16;
/// Data from this size on is sent to every reader from the same memory, instead of a copy for each.
pub(crate) const SHARED_BYTES_MIN: usize = 4 * 1024;
/// Time between two signs of life on a stream of events, unless the settings name another one.
pub(crate) const BEAT_EVERY: Duration = Duration::from_secs(10);
/// How often it is looked whether a token was revoked whose stream is open.
pub(crate) const TOKENS_EVERY: Duration = Duration::from_millis(250);
/// Durable changes that are kept for readers that are a little behind.
pub(crate) const RING_FRAMES_MAX: usize = 256;
/// Changes that a reader is brought up to date with; one that missed more gets a snapshot.
pub(crate) const CATCH_UP_CHANGES_MAX: usize = 200;
/// Shortest time between two pictures of what no entry holds yet.
pub(crate) const LIVE_EVERY: Duration = Duration::from_millis(100);
/// How often it is looked whether somebody still works on the conversations of the list.
pub(crate) const ACTIVITY_EVERY: Duration = Duration::from_secs(1);
/// Shortest time between two frames of the list; what changes meanwhile is told together.
pub(crate) const LIST_EVERY: Duration = Duration::from_millis(250);
/// Rows of the list, unless another number is asked for.
pub(crate) const LIST_ROWS: usize = 100;
/// Most rows of one answer.
pub(crate) const LIST_ROWS_MAX: usize = 500;
/// Most hits of one search.
pub(crate) const HITS_MAX: usize = 200;
/// Most bytes of the output of a command in one answer.
pub(crate) const OUTPUT_BYTES_MAX: usize = 64 * 1024;
/// How long a one-time code can be used, in seconds.
pub(crate) const CODE_SECONDS: u64 = 60 * 60;
/// How long a browser stays signed in, in seconds.
pub(crate) const COOKIE_SECONDS: u64 = 90 * 24 * 60 * 60;
/// Longest name of a file or a token, in letters.
pub(crate) const NAME_LETTERS_MAX: usize = 120;

const _: () = assert!(CATCH_UP_CHANGES_MAX < RING_FRAMES_MAX);
const _: () = assert!(CONNECTIONS_MIN < CONNECTIONS_MAX);
const _: () = assert!(JSON_BYTES_MAX < UPLOAD_BYTES_MAX);
