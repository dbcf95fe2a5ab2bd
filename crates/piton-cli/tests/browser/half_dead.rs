//! A wire that is neither there nor gone: the page notices by itself, and comes back without a gap.

use std::time::Duration;

use serde_json::json;

use crate::place::{Place, Serving};
use crate::proxy::{Proxy, Wire};
use crate::tab::Tab;

/// A sign of life each 200 ms, so that a page waits for half a second, not for 25 s.
const SETTINGS: &str = "[serve]\nbeat_ms = 200\n";

const LINK: &str = "document.documentElement.dataset.link";

/// A conversation that is read through a wire.
async fn read_through(place: &Place, server: &Serving, model: &str) -> Option<(Proxy, Tab)> {
    let proxy = Proxy::to(&server.url).await;
    let tab = Tab::at(&proxy.through(&server.url, &server.sign_in)).await?;
    assert_eq!(tab.js("document.documentElement.dataset.silenceMs").await, "500");
    place.run(&["query", "Begin", "--model", model]);
    tab.go(&proxy.url).await;
    tab.click(".conv").await;
    tab.until("document.querySelector('#t1 .text')?.innerText.trim() === 'One.'").await;
    Some((proxy, tab))
}

/// What a terminal says beside it, and what the page has to show then.
async fn goes_on(place: &Place, tab: &Tab, turn: u32, answer: &str) {
    tab.until(&format!(
        "document.querySelector('#t{turn} .text')?.innerText.trim() === {answer:?}"
    ))
    .await;
    tab.until(&format!("{LINK} === 'on'")).await;
    tab.stands("done").await;
    assert_eq!(tab.count("article").await, u64::from(turn));
    assert_eq!(place.events("UserMessage").len(), turn as usize);
    tab.check().await;
}

// O50, C30
#[tokio::test]
async fn a_page_whose_stream_is_dead_opens_another_one_and_misses_nothing() {
    let place = Place::new();
    place.set(SETTINGS);
    let model = place.script(&json!({ "steps": [
        { "say": "One." }, { "say": "Two." }, { "say": "Three." }, { "say": "Four." },
    ] }));
    let server = place.serve(&model);
    let Some((proxy, tab)) = read_through(&place, &server, &model).await else { return };

    // Nothing passes and nothing is closed, as behind a laptop that slept.
    proxy.set(Wire::Dead);
    place.run(&["query", "More", "--continue"]);
    tab.until(&format!("{LINK} === 'off'")).await;
    tab.sees("#link:not([hidden])").await;
    assert_eq!(tab.count("article").await, 1);
    proxy.set(Wire::Whole);
    goes_on(&place, &tab, 2, "Two.").await;
    tab.until("document.querySelector('#link').hidden").await;

    // The server's half is closed.
    let before = proxy.connections();
    proxy.set(Wire::HalfClosed);
    tab.until(&format!("{LINK} === 'off'")).await;
    place.run(&["query", "Still more", "--continue"]);
    proxy.set(Wire::Whole);
    goes_on(&place, &tab, 3, "Three.").await;
    assert!(before < proxy.connections());

    // Late is not dead: the stream stays what it is.
    proxy.set(Wire::Slow(Duration::from_millis(100)));
    tab.run("window.links = []; new MutationObserver(() => links.push(document.documentElement.dataset.link)).observe(document.documentElement, { attributeFilter: ['data-link'] })").await;
    place.run(&["query", "The last", "--continue"]);
    goes_on(&place, &tab, 4, "Four.").await;
    assert_eq!(tab.js("links.filter((it) => it !== 'on')").await, json!([]));
    let patched = tab.timeline().await;
    tab.reload().await;
    assert_eq!(tab.timeline().await, patched, "the page agrees with the journal");
    tab.close().await;
}

// C29: a stream that is opened again in the middle of an answer takes nothing back.
#[tokio::test]
async fn an_answer_that_streams_over_a_wire_that_breaks_never_shrinks() {
    let place = Place::new();
    place.set(SETTINGS);
    let words: Vec<_> = (1..=60).map(|number| format!("word{number}")).collect();
    let back = place.work("the stream is back");
    let model = place.script(&json!({ "steps": [
        { "say": "One." }, { "say": words.join(" "), "chunk": 4, "wait_for": back },
    ] }));
    let server = place.serve(&model);
    let Some((proxy, tab)) = read_through(&place, &server, &model).await else { return };
    tab.run(
        "window.lengths = [];
         const look = () => lengths.push(document.querySelector('#s2-1-t')?.textContent.trimEnd().length ?? 0);
         look();
         new MutationObserver(look).observe(document, { childList: true, subtree: true, characterData: true });",
    )
    .await;
    tab.type_into("#draft", "Count\n").await;
    tab.until("document.querySelector('#s2-1-t')?.textContent.includes('word5')").await;
    proxy.set(Wire::Dead);
    tab.until(&format!("{LINK} === 'off'")).await;
    proxy.set(Wire::Whole);
    tab.until(&format!("{LINK} === 'on'")).await;
    std::fs::write(&back, "").unwrap();
    tab.stands("done").await;
    let text = tab.text("document.querySelector('#s2-1-t').innerText").await;
    assert_eq!(text.trim(), words.join(" "));
    let lengths = tab.js("lengths.filter((it, at) => it !== lengths[at - 1])").await;
    let lengths: Vec<u64> = serde_json::from_value(lengths).unwrap();
    assert!(lengths.is_sorted() && 2 < lengths.len(), "{lengths:?}");
    tab.check().await;
    tab.close().await;
}
