//! `@` in the composer: files of the workspace, by keys alone.

use std::fs;

use serde_json::{Value, json};

use crate::driver::{DOWN, ENTER, ESCAPE, TAB};
use crate::place::Place;
use crate::tab::Tab;

const OFFERED: &str =
    "[...document.querySelectorAll('#mention [role=option]')].map((it) => it.textContent)";
const ACTIVE: &str = "((field) => document.getElementById(field.getAttribute('aria-activedescendant'))?.textContent)(document.querySelector('#draft'))";

async fn offers(tab: &Tab, expected: &[&str]) {
    tab.until(&format!("JSON.stringify({OFFERED}) === {:?}", json!(expected).to_string())).await;
}

fn parts(place: &Place, message: usize) -> Value {
    place.events("UserMessage")[message]["parts"].clone()
}

#[tokio::test]
async fn a_file_is_named_by_keys_and_sent_as_the_terminal_sends_it() {
    let place = Place::new();
    fs::create_dir_all(place.work("src/deep")).unwrap();
    fs::create_dir(place.work("target")).unwrap();
    for (name, content) in [
        ("src/main.rs", "fn main() {}\n"),
        ("src/other.rs", "// other\n"),
        ("summary.md", "# Summary\n"),
        (".secret", "x"),
        (".ignore", "target\n"),
    ] {
        fs::write(place.work(name), content).unwrap();
    }
    let model = place.script(&json!({ "steps": [{ "say": "One." }, { "say": "Two." }] }));
    let server = place.serve(&model);
    let Some(tab) = Tab::signed_in(&server).await else { return };
    tab.begin(&server, "Begin").await;
    tab.stands("done").await;

    tab.run("document.querySelector('#draft').focus()").await;
    tab.keys("see @").await;
    offers(&tab, &["src/", "summary.md"]).await;
    // Names and roles for a person who does not see it.
    let state = "((it) => [it.role, it.getAttribute('aria-expanded'), it.getAttribute('aria-controls')])(document.querySelector('#draft'))";
    assert_eq!(tab.js(state).await, json!(["combobox", "true", "mention"]));
    assert_eq!(tab.js(ACTIVE).await, "src/");
    tab.keys(DOWN).await;
    assert_eq!(tab.js(ACTIVE).await, "summary.md");
    tab.keys(DOWN).await;
    assert_eq!(tab.js(ACTIVE).await, "src/", "round it goes");
    // A directory is taken, and its entries are offered.
    tab.keys(TAB).await;
    offers(&tab, &["src/deep/", "src/main.rs", "src/other.rs"]).await;
    tab.keys("m").await;
    offers(&tab, &["src/main.rs"]).await;
    tab.keys(TAB).await;
    assert_eq!(tab.js("document.querySelector('#draft').value").await, "see @src/main.rs ");
    assert_eq!(tab.count("#mention").await, 0);
    assert_eq!(tab.js("document.querySelector('#draft').role").await, Value::Null);

    // Esc closes the menu only; an address is no mention.
    tab.keys("and @s").await;
    offers(&tab, &["src/", "summary.md"]).await;
    tab.keys(ESCAPE).await;
    assert_eq!(tab.count("#mention").await, 0);
    assert_eq!(tab.focus().await, "draft");
    tab.keys("rc me@s").await;
    tab.until("document.querySelector('#saved').textContent").await;
    assert_eq!(tab.count("#mention").await, 0);

    tab.keys(ENTER).await;
    tab.until("document.querySelector('#t2 .text')?.innerText.trim() === 'Two.'").await;
    tab.stands("done").await;
    let names =
        "[...document.querySelectorAll('#t2 .user .file > span')].map((it) => it.textContent)";
    assert_eq!(tab.js(names).await, json!(["src/", "src/main.rs"]));
    let here = parts(&place, 1);
    place.run(&["query", "--new", "see @src/main.rs and @src me@s", "--model", &model]);
    assert_eq!(here, parts(&place, 0), "the terminal sends the same");
    tab.check().await;
    tab.close().await;
}

#[tokio::test]
async fn what_is_outside_of_the_open_directories_is_text() {
    let place = Place::new();
    fs::write(place.work("../outside.txt"), "secret\n").unwrap();
    std::os::unix::fs::symlink(place.work("../outside.txt"), place.work("link.txt")).unwrap();
    let model = place.script(&json!({ "steps": [{ "say": "One." }] }));
    let server = place.serve(&model);
    let Some(tab) = Tab::signed_in(&server).await else { return };
    tab.begin(&server, "see @../outside.txt and @link.txt and @/etc/passwd").await;
    tab.stands("done").await;
    assert_eq!(parts(&place, 0).as_array().unwrap().len(), 1);
    tab.run("document.querySelector('#draft').focus()").await;
    tab.keys("@../").await;
    tab.until("document.querySelector('#saved').textContent").await;
    let asked = "fetch(`/page/files?c=${document.querySelector('#main').dataset.conversation}&q=../`).then(async (it) => [it.status, (await it.json()).error.kind])";
    assert_eq!(tab.js(asked).await, json!([403, "closed_directory"]));
    assert_eq!(tab.count("#mention").await, 0);
    tab.check().await;
    tab.close().await;
}

#[tokio::test]
async fn a_menu_of_a_conversation_that_has_not_begun_is_on_the_screen() {
    let place = Place::new();
    for name in 0..30 {
        fs::write(place.work(&format!("file-{name}.txt")), "one\n").unwrap();
    }
    let model = place.script(&json!({ "steps": [{ "say": "One." }] }));
    let server = place.serve(&model);
    let Some(tab) = Tab::signed_in(&server).await else { return };
    for (width, height) in [(1280, 800), (390, 844)] {
        let screen = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500 });
        tab.cdp("Emulation.setDeviceMetricsOverride", screen).await;
        tab.go(&format!("{}/new", server.url)).await;
        tab.type_into("#draft", "see @f").await;
        tab.sees("#mention li").await;
        let shown = "((it) => [it.left, it.top, innerWidth - it.right, innerHeight - it.bottom].map(Math.floor))(document.querySelector('#mention').getBoundingClientRect())";
        let shown: Vec<i64> = serde_json::from_value(tab.js(shown).await).unwrap();
        assert!(shown.iter().all(|gap| 0 <= *gap), "{width}: {shown:?}");
        tab.run("document.querySelector('#draft').value = ''; localStorage.clear()").await;
    }
    tab.check().await;
    tab.close().await;
}
