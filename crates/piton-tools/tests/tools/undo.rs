//! Old versions: kept, listed, put back unless somebody was there since.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use piton_tools::Settled;
use piton_tools::undo::{Undo, Version, VersionState};
use serde_json::json;

use crate::bench::Bench;

fn undo(bench: &Bench) -> Undo {
    Undo::new(&bench.site.scratch)
}

fn versions(bench: &Bench) -> Vec<(String, Version)> {
    undo(bench).of(&bench.site.workspace)
}

async fn edited() -> Bench {
    let bench = Bench::new("edit_file");
    bench.file("f", "a b c");
    bench.ok(json!({"path": "f", "old": "b", "new": "B"})).await;
    bench
}

#[tokio::test]
async fn an_edit_is_taken_back_and_made_again() {
    let bench = edited().await;
    let [(name, version)] = &versions(&bench)[..] else { panic!() };
    assert_eq!((version.path.as_str(), version.undone), ("f", false));
    assert_eq!(undo(&bench).content(name).unwrap().unwrap(), b"a b c");
    assert_eq!(undo(&bench).state(version), VersionState::Made);
    let mut name = name.clone();
    for (content, undone) in [("a b c", true), ("a B c", false), ("a b c", true)] {
        undo(&bench).take_back(&name).unwrap();
        assert_eq!(bench.content("f"), content);
        let [(next, version)] = &versions(&bench)[..] else { panic!() };
        assert_eq!(version.undone, undone);
        assert_eq!(bench.names(""), ["f"]);
        name.clone_from(next);
    }
}

// An older build kept what was taken back under the name of the change itself.
#[tokio::test]
async fn a_version_under_an_older_name_is_taken_back_and_not_lost() {
    let bench = edited().await;
    let [(older, _)] = &versions(&bench)[..] else { panic!() };
    undo(&bench).take_back(older).unwrap();
    let [(name, _)] = &versions(&bench)[..] else { panic!() };
    let directory = bench.site.scratch.join("undo");
    fs::rename(directory.join(name), directory.join(older)).unwrap();
    undo(&bench).take_back(older).unwrap();
    assert_eq!(bench.content("f"), "a B c");
    undo(&bench).take_back(older).unwrap();
    assert_eq!((bench.content("f").as_str(), versions(&bench).len()), ("a b c", 1));
}

#[tokio::test]
async fn a_file_that_came_back_to_its_old_content_is_taken_back_step_by_step() {
    let bench = edited().await;
    bench.ok(json!({"path": "f", "old": "B", "new": "b"})).await;
    for content in ["a B c", "a b c"] {
        let made = versions(&bench).into_iter().find(|(_, version)| {
            !version.undone && undo(&bench).state(version) == VersionState::Made
        });
        undo(&bench).take_back(&made.unwrap().0).unwrap();
        assert_eq!(bench.content("f"), content);
    }
}

#[tokio::test]
async fn a_file_that_was_changed_since_stays_and_so_does_its_old_version() {
    let bench = edited().await;
    let [(name, version)] = &versions(&bench)[..] else { panic!() };
    bench.file("f", "mine");
    assert_eq!(undo(&bench).state(version), VersionState::Changed);
    let refusal = undo(&bench).take_back(name).unwrap_err().0;
    assert!(refusal.contains("changed since"), "{refusal}");
    assert_eq!(bench.content("f"), "mine");
    assert_eq!(undo(&bench).content(name).unwrap().unwrap(), b"a b c");
    bench.file("f", "a b c");
    assert_eq!(undo(&bench).state(version), VersionState::NotMade);
    assert!(undo(&bench).take_back(name).unwrap_err().0.contains("already"));
}

