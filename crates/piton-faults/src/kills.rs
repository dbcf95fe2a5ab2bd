//! Deaths at every system call of agent and supervisors.

use crate::commands::{self, boot};
use crate::edits::{self, Edit};
use crate::outcome::Outcome;
use crate::people::Chance;
use crate::plan::Plan;
use crate::report::{Row, progress};
use crate::scene::Scene;
use crate::trace::{Point, Watch, Who, points, was_killed};

/// System calls between two words of progress.
const TOLD_EVERY: usize = 100;
/// Where it matters that the gate is opened too early.
const AROUND_THE_GATE: [&str; 4] = ["write", "clock_nanosleep", "fdatasync", "ppoll"];
/// What changes a file that is overwritten, and makes that durable.
const OVERWRITING: [&str; 3] = ["pwrite64", "ftruncate", "fsync"];

/// Each of agent, outer and inner supervisor dies at every system call of its own.
pub(crate) fn of_commands(plan: &Plan) -> Outcome<Vec<Row>> {
    let deed = commands::deed(&boot());
    let mut rows = Vec::new();
    for (who, what) in [
        (Who::Agent, "commands: agent killed at every system call, first thread"),
        (Who::Hands, "commands: agent killed at every system call, the thread that waits"),
        (Who::Outer, "commands: outer supervisor killed at every system call"),
        (Who::Inner, "commands: inner supervisor killed at every system call"),
    ] {
        let mut row = Row::of(what);
        let undisturbed = Scene::new(&deed)?;
        undisturbed.come_and_go("first", &Watch::only(who))?;
        undisturbed.empties()?;
        let points = points(&undisturbed.trace()?);
        for (at, point) in points.iter().enumerate().step_by(plan.step) {
            let scene = Scene::new(&deed)?;
            let watch = Watch::kill(who, point);
            let judged = match scene.come_and_go("first", &watch) {
                Ok(()) => commands::judge(&scene)?,
                Err(hangs) => Err(hangs.to_string()),
            };
            row.count(&told(point), reached(&scene, judged));
            tell(at, points.len());
        }
        rows.push(row);
    }
    Ok(rows)
}

/// The gate opens before the start of the command is recorded: that must be noticed.
pub(crate) fn without_gate(_: &Plan) -> Outcome<Vec<Row>> {
    let mut row = Row::control("the gate opens before the start is recorded, inner killed");
    let deed = commands::deed(&boot());
    let mistaken = |watch: Watch| watch.with_mistake("gate-before-record");
    let undisturbed = Scene::new(&deed)?;
    undisturbed.come_and_go("first", &mistaken(Watch::only(Who::Inner)))?;
    undisturbed.empties()?;
    let points = points(&undisturbed.trace()?);
    for point in points.iter().filter(|point| AROUND_THE_GATE.contains(&point.call.as_str())) {
        let scene = Scene::new(&deed)?;
        scene.come_and_go("first", &mistaken(Watch::kill(Who::Inner, point)))?;
        row.count(&told(point), commands::judge(&scene)?);
    }
    Ok(vec![row])
}

/// The agent dies at every system call, and a later process dies at one of its own.
pub(crate) fn of_commands_twice(plan: &Plan) -> Outcome<Vec<Row>> {
    let mut row = Row::of("commands: agent killed at every system call, then the next one as well");
    let deed = commands::deed(&boot());
    let undisturbed = Scene::new(&deed)?;
    undisturbed.come_and_go("first", &Watch::only(Who::Hands))?;
    undisturbed.empties()?;
    let first = points(&undisturbed.trace()?);
    let later = later_points(&Scene::new(&deed)?)?;
    let mut chance = Chance(plan.seed);
    for point in first.iter().step_by(plan.step) {
        let scene = Scene::new(&deed)?;
        scene.come_and_go("first", &Watch::kill(Who::Hands, point))?;
        let next = chance.one_of(&later).ok_or("nobody came later")?;
        scene.come_and_go("later", &Watch::kill(Who::Hands, next))?;
        row.count(&format!("{}, then {}", told(point), told(next)), commands::judge(&scene)?);
    }
    Ok(vec![row])
}

