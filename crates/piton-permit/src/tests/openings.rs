//! Openings in the wall: what rules give, what a call asks for, and who decides.

use super::super::grants::{fault as grants_fault, granted, needs, told, wants_more, words};
use super::*;
use crate::{ArgumentRole, Grants};

/// The shell as it is offered where single hosts can be held.
fn shell() -> Tool<'static> {
    let roles = [("command", ArgumentRole::CommandLine), ("needs", ArgumentRole::Needs)];
    tool("shell", Does::Act).confining(true).holding_hosts(true).with_roles(roles)
}

fn hosts(hosts: &[&str]) -> Grants {
    let network = hosts.iter().map(ToString::to_string).collect();
    Grants { network, ..Grants::default() }
}

fn writing(place: &str) -> Grants {
    Grants { write: vec![place.into()], ..Grants::default() }
}

fn opening(command: &str, grants: Grants) -> PermissionRule {
    let command = (!command.is_empty()).then(|| command.to_owned());
    PermissionRule { command, grants, ..PermissionRule::of_tool("shell", RuleEffect::Allow) }
}

fn with_rules(mode: PermissionMode, rules: Vec<PermissionRule>) -> Permissions {
    Permissions { mode, rules, ..Permissions::default() }
}

fn call(command: &str, needs: &Grants) -> String {
    serde_json::json!({ "command": command, "needs": needs }).to_string()
}

fn says(permissions: &Permissions, arguments: &str) -> RuleEffect {
    super::super::permit(permissions, WORKSPACE, shell(), arguments)
}

#[test]
fn a_call_has_the_openings_of_all_rules_that_allow_it() {
    let rules = vec![
        opening("cargo *", hosts(&["crates.io:443"])),
        opening("cargo fetch *", writing("~/.cargo/registry")),
        opening("npm *", hosts(&["registry.npmjs.org:443"])),
    ];
    let permissions = with_rules(PermissionMode::Auto, rules);
    let opened = |command: &str| {
        granted(&permissions, WORKSPACE, shell(), &call(command, &Grants::default()))
    };
    let both = Grants { write: vec!["~/.cargo/registry".into()], ..hosts(&["crates.io:443"]) };
    assert_eq!(opened("cargo fetch -q"), both);
    assert_eq!(opened("cargo build"), hosts(&["crates.io:443"]));
    assert_eq!(opened("cargo build 2>&1 | tail -5"), hosts(&["crates.io:443"]));
    let all = hosts(&["crates.io:443", "registry.npmjs.org:443"]);
    assert_eq!(opened("cargo build && npm ci"), all);
    // What no rule allows would have the openings, too.
    for command in [
        "make",
        "cargo build && make",
        "cargo build | ./upload",
        "cargo build; curl http://x",
        "cd x && cargo build",
        "cargo build $x",
        "cargo build $(make)",
        "sh -c 'cargo build'",
    ] {
        assert_eq!(opened(command), Grants::default(), "{command}");
    }
    // A rule that forbids opens nothing.
    let deny = PermissionRule { effect: RuleEffect::Deny, ..opening("make", hosts(&["a.io:443"])) };
    let permissions = with_rules(PermissionMode::Auto, vec![deny]);
    let none = granted(&permissions, WORKSPACE, shell(), &call("make", &Grants::default()));
    assert!(none.is_empty());
}

#[test]
fn what_no_rule_opens_asks_whatever_mode_or_rule_allows() {
    let needs = hosts(&["crates.io:443"]);
    for rules in [
        vec![],
        vec![opening("cargo *", Grants::default())],
        vec![opening("", Grants::default())],
        vec![PermissionRule::of_tool("*", RuleEffect::Allow)],
        vec![opening("cargo *", hosts(&["crates.io:80"]))],
        vec![opening("npm *", hosts(&["crates.io:443"]))],
    ] {
        let permissions = with_rules(PermissionMode::Auto, rules.clone());
        assert_eq!(says(&permissions, &call("cargo build", &needs)), RuleEffect::Ask, "{rules:?}");
        assert!(wants_more(&permissions, WORKSPACE, shell(), &call("cargo build", &needs)));
        // Without the wish it runs.
        let plain = call("cargo build", &Grants::default());
        assert_eq!(says(&permissions, &plain), RuleEffect::Allow, "{rules:?}");
    }
    let read_only = with_rules(PermissionMode::ReadOnly, Vec::new());
    assert_eq!(says(&read_only, &call("cargo build", &needs)), RuleEffect::Deny);
}

