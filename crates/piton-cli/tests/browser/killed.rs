//! The server dies in mid-stream, and a page that was open comes back by itself.

use serde_json::json;

use crate::place::Place;
use crate::tab::Tab;

const ANSWER: &str =
    "First paragraph, which is long enough to be cut.\n\nSecond paragraph, the end.";

// C30, J97
#[tokio::test]
async fn a_page_comes_back_after_a_kill_in_mid_stream_and_agrees_with_the_journal() {
    let place = Place::new();
    let up_again = place.work("up again");
    let model = place.script(&json!({ "steps": [
        { "say": "I look.", "calls": [{ "tool": "shell", "arguments": { "command": "echo once >> ran.txt" } }] },
        { "say": ANSWER, "chunk": 1, "wait_for": up_again },
    ] }));
    let server = place.serve(&model);
    let Some(tab) = Tab::signed_in(&server).await else { return };
    tab.begin(&server, "Go").await;
    tab.press(".ask button[value=yes]").await;
    tab.until("document.querySelector('#s1-2-t')?.textContent.includes('First')").await;
    let address = server.kill_9();
    tab.until("document.documentElement.dataset.link === 'off'").await;
    tab.type_into("#draft", "half a thought").await;
    // What the page shows of the answer is not taken back.
    assert!(tab.text("document.querySelector('#s1-2-t').textContent").await.contains("First"));

    let server = place.serve_at(&model, &address);
    tab.until("document.documentElement.dataset.link === 'on'").await;
    tab.stands("halt").await;
    tab.sees("#halt-1 button[value=resume]").await;
    assert_eq!(tab.js("document.querySelector('#draft').value").await, "half a thought");
    assert_eq!(tab.count(".halt").await, 1);
    assert_eq!(tab.count(".fail").await, 0);
    tab.check().await;

    std::fs::write(&up_again, "").unwrap();
    tab.press("#halt-1 button[value=resume]").await;
    tab.stands("done").await;
    assert_eq!(tab.js("document.querySelector('#draft').value").await, "half a thought");
    let text = tab.text("document.querySelector('#s1-2-t').innerText").await;
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(words(&text), words(ANSWER));
    let answers = place.events("ModelAnswered");
    assert!(answers.iter().any(|it| it.to_string().contains("Second paragraph, the end.")));
    assert_eq!(std::fs::read_to_string(place.work("ran.txt")).unwrap(), "once\n");
    tab.check().await;
    let patched = tab.timeline().await;
    tab.reload().await;
    assert_eq!(tab.timeline().await, patched, "the page agrees with the journal");
    drop(server);
    tab.close().await;
}
