use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

fn html(text: &str) -> String {
    whole("x", text, &mut Memory::default()).iter().map(|part| part.html() + "\n").collect()
}

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&html(text));
}

#[test]
fn what_models_write_becomes_blocks_with_names() {
    check(
        "# A\n\nb **c** `d`\n\n- e\n- f\n\n| g |\n|---|\n| h |\n",
        expect![[r#"
        <h4 id="x-b0" dir="auto">A</h4>
        <p id="x-b1" dir="auto">b <strong>c</strong> <code dir="ltr">d</code></p>
        <ul id="x-b2"><li id="x-b2-i0" dir="auto">e</li><li id="x-b2-i1" dir="auto">f</li></ul>
        <div id="x-b3" class="grid" tabindex="0"><table><thead><tr><th dir="auto">g</th></tr></thead><tbody><tr><td dir="auto">h</td></tr></tbody></table></div>
    "#]],
    );
    check(
        "3. a\n4. b\n\n   more\n\n> q\n\n---\n\n```rust\nlet x;\n```\n",
        expect![[r#"
            <ol id="x-b0" start="3"><li id="x-b0-i0" dir="auto">a</li><li id="x-b0-i1" dir="auto">b<div class="para" dir="auto">more</div></li></ol>
            <blockquote id="x-b1" dir="auto"><p dir="auto">q</p></blockquote>
            <div id="x-b2" class="rule" role="separator"></div>
            <figure id="x-b3" class="code"><figcaption>rust<button class="b plain" type="button" data-copy="code">Copy</button></figcaption><pre id="x-b3-p" tabindex="0" dir="ltr"><code id="x-b3-c"><span id="x-b3-l0"><span class="k">let</span> x;
            </span></code></pre></figure>
        "#]],
    );
}

#[test]
fn what_stands_in_an_item_stays_in_it() {
    check(
        "- a\n  - b\n    1. c\n\n  > d\n- [x] e",
        expect![[r#"
        <ul id="x-b0"><li id="x-b0-i0" dir="auto">a<ul><li dir="auto">b<ol start="1"><li dir="auto">c</li></ol></li></ul><blockquote dir="auto"><div class="para" dir="auto">d</div></blockquote></li><li id="x-b0-i1" dir="auto">☑ e</li></ul>
    "#]],
    );
}

#[test]
fn hostile_text_does_nothing() {
    check(
        "<script>alert(1)</script>\n\n<img src=x onerror=alert(1)> <b onclick=x>y</b>",
        expect![[r#"
            <p id="x-b0" class="raw" dir="auto">&lt;script&gt;alert(1)&lt;/script&gt;
            </p>
            <p id="x-b1" dir="auto">&lt;img src=x onerror=alert(1)&gt; &lt;b onclick=x&gt;y&lt;/b&gt;</p>
        "#]],
    );
    check(
        "[a](javascript:alert(1)) [b](JaVaScRiPt:x) [c](data:text/html,x) [d](vbscript:x)",
        expect![[r#"
            <p id="x-b0" dir="auto">a b c d</p>
        "#]],
    );
    check(
        "[a](https://e.test/\"onmouseover=x) ![p](https://e.test/p.png \"t\") <https://f.test>",
        expect![[r#"
            <p id="x-b0" dir="auto"><a href="https://e.test/&quot;onmouseover=x" title="e.test" target="_blank" rel="noreferrer noopener">a</a> <a href="https://e.test/p.png" title="e.test" target="_blank" rel="noreferrer noopener">p</a> <a href="https://f.test" title="f.test" target="_blank" rel="noreferrer noopener">https://f.test</a></p>
        "#]],
    );
    check(
        "[x](//e.test) [y](/c/other) [z](#t1)",
        expect![[r#"
        <p id="x-b0" dir="auto">x y z</p>
    "#]],
    );
    check(
        "a\u{202e}b `c\u{2066}d`\n\n```\ne\u{202e}\0f\n```",
        expect![[r#"
        <p id="x-b0" dir="auto">a\u{202e}b <code dir="ltr">c\u{2066}d</code></p>
        <figure id="x-b1" class="code"><figcaption><button class="b plain" type="button" data-copy="code">Copy</button></figcaption><pre id="x-b1-p" tabindex="0" dir="ltr"><code id="x-b1-c"><span id="x-b1-l0">e\u{202e}\u{0}f
        </span></code></pre></figure>
    "#]],
    );
    check(
        "```\"><script>\nx\n```",
        expect![[r#"
        <figure id="x-b0" class="code"><figcaption>&quot;&gt;&lt;script&gt;<button class="b plain" type="button" data-copy="code">Copy</button></figcaption><pre id="x-b0-p" tabindex="0" dir="ltr"><code id="x-b0-c"><span id="x-b0-l0">x
        </span></code></pre></figure>
    "#]],
    );
    check(
        "- a\n\n  <iframe src=x>\n\n  ```html\n  <script>\n  ```\n",
        expect![[r#"
            <ul id="x-b0"><li id="x-b0-i0" dir="auto">a<p class="raw" dir="auto">&lt;iframe src=x&gt;
            </p><figure class="code"><figcaption>html</figcaption><pre tabindex="0" dir="ltr"><code>&lt;<span class="f">script</span>&gt;
            </code></pre></figure></li></ul>
        "#]],
    );
}

/// Words of hostile and of plain texts, in any order.
fn words() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "word",
        " ",
        "\n",
        "\n\n",
        "**",
        "`",
        "```",
        "- ",
        "1. ",
        "> ",
        "# ",
        "|",
        "|---|",
        "[a](",
        ")",
        "]",
        "[",
        "<script>",
        "</p>",
        "<img src=x onerror=y>",
        "javascript:x",
        "\u{202e}",
        "\0",
        "&lt;",
        "&#x3c;",
        "\"",
        "'",
        "<!--",
        "-->",
        "<![CDATA[",
        "![",
        "\\",
        "    ",
        "~~~",
        "[a]: http://b\n",
        "<a href='javascript:x'>",
        "==",
        "---\n",
        "é",
    ]);
    prop::collection::vec(word, 0..40).prop_map(|words| words.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_brings_an_element_that_we_did_not_make(text in words()) {
        let html = html(&text).to_lowercase();
        for tag in ["<script", "<img", "<iframe", "<style", "<svg", "<input", "<form", "<!--", "<b ", "<![cdata["] {
            prop_assert!(!html.contains(tag), "{html}");
        }
        for link in html.split("<a ").skip(1) {
            let is_safe = ["http://", "https://", "mailto:"].iter().any(|it| link.starts_with(&format!("href=\"{it}")));
            prop_assert!(is_safe, "{html}");
        }
        prop_assert!(!html.contains(['\u{202e}', '\0']), "{html}");
    }

    // C29: what is frozen and what stands behind it are together what a page made anew shows.
    #[test]
    fn memory_changes_nothing(texts in prop::collection::vec(words(), 1..4)) {
        let mut memory = Memory::default();
        let mut text = String::new();
        for piece in texts {
            text.push_str(&piece);
            let fresh = blocks(&text, &mut Memory::default());
            prop_assert_eq!(blocks(&text, &mut memory), fresh);
        }
    }
}

#[test]
fn long_code_and_lists_freeze_inside() {
    let code: Vec<String> = (0..45).map(|line| format!("line {line}\n")).collect();
    let code = code.concat();
    let text = format!("a\n\n```\n{code}");
    let coming_text =
        Coming { durable: &text, now: &format!("{text}more"), is_open: true, is_new_try: false };
    let (frozen, tail) = coming("x", &coming_text, &mut Memory::default());
    let frozen: String = frozen.iter().map(|part| part.html()).collect();
    assert!(frozen.contains("line 39\n") && !frozen.contains("line 40"), "{frozen}");
    assert!(
        tail.starts_with("<figure class=\"code go-on\">") && tail.contains("line 40"),
        "{tail}"
    );
    let list = Coming {
        durable: "1. a\n2. b\n3. c",
        now: "1. a\n2. b\n3. c d",
        is_open: true,
        is_new_try: false,
    };
    let (frozen, tail) = coming("x", &list, &mut Memory::default());
    assert_eq!(frozen.len(), 1);
    expect![[r#"<ol start="3"><li dir="auto">c d<span class="caret" aria-hidden="true"></span></li></ol>"#]].assert_eq(&tail);
}
