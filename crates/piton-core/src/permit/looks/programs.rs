//! Programs that only look, with the options that leave it so.
//!
//! Left out on purpose: options that write (`sort -o`, `tree -o`), that run programs (`rg --pre`,
//! `sort --compress-program`, `diff --paginate`, `file -z`), that never end (`tail -f`), and those
//! that nobody uses.

/// A program, and what it may be told.
pub(super) struct Program {
    pub(super) name: &'static str,
    /// Letters of options without a value.
    pub(super) flags: &'static str,
    /// Letters of options with one.
    pub(super) valued: &'static str,
    /// Long options, with or without a value.
    pub(super) long: &'static str,
    pub(super) operands: Operands,
}

/// How many words that are no options a program may have.
#[derive(Clone, Copy)]
pub(super) enum Operands {
    Any,
    /// A second one would be written to.
    One,
    /// The first one would be set.
    None,
}

const fn program(
    name: &'static str,
    flags: &'static str,
    valued: &'static str,
    long: &'static str,
) -> Program {
    Program { name, flags, valued, long, operands: Operands::Any }
}

const SUMS: &str = "binary text tag zero check quiet status warn";

const GREP: &str = "after-context basic-regexp before-context byte-offset color colour context \
         count dereference-recursive exclude exclude-dir extended-regexp \
         files-with-matches files-without-match fixed-strings ignore-case include \
         initial-tab invert-match line-buffered line-number line-regexp max-count \
         no-filename no-ignore-case no-messages null null-data only-matching \
         perl-regexp quiet recursive regexp silent text with-filename word-regexp";

const RG: &str = "after-context before-context byte-offset case-sensitive color colors column \
         context context-separator count count-matches crlf files files-with-matches \
         files-without-match fixed-strings follow glob glob-case-insensitive heading \
         hidden iglob ignore-case include-zero invert-match json line-buffered \
         line-number line-regexp max-columns max-columns-preview max-count max-depth \
         max-filesize multiline multiline-dotall no-config no-filename no-heading \
         no-ignore no-ignore-vcs no-line-number no-messages null one-file-system \
         only-matching passthru pcre2 pretty quiet regexp replace smart-case sort sortr \
         stats text trim type type-list type-not unrestricted vimgrep with-filename \
         word-regexp";

const LS: &str = "all almost-all author classify color directory escape file-type format \
         full-time group-directories-first hide human-readable ignore ignore-backups \
         indicator-style inode literal no-group numeric-uid-gid quote-name \
         quoting-style recursive reverse si size sort time time-style width zero";

const DIFF: &str = "brief color context exclude expand-tabs ignore-all-space ignore-blank-lines \
         ignore-case ignore-space-change ignore-trailing-space label minimal new-file \
         no-dereference normal recursive report-identical-files side-by-side \
         strip-trailing-cr suppress-common-lines text unified width";

