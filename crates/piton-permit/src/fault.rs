//! Why a part of a rule can never say what it is written for; `None` if it can.
//!
//! Each part by itself, so that the reader of a settings file can point at it.

use super::argument::compiled;
use super::command::Pattern;
use super::openings;
use super::path::{matches, normal, without_brackets};
use crate::rule::{PermissionRule, RuleEffect};

/// Letters that mean something in the patterns of other programs, and nothing here.
const FOREIGN: [char; 5] = ['[', ']', '{', '}', '\\'];

/// Of the name of its tool.
pub fn of_tool(name: &str) -> Option<String> {
    name.trim().is_empty().then(|| "a rule names a tool, or * for all of them".into())
}

/// Of its command.
pub fn of_command(command: &str) -> Option<String> {
    let why = "a command is written in plain words, with * at its end for any further ones";
    Pattern::read(command).is_none().then(|| why.into())
}

/// Of its path.
pub fn of_path(path: &str) -> Option<String> {
    if path.starts_with(['/', '~']) {
        let why = "a path is relative to the workspace, such as `src/**` or `**/.env`: it does not \
                   begin with / or ~";
        return Some(why.into());
    }
    let bare = without_brackets(path);
    if let Some(letter) = bare.chars().find(|letter| FOREIGN.contains(letter)) {
        return Some(format!(
            "`{letter}` means nothing in a path: there are *, ? and **. Write one rule for each path \
             that is meant, or [{letter}] where a name has this letter"
        ));
    }
    if path.starts_with('!') {
        return Some("`!` means nothing in a path: write a rule with another effect".into());
    }
    if path.split('/').any(|name| name.contains("**") && name != "**") {
        let why =
            "`**` stands alone between two /, such as in `src/**/*.key`; within a name it is *";
        return Some(why.into());
    }
    match normal(path) {
        None => {
            Some("a path is in the workspace: it is not empty, and .. does not lead out".into())
        }
        Some(plain) if plain != path => Some(format!("a path has no detours: write `{plain}`")),
        Some(_) => None,
    }
}

/// Of a rule, as far as its parts go.
pub fn of_rule(rule: &PermissionRule) -> Option<String> {
    let command = rule.command.as_deref().and_then(of_command);
    let path = rule.path.as_deref().and_then(of_path);
    of_tool(&rule.tool)
        .or(command)
        .or(path)
        .or_else(|| rule.arguments.values().find_map(|it| of_pattern(it)))
        .or_else(|| of_grants(rule))
}

/// Of what it opens.
pub fn of_grants(rule: &PermissionRule) -> Option<String> {
    if rule.grants.is_empty() {
        return None;
    }
    if rule.effect != RuleEffect::Allow {
        return Some("only a rule that allows can open something".into());
    }
    if rule.is_unconfined() {
        return Some(
            "a command outside the sandbox needs no openings: leave out confined = false".into(),
        );
    }
    openings::fault(&rule.grants)
}

/// Of a rule that a person made of another one, which says exactly what a call does. It has to allow
/// that too.
pub fn of_wider(rule: &PermissionRule, exact: &PermissionRule) -> Option<String> {
    if let Some(fault) = of_rule(rule) {
        return Some(fault);
    }
    let covers = |(wide, exact): (&String, &String)| {
        let patterns = Pattern::read(wide).zip(Pattern::read(exact));
        patterns.is_some_and(|(wide, exact)| wide.covers(&exact))
    };
    if let Some(command) = &exact.command
        && !rule.command.as_ref().zip(Some(command)).is_none_or(covers)
    {
        return Some(format!(
            "this rule does not allow `{command}`: write its first words and * behind them"
        ));
    }
    let leaves_out = |(wide, exact): (&String, &String)| !matches(wide, exact);
    let (wide, exact) = (rule.path.as_ref(), exact.path.as_ref());
    let exact = exact.filter(|_| wide.zip(exact).is_some_and(leaves_out))?;
    Some(format!("this rule does not allow `{exact}`"))
}

/// Of the pattern for an argument.
pub fn of_pattern(pattern: &str) -> Option<String> {
    let error = [RuleEffect::Allow, RuleEffect::Deny]
        .into_iter()
        .find_map(|effect| compiled(pattern, effect).err())?;
    Some(format!("this pattern cannot be used: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_would_never_match_is_named() {
        for path in [
            "src/**",
            "**/.env",
            "a?c/*.rs",
            ".",
            "**",
            "a b/ü",
            "a!",
            "src/~x",
            "app/[[]id[]]/**",
            "[{]a[}]",
            "[!]a",
        ] {
            assert_eq!(of_path(path), None, "{path}");
        }
        for (path, part) in [
            ("", "not empty"),
            ("/home/me/x", "relative to the workspace"),
            ("~/.ssh/**", "relative to the workspace"),
            ("../x", "does not lead out"),
            ("[", "`[` means nothing"),
            ("src/[ab].rs", "`[` means nothing"),
            ("app/[id]", "[[] where a name has this letter"),
            ("[a]", "`[` means nothing"),
            ("[[", "`[` means nothing"),
            ("a[]", "`[` means nothing"),
            ("*.{env,key}", "`{` means nothing"),
            ("a\\*", "`\\` means nothing"),
            ("!src/**", "another effect"),
            ("**.env", "stands alone"),
            ("src/**.key", "stands alone"),
            ("secret/", "write `secret`"),
            ("./src//**", "write `src/**`"),
            ("a/../b", "write `b`"),
        ] {
            let fault = of_path(path).unwrap_or_default();
            assert!(fault.contains(part), "{path}: {fault}");
        }
    }

    #[test]
    fn a_pattern_that_is_none_or_too_big_is_named() {
        assert_eq!(of_pattern("https://.*"), None);
        assert!(of_pattern("(").unwrap().contains("unclosed group"));
        assert!(of_pattern("(?:a{1000}){1000}").unwrap().contains("size limit"));
    }
}
