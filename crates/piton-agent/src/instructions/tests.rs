use std::fs;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

/// A home with settings in `.config`, and a workspace in `work`.
struct Machine {
    root: TempDir,
}

impl Machine {
    fn new() -> Self {
        let machine = Self { root: tempfile::tempdir().unwrap() };
        for directory in [".config", "work/sub/deep"] {
            fs::create_dir_all(machine.at(directory)).unwrap();
        }
        machine
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(path)
    }

    fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        fs::write(self.at(path), content).unwrap();
    }

    fn find(&self, directory: &str) -> Instructions {
        let (own, home) = (self.at(".config"), self.at(""));
        let (workspace, directory) = (self.at("work"), self.at(directory));
        let own = Some(own.as_path());
        let directory = Some(directory.as_path());
        Instructions::find(Places { own, home: Some(&home), workspace: &workspace, directory })
    }

    fn texts(&self, directory: &str) -> Vec<String> {
        self.find(directory).files.into_iter().map(|file| file.text).collect()
    }
}

// D87
#[test]
fn the_users_own_come_first_and_the_nearest_last() {
    let machine = Machine::new();
    machine.write(".config/AGENTS.md", "mine");
    machine.write("work/AGENTS.md", "root");
    machine.write("work/sub/AGENTS.md", "sub");
    machine.write("work/sub/deep/CLAUDE.md", "deep");
    assert_eq!(machine.texts("work"), ["mine", "root"]);
    assert_eq!(machine.texts("work/sub/deep"), ["mine", "root", "sub", "deep"]);
    assert_eq!(machine.texts("elsewhere"), ["mine", "root"]);
    let found = machine.find("work");
    let owners: Vec<_> = found.files.iter().map(|file| file.owner).collect();
    assert_eq!(owners, [Owner::User, Owner::Repository]);
}

#[test]
fn of_two_names_in_one_directory_the_first_counts() {
    let machine = Machine::new();
    machine.write("work/CLAUDE.md", "claude");
    assert_eq!(machine.texts("work"), ["claude"]);
    machine.write("work/AGENTS.md", "agents");
    assert_eq!(machine.texts("work"), ["agents"]);
}

#[test]
fn a_huge_file_is_cut_and_said_so() {
    let machine = Machine::new();
    machine.write("work/AGENTS.md", "é".repeat(5 * 1024 * 1024));
    let found = machine.find("work");
    let [file] = found.files.as_slice() else { panic!("{found:?}") };
    assert!(file.text.len() <= 32 * 1024 && file.text.ends_with('é'));
    assert!(file.section().contains("bytes of this file are left out"));
    assert_eq!(found.notes.len(), 1);
    assert!(found.notes[0].why.ends_with("bytes are left out"), "{found:?}");
}

#[test]
fn the_nearest_get_the_room_if_there_is_not_enough() {
    let machine = Machine::new();
    for directory in [".config", "work", "work/sub"] {
        machine.write(&format!("{directory}/AGENTS.md"), format!("{directory} ").repeat(4_000));
    }
    let found = machine.find("work/sub");
    let [own, root, nearest] = found.files.as_slice() else { panic!("{found:?}") };
    assert_eq!(root.text.len(), "work ".len() * 4_000 - 1, "it is whole");
    assert!(own.text.len() < root.text.len() && root.text.len() < nearest.text.len());
    assert!(found.files.iter().map(|file| file.text.len()).sum::<usize>() <= BYTES_MAX);
    assert!(found.notes.iter().any(|note| note.path.ends_with(".config/AGENTS.md")), "{found:?}");
}

#[test]
fn links_are_followed_once_and_not_out_of_what_is_the_users() {
    let machine = Machine::new();
    machine.write("work/AGENTS.md", "one");
    symlink(machine.at("work/AGENTS.md"), machine.at("work/sub/AGENTS.md")).unwrap();
    assert_eq!(machine.texts("work/sub"), ["one"]);
    fs::remove_file(machine.at("work/AGENTS.md")).unwrap();
    symlink("AGENTS.md", machine.at("work/AGENTS.md")).unwrap();
    fs::remove_file(machine.at("work/sub/AGENTS.md")).unwrap();
    symlink("/etc/hostname", machine.at("work/sub/AGENTS.md")).unwrap();
    let found = machine.find("work/sub");
    assert_eq!(found.files, []);
    assert_eq!(found.notes.len(), 2, "{found:?}");
}

