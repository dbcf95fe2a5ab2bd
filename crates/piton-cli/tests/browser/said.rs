//! What a person says beside text: answers to questions, and files.

use std::fs;

use serde_json::json;

use crate::place::Place;
use crate::tab::Tab;

#[tokio::test]
async fn a_question_is_answered_and_a_file_goes_along() {
    let place = Place::new();
    let notes = place.work("notes.txt");
    fs::write(&notes, "remember the milk\n").unwrap();
    let model = place.script(&json!({ "steps": [
        { "calls": [{ "tool": "ask_user", "arguments": { "question": "Which colour?", "options": ["red", "green"] } }] },
        { "say": "Blue it is." },
        { "say": "Read." },
    ] }));
    let server = place.serve(&model);
    let Some(tab) = Tab::signed_in(&server).await else { return };
    tab.begin(&server, "Paint").await;
    tab.settles(".ask").await;
    let heading = tab.text("document.querySelector('.ask h3').textContent").await;
    assert!(heading.contains("Which colour?"), "{heading}");
    // C30: an open question is there when the page is read anew.
    tab.reload().await;
    assert_eq!(tab.count(".ask").await, 1);
    // Own words count by being typed: the option that was chosen in advance is not sent in their place.
    tab.type_into(".ask input[name=own]", "blue").await;
    tab.press(".ask button[value=text]").await;
    tab.stands("done").await;
    assert_eq!(place.events("InquiryAnswered").len(), 1);
    assert!(place.events("InquiryAnswered")[0].to_string().contains("blue"));

    tab.attach("#attach input", &notes).await;
    tab.until(
        "document.querySelector('#files li.file') && !document.querySelector('#files progress')",
    )
    .await;
    tab.type_into("#draft", "Read this\n").await;
    tab.until("document.querySelector('#t2 .text')?.innerText.trim() === 'Read.'").await;
    tab.stands("done").await;
    let file = tab.text("document.querySelector('#t2 .user .file').textContent").await;
    assert!(file.starts_with("notes.txt"), "{file}");
    assert_eq!(tab.count("#files li").await, 0);
    let said = place.events("UserMessage")[1].to_string();
    assert!(said.contains("notes.txt") && !said.contains(notes.to_str().unwrap()), "{said}");
    tab.check().await;
    tab.close().await;
}
