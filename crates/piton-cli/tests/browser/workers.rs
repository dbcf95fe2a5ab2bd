//! Workers, in the calls that they work for.

use std::fs;

use serde_json::json;

use crate::pictures::{keep, screen};
use crate::place::Place;
use crate::tab::Tab;

// D77, C30
#[tokio::test]
async fn workers_are_shown_in_their_calls_as_they_work() {
    let place = Place::new();
    fs::write(place.work("ignored.txt"), "six\n").unwrap();
    let call = |task: &str| json!({ "tool": "delegate", "arguments": { "task": task } });
    let tasks = [
        "which tests are ignored, and why",
        "measure coverage by crate",
        "compare docs/ with the code",
    ];
    let slow = "The suites are run one after the other. So far **core** has 93 % and **store** 88 %; the rest follows.";
    let model = place.script(&json!({
        "steps": [
            { "say": "I split this into three independent tasks.", "calls": tasks.map(call) },
            { "say": "All three are done." },
        ],
        "workers": [
            { "task": tasks[0], "steps": [
                { "calls": [
                    { "tool": "list_dir", "arguments": { "path": "." } },
                    { "tool": "read_file", "arguments": { "path": "ignored.txt" } },
                ] },
                { "say": "Six tests are ignored: four for lack of a network, two because of a fixed bug." },
            ] },
            { "task": tasks[1], "steps": [{ "say": slow, "chunk": 1, "wait_for": place.work("never") }] },
            { "task": tasks[2], "steps": [
                { "calls": [{ "tool": "shell", "arguments": { "command": "rm -r target/doc" } }] },
                { "say": "Nothing differs." },
            ] },
        ],
    }));
    let server = place.serve(&model);
    let Some(tab) = Tab::signed_in(&server).await else { return };
    tab.begin(&server, "Audit the tests: what is ignored, covered, out of date? Use workers.")
        .await;
    let card = "#c1-1-2-worker .ask";
    tab.settles(card).await;
    assert_eq!(tab.count(".ask").await, 1);
    let state = "document.querySelector('#bar-state').textContent";
    tab.until(&format!("{state}.includes('worker 3 waits for you')")).await;
    tab.until(
        "document.querySelector('.conv-meta').textContent.includes('worker 3 waits for you')",
    )
    .await;
    tab.sees("#c1-1-1-worker .at.text").await;
    screen(&tab, 1280, 800, false).await;
    keep(&tab, "page-worker").await;
    // A page that is loaded anew shows the same.
    tab.reload().await;
    tab.settles(card).await;
    // What a worker did is loaded when its call is opened.
    tab.click("#c1-1-0 > summary").await;
    tab.until("document.querySelector('#c1-1-0').textContent.includes('Six tests are ignored')")
        .await;
    assert_eq!(tab.count("#c1-1-0-worker .call").await, 2);
    tab.check().await;
    tab.close().await;
}

/// Headings that stand on buttons of their own card, wherever the timeline is scrolled to.
const COVERED: &str = "(() => {
    const box = document.querySelector('[data-follow]');
    const covered = [];
    for (let top = 0; top <= box.scrollHeight; top += 8) {
        box.scrollTop = top;
        for (const card of document.querySelectorAll('.ask')) {
            const [head, acts] = ['header', '.acts-row'].map((it) => card.querySelector(it).getBoundingClientRect());
            if (acts.top < head.bottom - 1 && head.top < acts.bottom - 1) covered.push([card.id, top]);
        }
    }
    return covered;
})()";

#[tokio::test]
async fn the_heading_of_a_question_never_covers_its_buttons() {
    let place = Place::new();
    let call = |task: &str| json!({ "tool": "delegate", "arguments": { "task": task } });
    let write = |path: &str, lines: usize| {
        let content = "line\n".repeat(lines);
        json!({ "steps": [{ "calls": [{ "tool": "write_file", "arguments": { "path": path, "content": content } }] }, { "say": "Done." }] })
    };
    let mut workers = [write("a.txt", 2), write("b.txt", 30)];
    workers[0]["task"] = json!("alpha");
    workers[1]["task"] = json!("beta");
    let model = place.script(&json!({
        "steps": [{ "say": "Two.", "calls": [call("alpha"), call("beta")] }, { "say": "Back." }],
        "workers": workers,
    }));
    let server = place.serve(&model);
    let Some(tab) = Tab::signed_in(&server).await else { return };
    tab.begin(&server, "Go").await;
    tab.settles("#c1-1-0-worker .ask").await;
    tab.settles("#c1-1-1-worker .ask").await;
    screen(&tab, 1280, 800, false).await;
    assert_eq!(tab.js(COVERED).await, json!([]));
    // The way to a question that is out of sight says where it is.
    let to = "document.querySelector('#jump').dataset.to";
    let jump = |top: &str| format!("document.querySelector('[data-follow]').scrollTop = {top}");
    tab.run(&jump("1e6")).await;
    tab.until(&format!("document.querySelector('#jump').dataset.is === '' || {to} === 'up'")).await;
    tab.run(&jump("0")).await;
    tab.until(&format!("document.querySelector('#jump').dataset.is === '' || {to} === 'down'"))
        .await;
    tab.check().await;
    tab.close().await;
}
