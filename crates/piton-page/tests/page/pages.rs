//! Windows, lists and whole documents.

use std::time::Duration;

use piton_core::id::{ConversationId, Timestamp, TurnId};
use piton_core::view::{Live, PermissionMode, View};
use piton_page::{
    Filter, Hit, Is, ListRow, Model, Renderer, Shell, Start, Window, assets, document, hits, list,
    list_frame, list_without, problem, sign_in, start,
};

use crate::dom::{Node, Page};
use crate::script::Journal;

fn renderer(script: &str) -> Renderer {
    let journal = Journal::of(script);
    Renderer::new(&ConversationId::new("abc"), View::from(&journal.state), Live::default())
}

fn turns(html: &str) -> Vec<String> {
    let page = Page::new(html);
    let ids = page
        .all()
        .into_iter()
        .filter(|node| node.attr("class") == Some("turn"))
        .filter_map(|node| node.attr("id"));
    ids.map(str::to_owned).collect()
}

#[test]
fn a_long_conversation_comes_in_windows() {
    let long = renderer(&"turn user ask answer end:completed ".repeat(70));
    let last = long.main(Window::Last).into_string();
    assert_eq!(turns(&last).first().map(String::as_str), Some("t41"));
    assert!(last.contains("↑ 40 earlier turns") && last.contains("/c/abc/earlier?before=41"));
    let before = long.earlier(TurnId(41)).into_string();
    assert_eq!((turns(&before).len(), turns(&before)[0].as_str()), (30, "t11"));
    assert!(before.contains("↑ 10 earlier turns"));
    let first = long.earlier(TurnId(11)).into_string();
    assert_eq!(turns(&first).len(), 10);
    assert!(Page::new(&first).find("older").unwrap().attr("hidden").is_some());
    assert_eq!(turns(&long.main(Window::Before(TurnId(11))).into_string()).len(), 10);
}

fn row(id: &str, directory: &str, is: Is) -> ListRow {
    ListRow {
        id: id.into(),
        title: format!("Title of {id}"),
        directory: directory.into(),
        is,
        says: "done".into(),
        next_try: None,
        touched: Timestamp(1_000),
    }
}

#[test]
fn a_row_that_changes_leads_to_the_list_drawn_anew() {
    let rows = [row("a", "/x", Is::Done), row("b", "/y", Is::Ask)];
    let drawn = |rows: &[ListRow]| Page::new(&list(rows, None, Filter::All).into_string());
    let mut page = drawn(&rows);
    let changed = ListRow { says: "running".into(), is: Is::Running, ..rows[0].clone() };
    page.apply(&list_frame(&changed));
    let anew = drawn(&[changed.clone(), rows[1].clone()]);
    assert_eq!(page.find("convs"), anew.find("convs"));
    // A new one stands in front, in its directory or in a new one.
    let new = |id, directory, is, touched| ListRow { touched, ..row(id, directory, is) };
    let (c, d) =
        (new("c", "/x", Is::Empty, Timestamp(2_000)), new("d", "/z<b>", Is::Bad, Timestamp(3_000)));
    page.apply(&list_frame(&c));
    page.apply(&list_frame(&d));
    let anew = drawn(&[d, c, changed, rows[1].clone()]);
    assert_eq!(page.find("convs"), anew.find("convs"));
    page.apply(&list_without("d"));
    assert!(page.find("conv-d").is_none());
    assert_eq!(page.missing, Vec::<String>::new());
}

// Used from a terminal, for instance: the list is read again in the same order.
#[test]
fn a_row_that_was_used_moves_to_the_front_with_its_directory() {
    let at = |id: &str, directory: &str, touched| ListRow {
        touched: Timestamp(touched),
        ..row(id, directory, Is::Done)
    };
    let rows = [at("a", "/x", 40), at("b", "/y", 30), at("c", "/x", 20), at("d", "/y", 10)];
    let drawn = |rows: &[ListRow]| Page::new(&list(rows, None, Filter::All).into_string());
    let mut page = drawn(&rows);
    let used = at("d", "/y", 50);
    page.apply(&list_frame(&used));
    let anew = drawn(&[used.clone(), rows[0].clone(), rows[1].clone(), rows[2].clone()]);
    assert_eq!(page.find("convs"), anew.find("convs"));
    // A row that says something else and was not used stays where it is.
    let changed = ListRow { says: "1 queued".into(), ..rows[2].clone() };
    page.apply(&list_frame(&changed));
    let anew = drawn(&[used, rows[0].clone(), rows[1].clone(), changed]);
    assert_eq!(page.find("convs"), anew.find("convs"));
}

#[test]
fn a_new_conversation_chooses_directory_model_and_permissions() {
    let mode = PermissionMode::AcceptEdits;
    let page = Page::new(&start(&Start { mode, ..Start::default() }).into_string());
    let select = page.find("mode").unwrap();
    assert_eq!(select.attr("name"), Some("permissions"));
    let chosen: Vec<_> = select
        .all()
        .into_iter()
        .filter(|node| node.attr("selected").is_some())
        .filter_map(|node| node.attr("value"))
        .collect();
    assert_eq!(chosen, ["accept-edits"]);
}