#[test]
fn what_rules_or_settings_open_asks_nobody() {
    let needs = hosts(&["static.crates.io:443"]);
    for rules in [
        vec![opening("cargo *", hosts(&["static.crates.io:443"]))],
        vec![opening("cargo *", hosts(&["*.crates.io:443"]))],
        vec![opening("cargo *", hosts(&["*"]))],
        vec![opening("", hosts(&["*.crates.io:443"]))],
        // Named word for word it runs outside the wall.
        vec![opening("cargo build", Grants::default())],
        vec![PermissionRule { confined: Some(false), ..opening("cargo *", Grants::default()) }],
    ] {
        let permissions = with_rules(PermissionMode::Ask, rules.clone());
        assert_eq!(
            says(&permissions, &call("cargo build", &needs)),
            RuleEffect::Allow,
            "{rules:?}"
        );
        assert!(!wants_more(&permissions, WORKSPACE, shell(), &call("cargo build", &needs)));
    }
    let mut settings = with_rules(PermissionMode::Auto, Vec::new());
    *settings.opened = hosts(&["*.crates.io:443"]);
    assert_eq!(says(&settings, &call("cargo build", &needs)), RuleEffect::Allow);
    // Where there is no wall nothing has to be opened.
    let unwalled = shell().confining(false);
    let auto = with_rules(PermissionMode::Auto, Vec::new());
    let said = super::super::permit(&auto, WORKSPACE, &unwalled, &call("cargo build", &needs));
    assert_eq!(said, RuleEffect::Allow);
}

#[test]
fn places_are_covered_from_above_and_what_is_open_anyway_asks_nobody() {
    let auto = |rules| with_rules(PermissionMode::Auto, rules);
    let asks = |permissions: &Permissions, needs: Grants| {
        says(permissions, &call("make", &needs)) == RuleEffect::Ask
    };
    for place in ["/h/ws/target", "/h/ws", "/tmp/x", "/dev/shm"] {
        assert!(!asks(&auto(Vec::new()), writing(place)), "{place}");
    }
    for place in [
        "/h",
        "/h/wsx",
        "/h/ws/.git/config",
        "/h/ws/.git/hooks/pre-commit",
        "/tmpx",
        "~/x",
        "/etc",
        "/h/ws/../x",
        "/tmp/../etc",
    ] {
        let needs = writing(place);
        // A place with a detour is no place: the tool refuses the call.
        let is_sound = grants_fault(&needs).is_none();
        assert_eq!(asks(&auto(Vec::new()), needs), is_sound, "{place}");
    }
    let rules = vec![opening("make *", writing("~/cache/"))];
    assert!(!asks(&auto(rules.clone()), writing("~/cache/a/b")));
    assert!(!asks(&auto(rules.clone()), writing("~/cache")));
    let reading = |place: &str| Grants { read: vec![place.into()], ..Grants::default() };
    assert!(!asks(&auto(rules.clone()), reading("~/cache/a")));
    assert!(asks(&auto(rules.clone()), writing("~/cachex")));
    assert!(asks(&auto(rules), reading("~/.ssh/id")));
    let env = |name: &str| Grants { env: vec![name.into()], ..Grants::default() };
    let token = vec![opening("make *", env("TOKEN"))];
    assert!(!asks(&auto(token.clone()), env("TOKEN")) && asks(&auto(token), env("OTHER")));
}

#[test]
fn hosts_that_cannot_be_held_ask_and_say_why() {
    let unheld = shell().holding_hosts(false);
    let rules = vec![opening("cargo *", hosts(&["crates.io:443"]))];
    let permissions = with_rules(PermissionMode::Auto, rules);
    let plain = call("cargo build", &Grants::default());
    let says = |tool: &Tool<'_>, permissions: &Permissions| {
        super::super::permit(permissions, WORKSPACE, tool, &plain)
    };
    assert_eq!(says(&shell(), &permissions), RuleEffect::Allow);
    assert_eq!(says(&unheld, &permissions), RuleEffect::Ask);
    let lines = told(&permissions, WORKSPACE, &unheld, &plain).join("\n");
    assert!(lines.contains("hosts and sockets cannot be opened singly here"), "{lines}");
    // All of it can be had anywhere.
    let all = with_rules(PermissionMode::Auto, vec![opening("cargo *", hosts(&["*"]))]);
    assert_eq!(says(&unheld, &all), RuleEffect::Allow);
    // A policy in place of a person does not have to refuse that: it opens nothing.
    assert!(!wants_more(&permissions, WORKSPACE, &unheld, &plain));
}

