//! A reader who is not at the end is left where they are.

use serde_json::json;

use crate::place::Place;
use crate::tab::Tab;

/// How far the first item that can be seen is from the top, and which it is.
const FIRST: &str = "((box) => { const top = box.getBoundingClientRect().top;
    const it = [...box.querySelectorAll('li')].find((it) => it.getBoundingClientRect().bottom > top);
    return it && [it.textContent, Math.round(it.getBoundingClientRect().top - top)]; })(document.querySelector('[data-follow]'))";

#[tokio::test]
async fn a_reader_who_scrolled_up_is_not_moved_while_the_answer_grows() {
    let place = Place::new();
    let items: Vec<_> = (1..=120).map(|number| format!("- item number {number}")).collect();
    let items = items.join("\n");
    let model = place.script(&json!({ "steps": [{ "say": items, "chunk": 12, "chunk_ms": 10 }] }));
    let server = place.serve(&model);
    let Some(tab) = Tab::signed_in(&server).await else { return };
    tab.begin(&server, "Count").await;
    // It follows the end until somebody moves up.
    let scrolled = "document.querySelector('[data-follow]').scrollTop > 200";
    tab.until(scrolled).await;
    tab.run("document.querySelector('[data-follow]').scrollTop -= 150").await;
    let before = tab.js(FIRST).await;
    let length = tab.count("#s1-1-t li").await;
    tab.stands("done").await;
    assert!(length + 10 < tab.count("#s1-1-t li").await, "nothing came meanwhile");
    let after = tab.js(FIRST).await;
    assert_eq!(before, after, "what is read stays where it is");

    tab.click("#jump button").await;
    let rest = "(({ scrollHeight, scrollTop, clientHeight }) => scrollHeight - scrollTop - clientHeight)(document.querySelector('[data-follow]'))";
    tab.until(&format!("{rest} < 2")).await;
    tab.until("document.querySelector('#jump').hidden").await;
    tab.check().await;
    tab.close().await;
}
