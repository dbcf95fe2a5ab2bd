//! Code in colours, line by line, as classes.

use std::sync::OnceLock;

use piton_core::language::{self, COLOURED_BYTES_MAX};
use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxSet};

use crate::visible::escape;

/// What has which class; of the names that a place has, the innermost that is listed counts, and of two
/// that fit the first.
const LOOKS: [(&str, &str); 12] = [
    ("comment", "c"),
    ("constant.character.escape", "n"),
    ("string", "s"),
    ("constant", "n"),
    ("keyword.operator", ""),
    ("keyword", "k"),
    ("storage", "k"),
    ("entity.name", "f"),
    ("support", "f"),
    ("variable.function", "f"),
    ("markup.inserted", "s"),
    ("markup.deleted", "r"),
];

struct Grammars {
    syntaxes: SyntaxSet,
    looks: Vec<(Scope, &'static str)>,
}

/// Colours the lines of one text, in order.
#[derive(Clone, Debug)]
pub(crate) struct Painter {
    /// Nothing, if there is no grammar for it.
    grammar: Option<(ParseState, ScopeStack)>,
}

impl Painter {
    /// For a language, as it is written behind a fence.
    pub(crate) fn of_language(info: &str) -> Self {
        Self::of_token(&language::token(info))
    }

    /// For a file, by its name.
    pub(crate) fn of_file(path: &str) -> Self {
        let name = path.rsplit('/').next().unwrap_or_default();
        Self::of_token(name.rsplit_once('.').map_or(name, |(_, ending)| ending))
    }

    fn of_token(token: &str) -> Self {
        if token.is_empty() {
            return Self { grammar: None };
        }
        let syntax = grammars().syntaxes.find_syntax_by_token(token);
        Self { grammar: syntax.map(|syntax| (ParseState::new(syntax), ScopeStack::new())) }
    }

    /// The next line, without its end, as HTML.
    pub(crate) fn line(&mut self, line: &str) -> String {
        let mut html = String::with_capacity(line.len());
        match &mut self.grammar {
            Some((state, scopes)) if line.len() <= COLOURED_BYTES_MAX => {
                paint(line, state, scopes, &mut html);
            }
            Some(_) | None => escape(line, &mut html),
        }
        html
    }
}

fn paint(line: &str, state: &mut ParseState, scopes: &mut ScopeStack, html: &mut String) {
    let Grammars { syntaxes, looks } = grammars();
    // The grammars expect line ends.
    let Ok(changes) = state.parse_line(&format!("{line}\n"), syntaxes) else {
        return escape(line, html);
    };
    let mut shown = 0;
    for (at, change) in changes {
        let piece = line.get(shown..at.min(line.len())).unwrap_or_default();
        put(piece, look_of(scopes, looks), html);
        shown += piece.len();
        if scopes.apply(&change).is_err() {
            break;
        }
    }
    put(line.get(shown..).unwrap_or_default(), look_of(scopes, looks), html);
}

fn put(piece: &str, look: &str, html: &mut String) {
    if piece.trim().is_empty() || look.is_empty() {
        return escape(piece, html);
    }
    html.push_str("<span class=\"");
    html.push_str(look);
    html.push_str("\">");
    escape(piece, html);
    html.push_str("</span>");
}

fn look_of(scopes: &ScopeStack, looks: &[(Scope, &'static str)]) -> &'static str {
    let of = |scope: &Scope| looks.iter().find(|(name, _)| name.is_prefix_of(*scope));
    scopes.as_slice().iter().rev().find_map(of).map_or("", |(_, look)| look)
}

fn grammars() -> &'static Grammars {
    static GRAMMARS: OnceLock<Grammars> = OnceLock::new();
    GRAMMARS.get_or_init(|| {
        let named = |(name, look): &(&str, &'static str)| Some((Scope::new(name).ok()?, *look));
        Grammars {
            syntaxes: two_face::syntax::extra_newlines(),
            looks: LOOKS.iter().filter_map(named).collect(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_has_classes_and_no_style() {
        let html = Painter::of_language("rust,no_run").line("let x = \"<b>\"; // é\u{202e}");
        assert!(html.contains("<span class=\"k\">let</span>"), "{html}");
        assert!(html.contains("&lt;b&gt;") && html.contains("\\u{202e}"), "{html}");
        assert!(!html.contains("style"), "{html}");
        let mut painter = Painter::of_file("a/b.rs");
        painter.line("/* a");
        assert!(painter.line("b */ c").starts_with("<span class=\"c\">b"));
    }

    #[test]
    fn code_of_no_language_and_long_lines_have_no_colours() {
        assert_eq!(Painter::of_language("").line("let x;"), "let x;");
        assert_eq!(Painter::of_language("nonesuch").line("let x;"), "let x;");
        let long = "x".repeat(COLOURED_BYTES_MAX + 1);
        assert_eq!(Painter::of_language("rust").line(&long), long);
    }
}
