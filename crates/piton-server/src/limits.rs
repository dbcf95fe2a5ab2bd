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
/// Most connections at the same time; more are closed at once.
pub(crate) const CONNECTIONS_MAX: usize = 12_000;
/// Pause before connections are accepted again where the system has no room for one.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Most conversations on one stream of events.
pub(crate) const STREAM_CONVERSATIONS_MAX: usize = 32;
/// Time between two signs of life on a stream of events.
pub(crate) const BEAT_EVERY: Duration = Duration::from_secs(10);
/// Durable changes that are kept for readers that are a little behind.
pub(crate) const RING_FRAMES_MAX: usize = 256;
/// Changes that a reader is brought up to date with; one that missed more gets a snapshot.
pub(crate) const CATCH_UP_CHANGES_MAX: usize = 200;
/// Shortest time between two pictures of what no entry holds yet.
pub(crate) const LIVE_EVERY: Duration = Duration::from_millis(100);
/// How often it is looked whether somebody still works on the conversations of the list.
pub(crate) const ACTIVITY_EVERY: Duration = Duration::from_secs(1);
/// Rows of the list, unless another number is asked for.
pub(crate) const LIST_ROWS: usize = 100;
/// Most rows of one answer.
pub(crate) const LIST_ROWS_MAX: usize = 500;
/// Most hits of one search.
pub(crate) const HITS_MAX: usize = 200;
/// Most bytes of the output of a command in one answer.
pub(crate) const OUTPUT_BYTES_MAX: usize = 64 * 1024;
/// How long a one-time code can be used.
pub(crate) const CODE_LIFE: Duration = Duration::from_hours(1);
/// How long a browser stays signed in, in seconds.
pub(crate) const COOKIE_SECONDS: u64 = 90 * 24 * 60 * 60;
/// Longest name of a file or a token, in letters.
pub(crate) const NAME_LETTERS_MAX: usize = 120;

const _: () = assert!(CATCH_UP_CHANGES_MAX < RING_FRAMES_MAX);
const _: () = assert!(JSON_BYTES_MAX < UPLOAD_BYTES_MAX);