#[tokio::test]
async fn a_file_that_was_made_is_removed_and_made_again() {
    let bench = Bench::new("write_file");
    bench.ok(json!({"path": "new/f", "content": "x"})).await;
    let [(name, _)] = &versions(&bench)[..] else { panic!() };
    assert_eq!(undo(&bench).content(name).unwrap(), None);
    undo(&bench).take_back(name).unwrap();
    assert_eq!(bench.names("new"), [""; 0]);
    let [(turned, _)] = &versions(&bench)[..] else { panic!() };
    undo(&bench).take_back(turned).unwrap();
    assert_eq!((bench.content("new/f").as_str(), bench.names("new").len()), ("x", 1));
    bench.file("new/f", "mine");
    assert!(undo(&bench).take_back(name).is_err());
    assert_eq!(bench.content("new/f"), "mine");
}

#[tokio::test]
async fn a_refused_edit_keeps_nothing() {
    let bench = Bench::new("edit_file");
    bench.file("f", "a b c");
    let arguments = json!({"path": "f", "old": "b", "new": "B"});
    let handle = bench.prepare(&arguments).await.unwrap().handle;
    bench.file("f", "theirs");
    bench.run(&arguments, &handle).await;
    assert_eq!(versions(&bench), []);
}

#[tokio::test]
async fn a_damaged_version_is_not_put_back() {
    let bench = edited().await;
    let [(name, _)] = &versions(&bench)[..] else { panic!() };
    let file = bench.site.scratch.join("undo").join(name);
    let text = fs::read_to_string(&file).unwrap().replace("a b c", "a x c");
    fs::write(&file, text).unwrap();
    assert!(undo(&bench).take_back(name).unwrap_err().0.contains("damaged"));
    assert_eq!(bench.content("f"), "a B c");
    assert_eq!(fs::metadata(&file).unwrap().mode() & 0o77, 0, "not for others to read");
}

// A file with two names is one file: an edit must not make two of it.
#[tokio::test]
async fn a_file_with_two_names_keeps_both() {
    let bench = Bench::new("edit_file");
    bench.file("f", "a b c");
    fs::hard_link(bench.path("f"), bench.path("g")).unwrap();
    bench.ok(json!({"path": "f", "old": "b", "new": "longer"})).await;
    assert_eq!(
        (bench.content("f"), bench.content("g")),
        ("a longer c".into(), "a longer c".into())
    );
    bench.ok(json!({"path": "g", "old": "longer", "new": ""})).await;
    assert_eq!((bench.content("f"), bench.content("g")), ("a  c".into(), "a  c".into()));
    let [(name, _), _] = &versions(&bench)[..] else { panic!() };
    undo(&bench).take_back(name).unwrap();
    assert_eq!(bench.content("f"), "a longer c");
    assert_eq!(bench.names(""), ["f", "g"]);
}

// The file is nobody's work after a power cut; what is left of the old one must be found.
#[tokio::test]
async fn a_file_that_was_destroyed_while_it_was_overwritten_is_told_with_its_old_content() {
    let bench = Bench::new("edit_file");
    bench.file("f", "a b c");
    fs::hard_link(bench.path("f"), bench.path("g")).unwrap();
    let arguments = json!({"path": "f", "old": "b", "new": "B"});
    let handle = bench.prepare(&arguments).await.unwrap().handle;
    bench.run(&arguments, &handle).await;
    bench.file("f", "\0\0\0\0\0");
    let Settled::Unknown(text) = bench.settle(&arguments, &handle).await else { panic!() };
    assert!(text.contains("piton undo --list"), "{text}");
    let [(name, _)] = &versions(&bench)[..] else { panic!() };
    assert_eq!(undo(&bench).content(name).unwrap().as_deref(), Some(&b"a b c"[..]));
}

#[tokio::test]
async fn attributes_that_are_written_on_a_file_stay() {
    use rustix::fs::{XattrFlags, getxattr, setxattr};
    let bench = Bench::new("edit_file");
    bench.file("f", "a b c");
    let path = bench.path("f");
    if setxattr(&path, "user.piton", b"kept", XattrFlags::empty()).is_err() {
        println!("skipped: this file system has no extended attributes");
        return;
    }
    bench.ok(json!({"path": "f", "old": "b", "new": "B"})).await;
    let mut value = [0; 16];
    let length = getxattr(&path, "user.piton", &mut value).unwrap();
    assert_eq!(value.get(..length), Some(&b"kept"[..]));
}
