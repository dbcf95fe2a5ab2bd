//! What is copied is what was written, not what is drawn.

use serde_json::json;

use crate::place::Place;
use crate::tab::Tab;

const ANSWER: &str = "Look **here**:\n\n- one\n- `two`\n\n| a | b |\n|---|---|\n| 1 | 2 |";

#[tokio::test]
async fn a_message_and_an_answer_are_copied_as_markdown() {
    let place = Place::new();
    let model = place.script(&json!({ "steps": [{ "say": ANSWER }] }));
    let server = place.serve(&model);
    let Some(tab) = Tab::signed_in(&server).await else { return };
    tab.begin(&server, "Say *it*").await;
    tab.stands("done").await;
    tab.run("navigator.clipboard.writeText = async (text) => { window.copied = text; };").await;
    tab.press("#s1-1-t button[data-copy]").await;
    tab.until("window.copied").await;
    assert_eq!(tab.js("copied").await, ANSWER);
    tab.until("document.querySelector('#say').textContent === 'Copied.'").await;
    tab.press(".user button[data-copy]").await;
    tab.until("copied === 'Say *it*'").await;

    // Where there is no clipboard, a selection is copied, and the focus is where it was.
    tab.run(
        "Object.defineProperty(navigator, 'clipboard', { value: undefined });
         document.addEventListener('copy', () => { window.copied = document.activeElement.value; });",
    )
    .await;
    tab.press("#s1-1-t button[data-copy]").await;
    tab.until(&format!("copied === {}", json!(ANSWER))).await;
    assert_eq!(tab.count("body > textarea").await, 0);
    assert_eq!(tab.js("document.activeElement.matches('[data-copy]')").await, true);
    tab.check().await;
    tab.close().await;
}
