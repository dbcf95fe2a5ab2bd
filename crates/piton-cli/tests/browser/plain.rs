//! JavaScript is off: the page is read by reading it again, and every button is a form.

use serde_json::json;

use crate::place::Place;
use crate::tab::Tab;

#[tokio::test]
async fn without_javascript_a_person_reads_sends_answers_and_tries_again() {
    let place = Place::new();
    let refused = json!({ "kind": { "fail": "auth" }, "times": 1 });
    let model = place.script(&json!({ "steps": [
        { "calls": [{ "tool": "ask_user", "arguments": { "question": "Which colour?", "options": ["red", "green"] } }] },
        { "say": "Blue **it** is." },
        { "say": "Late.", "faults": [refused] },
    ] }));
    let server = place.serve(&model);
    let Some(tab) = Tab::plain(&server).await else { return };
    assert_eq!(tab.js("document.documentElement.dataset.module ?? ''").await, "");
    tab.begin(&server, "Paint").await;

    // Own words count although a choice stands beside them.
    tab.reads(".ask input[name=own]").await;
    assert_eq!(
        tab.count(".ask input[type=radio]:checked").await,
        0,
        "nothing is chosen in advance"
    );
    tab.type_into(".ask input[name=own]", "blue").await;
    tab.click(".ask button[value=text]").await;
    tab.reads("#t1 .text strong").await;
    assert_eq!(
        tab.text("document.querySelector('#t1 .text').innerText").await.trim(),
        "Blue it is."
    );
    assert_eq!(place.events("InquiryAnswered").len(), 1);
    assert!(place.events("InquiryAnswered")[0].to_string().contains("blue"));

    tab.type_into("#draft", "Go on").await;
    tab.click("#send button.main").await;
    tab.reads("#t2 .fail form.retry").await;
    tab.click("#t2 form.retry button[value=retry]").await;
    tab.reads("#bar-state[data-is=done]").await;
    assert_eq!(tab.text("document.querySelector('#t2 .text').innerText").await.trim(), "Late.");
    assert_eq!(tab.count("#t2 .user").await, 1);
    assert_eq!(place.events("MessageRetried").len(), 1);
    tab.close().await;
}

#[tokio::test]
async fn a_question_without_an_answer_is_asked_again_with_the_reason() {
    let place = Place::new();
    let model = place.script(&json!({ "steps": [
        { "calls": [{ "tool": "ask_user", "arguments": { "question": "Which colour?", "options": ["red", "green"] } }] },
        { "say": "Green it is." },
    ] }));
    let server = place.serve(&model);
    let Some(tab) = Tab::plain(&server).await else { return };
    tab.begin(&server, "Paint").await;
    tab.reads(".ask").await;
    let address = tab.text("location.href").await;
    tab.click(".ask button[value=text]").await;
    tab.until("document.body.innerText.includes('no answer is chosen')").await;
    tab.go(&address).await;
    tab.click(".ask input[value=green]").await;
    tab.click(".ask button[value=text]").await;
    tab.reads("#t1 .text").await;
    assert!(place.events("InquiryAnswered")[0].to_string().contains("green"));
    tab.close().await;
}
