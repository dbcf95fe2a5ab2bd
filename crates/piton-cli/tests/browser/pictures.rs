//! The pictures in `docs/pictures`: one conversation, light, dark and on a phone. They are written where
//! `PITON_PICTURES` is set; without it the tests only take them.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::place::Place;
use crate::tab::Tab;

/// Smallest picture that shows anything, in bytes.
const PICTURE_BYTES_MIN: usize = 20_000;

/// Takes a picture; writes it, if that is wanted.
pub(crate) async fn keep(tab: &Tab, name: &str) {
    let picture = tab.picture().await;
    assert!(PICTURE_BYTES_MIN < picture.len());
    if std::env::var_os("PITON_PICTURES").is_some() {
        let into = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/pictures");
        fs::write(into.join(format!("{name}.png")), picture).unwrap();
    }
}

/// Makes the window as large as this.
pub(crate) async fn screen(tab: &Tab, width: u64, height: u64, is_phone: bool) {
    let screen =
        json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_phone });
    tab.cdp("Emulation.setDeviceMetricsOverride", screen).await;
}

#[tokio::test]
async fn pictures_of_a_conversation_light_dark_and_on_a_phone() {
    let place = Place::new();
    let code = "fn area(width: u32, height: u32) -> u32 {\n    width + height\n}\n";
    fs::write(place.work("area.rs"), code).unwrap();
    let server = place.serve("demo");
    let Some(tab) = Tab::signed_in(&server).await else { return };
    let asked = r#"read area.rs then replace "width + height" with "width * height" in area.rs"#;
    tab.begin(&server, asked).await;
    tab.settles(".ask").await;
    screen(&tab, 1280, 800, false).await;
    let mut grounds = Vec::new();
    for scheme in ["light", "dark"] {
        let feature = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        tab.cdp("Emulation.setEmulatedMedia", feature).await;
        grounds.push(tab.text("getComputedStyle(document.body).backgroundColor").await);
        keep(&tab, &format!("page-{scheme}")).await;
    }
    assert_ne!(grounds[0], grounds[1], "dark is not light");
    let feature = json!({ "features": [{ "name": "prefers-color-scheme", "value": "light" }] });
    tab.cdp("Emulation.setEmulatedMedia", feature).await;
    screen(&tab, 390, 844, true).await;
    keep(&tab, "page-phone").await;
    tab.check().await;
    tab.close().await;
}
