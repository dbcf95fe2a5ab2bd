//! What is typed is kept: over a reload, a server that dies, a refusal, and for another device.

use serde_json::json;

use crate::place::Place;
use crate::tab::Tab;

const DRAFT: &str = "document.querySelector('#draft').value";
/// Whether the server has what was typed.
const PUT: &str = "Object.entries(localStorage).some(([key, it]) => key.startsWith('piton-draft-') && JSON.parse(it).text && !JSON.parse(it).differs)";

#[tokio::test]
async fn a_draft_survives_a_reload_a_dead_server_and_another_device() {
    let place = Place::new();
    let model = place.script(&json!({ "steps": [{ "say": "One." }, { "say": "Two." }] }));
    let server = place.serve(&model);
    let Some(tab) = Tab::signed_in(&server).await else { return };
    tab.begin(&server, "Begin").await;
    assert_eq!(tab.js(DRAFT).await, "", "what was sent is no draft any more");
    tab.stands("done").await;
    tab.type_into("#draft", "half a thought").await;
    tab.reload().await;
    assert_eq!(tab.js(DRAFT).await, "half a thought");

    // Another device: nothing is kept in its browser, and the server has it.
    tab.until(PUT).await;
    tab.run("localStorage.clear()").await;
    tab.reload().await;
    tab.until(&format!("{DRAFT} === 'half a thought'")).await;

    // The server dies; what is typed meanwhile is kept, and nothing is sent by itself.
    let address = server.kill_9();
    tab.until("document.documentElement.dataset.link === 'off'").await;
    tab.type_into("#draft", ", and more\n").await;
    tab.sees("#composer .refused").await;
    assert_eq!(tab.js(DRAFT).await, "half a thought, and more");
    let server = place.serve_at(&model, &address);
    tab.until("document.documentElement.dataset.link === 'on'").await;
    tab.reload().await;
    assert_eq!(tab.js(DRAFT).await, "half a thought, and more");
    assert_eq!(place.events("UserMessage").len(), 1);

    // Sent by a person, and gone everywhere.
    tab.type_into("#draft", "\n").await;
    tab.until("document.querySelector('#t2 .text')?.innerText.trim() === 'Two.'").await;
    assert_eq!(tab.js(DRAFT).await, "");
    tab.run("localStorage.clear()").await;
    tab.reload().await;
    let kept = "fetch(`${location.pathname}/draft`).then((it) => it.json())";
    assert_eq!(tab.js(kept).await, json!({ "text": "", "at": 0 }));
    assert_eq!(tab.js(DRAFT).await, "");
    tab.check().await;
    drop(server);
    tab.close().await;
}

#[tokio::test]
async fn of_two_drafts_the_newer_one_is_shown_and_the_other_one_offered() {
    let place = Place::new();
    let model = place.script(&json!({ "steps": [{ "say": "One." }] }));
    let server = place.serve(&model);
    let Some(tab) = Tab::signed_in(&server).await else { return };
    tab.begin(&server, "Begin").await;
    tab.stands("done").await;
    tab.type_into("#draft", "said on the desk").await;
    tab.until(PUT).await;
    // Another device has gone on since, and this one was not there.
    let put = "fetch(`${location.pathname}/draft`, { method: 'PUT', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ text: 'said on the phone' }) }).then((it) => it.status)";
    assert_eq!(tab.js(put).await, 200);
    tab.reload().await;
    tab.until(&format!("{DRAFT} === 'said on the phone'")).await;
    let offered = tab.text("document.querySelector('#other-draft span').textContent").await;
    assert_eq!(offered, "Another draft: said on the desk");
    tab.click("#other-draft button").await;
    assert_eq!(tab.js(DRAFT).await, "said on the desk");
    let offered = tab.text("document.querySelector('#other-draft span').textContent").await;
    assert_eq!(offered, "Another draft: said on the phone");
    tab.click("#other-draft button:last-child").await;
    assert_eq!(tab.count("#other-draft").await, 0);
    assert_eq!(tab.focus().await, "draft");
    tab.check().await;
    tab.close().await;
}
