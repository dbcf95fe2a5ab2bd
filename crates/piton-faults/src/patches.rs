//! Changes of several files: all of them or none, never twice, and nobody else's work lost.

use std::fs;

use piton_core::event::{Handle, Outcome as Ended};
use piton_tools::undo::Undo;
use serde_json::json;

use crate::edits::THEIRS;
use crate::kills::{later_points, reached, told};
use crate::outcome::Outcome;
use crate::people::Chance;
use crate::plan::Plan;
use crate::report::Row;
use crate::scene::{CALL, Deed, Scene, site};
use crate::trace::{Point, Watch, Who};

/// The file that has two names.
const TWICE: &str = "twice.txt";
/// How it ends afterwards: on pages that it did not have, which a power cut may leave empty.
const NEW_LINE: &str = "a new line\n";
const NEW_LINES: usize = 1_000;
/// Its other name, elsewhere.
const OTHER_NAME: &str = "other-name";
/// The file that the other program saves.
const MEDDLED: &str = "gone.txt";

/// The files, each with its content before and after.
type Files = Vec<(&'static str, Option<String>, Option<String>)>;

/// Kinds of patches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patch {
    /// Creates, updates, renames and removes.
    AtOnce,
    /// Updates a file with two names too, which cannot be done in one step.
    InPlace,
}

impl Patch {
    pub(crate) const ALL: [Self; 2] = [Self::AtOnce, Self::InPlace];

    fn files(self) -> Files {
        let text = |text: &str| Some(text.to_owned());
        let mut files = vec![
            ("made.txt", None, text("made\n")),
            // Once more, and it would be another one.
            ("counted.txt", text("x\nn=0\n"), text("x\nn=0\nn=0\n")),
            ("here.txt", text("moved\n"), None),
            ("there.txt", None, text("moved\nand more\n")),
            (MEDDLED, text("gone\n"), None),
        ];
        if self == Self::InPlace {
            let old = "an old line\n".repeat(9_000);
            let (before, after) = (format!("{old}end\n"), old + &NEW_LINE.repeat(NEW_LINES));
            files.push((TWICE, Some(before), Some(after)));
        }
        files
    }

    fn text(self) -> String {
        let mut text =
            "*** Begin Patch\n*** Add File: made.txt\n+made\n*** Delete File: gone.txt\n\
             *** Update File: counted.txt\n@@ x\n n=0\n+n=0\n\
             *** Update File: here.txt\n*** Move to: there.txt\n moved\n+and more\n"
                .to_owned();
        if self == Self::InPlace {
            text.push_str("*** Update File: twice.txt\n@@\n-end\n");
            text.push_str(&format!("+{NEW_LINE}").repeat(NEW_LINES));
        }
        text + "*** End Patch\n"
    }

    /// A scene in which the patch is recorded and to be applied.
    pub(crate) fn scene(self) -> Outcome<Scene> {
        let arguments = json!({ "patch": self.text() });
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let mut deed = Deed { tool: "apply_patch".into(), arguments, handle: Handle::None };
        let scene = Scene::new(&deed)?;
        for (name, before, _) in self.files() {
            if let Some(before) = before {
                fs::write(scene.work(name), before)?;
            }
        }
        self.name_twice(&scene)?;
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        let tool = deed.tool(scene.root())?;
        let (place, arguments) = (site(scene.root()), deed.arguments.clone());
        deed.handle = runtime.block_on(tool.prepare(&place, CALL, &arguments))?.handle;
        scene.ask(&deed)?;
        Ok(scene)
    }

    /// Gives a file its other name, if it is to have one.
    pub(crate) fn name_twice(self, scene: &Scene) -> Outcome<()> {
        if self == Self::InPlace {
            let other = scene.root().join(OTHER_NAME);
            fs::remove_file(&other).ok();
            fs::hard_link(scene.work(TWICE), other)?;
        }
        Ok(())
    }

    /// The system calls that apply it.
    fn points(self) -> Outcome<Vec<Point>> {
        let scene = self.scene()?;
        scene.come_and_go("first", &Watch::only(Who::Hands))?;
        Ok(crate::trace::points(&scene.trace()?))
    }
}

