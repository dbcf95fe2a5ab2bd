//! What the page is made with: its style, its modules, its icon. Names have a digest in them, so that a
//! browser may keep each for ever.

use std::fmt::Write as _;
use std::sync::OnceLock;

use sha2::{Digest as _, Sha256};

/// Bytes of the digest that are in a name.
const DIGEST_BYTES: usize = 6;

/// The media type of a module, as a header says it.
const MODULE: &str = "text/javascript; charset=utf-8";

/// The modules, the one that begins first. They import each other by their bare names, so they are served
/// beside each other: below one digest of them all.
const MODULES: [(&str, &[u8]); 8] = [
    ("piton.js", include_bytes!("../assets/piton.js")),
    ("page.js", include_bytes!("../assets/page.js")),
    ("hands.js", include_bytes!("../assets/hands.js")),
    ("scroll.js", include_bytes!("../assets/scroll.js")),
    ("stream.js", include_bytes!("../assets/stream.js")),
    ("composer.js", include_bytes!("../assets/composer.js")),
    ("draft.js", include_bytes!("../assets/draft.js")),
    ("mention.js", include_bytes!("../assets/mention.js")),
];

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
    all: Vec<Asset>,
}

/// All of them.
pub fn all() -> &'static [Asset] {
    &files().all
}

/// The name of the style.
pub(crate) fn style() -> &'static str {
    all().first().map_or("", |asset| &asset.name)
}

/// The name of the icon.
pub(crate) fn icon() -> &'static str {
    all().get(1).map_or("", |asset| &asset.name)
}

/// The names of the modules, the one that begins first.
pub(crate) fn modules() -> impl Iterator<Item = &'static str> {
    all().iter().filter(|asset| asset.media_type == MODULE).map(|asset| asset.name.as_str())
}

fn files() -> &'static Files {
    static FILES: OnceLock<Files> = OnceLock::new();
    FILES.get_or_init(|| {
        let mut all = vec![
            asset("piton", "css", "text/css; charset=utf-8", include_bytes!("../assets/piton.css")),
            asset("icon", "svg", "image/svg+xml", include_bytes!("../assets/icon.svg")),
        ];
        let together = digest(MODULES.iter().map(|(_, bytes)| *bytes));
        all.extend(MODULES.iter().map(|(name, bytes)| Asset {
            name: format!("modules-{together}/{name}"),
            media_type: MODULE,
            bytes,
        }));
        Files { all }
    })
}

fn asset(name: &str, ending: &str, media_type: &'static str, bytes: &'static [u8]) -> Asset {
    Asset { name: format!("{name}-{}.{ending}", digest([bytes])), media_type, bytes }
}

/// The beginning of a digest, in hexadecimal digits.
fn digest<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hash = Sha256::new();
    for piece in pieces {
        hash.update(piece);
    }
    let mut digits = String::new();
    for byte in hash.finalize().iter().take(DIGEST_BYTES) {
        // Writing to a string cannot fail.
        write!(digits, "{byte:02x}").unwrap_or_default();
    }
    digits
}