#[test]
fn a_rule_with_openings_keeps_its_command_behind_the_wall() {
    let free = |rule: PermissionRule| {
        let permissions = with_rules(PermissionMode::Ask, vec![rule]);
        let plain = call("cargo build", &Grants::default());
        assert_eq!(says(&permissions, &plain), RuleEffect::Allow);
        runs_free(&permissions, WORKSPACE, shell(), &plain)
    };
    assert!(free(opening("cargo build", Grants::default())));
    assert!(!free(opening("cargo build", hosts(&["crates.io:443"]))));
}

#[test]
fn an_offer_carries_what_the_call_asks_for() {
    let needs = Grants { write: vec!["~/.cargo/registry".into()], ..hosts(&["crates.io:443"]) };
    let offers_of = |mode, rules: Vec<PermissionRule>, command: &str| {
        let permissions = with_rules(mode, rules);
        let standing = Standing { effect: RuleEffect::Allow, scope: RuleScope::Project };
        offers(&permissions, WORKSPACE, shell(), &call(command, &needs), standing)
    };
    let told = |offers: Vec<(Width, Vec<PermissionRule>)>| {
        let rule = |rule: &PermissionRule| {
            let opens = if rule.grants.is_empty() { "" } else { " +" };
            format!("{}{opens}", rule.command.clone().unwrap_or_default())
        };
        let offer = |(width, rules): &(Width, Vec<PermissionRule>)| {
            let rules: Vec<_> = rules.iter().map(rule).collect();
            format!("{width:?}: {}", rules.join(", "))
        };
        offers.iter().map(offer).collect::<Vec<_>>()
    };
    let ask = PermissionMode::Ask;
    let made = offers_of(ask, Vec::new(), "cargo fetch");
    for (width, rules) in &made {
        let opens = if *width == Width::Unconfined { Grants::default() } else { needs.clone() };
        assert!(rules.iter().all(|rule| rule.grants == opens), "{width:?}");
        assert!(rules.iter().all(|rule| fault::of_rule(rule).is_none()), "{rules:?}");
        // An older build must not take it out of the wall.
        let is_exact = *width == Width::Exactly;
        assert!(!is_exact || rules.iter().all(|rule| rule.confined == Some(true)));
        let wider = with(&with_rules(ask, Vec::new()), rules);
        let is_free = runs_free(&wider, WORKSPACE, shell(), &call("cargo fetch", &needs));
        assert_eq!(is_free, *width == Width::Unconfined, "{width:?}");
    }
    assert_eq!(
        told(made),
        [
            "Exactly: cargo fetch +",
            "FirstWords: cargo fetch * +",
            "Program: cargo * +",
            "Unconfined: cargo fetch *"
        ]
    );
    // What only looks needs no opening; a rule that allows the command and opens nothing is not enough.
    let first = |mode, rules, command| told(offers_of(mode, rules, command)).remove(0);
    assert_eq!(first(ask, Vec::new(), "cargo fetch 2>&1 | tail -5"), "Exactly: cargo fetch +");
    let known = vec![opening("cargo *", Grants::default())];
    assert_eq!(first(PermissionMode::Auto, known, "cargo fetch"), "Exactly: cargo fetch +");
    let deny = Standing { effect: RuleEffect::Deny, scope: RuleScope::Project };
    let permissions = with_rules(ask, Vec::new());
    let denied = always(&permissions, &shell(), &call("cargo fetch", &needs), deny).unwrap();
    assert!(denied.iter().all(|rule| rule.grants.is_empty() && rule.confined.is_none()));
}