/// How the files stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Before,
    After,
    Mixed,
}

/// How all files but one stand.
fn standing(patch: Patch, scene: &Scene, without: Option<&str>) -> Standing {
    let files = patch.files().into_iter().filter(|(name, ..)| Some(*name) != without);
    let found = |name: &str| fs::read_to_string(scene.work(name)).ok();
    let (mut before, mut after) = (true, true);
    for (name, old, new) in files {
        let found = found(name);
        before &= found == old;
        after &= found == new;
    }
    match (before, after) {
        (true, _) => Standing::Before,
        (_, true) => Standing::After,
        (false, false) => Standing::Mixed,
    }
}

/// Names that do not belong there.
fn left_behind(patch: Patch, scene: &Scene) -> Option<String> {
    let entries = fs::read_dir(scene.root().join("work")).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let known = patch.files();
    names.into_iter().find(|name| known.iter().all(|(known, ..)| known != name))
}

/// Nobody else was there: the patch is applied in the end, and what was found on the way is true.
fn judge_alone(patch: Patch, scene: &Scene) -> Outcome<Result<&'static str, String>> {
    let found = standing(patch, scene, None);
    let answered = scene.said("first").is_some() || scene.said("later").is_some();
    if !answered {
        scene.come_and_go("later", &Watch::Nothing)?;
    }
    let Some(said) = scene.said("first").or_else(|| scene.said("later")) else {
        return Ok(Err("nobody could say what became of it".into()));
    };
    if said.outcome != Ended::Ok || standing(patch, scene, None) != Standing::After {
        return Ok(Err(format!("not applied: {}", said.text)));
    }
    if let Some(name) = left_behind(patch, scene) {
        return Ok(Err(format!("{name} was left behind")));
    }
    let other = || fs::read_to_string(scene.root().join(OTHER_NAME)).ok();
    if patch == Patch::InPlace && other() != fs::read_to_string(scene.work(TWICE)).ok() {
        return Ok(Err("its other name is another file now".into()));
    }
    Ok(match (said.verdict.as_str(), found) {
        _ if answered => Ok("answered"),
        ("applied", Standing::After) => Ok("had been applied"),
        ("not applied", Standing::Before) => Ok("applied anew"),
        ("running", Standing::Mixed | Standing::After) => Ok("rolled forward"),
        (verdict, found) => Err(format!("{found:?}, and found {verdict}: {}", said.text)),
    })
}

/// The power was cut: a later process rolls the patch forward. Only a file that was being overwritten
/// may be destroyed: then that is said, its old content is kept, and the other files are as before.
pub(crate) fn judge_cut(patch: Patch, scene: &Scene) -> Outcome<Result<&'static str, String>> {
    let judged = judge_alone(patch, scene)?;
    let is_said = scene.said("later").is_some_and(|said| said.outcome != Ended::Ok);
    if patch != Patch::InPlace
        || !is_said
        || standing(patch, scene, Some(TWICE)) != Standing::Before
    {
        return Ok(judged);
    }
    let undo = Undo::new(scene.root());
    let versions = undo.of(&site(scene.root()).workspace);
    let mut kept = versions.iter().filter_map(|(name, _)| undo.content(name).ok().flatten());
    let old = patch.files().into_iter().find(|(name, ..)| *name == TWICE).and_then(|it| it.1);
    Ok(match old {
        Some(old) if kept.any(|kept| kept == old.as_bytes()) => Ok("taken back, old content kept"),
        _ => judged,
    })
}

/// A process that applies a patch dies at every system call, and a later process goes on.
pub(crate) fn kills(plan: &Plan) -> Outcome<Vec<Row>> {
    let mut row = Row::of("patches: killed at every system call");
    for patch in Patch::ALL {
        for point in patch.points()?.iter().step_by(plan.step) {
            let scene = patch.scene()?;
            scene.come_and_go("first", &Watch::kill(Who::Hands, point))?;
            let judged = reached(&scene, judge_alone(patch, &scene)?);
            row.count(&format!("{patch:?}, {}", told(point)), judged);
        }
    }
    Ok(vec![row])
}

