//! Hooks are asked before a call runs, what they say is recorded, and a deny beats everything.

use expect_test::{Expect, expect};
use piton_core::action::{Action, Wish};
use piton_core::decide::decide;
use piton_core::event::{
    AnswerPart, ConfigChange, EffectClass, Event, FinishReason, Found, HookVerdict, Inquiry,
    InquiryAnswer, PermissionMode, PermissionRule, Permissions, RuleEffect, ToolSpec, Usage,
};
use piton_core::id::CallId;

use crate::next_action::shown;
use crate::sample::sample;
use crate::script::Journal;

const JOURNAL: &str = include_str!("journals/v1_hooks.jsonl");
const DENIED: &str =
    "finish 1.1.0 denied: A hook of the user denied this call: not today\nIt was not run.";

fn call() -> CallId {
    "1.1.0".parse().unwrap()
}

fn configure(journal: &mut Journal, permissions: Permissions) {
    let permissions = Some(permissions);
    let change = ConfigChange { permissions, ..ConfigChange::default() };
    journal.push(Event::ConfigChanged { change });
}

/// A conversation with one call of `pay`, at which hooks look.
fn calling(mode: PermissionMode, rules: Vec<PermissionRule>) -> Journal {
    let mut journal = Journal::new();
    let tools = Some(vec![ToolSpec::new("pay", "", "{}", EffectClass::Once)]);
    let change = ConfigChange { tools, ..ConfigChange::default() };
    journal.push(Event::ConfigChanged { change });
    let hooked = vec!["pay".into()];
    configure(&mut journal, Permissions { mode, rules, hooked, ..Permissions::default() });
    journal.play("turn user ask");
    let (name, arguments) = ("pay".into(), "{}".into());
    journal.push(Event::ModelAnswered {
        parts: vec![AnswerPart::Call { call: call(), provider_id: None, name, arguments }],
        finish: FinishReason::ToolCalls,
        usage: Usage::default(),
        dropped: vec![],
        native: None,
    });
    journal
}

fn say(journal: &mut Journal, denied: Option<&str>) {
    let hooks = Some(HookVerdict { denied: denied.map(str::to_owned) });
    let found = Found { hooks, ..Found::default() };
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

fn answer(journal: &mut Journal, asked: &Inquiry, answer: InquiryAnswer) {
    let inquiry = asked.id.clone();
    journal.push(Event::InquiryAnswered {
        inquiry,
        answer,
        by: "user".into(),
        letter: None,
        by_rule: false,
    });
}

#[test]
fn a_call_is_shown_to_hooks_before_it_runs_whatever_allows_it() {
    let allow = || vec![PermissionRule::of_tool("pay", RuleEffect::Allow)];
    for (mode, rules) in [(PermissionMode::Auto, vec![]), (PermissionMode::Ask, allow())] {
        let mut passed = calling(mode, rules.clone());
        check(&passed, expect!["locate 1.1.0"]);
        say(&mut passed, None);
        check(&passed, expect!["run 1.1.0"]);
        let mut denied = calling(mode, rules);
        say(&mut denied, Some("not today"));
        assert_eq!(shown(&denied, &decide(&denied.state, Wish::Proceed)), DENIED);
    }
}

#[test]
fn a_person_is_not_asked_about_what_a_hook_denies() {
    let mut journal = calling(PermissionMode::Ask, vec![]);
    check(&journal, expect!["locate 1.1.0"]);
    say(&mut journal, Some("not today"));
    assert_eq!(shown(&journal, &decide(&journal.state, Wish::Proceed)), DENIED);
}

#[test]
fn a_person_decides_on_what_no_hook_denies_and_a_later_deny_beats_their_yes() {
    let mut journal = calling(PermissionMode::Ask, vec![]);
    say(&mut journal, None);
    let asked = raise(&mut journal);
    assert_eq!(asked.about.as_ref().unwrap().found, Found::default(), "nothing to read there");
    check(&journal, expect!["wait for a person"]);
    answer(&mut journal, &asked, InquiryAnswer::Allow);
    check(&journal, expect!["run 1.1.0"]);
    // Looked at again, because it leads elsewhere.
    journal.push(Event::CallLocated { call: call(), found: Found::default() });
    check(&journal, expect!["locate 1.1.0"]);
    say(&mut journal, Some("not today"));
    assert_eq!(shown(&journal, &decide(&journal.state, Wish::Proceed)), DENIED);
}

#[test]
fn a_call_that_a_person_changed_is_shown_to_hooks_again() {
    let mut journal = calling(PermissionMode::Ask, vec![]);
    say(&mut journal, None);
    let asked = raise(&mut journal);
    let arguments = r#"{"to":"me"}"#.into();
    answer(&mut journal, &asked, InquiryAnswer::Changed { arguments });
    check(&journal, expect!["locate 1.1.0"]);
    say(&mut journal, None);
    check(&journal, expect!["run 1.1.0"]);
}

#[test]
fn no_hook_is_asked_about_what_a_rule_forbids() {
    let deny = PermissionRule::of_tool("pay", RuleEffect::Deny);
    let journal = calling(PermissionMode::Auto, vec![deny]);
    check(
        &journal,
        expect![
            "finish 1.1.0 denied: A permission rule forbids this call of pay; nobody was asked."
        ],
    );
}

#[test]
fn hooks_that_are_gone_from_the_settings_are_asked_no_more_but_what_they_said_counts() {
    let auto = || Permissions { mode: PermissionMode::Auto, ..Permissions::default() };
    let mut journal = calling(PermissionMode::Auto, vec![]);
    configure(&mut journal, auto());
    check(&journal, expect!["run 1.1.0"]);
    let mut journal = calling(PermissionMode::Auto, vec![]);
    say(&mut journal, Some("not today"));
    configure(&mut journal, auto());
    assert_eq!(shown(&journal, &decide(&journal.state, Wish::Proceed)), DENIED);
}

#[test]
fn looking_for_a_verdict_has_an_end() {
    let mut journal = calling(PermissionMode::Auto, vec![]);
    for _ in 0..16 {
        check(&journal, expect!["locate 1.1.0"]);
        journal.push(Event::CallLocated { call: call(), found: Found::default() });
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
fn the_sample_journal_of_hooks_is_read_as_it_was_written() {
    let state = sample(JOURNAL);
    assert_eq!(state.config.permissions.hooked, ["write_*"]);
    let Action::Finish(verdicts) = decide(&state, Wish::Proceed) else { panic!("finishes") };
    assert!(verdicts[0].text.contains("no secrets here"), "{verdicts:?}");
    // A build that does not know them runs the call.
    let without = JOURNAL.replace(r#","hooked":["write_*"]"#, "");
    let without = without.replace(r#","hooks":{"denied":"no secrets here"}"#, "");
    assert!(matches!(decide(&sample(&without), Wish::Proceed), Action::RunTools(_)));
}
