//! Questions for permission, answered by click and by keys alone.

use std::fs;

use serde_json::{Value, json};

use crate::driver::ESCAPE;
use crate::place::Place;
use crate::tab::Tab;

fn edit(old: &str, new: &str) -> Value {
    json!({ "calls": [{ "tool": "edit_file", "arguments": { "path": "a.txt", "old": old, "new": new } }] })
}

/// Waits for the card of an edit, and looks at the difference in it.
async fn shows(tab: &Tab, call: &str, old: &str, new: &str) {
    let card = format!("form#q-{call}-permission-1.ask");
    tab.settles(&card).await;
    let cells = |class: &str| {
        format!(
            "[...document.querySelectorAll('{card} tr.{class}')].map((row) => row.querySelector('.sg').textContent + row.querySelector('.src').textContent.trim())"
        )
    };
    assert_eq!(tab.js(&cells("del")).await, json!([format!("−{old}")]));
    assert_eq!(tab.js(&cells("add")).await, json!([format!("+{new}")]));
    assert_eq!(tab.count(".ask").await, 1);
    tab.stands("ask").await;
}

#[tokio::test]
async fn an_edit_is_shown_as_a_difference_and_answered_by_click_and_by_keys() {
    let place = Place::new();
    let file = place.work("a.txt");
    fs::write(&file, "before\none\nafter\n").unwrap();
    let model = place.script(&json!({ "steps": [
        edit("one", "two"), edit("two", "three"), edit("three", "four"), { "say": "Over." },
    ] }));
    let server = place.serve(&model);
    let Some(tab) = Tab::signed_in(&server).await else { return };
    tab.begin(&server, "Count").await;

    shows(&tab, "1-1-0", "one", "two").await;
    assert_eq!(fs::read_to_string(&file).unwrap(), "before\none\nafter\n");
    tab.press(".ask button[value=yes]").await;
    tab.sees("p#q-1-1-0-permission-1.asked").await;

    // From here on without a pointer: out of the composer, to the question, yes.
    shows(&tab, "1-2-0", "two", "three").await;
    assert_eq!(fs::read_to_string(&file).unwrap(), "before\ntwo\nafter\n");
    tab.run("document.querySelector('#draft').focus()").await;
    tab.keys(ESCAPE).await;
    tab.keys("q").await;
    assert_eq!(tab.focus().await, "q-1-2-0-permission-1-h");
    tab.keys("y").await;
    tab.sees("p#q-1-2-0-permission-1.asked").await;
    // Out of fields, so that the next letter is no part of a draft.
    assert_eq!(tab.focus().await, "q-1-2-0-permission-1");

    // C31: leaving a card is no answer.
    shows(&tab, "1-3-0", "three", "four").await;
    assert_eq!(fs::read_to_string(&file).unwrap(), "before\nthree\nafter\n");
    tab.keys("y").await;
    assert_eq!(tab.focus().await, "q-1-3-0-permission-1-h", "the first one goes to it");
    tab.keys(ESCAPE).await;
    assert_eq!(tab.focus().await, "draft");
    assert_eq!(tab.count(".ask").await, 1);
    tab.keys(ESCAPE).await;
    tab.keys("qn").await;
    tab.sees("p#q-1-3-0-permission-1.asked").await;

    tab.stands("done").await;
    assert_eq!(fs::read_to_string(&file).unwrap(), "before\nthree\nafter\n");
    let is =
        "[...document.querySelectorAll('details.call')].map((it) => it.id + ' ' + it.dataset.is)";
    assert_eq!(tab.js(is).await, json!(["c1-1-0 ok", "c1-2-0 ok", "c1-3-0 bad"]));
    assert_eq!(tab.js("document.querySelector('#draft').value").await, "");
    let outcomes: Vec<_> =
        place.events("ToolFinished").iter().map(|event| event["outcome"].clone()).collect();
    assert_eq!(outcomes, ["ok", "ok", "denied"]);
    tab.check().await;
    tab.close().await;
}
