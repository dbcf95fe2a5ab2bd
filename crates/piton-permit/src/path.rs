//! Rules for paths: what they match among paths relative to the workspace.
//!
//! Knows texts only. Links are followed by the tools; the engine compares what they found with what
//! was asked, see [`super::needs_real_path`].

/// The path without `.`, `..` and doubled slashes; `None` if it is not clear where it leads.
pub fn normal(path: &str) -> Option<String> {
    if path.is_empty() || path.starts_with('/') || path.contains('\0') {
        return None;
    }
    let mut below = Vec::new();
    for name in names(path) {
        if name == ".." {
            below.pop()?;
        } else {
            below.push(name);
        }
    }
    Some(if below.is_empty() { ".".to_owned() } else { below.join("/") })
}

/// The path from the workspace, without detours, also if it is written from the root or from above;
/// `None` if it is not clear that it leads into the workspace.
///
/// The workspace is recorded without links in it, so `..` on the way to it is its parent. What lies
/// beside that way may be a link, and what is behind one with a `..` nobody here knows.
pub fn within(workspace: &str, path: &str) -> Option<String> {
    if !is_clear(workspace) {
        return normal(path);
    }
    let root: Vec<&str> = names(workspace).collect();
    let at = walked(&root, &[&root], path)?;
    let below = at.strip_prefix(root.as_slice())?;
    Some(if below.is_empty() { ".".to_owned() } else { below.join("/") })
}

/// The same, also in directories that were added. A path in one of those stays whole.
pub fn within_any(workspace: &str, added: &[String], path: &str) -> Option<String> {
    let in_added = || {
        let start: Vec<&str> = names(workspace).collect();
        let clear = added.iter().filter(|directory| is_clear(directory) && is_clear(workspace));
        clear.into_iter().find_map(|directory| {
            // Recorded without links in it, like the workspace.
            let root: Vec<&str> = names(directory).collect();
            let at = walked(&start, &[&start, &root], path)?;
            at.starts_with(&root).then(|| format!("/{}", at.join("/")))
        })
    };
    within(workspace, path).or_else(in_added)
}

/// Whether a directory is written so that it is certain where it is.
fn is_clear(directory: &str) -> bool {
    let has_detour = names(directory).any(|name| name == "..");
    directory.starts_with('/') && !has_detour && !directory.contains(char::REPLACEMENT_CHARACTER)
}

/// Where a path leads, as names from the root. On the way to a directory in `linkless` and below it, `..`
/// is the parent; anywhere else it may be behind a link.
fn walked<'a>(start: &[&'a str], linkless: &[&[&str]], path: &'a str) -> Option<Vec<&'a str>> {
    if path.is_empty() || path.contains('\0') {
        return None;
    }
    let mut at = if path.starts_with('/') { Vec::new() } else { start.to_vec() };
    for name in names(path) {
        if name != ".." {
            at.push(name);
        } else if linkless.iter().any(|root| root.starts_with(&at) || at.starts_with(root)) {
            at.pop();
        } else {
            return None;
        }
    }
    Some(at)
}

/// The text as file systems read it that know no capital letters. Up and down again: there are letters
/// that are only small, such as the long s.
pub(super) fn folded(text: &str) -> String {
    text.to_uppercase().to_lowercase()
}

fn names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|name| !matches!(*name, "" | "."))
}

/// Letters that a pattern takes for nothing but themselves when they stand in brackets: `[[]`.
const IN_BRACKETS: [char; 9] = ['*', '?', '[', ']', '{', '}', '\\', '!', '~'];

/// The pattern for this path and no other.
pub(super) fn exactly(path: &str) -> String {
    let mut pattern = String::new();
    for letter in path.chars() {
        // These two mean something at the beginning only.
        let plain = ['!', '~'].contains(&letter) && !pattern.is_empty();
        if IN_BRACKETS.contains(&letter) && !plain {
            pattern.extend(['[', letter, ']']);
        } else {
            pattern.push(letter);
        }
    }
    pattern
}

/// The pattern with an underscore for each letter in brackets.
pub(super) fn without_brackets(pattern: &str) -> String {
    let bare = |letter| match letter {
        Letter::Itself(_) => '_',
        Letter::Plain(letter) => letter,
    };
    letters(pattern).into_iter().map(bare).collect()
}

/// A letter of a pattern.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Letter {
    /// In brackets.
    Itself(char),
    /// With the meaning that it has in a pattern.
    Plain(char),
}

fn letters(pattern: &str) -> Vec<Letter> {
    let written: Vec<char> = pattern.chars().collect();
    let mut rest = written.as_slice();
    let mut letters = Vec::new();
    while let Some((first, behind)) = rest.split_first() {
        let (letter, behind) = match rest {
            ['[', letter, ']', behind @ ..] if IN_BRACKETS.contains(letter) => {
                (Letter::Itself(*letter), behind)
            }
            _ => (Letter::Plain(*first), behind),
        };
        letters.push(letter);
        rest = behind;
    }
    letters
}

