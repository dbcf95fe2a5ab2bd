//! Whole texts and their pieces, without a terminal.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::render::paint::Style;

fn page(columns: usize, style: Style) -> Page {
    Page { columns, style }
}

fn plain(text: &str, columns: usize, expected: Expect) {
    expected.assert_eq(whole(text, page(columns, Style::Plain)).as_str());
}

/// With the codes of colours as they are typed.
fn coloured(text: &str, expected: Expect) {
    let painted = whole(text, page(60, Style::Coloured));
    expected.assert_eq(&painted.as_str().replace('\x1b', "^"));
}

#[test]
fn blocks_are_laid_out_and_readable_without_colour() {
    plain(
        "# Title\nSome **bold** and *soft* words, `code`, ~~gone~~.\nA second line.\n\n\n\
         - one\n- two words that are longer than a line has room for\n  - inner\n\n    more\n\
         1. first\n1. second\n\n> quoted\n> lines\n>\n> again\n\n---\n\
         - [x] done\n- [ ] open\n",
        40,
        expect![[r#"
            # Title
            Some **bold** and *soft* words, `code`,
            ~~gone~~.
            A second line.

            - one
            - two words that are longer than a line
              has room for
              - inner

                more
            1. first
            2. second

            > quoted
            > lines
            >
            > again

            ---
            - [x] done
            - [ ] open
        "#]],
    );
}

#[test]
fn looks_are_those_of_a_terminal() {
    coloured(
        "# Title\n## Second\nSome **bold *both*** and `code`.\n\n> quoted\n\n---\n",
        expect![[r#"
            ^[1m^[4mTitle^[0m
            ^[1mSecond^[0m
            Some ^[1mbold ^[0m^[1m^[3mboth^[0m and ^[36mcode^[0m.

            ^[2m│ ^[0mquoted

            ^[2m────────────────────────────────────────────────────────────^[0m
        "#]],
    );
}

#[test]
fn links_show_where_they_lead() {
    plain(
        "[text](http://a.b \"title\") <http://c.d> [http://e](http://e) ![pic](p.png)\n\n\
         [t][ref]\n\n[ref]: http://x.y\n",
        80,
        expect![[r#"
            text (http://a.b "title") http://c.d http://e [image: pic] (p.png)

            [t][ref]

            [ref]: http://x.y
        "#]],
    );
}

#[test]
fn code_is_shown_line_by_line_in_its_own_lines() {
    plain(
        "Do:\n```rust\nfn a() {\n\n\tb();\n}\n```\nthen\n\n    indented\n\n~~~\n```\n~~~\n\
         1. item\n   ```sh\n   ls\n\n   cd\n   ```\n2. next\n",
        40,
        expect![[r#"
            Do:
            ```rust
            fn a() {

                b();
            }
            ```
            then

            ```
            indented
            ```

            ~~~
            ```
            ~~~
            1. item
               ```sh
               ls

               cd
               ```
            2. next
        "#]],
    );
    coloured(
        "Do:\n```rust\nfn a() {} // b\n```\n",
        expect![[r#"
        Do:
          ^[35mfn^[0m ^[34ma^[0m() {} ^[90m// b^[0m
    "#]],
    );
}

#[test]
fn tables_fit_the_screen() {
    let table = "| Name | Size | What it is |\n|:--|--:|:-:|\n| 日本 | 1 | short |\n\
                 | b | 2000 | a **long** text that has to be wrapped in its cell | left over |\n";
    plain(
        table,
        80,
        expect![[r#"
        Name | Size |                           What it is
        -----|------|---------------------------------------------------------------
        日本 |    1 |                             short
        b    | 2000 | a **long** text that has to be wrapped in its cell | left over
    "#]],
    );
    plain(
        table,
        40,
        expect![[r#"
        Name | Size |         What it is
        -----|------|---------------------------
        日本 |    1 |           short
        b    | 2000 |  a **long** text that has
             |      | to be wrapped in its cell
             |      |        | left over
    "#]],
    );
    plain(
        table,
        20,
        expect![[r#"
        Name: 日本
        Size: 1
        What it is: short

        Name: b
        Size: 2000
        What it is: a
        **long** text that
        has to be wrapped in
        its cell | left over
    "#]],
    );
}

#[test]
fn what_a_terminal_would_obey_is_written_out() {
    coloured(
        "\x1b[31mred &#27;[2J `\x1b]0;t\x07` [a](<b\x1b[0m>) a&#10;b\n\n```\n\x1b[2J\r\x08\n```\n\n<b>\x1b</b>\n",
        expect![[r#"
            \x1b[31mred \x1b[2J ^[36m\x1b]0;t\x07^[0m ^[4ma^[0m^[2m (b\x1b[0m)^[0m a b

              \x1b[2J\x0d\x08

            <b>\x1b</b>
        "#]],
    );
}

#[test]
fn text_is_shown_as_soon_as_its_block_is_complete() {
    let page = page(40, Style::Plain);
    let mut stream = Stream::default();
    let mut push = |text: &str| stream.push(text, page).as_str().to_owned();
    assert_eq!(push("Some text"), "");
    assert_eq!(push(" and more.\n"), "");
    assert_eq!(push("\n"), "Some text and more.\n");
    assert_eq!(push("- one\n"), "");
    assert_eq!(push("- two"), "");
    assert_eq!(push("\n"), "\n- one\n");
    assert_eq!(push("\n```\n"), "- two\n\n```\n");
    assert_eq!(push("code\nmo"), "code\n");
    assert_eq!(stream.waiting(), "mo");
    assert_eq!(stream.finish(page).as_str(), "mo\n");
    assert_eq!(stream.finish(page).as_str(), "");
}

#[test]
fn a_long_paragraph_is_shown_line_by_line_as_it_comes() {
    let page = page(20, Style::Coloured);
    let mut stream = Stream::default();
    let mut push = |text: &str| stream.push(text, page).as_str().to_owned();
    assert_eq!(push("one two three four fi"), "");
    assert_eq!(push("ve "), "one two three four\n");
    assert_eq!(push("**six** seven eight nine"), "");
    assert_eq!(push("\nten **eleven"), "five \x1b[1msix\x1b[0m seven eight\nnine\n");
    assert_eq!(push(" twelve** thirteen fourteen "), "ten \x1b[1meleven twelve\x1b[0m\n");
    assert_eq!(push("\n\n"), "thirteen fourteen\n");
    assert_eq!(push("- a\n\nWords that follow on a list, "), "\n- a\n\nWords that follow on\n");
    assert_eq!(stream.waiting(), "a list, ");
    assert_eq!(stream.finish(page).as_str(), "a list,\n");
}

#[test]
fn a_long_block_does_not_wait_for_ever() {
    let page = page(40, Style::Plain);
    let mut stream = Stream::default();
    let text = "word\n".repeat(20_000);
    let shown = stream.push(&text, page);
    assert!(50_000 < shown.as_str().len());
    let rest = stream.finish(page);
    assert_eq!(format!("{}{}", shown.as_str(), rest.as_str()), text);
}

/// What makes a difference to the parser, and some letters.
fn markdown() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("\n"),
        Just("\n\n"),
        Just("- "),
        Just("1. "),
        Just("> "),
        Just("# "),
        Just("```"),
        Just("```rust\n"),
        Just("~~~\n"),
        Just("|"),
        Just("\n|-|-|\n"),
        Just("**"),
        Just("*"),
        Just("`"),
        Just("    "),
        Just("  "),
        Just("[a](b)"),
        Just("[r]: u\n"),
        Just("---\n"),
        Just("==="),
        Just("<b>"),
        Just("<!--"),
        Just("\r\n"),
        Just("\t"),
        Just("\x1b[1m"),
        Just("日本"),
        Just("é"),
        Just("word "),
        Just("x"),
        Just("&#27;"),
        Just("\\"),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

#[test]
fn a_long_word_behind_a_fence_is_wrapped() {
    let text = "```rust and more words than the page is wide\nx\n```\n\n- ```rust and more words than the page is wide\n  x\n  ```\n";
    for line in whole(text, page(20, Style::Plain)).as_str().lines() {
        assert!(line.len() <= 20, "{line:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn it_makes_no_difference_in_which_pieces_a_text_comes(
        text in markdown(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        columns in 10..90_usize,
    ) {
        let page = page(columns, Style::Coloured);
        let letters: Vec<char> = text.chars().collect();
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(letters.len() + 1)).collect();
        places.extend([0, letters.len()]);
        places.sort_unstable();
        let mut stream = Stream::default();
        let mut shown = Painted::default();
        for pair in places.windows(2) {
            let piece: String = letters[pair[0]..pair[1]].iter().collect();
            shown.append(&stream.push(&piece, page));
        }
        shown.append(&stream.finish(page));
        let at_once = whole(&text, page);
        prop_assert_eq!(shown.as_str(), at_once.as_str());
        // Nothing but our own colours is obeyed.
        let theirs = anstyle_free(at_once.as_str());
        prop_assert!(!theirs.chars().any(|it| it.is_control() && it != '\n'), "{:?}", theirs);
    }

    #[test]
    fn the_letters_of_paragraphs_are_all_there(
        words in prop::collection::vec("[a-zäöü日本é]{1,30}", 0..40),
        ends in prop::collection::vec(prop_oneof![Just(" "), Just("\n"), Just("\n\n"), Just("  ")], 40),
        columns in 10..90_usize,
    ) {
        let text: String = words.iter().zip(&ends).flat_map(|(word, end)| [word.as_str(), *end]).collect();
        for style in [Style::Plain, Style::Coloured] {
            let shown = anstyle_free(whole(&text, page(columns, style)).as_str());
            let letters = |text: &str| text.chars().filter(|it| !it.is_whitespace()).collect::<String>();
            prop_assert_eq!(letters(&shown), letters(&text));
        }
    }

    // Whatever stands around it. Definitions of links inside lists are the exception.
    #[test]
    fn no_word_is_lost_or_doubled(text in markdown(), columns in 10..90_usize) {
        let text = text.replace("[r]:", "");
        let shown = whole(&text, page(columns, Style::Plain));
        prop_assert_eq!(shown.as_str().matches('w').count(), text.matches('w').count(), "{:?}", text);
    }

    #[test]
    fn no_line_of_text_is_wider_than_the_page(text in markdown(), columns in 20..90_usize) {
        use unicode_width::UnicodeWidthStr as _;
        // Deep lists and quotes have a least width.
        let text = text.replace(['>', '-'], "");
        for line in whole(&text, page(columns, Style::Plain)).as_str().lines() {
            prop_assert!(line.width() <= columns + 12, "{:?}", line);
        }
    }
}

/// A text without the codes of colours.
fn anstyle_free(text: &str) -> String {
    let mut pieces = text.split("\x1b[");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |shown, piece| {
        let (code, rest) = piece.split_once('m').unwrap();
        assert!(code.chars().all(|it| it.is_ascii_digit() || it == ';'), "{code:?}");
        shown + rest
    })
}
