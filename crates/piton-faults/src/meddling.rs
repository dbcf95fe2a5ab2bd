//! Another program saves the same file at the worst moments.

use std::fs;
use std::process::Child;
use std::time::{Duration, Instant};

use piton_core::event::Outcome as Ended;

use crate::edits::{self, Edit, THEIRS};
use crate::kills::told;
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::report::Row;
use crate::scene::{Scene, ended};
use crate::trace::{Watch, Who};

/// For how long the process that makes the change is held up, in microseconds.
const HELD_US: u32 = 12_000;
/// How often to look whether it is.
const LOOK_EVERY: Duration = Duration::from_micros(500);
/// Looks in a row that must find it standing still: then it is held up, and not just watched.
const STILL: u32 = 5;
/// When to meddle anyway: whenever it happens, nothing may be lost.
const PATIENCE: Duration = Duration::from_secs(10);

/// For every system call: another program saves the file after the death of the process that changes
/// it, and while that process is held up.
pub(crate) fn with_edits(plan: &Plan) -> Outcome<Vec<Row>> {
    let mut after =
        Row::of("edits: killed at every system call, then somebody else saves the file");
    let mut during =
        Row::of("edits: held up at every system call while somebody else saves the file");
    for edit in Edit::ALL {
        for point in edits::points(edit)?.iter().step_by(plan.step) {
            let at = format!("{edit:?}, {}", told(point));
            let scene = edit.scene()?;
            scene.come_and_go("first", &Watch::kill(Who::Hands, point))?;
            let answered = scene.said("first").is_some();
            edits::meddle(&scene)?;
            if !answered {
                scene.come_and_go("later", &Watch::Nothing)?;
            }
            after.count(&at, judge(edit, &scene));
            // Between the last look and the first write nobody can be kept away from such a file.
            if edit.is_in_place() {
                continue;
            }
            let scene = edit.scene()?;
            let delay = format!("delay_enter={HELD_US}");
            let mut agent = scene.come("first", &Watch::fault(Who::Hands, point, &delay))?;
            let held_up = until_held_up(&mut agent)?;
            edits::meddle(&scene)?;
            ended(&mut agent)?;
            let judged = judge(edit, &scene);
            during.count(&at, judged.map(|found| if held_up { found } else { "came too late" }));
        }
    }
    Ok(vec![after, during])
}

/// Waits until a thread of the agent stands still in the hands of `strace`, or the agent is gone.
fn until_held_up(agent: &mut Child) -> Outcome<bool> {
    let (deadline, mut still) = (Instant::now() + PATIENCE, 0);
    while still < STILL && Instant::now() < deadline {
        if agent.try_wait()?.is_some() {
            return Ok(false);
        }
        still = if is_held_up(agent.id()) { still + 1 } else { 0 };
        // wait: that a thread stands still can only be seen by looking more than once
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(still == STILL)
}

fn is_held_up(pid: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let mut states = threads.filter_map(|thread| {
        let stat = fs::read_to_string(thread.path().join("stat")).ok()?;
        Some(stat.rsplit_once(')')?.1.trim_start().starts_with('t'))
    });
    states.any(|is_traced| is_traced)
}

/// Their work is in the file, or kept beside it; what was said of ours is true.
fn judge(edit: Edit, scene: &Scene) -> Result<&'static str, String> {
    let said = scene.said("later").or_else(|| scene.said("first"));
    let Some(said) = said else { return Err("nobody could say what became of it".into()) };
    let beside = edits::beside(scene);
    let content = edits::content(scene);
    let is_kept = beside.iter().any(|(_, content)| content == THEIRS);
    let ours_is_torn =
        |content: &str| content != edit.after() && edit.before().as_deref() != Some(content);
    match content.as_deref() {
        Some(THEIRS) => match beside.first() {
            None if said.outcome == Ended::Ok => Ok("they saved over our change"),
            None => Ok("theirs stays, ours was refused"),
            Some((name, content)) if ours_is_torn(content) => {
                Err(format!("{name} was left behind, and is nobody's work"))
            }
            // The result names it.
            Some((name, _)) if said.text.contains(name) => Ok("theirs stays, ours is kept beside"),
            Some((name, _)) => Err(format!("{name} was left behind in silence")),
        },
        Some(content) if is_kept && !ours_is_torn(content) => {
            Ok("ours stays, theirs is kept beside")
        }
        content => {
            let bytes = content.map(str::len);
            Err(format!("their work is lost; the file has {bytes:?} bytes; {}", said.text))
        }
    }
}
