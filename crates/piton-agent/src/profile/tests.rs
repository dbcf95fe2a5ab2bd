use piton::Policy;
use piton_core::event::{PermissionMode, PermissionRule, RuleEffect, RuleScope};

use super::*;
use crate::unattended::UnattendedPolicy;

const SETTINGS: &str = r#"
    model = "gemini/pro"
    effort = "low"
    max_tokens = 7

    [[permissions]]
    tool = "shell"
    effect = "deny"

    [[permissions]]
    tool = "grep"
    effect = "ask"
    workspace = "/elsewhere"

    [unattended]
    permissions = "deny"
"#;

fn agent() -> Agent {
    Agent::of(SETTINGS, &[])
}

/// A conversation in its second turn, which goes on.
fn known() -> ProfileRequest {
    let rule =
        |tool, effect, scope| PermissionRule { scope, ..PermissionRule::of_tool(tool, effect) };
    let rules = vec![
        rule("glob", RuleEffect::Allow, RuleScope::Conversation),
        rule("glob", RuleEffect::Deny, RuleScope::User),
    ];
    let present = Config {
        model: "gemini/flash".parse().ok(),
        system: "be brief".into(),
        effort: Effort::High,
        answer_tokens_max: 3,
        permissions: Permissions {
            mode: PermissionMode::ReadOnly,
            rules,
            ..Permissions::default()
        },
        ..Config::default()
    };
    ProfileRequest {
        directory: None,
        workspace: "/work".into(),
        present,
        standing: Standing::Known,
        overrides: Overrides::default(),
        turn: TurnStart::GoesOn,
        attendance: Attendance::Unattended,
    }
}

fn new() -> ProfileRequest {
    ProfileRequest { present: Config::default(), standing: Standing::New, ..known() }
}

#[test]
fn what_no_override_names_stays_as_it_was() {
    let request = known();
    let frozen = agent().profile(&request).unwrap().frozen;
    assert_eq!(frozen.model.to_string(), "gemini/flash");
    assert_eq!((&*frozen.system, frozen.effort), ("be brief", Effort::High));
    assert_eq!((frozen.limits, frozen.answer_tokens_max), (request.present.limits, 3));
}

#[test]
fn a_new_conversation_begins_as_the_settings_say() {
    let frozen = agent().profile(&new()).unwrap().frozen;
    assert_eq!(frozen.model.to_string(), "gemini/pro");
    assert_eq!((frozen.effort, frozen.answer_tokens_max), (Effort::Low, 7));
    assert!(frozen.system.starts_with("You are piton, "), "{}", frozen.system);
}

// Time and tokens have ceilings per turn.
#[test]
fn ceilings_of_the_settings_are_for_new_conversations() {
    let agent = Agent::of("model = \"gemini/pro\"\nmax_turn_tokens = 9000\n", &[]);
    let tokens_max =
        |request: &ProfileRequest| agent.profile(request).unwrap().frozen.limits.tokens_max;
    assert_eq!(tokens_max(&new()), 9_000);
    assert_eq!(tokens_max(&known()), known().present.limits.tokens_max);
    let overrides = Overrides { tokens_max: Some(0), ..Overrides::default() };
    assert_eq!(tokens_max(&ProfileRequest { overrides, ..new() }), 0);
    let agent = Agent::of("model = \"ollama/own\"\nmax_turn_cost = 0.5\n", &[]);
    let request = ProfileRequest { overrides: Overrides::default(), ..new() };
    assert!(matches!(agent.profile(&request), Err(ProfileError::NoPrice { .. })));
    let overrides = Overrides { microdollars_max: Some(0), ..Overrides::default() };
    assert!(agent.profile(&ProfileRequest { overrides, ..new() }).is_ok());
}

#[test]
fn with_another_provider_the_settings_say_how_requests_are_made() {
    let with = |model: &str| {
        let overrides = Overrides { model: model.parse().ok(), ..Overrides::default() };
        let frozen = agent().profile(&ProfileRequest { overrides, ..known() }).unwrap().frozen;
        (frozen.model.to_string(), frozen.effort, frozen.answer_tokens_max)
    };
    assert_eq!(with("gemini/nano"), ("gemini/nano".into(), Effort::High, 3));
    assert_eq!(with("openai/gpt"), ("openai/gpt".into(), Effort::Low, 7));
}

