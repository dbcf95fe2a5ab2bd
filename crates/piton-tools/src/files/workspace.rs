//! Places inside the workspace or a directory that was added to it, and nowhere else.
//!
//! A path is resolved once, with all its links, to a [`Place`]: a plain path beneath one of these roots.
//! A place is then opened step by step from the root's own handle, following no link at all,
//! so a link that is slipped in between looking and acting leads nowhere. That is what
//! `openat2(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS)` does in one call; one way that every kernel has
//! beats a fast way plus a fallback of which only one is ever tested.

mod entry;
mod step;

use std::borrow::Cow;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use piton_core::permit::is_kept_back;
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

pub(crate) use self::entry::{Entry, MissingParents, kind_name};
use self::step::became_link;
pub(crate) use self::step::open_step;
use super::suggestion;
use crate::contract::real_path::resolve;
use crate::contract::{Prepared, Refusal, Site};

/// A resolved path beneath a root: no `..`, no link on the way when it was resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The added directory that it lies in; none for the workspace.
    added: Option<PathBuf>,
    /// Relative to the root, with `/`; empty for the root itself.
    relative: String,
    /// How it is named: relative to the workspace, `.` for the workspace itself, or whole.
    shown: String,
}

impl Place {
    /// Resolves what the model wrote: relative to the workspace, or absolute inside a root.
    pub(crate) fn locate(site: &Site, path: &str) -> Result<Self, Refusal> {
        if path.is_empty() || path.contains('\0') {
            return Err(Refusal("an empty path, or one with a NUL, names nothing".into()));
        }
        let (real, rest) = resolve(&site.workspace.join(path), path)?;
        // A second name of a file that others obey means that file, as a link does.
        let real = site.obeyed_as(&real).unwrap_or(real);
        let added = if real.starts_with(&site.workspace) {
            None
        } else {
            Some(site.added(&real).ok_or_else(|| outside(site, path))?)
        };
        let whole = real.join(&rest);
        if site.closed.holds(&whole) {
            return Err(own(path));
        }
        let root = added.unwrap_or(&site.workspace);
        let relative = whole.strip_prefix(root).ok().and_then(Path::to_str);
        let relative = relative.map(|relative| relative.trim_end_matches('/'));
        relative.map(|relative| Self::at(added, relative)).ok_or_else(|| {
            Refusal(format!("`{path}` leads to a name that is not UTF-8: use shell"))
        })
    }

    /// Takes over a place that was recorded earlier, in the workspace or in an added directory.
    pub(crate) fn recorded(site: &Site, path: &str) -> Result<Self, Refusal> {
        let whole = Path::new(path);
        let added = site.added(whole);
        let relative = match added {
            Some(added) => whole.strip_prefix(added).unwrap_or(whole),
            None => whole,
        };
        let plain = |part| matches!(part, Component::Normal(_));
        match relative.to_str() {
            Some(relative)
                if !relative.is_empty() && Path::new(relative).components().all(plain) =>
            {
                Ok(Self::at(added, relative))
            }
            Some(_) | None => {
                Err(Refusal(format!("the recorded path `{path}` is not in a workspace")))
            }
        }
    }

    fn at(added: Option<&Path>, relative: &str) -> Self {
        let shown = match added {
            None if relative.is_empty() => ".".to_owned(),
            None => relative.to_owned(),
            Some(root) => named_in(root, relative),
        };
        Self { added: added.map(Path::to_owned), relative: relative.to_owned(), shown }
    }

