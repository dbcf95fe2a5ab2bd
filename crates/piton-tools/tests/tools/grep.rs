//! `grep`.

use serde_json::json;

use crate::bench::Bench;

fn project() -> Bench {
    let bench = Bench::new("grep");
    bench
        .file("src/a.rs", "fn one() {}\nfn Two() {}\nlet x = 1;\n")
        .file("src/b.md", "one two\n")
        .file("bin", b"one\n\0\n")
        .file("ignored/c.rs", "fn one() {}\n")
        .file(".gitignore", "ignored/\n");
    bench
}

#[tokio::test]
async fn shows_path_line_and_text() {
    let bench = project();
    let skipped = "[1 binary files skipped]\n";
    assert_eq!(
        bench.ok(json!({"pattern": r"fn \w+"})).await,
        format!("src/a.rs:1:fn one() {{}}\nsrc/a.rs:2:fn Two() {{}}\n{skipped}")
    );
    assert_eq!(bench.ok(json!({"pattern": "one", "glob": "*.md"})).await, "src/b.md:1:one two\n");
    assert_eq!(
        bench.ok(json!({"pattern": "x =", "path": "src/a.rs"})).await,
        "src/a.rs:3:let x = 1;\n"
    );
    assert_eq!(
        bench.ok(json!({"pattern": "nothing", "path": "src"})).await,
        "no line matches (2 files searched)\n"
    );
}

// A name must not look like a match in another file.
#[tokio::test]
async fn every_match_has_one_line() {
    let bench = Bench::new("grep");
    bench.file("a\nb.rs:1:x", "word\n");
    assert_eq!(bench.ok(json!({"pattern": "word"})).await, "a\\nb.rs:1:x:1:word\n");
}

#[tokio::test]
async fn case_is_smart_unless_told() {
    let bench = project();
    let found = async |pattern: &str, case: Option<&str>| {
        bench.ok(json!({"pattern": pattern, "case": case, "path": "src"})).await.lines().count()
    };
    assert_eq!(found("two", None).await, 2);
    assert_eq!(found("Two", None).await, 1);
    assert_eq!(found("Two", Some("insensitive")).await, 2);
    assert_eq!(found("two", Some("sensitive")).await, 1);
}

#[tokio::test]
async fn context_has_dashes() {
    let bench = Bench::new("grep");
    bench.file("f", "1\n2\nhit\n4\n5\n6\n7\nhit\n");
    assert_eq!(
        bench.ok(json!({"pattern": "hit", "context": 1})).await,
        "f-2-2\nf:3:hit\nf-4-4\n--\nf-7-7\nf:8:hit\n"
    );
}

#[tokio::test]
async fn matches_and_bytes_are_bounded() {
    let bench = Bench::new("grep");
    bench.file("f", "hit\n".repeat(10));
    let text = bench.ok(json!({"pattern": "hit", "max_matches": 3})).await;
    assert!(text.starts_with("f:1:hit\nf:2:hit\nf:3:hit\n[the first 3 matches;"), "{text}");
    let text = bench.ok(json!({"pattern": "hit", "max_matches": 10})).await;
    assert!(!text.contains("there are more"), "{text}");
    bench.file("f", format!("{}\n", "hit".repeat(1_000)).repeat(200));
    let text = bench.ok(json!({"pattern": "hit"})).await;
    assert!(text.contains(" [cut]\n") && text.contains("there are more"), "{text}");
}

#[tokio::test]
async fn a_bad_regular_expression_is_refused() {
    let bench = project();
    for pattern in ["(", "a\nb"] {
        let text = bench.refusal(json!({"pattern": pattern})).await;
        assert!(text.contains("not a regular expression"), "{text}");
    }
    bench.refusal(json!({"pattern": "a", "glob": "["})).await;
    let text = bench.refusal(json!({"pattern": "a", "path": "src/a.rss"})).await;
    assert!(text.contains("did you mean `src/a.rs`"), "{text}");
    bench.refusal(json!({"pattern": "a", "case": "loud"})).await;
}
