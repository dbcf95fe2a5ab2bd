//! What may run without asking.

use std::fs;
use std::os::unix::fs::symlink;

use crate::world::World;

fn write(path: &str) -> String {
    format!(
        r#"{{"calls":[{{"tool":"write_file","arguments":{{"path":"{path}","content":"x"}}}}]}}"#
    )
}

// Must show 3: a link is no way round.
#[test]
fn edits_are_accepted_but_not_through_links_and_not_in_git() {
    let world = World::new();
    fs::create_dir_all(world.work(".git/hooks")).unwrap();
    symlink(".git", world.work("link")).unwrap();
    let steps = [write("plain"), write("link/hooks/pre-commit"), write(".git/hooks/pre-commit")];
    let model = world.script(&format!(r#"{{"steps":[{},{{"say":"x"}}]}}"#, steps.join(",")));
    let run = world.run(&["query", "go", "--model", &model, "--permissions", "accept-edits"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    let printed = world.run(&["print", "--json"]).stdout;
    assert!(printed.contains("is another name of `.git/hooks/pre-commit`"), "{printed}");
    assert!(world.work("plain").exists());
    assert!(!world.work(".git/hooks/pre-commit").exists());
}

// What a person is asked about is shown whole: a tail may make all the difference.
#[test]
fn a_question_shows_the_whole_command() {
    let world = World::new();
    let command = format!("echo {} \\n&& rm -rf b", "x".repeat(300));
    let call = format!(r#"{{"tool":"shell","arguments":{{"command":"{command}"}}}}"#);
    let model = world.script(&format!(r#"{{"steps":[{{"calls":[{call}]}},{{"say":"x"}}]}}"#));
    let run = world.run(&["query", "go", "--model", &model]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains(r"x \n&& rm -rf b?"), "{}", run.stderr);
}
