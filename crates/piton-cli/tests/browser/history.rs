//! A long conversation is shown from its end; what was before comes when it is asked for.

use serde_json::json;

use crate::place::Place;
use crate::tab::Tab;

/// Says something again and again, and waits for each answer.
const TALK: &str = "
    const id = document.querySelector('#main').dataset.conversation;
    for (let turn = 2; turn <= 34; turn++) {
        const body = JSON.stringify({ text: `Message ${turn}`, wait: true });
        const headers = { 'Content-Type': 'application/json' };
        await fetch(`/api/v1/conversations/${id}/prompt`, { method: 'POST', headers, body });
    }";

/// Where the first turn that was shown stands in the window.
const TOP: &str = "Math.round(document.querySelector('#t5').getBoundingClientRect().top)";

#[tokio::test]
async fn earlier_turns_come_with_a_click_and_move_nothing() {
    let place = Place::new();
    let model = place.script(&json!({ "steps": [{ "say": "One." }] }));
    let server = place.serve(&model);
    let Some(tab) = Tab::signed_in(&server).await else { return };
    tab.begin(&server, "Message 1").await;
    tab.stands("done").await;
    tab.run(&format!("return (async () => {{ {TALK} }})();")).await;
    tab.reload().await;
    assert_eq!(tab.count("article").await, 30, "the last ones");
    assert_eq!(tab.count("#t5").await, 1);
    let words = tab.text("document.querySelector('#older').textContent").await;
    assert!(words.contains("4 earlier turns"), "{words}");

    tab.run("document.querySelector('[data-follow]').scrollTop = 0").await;
    let before = tab.js(TOP).await;
    tab.click("#older").await;
    tab.until("document.querySelector('#t1')").await;
    assert_eq!(tab.count("article").await, 34);
    assert_eq!(tab.js(TOP).await, before, "what is read stays where it is");
    // Nothing is new: they were asked for.
    tab.until("!document.querySelector('#jump').hidden").await;
    tab.run("document.querySelector('[data-follow]').scrollTop += 1").await;
    assert_eq!(tab.js("document.querySelector('#jump span').textContent").await, "To the end");
    let order = tab.js("[...document.querySelectorAll('article')].map((it) => it.id)").await;
    let expected: Vec<_> = (1..=34).map(|turn| format!("t{turn}")).collect();
    assert_eq!(order, json!(expected));
    assert_eq!(tab.js("document.querySelector('#older')?.checkVisibility() ?? false").await, false);

    // It goes on at the end as if nothing had been asked for.
    tab.type_into("#draft", "The end\n").await;
    tab.until("document.querySelector('#t35 .text')").await;
    tab.stands("done").await;
    tab.check().await;
    tab.close().await;
}
