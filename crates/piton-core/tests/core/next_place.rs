//! Where a call really leads is recorded before it is judged, and judged before the call starts.

use expect_test::{Expect, expect};
use piton_core::action::{Action, Wish};
use piton_core::decide::decide;
use piton_core::decide::permission::leads_elsewhere;
use piton_core::event::{
    AnswerPart, ArgumentRole, ConfigChange, EffectClass, Event, FinishReason, Found, Inquiry,
    InquiryAnswer, PermissionMode, PermissionRule, Permissions, Preview, RuleEffect, ToolSpec,
    Usage,
};
use piton_core::id::CallId;
use piton_core::view::View;

use crate::next_action::shown;
use crate::sample::sample;
use crate::script::Journal;

const JOURNAL: &str = include_str!("journals/v1_places.jsonl");
const DIRECTORIES: &str = include_str!("journals/v1_directories.jsonl");

fn call() -> CallId {
    "1.1.0".parse().unwrap()
}

/// A conversation with one call of `write_file` on `link/a`.
fn calling(mode: PermissionMode, rules: Vec<PermissionRule>) -> Journal {
    let mut journal = Journal::new();
    let tool = ToolSpec::new("write_file", "", "{}", EffectClass::Digested)
        .with_roles([("path", ArgumentRole::WorkspacePath)]);
    let (tools, permissions) =
        (Some(vec![tool]), Some(Permissions { mode, rules, ..Permissions::default() }));
    let change = ConfigChange { tools, permissions, ..ConfigChange::default() };
    journal.push(Event::ConfigChanged { change });
    journal.play("turn user ask");
    let (name, arguments) = ("write_file".into(), r#"{"path":"link/a","content":"x"}"#.into());
    journal.push(Event::ModelAnswered {
        parts: vec![AnswerPart::Call { call: call(), provider_id: None, name, arguments }],
        finish: FinishReason::ToolCalls,
        usage: Usage::default(),
        dropped: vec![],
        native: None,
    });
    journal
}

fn locate(journal: &mut Journal, path: &str) {
    let found = Found { path: Some(path.into()), ..Found::default() };
    journal.push(Event::CallLocated { call: call(), found });
}

fn check(journal: &Journal, expected: Expect) {
    assert_eq!(journal.state.strays, 0);
    expected.assert_eq(&shown(journal, &decide(&journal.state, Wish::Proceed)));
}

fn raise(journal: &mut Journal) -> Inquiry {
    let Action::Raise(mut asked) = decide(&journal.state, Wish::Proceed) else { panic!("asks") };
    let inquiry = asked.remove(0);
    journal.push(Event::InquiryRaised { inquiry: inquiry.clone() });
    inquiry
}

fn allow(journal: &mut Journal, asked: &Inquiry) {
    let (inquiry, answer) = (asked.id.clone(), InquiryAnswer::Allow);
    journal.push(Event::InquiryAnswered {
        inquiry,
        answer,
        by: "user".into(),
        letter: None,
        by_rule: false,
    });
}

fn denying(path: &str) -> PermissionRule {
    let rule = PermissionRule::of_tool("*", RuleEffect::Deny);
    PermissionRule { path: Some(path.into()), ..rule }
}

// D29: the question has the paths and what would be lost, as data.
#[test]
fn a_call_is_looked_at_before_a_person_is_asked() {
    let mut journal = calling(PermissionMode::Ask, vec![]);
    check(&journal, expect!["locate 1.1.0"]);
    let change = Preview { bytes_replaced: Some(9), lines_lost: 3, ..Preview::default() };
    let change = Some(Box::new(change));
    let found = Found { path: Some("real/a".into()), change, ..Found::default() };
    journal.push(Event::CallLocated { call: call(), found: found.clone() });
    let asked = raise(&mut journal);
    assert_eq!(asked.question, "Run write_file: link/a?");
    let about = asked.about.clone().unwrap();
    assert_eq!((about.tool.as_str(), about.path.as_deref()), ("write_file", Some("link/a")));
    assert_eq!(about.found, found);
    let view = View::from(&journal.state);
    let question = view.question(&asked.id).unwrap();
    assert_eq!(question.found.as_ref(), Some(&found));
    check(&journal, expect!["wait for a person"]);
    allow(&mut journal, &asked);
    check(&journal, expect!["run 1.1.0"]);
}

// Must show 3: a deny beats a yes, under every name.
#[test]
fn what_is_forbidden_by_its_real_path_is_denied_also_after_a_yes() {
    for places in [&["secret/a"][..], &["plain/a", "secret/a"]] {
        let mut journal = calling(PermissionMode::Ask, vec![denying("secret/**")]);
        locate(&mut journal, places[0]);
        let asked = raise(&mut journal);
        allow(&mut journal, &asked);
        for place in &places[1..] {
            // The link leads elsewhere since the person said yes.
            check(&journal, expect!["run 1.1.0"]);
            locate(&mut journal, place);
            let asked = raise(&mut journal);
            allow(&mut journal, &asked);
        }
        check(
            &journal,
            expect![
                "finish 1.1.0 denied: A permission rule forbids write_file on what this leads to. It was not run."
            ],
        );
    }
}

#[test]
fn a_yes_to_one_file_is_no_yes_to_another() {
    let mut journal = calling(PermissionMode::Ask, vec![]);
    locate(&mut journal, "plain/a");
    let asked = raise(&mut journal);
    allow(&mut journal, &asked);
    locate(&mut journal, "other/a");
    let asked = raise(&mut journal);
    assert_eq!(asked.id.as_str(), "1.1.0.permission.2");
    allow(&mut journal, &asked);
    check(&journal, expect!["run 1.1.0"]);
}

#[test]
fn rules_for_paths_are_asked_about_the_real_one() {
    let mut journal = calling(PermissionMode::AcceptEdits, vec![]);
    check(&journal, expect!["run 1.1.0"]);
    locate(&mut journal, ".git/a");
    check(
        &journal,
        expect![
            "finish 1.1.0 failed: `link/a` is another name of `.git/a`: use that. The tool was not run."
        ],
    );
}

#[test]
fn in_auto_a_link_to_what_others_obey_is_named_and_any_other_goes() {
    let mut journal = calling(PermissionMode::Auto, vec![]);
    locate(&mut journal, ".git/hooks/pre-commit");
    check(
        &journal,
        expect![
            "finish 1.1.0 failed: `link/a` is another name of `.git/hooks/pre-commit`: use that. The tool was not run."
        ],
    );
}

#[test]
fn a_place_is_recorded_only_if_it_was_not_judged() {
    let mut journal = calling(PermissionMode::Auto, vec![]);
    let is_news = |journal: &Journal, path: &str| {
        let found = Found { path: Some(path.into()), ..Found::default() };
        let turn = journal.state.open_turn().unwrap();
        leads_elsewhere(&journal.state, turn.call(call()).unwrap(), &found)
    };
    assert!(!is_news(&journal, "link/a") && is_news(&journal, "real/a"));
    locate(&mut journal, "real/a");
    assert!(is_news(&journal, "link/a") && !is_news(&journal, "real/a"));
    check(&journal, expect!["run 1.1.0"]);
}

#[test]
fn a_link_that_never_rests_ends_the_call() {
    let mut journal = calling(PermissionMode::Auto, vec![]);
    for number in 0..16 {
        check(&journal, expect!["run 1.1.0"]);
        locate(&mut journal, &format!("real/{number}"));
    }
    check(
        &journal,
        expect![
            "finish 1.1.0 failed: Not run: the path of this call led to another file each time it was looked at. Name a path without links."
        ],
    );
}

// J10, O19
#[test]
fn the_sample_journal_of_places_is_read_as_it_was_written() {
    let state = sample(JOURNAL);
    let call = state.open_turn().unwrap().call(call()).unwrap();
    assert_eq!((call.looks, call.found.as_deref()), (2, Some(&Found::default())));
    assert!(matches!(decide(&state, Wish::Proceed), Action::RunTools(_)));
}

#[test]
fn the_sample_journal_of_added_directories_is_read_as_it_was_written() {
    let state = sample(DIRECTORIES);
    assert_eq!(state.config.permissions.directories, ["/lib"]);
    assert!(
        matches!(decide(&state, Wish::Proceed), Action::RunTools(_)),
        "an edit there is accepted"
    );
    // A build that does not know them drops them, and asks.
    let without = sample(&DIRECTORIES.replace(r#","directories":["/lib"]"#, ""));
    assert_eq!(without.config.permissions.directories, Vec::<String>::new());
    assert!(!matches!(decide(&without, Wish::Proceed), Action::RunTools(_)));
}
