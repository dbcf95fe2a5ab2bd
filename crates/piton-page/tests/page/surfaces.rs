//! What is shown where: one surface for each failure, cards for questions, and what a person can do.

use piton_core::event::{
    About, AnswerPart, BlobRef, BreakReason, Choice, Diff, EffectClass, Event, FinishReason, Found,
    Handle, Inquiry, InquiryKind, Outcome, Preview, ToolOutput, Usage, UserPart,
};
use piton_core::id::{Attempt, CallId, ConversationId, Digest, InquiryId, MessageId, TurnId};
use piton_core::view::{Live, PermissionMode, View};
use piton_page::{Model, Renderer, Window, stands_still};

use crate::dom::{Node, Page};
use crate::script::Journal;

fn live(driven: bool) -> Live {
    let mut live = Live::default();
    live.driven = driven;
    live
}

fn renderer(journal: &Journal, driven: bool) -> Renderer {
    let models = ["demo/one", "demo/two"].map(|name| Model {
        name: name.into(),
        shown: name.into(),
        about: "8k".into(),
        price: None,
    });
    let id = ConversationId::new("abc");
    Renderer::with_models(&id, View::from(&journal.state), live(driven), models.to_vec())
}

fn page(journal: &Journal, driven: bool) -> Page {
    let page = Page::new(&renderer(journal, driven).main(Window::Last).into_string());
    assert_eq!(page.doubles(), Vec::<String>::new());
    page
}

/// Forms that lead somewhere.
fn forms(page: &Page, to: &str) -> usize {
    page.all().iter().filter(|node| node.attr("action") == Some(to)).count()
}

