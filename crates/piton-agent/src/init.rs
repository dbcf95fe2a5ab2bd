//! A first `AGENTS.md`, made by looking at a project: the commands that its files name.
//!
//! Little on purpose. What a model can see in the code by itself only costs; what it cannot see, only
//! people can write.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Most bytes of a file that is looked at.
const BYTES_MAX: u64 = 1024 * 1024;
/// Most commands that are named.
const COMMANDS_MAX: usize = 16;

/// Names of scripts and targets that are worth knowing, in this order.
const WORTH: [&str; 10] =
    ["build", "check", "test", "lint", "format", "fmt", "typecheck", "dev", "start", "run"];
/// Directories with code of others, or code that is made.
const FOREIGN: [&str; 5] = ["vendor", "third_party", "node_modules", "dist", "generated"];

/// A command, and the file that names it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Found {
    command: String,
    file: String,
}

/// The text of a first `AGENTS.md` for a project.
pub fn propose(root: &Path) -> String {
    let mut found = Vec::new();
    scripts(root, &mut found);
    targets(root, &mut found);
    npm(root, &mut found);
    usual(root, &mut found);
    let mut seen = BTreeSet::new();
    found.retain(|found| seen.insert(found.command.clone()));
    found.truncate(COMMANDS_MAX);
    let commands: Vec<String> =
        found.iter().map(|found| format!("- `{}` ({})", found.command, found.file)).collect();
    let commands = match commands.as_slice() {
        [] => "- (no command was found; write here how to build and test)".to_owned(),
        commands => commands.join("\n"),
    };
    let foreign = FOREIGN.iter().filter(|name| root.join(name).is_dir());
    let foreign: Vec<String> = foreign.map(|name| format!("- Do not edit `{name}/`.")).collect();
    let rules = if foreign.is_empty() {
        "- (write here what cannot be seen in the code: what surprises, what must not be touched)"
            .into()
    } else {
        foreign.join("\n")
    };
    format!("# For coding agents\n\n## Commands\n\n{commands}\n\n## Rules\n\n{rules}\n")
}

fn read(path: &Path) -> Option<String> {
    let found = fs::metadata(path).ok()?;
    (found.is_file() && found.len() <= BYTES_MAX).then(|| fs::read_to_string(path).ok()).flatten()
}

/// Programs in the directories where projects keep them.
fn scripts(root: &Path, found: &mut Vec<Found>) {
    for place in ["dev", "scripts", "script", "bin"] {
        for name in WORTH {
            for end in ["", ".sh"] {
                let file = format!("{place}/{name}{end}");
                if root.join(&file).is_file() {
                    found.push(Found { command: file.clone(), file });
                }
            }
        }
    }
}

/// Targets of make and recipes of just.
fn targets(root: &Path, found: &mut Vec<Found>) {
    for (file, program) in
        [("Makefile", "make"), ("makefile", "make"), ("justfile", "just"), ("Justfile", "just")]
    {
        let Some(text) = read(&root.join(file)) else { continue };
        for name in WORTH {
            let is_target = |line: &str| {
                let rest = line.strip_prefix(name);
                rest.is_some_and(|rest| {
                    rest.starts_with([':', ' ']) && rest.contains(':') && !rest.contains(":=")
                })
            };
            if text.lines().any(is_target) {
                found.push(Found { command: format!("{program} {name}"), file: file.into() });
            }
        }
    }
}

/// Scripts of a package, with the program that its lock file belongs to.
fn npm(root: &Path, found: &mut Vec<Found>) {
    let file = "package.json";
    let package = read(&root.join(file));
    let package: Option<serde_json::Value> =
        package.and_then(|text| serde_json::from_str(&text).ok());
    let Some(package) = package else { return };
    let locks = [("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lock", "bun")];
    let lock = locks.iter().find(|(lock, _)| root.join(lock).exists());
    let program = lock.map_or("npm", |(_, program)| program);
    for name in WORTH {
        if package.pointer(&format!("/scripts/{name}")).is_some_and(serde_json::Value::is_string) {
            found.push(Found { command: format!("{program} run {name}"), file: file.into() });
        }
    }
}

/// What is usual for a kind of project.
fn usual(root: &Path, found: &mut Vec<Found>) {
    let usual: [(&str, &[&str]); 8] = [
        ("Cargo.toml", &["cargo build", "cargo test"]),
        ("go.mod", &["go build ./...", "go test ./..."]),
        ("gradlew", &["./gradlew build", "./gradlew test"]),
        ("mvnw", &["./mvnw verify"]),
        ("pom.xml", &["mvn verify"]),
        ("mix.exs", &["mix compile", "mix test"]),
        ("tox.ini", &["tox"]),
        ("CMakeLists.txt", &["cmake -B build && cmake --build build"]),
    ];
    for (file, commands) in usual {
        if root.join(file).is_file() {
            let of = |command: &&str| Found { command: (*command).to_owned(), file: file.into() };
            found.extend(commands.iter().map(of));
        }
    }
    let file = "pyproject.toml";
    let python = read(&root.join(file)).unwrap_or_default();
    for (name, command) in [("pytest", "pytest"), ("ruff", "ruff check"), ("mypy", "mypy .")] {
        if python.contains(name) {
            found.push(Found { command: command.into(), file: file.into() });
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn commands_are_those_that_the_files_of_a_project_name() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("Cargo.toml", "[package]\n");
        write(
            "Makefile",
            "BUILD := x\nbuild := y\ntest: all\n\tcargo test\n.PHONY: lint\nlint :\n",
        );
        write("package.json", r#"{"scripts": {"lint": "eslint .", "release": "x", "dev": 1}}"#);
        write("yarn.lock", "");
        write("dev/test.sh", "");
        write("vendor/a.txt", "");
        write("pyproject.toml", "[tool.pytest]\n");
        expect![[r#"
            # For coding agents

            ## Commands

            - `dev/test.sh` (dev/test.sh)
            - `make test` (Makefile)
            - `make lint` (Makefile)
            - `yarn run lint` (package.json)
            - `cargo build` (Cargo.toml)
            - `cargo test` (Cargo.toml)
            - `pytest` (pyproject.toml)

            ## Rules

            - Do not edit `vendor/`.
        "#]]
        .assert_eq(&propose(root.path()));
    }

    #[test]
    fn an_empty_directory_gets_a_text_to_fill_in() {
        let root = tempfile::tempdir().unwrap();
        let text = propose(root.path());
        assert!(text.contains("no command was found") && text.lines().count() < 40, "{text}");
    }
}
