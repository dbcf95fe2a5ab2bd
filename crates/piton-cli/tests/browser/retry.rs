//! A message that failed is tried again where it stands.

use serde_json::json;

use crate::place::Place;
use crate::tab::Tab;

// C1, C2, C3, C13, C20: one place, one error, one message.
#[tokio::test]
async fn a_failed_message_is_tried_again_with_another_model_where_it_stands() {
    let place = Place::new();
    std::fs::write(place.work("readme.txt"), "hello\n").unwrap();
    let refused = json!({ "kind": { "fail": "auth" }, "times": 9 });
    let model = place.script(&json!({ "steps": [{ "say": "Never.", "faults": [refused] }] }));
    let server = place.serve(&model);
    let Some(tab) = Tab::signed_in(&server).await else { return };
    tab.begin(&server, "list the files here").await;

    tab.stands("bad").await;
    tab.sees(".user .fail[role=group]").await;
    let message = tab.text("document.querySelector('.user').id").await;
    assert_eq!(tab.count(".fail").await, 1);
    assert_eq!(tab.count("form.retry").await, 1, "there is one way to try again");
    assert_eq!(tab.count(".halt, .notice:not([hidden])").await, 0, "the error is told once");

    // The same model once more: one more attempt, and still one error.
    tab.press("form.retry button[value=retry]").await;
    tab.until("document.querySelector('.tries > summary')?.textContent.includes('‹2/2›')").await;
    tab.stands("bad").await;
    tab.sees(".user .fail[role=group]").await;
    assert_eq!(tab.count(".fail").await, 1);

    tab.choose("form.retry select.model", "demo").await;
    // The model is one setting, wherever it is chosen.
    tab.until("document.querySelector('#model').value === 'demo'").await;
    tab.press("form.retry button[value=retry]").await;
    tab.stands("done").await;
    assert_eq!(tab.count(".fail, form.retry").await, 0);
    assert_eq!(tab.count(".user").await, 1, "no second bubble");
    assert_eq!(tab.text("document.querySelector('.user').id").await, message);
    assert_eq!(tab.count("article").await, 1);
    let tries = tab.text("document.querySelector('.tries > summary').textContent").await;
    assert_eq!(tries.trim(), "attempt ‹3/3›");
    tab.until("document.querySelector('#log').textContent.includes('readme.txt')").await;

    assert_eq!(place.events("UserMessage").len(), 1);
    assert_eq!(place.events("MessageRetried").len(), 2);
    let patched = tab.timeline().await;
    tab.check().await;
    tab.reload().await;
    assert_eq!(tab.timeline().await, patched);
    assert_eq!(tab.js("document.querySelector('#model').value").await, "demo");
    tab.close().await;
}
