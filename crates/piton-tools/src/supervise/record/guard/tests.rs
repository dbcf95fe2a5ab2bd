use std::os::unix::fs::symlink;

use piton_core::id::{CallId, TurnId};

use super::note::NOTE;
use super::*;
use crate::sandbox::{Policy, Rules};
use crate::supervise::record::log::LOG_VERSION;

/// A workspace and a shelf of records.
struct Bench {
    _directory: tempfile::TempDir,
    root: PathBuf,
}

/// A command that was begun.
struct Begun {
    directory: PathBuf,
    log: File,
}

impl Bench {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("work/.git/hooks")).unwrap();
        fs::write(root.join("work/.git/config"), "before\n").unwrap();
        Self { _directory: directory, root }
    }

    fn work(&self, name: &str) -> PathBuf {
        self.root.join("work").join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.work(name)).unwrap_or_else(|_| "nothing".into())
    }

    fn policy(&self) -> Policy {
        Rules::none().at(&self.root.join("work"))
    }

    /// Begins a command, and holds its log as a supervisor does.
    fn begin(&self, name: &str) -> Begun {
        let marker = format!("c/{name}");
        let directory = self.root.join("calls").join(&marker);
        fs::create_dir_all(&directory).unwrap();
        let mut policy = self.policy();
        let whole = policy.clone();
        policy.protect.clear();
        let intent = Intent {
            version: LOG_VERSION,
            call: CallId { turn: TurnId(1), step: 1, index: 0 },
            command: "true".into(),
            directory: "/".into(),
            timeout_ms: None,
            keep: false,
            at_ms: 0,
            marker: marker.clone(),
            sandbox: Some(policy),
            input: false,
            terminal: false,
            secret: false,
            sealed: true,
            guard: Some(directory.clone()),
        };
        let log = opening().create(true).open(directory.join("log")).unwrap();
        lock(&log).unwrap();
        log::append(&log, &Record::Intended(Box::new(intent.clone()))).unwrap();
        begin(&directory, &marker, &whole).unwrap();
        Begun { directory, log }
    }
}

impl Begun {
    fn story(&self) -> Story {
        Story::read(&self.log).unwrap()
    }

    fn end(&self) -> Vec<String> {
        settle(&self.log, &self.story(), Witness::Inner);
        forget(&self.log);
        let story = self.story();
        assert_eq!(story.not_put_back, []);
        let told = |change: &Change| {
            let place = change.place.path();
            let name = place.file_name().unwrap().to_str().unwrap();
            format!("{name} {:?}", change.kind)
        };
        story.changes.iter().map(told).collect()
    }
}

// The log is read many times, and what is protected is long.
#[test]
fn what_is_protected_stands_in_the_note_alone() {
    let bench = Bench::new();
    let begun = bench.begin("1");
    let intent = begun.story().intent.unwrap();
    let whole = bench.policy();
    assert!(intent.sandbox.as_ref().unwrap().protect.is_empty() && !whole.protect.is_empty());
    assert_eq!(whole_policy(&intent).unwrap(), Some(whole.clone()));
    fs::remove_file(begun.directory.join(NOTE)).unwrap();
    assert!(whole_policy(&intent).is_err(), "without its note no command is started");
    // Records of older versions.
    let intent = Intent { sandbox: Some(whole.clone()), ..intent };
    assert_eq!(whole_policy(&intent).unwrap(), Some(whole));
}

#[test]
fn what_was_changed_is_put_back_and_kept() {
    let bench = Bench::new();
    let begun = bench.begin("1");
    fs::write(bench.work(".git/config"), "after\n").unwrap();
    fs::write(bench.work(".git/hooks/run"), "new\n").unwrap();
    symlink("/etc", bench.work(".envrc")).unwrap();
    assert_eq!(begun.end(), [".envrc Made", "config Changed", "run Made"]);
    assert_eq!(bench.read(".git/config"), "before\n");
    assert!(!bench.work(".git/hooks/run").exists());
    assert!(bench.work(".envrc").symlink_metadata().is_err());
    let changes = begun.story().changes;
    let text = texts(&begun.directory, &changes[1]).unwrap();
    assert_eq!(text, ("before\n".into(), "after\n".into()));
    assert_eq!(begun.end().len(), 3, "twice does no harm");
    assert_eq!(decide(&begun.directory, true, CHANGES_MAX).unwrap(), Decision::Applied);
    assert_eq!(bench.read(".git/config"), "after\n");
    assert_eq!(bench.read(".git/hooks/run"), "new\n");
    assert_eq!(fs::read_link(bench.work(".envrc")).unwrap(), Path::new("/etc"));
    assert_eq!(
        decide(&begun.directory, false, CHANGES_MAX).unwrap(),
        Decision::Applied,
        "it is decided once"
    );
}

