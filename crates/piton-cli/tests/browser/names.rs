//! What a screen reader is told: names and roles from chromium's accessibility tree, and the order of focus.

use std::time::Instant;

use serde_json::{Value, json};

use crate::driver::TAB;
use crate::place::Place;
use crate::tab::{DEADLINE, LOOK_EVERY, Tab};

/// Roles that mean nothing without a name. A fold (`group`) is named by its line, and a form without a name
/// is no landmark.
const NAMED: [&str; 12] = [
    "button",
    "link",
    "textbox",
    "searchbox",
    "combobox",
    "checkbox",
    "radio",
    "heading",
    "region",
    "navigation",
    "main",
    "log",
];
/// Most stops of the tab key on the way to the composer.
const STOPS_MAX: usize = 50;

/// Roles and names of all that is told.
async fn told(tab: &Tab) -> Vec<(String, String)> {
    let tree = tab.cdp("Accessibility.getFullAXTree", json!({})).await;
    let nodes = tree["nodes"].as_array().unwrap();
    let text = |value: &Value| value["value"].as_str().unwrap_or_default().to_owned();
    let nodes = nodes.iter().filter(|node| node["ignored"] == false);
    nodes.map(|node| (text(&node["role"]), text(&node["name"]))).collect()
}

/// Chromium builds the accessibility tree behind the page: it is asked again until all that is wanted is told.
async fn check(tab: &Tab, state: &str, wanted: &[(&str, &str)]) {
    let (end, mut look) = (Instant::now() + DEADLINE, tokio::time::interval(LOOK_EVERY));
    let told = loop {
        look.tick().await;
        let told = told(tab).await;
        let is_told = |(role, name): &(&str, &str)| {
            told.iter().any(|(its, known)| its == role && known.contains(name))
        };
        let Some((role, name)) = wanted.iter().find(|it| !is_told(it)) else { break told };
        assert!(Instant::now() < end, "{state}: no {role} {name:?} in {told:?}");
    };
    let nameless: Vec<_> = told
        .iter()
        .filter(|(role, name)| NAMED.contains(&role.as_str()) && name.trim().is_empty())
        .collect();
    assert!(nameless.is_empty(), "{state}: without a name: {nameless:?}");
}

#[tokio::test]
async fn everything_that_is_told_has_a_role_and_a_name() {
    let place = Place::new();
    let failed = json!({ "kind": { "fail": "auth" } });
    let model = place.script(&json!({ "steps": [
        { "think": "Let me see.", "calls": [{ "tool": "write_file", "arguments": { "path": "b.txt", "content": "b\n" } }] },
        { "say": "Written." },
        { "say": "Never.", "faults": [failed] },
    ] }));
    let server = place.serve(&model);
    let Some(tab) = Tab::signed_in(&server).await else { return };
    tab.go(&format!("{}/new", server.url)).await;
    let new = [
        ("textbox", "Message"),
        ("combobox", "Model"),
        ("combobox", "Directory"),
        ("button", "Send"),
    ];
    check(&tab, "new", &new).await;
    tab.begin(&server, "Write").await;
    tab.settles(".ask").await;
    let asks = [
        ("form", "write_file"),
        ("button", "Allow once"),
        ("button", "Deny"),
        ("button", "Stop"),
        ("alert", ""),
        ("navigation", "Conversations"),
        ("log", "Conversation"),
    ];
    check(&tab, "question", &asks).await;
    tab.until("document.querySelector('#alarm').textContent.startsWith('Waits for you')").await;
    tab.press(".ask button[value=yes]").await;
    tab.stands("done").await;
    check(&tab, "done", &[("textbox", "Message"), ("button", "Send"), ("heading", "Write")]).await;
    tab.until("document.querySelector('#say').textContent === 'Answer complete.'").await;

    tab.type_into("#draft", "More\n").await;
    tab.stands("bad").await;
    tab.sees(".fail").await;
    check(
        &tab,
        "failed",
        &[("form", "Try again"), ("button", "Retry"), ("combobox", "Model for the retry")],
    )
    .await;

    // The order of focus is the order of the page, and begins with the way past the list.
    tab.reload().await;
    let mut stops = Vec::new();
    for _ in 0..STOPS_MAX {
        tab.keys(TAB).await;
        let place = "[...document.querySelectorAll('*')].indexOf(document.activeElement)";
        stops.push(tab.js(place).await.as_u64().unwrap());
        if stops.len() == 1 {
            assert_eq!(tab.focus().await, "To the composer");
        }
        if tab.focus().await == "draft" {
            break;
        }
        assert_eq!(tab.js("document.activeElement.checkVisibility()").await, true);
    }
    assert!(stops.is_sorted() && 5 < stops.len(), "{stops:?}");
    assert_eq!(tab.focus().await, "draft");
    tab.check().await;
    tab.close().await;
}
