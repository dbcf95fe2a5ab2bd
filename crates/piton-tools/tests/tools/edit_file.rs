//! `edit_file`: exactly once, through crashes and foreign edits.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use piton_core::event::{Handle, Outcome, PermissionRule, RuleEffect};
use piton_tools::Settled;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::bench::{Bench, CALL};

fn edit() -> Value {
    json!({"path": "f", "old": "b", "new": "B"})
}

async fn prepared(content: &str) -> (Bench, Handle) {
    let bench = Bench::new("edit_file");
    bench.file("f", content);
    let handle = bench.prepare(&edit()).await.unwrap().handle;
    (bench, handle)
}

/// What a run that is killed leaves beside the file; the name is copied from a real run.
fn leftover(bench: &Bench, handle: &Handle, content: &str) -> String {
    left_over_as(bench, handle, "tmp", content)
}

fn left_over_as(bench: &Bench, handle: &Handle, kind: &str, content: &str) -> String {
    use sha2::Digest as _;
    let Handle::Edit { path, after, .. } = handle else { panic!("{handle:?}") };
    let key = sha2::Sha256::digest(format!("{path}\0{after}").as_bytes());
    let key: Vec<String> = key.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let key = key.concat();
    let name = format!(".piton-{CALL}-{key}-4242.0.{kind}");
    bench.file(&name, content);
    name
}

#[tokio::test]
async fn one_text_becomes_another() {
    let bench = Bench::new("edit_file");
    bench.file("src/f.rs", "a\nb\nc\n");
    let arguments = json!({"path": "./src/f.rs", "old": "b", "new": "B"});
    let prepared = bench.prepare(&arguments).await.unwrap();
    let finished = bench.run(&arguments, &prepared.handle).await;
    assert_eq!(finished.text, "edited `src/f.rs` in 1 place\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n");
    assert_eq!(bench.content("src/f.rs"), "a\nB\nc\n");
    assert_eq!(bench.names("src"), ["f.rs"]);
    let many = json!({"path": "src/f.rs", "old": "\n", "new": "\n\n", "replace_all": true});
    assert!(bench.ok(many).await.starts_with("edited `src/f.rs` in 3 places\n"));
}

// Must show 3: a refusal says what is in a file, and rules have not been asked about this name of it.
#[tokio::test]
async fn must_show_3_a_refusal_tells_nothing_of_a_file_that_rules_keep_back() {
    let mut bench = Bench::new("edit_file");
    bench.file(".env", "K=1\nK=2\n");
    symlink(".env", bench.path("lnk")).unwrap();
    for (path, old) in [("lnk", "K"), ("lnk", "K=1 "), ("./.env", "K")] {
        let arguments = json!({ "path": path, "old": old, "new": "x" });
        let text = bench.refusal(arguments.clone()).await;
        assert!(text.contains("line"), "{text}");
        let site = Arc::get_mut(&mut bench.site).unwrap();
        site.permissions.rules = vec![PermissionRule {
            path: Some("**/.env".into()),
            ..PermissionRule::of_tool("*", RuleEffect::Deny)
        }];
        let text = bench.refusal(arguments).await;
        assert_eq!(text, format!("`{path}` is another name of `.env`: use that"));
        Arc::get_mut(&mut bench.site).unwrap().permissions.rules.clear();
    }
}

// K52: refused before it starts.
#[tokio::test]
async fn what_is_not_clear_is_refused() {
    let bench = Bench::new("edit_file");
    bench.file("f", "b\nb\n").file("bin", b"\xFF\xFE").file("dir/x", "");
    let text = bench.refusal(edit()).await;
    assert!(text.contains("occurs 2 times in `f`, at lines 1, 2"), "{text}");
    for (path, told) in
        [("bin", "not UTF-8"), ("dir", "directory"), ("dri/x", "did you mean `dir`")]
    {
        let text = bench.refusal(json!({"path": path, "old": "b", "new": "B"})).await;
        assert!(text.contains(told), "{path}: {text}");
    }
    let same = bench.refusal(json!({"path": "f", "old": "b", "new": "b"})).await;
    assert!(same.contains("nothing to change"), "{same}");
}

// M6: before the effect it runs, after the effect it does not run again.
#[tokio::test]
async fn an_edit_in_doubt_is_settled_by_its_digests() {
    let (bench, handle) = prepared("a b c").await;
    assert_eq!(bench.settle(&edit(), &handle).await, Settled::NotApplied);
    assert_eq!(bench.run(&edit(), &handle).await.outcome, Outcome::Ok);
    let Settled::Applied(settled) = bench.settle(&edit(), &handle).await else { panic!() };
    assert_eq!(settled.outcome, Outcome::Ok);
    // `b` is gone, so a second edit would fail if it looked for it.
    assert_eq!(bench.run(&edit(), &handle).await, settled);
    assert_eq!(bench.content("f"), "a B c");
}

#[tokio::test]
async fn an_edit_that_could_apply_twice_does_not() {
    let bench = Bench::new("edit_file");
    bench.file("f", "count = 1\n");
    let arguments = json!({"path": "f", "old": "1", "new": "11", "replace_all": true});
    let handle = bench.prepare(&arguments).await.unwrap().handle;
    for _ in 0..3 {
        assert_eq!(bench.run(&arguments, &handle).await.outcome, Outcome::Ok);
        assert_eq!(bench.content("f"), "count = 11\n");
    }
}

