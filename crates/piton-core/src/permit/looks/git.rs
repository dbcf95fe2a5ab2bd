//! Commands of git that only look.
//!
//! What a repository's own settings make of them is not seen here: which programs git starts by
//! itself is held by the wall, and by the environment that commands behind it get.

use super::options::{has_option, is_in, is_option};

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
    Any,
    /// Without one of these options the words name something to be made.
    Behind(&'static str),
    /// The words have to begin with this one.
    First(&'static str),
    None,
}

/// Options in front of the command.
const BEFORE: [&str; 4] = ["--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs"];

/// Letters that `diff`, `log` and `show` share. Digits are numbers of commits.
const DIFF_FLAGS: &str = "0123456789abcDgimpRrstuwWz";
const DIFF_VALUED: &str = "BCGLMnOSU";
/// Long options that they share.
const DIFF_LONG: &str = "abbrev abbrev-commit after all all-match ancestry-path author \
         author-date-order before branches cached cc check cherry-pick color \
         color-moved color-words committer compact-summary date date-order decorate \
         diff-algorithm diff-filter dirstat exit-code extended-regexp find-copies \
         find-renames first-parent fixed-strings follow format full-diff full-history \
         full-index function-context graph grep histogram ignore-all-space \
         ignore-blank-lines ignore-space-at-eol ignore-space-change ignore-submodules \
         inter-hunk-context invert-grep left-right max-count max-parents merge-base \
         merges min-parents minimal name-only name-status no-abbrev no-abbrev-commit \
         no-color no-decorate no-ext-diff no-index no-merges no-notes no-patch \
         no-prefix no-renames no-textconv not numstat oneline patch patch-with-stat \
         patience pickaxe-all pickaxe-regex pretty quiet raw regexp-ignore-case \
         relative relative-date remotes reverse shortstat since skip source staged stat \
         stat-count stat-name-width stat-width submodule summary tags text topo-order \
         unified until word-diff word-diff-regex";

const COMMANDS: &[Command] = &[
    Command {
        name: "blame",
        flags: "bcefklnpstw",
        valued: "CLM",
        operands: Operands::Any,
        long: "abbrev color-by-age color-lines date first-parent incremental line-porcelain \
         porcelain reverse root show-email show-name show-number since",
    },
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
    Command { name: "cat-file", flags: "epst", valued: "", long: "", operands: Operands::Any },
    Command {
        name: "config",
        flags: "lz",
        valued: "",
        long: "bool get get-all get-regexp int list local name-only null path show-origin \
         show-scope system type",
        operands: Operands::Behind("--get --get-all --get-regexp"),
    },
    Command {
        name: "describe",
        flags: "",
        valued: "",
        operands: Operands::Any,
        long: "abbrev all always broken candidates contains dirty exact-match exclude \
         first-parent long match tags",
    },
    Command {
        name: "diff",
        flags: DIFF_FLAGS,
        valued: DIFF_VALUED,
        long: DIFF_LONG,
        operands: Operands::Any,
    },
    Command {
        name: "grep",
        flags: "0123456789acEFGhHiIlLnopPqrvwWz",
        valued: "ABCem",
        operands: Operands::Any,
        long: "after-context all-match and basic-regexp before-context break cached color \
         column context count extended-regexp files-with-matches files-without-match \
         fixed-strings full-name function-context heading ignore-case invert-match \
         line-number max-count max-depth name-only no-color no-textconv not null \
         only-matching or perl-regexp quiet show-function text untracked word-regexp",
    },
    Command {
        name: "log",
        flags: DIFF_FLAGS,
        valued: DIFF_VALUED,
        long: DIFF_LONG,
        operands: Operands::Any,
    },
    Command {
        name: "ls-files",
        flags: "cdfikmostuvz",
        valued: "x",
        operands: Operands::Any,
        long: "abbrev cached deduplicate deleted directory eol error-unmatch exclude \
         exclude-standard format full-name ignored killed modified no-empty-directory \
         others stage unmerged",
    },
    Command {
        name: "ls-tree",
        flags: "dlrtz",
        valued: "",
        operands: Operands::Any,
        long: "abbrev format full-name full-tree long name-only name-status object-only",
    },
    Command {
        name: "merge-base",
        flags: "a",
        valued: "",
        operands: Operands::Any,
        long: "all fork-point independent is-ancestor octopus",
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
        name: "rev-list",
        flags: "0123456789",
        valued: "n",
        operands: Operands::Any,
        long: "abbrev-commit after all author before branches count first-parent grep \
         left-right max-count merges no-merges oneline reverse since skip tags \
         topo-order until",
    },
    Command {
        name: "rev-parse",
        flags: "q",
        valued: "",
        operands: Operands::Any,
        long: "abbrev-ref absolute-git-dir all branches git-common-dir git-dir git-path \
         is-bare-repository is-inside-git-dir is-inside-work-tree is-shallow-repository \
         quiet remotes short show-cdup show-object-format show-prefix \
         show-superproject-working-tree show-toplevel symbolic symbolic-full-name tags \
         verify",
    },
    Command {
        name: "show",
        flags: DIFF_FLAGS,
        valued: DIFF_VALUED,
        long: DIFF_LONG,
        operands: Operands::Any,
    },
    Command {
        name: "show-ref",
        flags: "dhqs",
        valued: "",
        operands: Operands::Any,
        long: "abbrev branches dereference hash head heads quiet tags verify",
    },
    Command {
        name: "stash",
        flags: "0123456789p",
        valued: "",
        long: "oneline stat",
        operands: Operands::First("list"),
    },
    Command {
        name: "status",
        flags: "bsvz",
        valued: "u",
        operands: Operands::Any,
        long: "ahead-behind branch column find-renames ignore-submodules ignored long \
         no-ahead-behind no-column no-renames porcelain renames short show-stash \
         untracked-files verbose",
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
    Command { name: "version", flags: "", valued: "", long: "", operands: Operands::None },
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
    if name == "--version" {
        return arguments.is_empty();
    }
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else { return false };
    // A format can ask for the signature, which another program checks.
    arguments.iter().all(|word| !word.contains("%G")) && command.takes(arguments)
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
            Operands::Any => true,
            Operands::None => operands.next().is_none(),
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
