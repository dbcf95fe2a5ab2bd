//! From the printed address to an answer.

use serde_json::json;

use crate::place::Place;
use crate::tab::Tab;

const ANSWER: &str = "The **first** block is here.\n\n- one\n- two\n\nAnd the end comes last.";

#[tokio::test]
async fn a_first_prompt_streams_its_answer_and_never_shrinks() {
    let place = Place::new();
    let seen = place.work("the first block was seen");
    let model = place.script(&json!({ "steps": [
        { "say": ANSWER, "chunk": 1, "wait_for": seen },
        { "say": "Again." },
    ] }));
    let server = place.serve(&model);
    let Some(tab) = Tab::signed_in(&server).await else { return };
    // C29: what is seen of an answer that comes, from the first moment of the page on.
    let look = "window.lengths = [];
        const look = () => lengths.push(document.querySelector('#s1-1-t')?.textContent.trimEnd().length ?? 0);
        new MutationObserver(look).observe(document, { childList: true, subtree: true, characterData: true });";
    tab.cdp("Page.addScriptToEvaluateOnNewDocument", json!({ "source": look })).await;
    // A conversation that has not begun takes Enter as well as a click.
    tab.go(&format!("{}/new", server.url)).await;
    tab.type_into("#draft", "Say something\n").await;
    tab.until("document.querySelector('#main')?.dataset.conversation").await;
    tab.until("document.querySelector('#s1-1-t')?.textContent.includes('block is here.')").await;
    std::fs::write(&seen, "").unwrap();
    tab.until("document.querySelector('#s1-1-t')?.textContent.includes('comes last.')").await;
    tab.stands("done").await;
    let lengths = tab.js("lengths.filter((it, at) => it !== lengths[at - 1])").await;
    let lengths: Vec<u64> = serde_json::from_value(lengths).unwrap();
    // Nothing, a part, all: how many parts a page is shown is for the server to say.
    assert!(lengths.is_sorted() && 2 < lengths.len(), "{lengths:?}");
    let text = tab.text("document.querySelector('#s1-1-t').innerText").await;
    assert_eq!(
        text.split_whitespace().collect::<Vec<_>>().join(" "),
        "The first block is here. one two And the end comes last."
    );
    assert_eq!(tab.count("#s1-1-t strong").await, 1);
    assert_eq!(tab.count("#s1-1-t li").await, 2);
    assert_eq!(tab.count("[aria-busy=true]").await, 0);
    assert_eq!(tab.count(".user").await, 1);

    tab.type_into("#draft", "And again\n").await;
    tab.until("document.querySelector('#t2 .text')?.innerText.trim() === 'Again.'").await;
    tab.stands("done").await;
    assert_eq!(tab.js("document.querySelector('#draft').value").await, "");
    // What patches made of the page is what it is when it is read anew.
    let patched = tab.timeline().await;
    tab.check().await;
    tab.reload().await;
    assert_eq!(tab.timeline().await, patched);
    assert_eq!(place.events("UserMessage").len(), 2);
    // Who has begun a conversation on the page is there, before the page follows it.
    let told = serde_json::to_string(&place.events("ContextAdded")).unwrap();
    assert!(told.contains("A person is there to answer questions."), "{told}");
    assert!(!told.contains("Nobody is there"), "{told}");
    tab.check().await;
    tab.close().await;
}

#[tokio::test]
async fn a_conversation_begins_with_the_permissions_that_are_chosen() {
    let place = Place::new();
    let write = json!({ "tool": "write_file", "arguments": { "path": "b.txt", "content": "b\n" } });
    let model = place.script(&json!({ "steps": [{ "calls": [write] }, { "say": "Written." }] }));
    let server = place.serve(&model);
    let Some(tab) = Tab::signed_in(&server).await else { return };
    tab.go(&format!("{}/new", server.url)).await;
    assert_eq!(tab.js("document.querySelector('#mode').value").await, "ask");
    tab.choose("#mode", "accept-edits").await;
    tab.type_into("#draft", "Write\n").await;
    tab.until("document.querySelector('#main')?.dataset.conversation").await;
    tab.stands("done").await;
    assert_eq!(tab.js("document.querySelector('#mode').value").await, "accept-edits");
    assert_eq!(place.events("InquiryRaised").len(), 0);
    tab.check().await;
    tab.close().await;
}
