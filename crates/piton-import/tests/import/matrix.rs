//! Every format, broken in every known way: what is there is read, and what was mended is counted.

use std::collections::BTreeMap;
use std::fs;

use piton_core::history::History;
use piton_import::ImportError;

use crate::garden::{Breakage as B, File, files};
use crate::told::{calls, is_complete, kinds, told, user_texts};

fn read(file: &File) -> Result<History, ImportError> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(file.name());
    fs::write(&path, &file.bytes).unwrap();
    let mut found = piton_import::read(&path, None)?;
    assert_eq!(&*found[0].original, file.bytes, "the original is kept");
    Ok(found.remove(0).history)
}

/// The remark that a breakage leaves, and how often; none if nothing is lost by it.
fn mended(file: &File) -> Option<(&'static str, usize)> {
    match file.breakage {
        B::CallWithoutResult => Some(("call_without_result", 1)),
        B::MissingResults => Some(("call_without_result", 2)),
        // Without ids nobody can tell a second result from a stray one.
        B::DuplicateResult if file.format == "gemini-contents" => Some(("result_without_call", 1)),
        B::DuplicateResult => Some(("duplicate_result", 1)),
        B::ResultWithoutCall => Some(("result_without_call", 1)),
        B::CallWithoutName => Some(("call_without_name", 1)),
        B::UnknownRecord => Some(("unknown_record", 1)),
        B::TornLastLine | B::CutInACharacter | B::ZerosBehind | B::WrittenOnBehindATornLine => {
            Some(("torn_line", 1))
        }
        B::BytesThatAreNoText => Some(("replaced_bytes", 1)),
        B::Whole
        | B::UnknownTool
        | B::LineEndsOfWindows
        | B::MarkInFront
        | B::EmptyLines
        | B::OverSeveralLines
        | B::AsAList => None,
    }
}

fn check(file: &File, history: &History, wrong: &mut Vec<String>) {
    let name = file.name();
    let mut expect = |what: &str, holds: bool| {
        if !holds {
            wrong.push(format!("{name}: {what}\n{}", told(history)));
        }
    };
    expect("both questions", user_texts(history) == ["tidy up the garden", "and the shed?"]);
    let all = calls(history);
    let without = all.iter().filter(|call| call.result.is_none()).count();
    let count = if file.breakage == B::CallWithoutName { 2 } else { 3 };
    let open = match mended(file) {
        Some(("call_without_result", times)) => times,
        Some(_) | None => 0,
    };
    expect("its calls", all.len() == count);
    expect("their results", without == open);
    if file.breakage != B::MissingResults {
        let is_right = |it: &&&piton_core::history::PastCall| {
            it.result.as_ref().is_some_and(|result| {
                result.text.contains('w')
                    && result.text.contains("ds")
                    && it.arguments.contains("c1")
            })
        };
        expect("the right one", all.iter().filter(is_right).count() == 1);
    }
    let last = all.last().and_then(|call| call.result.as_ref());
    expect("the last result", last.is_some_and(|result| &*result.text == "spiders"));
    if file.breakage == B::UnknownTool {
        expect("the name of the tool", all.iter().any(|call| call.tool == "frobnicate.9000"));
    }
    let is_cut = matches!(file.breakage, B::TornLastLine | B::CutInACharacter);
    expect("whether it is over", is_complete(history) != is_cut);
    expect("whether it is the same", file.breakage.loses() || kinds(history).is_empty());
    match mended(file) {
        Some((kind, times)) => {
            expect(kind, kinds(history).iter().filter(|it| **it == kind).count() == times);
        }
        None => expect("no remark", kinds(history).is_empty()),
    }
}

#[test]
fn every_format_is_read_however_it_is_broken() {
    let (mut wrong, mut table) = (Vec::new(), BTreeMap::<String, BTreeMap<String, usize>>::new());
    let files = files();
    for file in &files {
        let history = match read(file) {
            Ok(history) => history,
            Err(error) => {
                wrong.push(error.to_string());
                continue;
            }
        };
        check(file, &history, &mut wrong);
        let row = table.entry(file.format.to_owned()).or_default();
        for kind in kinds(&history) {
            *row.entry(kind.to_owned()).or_default() += 1;
        }
    }
    for (format, counts) in &table {
        println!("{format}: {counts:?}");
    }
    println!("{} broken files", files.len());
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
