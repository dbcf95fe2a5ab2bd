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
    let root: Vec<&str> = names(workspace).collect();
    let is_clear = workspace.starts_with('/')
        && !root.contains(&"..")
        && !workspace.contains(char::REPLACEMENT_CHARACTER);
    if !is_clear {
        return normal(path);
    }
    if path.is_empty() || path.contains('\0') {
        return None;
    }
    let mut at = if path.starts_with('/') { Vec::new() } else { root.clone() };
    for name in names(path) {
        if name != ".." {
            at.push(name);
        } else if root.starts_with(&at) || at.starts_with(&root) {
            at.pop();
        } else {
            return None;
        }
    }
    let below = at.strip_prefix(root.as_slice())?;
    Some(if below.is_empty() { ".".to_owned() } else { below.join("/") })
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
    let letters: Vec<char> = pattern.chars().collect();
    let mut rest = letters.as_slice();
    let mut bare = String::new();
    while let Some((first, behind)) = rest.split_first() {
        let literal = in_brackets(rest);
        bare.push(if literal.is_some() { '_' } else { *first });
        rest = literal.map_or(behind, |(_, behind)| behind);
    }
    bare
}

/// A letter in brackets, and what is behind it.
fn in_brackets(pattern: &[char]) -> Option<(char, &[char])> {
    match pattern {
        ['[', letter, ']', behind @ ..] if IN_BRACKETS.contains(letter) => Some((*letter, behind)),
        _ => None,
    }
}

/// Whether a path matches: `?` is one letter of a name, `*` any of them, `**` any names, and a letter
/// in brackets itself.
pub fn matches(pattern: &str, path: &str) -> bool {
    let pattern: Vec<&str> = pattern.trim_start_matches("./").split('/').collect();
    let names: Vec<&str> = path.split('/').collect();
    matches_names(&pattern, &names)
}

fn matches_names(pattern: &[&str], names: &[&str]) -> bool {
    match (pattern.split_first(), names.split_first()) {
        (None, None) => true,
        (Some((&"**", after)), _) => (0..=names.len())
            .any(|from| matches_names(after, names.get(from..).unwrap_or_default())),
        (Some((first, pattern)), Some((name, names))) => {
            let (first, name): (Vec<char>, Vec<char>) =
                (first.chars().collect(), name.chars().collect());
            matches_letters(&first, &name) && matches_names(pattern, names)
        }
        (None, Some(_)) | (Some(_), None) => false,
    }
}

fn matches_letters(pattern: &[char], name: &[char]) -> bool {
    if let Some((letter, pattern)) = in_brackets(pattern) {
        let behind = name.split_first().filter(|(first, _)| **first == letter);
        return behind.is_some_and(|(_, name)| matches_letters(pattern, name));
    }
    match (pattern.split_first(), name.split_first()) {
        (None, None) => true,
        (Some(('*', after)), _) => (0..=name.len())
            .any(|from| matches_letters(after, name.get(from..).unwrap_or_default())),
        (Some(('?', pattern)), Some((_, name))) => matches_letters(pattern, name),
        (Some((one, pattern)), Some((other, name))) if one == other => {
            matches_letters(pattern, name)
        }
        (None | Some(_), _) => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
    }

    /// Names of all letters that mean something, and of some that do not.
    fn path() -> impl Strategy<Value = String> {
        let name = r"[ab\[\]{}*?\\!~ü. -]{1,4}".prop_filter("a name", |it| it != "." && it != "..");
        proptest::collection::vec(name, 1..4).prop_map(|names| names.join("/"))
    }

    proptest! {
        // D44: what "always" writes for a directory is for that one.
        #[test]
        fn a_pattern_for_one_path_is_sound_and_for_no_other(one in path(), other in path()) {
            let pattern = exactly(&one);
            prop_assert_eq!(super::super::fault::of_path(&pattern), None);
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
