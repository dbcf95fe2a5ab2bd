//! What programs outside the wall run or obey later, and no confined command changes: settings and hooks of git,
//! of editors and of shells, and instructions for agents.
//!
//! Names may have stars, since repositories below a repository are as many as there are: `*` is one directory of any
//! name, `**` any number of them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, FileType, Metadata};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use piton_core::permit::obeyed::{OBEYED, OF_USER};

pub(crate) use self::gitlinks::Submodules;
pub(crate) use self::repository::obeyed_by;
use self::repository::{GIT, HEAD, obeyed_in};

mod git_config;
mod gitlinks;
mod named;
mod reading;
mod repository;
mod settings;

/// Directories whose other files are nobody's concern: what counts is that they are no files and no links.
const WAYS: [&str; 2] = [".git", ".vscode"];
/// Most places that are found. A repository with more submodules is protected in part.
const FOUND_MAX: usize = 1_000;
/// Most directories that one star stands for.
const WALKED_MAX: usize = 4 * FOUND_MAX;
/// The names of settings of git.
const SETTINGS: [&str; 2] = ["config", "config.worktree"];
/// Where a repository keeps what was committed.
const OBJECTS: &str = "objects";
/// Where it keeps the repositories of submodules.
const MODULES: &str = "modules";
/// What may have thousands of directories in a repository, and nothing that git obeys.
const STORES: [&str; 4] = ["lfs", "logs", "objects", "refs"];
/// How deep a closed directory is looked through for links.
const NEAR_DEPTH_MAX: usize = 2;
/// Most entries of a closed directory that are looked at.
const NEAR_ENTRIES_MAX: usize = 500;
/// How deep a protected directory is looked through for a file, or for links.
const DEPTH_MAX: usize = 32;

/// What is protected below these places, and `more`: names below each of them, or whole places. `beside` is what
/// else commands write to: what lies there above one of the places counts for all below it.
pub(super) fn places(
    roots: &[PathBuf],
    beside: &[PathBuf],
    more: &[PathBuf],
    user: Option<&Path>,
) -> Vec<PathBuf> {
    let is_written = |place: &Path| roots.iter().chain(beside).any(|root| place.starts_with(root));
    let mut places = above(roots, beside);
    for root in roots {
        if let Some(user) = user.filter(|user| user.starts_with(root)) {
            places.extend(OF_USER.map(|name| user.join(name)));
        }
        let of_git = of_git(root);
        let is_settings = |it: &PathBuf| SETTINGS.iter().any(|name| it.ends_with(name));
        let settings: Vec<_> = found(&of_git).into_iter().filter(is_settings).collect();
        let named = named::by_workspace(root, user, &settings);
        places.extend(named.into_iter().filter(|place| is_written(place)));
        places.extend(of_git);
        let ways = WAYS.map(Path::new).into_iter();
        // A whole place stays what it is.
        let names = ways.chain(OBEYED.map(Path::new)).chain(more.iter().map(PathBuf::as_path));
        places.extend(names.map(|name| root.join(name)));
    }
    // What is a link is another place as well: both count. Not, if that is all of a workspace.
    let is_part = |place: &PathBuf| !roots.iter().any(|root| root.starts_with(place));
    let behind = |place: &PathBuf| place.canonicalize().ok().filter(|real| real != place);
    let mut there = found(&places);
    let real: Vec<_> = there.iter().filter_map(behind).filter(is_part).collect();
    there.extend(found(&real));
    places.extend(real);
    let linked = there.iter().flat_map(|place| behind_links_in(place));
    let is_open = |place: &PathBuf| roots.iter().any(|root| place.starts_with(root));
    places.extend(linked.filter(is_open).filter(is_part));
    places.sort();
    places.dedup();
    places
}

/// What is obeyed in directories above these, as far as commands write there: git and agents look upwards.
fn above(roots: &[PathBuf], beside: &[PathBuf]) -> Vec<PathBuf> {
    let written = |place: &&Path| beside.iter().chain(roots).any(|root| place.starts_with(root));
    let above = roots.iter().flat_map(|root| root.ancestors().skip(1)).filter(written);
    let above: BTreeSet<&Path> = above.filter(|it| !roots.iter().any(|root| it == root)).collect();
    let mut places = Vec::new();
    for place in above {
        places.extend(OBEYED.map(|name| place.join(name)));
        let git = place.join(GIT);
        let heads = [git.join(HEAD), place.join(HEAD)];
        if heads.iter().any(|head| head.exists()) {
            places.extend(of_git(place));
        } else {
            // Only with a head it becomes a repository; what lies there by then would count.
            places.extend(obeyed_in(&git));
            places.extend(heads);
        }
        places.push(git);
    }
    places
}

