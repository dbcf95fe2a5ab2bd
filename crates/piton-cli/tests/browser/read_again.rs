//! A page that lost its way reads itself again, while the conversation goes on.

use serde_json::json;

use crate::place::Place;
use crate::tab::Tab;

/// Keeps the streams of a page, and holds what it reads of itself until `release()`.
const HELD: &str = "window.sources = []; window.patches = 0; window.hold = false;
    const Source = EventSource;
    window.EventSource = class extends Source {
        constructor(address) { super(address); sources.push(this); this.addEventListener('patch', () => patches++); }
    };
    const get = fetch;
    window.fetch = async (...asked) => {
        const answer = await get(...asked);
        if (hold && String(asked[0]).endsWith('/main')) await new Promise((go) => { window.release = go; });
        return answer;
    };";

// C30: what came while the page was read is newer than what was read, and goes behind it.
#[tokio::test]
async fn what_comes_while_a_page_reads_itself_again_is_shown_behind_it() {
    let place = Place::new();
    let model = place.script(&json!({ "steps": [{ "say": "One." }, { "say": "Two." }] }));
    let server = place.serve(&model);
    let Some(tab) = Tab::signed_in(&server).await else { return };
    tab.cdp("Page.addScriptToEvaluateOnNewDocument", json!({ "source": HELD })).await;
    tab.begin(&server, "First").await;
    tab.stands("done").await;
    // A page that has lost something is told to read itself again.
    tab.run(
        "hold = true; document.querySelector('#t1').remove();
        sources.at(-1).dispatchEvent(new MessageEvent('reset', { data: '{}' }));",
    )
    .await;
    tab.until("window.release").await;
    tab.run("window.patches = 0").await;
    tab.type_into("#draft", "Second\n").await;
    tab.until("0 < patches").await;
    tab.run("release()").await;
    tab.until("document.querySelector('#t2 .text')?.innerText.trim() === 'Two.'").await;
    tab.stands("done").await;
    let patched = tab.timeline().await;
    tab.check().await;
    tab.reload().await;
    assert_eq!(tab.timeline().await, patched);
    tab.close().await;
}
