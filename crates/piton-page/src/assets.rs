//! What the page is made with: its style, its module, its icon. Names have a digest in them, so that a
//! browser may keep each for ever.

use std::fmt::Write as _;
use std::sync::OnceLock;

use sha2::{Digest as _, Sha256};

/// Bytes of the digest that are in a name.
const DIGEST_BYTES: usize = 6;

/// A file of the page.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Asset {
    /// Its name below `/assets/`.
    pub name: String,
    /// Its media type, as a header says it.
    pub media_type: &'static str,
    /// It.
    pub bytes: &'static [u8],
}

struct Files {
    all: [Asset; 3],
}

/// All of them.
pub fn all() -> &'static [Asset] {
    &files().all
}

pub(crate) fn style() -> &'static str {
    let [style, _, _] = &files().all;
    &style.name
}

pub(crate) fn module() -> &'static str {
    let [_, module, _] = &files().all;
    &module.name
}

pub(crate) fn icon() -> &'static str {
    let [_, _, icon] = &files().all;
    &icon.name
}

fn files() -> &'static Files {
    static FILES: OnceLock<Files> = OnceLock::new();
    FILES.get_or_init(|| {
        let all = [
            asset("piton", "css", "text/css; charset=utf-8", include_bytes!("../assets/piton.css")),
            asset(
                "piton",
                "js",
                "text/javascript; charset=utf-8",
                include_bytes!("../assets/piton.js"),
            ),
            asset("icon", "svg", "image/svg+xml", include_bytes!("../assets/icon.svg")),
        ];
        Files { all }
    })
}

fn asset(name: &str, ending: &str, media_type: &'static str, bytes: &'static [u8]) -> Asset {
    let mut digest = String::new();
    for byte in Sha256::digest(bytes).iter().take(DIGEST_BYTES) {
        // Writing to a string cannot fail.
        write!(digest, "{byte:02x}").unwrap_or_default();
    }
    Asset { name: format!("{name}-{digest}.{ending}"), media_type, bytes }
}