/// Whether a path matches: `?` is one letter of a name, `*` any of them, `**` any names, and a letter
/// in brackets itself.
pub fn matches(pattern: &str, path: &str) -> bool {
    matches_names(&names_of(pattern), &path.split('/').collect::<Vec<_>>())
}

/// Whether the last names of a path match, however many these are.
pub(super) fn ends_like(pattern: &str, names: &[&str]) -> bool {
    matches_names(&[vec!["**"], names_of(pattern)].concat(), names)
}

fn names_of(pattern: &str) -> Vec<&str> {
    pattern.trim_start_matches("./").split('/').collect()
}

fn matches_names(pattern: &[&str], names: &[&str]) -> bool {
    fits(
        pattern,
        names,
        |one| *one == "**",
        |one, name| {
            let name: Vec<char> = name.chars().collect();
            let any = |letter: &Letter| *letter == Letter::Plain('*');
            fits(&letters(one), &name, any, |letter, other| match letter {
                Letter::Plain('?') => true,
                Letter::Plain(letter) | Letter::Itself(letter) => letter == other,
            })
        },
    )
}

/// Whether a pattern with wildcards fits all of a text. The author of the text may want this to take
/// for ever, so a wildcard is tried again only until the next wildcard is reached.
fn fits<P, T>(
    pattern: &[P],
    text: &[T],
    is_wildcard: impl Fn(&P) -> bool,
    is_one: impl Fn(&P, &T) -> bool,
) -> bool {
    let (mut at, mut from) = (0, 0);
    // What is behind the last wildcard, and how far that wildcard reaches.
    let mut last = None;
    loop {
        match (pattern.get(at), text.get(from)) {
            (None, None) => return true,
            (Some(one), _) if is_wildcard(one) => {
                at += 1;
                last = Some((at, from));
            }
            (Some(one), Some(other)) if is_one(one, other) => {
                at += 1;
                from += 1;
            }
            (Some(_), None) => return false,
            (None | Some(_), Some(_)) => {
                let Some((behind, reached)) = last else { return false };
                at = behind;
                from = reached + 1;
                last = Some((at, from));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_path_in_an_added_directory_stays_whole() {
        let added = ["/lib".to_owned(), "/w/deep".to_owned()];
        let check = |path, expected: Option<&str>| {
            assert_eq!(within_any("/w", &added, path).as_deref(), expected, "{path}");
        };
        check("/lib/a", Some("/lib/a"));
        check("/lib/x/../a/", Some("/lib/a"));
        check("/lib", Some("/lib"));
        check("/w/deep/a", Some("deep/a"));
        check("a", Some("a"));
        check("../lib/./a", Some("/lib/a"));
        check("deep/../../lib/x/../a", Some("/lib/a"));
        for path in ["/lib2", "/lib/../etc", "../x/../lib/a", "/etc", "../lib/../x/../lib/a", ""] {
            check(path, None);
        }
        let root = ["/".to_owned()];
        assert_eq!(within_any("/w", &root, "/etc/x").as_deref(), Some("/etc/x"));
    }

    #[test]
    fn a_path_is_compared_without_detours() {
        let check = |path, expected: Option<&str>| assert_eq!(normal(path).as_deref(), expected);
        check("src/main.rs", Some("src/main.rs"));
        check("./src//x/../main.rs", Some("src/main.rs"));
        check("src/", Some("src"));
        check(".", Some("."));
        check("a/..", Some("."));
        check("../x", None);
        check("a/../../x", None);
        check("/etc/passwd", None);
        check("", None);
    }

    #[test]
    fn a_path_in_the_workspace_is_known_by_its_names_from_the_root_and_from_above() {
        let check = |path, expected: Option<&str>| {
            assert_eq!(within("/h/ws", path).as_deref(), expected, "{path}");
        };
        for path in [
            "a/b",
            "./a//x/../b",
            "/h/ws/a/b",
            "//h/./ws//a/b/",
            "/h/ws/x/../a/b",
            "/h/ws/../ws/a/b",
            "/h/../h/ws/a/b",
            "/../h/ws/a/b",
            "../ws/a/b",
            "x/../../ws/a/b",
            "../../h/ws/a/b",
        ] {
            check(path, Some("a/b"));
        }
        check("/h/ws", Some("."));
        check("../ws/", Some("."));
        for path in [
            "",
            "/",
            "/h",
            "..",
            "/h/wsx/a",
            "/h/ws/../a",
            "../a",
            "/etc/../h/ws/a",
            "../x/../ws/a",
            "/H/ws/a",
            "/h/ws/a\0",
        ] {
            check(path, None);
        }
        assert_eq!(within("/", "/etc/x").as_deref(), Some("etc/x"));
        // It is not known where that is.
        for workspace in ["", "ws", "/h/../ws", "/h/\u{fffd}"] {
            assert_eq!(
                within(workspace, &format!("{workspace}/a")),
                normal(&format!("{workspace}/a"))
            );
            assert_eq!(within(workspace, "a/../b").as_deref(), Some("b"));
            assert_eq!(within(workspace, "../a"), None);
        }
    }

    #[test]
    fn stars_stay_within_a_name_unless_there_are_two() {
        let check =
            |pattern, path, expected| assert_eq!(matches(pattern, path), expected, "{path}");
        check("src/*.rs", "src/main.rs", true);
        check("src/*.rs", "src/a/main.rs", false);
        check("src/**", "src/a/main.rs", true);
        check("src/**", "srcs/a", false);
        check("**/.env", ".env", true);
        check("**/.env", "a/b/.env", true);
        check("**/.env*", "a/.env.local", true);
        check("?", "ab", false);
        check("a", "a/b", false);
        check("app/[[]id[]]/*", "app/[id]/page.tsx", true);
        check("app/[[]id[]]", "app/i", false);
        check("[*]", "a", false);
        check("[*][?]", "*?", true);
        check("a[[]", "a", false);
        check("a/**/b/**/c", "a/b/x/b/y/c", true);
        check("a/**/b/**/c", "a/x/c", false);
        check("**/a/**", "x/y/a", true);
        check("*a*b", "xaayb", true);
        check("*a*b", "xaaybz", false);
        check("**", "", true);
        check("", "", true);
    }

    /// The meaning of a pattern in a few words, for short ones only: it takes for ever.
    fn plainly(pattern: &[&str], names: &[&str]) -> bool {
        fn letters(pattern: &str, name: &str) -> bool {
            let mut behind = name.chars();
            let first = behind.next();
            let mut pattern = pattern.chars();
            match (pattern.next(), first) {
                (None, first) => first.is_none(),
                (Some('*'), None) => letters(pattern.as_str(), name),
                (Some('*'), Some(first)) => {
                    letters(pattern.as_str(), name)
                        || letters(&format!("*{}", pattern.as_str()), &name[first.len_utf8()..])
                }
                (Some(one), Some(first)) => {
                    (one == '?' || one == first) && letters(pattern.as_str(), behind.as_str())
                }
                (Some(_), None) => false,
            }
        }
        match pattern {
            [] => names.is_empty(),
            ["**", behind @ ..] => (0..=names.len()).any(|from| plainly(behind, &names[from..])),
            [one, behind @ ..] => {
                !names.is_empty() && letters(one, names[0]) && plainly(behind, &names[1..])
            }
        }
    }

    proptest! {
        #![proptest_config(quietly())]

        #[test]
        fn wildcards_mean_what_they_say(pattern in "[ab*?]{0,4}(/([ab*?]{0,3}|\\*\\*)){0,4}", path in "[ab]{0,4}(/[ab]{0,3}){0,4}") {
            let (one, other): (Vec<_>, Vec<_>) = (pattern.split('/').collect(), path.split('/').collect());
            prop_assert_eq!(matches(&pattern, &path), plainly(&one, &other), "{} {}", pattern, path);
        }
    }

    // A model chooses the path, and must not be able to hold anybody up with it.
    #[test]
    fn no_path_makes_a_pattern_take_for_ever() {
        let long = "a".repeat(20_000);
        assert!(!matches("*a*a*a*a*a*b", &long));
        assert!(matches("*a*a*a*a*a*", &long));
        let deep = "a/".repeat(5_000);
        assert!(!matches("**/a/**/a/**/a/**/b", &deep));
        assert!(!ends_like("a/*/*/b", &deep.split('/').collect::<Vec<_>>()));
    }

    fn quietly() -> ProptestConfig {
        ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
    }

    /// Names of all letters that mean something, and of some that do not.
    fn path() -> impl Strategy<Value = String> {
        let name = r"[ab\[\]{}*?\\!~ü. -]{1,4}".prop_filter("a name", |it| it != "." && it != "..");
        proptest::collection::vec(name, 1..4).prop_map(|names| names.join("/"))
    }

    proptest! {
        #![proptest_config(quietly())]

        // D44: what "always" writes for a directory is for that one.
        #[test]
        fn a_pattern_for_one_path_is_sound_and_for_no_other(one in path(), other in path()) {
            let pattern = exactly(&one);
            prop_assert_eq!(crate::fault::of_path(&pattern), None);
            prop_assert!(matches(&pattern, &one), "{} {}", pattern, one);
            prop_assert_eq!(matches(&pattern, &other), one == other, "{} {}", pattern, other);
        }

        // Near ones are met too: the same path with one letter less, or with any other letter.
        #[test]
        fn a_pattern_for_one_path_is_for_none_that_is_near(one in path(), at in 0..12_usize, letter in any::<char>()) {
            let mut letters: Vec<char> = one.chars().collect();
            if let Some(place) = letters.get_mut(at) {
                *place = letter;
            } else {
                letters.pop();
            }
            let other: String = letters.into_iter().collect();
            prop_assert_eq!(matches(&exactly(&one), &other), one == other, "{} {}", one, other);
        }
    }
}
