//! `write_file`: exactly once, and never over somebody else's work.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::Arc;

use piton_core::event::{Handle, Outcome};
use piton_tools::{EDIT_BYTES_MAX, Settled};
use serde_json::json;

use crate::bench::Bench;

#[tokio::test]
async fn a_new_file_is_made_with_its_directories() {
    let bench = Bench::new("write_file");
    let arguments = json!({"path": "a/b/c.txt", "content": "x\ny\n"});
    let prepared = bench.prepare(&arguments).await.unwrap();
    let Handle::Edit { path, before, .. } = &prepared.handle else { panic!("{prepared:?}") };
    assert_eq!((path.as_str(), before), ("a/b/c.txt", &None));
    assert!(bench.names("").is_empty(), "preparing touches nothing");
    assert_eq!(bench.settle(&arguments, &prepared.handle).await, Settled::NotApplied);

    let finished = bench.run(&arguments, &prepared.handle).await;
    assert_eq!(finished.text, "created `a/b/c.txt` (2 lines, 4 bytes)");
    assert_eq!(bench.content("a/b/c.txt"), "x\ny\n");
    assert_eq!(bench.names("a/b"), ["c.txt"], "nothing is left beside it");
}

// M6: after the effect, before its record: the second run changes nothing.
#[tokio::test]
async fn a_second_run_finds_the_work_done() {
    let bench = Bench::new("write_file");
    let arguments = json!({"path": "f", "content": "new"});
    let handle = bench.prepare(&arguments).await.unwrap().handle;
    assert_eq!(bench.run(&arguments, &handle).await.outcome, Outcome::Ok);
    let Settled::Applied(settled) = bench.settle(&arguments, &handle).await else { panic!() };
    let again = bench.run(&arguments, &handle).await;
    assert_eq!(again, settled);
    assert_eq!(again.outcome, Outcome::Ok);
    assert!(again.text.contains("already applied"), "{}", again.text);
}

#[tokio::test]
async fn a_replaced_file_keeps_its_mode_and_shows_the_difference() {
    let bench = Bench::new("write_file");
    bench.file("run.sh", "one\ntwo\n");
    fs::set_permissions(bench.path("run.sh"), fs::Permissions::from_mode(0o751)).unwrap();
    assert_eq!(
        bench.ok(json!({"path": "run.sh", "content": "one\n2\n"})).await,
        "replaced `run.sh` (2 lines, 6 bytes)\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
    );
    let mode = fs::metadata(bench.path("run.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o751);
}

#[tokio::test]
async fn a_foreign_file_that_appears_meanwhile_is_kept() {
    let bench = Bench::new("write_file");
    let arguments = json!({"path": "f", "content": "ours"});
    let handle = bench.prepare(&arguments).await.unwrap().handle;
    bench.file("f", "theirs");
    let finished = bench.run(&arguments, &handle).await;
    assert_eq!(finished.outcome, Outcome::Failed);
    assert!(finished.text.contains("created by somebody else"), "{}", finished.text);
    assert_eq!(bench.content("f"), "theirs");
    assert_eq!(bench.names(""), ["f"]);
    let Settled::Unknown(text) = bench.settle(&arguments, &handle).await else { panic!() };
    assert!(text.contains("conflict"), "{text}");
}

#[tokio::test]
async fn a_link_that_appears_meanwhile_is_not_followed() {
    let bench = Bench::new("write_file");
    let outside = bench.site.workspace.with_file_name("outside");
    fs::create_dir(&outside).unwrap();
    for (path, link) in [("d/f", "d"), ("g", "g")] {
        let arguments = json!({"path": path, "content": "ours"});
        let handle = bench.prepare(&arguments).await.unwrap().handle;
        symlink(&outside, bench.path(link)).unwrap();
        assert_eq!(bench.run(&arguments, &handle).await.outcome, Outcome::Failed, "{path}");
    }
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
}

#[tokio::test]
async fn a_link_inside_the_workspace_stays_a_link() {
    let bench = Bench::new("write_file");
    bench.file("real", "old");
    symlink("real", bench.path("link")).unwrap();
    bench.ok(json!({"path": "link", "content": "new"})).await;
    assert_eq!(bench.content("real"), "new");
    assert!(bench.path("link").is_symlink());
}

// A command made a second name of what others obey, where nothing kept it from that.
#[tokio::test]
async fn a_second_name_of_what_others_obey_means_that_file() {
    let bench = Bench::new("write_file");
    bench.file("AGENTS.md", "Be kind.\n");
    let arguments = json!({"path": "h", "content": "Be evil.\n"});
    bench.file("h", "mine\n");
    let before = bench.prepare(&arguments).await.unwrap();
    assert_eq!(before.path.as_deref(), Some("h"));
    fs::remove_file(bench.path("h")).unwrap();
    fs::hard_link(bench.path("AGENTS.md"), bench.path("h")).unwrap();
    let prepared = bench.prepare(&arguments).await.unwrap();
    assert_eq!(prepared.path.as_deref(), Some("AGENTS.md"));
    // The second name came after the look.
    let Handle::Edit { path: _, before: _, after } = before.handle else { panic!() };
    let Handle::Edit { path: _, before, .. } = prepared.handle else { panic!() };
    let handle = Handle::Edit { path: "h".into(), before, after };
    let late = bench.run(&arguments, &handle).await;
    assert_eq!(late.outcome, Outcome::Failed);
    assert!(late.text.contains("another name of `") && late.text.contains("AGENTS.md`: use that"));
    assert_eq!(bench.content("AGENTS.md"), "Be kind.\n");
}

#[tokio::test]
async fn what_cannot_be_written_is_refused() {
    let bench = Bench::new("write_file");
    bench.file("same", "x").file("dir/file", "x");
    let same = bench.refusal(json!({"path": "same", "content": "x"})).await;
    assert!(same.contains("nothing to change"), "{same}");
    let directory = bench.refusal(json!({"path": "dir", "content": "x"})).await;
    assert!(directory.contains("is a directory"), "{directory}");
    bench.refusal(json!({"path": ".", "content": "x"})).await;
    bench.refusal(json!({"path": "same/below", "content": "x"})).await;
    let most = usize::try_from(EDIT_BYTES_MAX).unwrap();
    let large = bench.refusal(json!({"path": "large", "content": "x".repeat(most + 1)})).await;
    assert!(large.contains("with shell"), "{large}");
}

#[tokio::test]
async fn a_file_that_is_not_text_can_be_replaced() {
    let bench = Bench::new("write_file");
    bench.file("f", b"\xFF\0");
    assert_eq!(
        bench.ok(json!({"path": "f", "content": "x"})).await,
        "replaced `f` (1 line, 1 byte)"
    );
    assert_eq!(
        bench.ok(json!({"path": "e", "content": ""})).await,
        "created `e` (0 lines, 0 bytes)"
    );
}

// A link of the settings may lead into the workspace before there is anything.
#[tokio::test]
async fn what_a_closed_link_leads_to_is_not_made() {
    let mut bench = Bench::new("write_file");
    let own = bench.path("../own");
    symlink("ws/dir/settings", &own).unwrap();
    let site = Arc::get_mut(&mut bench.site).unwrap();
    site.closed = piton_tools::Closed::new([own]);
    let refused = bench.prepare(&json!({"path": "dir/settings", "content": "x"})).await;
    assert!(refused.is_err_and(|told| told.to_string().contains("piton's own")));
    assert!(bench.prepare(&json!({"path": "dir/other", "content": "x"})).await.is_ok());
}
