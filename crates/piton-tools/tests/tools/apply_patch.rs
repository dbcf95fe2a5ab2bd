//! `apply_patch`: all of it or nothing, exactly once, through crashes and foreign edits.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use piton_core::event::{Handle, Outcome};
use piton_tools::Settled;
use piton_tools::undo::{Undo, VersionState};
use serde_json::{Value, json};

use crate::bench::Bench;

fn patch(inner: &str) -> Value {
    json!({ "patch": format!("*** Begin Patch\n{inner}\n*** End Patch\n") })
}

/// One of everything.
fn all() -> Value {
    patch(
        "*** Add File: new/n.txt\n+one\n+two\n*** Update File: u.txt\n@@\n a\n-b\n+B\n\
         *** Update File: m.txt\n*** Move to: moved.txt\n-old\n+new\n*** Delete File: d.txt",
    )
}

fn bench() -> Bench {
    let bench = Bench::new("apply_patch");
    bench.file("u.txt", "a\nb\n").file("m.txt", "old\n").file("d.txt", "gone\n");
    fs::set_permissions(bench.path("m.txt"), fs::Permissions::from_mode(0o750)).unwrap();
    bench
}

/// Each file of the patch, with its content.
fn contents(bench: &Bench) -> Vec<(&'static str, Option<String>)> {
    let read = |path: &'static str| (path, fs::read_to_string(bench.path(path)).ok());
    ["new/n.txt", "u.txt", "m.txt", "moved.txt", "d.txt"].map(read).to_vec()
}

fn before() -> Vec<(&'static str, Option<String>)> {
    contents(&bench())
}

fn after() -> Vec<(&'static str, Option<String>)> {
    let text = |text: &str| Some(text.to_owned());
    vec![
        ("new/n.txt", text("one\ntwo\n")),
        ("u.txt", text("a\nB\n")),
        ("m.txt", None),
        ("moved.txt", text("new\n")),
        ("d.txt", None),
    ]
}