/// What of git is protected in a workspace, or a directory that was added to one.
fn of_git(root: &Path) -> Vec<PathBuf> {
    let repositories = repository::at(&root.join(GIT));
    let mut places: Vec<_> = repositories.iter().flat_map(|it| obeyed_by(it)).collect();
    // With a head, any directory can be a repository by itself.
    let head = root.join(HEAD);
    match (head.is_file(), root.join(OBJECTS).is_dir()) {
        (true, true) => places.extend(obeyed_by(root)),
        (true, false) => places.extend(obeyed_in(root)),
        (false, _) => places.push(head),
    }
    for submodule in Submodules::below([root.to_owned()]).places {
        places.extend(of_submodule(&submodule, &repositories));
        places.push(submodule);
    }
    places
}

/// What of git is protected at a place `.git` of a submodule. `known` are repositories that are protected with
/// everything in them.
fn of_submodule(place: &Path, known: &[PathBuf]) -> Vec<PathBuf> {
    if place.symlink_metadata().is_err() {
        // Nothing is in it before it is made.
        return obeyed_in(place);
    }
    let is_known = |it: &PathBuf| known.iter().any(|known| it.starts_with(known.join(MODULES)));
    let repositories = repository::at(place).into_iter().filter(|it| !is_known(it));
    repositories.flat_map(|it| obeyed_by(&it)).collect()
}

/// What links lead to that lie in a protected directory.
fn behind_links_in(place: &Path) -> Vec<PathBuf> {
    behind_links(place, DEPTH_MAX, WALKED_MAX)
}

/// The same for links at the top of a directory, or a little below. It is looked through before every command.
pub(super) fn behind_links_near(place: &Path) -> Vec<PathBuf> {
    behind_links(place, NEAR_DEPTH_MAX, NEAR_ENTRIES_MAX)
}

fn behind_links(place: &Path, depth: usize, mut entries: usize) -> Vec<PathBuf> {
    let mut behind = Vec::new();
    let is_directory = place.symlink_metadata().is_ok_and(|it| it.is_dir());
    let depth = if is_directory { depth } else { 0 };
    walk(place, depth, &mut entries, &mut |entry, kind| {
        if kind.is_symlink() {
            behind.extend(entry.canonicalize());
        }
        false
    });
    behind
}

/// Shows what is in a directory and below, until it has been enough or nothing is `left` to show; then it is true.
fn walk<S>(place: &Path, depth: usize, left: &mut usize, show: &mut S) -> bool
where
    S: FnMut(&Path, FileType) -> bool,
{
    let Some(depth) = depth.checked_sub(1) else { return false };
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| {
        let (Ok(kind), Some(fewer)) = (entry.file_type(), left.checked_sub(1)) else { return true };
        *left = fewer;
        show(&entry.path(), kind) || (kind.is_dir() && walk(&entry.path(), depth, left, show))
    })
}

/// What of these places is there, by name. Directories that only lead to others are left out.
pub(crate) fn found(places: &[PathBuf]) -> Vec<PathBuf> {
    let Named { exact, starred } = Named::of(places);
    // What is named as it is comes first: many others leave no room for the rest.
    let starred = starred.into_iter().flat_map(|starred| starred.places);
    let mut found: Vec<_> = exact.into_iter().cloned().chain(starred).collect();
    found.retain(|place| {
        let kind = place.symlink_metadata();
        kind.is_ok_and(|kind| !(kind.is_dir() && is_way(place)))
    });
    found.truncate(FOUND_MAX);
    found.sort();
    found.dedup();
    found
}

/// The protected place, if any, at or below which a file with several names has one of them: this file. Not, if
/// `place` itself is protected.
pub(crate) fn other_name(
    place: &Path,
    file: &Metadata,
    roots: &[PathBuf],
    more: &[PathBuf],
) -> Option<PathBuf> {
    let found = found(&places(roots, &[], more, None));
    let is_obeyed = found.iter().any(|obeyed| place.starts_with(obeyed));
    found.iter().filter(|_| !is_obeyed).find_map(|obeyed| named_below(obeyed, file))
}

/// The name that a file has at a place, or below it.
fn named_below(place: &Path, file: &Metadata) -> Option<PathBuf> {
    let is_it = |place: &Path| {
        let other = place.symlink_metadata();
        other.is_ok_and(|other| (other.dev(), other.ino()) == (file.dev(), file.ino()))
    };
    if is_it(place) {
        return Some(place.to_owned());
    }
    let mut name = None;
    walk(place, DEPTH_MAX, &mut { WALKED_MAX }, &mut |entry, _| {
        name = is_it(entry).then(|| entry.to_owned());
        name.is_some()
    });
    name
}