    /// The path relative to the workspace, `.` for the workspace itself; in an added directory the
    /// whole path.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    /// How a path from the root of this place is named.
    pub(crate) fn named<'a>(&self, from_root: &'a str) -> Cow<'a, str> {
        match &self.added {
            None => Cow::Borrowed(from_root),
            Some(root) => Cow::Owned(named_in(root, from_root)),
        }
    }

    /// The workspace, or the added directory that this place lies in.
    pub(crate) fn root<'a>(&'a self, site: &'a Site) -> &'a Path {
        self.added.as_deref().unwrap_or(&site.workspace)
    }

    /// The absolute path, for interfaces that take paths only.
    pub(crate) fn absolute(&self, site: &Site) -> PathBuf {
        let root = self.root(site);
        // Joining an empty path would add a slash.
        if self.relative.is_empty() { root.to_owned() } else { root.join(&self.relative) }
    }

    /// Opens the root of this place.
    pub(crate) fn open_root(&self, site: &Site) -> Result<OwnedFd, Refusal> {
        let root = self.root(site);
        // The workspace was chosen by a person: a link on the way to it is theirs. An added directory
        // had none when it was added, and what has taken its place since was added by nobody.
        let is_moved = |root: &Path| fs::canonicalize(root).is_ok_and(|real| real != root);
        if self.added.is_some() && is_moved(root) {
            return Err(Refusal(format!("`{}` has become a symbolic link", root.display())));
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::open(root, flags, Mode::empty()).map_err(|errno| {
            let what = if self.added.is_some() { "added directory" } else { "workspace" };
            let error = io::Error::from(errno);
            Refusal(format!("the {what} {} cannot be opened: {error}", root.display()))
        })
    }

    /// What a call that only looks here is prepared with.
    pub(crate) fn prepared(&self) -> Prepared {
        Prepared { path: Some(self.shown().to_owned()), ..Prepared::default() }
    }

    /// Opens the directory at this place.
    pub(crate) fn open_directory(&self, site: &Site) -> Result<OwnedFd, Refusal> {
        let mut directory = self.open_root(site)?;
        for name in self.names() {
            directory = open_step(&directory, name).map_err(|errno| self.unopened(site, errno))?;
        }
        Ok(directory)
    }

    /// Opens the directory that holds this place.
    pub(crate) fn entry(&self, site: &Site, missing: MissingParents) -> Result<Entry, Refusal> {
        let Some((parents, name)) = self.split() else {
            let root = self.root(site).display();
            let shown = self.shown();
            return Err(Refusal(match self.added {
                None => format!("`.` is the workspace {root}: name a file in it"),
                Some(_) => format!("`{shown}` is a directory: name a file in it"),
            }));
        };
        let mut directory = self.open_root(site)?;
        for parent in parents.split('/').filter(|parent| !parent.is_empty()) {
            directory =
                missing.open(&directory, parent).map_err(|errno| self.unopened(site, errno))?;
        }
        Ok(Entry::new(directory, name, self.shown()))
    }

    /// Opens the file at this place and refuses anything that is not a regular file.
    pub(crate) fn open_file(&self, site: &Site) -> Result<fs::File, Refusal> {
        let entry = self.entry(site, MissingParents::Refuse)?;
        entry.open()?.ok_or_else(|| self.not_found(site))
    }

    /// Says nothing but the real name, if rules keep that back and the model wrote another one.
    pub(crate) fn other_name(&self, site: &Site, written: &str) -> Option<Refusal> {
        let shown = self.shown();
        let is_other = written != shown && self.is_kept_back(site);
        is_other.then(|| Refusal(format!("`{written}` is another name of `{shown}`: use that")))
    }

    /// Whether rules keep the file from some tool, or ask first. Then nothing of it is quoted before
    /// they were asked about this name.
    pub(crate) fn is_kept_back(&self, site: &Site) -> bool {
        is_kept_back(&site.permissions, self.shown())
    }

    /// Says that nothing is there, and what may have been meant.
    pub(crate) fn not_found(&self, site: &Site) -> Refusal {
        let near = self.near(site);
        let hint = match near.as_slice() {
            [] => "use list_dir or glob to find it".to_owned(),
            some => format!("did you mean {}?", some.join(" or ")),
        };
        let shown = self.shown();
        Refusal(match self.added {
            None => format!("there is no `{shown}` in the workspace {}: {hint}", here(site)),
            Some(_) => format!("there is no `{shown}`: {hint}"),
        })
    }

    /// Names that resemble the first one on the way that is not there, without those that rules keep
    /// back.
    fn near(&self, site: &Site) -> Vec<String> {
        let Ok(mut directory) = self.open_root(site) else { return Vec::new() };
        let mut prefix = self.added.as_deref().map(|root| named_in(root, "/")).unwrap_or_default();
        for name in self.names() {
            match open_step(&directory, name) {
                Ok(inner) => directory = inner,
                Err(Errno::NOENT) => {
                    let told =
                        |name: &str| !is_kept_back(&site.permissions, &format!("{prefix}{name}"));
                    let near = suggestion::names(&directory, name, told);
                    return near.iter().map(|name| format!("`{prefix}{name}`")).collect();
                }
                Err(_) => return Vec::new(),
            }
            prefix = format!("{prefix}{name}/");
        }
        Vec::new()
    }

    /// What is there; `None` if nothing is. A link is a link.
    pub(crate) fn kind(&self, site: &Site) -> Option<FileType> {
        if self.split().is_none() {
            return self.open_root(site).ok().map(|_| FileType::Directory);
        }
        self.entry(site, MissingParents::Refuse).ok()?.found()
    }

    fn unopened(&self, site: &Site, errno: Errno) -> Refusal {
        let shown = self.shown();
        match errno {
            Errno::NOENT => self.not_found(site),
            Errno::LOOP => became_link(shown),
            // `open` with both flags reports a link as "not a directory".
            Errno::NOTDIR => Refusal(format!(
                "`{shown}` does not lead through directories only: a file or a link is in the way"
            )),
            other => Refusal(format!("`{shown}` cannot be opened: {}", io::Error::from(other))),
        }
    }

    /// The names on the way from the root.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.relative.split('/').filter(|name| !name.is_empty())
    }

    fn split(&self) -> Option<(&str, &str)> {
        match self.relative.rsplit_once('/') {
            Some(split) => Some(split),
            None if self.relative.is_empty() => None,
            None => Some(("", &self.relative)),
        }
    }
}

