//! `list_dir`.

use std::os::unix::fs::symlink;

use serde_json::json;

use crate::bench::Bench;

#[tokio::test]
async fn entries_are_sorted_and_told_apart() {
    let bench = Bench::new("list_dir");
    bench.file("src/main.rs", "x").file("b.txt", "12345").file(".hidden", "").file("new\nline", "");
    symlink("src", bench.path("link")).unwrap();
    symlink("/etc/passwd", bench.path("out")).unwrap();
    assert_eq!(
        bench.ok(json!({})).await,
        ".hidden  0 bytes\nb.txt  5 bytes\nlink -> src\nnew\\nline  0 bytes\nout -> /etc/passwd\nsrc/\n"
    );
    assert_eq!(bench.ok(json!({"path": "src"})).await, "main.rs  1 bytes\n");
    assert_eq!(bench.ok(json!({"path": "link"})).await, "main.rs  1 bytes\n");
}

#[tokio::test]
async fn a_large_directory_is_shown_in_part() {
    let bench = Bench::new("list_dir");
    for n in 0..1_100 {
        bench.file(&format!("d/{n:04}"), "");
    }
    let text = bench.ok(json!({"path": "d"})).await;
    assert!(text.starts_with("0000  0 bytes\n"));
    assert!(text.ends_with("[1000 of 1100 entries shown: use glob with a pattern]"), "{text}");
}

#[tokio::test]
async fn what_is_not_a_directory_is_refused_with_advice() {
    let bench = Bench::new("list_dir");
    bench.file("src/main.rs", "x");
    std::fs::create_dir(bench.path("none")).unwrap();
    assert_eq!(bench.ok(json!({"path": "none"})).await, "[`none` is empty]");
    assert!(bench.refusal(json!({"path": "src/main.rs"})).await.ends_with("use read_file"));
    assert!(bench.refusal(json!({"path": "scr"})).await.ends_with("did you mean `src`?"));
}