/// The same, and the process that goes on dies at a system call of its own.
pub(crate) fn kills_twice(plan: &Plan) -> Outcome<Vec<Row>> {
    let mut row = Row::of("patches: killed at every system call, then the next one as well");
    let mut chance = Chance(plan.seed);
    for patch in Patch::ALL {
        let later = later_points(&patch.scene()?)?;
        for point in patch.points()?.iter().step_by(plan.step) {
            let scene = patch.scene()?;
            scene.come_and_go("first", &Watch::kill(Who::Hands, point))?;
            let next = chance.one_of(&later).ok_or("nobody came later")?;
            scene.come_and_go("later", &Watch::kill(Who::Hands, next))?;
            let judged = judge_alone(patch, &scene)?;
            row.count(&format!("{patch:?}, {}, then {}", told(point), told(next)), judged);
        }
    }
    Ok(vec![row])
}

/// The kernel refuses one system call after the other: the patch is applied all the same, or taken back.
pub(crate) fn errors(plan: &Plan) -> Outcome<Vec<Row>> {
    let mut row = Row::of("patches: every system call on a file fails once with EIO");
    for patch in Patch::ALL {
        let points = patch.points()?;
        for point in points.iter().filter(|point| point.is_about_files).step_by(plan.step) {
            let scene = patch.scene()?;
            scene.come_and_go("first", &Watch::fault(Who::Hands, point, "error=EIO"))?;
            let found = standing(patch, &scene, None);
            let judged = match scene.said("first").map(|said| (said.outcome, said.text)) {
                None => Err("no answer".into()),
                Some((Ended::Ok, _)) if found == Standing::After => Ok("applied all the same"),
                Some((Ended::Failed, _)) if found == Standing::Before => {
                    Ok("refused, all as before")
                }
                Some((outcome, text)) => Err(format!("{outcome:?}, but {found:?}: {text}")),
            };
            row.count(&format!("{patch:?}, {}", told(point)), judged);
        }
    }
    Ok(vec![row])
}

/// The process dies, then another program saves one of the files: theirs stays, and of ours everything
/// else is there or nothing.
pub(crate) fn meddling(plan: &Plan) -> Outcome<Vec<Row>> {
    let mut row =
        Row::of("patches: killed at every system call, then somebody else saves one of the files");
    for patch in Patch::ALL {
        for point in patch.points()?.iter().step_by(plan.step) {
            let scene = patch.scene()?;
            scene.come_and_go("first", &Watch::kill(Who::Hands, point))?;
            let answered = scene.said("first").is_some();
            fs::write(scene.root().join("theirs"), THEIRS)?;
            fs::rename(scene.root().join("theirs"), scene.work(MEDDLED))?;
            if !answered {
                scene.come_and_go("later", &Watch::Nothing)?;
            }
            row.count(&format!("{patch:?}, {}", told(point)), judge_meddled(patch, &scene));
        }
    }
    Ok(vec![row])
}

fn judge_meddled(patch: Patch, scene: &Scene) -> Result<&'static str, String> {
    let said = scene.said("first").or_else(|| scene.said("later"));
    let said = said.ok_or("nobody could say what became of it")?;
    let theirs = fs::read_to_string(scene.work(MEDDLED)).unwrap_or_default();
    if theirs != THEIRS {
        return Err(format!("their work is lost: {}", said.text));
    }
    match (said.outcome, standing(patch, scene, Some(MEDDLED))) {
        (Ended::Ok, Standing::After) => Ok("they saved over our change"),
        (Ended::Failed, Standing::Before) => Ok("theirs stays, ours was taken back or refused"),
        (Ended::Unknown, Standing::Before) => Ok("theirs stays, ours is in doubt and not there"),
        (outcome, found) => Err(format!("{outcome:?}, but {found:?}: {}", said.text)),
    }
}
