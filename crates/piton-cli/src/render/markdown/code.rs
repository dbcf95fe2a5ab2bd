//! Code in colours, line by line.
//!
//! Grammars are loaded when the first code with a language is shown, and not before: that takes longer than
//! starting the process. Colours are those of the terminal's own palette, so they fit its background.

use std::sync::OnceLock;

use anstyle::{AnsiColor, Effects, Style as Look};
use piton_core::language::{self, COLOURED_BYTES_MAX};
use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxSet};

use crate::render::paint::{Line, Page, Span, Style, expand_tabs};

/// What is coloured how; of the names that a place has, the innermost that is listed counts, and of two that
/// fit the first.
const LOOKS: [(&str, Look); 14] = [
    ("comment", AnsiColor::BrightBlack.on_default()),
    ("constant.character.escape", AnsiColor::Cyan.on_default()),
    ("string", AnsiColor::Green.on_default()),
    ("constant", AnsiColor::Cyan.on_default()),
    ("keyword.operator", Look::new()),
    ("keyword", AnsiColor::Magenta.on_default()),
    ("storage", AnsiColor::Magenta.on_default()),
    ("entity.name", AnsiColor::Blue.on_default()),
    ("support", AnsiColor::Cyan.on_default()),
    ("variable.function", AnsiColor::Blue.on_default()),
    ("markup.inserted", AnsiColor::Green.on_default()),
    ("markup.deleted", AnsiColor::Red.on_default()),
    ("markup.heading", Look::new().effects(Effects::BOLD)),
    ("meta.diff.range", AnsiColor::Cyan.on_default()),
];

struct Grammars {
    syntaxes: SyntaxSet,
    looks: Vec<(Scope, Look)>,
}

/// A code block while it is being shown.
#[derive(Debug)]
pub(super) struct Code {
    /// Nothing, if there is no grammar for it.
    grammar: Option<(ParseState, ScopeStack)>,
}

impl Code {
    /// Begins a block in a language, as it is written behind a fence.
    pub(super) fn new(info: &str, page: Page) -> Self {
        let token = language::token(info);
        if token.is_empty() || page.style == Style::Plain {
            return Self { grammar: None };
        }
        let syntax = grammars().syntaxes.find_syntax_by_token(&token);
        let grammar = syntax.map(|syntax| (ParseState::new(syntax), ScopeStack::new()));
        Self { grammar }
    }

    /// The next line, without its end.
    pub(super) fn line(&mut self, line: &str) -> Line {
        let line = expand_tabs(line);
        match &mut self.grammar {
            Some((state, scopes)) if line.len() <= COLOURED_BYTES_MAX => {
                coloured(&line, state, scopes)
            }
            Some(_) | None => vec![Span::plain(&line)],
        }
    }
}

fn coloured(line: &str, state: &mut ParseState, scopes: &mut ScopeStack) -> Line {
    let Grammars { syntaxes, looks } = grammars();
    let whole = || vec![Span::plain(line)];
    // The grammars expect line ends.
    let Ok(changes) = state.parse_line(&format!("{line}\n"), syntaxes) else { return whole() };
    let mut spans = Line::new();
    let mut shown = 0;
    for (at, change) in changes {
        let piece = line.get(shown..at.min(line.len())).unwrap_or_default();
        if !piece.is_empty() {
            spans.push(Span::new(piece, look_of(scopes, looks)));
            shown += piece.len();
        }
        if scopes.apply(&change).is_err() {
            break;
        }
    }
    let rest = line.get(shown..).unwrap_or_default();
    if !rest.is_empty() {
        spans.push(Span::new(rest, look_of(scopes, looks)));
    }
    spans
}

fn look_of(scopes: &ScopeStack, looks: &[(Scope, Look)]) -> Look {
    let of = |scope: &Scope| looks.iter().find(|(name, _)| name.is_prefix_of(*scope));
    scopes.as_slice().iter().rev().find_map(of).map_or(Look::new(), |(_, look)| *look)
}

fn grammars() -> &'static Grammars {
    static GRAMMARS: OnceLock<Grammars> = OnceLock::new();
    GRAMMARS.get_or_init(|| {
        let named = |(name, look): &(&str, Look)| Some((Scope::new(name).ok()?, *look));
        Grammars {
            syntaxes: two_face::syntax::extra_newlines(),
            looks: LOOKS.iter().filter_map(named).collect(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::paint::Painted;

    const PAGE: Page = Page { columns: 80, style: Style::Coloured };

    fn lines(info: &str, code: &str) -> String {
        let mut block = Code::new(info, PAGE);
        let lines: Vec<Line> = code.lines().map(|line| block.line(line)).collect();
        Painted::lines(&lines, Style::Coloured).as_str().to_owned()
    }

    #[test]
    fn code_is_coloured_in_its_language() {
        let rust = lines("rust", "let x = \"a\"; // b");
        assert!(
            rust.contains("\x1b[32m\"\x1b[0m\x1b[32ma") || rust.contains("\x1b[32m\"a"),
            "{rust:?}"
        );
        assert!(rust.contains("\x1b[90m"), "{rust:?}");
        for name in
            ["rust,no_run", "Python", "ts", "toml", "shell", "console", "c++", "json", "diff"]
        {
            assert!(Code::new(name, PAGE).grammar.is_some(), "{name}");
        }
    }

    #[test]
    fn a_comment_goes_on_in_the_next_line() {
        let shown = lines("rust", "/* a\nb */ c");
        assert!(shown.lines().nth(1).unwrap().starts_with("\x1b[90mb"), "{shown:?}");
    }

    #[test]
    fn code_of_no_language_and_long_lines_stay_as_they_are() {
        assert_eq!(lines("", "let x;"), "let x;\n");
        assert_eq!(lines("nonesuch", "let x;"), "let x;\n");
        let long = "x".repeat(COLOURED_BYTES_MAX + 1);
        assert_eq!(lines("rust", &long), long + "\n");
    }
}