/// By name.
pub(super) const PROGRAMS: &[Program] = &[
    program("basename", "az", "s", "multiple suffix zero"),
    program("cat", "AbeEnstTuv", "", "number number-nonblank show-all squeeze-blank"),
    program("cksum", "", "", ""),
    program("cmp", "bls", "n", "print-bytes quiet silent verbose bytes"),
    program("comm", "123z", "", "nocheck-order output-delimiter total zero-terminated"),
    program(
        "cut",
        "snz",
        "bcdf",
        "bytes characters complement delimiter fields only-delimited output-delimiter \
         zero-terminated",
    ),
    program("diff", "0123456789abBcdeiNnpqrsTtuwyZ", "CFILUWx", DIFF),
    program("dirname", "z", "", "zero"),
    program(
        "du",
        "0abcDhHkLlmPsSx",
        "Bdt",
        "all apparent-size block-size bytes dereference exclude human-readable inodes \
         max-depth null one-file-system separate-dirs si summarize threshold time total",
    ),
    program("expand", "i", "t", "initial tabs"),
    program("false", "", "", ""),
    program(
        "file",
        "bhikLNr0",
        "F",
        "brief dereference keep-going mime mime-encoding mime-type no-dereference \
         no-pad print0 raw separator",
    ),
    program("fold", "bs", "w", "bytes spaces width"),
    program("grep", "0123456789abcEFGhHiIlLnoPqrRsTUvwxyZz", "ABCem", GREP),
    program("head", "0123456789qvz", "cn", "bytes lines quiet silent verbose"),
    program("id", "Gagnruz", "", "group groups name real user zero"),
    program("join", "iz", "12aejotv", "check-order header ignore-case nocheck-order"),
    program(
        "jq",
        "aCcejMnrSs",
        "",
        "arg argjson ascii-output color-output compact-output exit-status indent \
         join-output monochrome-output null-input raw-output slurp sort-keys tab",
    ),
    program("ls", "1aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ", "ITw", LS),
    program("md5sum", "bctwz", "", SUMS),
    program("nl", "p", "bdfhilnsvw", "body-numbering number-width starting-line-number"),
    program("od", "abcdfilosvx", "AjNStw", "address-radix format read-bytes skip-bytes"),
    program("paste", "sz", "d", "delimiters serial zero-terminated"),
    program("pwd", "LP", "", "logical physical"),
    program("readlink", "efmnqsvz", "", "canonicalize canonicalize-existing no-newline"),
    program("realpath", "eELmPqsz", "", "canonicalize-existing relative-base relative-to"),
    program("rev", "", "", ""),
    program("rg", "0abcFHiIlLnNopPqsSuUvwx", "ABCegjmMrtT", RG),
    program("sha1sum", "bctwz", "", SUMS),
    program("sha256sum", "bctwz", "", SUMS),
    program("sha512sum", "bctwz", "", SUMS),
    program(
        "sort",
        "bcCdfghimMnrRsuVz",
        "kt",
        "check dictionary-order field-separator general-numeric-sort human-numeric-sort \
         ignore-case ignore-leading-blanks key merge month-sort numeric-sort reverse \
         sort stable unique version-sort zero-terminated",
    ),
    program("stat", "fLt", "c", "cached dereference file-system format printf terse"),
    program("tac", "br", "s", "before regex separator"),
    program("tail", "0123456789qvz", "cn", "bytes lines quiet silent verbose"),
    program("tr", "cCdst", "", "complement delete squeeze-repeats truncate-set1"),
    program(
        "tree",
        "aAcCdDfFghiJlnNpqQrsStuUvxX",
        "ILP",
        "dirsfirst du filelimit filesfirst gitignore ignore-case inodes noreport prune \
         sort",
    ),
    program("true", "", "", ""),
    program("type", "", "", ""),
    program("uname", "amnoprsv", "", "all kernel-name kernel-release machine"),
    Program {
        operands: Operands::One,
        ..program(
            "uniq",
            "cdDiuz",
            "fsw",
            "check-chars count ignore-case repeated skip-chars skip-fields unique \
         zero-terminated",
        )
    },
    program("wc", "clLmw", "", "bytes chars lines max-line-length total words"),
    program("which", "a", "", ""),
    Program { operands: Operands::None, ..program("whoami", "", "", "") },
];

/// Words of `find`.
pub(super) const FINDING: &str = "-H -L -P -a -amin -and -anewer -atime -cmin -cnewer -ctime -daystart -depth -empty \
     -executable -false -follow -group -iname -inum -ipath -iregex -iwholename -links -lname \
     -ls -maxdepth -mindepth -mmin -mount -mtime -name -newer -nogroup -not -nouser -o -or \
     -path -perm -print -print0 -printf -prune -quit -readable -regex -regextype -samefile \
     -size -true -type -user -wholename -writable -xdev -xtype";

/// Words of `test`.
pub(super) const TESTING: &str =
    "-L -S -b -c -d -e -ef -eq -f -ge -gt -h -le -lt -n -ne -nt -ot -p -r -s -w -x -z";
