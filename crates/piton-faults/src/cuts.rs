//! Power cuts after every change of a file, with everything that may be left of what was not synced.
//!
//! Nothing is killed here. A whole run is traced once, the trace is played on a disk in memory, and
//! each state that a power cut could leave behind is made real for a later process.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use piton_core::event::Handle;
use sha2::{Digest as _, Sha256};

use crate::commands::{self, boot};
use crate::disk::{self, Disk, Tree};
use crate::edits::{self, Edit};
use crate::outcome::Outcome;
use crate::patches::{self, Patch};
use crate::plan::Plan;
use crate::report::Row;
use crate::scene::{Deed, Scene};
use crate::story::{self, Op};
use crate::trace::Watch;

/// The boot before the power cut.
const OLD_BOOT: &str = "00000000-0000-4000-8000-000000000000";
/// Bytes of a checksum in a record.
const CHECK_BYTES: usize = 8;

/// A whole run: the disk before it, and what happened.
struct Run {
    disk: Disk,
    ops: Vec<Op>,
}

impl Run {
    /// Lets the deed of a scene be done, with a mistake on purpose if there is one.
    fn of(scene: &Scene, mistake: &'static str) -> Outcome<Self> {
        let disk = Disk::read(scene.root())?;
        scene.come_and_go("first", &Watch::Everything(mistake))?;
        scene.empties()?;
        let trace = scene.trace()?;
        let ops = story::ops(&trace, scene.root())?;
        if ops.len() < 3 {
            return Err(format!("strace saw next to nothing: {trace}").into());
        }
        Ok(Self { disk, ops })
    }

    /// Every disk that a power cut may leave behind, each once, with what was really done by then.
    fn states(mut self, ledger: &Path) -> Vec<(String, Tree, Vec<u8>)> {
        let (mut seen, mut states) = (BTreeSet::new(), Vec::new());
        for at in 0..=self.ops.len() {
            let done = self.disk.really(ledger).unwrap_or_default();
            for tree in self.disk.after_a_cut() {
                if seen.insert((tree.clone(), done.clone())) {
                    states.push((format!("change {at} of {}", self.ops.len()), tree, done.clone()));
                }
            }
            if let Some(op) = self.ops.get(at) {
                self.disk.apply(op);
            }
        }
        states
    }
}

/// Commands: the start is synced before it, and without that sync.
pub(crate) fn of_commands(_: &Plan) -> Outcome<Vec<Row>> {
    let rows = [
        (Row::of("commands: power cut after every change of a file"), ""),
        (Row::control("the start is not synced, power cut"), "start-not-synced"),
    ];
    let mut done = Vec::new();
    for (mut row, mistake) in rows {
        let scene = Scene::new(&commands::deed(&boot()))?;
        let run = Run::of(&scene, mistake)?;
        for (at, tree, ledger) in run.states(&scene.work("ledger")) {
            let restarted = restart(&tree)?;
            if !ledger.is_empty() {
                fs::write(restarted.work("ledger"), ledger)?;
            }
            row.count(&at, commands::judge(&restarted)?);
        }
        done.push(row);
    }
    Ok(done)
}

/// Edits: the new content is synced before it takes the place of the old, and without that sync.
pub(crate) fn of_edits(_: &Plan) -> Outcome<Vec<Row>> {
    let rows = [
        (Row::of("edits: power cut after every change of a file"), ""),
        (Row::control("the new content is not synced, power cut"), "edit-not-synced"),
    ];
    let mut done = Vec::new();
    for (mut row, mistake) in rows {
        for edit in Edit::AT_ONCE {
            let scene = edit.scene()?;
            let run = Run::of(&scene, mistake)?;
            for (at, tree, _) in run.states(Path::new("")) {
                let restarted = restart(&tree)?;
                row.count(&format!("{edit:?}, {at}"), edits::judge_alone(edit, &restarted)?);
            }
        }
        done.push(row);
    }
    Ok(done)
}

/// Edits in place: pages of both contents may be left, and a later process knows them.
pub(crate) fn of_overwriting(_: &Plan) -> Outcome<Vec<Row>> {
    let mut row = Row::of("edits in place: power cut after every change of a file");
    for edit in Edit::IN_PLACE {
        let scene = edit.scene()?;
        let run = Run::of(&scene, "")?;
        for (at, tree, _) in run.states(Path::new("")) {
            // In the same place: what is kept of old content knows where it belongs.
            scene.clear()?;
            restart_in(&scene, &tree)?;
            edit.name_twice(&scene)?;
            row.count(&format!("{edit:?}, {at}"), edits::judge_in_place(edit, &scene)?);
        }
    }
    Ok(vec![row])
}

/// Patches: files of both sides may be left, and a later process goes on with them; and the same
/// without the sync of new contents.
pub(crate) fn of_patches(_: &Plan) -> Outcome<Vec<Row>> {
    let rows = [
        (Row::of("patches: power cut after every change of a file"), ""),
        (Row::control("the new contents are not synced, power cut"), "edit-not-synced"),
    ];
    let mut done = Vec::new();
    for (mut row, mistake) in rows {
        for patch in Patch::ALL {
            let scene = patch.scene()?;
            let run = Run::of(&scene, mistake)?;
            for (at, tree, _) in run.states(Path::new("")) {
                // In the same place: what is kept of old contents knows where it belongs.
                scene.clear()?;
                restart_in(&scene, &tree)?;
                patch.name_twice(&scene)?;
                row.count(&format!("{patch:?}, {at}"), patches::judge_cut(patch, &scene)?);
            }
        }
        done.push(row);
    }
    Ok(done)
}

/// The machine after a power cut: that disk, another boot, and nobody who remembers.
fn restart(tree: &Tree) -> Outcome<Scene> {
    let scene = Scene::empty()?;
    restart_in(&scene, tree)?;
    Ok(scene)
}

fn restart_in(scene: &Scene, tree: &Tree) -> Outcome<()> {
    disk::write(tree, scene.root())?;
    for said in ["first", "first.whole"] {
        // What the agent was told is the journal's to keep, and not what is tried here.
        fs::remove_file(scene.root().join(said)).ok();
    }
    fs::create_dir_all(scene.root().join("work"))?;
    let mut deed: Deed = serde_json::from_slice(&fs::read(scene.root().join("deed"))?)?;
    if let Handle::Job { boot, .. } = &mut deed.handle {
        *boot = Some(OLD_BOOT.to_owned());
    }
    scene.ask(&deed)?;
    let log = scene.root().join("calls/c/first/log");
    if let Ok(text) = fs::read(&log) {
        fs::write(log, of_old_boot(&text))?;
    }
    Ok(())
}

/// The record of a command as if the present boot had been another one.
fn of_old_boot(log: &[u8]) -> Vec<u8> {
    let boot = boot();
    let lines = log.split(|byte| *byte == b'\n').map(|line| {
        let Ok(text) = str::from_utf8(line) else { return line.to_vec() };
        match text.split_once(' ') {
            // Only whole lines: a damaged one must not be mended.
            Some((check, body)) if check == checksum(body) => {
                let body = body.replace(&boot, OLD_BOOT);
                format!("{} {body}", checksum(&body)).into_bytes()
            }
            _ => line.to_vec(),
        }
    });
    lines.collect::<Vec<_>>().join(&b'\n')
}

fn checksum(body: &str) -> String {
    let digest = Sha256::digest(body.as_bytes());
    let bytes: Vec<String> =
        digest.iter().take(CHECK_BYTES).map(|byte| format!("{byte:02x}")).collect();
    bytes.concat()
}