#[test]
fn a_wish_is_told_in_words() {
    let needs = Grants {
        write: vec!["~/.cargo".into()],
        env: vec!["TOKEN".into()],
        sockets: vec!["/run/docker.sock".into()],
        ..hosts(&["crates.io:443", "a.io:80"])
    };
    let permissions = with_rules(PermissionMode::Auto, Vec::new());
    assert_eq!(
        told(&permissions, WORKSPACE, shell(), &call("cargo build", &needs)),
        [
            "it asks to connect to crates.io:443, a.io:80",
            "it asks to use the socket /run/docker.sock (and with it do anything on this machine)",
            "it asks to write in ~/.cargo",
            "it asks to see the variable TOKEN",
        ]
    );
    assert_eq!(words(&hosts(&["*"])), ["connect to every host"]);
    let write = Grants { write: vec!["/a, and nothing else".into()], ..Grants::default() };
    assert_eq!(words(&write), [r#"write in "/a, and nothing else""#]);
}

#[test]
fn a_wish_that_no_question_can_show_whole_is_refused() {
    let needs = |count: usize| {
        let hosts: Vec<_> = (0..count).map(|number| format!("{number:010}.example:1")).collect();
        let needs = serde_json::json!({ "network": hosts }).to_string();
        serde_json::from_str::<crate::openings::Needs>(&needs).unwrap().grants()
    };
    assert_eq!(needs(60).unwrap().network.len(), 60);
    let long = serde_json::json!({ "read": vec![format!("/{}", "a".repeat(600)); 4] }).to_string();
    let long = serde_json::from_str::<crate::openings::Needs>(&long).unwrap().grants();
    assert!(long.unwrap_err().contains("ask for less"));
}

#[test]
fn a_wish_that_is_not_understood_is_none() {
    let read = |value: Value| {
        let arguments = serde_json::json!({ "command": "ls", "needs": value }).to_string();
        needs(shell(), &arguments)
    };
    assert_eq!(read(serde_json::json!({ "network": ["a.io:443"] })), hosts(&["a.io:443"]));
    for value in [
        serde_json::json!("all"),
        serde_json::json!({ "network": "a.io:443" }),
        serde_json::json!({ "network": ["a.io"] }),
        serde_json::json!({ "write": ["relative"] }),
        serde_json::json!({ "write": ["/a/../b"] }),
        serde_json::json!({ "env": ["A B"] }),
        serde_json::json!({ "preset": "everything" }),
        serde_json::json!({ "network": ["a.io:443"], "proxy": true }),
    ] {
        assert!(read(value.clone()).is_empty(), "{value}");
    }
    let preset = read(serde_json::json!({ "preset": "git-ssh", "network": ["git.example:22"] }));
    assert_eq!(preset.network, ["git.example:22"]);
    assert_eq!(
        (preset.sockets.as_slice(), preset.env.as_slice()),
        (&["$SSH_AUTH_SOCK".to_owned()][..], &["SSH_AUTH_SOCK".to_owned()][..])
    );
    assert!(!preset.read.iter().any(|place| place.ends_with("id_ed25519")), "{:?}", preset.read);
    let cargo = read(
        serde_json::json!({ "preset": "cargo", "network": ["index.crates.io:443", "a.io:443"] }),
    );
    assert!(
        cargo.network.contains(&"static.crates.io:443".into())
            && cargo.network.contains(&"a.io:443".into())
    );
    // Only an argument that says so is one.
    let other = tool("shell", Does::Act).confining(true);
    assert!(needs(&other, &call("ls", &hosts(&["a.io:443"]))).is_empty());
    // Nothing is nothing: a command that looks still asks nobody.
    let ask = with_rules(PermissionMode::Ask, Vec::new());
    assert_eq!(says(&ask, &call("ls", &Grants::default())), RuleEffect::Allow);
    assert_eq!(says(&ask, &call("ls", &hosts(&["a.io:443"]))), RuleEffect::Ask);
}

#[test]
fn openings_that_can_mean_nothing_are_named() {
    let fault_of = |rule: PermissionRule| fault::of_rule(&rule).unwrap_or_default();
    assert_eq!(fault_of(opening("make", hosts(&["a.io:443", "*"]))), "");
    assert!(fault_of(opening("make", hosts(&["a.io"]))).contains("no port"));
    assert!(fault_of(opening("make", writing("x"))).contains("must begin with / or ~/"));
    assert!(fault_of(opening("make", writing("~/*"))).contains("plain path"));
    let unconfined = PermissionRule { confined: Some(false), ..opening("make", writing("/x")) };
    assert!(fault_of(unconfined).contains("needs no openings"));
    let deny = PermissionRule { effect: RuleEffect::Deny, ..opening("make", writing("/x")) };
    assert!(fault_of(deny).contains("only a rule that allows"));
    let socket = |path: &str| Grants { sockets: vec![path.into()], ..Grants::default() };
    assert_eq!(fault_of(opening("make", socket("$SSH_AUTH_SOCK"))), "");
    assert!(fault_of(opening("make", socket("$A B"))).contains("no name of a variable"));
}
