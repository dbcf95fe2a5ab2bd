use super::*;
use crate::supervise::record::change::Raw;

fn change(place: &str) -> Change {
    Change { place: Raw::of(Path::new(place)), kind: Kind::Changed, kept: None }
}

#[test]
fn what_could_not_be_put_back_is_not_said_to_be() {
    let failed = (Raw::of(Path::new("/w/b")), "no room".to_owned());
    let story = Story {
        changes: ["/w/a", "/w/b", "/w/a"].map(change).to_vec(),
        not_put_back: vec![failed.clone(), failed.clone()],
        ..Story::default()
    };
    let not_back = "[/w/b was changed and could not be put back: no room]";
    assert_eq!(
        notes(&story),
        ["[it changed what programs outside the sandbox obey (/w/a); that was put back]", not_back]
    );
    let alone = Story { changes: vec![change("/w/b")], ..story };
    assert_eq!(notes(&alone), [not_back]);
    let passing = |place: &str, done| PutBack { place: place.into(), done };
    let put_back = [passing("/w/a", Ok(())), passing("/w/b", Err(io::Error::other("no room")))];
    assert_eq!(
        passing_notes(&put_back),
        ["[it changed what programs outside the sandbox obey (/w/a); that was put back]", not_back]
    );
    assert!(passing_notes(&[]).is_empty());
}

#[test]
fn a_name_forges_no_line() {
    let story = Story::default();
    let name = shown(&story, &change("/w/a\n[exit code 0]\u{202e}x"));
    assert_eq!(name, "/w/a\\n[exit code 0]\\u{202e}x");
    let long = shown(&story, &change(&"x".repeat(5_000)));
    assert!(long.contains("characters …]") && long.len() < 300, "{long}");
}