/// The submodules of the repositories among these places, as they are by now.
pub(crate) fn submodules(known: &[PathBuf]) -> Submodules {
    let repositories = known.iter().filter(|place| place.ends_with(GIT));
    Submodules::below(repositories.filter_map(|place| place.parent()).map(Path::to_owned))
}

/// Whether a place, as a directory, only leads to others: what else is in it is nobody's concern.
pub(crate) fn is_way(place: &Path) -> bool {
    WAYS.iter().any(|way| place.ends_with(way))
}

/// Names of places, and what those with stars stand for. Whether it is there is another question.
pub(crate) struct Named<'a> {
    pub(crate) exact: Vec<&'a PathBuf>,
    pub(crate) starred: Vec<Starred>,
}

/// What names with one star stand for.
pub(crate) struct Starred {
    /// What stands before the star.
    pub(crate) above: PathBuf,
    pub(crate) places: Vec<PathBuf>,
    /// Whether there are more.
    pub(crate) is_cut: bool,
}

impl<'a> Named<'a> {
    /// Looks what stars stand for. Each directory is read once, however many names lead through it.
    pub(crate) fn of(places: &'a [PathBuf]) -> Self {
        let mut exact = Vec::new();
        let mut stars: BTreeMap<(PathBuf, Star), Vec<PathBuf>> = BTreeMap::new();
        for place in places {
            match Star::first_in(place) {
                Some((above, star, rest)) => stars.entry((above, star)).or_default().push(rest),
                None => exact.push(place),
            }
        }
        let starred = stars.into_iter().map(|((above, star), rests)| {
            let (directories, is_cut) = star.directories(&above);
            let places = directories.iter().flat_map(|it| rests.iter().map(|rest| it.join(rest)));
            Starred { places: places.collect(), above, is_cut }.further()
        });
        Self { starred: starred.collect(), exact }
    }
}

impl Starred {
    /// The same, with what further stars in the names stand for.
    fn further(mut self) -> Self {
        let has_star = |place: &PathBuf| Star::first_in(place).is_some();
        let (more, places) = self.places.into_iter().partition::<Vec<_>, _>(has_star);
        self.places = places;
        for Self { places, is_cut, .. } in Named::of(&more).starred {
            self.places.extend(places);
            self.is_cut |= is_cut;
        }
        self
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Star {
    /// Any directory.
    One,
    /// Any directory, and those below it.
    All,
}

impl Star {
    /// What stands before the first star of a name, the star, and what stands behind it.
    fn first_in(place: &Path) -> Option<(PathBuf, Self, PathBuf)> {
        if !place.as_os_str().as_bytes().contains(&b'*') {
            return None;
        }
        let mut above = PathBuf::new();
        let mut parts = place.iter();
        loop {
            let part = parts.next()?;
            let star = [("*", Self::One), ("**", Self::All)].into_iter().find(|it| part == it.0);
            if let Some((_, star)) = star {
                return Some((above, star, parts.as_path().to_owned()));
            }
            above.push(part);
        }
    }

    /// The directories that it stands for, those first that are nearer, and whether there are more.
    fn directories(self, above: &Path) -> (Vec<PathBuf>, bool) {
        let mut found = Vec::new();
        let (mut next, mut walked) = (Some(above.to_owned()), 0);
        while let Some(directory) = next.filter(|_| found.len() < WALKED_MAX) {
            found.extend(below(&directory));
            next = found.get(walked).filter(|_| self == Self::All).cloned();
            walked += 1;
        }
        let is_cut = WALKED_MAX <= found.len();
        found.truncate(WALKED_MAX);
        (found, is_cut)
    }
}

/// The directories in one. What a repository of git stores is none: nothing in it is obeyed.
fn below(directory: &Path) -> Vec<PathBuf> {
    if directory.is_symlink() {
        return Vec::new();
    }
    let is_repository = directory.join(HEAD).is_file();
    let is_store = |name: &OsStr| is_repository && STORES.iter().any(|store| name == *store);
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    // A link, too: that one stands there counts.
    let leads = |kind: FileType| kind.is_dir() || kind.is_symlink();
    let directories = entries.filter(|it| it.file_type().is_ok_and(leads));
    let others = directories.filter(|it| !is_store(&it.file_name())).map(|it| it.path());
    let mut others: Vec<_> = others.take(WALKED_MAX).collect();
    others.sort();
    others
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(root: &Path, more: &[&str]) -> String {
        let more: Vec<_> = more.iter().map(PathBuf::from).collect();
        let found = found(&places(&[root.to_owned()], &[], &more, None));
        let name = |path: &PathBuf| path.strip_prefix(root).unwrap().display().to_string();
        found.iter().map(name).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_others_obey_is_found_where_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        assert_eq!(names(&root, &[]), "");
        for place in
            [".git/hooks", ".git/modules/a/hooks", ".git/modules/b", ".hg", ".sl", ".vscode", "x"]
        {
            fs::create_dir_all(root.join(place)).unwrap();
        }
        for file in [
            ".git/config",
            ".git/modules/b/config",
            ".hg/hgrc",
            ".hg/x",
            ".sl/config",
            ".vscode/tasks.json",
            ".vscode/x",
            "own",
        ] {
            fs::write(root.join(file), "").unwrap();
        }
        assert_eq!(
            names(&root, &["own"]),
            ".git/config .git/hooks .git/modules/a/hooks .git/modules/b/config .hg/hgrc .sl/config \
             .vscode/tasks.json own"
        );
    }

    // A submodule may have any name, and a directory becomes a repository in any order.
    #[test]
    fn repositories_of_submodules_are_found_however_deep() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let modules = root.join(".git/modules");
        for place in ["a/b/c/d/e/f/hooks", "a/modules/x", "a/objects/config", "later/info"] {
            fs::create_dir_all(modules.join(place)).unwrap();
        }
        for file in ["a/HEAD", "a/config", "a/modules/x/config", "later/info/attributes"] {
            fs::write(modules.join(file), "").unwrap();
        }
        let base = ".git/modules";
        assert_eq!(
            names(&root, &[]),
            format!(
                "{base}/a/b/c/d/e/f/hooks {base}/a/config {base}/a/modules/x/config \
                 {base}/later/info/attributes"
            )
        );
    }

    #[test]
    fn more_than_is_looked_through_is_known() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().canonicalize().unwrap();
        let stars = [place.join("**/config")];
        let is_cut = || Named::of(&stars).starred.iter().any(|starred| starred.is_cut);
        fs::create_dir(place.join("a")).unwrap();
        assert!(!is_cut());
        for number in 0..WALKED_MAX {
            fs::create_dir(place.join(format!("a/{number}"))).unwrap();
        }
        assert!(is_cut());
    }

