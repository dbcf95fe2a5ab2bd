//! `glob`.

use std::os::unix::fs::symlink;

use piton_core::event::{Handle, Outcome};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::bench::Bench;

fn project() -> Bench {
    let bench = Bench::new("glob");
    bench
        .file("src/main.rs", "")
        .file("src/a/mod.rs", "")
        .file("src/a/skip.rs", "")
        .file("target/debug/x.rs", "")
        .file(".git/config.rs", "")
        .file(".github/ci.yml", "")
        .file("README.md", "")
        .file(".gitignore", "/target\nskip.rs\n");
    bench
}

#[tokio::test]
async fn finds_files_by_name_or_path_and_honours_gitignore() {
    let bench = project();
    let rust = "src/a/mod.rs\nsrc/main.rs\n";
    assert_eq!(bench.ok(json!({"pattern": "*.rs"})).await, rust);
    assert_eq!(bench.ok(json!({"pattern": "**/*.rs"})).await, rust);
    assert_eq!(bench.ok(json!({"pattern": "src/*.rs"})).await, "src/main.rs\n");
    assert_eq!(bench.ok(json!({"pattern": "*.rs", "path": "src/a"})).await, "src/a/mod.rs\n");
    assert_eq!(bench.ok(json!({"pattern": "a/*.rs", "path": "src"})).await, "src/a/mod.rs\n");
    assert_eq!(bench.ok(json!({"pattern": "*.{yml,md}"})).await, ".github/ci.yml\nREADME.md\n");
    assert_eq!(bench.ok(json!({"pattern": "*.zig"})).await, "no file matches");
}

// A name must not look like two.
#[tokio::test]
async fn every_name_has_one_line() {
    let bench = Bench::new("glob");
    bench.file("two\nlines.rs", "").file("one.rs", "");
    assert_eq!(bench.ok(json!({"pattern": "*.rs"})).await, "one.rs\ntwo\\nlines.rs\n");
}

#[tokio::test]
async fn links_are_not_followed() {
    let bench = project();
    symlink("..", bench.path("src/up")).unwrap();
    assert_eq!(bench.ok(json!({"pattern": "main.rs"})).await, "src/main.rs\n");
}

#[tokio::test]
async fn rules_above_the_workspace_do_not_count() {
    let bench = project();
    std::fs::write(bench.site.workspace.with_file_name(".gitignore"), "*\n").unwrap();
    assert_eq!(bench.ok(json!({"pattern": "main.rs"})).await, "src/main.rs\n");
}

#[tokio::test]
async fn a_bad_pattern_is_refused() {
    let bench = project();
    for pattern in ["a[", "/etc/*", "../*", ""] {
        let text = bench.refusal(json!({"pattern": pattern})).await;
        assert!(text.contains("for example"), "{text}");
    }
    bench.refusal(json!({"pattern": "*", "path": "README.md"})).await;
    bench.refusal(json!({"pattern": "*", "path": "nowhere"})).await;
}

#[tokio::test]
async fn many_files_are_shown_in_part() {
    let bench = Bench::new("glob");
    for n in 0..1_050 {
        bench.file(&format!("{n:04}"), "");
    }
    let text = bench.ok(json!({"pattern": "*"})).await;
    assert!(text.contains("0999\n[the first 1000 paths; there are more"), "{text}");
}

#[tokio::test]
async fn a_search_that_is_stopped_says_so() {
    let bench = project();
    let stop = CancellationToken::new();
    stop.cancel();
    let job = bench.job(&json!({"pattern": "*"}), &Handle::None, &stop);
    assert_eq!(bench.tool.run(job).await.outcome, Outcome::Cancelled);
}