fn mode(bench: &Bench, path: &str) -> u32 {
    fs::metadata(bench.path(path)).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn several_files_are_changed_by_one_call() {
    let bench = bench();
    let text = bench.ok(all()).await;
    assert_eq!(contents(&bench), after());
    assert_eq!(bench.names(""), ["moved.txt", "new", "u.txt"]);
    assert_eq!(mode(&bench, "moved.txt"), 0o750, "a moved file keeps its rights");
    assert!(text.starts_with("applied the patch to 5 files\n*** Add File: new/n.txt\n"), "{text}");
    let update = "*** Update File: u.txt\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n";
    assert!(text.contains(update) && text.contains("*** Delete File: d.txt\n"), "{text}");
}

// K52: everything is looked at before anything is written.
#[tokio::test]
async fn a_patch_of_which_one_part_does_not_fit_changes_nothing() {
    let bench = bench();
    symlink("u.txt", bench.path("link")).unwrap();
    let good = "*** Update File: u.txt\n@@\n-b\n+B\n";
    for (bad, told) in [
        ("*** Update File: m.txt\n@@\n-odl\n+x", "its first line `odl` is not there"),
        ("*** Update File: mm.txt\n@@\n-old\n+x", "did you mean `m.txt`"),
        ("*** Add File: d.txt\n+x", "`d.txt` exists already"),
        ("*** Update File: m.txt\n*** Move to: d.txt", "`d.txt` exists already"),
        ("*** Delete File: nothing", "there is no `nothing`"),
        ("*** Update File: link\n@@\n-b\n+x", "`link` is another name of `u.txt`: use that"),
        ("*** Delete File: ../x", "outside the workspace"),
        ("*** Delete File: new", "there is no `new`"),
        ("*** Frobnicate: x", "a line of a hunk begins with"),
    ] {
        let text = bench.refusal(patch(&format!("{good}{bad}"))).await;
        assert!(text.contains(told), "{bad}: {text}");
        assert!(text.contains("of the patch") && text.contains("Nothing of the patch"), "{text}");
        assert_eq!(contents(&bench), before());
    }
    let same = patch("*** Update File: u.txt\n@@\n-b\n+b");
    assert!(bench.refusal(same).await.contains("exactly these contents already"));
}

#[tokio::test]
async fn parts_of_a_patch_build_on_each_other() {
    let bench = bench();
    bench
        .ok(patch(
            "*** Update File: u.txt\n@@\n-a\n+A\n*** Update File: u.txt\n*** Move to: v.txt\n@@\n A\n-b\n\
             *** Update File: m.txt\n*** Move to: u.txt\n*** Delete File: d.txt\n*** Add File: d.txt\n+d",
        ))
        .await;
    assert_eq!(bench.content("v.txt"), "A\n");
    assert_eq!(
        (bench.content("u.txt").as_str(), bench.content("d.txt").as_str()),
        ("old\n", "d\n")
    );
    assert!(!bench.path("m.txt").exists());
}

// M6: made once, whatever was made before.
#[tokio::test]
async fn a_patch_in_doubt_is_settled_by_its_digests() {
    let bench = bench();
    let handle = bench.prepare(&all()).await.unwrap().handle;
    assert_eq!(bench.settle(&all(), &handle).await, Settled::NotApplied);
    assert_eq!(bench.run(&all(), &handle).await.outcome, Outcome::Ok);
    let Settled::Applied(settled) = bench.settle(&all(), &handle).await else { panic!() };
    assert_eq!(settled.outcome, Outcome::Ok);
    let again = bench.run(&all(), &handle).await;
    assert!(again.text.contains("5 files had been changed before"), "{}", again.text);
    assert_eq!(contents(&bench), after());
}

/// The patch, with the first files of it made as a run that died would have.
async fn half_made(bench: &Bench, count: usize) -> Handle {
    let handle = bench.prepare(&all()).await.unwrap().handle;
    let Handle::Edits { files } = &handle else { panic!("{handle:?}") };
    assert_eq!(files.len(), 5);
    let whole = crate::apply_patch::bench();
    whole.ok(all()).await;
    let undo = Undo::new(&whole.site.scratch);
    for file in files.iter().take(count) {
        // What is kept and what is there are as after the whole patch.
        let kept = undo.of(&whole.site.workspace);
        let (name, _) = kept.iter().find(|(_, version)| version.path == file.path).unwrap();
        let text = fs::read_to_string(whole.site.scratch.join("undo").join(name)).unwrap();
        let ours = text.replace(
            whole.site.workspace.to_str().unwrap(),
            bench.site.workspace.to_str().unwrap(),
        );
        let directory = bench.site.scratch.join("undo");
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join(version_name(bench, file)), ours).unwrap();
        match fs::read(whole.path(&file.path)) {
            Ok(content) => drop(bench.file(&file.path, content)),
            Err(_) => fs::remove_file(bench.path(&file.path)).unwrap(),
        }
    }
    handle
}

/// The name under which the old version of a change is kept.
fn version_name(bench: &Bench, file: &piton_core::event::FileEdit) -> String {
    use sha2::Digest as _;
    let of = |digest: &Option<piton_core::id::Digest>| {
        digest.as_ref().map_or("", |it| it.as_str()).to_owned()
    };
    let (workspace, path) = (bench.site.workspace.display(), &file.path);
    let whole = format!("{workspace}\0{path}\0{}\0{}", of(&file.before), of(&file.after));
    let digest = sha2::Sha256::digest(whole.as_bytes());
    let letters: Vec<String> = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("c-{}", letters.concat())
}

#[tokio::test]
async fn a_patch_that_was_begun_is_rolled_forward() {
    for count in 1..5 {
        let bench = bench();
        let handle = half_made(&bench, count).await;
        assert_eq!(bench.settle(&all(), &handle).await, Settled::Running, "{count}");
        let finished = bench.run(&all(), &handle).await;
        assert_eq!(finished.outcome, Outcome::Ok, "{}", finished.text);
        assert_eq!(contents(&bench), after(), "{count}");
    }
}