#[test]
fn what_else_is_in_a_repository_is_nobodys_concern() {
    let bench = Bench::new();
    let begun = bench.begin("1");
    fs::write(bench.work(".git/HEAD"), "ref: refs/heads/other\n").unwrap();
    fs::create_dir_all(bench.work(".vscode")).unwrap();
    fs::write(bench.work(".vscode/other.json"), "{}").unwrap();
    assert_eq!(begun.end(), [] as [String; 0]);
    assert_eq!(bench.read(".git/HEAD"), "ref: refs/heads/other\n");
}

#[test]
fn a_second_name_changes_nothing() {
    let bench = Bench::new();
    fs::hard_link(bench.work(".git/config"), bench.work("second")).unwrap();
    let begun = bench.begin("1");
    fs::write(bench.work("second"), "after\n").unwrap();
    assert_eq!(begun.end(), ["config Changed"]);
    assert_eq!(bench.read(".git/config"), "before\n");
    fs::write(bench.work("second"), "later\n").unwrap();
    assert_eq!(bench.read(".git/config"), "before\n", "the names lead to different files now");
}

#[test]
fn a_directory_that_has_become_a_link_leads_nowhere() {
    let bench = Bench::new();
    let begun = bench.begin("1");
    fs::create_dir_all(bench.root.join("away/hooks")).unwrap();
    fs::write(bench.root.join("away/config"), "away\n").unwrap();
    fs::rename(bench.work(".git"), bench.work("old")).unwrap();
    symlink("../away", bench.work(".git")).unwrap();
    assert_eq!(begun.end(), [".git Made", "config Removed"]);
    assert_eq!(bench.read(".git/config"), "before\n");
    assert_eq!(fs::read_to_string(bench.root.join("away/config")).unwrap(), "away\n");
}

// A command says how large a file is, and not how long others look at it.
#[test]
fn a_file_that_is_too_large_to_be_kept_is_set_aside_unread() {
    let bench = Bench::new();
    let large = 1 << 36;
    let begun = bench.begin("1");
    File::create(bench.work(".mcp.json")).unwrap().set_len(large).unwrap();
    fs::create_dir(bench.work(".codex")).unwrap();
    File::create(bench.work(".codex/x")).unwrap().set_len(large).unwrap();
    assert_eq!(begun.end(), ["x Made", ".mcp.json Made"]);
    assert!(!bench.work(".mcp.json").exists() && !bench.work(".codex/x").exists());
    assert_eq!(begun.end().len(), 2, "what was set aside is no change");
    let aside = fs::read_dir(bench.work(".codex")).unwrap().flatten().next().unwrap();
    assert_eq!(aside.metadata().unwrap().len(), large);
}

// Whichever ends first: what the one has changed is not what the other one found.
#[test]
fn commands_beside_each_other_share_what_was_noted_first() {
    let bench = Bench::new();
    let first = bench.begin("1");
    fs::write(bench.work(".git/config"), "evil\n").unwrap();
    fs::write(bench.work(".mcp.json"), "evil\n").unwrap();
    let second = bench.begin("2");
    assert_eq!(first.end(), ["config Changed", ".mcp.json Made"]);
    assert_eq!(bench.read(".git/config"), "before\n");
    assert_eq!(second.end(), [] as [String; 0]);
    assert_eq!(
        (bench.read(".git/config").as_str(), bench.work(".mcp.json").exists()),
        ("before\n", false)
    );
    // The other way round.
    let first = bench.begin("3");
    fs::write(bench.work(".git/config"), "evil\n").unwrap();
    let second = bench.begin("4");
    assert_eq!(second.end(), ["config Changed"]);
    assert_eq!(first.end(), [] as [String; 0]);
    assert_eq!(bench.read(".git/config"), "before\n");
}

#[test]
fn what_a_person_wants_is_not_put_back_by_the_next_end() {
    let bench = Bench::new();
    let first = bench.begin("1");
    let second = bench.begin("2");
    fs::write(bench.work(".git/config"), "wanted\n").unwrap();
    assert_eq!(first.end(), ["config Changed"]);
    assert_eq!(decide(&first.directory, true, CHANGES_MAX).unwrap(), Decision::Applied);
    assert_eq!(second.end(), [] as [String; 0]);
    assert_eq!(bench.read(".git/config"), "wanted\n");
}

