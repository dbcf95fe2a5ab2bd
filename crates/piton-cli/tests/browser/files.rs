//! Files that are dropped, pasted, and not taken.

use std::fs;

use serde_json::json;

use crate::place::Place;
use crate::tab::Tab;

/// Lets go of a file over the page, or pastes it.
fn give(event: &str, name: &str, content: &str) -> String {
    let (class, key) = match event {
        "paste" => ("ClipboardEvent", "clipboardData"),
        _ => ("DragEvent", "dataTransfer"),
    };
    format!(
        "const given = new DataTransfer();
         given.items.add(new File([{content:?}], {name:?}));
         document.body.dispatchEvent(new {class}({event:?}, {{ {key}: given, bubbles: true, cancelable: true }}));"
    )
}

const UPLOADED: &str =
    "[...document.querySelectorAll('#files li')].every((it) => !it.querySelector('progress'))";

#[tokio::test]
async fn files_are_dropped_anywhere_or_pasted_and_each_says_what_became_of_it() {
    let place = Place::new();
    let model = place.script(&json!({ "steps": [{ "say": "One." }, { "say": "Read." }] }));
    let server = place.serve(&model);
    let Some(tab) = Tab::signed_in(&server).await else { return };
    tab.begin(&server, "Begin").await;
    tab.stands("done").await;

    tab.run(&give("dragover", "dropped.txt", "one")).await;
    assert_eq!(tab.count("#composer.drop").await, 1, "it is shown where files go");
    tab.run(&give("drop", "dropped.txt", "one")).await;
    assert_eq!(tab.count("#composer.drop").await, 0);
    tab.run(&give("paste", "pasted.txt", "two")).await;
    tab.run(&give("paste", "unwanted.txt", "three")).await;
    tab.run(&give("paste", "empty.txt", "")).await;
    tab.until(UPLOADED).await;
    // One is taken away again; one that cannot be taken says why, and nothing is sent without it unasked.
    tab.click("#files button[aria-label='Remove unwanted.txt']").await;
    let empty = "document.querySelector('#files li:last-child')";
    assert_eq!(tab.js(&format!("{empty}.dataset.is")).await, "bad");
    let why = tab.text(&format!("{empty}.querySelector('small').textContent")).await;
    assert!(why.contains("empty"), "{why}");
    assert_eq!(tab.count("#composer .refused").await, 0, "it is told once");

    tab.type_into("#draft", "Read these\n").await;
    tab.sees("#composer .refused[role=alert]").await;
    let why = tab.text("document.querySelector('#composer .refused').textContent").await;
    assert!(why.contains("Not sent") && why.contains("empty.txt"), "{why}");
    assert_eq!(tab.count("#files li").await, 3, "all are still there");
    tab.click("#files button[aria-label='Remove empty.txt']").await;
    assert_eq!(tab.count("#composer .refused").await, 0);
    tab.type_into("#draft", "\n").await;
    tab.until("document.querySelector('#t2 .text')?.innerText.trim() === 'Read.'").await;
    let names =
        "[...document.querySelectorAll('#t2 .user .file > span')].map((it) => it.textContent)";
    assert_eq!(tab.js(names).await, json!(["dropped.txt", "pasted.txt"]));
    let said = &place.events("UserMessage")[1]["parts"];
    assert_eq!((&said[1]["text"], &said[2]["text"]), (&json!("one"), &json!("two")));
    assert_eq!(said.as_array().unwrap().len(), 3);
    tab.check().await;
    tab.close().await;
}

// C21, C20
#[tokio::test]
async fn a_file_that_a_model_does_not_take_is_explained_on_the_message() {
    let place = Place::new();
    let picture = place.work("dot.png");
    fs::write(&picture, b"\x89PNG\r\n\x1a\n and more").unwrap();
    let refused = json!({ "kind": { "fail": "auth" }, "times": 9 });
    let model = place.script(&json!({ "steps": [{ "say": "Never.", "faults": [refused] }] }));
    let key = [("DEEPSEEK_API_KEY", "none")];
    let server = place.serve_with(&model, "127.0.0.1:0", &key);
    let Some(tab) = Tab::signed_in(&server).await else { return };
    tab.go(&format!("{}/new", server.url)).await;
    tab.type_into("#draft", "What is this?").await;
    tab.attach("form.hello input[type=file]", &picture).await;
    tab.click("form.hello button.main").await;
    tab.until("document.querySelector('#main')?.dataset.conversation").await;
    tab.stands("bad").await;

    tab.choose("form.retry select.model", "deepseek/deepseek-flash").await;
    tab.press("form.retry button[value=retry]").await;
    tab.sees(".user form.retry .refused[role=alert]").await;
    let why = tab.text("document.querySelector('form.retry .refused').textContent").await;
    assert!(
        why.contains("dot.png cannot be sent: deepseek/deepseek-flash takes no images"),
        "{why}"
    );
    assert_eq!(tab.count(".refused").await, 1);
    assert_eq!(place.events("MessageRetried").len(), 0, "nothing was tried");
    assert_eq!(tab.count(".user .file").await, 1, "the file is kept");

    // Another model takes it, and the words go.
    tab.choose("form.retry select.model", "demo").await;
    tab.press("form.retry button[value=retry]").await;
    tab.stands("done").await;
    assert_eq!(tab.count(".refused").await, 0);
    tab.check().await;
    tab.close().await;
}
