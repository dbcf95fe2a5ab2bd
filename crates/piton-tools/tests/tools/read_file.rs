//! `read_file`.

use std::fs;

use piton_core::event::{Handle, Outcome};
use piton_tools::{OUTPUT_BYTES_MAX, READ_BYTES_MAX, Settled};
use serde_json::json;

use crate::bench::Bench;

#[tokio::test]
async fn text_is_given_as_it_is() {
    let bench = Bench::new("read_file");
    bench.file("src/a.txt", "one\ntwo\nthree").file("empty", "");
    assert_eq!(bench.ok(json!({"path": "src/a.txt"})).await, "one\ntwo\nthree");
    assert_eq!(bench.ok(json!({"path": "empty"})).await, "[`empty` is empty]");
    let absolute = bench.path("src/a.txt").display().to_string();
    assert_eq!(bench.ok(json!({"path": absolute})).await, "one\ntwo\nthree");
}

#[tokio::test]
async fn a_part_says_how_to_read_on() {
    let bench = Bench::new("read_file");
    bench.file("a", "1\n2\n3\n4\n");
    assert_eq!(
        bench.ok(json!({"path": "a", "offset": 2, "limit": 2})).await,
        "2\n3\n[lines 2 to 3 shown; read on with offset 4]"
    );
    assert_eq!(bench.ok(json!({"path": "a", "offset": 4, "limit": 9})).await, "4\n");
    let finished = bench.call(json!({"path": "a", "offset": 5})).await;
    assert_eq!(finished.outcome, Outcome::Failed);
    assert_eq!(finished.text, "`a` has 4 lines: offset 5 is behind its end");
}

#[tokio::test]
async fn a_long_file_can_be_read_in_parts_without_loss() {
    let bench = Bench::new("read_file");
    let lines: Vec<String> = (0..9_000).map(|n| format!("line number {n} é\n")).collect();
    let content = lines.concat();
    bench.file("long", &content);
    let mut read = String::new();
    let mut offset = 1;
    loop {
        let text = bench.ok(json!({"path": "long", "offset": offset})).await;
        let Some((part, note)) = text.split_once('[') else {
            read.push_str(&text);
            break;
        };
        read.push_str(part);
        offset = note.rsplit(' ').next().unwrap().trim_end_matches(']').parse().unwrap();
    }
    assert_eq!(read, content);
}

#[tokio::test]
async fn a_line_that_is_too_long_is_cut() {
    let bench = Bench::new("read_file");
    bench.file("wide", "é".repeat(OUTPUT_BYTES_MAX) + "\nnext\n");
    let text = bench.ok(json!({"path": "wide"})).await;
    assert!(text.ends_with(" [cut]\n[lines 1 to 1 shown; read on with offset 2]"), "{text}");
    assert_eq!(bench.ok(json!({"path": "wide", "offset": 2})).await, "next\n");
    bench.file("wide", "x".repeat(OUTPUT_BYTES_MAX));
    let text = bench.ok(json!({"path": "wide"})).await;
    assert!(text.ends_with(" [cut]\n[line 1 is too long to show: search it with grep]"));
}

#[tokio::test]
async fn what_is_not_text_is_refused_with_advice() {
    let bench = Bench::new("read_file");
    bench.file("nul", b"ELF\0\x01").file("latin", b"caf\xE9\n");
    for path in ["nul", "latin"] {
        let finished = bench.call(json!({"path": path})).await;
        assert_eq!(finished.outcome, Outcome::Failed);
        assert!(finished.text.contains("not UTF-8 text"), "{}", finished.text);
    }
}

#[tokio::test]
async fn a_huge_file_is_read_in_parts_only() {
    let bench = Bench::new("read_file");
    bench.file("huge", "first\nsecond\n");
    let file = fs::File::options().append(true).open(bench.path("huge")).unwrap();
    file.set_len(READ_BYTES_MAX + 1).unwrap();
    let text = bench.refusal(json!({"path": "huge"})).await;
    assert!(text.contains("`offset` and `limit`"), "{text}");
    bench.file("huge", "first\nsecond\n".repeat(1_000_000));
    let text = bench.ok(json!({"path": "huge", "offset": 1_999_999, "limit": 1})).await;
    assert!(text.starts_with("first\n["), "{text}");
}

#[tokio::test]
async fn what_is_not_a_file_is_refused_with_advice() {
    let bench = Bench::new("read_file");
    bench.file("src/main.rs", "x");
    let text = bench.refusal(json!({"path": "src"})).await;
    assert!(text.contains("is a directory, not a file: use list_dir"), "{text}");
    let text = bench.refusal(json!({"path": "src/mian.rs"})).await;
    assert!(text.ends_with("did you mean `src/main.rs`?"), "{text}");
    // Opening a FIFO without a writer must not hang.
    rustix::fs::mknodat(
        rustix::fs::CWD,
        bench.path("fifo"),
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .unwrap();
    let text = bench.refusal(json!({"path": "fifo"})).await;
    assert!(text.contains("is a FIFO"), "{text}");
    let socket = std::os::unix::net::UnixListener::bind(bench.path("socket")).unwrap();
    let text = bench.refusal(json!({"path": "socket"})).await;
    assert!(text.contains("is a socket"), "{text}");
    drop(socket);
}

/// A png of one pixel.
const PNG: &[u8] =
    b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\
    \0\0\0\nIDATx\x9cc\0\x01\0\0\x05\0\x01\r\n-\xb4\0\0\0\0IEND\xaeB`\x82";

#[tokio::test]
async fn an_image_is_given_to_be_seen() {
    let bench = Bench::new("read_file");
    bench.file("a.txt", PNG).file("half.png", &PNG[..40]);
    let finished = bench.call(json!({"path": "a.txt"})).await;
    assert_eq!(finished.text, "[image `a.txt`, image/png, 1 x 1, 67 bytes]");
    assert_eq!((finished.images.len(), &finished.images[0].content[..]), (1, PNG));
    let finished = bench.call(json!({"path": "half.png"})).await;
    assert_eq!((finished.outcome, finished.images.len()), (Outcome::Failed, 0));
    assert!(finished.text.contains("broken or cut off: make another one"), "{}", finished.text);
}

#[tokio::test]
async fn a_file_that_goes_away_after_the_look_is_a_failure() {
    let bench = Bench::new("read_file");
    bench.file("a", "x");
    let arguments = json!({"path": "a"});
    bench.prepare(&arguments).await.unwrap();
    fs::remove_file(bench.path("a")).unwrap();
    let finished = bench.run(&arguments, &Handle::None).await;
    assert_eq!(finished.outcome, Outcome::Failed);
    assert_eq!(bench.settle(&arguments, &Handle::None).await, Settled::NotApplied);
}