#[test]
fn what_a_person_writes_after_the_end_is_not_overwritten() {
    let bench = Bench::new();
    let begun = bench.begin("1");
    fs::write(bench.work(".git/config"), "evil\n").unwrap();
    begun.end();
    fs::write(bench.work(".git/config"), "mine\n").unwrap();
    assert_eq!(decide(&begun.directory, true, CHANGES_MAX).unwrap(), Decision::Overtaken);
    assert_eq!(bench.read(".git/config"), "mine\n");
}

// Its supervisors are dead, and its agent never comes back.
#[test]
fn the_next_command_settles_what_ended_unseen() {
    let bench = Bench::new();
    let Begun { directory, log } = bench.begin("1");
    let gone = Identity { boot: identity::boot().into(), pid: i32::MAX, start: 1 };
    log::append(&log, &Record::Started(gone)).unwrap();
    fs::write(bench.work(".git/config"), "evil\n").unwrap();
    drop(log);
    let next = bench.begin("2");
    assert_eq!(bench.read(".git/config"), "before\n");
    assert_eq!(Story::read(&open_log(&directory).unwrap()).unwrap().changes.len(), 1);
    assert_eq!(next.end(), [] as [String; 0]);
}

// Whichever is looked at first: one of them has nothing left to say.
#[test]
fn what_ended_unseen_is_settled_although_others_of_its_kind_run() {
    for lost in 0..2 {
        let bench = Bench::new();
        let mut begun = vec![bench.begin("1"), bench.begin("2")];
        let Begun { directory, log } = begun.remove(lost);
        let gone = Identity { boot: identity::boot().into(), pid: i32::MAX, start: 1 };
        log::append(&log, &Record::Started(gone)).unwrap();
        fs::write(bench.work(".git/config"), "evil\n").unwrap();
        drop(log);
        let next = bench.begin("3");
        assert_eq!(bench.read(".git/config"), "before\n");
        assert_eq!(Story::read(&open_log(&directory).unwrap()).unwrap().changes.len(), 1);
        assert_eq!(next.end(), [] as [String; 0]);
    }
}

// What a command left running changes while a person is asked is not what that person said yes to.
#[test]
fn a_yes_makes_only_what_was_asked_about() {
    let bench = Bench::new();
    let begun = bench.begin("1");
    fs::write(bench.work(".git/config"), "after\n").unwrap();
    assert_eq!(begun.end(), ["config Changed"]);
    let seen = begun.story().changes.len();
    fs::write(bench.work(".git/config"), "later\n").unwrap();
    fs::write(bench.work(".mcp.json"), "later\n").unwrap();
    assert_eq!(begun.end(), ["config Changed", "config Changed", ".mcp.json Made"]);
    assert_eq!(decide(&begun.directory, true, seen).unwrap(), Decision::Applied);
    assert_eq!(bench.read(".git/config"), "after\n");
    assert!(!bench.work(".mcp.json").exists());
}

#[test]
fn records_that_were_removed_are_not_made_anew() {
    let bench = Bench::new();
    let begun = bench.begin("one");
    fs::write(bench.work(".git/config"), "after\n").unwrap();
    fs::remove_dir_all(bench.root.join("calls")).unwrap();
    begun.end();
    assert!(!bench.root.join("calls").exists());
}

fn git(root: &Path, arguments: &str) {
    let mut command = std::process::Command::new("git");
    command.args(arguments.split(' ')).current_dir(root).env("HOME", "/nonexistent");
    assert!(command.status().unwrap().success(), "{arguments}");
}

/// Makes a repository that names a program, as a submodule of the one at `root`.
fn add_evil(root: &Path) {
    fs::create_dir(root.join("evil")).unwrap();
    git(&root.join("evil"), "init -q");
    git(&root.join("evil"), "config core.fsmonitor evil");
    git(root, &format!("update-index --add --cacheinfo 160000,{},evil", "1".repeat(40)));
}

impl Bench {
    /// With a repository that git made.
    fn with_git() -> Self {
        let bench = Self::new();
        fs::remove_dir_all(bench.work(".git")).unwrap();
        git(&bench.work(""), "init -q");
        bench
    }