    #[test]
    fn a_name_with_several_stars_is_understood() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().canonicalize().unwrap();
        fs::create_dir_all(place.join("a/b")).unwrap();
        fs::write(place.join("a/b/config"), "").unwrap();
        assert_eq!(found(&[place.join("*/*/config")]), [place.join("a/b/config")]);
    }

    #[test]
    fn a_file_with_several_names_is_known_by_the_protected_one() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir_all(root.join(".git/hooks/deep")).unwrap();
        for (file, name) in [("AGENTS.md", "a"), (".git/hooks/deep/x", "b"), ("plain", "c")] {
            fs::write(root.join(file), "").unwrap();
            fs::hard_link(root.join(file), root.join(name)).unwrap();
        }
        let other = |name: &str| {
            let file = root.join(name).symlink_metadata().unwrap();
            other_name(&root.join(name), &file, std::slice::from_ref(&root), &[])
        };
        assert_eq!(other("a"), Some(root.join("AGENTS.md")));
        assert_eq!(other("b"), Some(root.join(".git/hooks/deep/x")));
        for own in ["AGENTS.md", ".git/hooks/deep/x", "plain", "c"] {
            assert_eq!(other(own), None, "{own}");
        }
    }

    #[test]
    fn a_worktree_protects_what_its_repository_obeys() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let (work, own) = (root.join("work"), root.join("main/.git/worktrees/work"));
        let common = root.join("main/.git");
        for place in [&work, &own.join("modules/lib"), &common.join("modules/a/lib")] {
            fs::create_dir_all(place).unwrap();
        }
        fs::write(work.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
        fs::write(own.join("commondir"), "../..\n").unwrap();
        let settings = [common.clone(), common.join("modules/a/lib"), own.join("modules/lib")];
        let settings = settings.map(|place| place.join("config"));
        for file in &settings {
            fs::write(file, "").unwrap();
        }
        let mut wanted = vec![own.join("commondir"), work.join(".git")];
        wanted.extend(settings);
        wanted.sort();
        assert_eq!(found(&places(std::slice::from_ref(&work), &[], &[], None)), wanted);
    }

    #[test]
    fn what_a_file_names_as_repository_is_protected_as_one() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::write(root.join(".git"), "gitdir: .bare\n").unwrap();
        fs::create_dir_all(root.join(".bare/hooks")).unwrap();
        fs::create_dir_all(root.join(".bare/modules/lib")).unwrap();
        fs::write(root.join(".bare/config"), "[core]\n\thooksPath = own\n").unwrap();
        fs::write(root.join(".bare/modules/lib/config"), "[include]\npath=more\n").unwrap();
        for name in ["own", ".bare/modules/lib/more"] {
            fs::write(root.join(name), "").unwrap();
        }
        assert_eq!(
            names(&root, &[]),
            ".bare/config .bare/hooks .bare/modules/lib/config .bare/modules/lib/more .git own"
        );
    }
}
