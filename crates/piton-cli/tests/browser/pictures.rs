//! The pictures in `docs/pictures`: one conversation, light and dark. They are written where
//! `PITON_PICTURES` is set; without it the test only takes them.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::place::Place;
use crate::tab::Tab;

/// Smallest picture that shows anything, in bytes.
const PICTURE_BYTES_MIN: usize = 20_000;

#[tokio::test]
async fn pictures_of_a_conversation_light_and_dark() {
    let place = Place::new();
    let code = "fn area(width: u32, height: u32) -> u32 {\n    width + height\n}\n";
    fs::write(place.work("area.rs"), code).unwrap();
    let server = place.serve("demo");
    let Some(tab) = Tab::signed_in(&server).await else { return };
    let asked = r#"read area.rs then replace "width + height" with "width * height" in area.rs"#;
    tab.begin(&server, asked).await;
    tab.settles(".ask").await;
    let into = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/pictures");
    let screen = json!({ "width": 1280, "height": 800, "deviceScaleFactor": 1, "mobile": false });
    tab.cdp("Emulation.setDeviceMetricsOverride", screen).await;
    let mut grounds = Vec::new();
    for scheme in ["light", "dark"] {
        let feature = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        tab.cdp("Emulation.setEmulatedMedia", feature).await;
        grounds.push(tab.text("getComputedStyle(document.body).backgroundColor").await);
        let picture = tab.picture().await;
        assert!(PICTURE_BYTES_MIN < picture.len());
        if std::env::var_os("PITON_PICTURES").is_some() {
            fs::write(into.join(format!("page-{scheme}.png")), picture).unwrap();
        }
    }
    assert_ne!(grounds[0], grounds[1], "dark is not light");
    tab.check().await;
    tab.close().await;
}
