//! Changes of files: never torn, never twice, and nobody else's work lost.

use std::fs;

use piton_core::event::{Handle, Outcome as Ended};
use piton_tools::undo::Undo;
use serde_json::{Value, json};

use crate::outcome::Outcome;
use crate::scene::{CALL, Deed, Said, Scene, site};
use crate::trace::{Point, Watch, Who};

/// Lines of the file that is changed.
const LINES: usize = 600;
/// Lines of one that is overwritten in several writes.
const MANY_LINES: usize = 10_000;
/// The file.
const NAME: &str = "f.txt";
/// Its other name, elsewhere.
const OTHER_NAME: &str = "other-name";
/// What the other program writes.
pub(crate) const THEIRS: &str = "somebody else's work\n";

/// Kinds of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edit {
    /// `write_file` of a new file.
    Create,
    /// `write_file` over an old one.
    Replace,
    /// `edit_file`, which would fail or do harm if it were made twice.
    Amend,
    /// `write_file` over a file with two names, which cannot be done in one step.
    Overwrite,
    /// The same with less than there was.
    Shorten,
}

impl Edit {
    /// Those that take one step.
    pub(crate) const AT_ONCE: [Self; 3] = [Self::Create, Self::Replace, Self::Amend];
    /// Those that take several.
    pub(crate) const IN_PLACE: [Self; 2] = [Self::Overwrite, Self::Shorten];
    pub(crate) const ALL: [Self; 5] =
        [Self::Create, Self::Replace, Self::Amend, Self::Overwrite, Self::Shorten];

    /// Whether it takes several steps.
    pub(crate) fn is_in_place(self) -> bool {
        Self::IN_PLACE.contains(&self)
    }

    /// The content before.
    pub(crate) fn before(self) -> Option<String> {
        match self {
            Self::Create => None,
            Self::Replace | Self::Amend => Some("an old line\n".repeat(LINES) + "n=0.\n"),
            Self::Overwrite => Some("an old line\n".repeat(MANY_LINES)),
            Self::Shorten => Some("an old line, longer\n".repeat(MANY_LINES)),
        }
    }

    /// The content after.
    pub(crate) fn after(self) -> String {
        match self {
            Self::Create | Self::Replace => "a new line, longer\n".repeat(LINES),
            Self::Overwrite => "a new line, longer\n".repeat(MANY_LINES),
            Self::Shorten => "a new line\n".repeat(MANY_LINES),
            // Once more, and it would be another one.
            Self::Amend => self.before().unwrap_or_default().replace("n=0.", "n=0.n=0."),
        }
    }

    fn arguments(self) -> (&'static str, Value) {
        match self {
            Self::Create | Self::Replace | Self::Overwrite | Self::Shorten => {
                ("write_file", json!({ "path": NAME, "content": self.after() }))
            }
            Self::Amend => {
                ("edit_file", json!({ "path": NAME, "old": "n=0.\n", "new": "n=0.n=0.\n" }))
            }
        }
    }

    /// A scene in which the change is recorded and to be made.
    pub(crate) fn scene(self) -> Outcome<Scene> {
        let (tool, arguments) = self.arguments();
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let mut deed = Deed { tool: tool.into(), arguments, handle: Handle::None };
        let scene = Scene::new(&deed)?;
        if let Some(before) = self.before() {
            fs::write(scene.work(NAME), before)?;
        }
        self.name_twice(&scene)?;
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        let tool = deed.tool(scene.root())?;
        let (place, arguments) = (site(scene.root()), deed.arguments.clone());
        deed.handle = runtime.block_on(tool.prepare(&place, CALL, &arguments))?.handle;
        scene.ask(&deed)?;
        Ok(scene)
    }

    /// Gives the file its other name, if it is to have one.
    pub(crate) fn name_twice(self, scene: &Scene) -> Outcome<()> {
        let (file, other) = (scene.work(NAME), scene.root().join(OTHER_NAME));
        if self.is_in_place() {
            fs::remove_file(&other).ok();
            fs::hard_link(file, other)?;
        }
        Ok(())
    }
}

/// The system calls that make a change.
pub(crate) fn points(edit: Edit) -> Outcome<Vec<Point>> {
    let scene = edit.scene()?;
    scene.come_and_go("first", &Watch::only(Who::Hands))?;
    Ok(crate::trace::points(&scene.trace()?))
}

