//! A question about more than a card holds.

use serde_json::json;

use crate::place::Place;
use crate::tab::Tab;

const LINES: u32 = 3_000;

#[tokio::test]
async fn all_of_a_large_write_is_loaded_by_a_click_before_it_is_allowed() {
    let place = Place::new();
    let lines: Vec<_> = (1..=LINES).map(|line| format!("{line}\n")).collect();
    let arguments = json!({ "path": "a.txt", "content": lines.concat() });
    let model = place.script(&json!({ "steps": [
        { "calls": [{ "tool": "write_file", "arguments": arguments }] }, { "say": "Written." },
    ] }));
    let server = place.serve(&model);
    let Some(tab) = Tab::signed_in(&server).await else { return };
    tab.begin(&server, "Write").await;
    tab.settles(".ask").await;
    let all = ".ask details[id$='-all']";
    tab.click(&format!("{all} > summary")).await;
    tab.until(&format!(
        "document.querySelectorAll({:?}).length === {LINES}",
        format!("{all} tr.add")
    ))
    .await;
    assert_eq!(
        tab.js(&format!("document.querySelector({all:?}).textContent.includes('{LINES}')")).await,
        true
    );
    // Without the module it is a page.
    let link = "fetch(document.querySelector('.ask').action.replace('/answer/', '/question/')).then(async (it) => [it.status, (await it.text()).includes('<!DOCTYPE html>')])";
    assert_eq!(tab.js(link).await, json!([200, true]));
    tab.press(".ask button[value=yes]").await;
    tab.stands("done").await;
    let told = tab.text("document.querySelector('#c1-1-0 > summary').textContent").await;
    assert!(told.contains("+3000"), "{told}");
    tab.check().await;
    tab.close().await;
}
