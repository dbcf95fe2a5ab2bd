//! A message that failed is tried again where it stands.

use serde_json::json;

use crate::place::Place;
use crate::proxy::{Proxy, Wire};
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

// C24
#[tokio::test]
async fn a_retry_that_is_on_its_way_is_busy_where_it_was_pressed_and_only_there() {
    let place = Place::new();
    let refused = json!({ "kind": { "fail": "auth" }, "times": 1 });
    let model = place.script(&json!({ "steps": [{ "say": "At last.", "faults": [refused] }] }));
    let server = place.serve(&model);
    let proxy = Proxy::to(&server.url).await;
    let sign_in = proxy.through(&server.url, &server.sign_in);
    let Some(tab) = Tab::at(&sign_in).await else { return };
    tab.begin_at(&proxy.url, "Go").await;
    tab.stands("bad").await;
    tab.settles("form.retry button[value=retry]").await;
    assert_eq!(tab.count("[aria-busy=true], [aria-disabled=true]").await, 0);

    proxy.set(Wire::Held);
    tab.click("form.retry button[value=retry]").await;
    tab.until("document.querySelector('form.retry button[value=retry]').ariaBusy === 'true'").await;
    assert_eq!(tab.count("[aria-busy=true]").await, 1, "nothing else spins");
    let free = "form.retry button:not([aria-disabled=true])";
    assert_eq!(tab.count(free).await, 0, "nothing of the form can be pressed");
    assert_eq!(tab.count("#composer [aria-disabled=true]").await, 0);
    // Pressing again is pressing once.
    tab.click("form.retry button[value=retry]").await;
    tab.run("document.querySelector('form.retry').requestSubmit()").await;
    proxy.set(Wire::Whole);
    tab.until("document.querySelector('#t1 .text')?.innerText.trim() === 'At last.'").await;
    tab.stands("done").await;
    assert_eq!(tab.count("[aria-busy=true], [aria-disabled=true]").await, 0);
    assert_eq!(place.events("MessageRetried").len(), 1);
    tab.check().await;
    tab.close().await;
}

// C33
#[tokio::test]
async fn a_try_that_waits_is_made_at_once_by_try_now_each_time() {
    let place = Place::new();
    let busy = json!({ "kind": { "fail": "overloaded" }, "retry_after_ms": 90_000, "times": 2 });
    let model = place.script(&json!({ "steps": [{ "say": "At last.", "faults": [busy] }] }));
    let server = place.serve(&model);
    let Some(tab) = Tab::signed_in(&server).await else { return };
    tab.begin(&server, "Go").await;
    for number in [2, 3] {
        let line =
            format!("document.querySelector('#retry-1')?.textContent.includes('try {number} of')");
        tab.until(&line).await;
        tab.press("#retry-1 button[value=now]").await;
    }
    tab.until("document.querySelector('#t1 .text')?.innerText.trim() === 'At last.'").await;
    tab.stands("done").await;
    assert_eq!(place.events("ModelFailed").len(), 2);
    tab.check().await;
    tab.close().await;
}
