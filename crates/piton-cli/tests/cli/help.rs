//! `piton help` and `piton completions`.

use std::fs;
use std::process::{Command, Stdio};

use crate::world::World;

fn topics(world: &World) -> Vec<String> {
    let ran = world.run(&["help"]);
    let line = ran.stdout.lines().find_map(|line| line.strip_prefix("Topics: ")).unwrap();
    line.split(", ").map(ToOwned::to_owned).collect()
}

#[test]
fn documents_are_part_of_the_binary_and_messages_name_them() {
    let world = World::new();
    let topics = topics(&world);
    for topic in &topics {
        let ran = world.run(&["help", topic]);
        assert!(ran.code == 0 && ran.stdout.contains("\n# ") || ran.stdout.starts_with("# "));
    }
    let sources = [
        "report/fault.rs",
        "report/config.rs",
        "report/attach.rs",
        "cmd/mcp.rs",
        "cmd/doctor/home.rs",
    ];
    let mut named = 0;
    for source in sources {
        let path = format!("{}/src/{source}", env!("CARGO_MANIFEST_DIR"));
        let text = fs::read_to_string(path).unwrap();
        for behind in text.split("piton help ").skip(1) {
            let word: String = behind.chars().take_while(char::is_ascii_alphanumeric).collect();
            let is_prose = word.is_empty() || word == "names";
            assert!(is_prose || topics.contains(&word), "{source}: {word}");
            named += 1;
        }
    }
    assert!(5 < named, "{named}");
}

#[test]
fn a_command_is_explained_and_a_slip_is_mended() {
    let world = World::new();
    let ran = world.run(&["help", "mcp", "list"]);
    assert!(ran.code == 0 && ran.stdout.contains("Usage: piton mcp list"), "{}", ran.stdout);
    let both = world.run(&["help", "permissions"]).stdout;
    assert!(both.contains("Usage: piton permissions") && both.contains("\n# "), "{both}");
    let ran = world.run(&["help", "permisions"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("did you mean: piton help permissions"), "{}", ran.stderr);
}

#[test]
fn shells_take_the_completions() {
    let world = World::new();
    for (shell, has) in [
        ("bash", "_piton"),
        ("zsh", "#compdef piton"),
        ("fish", "complete -c piton"),
        ("man", ".TH piton"),
    ] {
        let ran = world.run(&["completions", shell]);
        assert!(ran.code == 0 && ran.stdout.contains(has), "{shell}: {}", ran.stderr);
        if shell == "bash" {
            let file = world.path("completions.bash");
            fs::write(&file, &ran.stdout).unwrap();
            let checked = Command::new("bash").arg("-n").arg(&file).stdin(Stdio::null()).status();
            assert!(checked.unwrap().success());
        }
    }
}