fn own(path: &str) -> Refusal {
    Refusal(format!(
        "`{path}` is one of piton's own files, its settings or its conversations, which no tool \
         touches: ask the user to look at it or to change it"
    ))
}

fn outside(site: &Site, path: &str) -> Refusal {
    if !site.workspace.is_dir() {
        let workspace = site.workspace.display();
        return Refusal(format!("the workspace {workspace} is gone: nothing was done"));
    }
    Refusal(match site.permissions.directories.as_slice() {
        [] => format!(
            "`{path}` is outside the workspace {}: use a path inside it, relative to it, such as \
             `src/main.rs`",
            here(site)
        ),
        _ => format!(
            "`{path}` is outside {}: use a path inside one of them; in an added directory the whole \
             path",
            site.told()
        ),
    })
}

fn here(site: &Site) -> std::path::Display<'_> {
    site.workspace.display()
}

/// A path from an added directory, as it is named.
fn named_in(root: &Path, relative: &str) -> String {
    // Added directories are recorded as text.
    let root = root.to_string_lossy();
    if relative.is_empty() {
        return root.into_owned();
    }
    format!("{}/{}", root.trim_end_matches('/'), relative.trim_start_matches('/'))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use piton_core::event::{PermissionRule, RuleEffect};
    use piton_core::id::ConversationId;

    use super::*;
    use crate::contract::Closed;

    fn site() -> (tempfile::TempDir, Site) {
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path().canonicalize().expect("canonical");
        let workspace = root.join("ws");
        fs::create_dir_all(workspace.join("src")).expect("created");
        fs::write(workspace.join("src/main.rs"), "fn main() {}\n").expect("written");
        fs::write(root.join("secret"), "s").expect("written");
        let conversation = ConversationId::new("c");
        let permissions = piton_core::event::Permissions::default();
        let scratch = root.join("scratch");
        let closed = Closed::default();
        (directory, Site { workspace, scratch, conversation, permissions, closed })
    }

    fn located(site: &Site, path: &str) -> Result<String, String> {
        Place::locate(site, path).map(|place| place.shown().to_owned()).map_err(|no| no.0)
    }

    #[test]
    fn paths_inside_are_resolved() {
        let (_keep, site) = site();
        let absolute = site.workspace.join("src/main.rs").display().to_string();
        let real = Ok("src/main.rs".to_owned());
        assert_eq!(located(&site, "src/main.rs"), real);
        assert_eq!(located(&site, "./src/../src//main.rs"), real);
        assert_eq!(located(&site, "../ws/src/main.rs"), real);
        assert_eq!(located(&site, &absolute), real);
        assert_eq!(located(&site, "src/"), Ok("src".into()));
        assert_eq!(located(&site, "."), Ok(".".into()));
        assert_eq!(located(&site, "new/deep/file"), Ok("new/deep/file".into()));
    }

    #[test]
    fn paths_outside_are_refused_with_the_workspace_named() {
        let (_keep, site) = site();
        let sibling = site.workspace.with_file_name("ws-other").display().to_string();
        for path in
            ["..", "../secret", "src/../../secret", "/etc/passwd", "/", "/no/such", &sibling]
        {
            let refusal = located(&site, path).expect_err(path);
            assert!(refusal.contains("outside the workspace"), "{refusal}");
            assert!(refusal.contains(site.workspace.to_str().expect("UTF-8")), "{refusal}");
        }
        for path in ["", "a\0b", "new/../../secret"] {
            assert!(located(&site, path).is_err(), "{path}");
        }
    }

    #[test]
    fn links_are_followed_inside_and_refused_outside() {
        let (_keep, site) = site();
        let link = |target: &str, name: &str| {
            symlink(target, site.workspace.join(name)).expect("linked");
        };
        link("src", "inner");
        link("..", "up");
        link("../secret", "leak");
        link("nothing", "dangling");
        link("../new", "dangling-out");
        link("loop", "loop");
        assert_eq!(located(&site, "inner/main.rs"), Ok("src/main.rs".into()));
        assert_eq!(located(&site, "inner/new.rs"), Ok("src/new.rs".into()));
        for path in ["up", "up/secret", "up/new", "leak"] {
            assert!(located(&site, path).expect_err(path).contains("outside"), "{path}");
        }
        for path in ["dangling", "dangling/x", "dangling-out"] {
            assert!(located(&site, path).expect_err(path).contains("does not exist"), "{path}");
        }
        assert!(located(&site, "loop").is_err());
        assert!(located(&site, "src/main.rs/x").is_err());
    }

    #[test]
    fn what_is_closed_is_refused_under_every_name_and_before_it_exists() {
        let (_keep, mut site) = site();
        let root = site.workspace.clone();
        fs::create_dir(root.join("own")).expect("created");
        fs::write(root.join("own/piton.db"), "x").expect("written");
        symlink("own", root.join("alias")).expect("linked");
        symlink("later-here", root.join("later-link")).expect("linked");
        site.closed = Closed::new([root.join("alias"), root.join("later/piton")]);
        let absolute = root.join("own/piton.db").display().to_string();
        for path in [
            "own",
            "own/piton.db",
            "alias/piton.db",
            "src/../own/x",
            "own/new/file",
            &absolute,
            "later/piton",
            "later/piton/piton.toml",
        ] {
            let refusal = located(&site, path).expect_err(path);
            assert!(refusal.contains("piton's own files"), "{path}: {refusal}");
        }
        for path in [".", "src/main.rs", "later", "later/piton2", "own2"] {
            assert!(located(&site, path).is_ok(), "{path}");
        }
    }

    #[test]
    fn a_link_that_appears_after_the_look_leads_nowhere() {
        let (_keep, site) = site();
        let file = Place::locate(&site, "src/main.rs").expect("located");
        fs::rename(site.workspace.join("src"), site.workspace.join("old")).expect("renamed");
        symlink("..", site.workspace.join("src")).expect("linked");
        fs::write(site.workspace.with_file_name("main.rs"), "foreign").expect("written");
        assert!(file.open_file(&site).is_err(), "a directory became a link");

        let file = Place::locate(&site, "old/main.rs").expect("located");
        fs::remove_file(site.workspace.join("old/main.rs")).expect("removed");
        symlink("../../secret", site.workspace.join("old/main.rs")).expect("linked");
        let refusal = file.open_file(&site).expect_err("the file became a link").0;
        assert!(refusal.contains("symbolic link"), "{refusal}");
    }

    #[test]
    fn a_missing_file_brings_suggestions() {
        let (_keep, site) = site();
        let refusal = |path| Place::locate(&site, path).expect("located").not_found(&site).0;
        assert!(refusal("src/mian.rs").ends_with("did you mean `src/main.rs`?"));
        assert!(refusal("scr/main.rs").ends_with("did you mean `src`?"));
        assert!(refusal("zzz").ends_with("use list_dir or glob to find it"));
    }

    // Must show 3
    #[test]
    fn must_show_3_a_suggestion_names_nothing_that_rules_keep_back() {
        let (_keep, mut site) = site();
        for name in [".env", ".env2", "src/main.key"] {
            fs::write(site.workspace.join(name), "TOPSECRET").expect("written");
        }
        symlink("src", site.workspace.join("lnk")).expect("linked");
        let told =
            |site: &Site, path| Place::locate(site, path).expect("located").not_found(site).0;
        assert!(told(&site, ".env1").ends_with("did you mean `.env` or `.env2`?"));
        let rule = |path: &str, effect| PermissionRule {
            path: Some(path.into()),
            ..PermissionRule::of_tool("*", effect)
        };
        site.permissions.rules = vec![
            rule("**/.env", RuleEffect::Deny),
            rule("src/*.key", RuleEffect::Ask),
            rule("src/main.rs", RuleEffect::Allow),
        ];
        assert!(told(&site, ".env1").ends_with("did you mean `.env2`?"));
        for path in ["src/main.kex", "lnk/mian.key", "src/../src/nain.key"] {
            let told = told(&site, path);
            assert!(!told.contains("main.key"), "{told}");
        }
        assert!(told(&site, "src/mian.rs").ends_with("did you mean `src/main.rs`?"));
    }

    #[test]
    fn a_recorded_path_is_not_trusted_blindly() {
        let (_keep, mut site) = site();
        site.permissions.directories = vec!["/added".into(), "added".into()];
        for path in ["", "/etc/passwd", "../x", "a/../b", "/added", "/added/../x", "/addedx/y"] {
            assert!(Place::recorded(&site, path).is_err(), "{path}");
        }
        assert!(Place::recorded(&site, "a/b").is_ok());
        assert!(Place::recorded(&site, "/added/b").is_ok());
    }

    #[test]
    fn an_added_directory_is_a_root_of_its_own_and_its_paths_stay_whole() {
        let (_keep, mut site) = site();
        let root = site.workspace.parent().expect("a parent").to_owned();
        fs::create_dir_all(root.join("lib/inner")).expect("created");
        fs::create_dir(root.join("lib2")).expect("created");
        fs::write(root.join("lib/inner/a.rs"), "x").expect("written");
        symlink("../secret", root.join("lib/leak")).expect("linked");
        symlink("../ws/src", root.join("lib/back")).expect("linked");
        let lib = root.join("lib").display().to_string();
        assert!(located(&site, &lib).is_err());
        site.permissions.directories = vec![lib.clone()];
        let whole = format!("{lib}/inner/a.rs");
        assert_eq!(located(&site, &whole), Ok(whole.clone()));
        assert_eq!(located(&site, "../lib/inner/../inner/a.rs"), Ok(whole.clone()));
        assert_eq!(located(&site, &lib), Ok(lib.clone()));
        assert_eq!(located(&site, &format!("{lib}/back/main.rs")), Ok("src/main.rs".into()));
        for path in ["../lib2", "../secret", "../lib/leak", "../lib/../secret"] {
            let refusal = located(&site, path).expect_err(path);
            assert!(refusal.contains(&format!("and the added {lib}")), "{refusal}");
        }
        let place = Place::locate(&site, &whole).expect("located");
        assert!(place.open_file(&site).is_ok());
        let missing = Place::locate(&site, &format!("{lib}/inner/b.rs")).expect("located");
        assert!(missing.not_found(&site).0.contains(&format!("`{whole}`")));
        site.closed = Closed::new([root.join("lib/inner")]);
        assert!(located(&site, &whole).expect_err("closed").contains("piton's own files"));
    }

    #[test]
    fn what_takes_the_place_of_an_added_directory_was_not_added() {
        let (_keep, mut site) = site();
        let root = site.workspace.parent().expect("a parent").to_owned();
        fs::create_dir(root.join("lib")).expect("created");
        let lib = root.join("lib").display().to_string();
        site.permissions.directories = vec![lib.clone()];
        let place = Place::locate(&site, &format!("{lib}/secret")).expect("located");
        fs::remove_dir(root.join("lib")).expect("removed");
        symlink(".", root.join("lib")).expect("linked");
        assert!(place.open_file(&site).is_err());
        assert!(located(&site, &format!("{lib}/secret")).is_err());
    }
}
