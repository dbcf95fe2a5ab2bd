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
