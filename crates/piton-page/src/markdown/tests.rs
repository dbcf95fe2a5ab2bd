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
    check("# A\n\nb **c** `d`\n\n- e\n- f\n\n| g |\n|---|\n| h |\n", expect![]);
    check("3. a\n4. b\n\n   more\n\n> q\n\n---\n\n```rust\nlet x;\n```\n", expect![]);
}

#[test]
fn hostile_text_does_nothing() {
    check(
        "<script>alert(1)</script>\n\n<img src=x onerror=alert(1)> <b onclick=x>y</b>",
        expect![],
    );
    check(
        "[a](javascript:alert(1)) [b](JaVaScRiPt:x) [c](data:text/html,x) [d](vbscript:x)",
        expect![],
    );
    check(
        "[a](https://e.test/\"onmouseover=x) ![p](https://e.test/p.png \"t\") <https://f.test>",
        expect![],
    );
    check("[x](//e.test) [y](/c/other) [z](#t1)", expect![]);
    check("a\u{202e}b `c\u{2066}d`\n\n```\ne\u{202e}\0f\n```", expect![]);
    check("```\"><script>\nx\n```", expect![]);
    check("- a\n\n  <iframe src=x>\n\n  ```html\n  <script>\n  ```\n", expect![]);
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
        for attribute in ["href=\"javascript", "href='javascript", "<p onerror", "\u{202e}", "\0"] {
            prop_assert!(!html.contains(attribute), "{html}");
        }
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
    let code: String = (0..45).map(|line| format!("line {line}\n")).collect();
    let text = format!("a\n\n```\n{code}");
    let coming_text = Coming { durable: &text, now: &format!("{text}more"), is_open: true };
    let (frozen, tail) = coming("x", &coming_text, &mut Memory::default());
    let frozen: String = frozen.iter().map(Part::html).collect();
    assert!(frozen.contains("line 39\n") && !frozen.contains("line 40"), "{frozen}");
    assert!(
        tail.starts_with("<figure class=\"code go-on\">") && tail.contains("line 40"),
        "{tail}"
    );
    let list = Coming { durable: "1. a\n2. b\n3. c", now: "1. a\n2. b\n3. c d", is_open: true };
    let (frozen, tail) = coming("x", &list, &mut Memory::default());
    assert_eq!(frozen.len(), 1);
    expect![].assert_eq(&tail);
}
