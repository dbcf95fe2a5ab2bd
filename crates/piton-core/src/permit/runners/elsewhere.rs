//! Commands whose arguments send them to another project, or give them other settings.
//!
//! A project says what its tools run. A rule with `*` was meant for the project at hand, so such a
//! command is allowed word for word only. Not complete: a plain path may be a project too.

use super::entries::Entry;
use super::options::{is_called, is_told};

/// A program, and the arguments that do so, written as in [`super::entries`].
const ENTRIES: &[Entry] = &[
    ("hg", &["-R", "--cwd", "--repository"]),
    ("jj", &["-R", "--repository"]),
    ("make", &["-C", "-I", "-f", "--directory", "--file", "--include-dir", "--makefile"]),
    ("ninja", &["-C", "-f"]),
    ("scons", &["-C", "-f", "--directory", "--file", "--makefile", "--sconstruct"]),
    ("just", &["-d", "-f", "--justfile", "--working-directory"]),
    ("rake", &["-f", "--rakefile"]),
    ("gradle", GRADLE),
    ("gradlew", GRADLE),
    ("gulp", &["-f", "--cwd", "--gulpfile"]),
    ("grunt", &["--base", "--gruntfile", "--tasks"]),
    ("mvn", &["^-f", "--file"]),
    ("mvnw", &["^-f", "--file"]),
    ("ant", &["^-f", "-buildfile"]),
    ("cargo", &["-C", "--manifest-path"]),
    ("go", &["^-C", "^-modfile", "--modfile"]),
    ("npm", &["-C", "--prefix"]),
    ("pnpm", &["-C", "--dir"]),
    ("yarn", &["--cwd"]),
    ("composer", &["-d", "--working-dir"]),
    ("bundle", &["--gemfile"]),
    ("poetry", &["-C", "-P", "--directory", "--project"]),
    ("uv", &["--directory", "--project"]),
    ("swift", &["--package-path"]),
    ("terraform", &["^-chdir"]),
    ("docker-compose", &["-f", "--file", "--project-directory"]),
];

const GRADLE: &[&str] =
    &["^-b", "^-c", "^-p", "--build-file", "--include-build", "--project-dir", "--settings-file"];

/// Options in front of a command of git that leave it where it is.
const GIT: [&str; 18] = [
    "--glob-pathspecs",
    "--help",
    "--html-path",
    "--icase-pathspecs",
    "--info-path",
    "--literal-pathspecs",
    "--man-path",
    "--no-advice",
    "--no-lazy-fetch",
    "--no-optional-locks",
    "--no-pager",
    "--no-replace-objects",
    "--noglob-pathspecs",
    "--paginate",
    "--version",
    "-P",
    "-p",
    "-v",
];

/// Settings of every day in a call of cmake.
const CMAKE: [&str; 9] = [
    "BUILD_SHARED_LIBS",
    "BUILD_TESTING",
    "CMAKE_BUILD_TYPE",
    "CMAKE_COLOR_DIAGNOSTICS",
    "CMAKE_CXX_STANDARD",
    "CMAKE_C_STANDARD",
    "CMAKE_EXPORT_COMPILE_COMMANDS",
    "CMAKE_INSTALL_PREFIX",
    "CMAKE_VERBOSE_MAKEFILE",
];

/// Values that are no program and no options of one.
const SWITCHES: [&str; 8] = ["", "false", "n", "no", "off", "on", "true", "yes"];

/// Whether the arguments of the program of this name do so.
pub(super) fn is_meant(name: &str, arguments: &[String]) -> bool {
    is_told(ENTRIES, name, arguments.iter())
        || is_called(name, "git") && leads_git_away(arguments)
        || is_called(name, "make") && arguments.iter().any(|it| sets(it))
        || is_called(name, "cmake") && sets_up_cmake(arguments)
}

/// `git -C x status`, `git --git-dir=x status`, and `git clone -u x y`, which names a program.
fn leads_git_away(arguments: &[String]) -> bool {
    let before = arguments.iter().take_while(|word| word.starts_with('-'));
    let mut behind = arguments.iter().skip(before.clone().count());
    let clones = behind.next().is_some_and(|command| command == "clone");
    let names_program =
        |word: &String| word.starts_with('-') && !word.starts_with("--") && word.contains('u');
    before.map(String::as_str).any(|word| !GIT.contains(&word))
        || clones && behind.any(names_program)
}

/// `CC=x`: a variable of a Makefile, which may name what is run.
fn sets(argument: &str) -> bool {
    let value = argument.split_once('=').filter(|(name, _)| !name.starts_with('-'));
    value.is_some_and(|(_, value)| !is_switch(value))
}

/// `-DCMAKE_C_COMPILER=x`, also in two words: all that is not known to be harmless.
fn sets_up_cmake(arguments: &[String]) -> bool {
    let glued = arguments.iter().filter_map(|word| word.strip_prefix("-D"));
    let next = arguments.iter().skip(1).zip(arguments);
    let next = next.filter(|(_, before)| *before == "-D").map(|(word, _)| word.as_str());
    glued.chain(next).filter(|setting| !setting.is_empty()).any(|setting| {
        let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
        let name = name.split(':').next().unwrap_or(name);
        !CMAKE.contains(&name) && !is_switch(value)
    })
}

fn is_switch(value: &str) -> bool {
    let value = value.to_ascii_lowercase();
    SWITCHES.contains(&value.as_str()) || value.chars().all(|digit| digit.is_ascii_digit())
}
