//! Commands of git that only look.
//!
//! What a repository's own settings make of them is not seen here: which programs git starts by
//! itself is held by the wall, and by the environment that commands behind it get.

use super::options::{has_option, is_in, is_option, may_be};

/// A command of git, and what it may be told.
struct Command {
    name: &'static str,
    flags: &'static str,
    valued: &'static str,
    long: &'static str,
    operands: Operands,
}

/// Whether words that are no options leave a command looking.
enum Operands {
    /// Without one of these options the words name something to be made.
    Behind(&'static str),
    /// The words have to begin with this one.
    First(&'static str),
}

/// Options in front of the command.
const BEFORE: [&str; 4] = ["--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs"];

/// Commands that only look, whatever they are told: the wall holds.
const LOOKING: &str = "\
    blame cat-file describe diff grep log ls-files ls-tree merge-base rev-list rev-parse show \
    show-ref status";
/// But for these options, which write.
const WRITING: &str = "output";

/// Commands that look or change something, and what they may be told.
const COMMANDS: &[Command] = &[
    Command {
        name: "branch",
        flags: "aqrv",
        valued: "",
        long: "abbrev all color column contains format ignore-case list merged no-abbrev \
         no-color no-column no-contains no-merged points-at quiet remotes show-current \
         sort verbose",
        operands: Operands::Behind(
            "--contains --list --merged --no-contains --no-merged --points-at",
        ),
    },
    Command {
        name: "config",
        flags: "lz",
        valued: "",
        long: "bool get get-all get-regexp int list local name-only null path show-origin \
         show-scope system type",
        operands: Operands::Behind("--get --get-all --get-regexp"),
    },
    Command {
        name: "reflog",
        flags: "0123456789",
        valued: "n",
        long: "date format oneline",
        operands: Operands::First("show"),
    },
    Command {
        name: "remote",
        flags: "v",
        valued: "",
        long: "verbose",
        operands: Operands::First("get-url"),
    },
    Command {
        name: "stash",
        flags: "0123456789p",
        valued: "",
        long: "oneline stat",
        operands: Operands::First("list"),
    },
    Command {
        name: "tag",
        flags: "",
        valued: "n",
        long: "color column contains format ignore-case list merged no-contains no-merged \
         points-at sort",
        operands: Operands::Behind(
            "--contains --list --merged --no-contains --no-merged --points-at",
        ),
    },
    Command {
        name: "worktree",
        flags: "vz",
        valued: "",
        long: "porcelain",
        operands: Operands::First("list"),
    },
];

/// Commands that change something unless their first word says otherwise.
const NEED_WORD: [&str; 2] = ["stash", "worktree"];

/// Whether git only looks with these words.
pub(super) fn looks(arguments: &[String]) -> bool {
    let before = arguments.iter().take_while(|word| BEFORE.contains(&word.as_str())).count();
    let behind = arguments.get(before..).unwrap_or_default();
    let [name, arguments @ ..] = behind else { return false };
    if ["--version", "version"].contains(&name.as_str()) {
        return arguments.is_empty();
    }
    if is_in(LOOKING, name) {
        return !arguments.iter().any(|word| may_be(word, "", WRITING));
    }
    COMMANDS.iter().any(|command| command.name == name && command.takes(arguments))
}

impl Command {
    fn takes(&self, arguments: &[String]) -> bool {
        let has = |word: &String| has_option(word, self.flags, self.valued, self.long);
        let options: Vec<_> = arguments.iter().filter(|word| is_option(word)).collect();
        let mut operands = arguments.iter().filter(|word| !is_option(word));
        if !options.iter().all(|word| has(word)) {
            return false;
        }
        match self.operands {
            Operands::Behind(listing) => {
                let name = |word: &str| word.split('=').next().unwrap_or_default().to_owned();
                let is_listing = |word: &&String| is_in(listing, &name(word));
                // Behind two dashes nothing is an option.
                let is_list =
                    options.iter().any(is_listing) && !options.iter().any(|word| *word == "--");
                operands.next().is_none() || is_list
            }
            Operands::First(wanted) if operands.next().is_some() => {
                arguments.first().is_some_and(|word| word == wanted)
            }
            Operands::First(_) => !NEED_WORD.contains(&self.name),
        }
    }
}
