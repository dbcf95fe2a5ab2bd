//! Deciding on a call: may it run, and behind which wall.

use std::hint::black_box;
use std::process::Command;
use std::time::{Duration, Instant};

use piton_core::event::{
    ArgumentRole, EffectClass, PermissionRule, Permissions, RuleEffect, ToolSpec,
};
use piton_core::permit::{SHELL, is_look, permit, runs_free};
use serde_json::{Value, json};

use crate::measure::{Bench, Outcome, median, percentile, ratio, shown};
use crate::report::{Row, Target};

const ROUNDS: usize = 200;
/// Starts of a program that are compared with.
const STARTS: usize = 50;

/// Lines of a day: looks, work, chains, and some that cannot be read for certain.
const LINES: [&str; 16] = [
    "ls -la src",
    "git status --short && git diff --stat",
    "cargo test -p piton-core -- --nocapture",
    "cargo build --release 2>&1 | tail -20",
    "rg -n 'fn main' crates | head -5",
    "git commit -m \"core: what changed\"",
    "git push origin main",
    "npm ci && npm test",
    "cd crates/piton-core && cargo check",
    "python3 scripts/make.py --all",
    "for f in src/*.rs; do wc -l \"$f\"; done",
    "cat <<'EOF' > notes.md\none\ntwo\nEOF",
    "find . -name '*.rs' | xargs grep -l unsafe",
    "curl -s https://example.org/a.json | jq .name",
    "sudo systemctl restart web",
    "bash -c 'cargo fmt && cargo clippy'",
];

/// Twenty rules: what people allow, forbid, and want to be asked about.
fn permissions() -> Permissions {
    let rule = |command: &str, effect| PermissionRule {
        command: Some(command.to_owned()),
        ..PermissionRule::of_tool(SHELL, effect)
    };
    let allowed = [
        "cargo *",
        "cargo test",
        "git status *",
        "git diff *",
        "git commit *",
        "npm test",
        "npm ci",
        "npm run *",
        "make",
        "make *",
        "ls *",
        "rg *",
        "cd *",
        "python3 scripts/make.py *",
    ];
    let mut rules: Vec<_> = allowed.iter().map(|it| rule(it, RuleEffect::Allow)).collect();
    rules.extend(["rm *", "git push *", "curl *"].map(|it| rule(it, RuleEffect::Deny)));
    rules.extend(["sudo *", "docker *"].map(|it| rule(it, RuleEffect::Ask)));
    let path = Some("**/.env".to_owned());
    rules.push(PermissionRule { path, ..PermissionRule::of_tool("*", RuleEffect::Deny) });
    Permissions { rules, ..Permissions::default() }
}

/// Verdict and wall of a call with 20 rules, beside what the call costs anyway.
pub(crate) fn call(_bench: &Bench) -> Outcome<Vec<Row>> {
    let permissions = permissions();
    let tool = ToolSpec::new(SHELL, "", "{}", EffectClass::Supervised)
        .with_roles([("command", ArgumentRole::CommandLine), ("dir", ArgumentRole::Directory)])
        .confining(true);
    let calls: Vec<String> = LINES.iter().map(|it| json!({ "command": it }).to_string()).collect();
    let (mut decided, mut parsed) = (Vec::new(), Vec::new());
    for arguments in calls.iter().cycle().take(ROUNDS * LINES.len()) {
        decided.push(timed(|| {
            let verdict = permit(&permissions, "/home/me/project", &tool, arguments);
            let is_look = is_look(&permissions, "/home/me/project", &tool, arguments);
            (verdict, is_look, runs_free(&permissions, "/home/me/project", &tool, arguments))
        }));
        parsed.push(timed(|| serde_json::from_str::<Value>(arguments)));
    }
    let starts: Result<Vec<_>, std::io::Error> = (0..STARTS)
        .map(|_| {
            let start = Instant::now();
            Command::new("true").status()?;
            Ok(start.elapsed())
        })
        .collect();
    let (start, parse) = (median(starts?), median(parsed));
    let row = |what, value, floor: String, figure, target| Row {
        what,
        value,
        floor,
        figure,
        unit: "x",
        target,
    };
    let (usual, slow) = (median(decided.clone()), percentile(decided, 99));
    let (start_shown, parse_shown) = (
        format!("spawn and wait {}", shown(start)),
        format!("its arguments parsed {}", shown(parse)),
    );
    Ok(vec![
        row(
            "decide on a command with 20 rules, 50 of 100",
            shown(usual),
            start_shown.clone(),
            ratio(usual, start),
            Target::AtMost(0.2),
        ),
        row("the same, 99 of 100", shown(slow), start_shown, ratio(slow, start), Target::None),
        row("the same, 50 of 100", shown(usual), parse_shown, ratio(usual, parse), Target::None),
    ])
}

fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    black_box(work());
    start.elapsed()
}
