//! What a file of the workspace holds at this moment, for whoever compares it with what was written.

use std::io::Read as _;

use piton_core::id::Digest;

use super::change::EDIT_BYTES_MAX;
use super::digest;
use super::workspace::Place;
use crate::contract::Site;

/// The digest of a file, by the path that a change of it recorded; nothing inside if there is no such file,
/// and nothing at all if it cannot be looked at.
pub fn digest_now(site: &Site, path: &str) -> Option<Option<Digest>> {
    let place = Place::recorded(site, path).ok()?;
    let Ok(file) = place.open_file(site) else {
        return place.kind(site).is_none().then_some(None);
    };
    let most = EDIT_BYTES_MAX;
    let mut content = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut content).ok()?;
    // A larger one was not written by a tool.
    Some(Some(digest::of(&content)))
}
