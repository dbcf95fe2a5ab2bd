//! A change while somebody meddles with the file.

use std::cell::RefCell;
use std::fs;
use std::path::Path;

use piton_core::event::Permissions;
use piton_core::id::{ConversationId, TurnId};

use super::*;
use crate::files::workspace::Place;

/// Changes `f` from `old` to `ours` while `meddle` happens between the look and the swap: the
/// new content is made exactly then. Gives the result, the content at last, and all names.
fn meddled(
    old: Option<&str>,
    meddle: impl FnOnce(&Path),
) -> (Result<Applied, Refusal>, Option<String>, usize) {
    let directory = tempfile::tempdir().expect("a directory");
    let scratch = tempfile::tempdir().expect("a directory");
    let workspace = directory.path().canonicalize().expect("canonical");
    let file = workspace.join("f");
    if let Some(old) = old {
        fs::write(&file, old).expect("written");
    }
    let site = Site {
        workspace: workspace.clone(),
        scratch: scratch.path().to_owned(),
        conversation: ConversationId::new("c"),
        permissions: Permissions::default(),
        closed: crate::Closed::default(),
    };
    let place = Place::locate(&site, "f").expect("located");
    let change = Change::new(place, old.map(str::as_bytes), b"ours").expect("a change");
    let call = CallId { turn: TurnId(1), step: 1, index: 0 };
    let meddle = RefCell::new(Some(meddle));
    let result = change.apply(&site, call, |_| {
        if let Some(meddle) = meddle.take() {
            meddle(&file);
        }
        Ok(b"ours".to_vec())
    });
    let names = fs::read_dir(&workspace).expect("listed").count();
    (result, fs::read_to_string(&file).ok(), names)
}

#[test]
fn undisturbed_it_is_made() {
    let (result, content, names) = meddled(Some("old"), |_| {});
    let (old, new) = (Some(b"old".to_vec()), b"ours".to_vec());
    assert_eq!(result, Ok(Applied::Now { old, new: Some(new) }));
    assert_eq!((content.as_deref(), names), (Some("ours"), 1));
}

#[test]
fn a_foreign_edit_at_the_last_moment_is_put_back() {
    let (result, content, names) = meddled(Some("old"), |file| {
        fs::write(file, "theirs").expect("written");
    });
    let Refusal(text) = result.expect_err("a conflict");
    assert!(text.contains("changed by somebody else"), "{text}");
    assert_eq!((content.as_deref(), names), (Some("theirs"), 1));
}

#[test]
fn a_file_created_or_removed_at_the_last_moment_stays_so() {
    let (result, content, names) = meddled(None, |file| {
        fs::write(file, "theirs").expect("written");
    });
    assert!(result.expect_err("a conflict").0.contains("created by somebody else"));
    assert_eq!((content.as_deref(), names), (Some("theirs"), 1));

    let (result, content, names) = meddled(Some("old"), |file| {
        fs::remove_file(file).expect("removed");
    });
    assert!(result.expect_err("a conflict").0.contains("removed by somebody else"));
    assert_eq!((content, names), (None, 0));
}

#[test]
fn a_directory_in_its_place_stays_there() {
    let (result, content, names) = meddled(Some("old"), |file| {
        fs::remove_file(file).expect("removed");
        fs::create_dir(file).expect("created");
    });
    assert!(result.is_err());
    assert_eq!((content, names), (None, 1));
}

#[test]
fn the_same_change_made_by_somebody_else_is_no_conflict() {
    for old in [None, Some("old")] {
        let (result, content, names) = meddled(old, |file| {
            fs::write(file, "ours").expect("written");
        });
        assert!(result.is_ok(), "{result:?}");
        assert_eq!((content.as_deref(), names), (Some("ours"), 1));
    }
}