fn text(page: &Page, id: &str) -> String {
    let node = page.find(id).unwrap_or_else(|| panic!("no element {id}"));
    node.text().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_hidden(page: &Page, id: &str) -> bool {
    page.find(id).is_none_or(|node| node.attr("hidden").is_some())
}

fn state(page: &Page) -> (String, String) {
    let state = page.find("bar-state").unwrap();
    (state.attr("data-is").unwrap_or_default().to_owned(), text(page, "bar-state"))
}

// C1, C2, C20
#[test]
fn a_turn_that_failed_without_work_says_so_on_its_message_and_only_there() {
    let journal =
        Journal::of("turn user ask answer end:completed turn user ask fail:auth break:api_error");
    for driven in [true, false] {
        let page = page(&journal, driven);
        let message = text(&page, "m-m2");
        assert!(message.contains("The provider does not accept the key"), "{message}");
        assert!(message.contains("Retry") && message.contains("demo/two · 8k"), "{message}");
        assert_eq!(forms(&page, "/c/abc/retry"), 1);
        assert!(!text(&page, "m-m1").contains("Retry"));
        assert!(is_hidden(&page, "halt-2") && is_hidden(&page, "retry-2"));
        assert_eq!(page.find("t2").unwrap().attr("data-is"), Some("bad"));
        assert_eq!(state(&page), ("bad".into(), "failed".into()));
        assert!(page.find("err-2-1").is_some());
    }
}

// C13, C14
#[test]
fn the_model_beside_retry_is_the_one_that_is_set() {
    let journal = Journal::of("turn user ask fail:auth break:api_error model:demo/two");
    let page = page(&journal, false);
    let chosen = page.all().into_iter().filter(|node| node.attr("selected").is_some());
    let models: Vec<_> =
        chosen.filter_map(|node| node.attr("value")).filter(|it| it.starts_with("demo")).collect();
    assert_eq!(models, ["demo/two", "demo/two"]);
}

// C3
#[test]
fn a_retry_is_another_attempt_of_the_same_message() {
    let journal = Journal::of("turn user:hello ask fail:auth break:api_error retry ask");
    let page = page(&journal, true);
    assert_eq!(page.all().iter().filter(|node| node.attr("class") == Some("at user")).count(), 1);
    let message = text(&page, "m-m1");
    assert!(message.contains("attempt ‹2/2›") && message.contains("Attempt 1 of 2"), "{message}");
    assert!(message.contains("the model gave no answer"), "{message}");
    let tries = text(&page, "m-m1-tries");
    assert_eq!(tries.matches(" · ").count(), 2, "each attempt says which model it had: {tries}");
    assert_eq!(forms(&page, "/c/abc/retry"), 0);
}

#[test]
fn a_turn_that_broke_with_work_shows_what_is_kept_and_four_ways_on() {
    let journal = Journal::of("turn user ask calls(r:a o:b) start:a finish:a break:interrupted");
    let page = page(&journal, true);
    let halt = text(&page, "halt-1");
    assert!(
        halt.contains("1 of 2 tools finished") && halt.contains("1 call not started"),
        "{halt}"
    );
    for way in ["Resume", "Retry…", "Stop here", "Discard…"] {
        assert!(halt.contains(way), "{halt}");
    }
    // The way to try again leads to the message.
    let link = page.all().into_iter().find(|node| node.attr("href") == Some("#m-m1-again"));
    assert!(link.is_some() && page.find("m-m1-again").is_some());
    assert_eq!(forms(&page, "/c/abc/retry"), 1);
    assert!(page.find("err-1-1").is_none());
    assert_eq!(state(&page), ("halt".into(), "stopped".into()));
}

// The bar, the card and the list have one word for it.
#[test]
fn a_turn_that_stands_still_has_the_same_word_everywhere() {
    let halts = [
        ("break:api_error", Some(BreakReason::ApiError), "failed"),
        ("break:interrupted", Some(BreakReason::Interrupted), "stopped"),
        ("break:limit", Some(BreakReason::Limit), "stopped at a limit"),
        ("", None, "interrupted"),
    ];
    for (broke, reason, word) in halts {
        let script = format!("turn user ask calls(r:a) start:a finish:a {broke}");
        let page = page(&Journal::of(&script), false);
        assert_eq!(stands_still(reason), word);
        assert_eq!(state(&page).1, word, "{broke}");
        let card = text(&page, "halt-1").to_lowercase();
        assert!(card.starts_with(word), "{broke}: {card}");
    }
}

// C28
#[test]
fn a_turn_that_nobody_drives_is_interrupted_and_one_that_is_driven_runs() {
    let journal = Journal::of("turn user ask partial:hello");
    let lost = page(&journal, false);
    assert!(text(&lost, "halt-1").contains("the process is gone"));
    assert!(text(&lost, "s1-1-t").contains("broke off here; kept"));
    assert_eq!(state(&lost).0, "halt");
    let runs = page(&journal, true);
    assert!(is_hidden(&runs, "halt-1"));
    assert_eq!(runs.find("s1-1-t").unwrap().attr("aria-busy"), Some("true"));
    assert_eq!(state(&runs).0, "running");
    assert_eq!(forms(&runs, "/c/abc/retry"), 0);
}

// C33
#[test]
fn a_try_that_comes_again_is_a_line_with_number_reason_and_time() {
    let journal = Journal::of("turn user ask fail:overloaded");
    let line = text(&page(&journal, true), "retry-1");
    assert!(line.contains("overloaded · try 2 of"), "{line}");
    assert!(line.contains("Try now") && line.contains("Stop"), "{line}");
    assert!(is_hidden(&page(&journal, false), "retry-1"));
    assert!(!text(&page(&journal, true), "m-m1").contains("overloaded"));
}

// C30, C31
#[test]
fn a_question_is_a_card_until_it_is_answered_and_a_line_then() {
    let script = "mode:ask turn user ask calls(o:a o:b) raise:permission:a raise:permission:b";
    let journal = Journal::of(script);
    let page = page(&journal, false);
    let id = page
        .all()
        .into_iter()
        .find_map(|node| node.attr("id").filter(|id| id.starts_with("q-1-1-0")))
        .unwrap()
        .to_owned();
    let card = text(&page, &id);
    for word in [
        "1 of 2",
        "Allow once",
        "Deny",
        "Always allow",
        "Never",
        "In this conversation",
        "Everywhere",
    ] {
        assert!(card.contains(word), "{word}: {card}");
    }
    assert_eq!(state(&page), ("ask".into(), "waits for you".into()));
    let action = page.find(&id).unwrap().attr("action").unwrap();
    assert!(action.starts_with("/c/abc/answer/1.1.0."), "{action}");
    let answered = self::page(&Journal::of(&format!("{script} allow:a")), false);
    let line = text(&answered, &id);
    assert!(line.contains("allowed") && !line.contains("Deny"), "{line}");
}

fn answer(journal: &mut Journal, name: &str, arguments: &str) -> CallId {
    let call = CallId { turn: TurnId(1), step: 1, index: 0 };
    let part = AnswerPart::Call {
        call,
        provider_id: None,
        name: name.into(),
        arguments: arguments.into(),
    };
    journal.push(Event::ModelAnswered {
        parts: vec![part],
        finish: FinishReason::ToolCalls,
        usage: Usage::default(),
        dropped: vec![],
        native: None,
    });
    call
}

fn finish(journal: &mut Journal, call: CallId, text: &str) {
    let output = ToolOutput::text(text.to_owned());
    journal.push(Event::ToolFinished { call, outcome: Outcome::Ok, output });
}

#[test]
fn an_edit_shows_its_difference_and_a_call_its_output_when_opened() {
    let mut journal = Journal::of("turn user ask");
    let call = answer(
        &mut journal,
        "edit_file",
        r#"{"path":"a.rs","old":"let x = 1;\n","new":"let x = 2;\nlet y;\n"}"#,
    );
    finish(&mut journal, call, "ok");
    let page = page(&journal, true);
    let card = text(&page, "c1-1-0");
    assert!(card.contains("edit_file a.rs") && card.contains("+2 −1"), "{card}");
    assert!(page.find("c1-1-0").unwrap().attr("open").is_some());
    let mut journal = Journal::of("turn user ask");
    let call = answer(&mut journal, "shell", r#"{"command":"ls"}"#);
    finish(&mut journal, call, "one\ntwo </pre><script>");
    let page = self::page(&journal, true);
    assert!(page.find("c1-1-0").unwrap().attr("open").is_none());
    assert!(!text(&page, "c1-1-0").contains("two"));
    let body = renderer(&journal, true).call_body(call, None).unwrap().into_string();
    assert!(body.contains("two &lt;/pre&gt;&lt;script&gt;"), "{body}");
    assert!(renderer(&journal, true).call_body(CallId { index: 9, ..call }, None).is_none());
}

/// An edit that was made, with what its tool told of it.
fn edited(journal: &mut Journal, before: Option<&str>, arguments: &str, told: &str) -> CallId {
    let tool = if before.is_some() { "edit_file" } else { "write_file" };
    let call = answer(journal, tool, arguments);
    let digest = |digit: &str| Digest::new(digit.repeat(64));
    let path = "src/a.rs".to_owned();
    let handle = Handle::Edit { path, before: before.map(digest), after: digest("2") };
    journal.push(Event::ToolStarted { call, effect: EffectClass::Digested, handle });
    finish(journal, call, told);
    call
}

#[test]
fn an_edit_shows_the_hunks_that_its_tool_tells_with_numbers_and_context() {
    let mut journal = Journal::of("turn user ask");
    let arguments = r#"{"path":"src/a.rs","old":"hi","new":"hello"}"#;
    let told = "Changed src/a.rs.\n@@ -8,3 +8,3 @@\n fn a() {\n-    say(\"hi\");\n+    say(\"hello\");\n }\n";
    let call = edited(&mut journal, Some("1"), arguments, told);
    let page = page(&journal, true);
    let card = text(&page, "c1-1-0");
    assert!(card.contains("+1 −1"), "{card}");
    for line in ["8 8 fn a () {", "9 − say", "9 + say", "10 10 }"] {
        assert!(card.contains(line), "{line}: {card}");
    }
    let cells = page.find("c1-1-0").unwrap().all();
    let lost = cells.iter().find(|node| node.attr("class") == Some("del")).unwrap();
    let pieces = lost.kids().last().unwrap().all();
    let source: String = pieces.into_iter().map(own_text).collect();
    assert_eq!(source, "    say(\"hi\");", "as it is indented");
    let body = renderer(&journal, true).call_body(call, None).unwrap().into_string();
    assert_eq!(body.matches("hello").count(), 1, "told once: {body}");
}

/// The text of a text node.
fn own_text(node: &Node) -> String {
    match node {
        Node::Text(text) => text.clone(),
        Node::Element { .. } => String::new(),
    }
}

#[test]
fn all_lines_of_a_large_file_are_counted() {
    let mut journal = Journal::of("turn user ask");
    let content = "x\n".repeat(3_000);
    let arguments = serde_json::json!({ "path": "src/a.rs", "content": content }).to_string();
    let call = edited(&mut journal, None, &arguments, "Wrote src/a.rs.");
    let card = text(&page(&journal, true), "c1-1-0");
    assert!(card.contains("+3000"), "{card}");
    let body = renderer(&journal, true).call_body(call, None).unwrap().into_string();
    assert_eq!(body.matches("class=\"add\"").count(), 3_000);
    assert!(!body.contains("not shown here"));
}

// The terminal shows all of it.
#[test]
fn all_of_a_large_write_can_be_read_before_it_is_allowed() {
    let mut journal = Journal::of("mode:ask turn user ask");
    let lines: Vec<_> = (1..=3_000).map(|line| format!("{line}\n")).collect();
    let content = lines.concat();
    let arguments = serde_json::json!({ "path": "a.txt", "content": content }).to_string();
    let call = answer(&mut journal, "write_file", &arguments);
    let added = format!("@@ -0,0 +1,3000 @@\n+{}", lines.join("+"));
    let diff = Some(Diff::bounded(&added));
    let change = Preview { lines_new: 3_000, diff, ..Preview::default() };
    let found = Found { change: Some(Box::new(change)), ..Found::default() };
    let about = About {
        tool: "write_file".into(),
        arguments: arguments.into(),
        path: Some("a.txt".into()),
        found,
        ..About::default()
    };
    let id = InquiryId::new("1.1.0.permission.1");
    journal.push(Event::InquiryRaised {
        inquiry: Inquiry {
            id: id.clone(),
            kind: InquiryKind::Permission,
            call,
            question: "Write?".into(),
            choices: vec![Choice::Allow, Choice::Deny],
            wants: None,
            about: Some(Box::new(about)),
        },
    });
    let page = page(&journal, true);
    let card = text(&page, "q-1-1-0-permission-1");
    assert!(card.contains("All 3001 lines"), "{card}");
    let links = page.all().into_iter().filter_map(|node| node.attr("href"));
    let address = "/c/abc/question/1.1.0.permission.1";
    assert_eq!(links.filter(|it| *it == address).count(), 1);
    let whole = renderer(&journal, true).question_body(&id).unwrap().into_string();
    assert_eq!(whole.matches("class=\"add\"").count(), 3_000);
    assert!(renderer(&journal, true).question_body(&InquiryId::new("none")).is_none());
}

#[test]
fn questions_stand_in_the_order_in_which_a_terminal_asks_them() {
    let script = "mode:ask turn user ask calls(o:a o:b) raise:permission:b raise:permission:a";
    let page = page(&Journal::of(script), false);
    let cards: Vec<_> = page
        .all()
        .into_iter()
        .filter(|node| node.attr("class") == Some("at ask"))
        .map(|node| node.text().split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    assert!(cards[0].contains("1 of 2") && cards[1].contains("2 of 2"), "{cards:?}");
}

#[test]
fn what_a_person_is_asked_by_a_call_is_its_title() {
    let mut journal = Journal::of("turn user ask");
    answer(&mut journal, "ask_user", r#"{"question":"What\nname?","options":["a"]}"#);
    let card = text(&page(&journal, true), "c1-1-0");
    assert!(card.contains("What name?") && !card.contains('{'), "{card}");
}

#[test]
fn plan_and_queue_are_in_the_dock() {
    let mut journal = Journal::of("turn user ask");
    let plan = r#"{"plan":[{"step":"look","status":"done"},{"step":"do","status":"in_progress"}]}"#;
    let call = answer(&mut journal, "update_plan", plan);
    finish(&mut journal, call, "ok");
    journal.play("queue:w1:first queue:w2:second");
    let page = page(&journal, true);
    assert!(text(&page, "plan").contains("1 of 2 · now: do"));
    let queue = text(&page, "queue");
    assert!(
        queue.contains("2 messages")
            && queue.contains("next 1 first")
            && queue.contains("next 2 second"),
        "{queue}"
    );
    assert_eq!(page.find("composer").unwrap().attr("data-is"), Some("busy"));
    assert!(text(&page, "send").contains("Stop Steer Queue"));
}

#[test]
fn what_a_worker_asks_is_shown_with_the_way_there() {
    let mut journal = Journal::of("turn user ask calls(c:a) start:a");
    let call = journal.call("a");
    journal.push(Event::CallParked { call, question: "Delete it?".into() });
    let card = text(&page(&journal, true), "c1-1-0");
    assert!(card.contains("waits for you") && card.contains("Delete it?"), "{card}");
    assert_eq!(state(&page(&journal, true)).0, "ask");
}

#[test]
fn what_the_model_was_told_along_is_folded_below_the_message() {
    let page = page(&Journal::of("turn context:date:today user ask"), true);
    let told = text(&page, "t1-told");
    assert!(told.contains("what else the model was told date") && told.contains("today"), "{told}");
}

#[test]
fn the_modes_that_can_be_chosen_have_the_names_of_the_setting() {
    let page = page(&Journal::of("mode:accept-edits"), true);
    let select = page.find("mode").unwrap();
    let options: Vec<_> = select
        .all()
        .into_iter()
        .filter_map(|node| Some((node.attr("value")?, node.attr("selected").is_some())))
        .collect();
    for (name, is_chosen) in options {
        let mode: PermissionMode = serde_json::from_value(name.into()).unwrap();
        assert_eq!(is_chosen, mode == PermissionMode::AcceptEdits);
    }
}

#[test]
fn a_file_is_shown_by_its_name_and_an_image_by_itself() {
    let mut journal = Journal::of("turn");
    let file = |name: &str, media: &str| {
        let blob = BlobRef { digest: Digest::new("ab\"><c"), bytes: 3_000 };
        UserPart::File { name: name.into(), media_type: media.into(), blob }
    };
    let parts =
        vec![UserPart::text("look"), file("a\"b.png", "image/png"), file("x.svg", "image/svg+xml")];
    journal.push(Event::UserMessage {
        message: MessageId::new("m\"1"),
        parts,
        attempt: Attempt::FIRST,
    });
    let page = page(&journal, true);
    let images: Vec<_> =
        page.all().into_iter().filter_map(|node| node.attr("src").map(str::to_owned)).collect();
    assert_eq!(images, ["/api/v1/blobs/ab%22%3E%3Cc"]);
    assert!(text(&page, "m-m_22_1").contains("a\"b.png 3 KB"), "{}", text(&page, "m-m_22_1"));
}

/// Names of elements and attributes that a page has.
fn strange(page: &Page) -> Vec<String> {
    let bad = |node: &&Node| match node {
        Node::Element { name, attrs, .. } => {
            let has_event = attrs.keys().any(|key| key.starts_with("on") || key == "style");
            has_event || ["script", "iframe", "style", "object", "embed"].contains(&name.as_str())
        }
        Node::Text(text) => text == "a comment" || text.contains('\u{202e}'),
    };
    // What is there to be changed stays as it was written.
    let is_typed = |node: &&Node| matches!(node, Node::Element { name, .. } if name == "textarea");
    let all = page.all();
    let typed: Vec<&Node> = all.iter().copied().filter(is_typed).flat_map(Node::all).collect();
    let seen = all.into_iter().filter(|node| !typed.iter().any(|it| std::ptr::eq(*it, *node)));
    seen.filter(bad).map(|node| format!("{node:?}")).collect()
}

#[test]
fn nothing_that_somebody_wrote_becomes_an_element() {
    const EVIL: &str = "\"><script>x</script><img src=x onerror=y>\u{202e}<!--";
    let mut journal = Journal::of("turn");
    journal.push(Event::TitleGiven { title: EVIL.into() });
    let parts = vec![UserPart::text(EVIL)];
    journal.push(Event::UserMessage {
        message: MessageId::new(EVIL),
        parts,
        attempt: Attempt::FIRST,
    });
    journal.play("ask");
    let arguments =
        serde_json::json!({ "command": EVIL, "path": EVIL, "old": EVIL, "new": "x" }).to_string();
    let call = answer(&mut journal, EVIL, &arguments);
    finish(&mut journal, call, EVIL);
    journal.push(Event::MessageQueued {
        message: MessageId::new(EVIL),
        parts: vec![UserPart::text(EVIL)],
        place: piton_core::event::QueuePlace::Next,
    });
    journal.push(Event::TurnBroke {
        turn: TurnId(1),
        reason: BreakReason::Limit,
        message: EVIL.into(),
    });
    let renderer =
        Renderer::new(&ConversationId::new(EVIL), View::from(&journal.state), live(false));
    let page = Page::new(&renderer.main(Window::Last).into_string());
    assert_eq!(strange(&page), Vec::<String>::new());
    assert_eq!(page.doubles(), Vec::<String>::new());
    let body = renderer.call_body(call, None).unwrap().into_string();
    assert_eq!(strange(&Page::new(&body)), Vec::<String>::new());
}