fn documents() -> Vec<String> {
    let shell = |main| Shell {
        title: "A \"title\"",
        list: list(&[row("abc", "/x", Is::Halt)], Some("abc"), Filter::All),
        main,
        is_list: false,
        build: "1",
        list_cursor: "7",
        file_bytes_max: 1_000,
        silence: Duration::from_secs(25),
    };
    let asks =
        "mode:ask turn user ask calls(o:a o:b) raise:permission:a raise:permission:b queue:w:x";
    let models = vec![Model {
        name: "demo/one".into(),
        shown: "demo/one".into(),
        about: String::new(),
        price: None,
    }];
    let start_page = Start {
        directories: vec!["/x".into()],
        models,
        remark: Some("No key.".into()),
        ..Start::default()
    };
    let hit = Hit {
        address: "/c/abc#t1".into(),
        title: "t".into(),
        place: "/x".into(),
        pieces: vec![("a".into(), true)],
    };
    vec![
        document(&shell(renderer(asks).main(Window::Last))),
        document(&shell(renderer("turn user ask fail:auth break:api_error").main(Window::Last))),
        document(&shell(renderer("turn user ask calls(r:a) start:a").main(Window::Last))),
        document(&shell(start(&start_page))),
        document(&shell(hits("a", &[hit], "1 hit"))),
        sign_in(Some("The code was used already.")),
        problem("Not there", "There is no such conversation.", "e-1"),
    ]
}

// The policy of the page allows neither.
#[test]
fn no_document_has_a_style_a_script_or_a_foreign_address_in_it() {
    for html in documents() {
        assert!(
            !html.contains(" style=") && !html.contains("<style") && !html.contains("javascript:"),
            "{html}"
        );
        assert!(
            !html.contains("http://") && !html.contains("https://") && !html.contains("src=\"//"),
            "{html}"
        );
        let scripts: Vec<_> = html.match_indices("<script").collect();
        assert_eq!(scripts.len(), 1, "{html}");
        for asset in assets::all() {
            assert!(html.contains(&format!("/assets/{}", asset.name)), "{}", asset.name);
        }
        assert_eq!(Page::new(&html).doubles(), Vec::<String>::new());
    }
}

/// Whether a person who does not see it knows what a control is.
fn is_named(page: &Page, node: &Node) -> bool {
    let has = |name: &str| node.attr(name).is_some_and(|value| !value.is_empty());
    let label = |id: &str| page.all().iter().any(|node| node.attr("for") == Some(id));
    let within = page.all().into_iter().any(|it| {
        matches!(it, Node::Element { name, .. } if name == "label") && it.all().contains(&node)
    });
    has("aria-label")
        || !node.text().trim().is_empty()
        || node.attr("id").is_some_and(label)
        || within
}

#[test]
fn every_control_has_a_name() {
    for html in documents() {
        let page = Page::new(&html);
        for node in page.all() {
            let Node::Element { name, attrs, .. } = node else { continue };
            let is_control =
                ["button", "input", "select", "textarea", "summary", "a"].contains(&name.as_str());
            let is_hidden = attrs.get("type").map(String::as_str) == Some("hidden")
                || attrs.contains_key("hidden");
            assert!(!is_control || is_hidden || is_named(&page, node), "{node:?}");
        }
    }
}

#[test]
fn assets_are_named_after_what_is_in_them() {
    let names: Vec<_> = assets::all().iter().map(|asset| asset.name.as_str()).collect();
    assert!(names.iter().all(|name| name.contains('-') && name.len() > 16), "{names:?}");
    let text = |ending: &str| {
        let of_kind = assets::all().iter().filter(|asset| asset.name.ends_with(ending));
        of_kind.map(|asset| std::str::from_utf8(asset.bytes).unwrap()).collect::<String>()
    };
    assert!(!text(".css").contains("url(") && !text(".css").contains("@import"));
    assert!(!text(".js").contains("eval(") && !text(".js").contains("import("));
    assert_eq!(text(".js").matches(".innerHTML").count(), 1);
}

// Modules are served below one digest, so that an import by a bare name finds the same build.
#[test]
fn modules_import_only_what_is_served_beside_them() {
    let is_module = |asset: &&assets::Asset| asset.media_type.starts_with("text/javascript");
    let (folder, _) = assets::all().iter().find(is_module).unwrap().name.split_once('/').unwrap();
    let names: Vec<_> = assets::all().iter().map(|asset| asset.name.as_str()).collect();
    for module in assets::all().iter().filter(is_module) {
        let text = std::str::from_utf8(module.bytes).unwrap();
        for line in text.lines().filter(|line| line.starts_with("import ")) {
            let (_, from) = line.split_once(" from \"./").expect(line);
            let wanted = format!("{folder}/{}", from.trim_end_matches("\";"));
            assert!(names.contains(&wanted.as_str()), "{} imports {wanted}", module.name);
        }
    }
}