#[tokio::test]
async fn a_patch_that_was_begun_and_met_a_foreign_edit_is_rolled_back() {
    for count in 1..5 {
        let bench = bench();
        let handle = half_made(&bench, count).await;
        bench.file("d.txt", "theirs\n");
        assert_eq!(bench.settle(&all(), &handle).await, Settled::Running, "{count}");
        let finished = bench.run(&all(), &handle).await;
        assert_eq!(finished.outcome, Outcome::Failed);
        assert!(finished.text.contains("conflict: `d.txt`"), "{}", finished.text);
        assert!(finished.text.ends_with("Nothing of the patch was applied"), "{}", finished.text);
        let mut expected = before();
        expected[4].1 = Some("theirs\n".into());
        assert_eq!(contents(&bench), expected, "{count}");
        assert_eq!(mode(&bench, "m.txt"), 0o750);
        let undo = Undo::new(&bench.site.scratch);
        let kept = undo.of(&bench.site.workspace);
        let made = kept.iter().filter(|(_, it)| undo.state(it) == VersionState::Made);
        assert_eq!(made.count(), 0, "nothing is there to take back");
    }
}

#[tokio::test]
async fn a_patch_that_is_given_up_half_way_leaves_nothing_and_a_whole_one_stays() {
    let bench = bench();
    let handle = half_made(&bench, 3).await;
    bench.tool.abandon(&bench.site, &handle).await;
    assert_eq!(contents(&bench), before());
    bench.ok(all()).await;
    bench.tool.abandon(&bench.site, &handle).await;
    assert_eq!(contents(&bench), after());
}

#[tokio::test]
async fn a_file_that_may_not_be_written_keeps_the_others_as_they_are() {
    let bench = bench();
    let handle = bench.prepare(&all()).await.unwrap().handle;
    fs::remove_file(bench.path("d.txt")).unwrap();
    fs::create_dir(bench.path("d.txt")).unwrap();
    let finished = bench.run(&all(), &handle).await;
    assert_eq!(finished.outcome, Outcome::Failed);
    assert!(finished.text.contains("`d.txt` is a directory"), "{}", finished.text);
    assert_eq!(contents(&bench)[..4], before()[..4]);
}

// D29
#[tokio::test]
async fn a_preview_names_every_file_and_says_what_is_lost() {
    let bench = bench();
    let arguments = all().as_object().unwrap().clone();
    let shown = bench.tool.preview(&bench.site, &arguments).await.unwrap();
    let files: Vec<_> = shown
        .files
        .iter()
        .map(|file| (file.path.as_str(), file.bytes_replaced, file.bytes_written))
        .collect();
    assert_eq!(
        files,
        [
            ("new/n.txt", None, Some(8)),
            ("u.txt", Some(4), Some(4)),
            ("m.txt", Some(4), None),
            ("moved.txt", None, Some(4)),
            ("d.txt", Some(5), None),
        ]
    );
    assert_eq!((shown.lines_lost, shown.lines_new), (3, 4));
    let diff = shown.diff.unwrap().text;
    assert!(diff.contains("*** Delete File: d.txt\n@@ -1 +0,0 @@\n-gone\n"), "{diff}");
    assert_eq!(contents(&bench), before());
}

#[tokio::test]
async fn a_patch_can_be_taken_back_file_by_file() {
    let bench = bench();
    bench.ok(all()).await;
    let undo = Undo::new(&bench.site.scratch);
    let kept = undo.of(&bench.site.workspace);
    assert_eq!(kept.len(), 5);
    let name = kept[0].1.patch.as_deref().unwrap();
    assert!(name.starts_with(&format!("{}-", crate::bench::CALL)), "{name}");
    assert!(kept.iter().all(|(_, version)| version.patch.as_deref() == Some(name)));
    for (name, _) in &kept {
        undo.take_back(name).unwrap();
    }
    assert_eq!(contents(&bench), before());
    assert_eq!(mode(&bench, "m.txt"), 0o750, "a file that comes back has the rights it had");
    assert_eq!(bench.names(""), ["d.txt", "m.txt", "new", "u.txt"]);
}