#[test]
fn an_override_counts_before_conversation_and_settings() {
    let overrides = Overrides {
        effort: Some(Effort::Max),
        answer_tokens_max: Some(0),
        steps_max: Some(2),
        permissions: Some(PermissionMode::Auto),
        unattended: Some(UnattendedPolicy::Auto),
        ..Overrides::default()
    };
    for request in [known(), new()] {
        let request = ProfileRequest { overrides: overrides.clone(), ..request };
        let Profile { frozen, live } = agent().profile(&request).unwrap();
        assert_eq!((frozen.effort, frozen.answer_tokens_max), (Effort::Max, 0));
        assert_eq!(frozen.limits.steps_max, 2);
        assert_eq!(live.permissions.mode, PermissionMode::Auto);
        let unattended = Unattended { permissions: Policy::Auto, questions: Policy::Auto };
        assert_eq!(live.unattended, unattended);
    }
}

#[test]
fn tools_change_only_when_a_turn_begins() {
    let tools: Arc<[ToolSpec]> = [
        piton_tools::Tool::spec(&piton_tools::ListDir),
        piton_tools::Tool::spec(&piton_tools::AskUser),
    ]
    .into();
    let begins = TurnStart::Begins { tools: tools.clone() };
    let begun = agent().profile(&ProfileRequest { turn: begins, ..known() }).unwrap();
    assert_eq!(begun.frozen.tools, tools);
    let resumed = ProfileRequest { present: begun.config(), ..known() };
    assert_eq!(agent().profile(&resumed).unwrap().frozen.tools, tools);
}

// A rule that was taken back in the settings counts no more, also in a turn that goes on.
#[test]
fn rules_of_the_settings_count_as_they_are_now() {
    let Live { permissions, unattended, .. } = agent().live(&known());
    let told: Vec<_> = permissions.rules.iter().map(|rule| (&*rule.tool, rule.effect)).collect();
    assert_eq!(told, [("glob", RuleEffect::Allow), ("shell", RuleEffect::Deny)]);
    assert_eq!(permissions.mode, PermissionMode::ReadOnly);
    let written = Unattended { permissions: Policy::Deny, questions: Policy::Defer };
    assert_eq!(unattended, written);
}

#[test]
fn a_call_in_doubt_is_asked_about_only_if_somebody_is_there() {
    let in_doubt = |attendance| agent().live(&ProfileRequest { attendance, ..known() }).in_doubt;
    assert_eq!(in_doubt(Attendance::Attended), InDoubtPolicy::Ask);
    assert_eq!(in_doubt(Attendance::Unattended), InDoubtPolicy::TellModel);
}

#[test]
fn a_profile_without_a_change_changes_no_configuration() {
    let before = agent().profile(&known()).unwrap().config();
    let again = ProfileRequest { present: before.clone(), ..known() };
    assert_eq!(agent().profile(&again).unwrap().config(), before);
}

#[test]
fn a_default_model_that_there_is_not_is_an_error_only_where_it_is_needed() {
    let agent = Agent::of("model = \"nobody/x\"\n", &[]);
    let error = agent.profile(&new()).unwrap_err();
    assert!(
        matches!(error, ProfileError::Model(ModelError::Unknown { name, .. }) if name == "nobody/x")
    );
    assert!(agent.profile(&known()).is_ok());
}

// The flag before the environment before the file, and only where a conversation begins.
#[test]
fn a_new_conversation_begins_with_the_mode_of_the_settings() {
    let mode = |text: &str, variables: &[(&str, &str)], request: &ProfileRequest| {
        let agent = Agent::of(&format!("model = \"gemini/pro\"\n{text}"), variables);
        agent.live(request).permissions.mode
    };
    let file = "[ask]\npermissions = \"accept-edits\"\n";
    let variable = [("PITON_PERMISSIONS", "read-only")];
    assert_eq!(mode("", &[], &new()), PermissionMode::Ask);
    assert_eq!(mode(file, &[], &new()), PermissionMode::AcceptEdits);
    assert_eq!(mode(file, &variable, &new()), PermissionMode::ReadOnly);
    let overrides = Overrides { permissions: Some(PermissionMode::Ask), ..Overrides::default() };
    let typed = ProfileRequest { overrides, ..new() };
    assert_eq!(mode(file, &variable, &typed), PermissionMode::Ask);
    assert_eq!(mode(file, &[], &known()), PermissionMode::ReadOnly, "it keeps its own");
}
