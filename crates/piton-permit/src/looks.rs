//! Whether a command line only looks: then it may run unasked behind a wall.
//!
//! This list decides what is worth running without a question. It is not what makes such a command
//! safe: the wall around it is, which writes nowhere, has no network and reads little. So the list
//! may be wrong about a program, and then the program fails. A program or a form that is not listed asks.

mod git;
mod glob;
mod options;
mod programs;

use self::options::{has_option, is_in, is_option, may_be};
use self::programs::{ACTING, ASKING, is_printing, is_reading};
use super::line::Line;
use super::path::within_any;

/// Places of the system that a command which only looks may read, and whose programs it may run.
pub const SYSTEM_PROGRAMS: [&str; 9] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/run/current-system/sw",
];

/// Files of the system that such a command may read. Not all of `/etc`: root could read secrets there.
pub const SYSTEM_FILES: [&str; 17] = [
    "/etc/alternatives",
    "/etc/gitattributes",
    "/etc/gitconfig",
    "/etc/group",
    "/etc/hostname",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ld.so.preload",
    "/etc/locale.alias",
    "/etc/localtime",
    "/etc/magic",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/dev/null",
    "/proc/filesystems",
];

/// Whether all commands of a line only look, from a directory of the workspace on. They may look into
/// directories that were added, too.
pub(super) fn only_looks(line: &Line, workspace: &str, added: &[String], directory: &str) -> bool {
    looks_beside(line, workspace, added, directory, |_| false)
}

/// Whether a command runs a program that writes no file and starts no other program, whatever it is told. `cd` is
/// none, but changes nothing where it leads to the directory that it is in.
pub(super) fn prints(words: &[String]) -> bool {
    words.first().is_some_and(|name| name == "cd" || is_printing(name))
}

/// Whether all commands of a line only look that are not known to do more. None of those may run in another
/// directory.
pub(super) fn looks_beside(
    line: &Line,
    workspace: &str,
    added: &[String],
    directory: &str,
    is_known: impl Fn(&[String]) -> bool,
) -> bool {
    let knows = line.commands.iter().any(|words| is_known(words));
    let mut place = Place { workspace, added, directory: directory.to_owned() };
    let mut looks = |words: &[String]| {
        let looks = place.looks(words);
        looks && (!knows || place.directory == directory)
    };
    let mut commands = line.commands.iter().enumerate();
    line.plain
        && !line.commands.is_empty()
        && commands.all(|(number, words)| {
            let globs = line.globs.iter().filter(|(command, _)| *command == number);
            let is_harmless = globs.clone().all(|(_, word)| glob::is_harmless(words, *word));
            is_known(words) || is_harmless && looks(words)
        })
}

/// Where a command of a line runs.
struct Place<'a> {
    workspace: &'a str,
    added: &'a [String],
    /// From the workspace, or whole in an added directory.
    directory: String,
}

impl Place<'_> {
    fn looks(&mut self, words: &[String]) -> bool {
        let Some((name, arguments)) = words.split_first() else { return false };
        let mut paths = arguments.iter().filter(|word| !is_text(name, arguments, word));
        if !paths.all(|word| self.is_readable(word)) {
            return false;
        }
        let asks = ASKING.iter().find(|(program, ..)| program == name);
        let asks = asks.is_some_and(|(_, letters, long)| {
            arguments.iter().any(|word| may_be(word, letters, long))
        });
        !asks
            && match name.as_str() {
                "cd" => self.enters(arguments),
                "command" => is_lookup(arguments),
                "date" => date(arguments),
                "sed" => true,
                "find" => !arguments.iter().any(|word| is_in(ACTING, word)),
                "git" => git::looks(arguments),
                // A second file would be written to. An option's value is counted too.
                "uniq" => arguments.iter().filter(|word| !is_option(word)).count() <= 1,
                name => is_reading(name),
            }
    }

    /// Later commands of the line run there.
    fn enters(&mut self, arguments: &[String]) -> bool {
        let [target] = arguments else { return false };
        let Some(directory) = self.resolved(target).filter(|_| !target.starts_with('-')) else {
            return false;
        };
        self.directory = directory;
        true
    }

    fn resolved(&self, path: &str) -> Option<String> {
        if path.starts_with('/') {
            return within_any(self.workspace, self.added, path);
        }
        within_any(self.workspace, self.added, &format!("{}/{path}", self.directory))
    }

    /// Whether no path in a word leads to a place that the wall keeps closed. Such a command would fail
    /// behind the wall, so a person is asked.
    fn is_readable(&self, word: &str) -> bool {
        let glued = word.strip_prefix('-').and_then(|rest| rest.get(1..));
        let parts = [Some(word), word.split_once('=').map(|(_, value)| value), glued];
        parts.into_iter().flatten().all(|part| {
            let leads_up = part.split('/').any(|name| name == "..");
            let from_root = part.starts_with('/');
            let is_plain = !leads_up && (!from_root || is_of_system(part));
            is_plain || self.resolved(part).is_some()
        })
    }
}

/// Whether a word is a text or a pattern, so that a slash in it means no path. Should it be a path all
/// the same, the wall holds.
fn is_text(name: &str, arguments: &[String], word: &String) -> bool {
    let first = arguments.iter().find(|word| !is_option(word));
    match name {
        "echo" | "printf" => true,
        "grep" | "rg" | "sed" => first.is_some_and(|first| std::ptr::eq(first, word)),
        _ => false,
    }
}

fn is_of_system(path: &str) -> bool {
    SYSTEM_PROGRAMS.iter().chain(&SYSTEM_FILES).any(|place| {
        path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

/// `command -v name` says where a program is. Anything else runs it.
fn is_lookup(arguments: &[String]) -> bool {
    let [option, name] = arguments else { return false };
    ["-v", "-V"].contains(&option.as_str()) && !name.starts_with('-')
}

/// A word that is no format sets the clock.
fn date(arguments: &[String]) -> bool {
    let long = "utc universal iso-8601 rfc-3339 rfc-email";
    let is_option = |word: &str| is_option(word) && has_option(word, "uR", "I", long);
    arguments.iter().all(|word| word.starts_with('+') || is_option(word))
}
