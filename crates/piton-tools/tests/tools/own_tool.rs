//! A tool of an embedder, in as few lines as the contract allows.

use piton_core::event::{ArgumentRole, EffectClass, Handle, ToolSpec};
use piton_tools::{Arguments, Finished, Job, Refusal, Settled, Site, Tool, parse_arguments};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::bench::{Bench, CALL};

const SCHEMA: &str = r#"{"type": "object", "additionalProperties": false,
    "properties": {"file": {"type": "string", "description": "Which file."}},
    "required": ["file"]}"#;

#[derive(serde::Deserialize)]
struct Wanted {
    file: String,
}

#[derive(Debug)]
struct CountLines {
    effect: EffectClass,
    role: ArgumentRole,
}

#[async_trait::async_trait]
impl Tool for CountLines {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("count_lines", "Counts lines.", SCHEMA, self.effect)
            .with_roles([("file", self.role)])
    }

    async fn run(&self, job: Job) -> Finished {
        let wanted: Wanted = match parse_arguments(SCHEMA, &job.arguments) {
            Ok(wanted) => wanted,
            Err(refusal) => return refusal.into(),
        };
        match std::fs::read_to_string(job.site.workspace.join(wanted.file)) {
            Ok(text) => Finished::ok(text.lines().count().to_string()),
            Err(error) => Finished::failed(error.to_string()),
        }
    }
}

fn reading(role: ArgumentRole) -> CountLines {
    CountLines { effect: EffectClass::ReadOnly, role }
}

fn arguments(value: Value) -> Arguments {
    value.as_object().expect("an object").clone()
}

async fn prepared(tool: &CountLines, site: &Site, file: Value) -> Result<Option<String>, Refusal> {
    let prepared = tool.prepare(site, CALL, &arguments(file)).await?;
    assert_eq!(prepared.handle, Handle::None);
    Ok(prepared.path)
}

#[tokio::test]
async fn a_tool_that_only_reads_needs_a_spec_and_a_run() {
    let bench = Bench::new("read_file");
    bench.file("a.txt", "1\n2\n");
    let tool = reading(ArgumentRole::WorkspacePath);
    let finished = tool
        .run(bench.job(&json!({ "file": "a.txt" }), &Handle::None, &CancellationToken::new()))
        .await;
    assert_eq!(finished, Finished::ok("2"));
    let settled = tool.settle(&bench.site, &arguments(json!({})), &Handle::None).await;
    assert_eq!(settled, Settled::NotApplied);
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_refused_before_the_start_and_by_name() {
    let bench = Bench::new("read_file");
    let tool = reading(ArgumentRole::WorkspacePath);
    for bad in [json!({}), json!({ "file": 5 }), json!({ "file": "a", "more": 1 })] {
        let Refusal(text) = prepared(&tool, &bench.site, bad).await.expect_err("refused");
        assert!(text.contains("Expected: {\"file\": string}"), "{text}");
    }
}

#[tokio::test]
async fn a_declared_path_is_told_as_it_is_behind_its_links() {
    let bench = Bench::new("read_file");
    bench.file("real/a.txt", "");
    std::os::unix::fs::symlink("real", bench.path("link")).unwrap();
    let (site, outside) = (&bench.site, json!({ "file": "/etc/passwd" }));
    let tool = reading(ArgumentRole::WorkspacePath);
    let path = prepared(&tool, site, json!({ "file": "link/a.txt" })).await;
    assert_eq!(path, Ok(Some("real/a.txt".into())));
    let Refusal(text) = prepared(&tool, site, outside.clone()).await.expect_err("refused");
    assert!(text.contains("outside the workspace"), "{text}");
    assert_eq!(prepared(&reading(ArgumentRole::Path), site, outside).await, Ok(None));
}

#[tokio::test]
async fn what_may_not_run_twice_is_in_doubt_unless_its_tool_knows_better() {
    let bench = Bench::new("read_file");
    let tool = CountLines { effect: EffectClass::Once, role: ArgumentRole::Value };
    let settled = tool.settle(&bench.site, &arguments(json!({})), &Handle::None).await;
    assert!(matches!(settled, Settled::Unknown(_)), "{settled:?}");
    let tool = CountLines { effect: EffectClass::Digested, role: ArgumentRole::Value };
    let refused = prepared(&tool, &bench.site, json!({ "file": "a" })).await;
    assert!(refused.is_err(), "nothing would settle it");
}
