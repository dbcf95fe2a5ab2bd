//! Rules for paths: what they match among paths relative to the workspace.
//!
//! Knows texts only. Links are followed by the tools; the engine compares what they found with what
//! was asked, see [`super::needs_real_path`].

/// The path without `.`, `..` and doubled slashes; `None` if it is not clear where it leads.
pub fn normal(path: &str) -> Option<String> {
    if path.is_empty() || path.starts_with('/') || path.contains('\0') {
        return None;
    }
    let mut names = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop()?;
            }
            name => names.push(name),
        }
    }
    Some(if names.is_empty() { ".".to_owned() } else { names.join("/") })
}

/// Whether a path matches: `?` is one letter of a name, `*` any of them, `**` any names.
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
    }
}
