//! Two tabs and a terminal on one conversation.

use serde_json::json;

use crate::place::Place;
use crate::tab::Tab;

#[tokio::test]
async fn two_tabs_and_a_terminal_see_the_same_turn() {
    let place = Place::new();
    let model = place.script(&json!({ "steps": [
        { "calls": [{ "tool": "write_file", "arguments": { "path": "b.txt", "content": "b\n" } }] },
        { "say": "Written." },
        { "say": "Said on a terminal." },
    ] }));
    let server = place.serve(&model);
    let Some(tab) = Tab::signed_in(&server).await else { return };
    tab.begin(&server, "Write").await;
    let address = tab.text("location.href").await;
    let first = tab.this().await;
    let second = tab.another().await;
    tab.go(&address).await;
    tab.sees(".ask").await;
    tab.to(&first).await;
    tab.press(".ask button[value=yes]").await;
    tab.stands("done").await;
    let shown = tab.timeline().await;
    assert_eq!(tab.count(".ask").await, 0);

    tab.to(&second).await;
    tab.stands("done").await;
    assert_eq!(tab.count(".ask").await, 0, "answered elsewhere is answered here");
    assert_eq!(tab.timeline().await, shown);
    assert_eq!(place.events("InquiryAnswered").len(), 1);

    // A terminal beside the server goes on with the conversation; both tabs are told.
    place.run(&["query", "Say more", "--continue"]);
    for handle in [&second, &first] {
        tab.to(handle).await;
        tab.until(
            "document.querySelector('#t2 .text')?.innerText.trim() === 'Said on a terminal.'",
        )
        .await;
        tab.stands("done").await;
        assert_eq!(tab.count("article").await, 2);
        tab.check().await;
    }
    tab.close().await;
}

#[tokio::test]
async fn a_conversation_that_is_used_elsewhere_moves_to_the_front_of_the_list() {
    let place = Place::new();
    let model = place.script(&json!({ "steps": [{ "say": "One." }, { "say": "Two." }] }));
    let server = place.serve(&model);
    let Some(tab) = Tab::signed_in(&server).await else { return };
    tab.begin(&server, "First").await;
    tab.stands("done").await;
    let first = tab.text("location.pathname").await;
    place.run(&["query", "--new", "Second", "--model", &model]);
    let order = "[...document.querySelectorAll('.conv')].map((it) => it.getAttribute('href'))";
    tab.until(&format!("{order}.length === 2 && {order}[1] === {first:?}")).await;
    let chips = "document.querySelector('.chips').offsetHeight";
    let height = tab.js(chips).await;
    tab.run("document.querySelector('#asks').textContent = '12'").await;
    assert_eq!(tab.js(chips).await, height, "a number moves nothing");

    place.run(&["query", "--id", first.trim_start_matches("/c/"), "--continue", "More"]);
    tab.until(&format!("{order}[0] === {first:?}")).await;
    let shown = tab.js(order).await;
    tab.reload().await;
    assert_eq!(tab.js(order).await, shown);

    // A fork says that it is one.
    tab.press(".user form[action$='/fork'] button").await;
    tab.until(&format!("location.pathname !== {first:?}")).await;
    tab.until("document.querySelector('.conv-title').textContent.startsWith('Fork: ')").await;
    tab.check().await;
    tab.close().await;
}