/// The same for a process that changes a file.
pub(crate) fn of_edits_twice(plan: &Plan) -> Outcome<Vec<Row>> {
    let mut row = Row::of("edits: killed at every system call, then the next one as well");
    let mut chance = Chance(plan.seed);
    for edit in Edit::ALL {
        let later = later_points(&edit.scene()?)?;
        for point in edits::points(edit)?.iter().step_by(plan.step) {
            let scene = edit.scene()?;
            scene.come_and_go("first", &Watch::kill(Who::Hands, point))?;
            let next = chance.one_of(&later).ok_or("nobody came later")?;
            scene.come_and_go("later", &Watch::kill(Who::Hands, next))?;
            let judged = edits::judge_alone(edit, &scene)?;
            row.count(&format!("{edit:?}, {}, then {}", told(point), told(next)), judged);
        }
    }
    Ok(vec![row])
}

/// A process that overwrites a file dies at every change of it, and the process that puts it back at
/// every change of its own: all pairs, since what two deaths leave depends on both.
pub(crate) fn of_overwriting(_: &Plan) -> Outcome<Vec<Row>> {
    let mut row = Row::of("edits in place: killed at every change, then the next one at every one");
    let changes = |points: Vec<Point>| {
        points.into_iter().filter(|point| OVERWRITING.contains(&point.call.as_str()))
    };
    for edit in Edit::IN_PLACE {
        let first: Vec<Point> = changes(edits::points(edit)?).collect();
        let half_way = first.iter().rfind(|point| point.call == OVERWRITING[0]);
        let scene = edit.scene()?;
        scene.come_and_go("first", &Watch::kill(Who::Hands, half_way.ok_or("nothing written")?))?;
        let later: Vec<Point> = changes(later_points(&scene)?).collect();
        for (point, next) in first.iter().flat_map(|point| later.iter().map(move |n| (point, n))) {
            let scene = edit.scene()?;
            scene.come_and_go("first", &Watch::kill(Who::Hands, point))?;
            scene.come_and_go("later", &Watch::kill(Who::Hands, next))?;
            let judged = edits::judge_alone(edit, &scene)?;
            row.count(&format!("{edit:?}, {}, then {}", told(point), told(next)), judged);
        }
    }
    Ok(vec![row])
}

/// The system calls of a later process in a scene without a first one: it does everything.
pub(crate) fn later_points(scene: &Scene) -> Outcome<Vec<Point>> {
    scene.come_and_go("later", &Watch::only(Who::Hands))?;
    scene.empties()?;
    Ok(points(&scene.trace()?))
}

/// A process that changes a file dies at every system call, and a later process goes on.
pub(crate) fn of_edits(plan: &Plan) -> Outcome<Vec<Row>> {
    let mut row = Row::of("edits: killed at every system call");
    for edit in Edit::ALL {
        for point in edits::points(edit)?.iter().step_by(plan.step) {
            let scene = edit.scene()?;
            scene.come_and_go("first", &Watch::kill(Who::Hands, point))?;
            let judged = reached(&scene, edits::judge_alone(edit, &scene)?);
            row.count(&format!("{edit:?}, {}", told(point)), judged);
        }
    }
    Ok(vec![row])
}

/// The kernel refuses one system call after the other.
pub(crate) fn errors_in_edits(plan: &Plan) -> Outcome<Vec<Row>> {
    let mut row = Row::of("edits: every system call on a file fails once with EIO");
    for edit in Edit::ALL {
        let points = edits::points(edit)?;
        // What wakes another thread, or waits for one, does not fail.
        for point in points.iter().filter(|point| point.is_about_files).step_by(plan.step) {
            let scene = edit.scene()?;
            scene.come_and_go("first", &Watch::fault(Who::Hands, point, "error=EIO"))?;
            let judged = edits::judge_failed(edit, &scene);
            row.count(&format!("{edit:?}, {}", told(point)), judged);
        }
    }
    Ok(vec![row])
}

/// What came of it, or that the point was not reached: counts differ a little from run to run.
pub(crate) fn reached(
    scene: &Scene,
    judged: Result<&'static str, String>,
) -> Result<&'static str, String> {
    let was_killed = scene.trace().is_ok_and(|trace| was_killed(&trace));
    judged.map(|found| if was_killed { found } else { "ended before that call" })
}

pub(crate) fn told(point: &Point) -> String {
    format!("{} {}", point.call, point.when)
}

fn tell(at: usize, of: usize) {
    if at % TOLD_EVERY == TOLD_EVERY - 1 {
        progress(&format!("  {} of about {of}", at + 1));
    }
}
