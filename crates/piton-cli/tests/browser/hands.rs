//! Hands that type while the page moves: letters answer only where a person has put the focus, and nothing that was
//! typed is lost.

use serde_json::{Value, json};

use crate::driver::ESCAPE;
use crate::place::Place;
use crate::tab::Tab;

/// Two questions at once: one that takes a text, and one that takes a letter.
fn two(command: &str) -> Value {
    json!({ "calls": [
        { "tool": "ask_user", "arguments": { "question": "What name?" } },
        { "tool": "shell", "arguments": { "command": command } },
    ] })
}

/// The field for a text.
const FIELD: &str = ".ask textarea[name=text]";
/// The question that takes a letter.
const LETTER: &str = ".ask:has(button[value=yes])";

/// Answers the question that takes a text, past the form of this page: as another tab does.
async fn answer_elsewhere(tab: &Tab) {
    let answer = format!(
        "const form = document.querySelector({FIELD:?}).form;
         fetch(form.action, {{ method: 'POST', headers: {{ Piton: 'module' }}, body: new URLSearchParams({{ answer: 'text', text: 'Bob' }}) }});"
    );
    tab.run(&answer).await;
    tab.until(&format!("!document.querySelector({FIELD:?})")).await;
}

#[tokio::test]
async fn a_question_that_is_answered_elsewhere_takes_no_letters_to_another_question() {
    let place = Place::new();
    let danger = place.work("danger.txt");
    let model = place.script(&json!({ "steps": [
        two("touch danger.txt"), two("touch danger.txt"), { "say": "Over." },
    ] }));
    let server = place.serve(&model);
    let Some(tab) = Tab::signed_in(&server).await else { return };
    tab.begin(&server, "Ask").await;
    tab.settles(LETTER).await;
    tab.settles(FIELD).await;
    tab.click(FIELD).await;
    tab.keys("ann").await;
    answer_elsewhere(&tab).await;

    // What is typed goes on where it was begun, beside a question that takes letters.
    tab.settles(LETTER).await;
    tab.keys("yna").await;
    let kept = "document.querySelector('.unsent textarea')";
    assert_eq!(tab.js(&format!("document.activeElement === {kept}")).await, true);
    assert_eq!(tab.js(&format!("{kept}.value")).await, "annyna");
    assert_eq!(tab.count(LETTER).await, 1);
    assert_eq!(tab.js("document.querySelector('#draft').value").await, "");
    let about = tab.text("document.querySelector('.unsent p').textContent").await;
    assert!(about.contains("Not sent") && about.contains("What name?"), "{about}");
    tab.click(".unsent button:nth-of-type(2)").await;
    assert_eq!(tab.js("document.querySelector('#draft').value").await, "annyna");
    assert_eq!(tab.count(".unsent").await, 0);
    assert_eq!(place.events("InquiryAnswered").len(), 1);

    // A person goes to the question, and answers it.
    tab.keys(ESCAPE).await;
    tab.keys("qn").await;
    tab.until(&format!("document.querySelector({FIELD:?})")).await;
    tab.settles(LETTER).await;
    tab.settles(FIELD).await;
    assert_eq!(place.events("InquiryAnswered").len(), 2);

    // The same before the first letter is typed: the page has moved the focus, so letters do nothing.
    tab.click(FIELD).await;
    answer_elsewhere(&tab).await;
    tab.settles(LETTER).await;
    tab.keys("ynafrn").await;
    assert!(tab.focus().await.starts_with("q-1-2-0-"), "on the line of what was answered");
    assert_eq!(tab.count(LETTER).await, 1);
    assert_eq!(tab.text("location.pathname").await.matches("/c/").count(), 1);
    assert_eq!(place.events("InquiryAnswered").len(), 3);
    tab.keys("qn").await;
    tab.stands("done").await;
    assert_eq!(place.events("InquiryAnswered").len(), 4);
    assert!(!danger.exists());
    tab.check().await;
    tab.close().await;
}