#[tokio::test]
async fn a_foreign_edit_between_look_and_act_is_kept() {
    let (bench, handle) = prepared("a b c").await;
    bench.file("f", "a b c, and more");
    let finished = bench.run(&edit(), &handle).await;
    assert_eq!(finished.outcome, Outcome::Failed);
    assert!(finished.text.contains("read it again"), "{}", finished.text);
    assert_eq!(bench.content("f"), "a b c, and more");
    assert_eq!(bench.names(""), ["f"]);
    let Settled::Unknown(text) = bench.settle(&edit(), &handle).await else { panic!() };
    assert!(text.contains("changed by somebody else"), "{text}");

    fs::remove_file(bench.path("f")).unwrap();
    let finished = bench.run(&edit(), &handle).await;
    assert!(finished.text.contains("removed by somebody else"), "{}", finished.text);
    assert_eq!(bench.names(""), [""; 0]);
}

#[tokio::test]
async fn a_run_killed_while_writing_is_cleaned_up_and_repeated() {
    // Unfinished content may be anything after a power cut; finished content is what was recorded.
    for (kind, content) in [("part", ""), ("part", "a B"), ("part", "\0\0"), ("tmp", "a B c")] {
        let (bench, handle) = prepared("a b c").await;
        left_over_as(&bench, &handle, kind, content);
        assert_eq!(bench.settle(&edit(), &handle).await, Settled::NotApplied);
        assert_eq!(bench.names(""), ["f"], "{kind} {content:?}");
        left_over_as(&bench, &handle, kind, content);
        assert_eq!(bench.run(&edit(), &handle).await.outcome, Outcome::Ok);
        assert_eq!(bench.content("f"), "a B c");
        assert_eq!(bench.names(""), ["f"], "{kind} {content:?}");
    }
}

#[tokio::test]
async fn a_run_killed_after_the_exchange_is_finished() {
    let (bench, handle) = prepared("a b c").await;
    bench.file("f", "a B c");
    leftover(&bench, &handle, "a b c");
    assert!(matches!(bench.settle(&edit(), &handle).await, Settled::Applied(_)));
    assert_eq!(bench.names(""), ["f"], "settling ends the work of the dead run");
    leftover(&bench, &handle, "a b c");
    let finished = bench.run(&edit(), &handle).await;
    assert!(finished.text.contains("already applied"), "{}", finished.text);
    assert_eq!(bench.names(""), ["f"]);
}

#[tokio::test]
async fn a_foreign_version_that_a_killed_run_displaced_comes_back() {
    let (bench, handle) = prepared("a b c").await;
    bench.file("f", "a B c");
    let name = leftover(&bench, &handle, "foreign");
    let Settled::Unknown(text) = bench.settle(&edit(), &handle).await else { panic!() };
    assert!(text.contains(&name), "{text}");
    assert_eq!(bench.content("f"), "a B c", "settling changes nothing");
    let finished = bench.run(&edit(), &handle).await;
    assert_eq!(finished.outcome, Outcome::Failed);
    assert_eq!(bench.content("f"), "foreign");
    assert_eq!(bench.names(""), ["f"]);
}

#[tokio::test]
async fn leftovers_of_others_are_left_alone() {
    let (bench, handle) = prepared("a b c").await;
    bench.file(".piton-1.2.0-0123456789abcdef-1.0.tmp", "a b c").file(".piton-notes", "x");
    assert_eq!(bench.run(&edit(), &handle).await.outcome, Outcome::Ok);
    assert_eq!(bench.names("").len(), 3);
}

#[tokio::test]
async fn concurrent_runs_of_one_edit_apply_it_once() {
    let (bench, handle) = prepared(&format!("b{}", "x".repeat(100_000))).await;
    let stop = CancellationToken::new();
    let run = || bench.tool.run(bench.job(&edit(), &handle, &stop));
    let (one, two, three) = tokio::join!(run(), run(), run());
    for finished in [one, two, three] {
        assert_eq!(finished.outcome, Outcome::Ok, "{}", finished.text);
    }
    assert!(bench.content("f").starts_with("Bx"));
    assert_eq!(bench.names(""), ["f"]);
}

#[tokio::test]
async fn a_foreign_writer_and_an_edit_never_lose_both() {
    for _ in 0..50 {
        let (bench, handle) = prepared("a b c").await;
        let path = bench.path("f");
        let beside = bench.path("other");
        let foreign = tokio::task::spawn_blocking(move || {
            fs::write(&beside, "foreign").unwrap();
            fs::rename(&beside, &path).unwrap();
        });
        let finished = bench.run(&edit(), &handle).await;
        foreign.await.unwrap();
        // Whoever came last won; a foreign version that came first was not overwritten.
        assert_eq!(bench.content("f"), "foreign", "{}", finished.text);
        assert_eq!(bench.names(""), ["f"], "{}", finished.text);
    }
}

#[tokio::test]
async fn an_edit_that_is_stopped_before_it_starts_changes_nothing() {
    let (bench, handle) = prepared("a b c").await;
    let stop = CancellationToken::new();
    stop.cancel();
    let finished = bench.tool.run(bench.job(&edit(), &handle, &stop)).await;
    assert_eq!(finished.outcome, Outcome::Cancelled);
    assert_eq!(bench.content("f"), "a b c");
}

#[tokio::test]
async fn a_handle_that_does_not_belong_to_the_call_does_nothing() {
    let (bench, handle) = prepared("a b c").await;
    let other = json!({"path": "f", "old": "c", "new": "C"});
    let finished = bench.run(&other, &handle).await;
    assert_eq!(finished.outcome, Outcome::Failed);
    assert!(finished.text.contains("not the one that was recorded"), "{}", finished.text);
    assert!(matches!(bench.settle(&edit(), &Handle::None).await, Settled::Unknown(_)));
    assert_eq!(bench.content("f"), "a b c");
}