// Keys lie in the user's own directory, too.
#[test]
fn a_link_of_a_project_into_the_users_directory_is_not_followed_and_one_of_the_user_is() {
    let machine = Machine::new();
    machine.write("notes.md", "mine");
    symlink("../notes.md", machine.at("work/AGENTS.md")).unwrap();
    assert_eq!(machine.texts("work"), Vec::<String>::new());
    assert_eq!(machine.find("work").notes.len(), 1);
    symlink("../notes.md", machine.at(".config/AGENTS.md")).unwrap();
    assert_eq!(machine.texts("work"), ["mine"]);
}

#[test]
fn what_is_no_text_is_replaced_and_what_nobody_sees_is_left_out() {
    let machine = Machine::new();
    machine.write("work/AGENTS.md", b"a\xff\x1b[2Jb \xe2\x80\xaec");
    let found = machine.find("work");
    assert_eq!(found.files[0].text, "a\u{fffd}[2Jb c");
    assert_eq!(found.notes.len(), 1, "{found:?}");
    machine.write("work/AGENTS.md", "\n \n");
    assert_eq!(machine.find("work"), Instructions::default());
}

#[test]
fn a_directory_in_place_of_a_file_is_named() {
    let machine = Machine::new();
    fs::create_dir(machine.at("work/AGENTS.md")).unwrap();
    let found = machine.find("work");
    assert_eq!(found.notes[0].why, "it cannot be used: it is no file");
}

#[test]
fn a_file_that_is_named_follows_the_line_that_names_it() {
    let machine = Machine::new();
    machine.write("work/AGENTS.md", "See @sub/style.md, and @sub/deep/more.md.\nThe end.");
    machine.write("work/sub/style.md", "Short lines; (@deep/more.md)");
    machine.write("work/sub/deep/more.md", "More.");
    let expected = "See @sub/style.md, and @sub/deep/more.md.\n\
        [what sub/style.md says:]\nShort lines; (@deep/more.md)\n\
        [what deep/more.md says:]\nMore.\n[end of deep/more.md]\n[end of sub/style.md]\nThe end.";
    assert_eq!(machine.texts("work"), [expected]);
    assert_eq!(machine.find("work").notes, []);
}

#[test]
fn what_names_no_file_is_left_as_it_is() {
    let machine = Machine::new();
    let text =
        "Ask @somebody or a@b.c, use @scope/package.\n`@code.md`\n```\n@code.md\n```\n@sub @.env";
    machine.write("work/AGENTS.md", text);
    machine.write("work/code.md", "no");
    machine.write("work/.env", "KEY=secret");
    assert_eq!(machine.texts("work"), [text]);
}

#[test]
fn files_that_name_each_other_are_read_once_and_four_deep() {
    let machine = Machine::new();
    machine.write("work/AGENTS.md", "@1.md @AGENTS.md");
    for number in 1..=6 {
        let text = format!("level {number} @{}.md @1.md @AGENTS.md", number + 1);
        machine.write(&format!("work/{number}.md"), text);
    }
    let text = machine.texts("work").remove(0);
    for number in 1..=6 {
        let times = text.matches(&format!("level {number} ")).count();
        assert_eq!(times, usize::from(number <= 4), "{number}: {text}");
    }
}

#[test]
fn no_file_outside_of_its_tree_is_read() {
    let machine = Machine::new();
    machine.write("secret.md", "secret");
    machine.write("work/ours.md", "ours");
    machine.write(".config/AGENTS.md", "@mine.md @../work/ours.md");
    machine.write(".config/mine.md", "mine");
    symlink(machine.at("secret.md"), machine.at("work/link.md")).unwrap();
    let absolute = machine.at("secret.md");
    machine.write("work/AGENTS.md", format!("@../secret.md @link.md @{}", absolute.display()));
    let found = machine.find("work");
    let [own, root] = found.files.as_slice() else { panic!("{found:?}") };
    assert!(own.text.contains("\nmine\n") && !own.text.contains("\nours\n"), "{}", own.text);
    assert!(!root.text.contains('\n'), "{}", root.text);
    assert_eq!(found.notes.len(), 4, "{found:?}");
    assert!(found.notes.iter().all(|note| note.why.ends_with("lies elsewhere")), "{found:?}");
}

#[test]
fn a_named_file_that_is_too_long_is_cut_and_said_so() {
    let machine = Machine::new();
    machine.write("work/AGENTS.md", "@long.md\nThe end.");
    machine.write("work/long.md", "x".repeat(40 * 1024));
    let found = machine.find("work");
    assert!(found.files[0].text.ends_with("[end of long.md]\nThe end."));
    assert!(found.files[0].text.contains("\n[8192 bytes of it are left out here;"));
    assert_eq!(found.notes[0].why, "its last 8192 bytes are left out");
}
