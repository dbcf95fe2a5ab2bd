use std::fs;

use tempfile::TempDir;

use super::*;
use crate::environment::Environment;

struct Home {
    root: TempDir,
}

impl Home {
    fn new() -> Self {
        Self { root: tempfile::tempdir().unwrap() }
    }

    fn write(&self, path: &str, content: &str) {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn skills(&self) -> Skills {
        let home = self.root.path().to_str().unwrap();
        let variables = [("HOME".into(), home.into())];
        let settings = Settings::resolve(Environment::new("/".into(), variables)).unwrap();
        Skills::find(&settings, Path::new("/no/workspace"))
    }
}

fn skill(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\nDo it.\n")
}

#[test]
fn skills_are_found_where_the_user_keeps_them_and_the_first_counts() {
    let home = Home::new();
    home.write(".claude/skills/pdf/SKILL.md", &skill("pdf", "Theirs."));
    home.write(".agents/skills/pdf/SKILL.md", &skill("pdf", "Reads PDF. Also writes it."));
    home.write(".config/piton/skills/notes/SKILL.md", &skill("notes", "Keeps notes."));
    home.write(".agents/skills/empty/readme.txt", "no skill");
    let skills = home.skills();
    let list = skills.list().unwrap();
    let lines: Vec<_> = list.lines().skip(2).collect();
    assert_eq!(lines, ["- notes: Keeps notes.", "- pdf: Reads PDF. Also writes it."]);
    let notes: Vec<_> = skills.notes.iter().map(|note| note.why.as_str()).collect();
    assert_eq!(notes, ["another skill is called pdf too"]);
    assert_eq!(Home::new().skills().list(), None);
}

#[test]
fn a_skill_with_a_bad_head_is_named_and_the_others_count() {
    let home = Home::new();
    home.write(".agents/skills/a/SKILL.md", "---\nname: a\ndescription: x: y\n---\n");
    home.write(".agents/skills/b/SKILL.md", "no head");
    home.write(".agents/skills/c/SKILL.md", &skill("\"../c\"", "Bad name."));
    home.write(".agents/skills/d/SKILL.md", &skill("d", "Good."));
    let skills = home.skills();
    assert_eq!(skills.all.len(), 1);
    let notes: Vec<_> = skills.notes.iter().map(|note| note.why.as_str()).collect();
    assert!(notes[0].starts_with("line 3: "), "{notes:?}");
    assert_eq!(notes[1], "its head has no description");
    assert!(notes[2].starts_with("its name has other letters"), "{notes:?}");
}

#[test]
fn a_long_list_is_shortened_before_skills_are_left_out() {
    let home = Home::new();
    for number in 0..50 {
        let long = format!("Does {number}. {}", "More words. ".repeat(60));
        home.write(
            &format!(".agents/skills/s{number:03}/SKILL.md"),
            &skill(&format!("s{number:03}"), &long),
        );
    }
    let list = home.skills().list().unwrap();
    assert!(list.chars().count() <= LIST_CHARS_MAX);
    assert_eq!(list.lines().count(), 52);
    assert!(list.contains("- s007: Does 7.\n"), "{list}");
    for number in 50..200 {
        let text = skill(&format!("s{number:03}"), &"word ".repeat(60));
        home.write(&format!(".agents/skills/s{number:03}/SKILL.md"), &text);
    }
    let list = home.skills().list().unwrap();
    assert!(list.chars().count() <= LIST_CHARS_MAX + 40);
    assert!(list.ends_with(" more are left out here)"), "{list}");
}

#[test]
fn skills_of_a_workspace_count_once_it_is_trusted_and_no_link_leads_out() {
    let home = Home::new();
    let root = home.root.path().canonicalize().unwrap();
    home.write(".claude/skills/pdf/SKILL.md", &skill("pdf", "My own."));
    home.write("repo/.claude/skills/pdf/SKILL.md", &skill("pdf", "Theirs."));
    home.write("repo/.agents/skills/fly/SKILL.md", &skill("fly", "Flies."));
    home.write("elsewhere/SKILL.md", &skill("out", "Leads out."));
    home.write("repo/.agents/skills/link/notes.txt", "");
    let link =
        |to: &str, at: &str| std::os::unix::fs::symlink(root.join(to), root.join(at)).unwrap();
    link("elsewhere", "repo/.agents/skills/out");
    link("elsewhere/SKILL.md", "repo/.agents/skills/link/SKILL.md");
    let variables = [("HOME".into(), root.clone().into())];
    let settings = Settings::resolve(Environment::new("/".into(), variables)).unwrap();
    let repo = root.join("repo");
    let names = || {
        let found = Skills::find(&settings, &repo);
        found.all.iter().map(|skill| skill.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(), ["pdf"]);
    let given = crate::trust::Given { by: "ada".into(), at_ms: 1 };
    settings.give_trust(&repo, given, &[]).unwrap();
    assert_eq!(names(), ["fly", "pdf"]);
    let skills = Skills::find(&settings, &repo);
    let list = skills.list().unwrap();
    assert!(list.contains("- fly (of this project, not the user's own): Flies."), "{list}");
    assert!(list.contains("- pdf: My own."), "{list}");
    assert_eq!(skills.notes.len(), 3, "{:?}", skills.notes);
}
