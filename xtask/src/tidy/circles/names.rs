//! The paths that a Rust file names: in `use` declarations, and elsewhere in its code.

/// A `use` declaration, one name of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Import {
    /// The path, from its first word to its last. A glob ends with the module's own name.
    pub(super) path: Vec<String>,
    /// The name that it has in this file.
    pub(super) name: String,
    /// Whether others can use it from here: handing something on is not using it.
    pub(super) is_handed_on: bool,
}

/// What a file names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) imports: Vec<Import>,
    /// Paths of two words or more, outside of imports.
    pub(super) paths: Vec<Vec<String>>,
}

/// Reads code without comments and the insides of strings. Code that only tests see is left out.
pub(super) fn named(code: &str) -> Named {
    let words = without_tests(tokens(code));
    let mut named = Named::default();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let before = at.checked_sub(1).and_then(|before| words.get(before)).map(String::as_str);
        if word == "use" && words.get(at + 1).is_some_and(|next| next != "<") {
            let is_handed_on = matches!(before, Some("pub" | ")"));
            at = import(&words, at + 1, &[], is_handed_on, &mut named.imports);
        } else if is_word(word) && before != Some("::") {
            let path = path_at(&words, at);
            at += 2 * path.len() - 1;
            if 1 < path.len() {
                named.paths.push(path);
            }
        } else {
            at += 1;
        }
    }
    named
}

/// Words, `::`, and every other character that is no space.
fn tokens(code: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let word = rest.find(|c: char| !is_letter(c)).unwrap_or(rest.len());
        let length = match word {
            0 if rest.starts_with("::") => 2,
            0 => first.len_utf8(),
            word => word,
        };
        let (token, behind) = rest.split_at(length);
        tokens.push(token.to_owned());
        rest = behind.trim_start();
    }
    tokens
}

/// Leaves out every item behind `#[cfg(test)]`.
fn without_tests(words: Vec<String>) -> Vec<String> {
    let mark = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let is_test = words.get(at..at + mark.len()).is_some_and(|found| found == mark);
        if is_test {
            at = item_end(&words, at + mark.len());
        } else {
            kept.push(word.clone());
            at += 1;
        }
    }
    kept
}

/// The place behind an item: behind its `;`, or behind the brace that closes its body.
fn item_end(words: &[String], mut at: usize) -> usize {
    let mut depth = 0_usize;
    // The braces of an import are not its end.
    let begins = words.iter().skip(at).find(|word| *word == "use" || *word == "{");
    let is_import = begins.is_some_and(|word| word == "use");
    while let Some(word) = words.get(at) {
        at += 1;
        match word.as_str() {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => {
                depth = depth.saturating_sub(1);
                if depth == 0 && word == "}" && !is_import {
                    return at;
                }
            }
            ";" if depth == 0 => return at,
            _ => {}
        }
    }
    at
}

/// Reads one branch of a `use` declaration; returns the place behind it.
fn import(
    words: &[String],
    mut at: usize,
    before: &[String],
    is_handed_on: bool,
    imports: &mut Vec<Import>,
) -> usize {
    let mut path = before.to_vec();
    let mut name = None;
    while let Some(word) = words.get(at).map(String::as_str) {
        match word {
            "::" => at += 1,
            "{" => {
                at += 1;
                while words.get(at).is_some_and(|word| word != "}") {
                    at = import(words, at, &path, is_handed_on, imports);
                    at += usize::from(words.get(at).is_some_and(|word| word == ","));
                }
                return at + 1;
            }
            "as" => {
                name = words.get(at + 1).cloned();
                at += 2;
            }
            // `a::{self}` is `a`.
            "self" if !path.is_empty() => at += 1,
            "*" => {
                name = Some("*".to_owned());
                at += 1;
            }
            word if is_word(word) => {
                path.push(word.to_owned());
                at += 1;
            }
            _ => break,
        }
    }
    if let Some(name) = name.or_else(|| path.last().cloned()) {
        imports.push(Import { path, name, is_handed_on });
    }
    at
}

fn path_at(words: &[String], at: usize) -> Vec<String> {
    let mut path = Vec::new();
    let mut rest = words.iter().skip(at);
    while let Some(word) = rest.next().filter(|word| is_word(word)) {
        path.push(word.clone());
        if rest.next().is_none_or(|next| next != "::") {
            break;
        }
    }
    path
}

fn is_word(token: &str) -> bool {
    token.chars().all(is_letter)
}

fn is_letter(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::named;

    fn check(code: &str, expected: &[&str]) {
        let named = named(code);
        let imports = named.imports.iter().map(|import| {
            let mark = if import.is_handed_on { " handed on" } else { "" };
            format!("{} as {}{mark}", import.path.join("::"), import.name)
        });
        let paths = named.paths.iter().map(|path| path.join("::"));
        assert_eq!(imports.chain(paths).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn imports_are_taken_apart() {
        check(
            "use a::{self, b::{C, D as E}, f::*};\npub(crate) use self::g::H;",
            &["a as a", "a::b::C as C", "a::b::D as E", "a::f as *", "self::g::H as H handed on"],
        );
    }

    #[test]
    fn paths_in_code_are_found() {
        check(
            "fn f(x: super::A) -> impl T + use<> { crate::b::c(x) + d::<E>() }",
            &["super::A", "crate::b::c"],
        );
    }

    #[test]
    fn what_only_tests_see_is_left_out() {
        check(
            "use a::B;\n#[cfg(test)]\nuse c::{D};\n#[cfg(test)]\nmod tests { use super::*; }\nfn f() { g::h() }",
            &["a::B as B", "g::h"],
        );
    }
}
