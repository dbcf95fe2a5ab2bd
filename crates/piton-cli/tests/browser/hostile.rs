//! Markdown that was made to attack: nothing of it runs, asks, or is fetched.

use std::io::ErrorKind;
use std::net::TcpListener;

use serde_json::json;

use crate::place::Place;
use crate::tab::Tab;

fn attack(remote: &str) -> String {
    format!(
        "# <script>window.ran = 1; fetch('{remote}/a')</script>\n\n\
         <script src=\"{remote}/b.js\"></script>\n\n\
         <img src=\"{remote}/c.png\" onerror=\"window.ran = 2\">\n\n\
         ![a picture]({remote}/d.png) <svg onload=\"window.ran = 3\"></svg>\n\n\
         [a link](javascript:window.ran=4) [another](data:text/html,<script>alert(5)</script>) [good]({remote}/page)\n\n\
         <javascript:alert(6)> <iframe src=\"{remote}/e\"></iframe>\n\n\
         <style>@import url({remote}/f.css); body {{ display: none }}</style>\n\n\
         <form action=\"{remote}/g\"><input name=x autofocus onfocus=\"alert(7)\"></form>\n\n\
         | a | <b onclick=alert(8)> |\n|---|---|\n| <meta http-equiv=refresh content=\"0;url={remote}/h\"> | `</code><script>alert(9)</script>` |\n\n\
         ```html\n</code></pre><script>window.ran = 10</script>\n```\n\n\
         <base href=\"{remote}/\"> <link rel=stylesheet href=\"{remote}/i.css\"> <div id=\"composer\" class=\"ask\">fake</div>\n\n\
         The end."
    )
}

#[tokio::test]
async fn hostile_markdown_is_inert() {
    let place = Place::new();
    let trap = TcpListener::bind("127.0.0.1:0").unwrap();
    trap.set_nonblocking(true).unwrap();
    let remote = format!("http://{}", trap.local_addr().unwrap());
    let text = attack(&remote);
    // In small pieces, so that every unfinished piece of it is shown too.
    let model = place.script(&json!({ "steps": [
        { "think": text, "say": text, "chunk": 11, "chunk_ms": 4 },
        { "say": "Over." },
    ] }));
    let server = place.serve(&model);
    let Some(tab) = Tab::signed_in(&server).await else { return };
    // The title of a conversation and a message are as foreign as an answer.
    tab.begin(&server, "<script>alert(1)</script><img src=x onerror=alert(2)>").await;
    tab.until("document.querySelector('#t1 .text')?.innerText.includes('The end.')").await;
    tab.stands("done").await;
    for round in ["patched", "read anew"] {
        assert_eq!(tab.js("window.ran ?? null").await, json!(null), "{round}");
        let alive = "script, iframe, object, embed, style, link, base, meta, img, [onclick], [onload], [onerror], [onfocus], [style]";
        let inside = format!("#log :is({alive}), #list :is({alive})");
        assert_eq!(tab.count(&inside).await, 0, "{round}");
        assert_eq!(tab.count("#log .ask, form[action*='127.0.0.1']").await, 0, "{round}");
        let links = tab
            .js("[...document.querySelectorAll('#log .text a')].map((it) => [it.protocol, it.rel])")
            .await;
        let links = links.as_array().unwrap();
        assert!(!links.is_empty());
        for link in links {
            assert_eq!(link, &json!(["http:", "noreferrer noopener"]), "{round}");
        }
        let foreign = "performance.getEntriesByType('resource').filter((it) => !it.name.startsWith(location.origin)).length";
        assert_eq!(tab.js(foreign).await, 0, "{round}");
        tab.check().await;
        tab.reload().await;
    }
    let asked = trap.accept().map(|_| ()).map_err(|error| error.kind());
    assert_eq!(asked, Err(ErrorKind::WouldBlock), "somebody was asked");
    tab.close().await;
}
