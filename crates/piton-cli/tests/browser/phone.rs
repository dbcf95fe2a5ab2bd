//! The width of a phone.

use serde_json::json;

use crate::place::Place;
use crate::tab::Tab;

const WIDTH_PX: u64 = 390;
const HEIGHT_PX: u64 = 844;

/// The page is no wider than the screen, and what is pressed is large enough.
async fn fits(tab: &Tab, state: &str) {
    let width = tab.js("document.documentElement.scrollWidth").await.as_u64().unwrap();
    assert!(width <= WIDTH_PX, "{state}: {width} px wide");
    let small = "[...document.querySelectorAll('button, select, summary, a.b, a.conv')]
        .filter((it) => it.checkVisibility()).map((it) => [it.textContent.trim() || it.ariaLabel, it.getBoundingClientRect().height])
        .filter(([, height]) => 0 < height && height < 24)";
    assert_eq!(tab.js(small).await, json!([]), "{state}: too small to press");
    tab.check().await;
}

#[tokio::test]
async fn a_phone_shows_one_column_without_sideways_overflow() {
    let place = Place::new();
    let long = "x".repeat(300);
    let wide = format!(
        "A word: {long}\n\n```rust\nlet {long} = 1;\n```\n\n| a | b |\n|---|---|\n| {long} | `{long}` |\n\n- item {long}\n"
    );
    let model = place.script(&json!({ "steps": [
        { "say": wide, "calls": [{ "tool": "write_file", "arguments": { "path": "b.txt", "content": long } }] },
        { "say": "Over." },
    ] }));
    let server = place.serve(&model);
    let Some(tab) = Tab::signed_in(&server).await else { return };
    let screen =
        json!({ "width": WIDTH_PX, "height": HEIGHT_PX, "deviceScaleFactor": 1, "mobile": true });
    tab.cdp("Emulation.setDeviceMetricsOverride", screen).await;
    tab.go(&format!("{}/new", server.url)).await;
    fits(&tab, "new").await;
    tab.begin(&server, &format!("Look at this: {long}")).await;
    tab.settles(".ask button[value=yes]").await;
    fits(&tab, "question").await;
    tab.sees("#send button[value=steer]").await;
    tab.click(".ask button[value=yes]").await;
    tab.stands("done").await;
    fits(&tab, "done").await;
    // The composer is on the screen, the list behind a link.
    let end = tab.js("document.querySelector('#composer').getBoundingClientRect().bottom").await;
    assert!(end.as_f64().unwrap() <= 844.0, "{end}");
    assert_eq!(tab.js("document.querySelector('#list').checkVisibility()").await, false);
    tab.click("#bar-back").await;
    tab.sees("#list .conv").await;
    fits(&tab, "list").await;
    assert_eq!(tab.js("document.querySelector('#main')?.checkVisibility() ?? false").await, false);
    tab.close().await;
}