    fn is_evil_obeyed(&self) -> bool {
        self.work("evil/.git").exists() || self.work("sub/evil/.git").exists()
    }
}

// Git follows a link at the place of its index.
#[test]
fn a_submodule_that_an_index_behind_a_link_names_is_not_obeyed() {
    let bench = Bench::with_git();
    let begun = bench.begin("1");
    add_evil(&bench.work(""));
    fs::rename(bench.work(".git/index"), bench.work(".git/ix")).unwrap();
    symlink("ix", bench.work(".git/index")).unwrap();
    assert_eq!(begun.end(), [".git Made"]);
    assert!(!bench.is_evil_obeyed());
}

#[test]
fn a_submodule_of_a_new_submodule_is_not_obeyed() {
    let bench = Bench::with_git();
    let begun = bench.begin("1");
    fs::create_dir(bench.work("sub")).unwrap();
    git(&bench.work("sub"), "init -q");
    add_evil(&bench.work("sub"));
    let digest = "2".repeat(40);
    git(&bench.work(""), &format!("update-index --add --cacheinfo 160000,{digest},sub"));
    assert_eq!(begun.end(), [".git Made"]);
    assert!(!bench.is_evil_obeyed() && bench.work("sub/.git").exists());
}

// It may name submodules to git.
#[test]
fn an_index_that_cannot_be_read_any_more_is_put_aside() {
    let bench = Bench::with_git();
    let begun = bench.begin("1");
    fs::write(bench.work(".git/index"), "DIRC").unwrap();
    assert_eq!(begun.end(), ["index Made"]);
    assert!(!bench.work(".git/index").exists());
    fs::write(bench.work(".git/index"), "mine").unwrap();
    assert_eq!(bench.begin("2").end(), [] as [String; 0], "it was so before");
    assert_eq!(bench.read(".git/index"), "mine");
}

#[test]
fn submodules_of_submodules_that_were_there_before_are_no_change() {
    let bench = Bench::with_git();
    fs::create_dir(bench.work("sub")).unwrap();
    git(&bench.work("sub"), "init -q");
    add_evil(&bench.work("sub"));
    let digest = "2".repeat(40);
    git(&bench.work(""), &format!("update-index --add --cacheinfo 160000,{digest},sub"));
    let begun = bench.begin("1");
    assert_eq!(begun.end(), [] as [String; 0]);
    let begun = bench.begin("2");
    git(&bench.work("sub/evil"), "config core.fsmonitor worse");
    assert_eq!(begun.end(), ["config Changed"]);
}

// What is not recorded knows of what is, and of its own kind.
#[test]
fn what_is_watched_does_not_take_the_work_of_others_for_what_was_before() {
    let bench = Bench::new();
    let calls = bench.root.join("calls");
    let evil = |text: &str| fs::write(bench.work(".git/config"), text).unwrap();
    let watch = || Watch::begin(&bench.policy(), Some(&calls));
    // A command changed it, then a server begins.
    let command = bench.begin("1");
    evil("evil\n");
    let server = watch();
    assert_eq!(command.end(), ["config Changed"]);
    assert_eq!(server.settle(Instead::Aside).0.len(), 0);
    assert_eq!(bench.read(".git/config"), "before\n");
    // A server changed it, then a command and another server begin.
    let server = watch();
    evil("evil\n");
    let (other, command) = (watch(), bench.begin("2"));
    let (put_back, settled) = server.settle(Instead::Aside);
    assert_eq!(put_back.len(), 1);
    assert_eq!(command.end(), [] as [String; 0]);
    assert_eq!(other.settle(Instead::Aside).0.len(), 0);
    assert_eq!(bench.read(".git/config"), "before\n");
    let names = fs::read_dir(bench.work(".git")).unwrap().flatten();
    let aside =
        names.filter(|it| it.file_name().to_str().unwrap().starts_with("not-obeyed-config-"));
    assert_eq!(aside.count(), 1, "what was written is not lost");
    // Between two of them a person changes something.
    evil("mine\n");
    let next = watch();
    assert_eq!(next.changed_since(&settled), [bench.work(".git/config")]);
    // And while one works, with a yes.
    evil("edited\n");
    let edited = digest::of(b"edited\n");
    HeldList::take(&calls).unwrap().accept(&[(bench.work(".git/config"), Some(edited))]);
    assert_eq!(next.settle(Instead::Aside).0.len(), 0);
    assert_eq!(bench.read(".git/config"), "edited\n");
}
