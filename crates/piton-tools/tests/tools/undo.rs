//! Old versions: kept, listed, put back unless somebody was there since.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use piton_tools::Settled;
use piton_tools::undo::{ChangeState, Past, Undo, UndoDone, Version, VersionState};
use serde_json::json;

use crate::bench::Bench;

fn undo(bench: &Bench) -> Undo {
    Undo::new(&bench.site.scratch)
}

fn versions(bench: &Bench) -> Vec<(String, Version)> {
    undo(bench).of(&bench.site.workspace)
}

fn history(bench: &Bench) -> Vec<Past> {
    undo(bench).history(&[&bench.site.workspace])
}

/// Numbers and states, the newest first.
fn listed(bench: &Bench) -> Vec<(usize, ChangeState)> {
    history(bench).iter().map(|past| (past.number, past.state)).collect()
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

// J10: first lines of kept versions as builds of their time wrote them. Never edited; new ones come behind.
#[test]
fn a_version_that_an_earlier_build_kept_is_read() {
    let bench = Bench::new("edit_file");
    let kept = bench.site.scratch.join("undo");
    fs::create_dir_all(&kept).unwrap();
    let first = r#"{"conversation":"c","workspace":"/w","path":"f","before":null,"after":"02","at_us":1,"undone":false,"in_place":false}"#;
    let patched = r#"{"conversation":"c","workspace":"/w","path":"d/g","before":"03","after":null,"at_us":2,"undone":true,"in_place":true,"mode":33188,"patch":"1.2.0-0a1b2c3d"}"#;
    for (name, line) in [("c-01", first), ("c-02", patched)] {
        fs::write(kept.join(name), format!("{line}\nold\n")).unwrap();
    }
    let found = undo(&bench).of(std::path::Path::new("/w"));
    let [(_, second), (name, one)] = &found[..] else { panic!("{found:?}") };
    assert_eq!((one.before.as_ref(), second.after.as_ref()), (None, None));
    assert_eq!(second.patch.as_deref(), Some("1.2.0-0a1b2c3d"));
    assert_eq!(undo(&bench).content(name).unwrap(), None);
    assert_eq!(undo(&bench).content("c-02").unwrap().unwrap(), b"old\n");
    // And they are written as they were read.
    let written = [one, second].map(|version| serde_json::to_string(version).unwrap());
    assert_eq!(written, [first, patched]);
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

// A to B to A to B: the file is as the first change left it, and that one is not the next.
#[tokio::test]
async fn every_change_to_and_fro_is_listed_and_taken_back_in_order() {
    use ChangeState::{ChangedSince, Made, TakenBack};
    let bench = edited().await;
    bench.ok(json!({"path": "f", "old": "B", "new": "b"})).await;
    bench.ok(json!({"path": "f", "old": "b", "new": "B"})).await;
    assert_eq!(listed(&bench), [(3, Made), (2, ChangedSince), (1, ChangedSince)]);
    let oldest = history(&bench).swap_remove(2).name;
    let refusal = undo(&bench).take_back(&oldest).unwrap_err().0;
    assert!(refusal.contains("changed since"), "{refusal}");
    for (content, left) in [
        ("a b c", [TakenBack, Made, ChangedSince]),
        ("a B c", [TakenBack, TakenBack, Made]),
        ("a b c", [TakenBack, TakenBack, TakenBack]),
    ] {
        let next = history(&bench).into_iter().find(|past| past.state == Made).unwrap();
        undo(&bench).take_back(&next.name).unwrap();
        assert_eq!(bench.content("f"), content);
        assert_eq!(listed(&bench), [(3, left[0]), (2, left[1]), (1, left[2])]);
    }
    for number in 1..=3 {
        let past = history(&bench).into_iter().find(|past| past.number == number).unwrap();
        undo(&bench).take_back(&past.name).unwrap();
    }
    assert_eq!(bench.content("f"), "a B c");
    assert_eq!(listed(&bench), [(3, Made), (2, ChangedSince), (1, ChangedSince)]);
}

#[tokio::test]
async fn a_change_that_was_meant_and_not_made_is_not_listed_and_hides_no_other() {
    let bench = edited().await;
    bench.ok(json!({"path": "f", "old": "B", "new": "b"})).await;
    let [(newest, _), _] = &versions(&bench)[..] else { panic!() };
    let kept = bench.site.scratch.join("undo").join(newest);
    let version = fs::read(&kept).unwrap();
    undo(&bench).take_back(newest).unwrap();
    // As after a process that kept the old version, and died before it touched the file.
    fs::write(kept, version).unwrap();
    for (name, version) in versions(&bench) {
        if version.undone {
            fs::remove_file(bench.site.scratch.join("undo").join(name)).unwrap();
        }
    }
    assert_eq!(listed(&bench), [(1, ChangeState::Made)]);
}

// A file with two names is overwritten; who dies at that leaves it half old and half new.
#[tokio::test]
async fn a_change_that_was_half_taken_back_is_listed_once_and_taken_back_whole() {
    let bench = Bench::new("write_file");
    let pages = |letter: &str| letter.repeat(3 * 4096);
    bench.file("f", pages("o"));
    fs::hard_link(bench.path("f"), bench.path("g")).unwrap();
    bench.ok(json!({"path": "f", "content": pages("n")})).await;
    let [past] = &history(&bench)[..] else { panic!() };
    let kept = bench.site.scratch.join("undo").join(&past.name);
    let version = fs::read(&kept).unwrap();
    undo(&bench).take_back(&past.name).unwrap();
    fs::write(kept, version).unwrap();
    let torn = ["o".repeat(4096), "n".repeat(2 * 4096)].concat();
    bench.file("f", &torn);
    assert_eq!(listed(&bench), [(1, ChangeState::HalfTakenBack)]);
    assert_eq!(bench.content("f"), torn, "looking changes nothing");
    let intent = undo(&bench).intend(&past.name).unwrap();
    assert!(matches!(undo(&bench).perform(&intent), Ok(UndoDone::Now(_))));
    assert_eq!(bench.content("f"), pages("o"));
    assert_eq!(listed(&bench), [(1, ChangeState::TakenBack)]);
    // What somebody else wrote there is not ours.
    bench.file("f", "mine");
    assert_eq!(listed(&bench), [(1, ChangeState::TakenBack)]);
}

#[tokio::test]
async fn a_file_that_was_made_has_its_rights_again_when_it_is_made_again() {
    let bench = Bench::new("write_file");
    bench.ok(json!({"path": "run.sh", "content": "x"})).await;
    fs::set_permissions(bench.path("run.sh"), fs::Permissions::from_mode(0o751)).unwrap();
    for left in [false, true, false, true] {
        let name = history(&bench).swap_remove(0).name;
        undo(&bench).take_back(&name).unwrap();
        assert_eq!(bench.path("run.sh").exists(), left);
    }
    assert_eq!(fs::metadata(bench.path("run.sh")).unwrap().mode() & 0o7777, 0o751);
}