/// The file as it is now.
pub(crate) fn content(scene: &Scene) -> Option<String> {
    fs::read(scene.work(NAME)).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// The other program saves the file, as editors do: beside it, then over it.
pub(crate) fn meddle(scene: &Scene) -> Outcome<()> {
    fs::write(scene.root().join("theirs"), THEIRS)?;
    Ok(fs::rename(scene.root().join("theirs"), scene.work(NAME))?)
}

/// Everything beside the file.
pub(crate) fn beside(scene: &Scene) -> Vec<(String, String)> {
    let entries = fs::read_dir(scene.root().join("work")).into_iter().flatten().flatten();
    let entries = entries.filter(|entry| entry.file_name() != NAME);
    entries
        .map(|entry| {
            let bytes = fs::read(entry.path()).unwrap_or_default();
            (
                entry.file_name().to_string_lossy().into_owned(),
                String::from_utf8_lossy(&bytes).into_owned(),
            )
        })
        .collect()
}

/// Nobody else was there: the file is whole at every time, and the change is made in the end.
pub(crate) fn judge_alone(edit: Edit, scene: &Scene) -> Outcome<Result<&'static str, String>> {
    // What is overwritten is torn for a while, until a later process comes.
    if !edit.is_in_place()
        && let Err(torn) = whole(edit, scene)
    {
        return Ok(Err(torn));
    }
    let was_after = content(scene) == Some(edit.after());
    if let Some(said) = scene.said("first").or_else(|| scene.said("later")) {
        return Ok(made(edit, scene, &said, "answered"));
    }
    scene.come_and_go("later", &Watch::Nothing)?;
    let Some(said) = scene.said("later") else {
        return Ok(Err("nobody could say what became of it".into()));
    };
    Ok(match said.verdict.as_str() {
        "applied" if was_after => made(edit, scene, &said, "had been made"),
        "not applied" if !was_after => made(edit, scene, &said, "made anew"),
        verdict => Err(format!("{verdict}: {}", said.text)),
    })
}

/// The power was cut while the file was overwritten: a later process puts its pages right, or
/// says that it cannot, and then the old content is kept.
pub(crate) fn judge_in_place(edit: Edit, scene: &Scene) -> Outcome<Result<&'static str, String>> {
    let judged = judge_alone(edit, scene)?;
    let is_unknown = scene.said("later").is_some_and(|said| said.verdict == "unknown");
    if !is_unknown {
        return Ok(judged);
    }
    let undo = Undo::new(scene.root());
    let versions = undo.of(&site(scene.root()).workspace);
    let mut kept = versions.iter().filter_map(|(name, _)| undo.content(name).ok().flatten());
    Ok(match edit.before() {
        Some(old) if kept.any(|kept| kept == old.as_bytes()) => Ok("in doubt, old content kept"),
        _ => judged,
    })
}

/// Something failed on the way: the file is whole, and what was said is true.
pub(crate) fn judge_failed(edit: Edit, scene: &Scene) -> Result<&'static str, String> {
    whole(edit, scene)?;
    let is_after = content(scene) == Some(edit.after());
    let said = scene.said("first").ok_or("no answer")?;
    match (said.outcome, is_after) {
        (Ended::Ok, true) => Ok("made all the same"),
        (Ended::Failed, false) => Ok("refused, and the file is as before"),
        (Ended::Failed, true) if said.text.contains("was changed") => Ok("made, with a warning"),
        (outcome, _) => Err(format!("{outcome:?}, but made: {is_after}: {}", said.text)),
    }
}

/// The file has one of its two contents.
fn whole(edit: Edit, scene: &Scene) -> Result<(), String> {
    let found = content(scene);
    if found == edit.before() || found == Some(edit.after()) {
        return Ok(());
    }
    let bytes = found.map(|found| found.len());
    Err(format!("the file is destroyed: {bytes:?} bytes"))
}

fn made(
    edit: Edit,
    scene: &Scene,
    said: &Said,
    found: &'static str,
) -> Result<&'static str, String> {
    let beside = beside(scene);
    if said.outcome != Ended::Ok || content(scene) != Some(edit.after()) {
        return Err(format!("not made: {}", said.text));
    }
    if let Some((name, _)) = beside.first() {
        return Err(format!("{name} was left behind"));
    }
    let other = fs::read_to_string(scene.root().join(OTHER_NAME));
    if edit.is_in_place() && !other.is_ok_and(|other| other == edit.after()) {
        return Err("its other name is another file now".into());
    }
    Ok(found)
}
