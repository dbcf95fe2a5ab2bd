//! What the files of a patch are to become: its parts, one after the other, on contents in memory.

use piton_core::patch::{Deed, Section};
use piton_core::permit::path::within_any;

use super::hunks::renewed;
use crate::contract::{Refusal, Site};
use crate::files::change::{EDIT_BYTES_MAX, Wanted};
use crate::files::workspace::{MissingParents, Place};

/// Most bytes of all files of a patch together, before it and after it. The old contents have to be
/// kept together.
const PATCH_BYTES_MAX: u64 = 4 * EDIT_BYTES_MAX;

/// What each file is to become, each once, in the order in which they were named. `old` gives the content
/// that a file has now.
pub(super) fn laid_out(
    site: &Site,
    sections: &[Section<'_>],
    old: impl Fn(&Place) -> Result<Option<Vec<u8>>, Refusal>,
) -> Result<Vec<Wanted>, Refusal> {
    let mut files = Files { site, old, all: Vec::new() };
    for section in sections {
        files.change(section).map_err(|Refusal(why)| {
            Refusal(format!("line {} of the patch: {why}", section.line))
        })?;
    }
    let Files { all, .. } = files;
    let bytes = |content: &Option<Vec<u8>>| content.as_ref().map_or(0, |it| it.len() as u64);
    if PATCH_BYTES_MAX < all.iter().map(|file| bytes(&file.old) + bytes(&file.new)).sum() {
        return Err(Refusal(format!(
            "its files have more than {PATCH_BYTES_MAX} bytes together: make several patches"
        )));
    }
    let changed: Vec<_> = all.into_iter().filter(|file| file.old != file.new).collect();
    if changed.is_empty() {
        return Err(Refusal("the files have exactly these contents already".into()));
    }
    Ok(changed)
}

/// The files as they are after the parts so far.
struct Files<'a, F> {
    site: &'a Site,
    old: F,
    all: Vec<Wanted>,
}

impl<F: Fn(&Place) -> Result<Option<Vec<u8>>, Refusal>> Files<'_, F> {
    fn change(&mut self, section: &Section<'_>) -> Result<(), Refusal> {
        let path = section.path;
        let file = self.file(path)?;
        match &section.deed {
            Deed::Add(_) if file.new.is_some() => Err(Refusal(format!(
                "`{path}` exists already: use `*** Update File`, or `*** Delete File` before it"
            ))),
            Deed::Add(lines) => {
                let lines: Vec<String> = lines.iter().map(|line| format!("{line}\n")).collect();
                file.new = Some(lines.concat().into_bytes());
                bounded(file)
            }
            Deed::Delete => match file.new.take() {
                Some(_) => Ok(()),
                None => Err(self.missing(path)),
            },
            Deed::Update { to, hunks } => {
                let Some(content) = file.new.clone() else { return Err(self.missing(path)) };
                let content = String::from_utf8(content)
                    .map_err(|_| Refusal(format!("`{path}` is not UTF-8 text")))?;
                let new = renewed(path, &content, hunks)?;
                match to {
                    None => {
                        file.new = Some(new.into_bytes());
                        bounded(file)
                    }
                    Some(to) => self.rename(path, to, new),
                }
            }
        }
    }

    /// Gives a file another name, over nothing.
    fn rename(&mut self, path: &str, to: &str, new: String) -> Result<(), Refusal> {
        let source = self.file(path)?;
        source.new = None;
        let (place, given) = (source.place.clone(), source.mode);
        let entry = place.entry(self.site, MissingParents::Refuse);
        let mode = entry.ok().and_then(|entry| entry.mode()).or(given);
        let target = self.file(to)?;
        if target.new.is_some() {
            return Err(Refusal(format!(
                "`{to}` exists already, so `{path}` cannot be moved there: delete it before"
            )));
        }
        target.new = Some(new.into_bytes());
        target.mode = mode;
        bounded(target)
    }

    /// The file of this name. Its name must be its own: rules have judged what is written in the
    /// patch, and a link would lead past them.
    fn file(&mut self, path: &str) -> Result<&mut Wanted, Refusal> {
        let place = Place::locate(self.site, path)?;
        let workspace = self.site.workspace.to_string_lossy();
        let written = within_any(&workspace, &self.site.permissions.directories, path);
        if written.as_deref() != Some(place.shown()) {
            let shown = place.shown();
            return Err(Refusal(format!("`{path}` is another name of `{shown}`: use that")));
        }
        let known = self.all.iter().position(|file| file.place == place);
        let at = known.unwrap_or(self.all.len());
        if known.is_none() {
            let old = (self.old)(&place)?;
            self.all.push(Wanted { place, new: old.clone(), old, mode: None });
        }
        self.all.get_mut(at).ok_or_else(|| Refusal(format!("`{path}` is lost")))
    }

    fn missing(&self, path: &str) -> Refusal {
        match Place::locate(self.site, path) {
            Ok(place) => place.not_found(self.site),
            Err(refusal) => refusal,
        }
    }
}

fn bounded(file: &Wanted) -> Result<(), Refusal> {
    let bytes = file.new.as_ref().map_or(0, |new| new.len() as u64);
    if bytes <= EDIT_BYTES_MAX {
        return Ok(());
    }
    let shown = file.place.shown();
    Err(Refusal(format!("`{shown}` would have more than {EDIT_BYTES_MAX} bytes")))
}
