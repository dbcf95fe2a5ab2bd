//! Hits as lines: `ID:TURN:SCOPE:KIND:TEXT`, and with `-` for the lines around them.

use std::fmt::Write as _;

use piton::search::{Hit, Pattern};

/// Most characters of a line that are shown to a person, the hit among them.
const LINE_CHARS_MAX: usize = 240;
/// Characters of those in front of the hit.
const LEAD_CHARS: usize = 80;

/// All hits. With lines around them, groups that do not touch are set apart. Long lines are cut around what
/// matches, if a pattern is given for that.
pub(crate) fn lines(hits: &[Hit], is_grouped: bool, cut: Option<&Pattern>) -> String {
    let mut text = String::new();
    let mut last: Option<(&Hit, usize)> = None;
    for hit in hits {
        // Where the group before ended, if this hit is in the same text.
        let shown = last.filter(|(other, _)| is_same_text(other, hit)).map(|(_, shown)| shown);
        let first = hit.number - hit.before.len();
        let follows = shown.is_some_and(|shown| first <= shown + 1);
        if is_grouped && last.is_some() && !follows {
            text.push_str("--\n");
        }
        // Lines behind the last hit may be this hit, or stand in front of it: they are shown once.
        let shown = shown.unwrap_or(0);
        for (line, number) in hit.before.iter().zip(first..) {
            if shown < number {
                put(&mut text, hit, '-', line);
            }
        }
        if shown < hit.number {
            put(&mut text, hit, ':', &cut_around(&hit.line, cut));
        }
        // The next hit shows itself and what is behind it.
        let next = hits.iter().find(|next| is_same_text(next, hit) && hit.number < next.number);
        let end = next.map_or(usize::MAX, |next| next.number);
        let mut reached = shown.max(hit.number);
        for (line, number) in hit.after.iter().zip(hit.number + 1..) {
            if reached < number && number < end {
                put(&mut text, hit, '-', line);
                reached = number;
            }
        }
        last = Some((hit, reached));
    }
    text
}

fn is_same_text(one: &Hit, other: &Hit) -> bool {
    let place = |hit: &Hit| (hit.seq, hit.turn);
    one.conversation == other.conversation
        && place(one) == place(other)
        && one.scope == other.scope
        && one.kind == other.kind
}

fn put(text: &mut String, hit: &Hit, mark: char, line: &str) {
    let Hit { conversation, turn, scope, kind, hidden, .. } = hit;
    let why = if hidden.is_empty() { String::new() } else { format!(".{hidden}") };
    let head = format!("{conversation}{mark}{turn}{mark}{scope}{mark}{kind}{why}{mark}");
    // Writing to a string cannot fail.
    writeln!(text, "{head}{line}").unwrap_or_default();
}

/// A line with what matches in sight.
fn cut_around(line: &str, cut: Option<&Pattern>) -> String {
    let Some(pattern) = cut.filter(|_| LINE_CHARS_MAX < line.chars().count()) else {
        return line.to_owned();
    };
    let at = pattern.place(line).map_or(0, |place| place.start);
    let before = line.get(..at).unwrap_or_default().chars().count();
    let skipped = before.saturating_sub(LEAD_CHARS);
    let kept: String = line.chars().skip(skipped).take(LINE_CHARS_MAX).collect();
    let left = if 0 < skipped { "…" } else { "" };
    let right = if skipped + LINE_CHARS_MAX < line.chars().count() { "…" } else { "" };
    format!("{left}{kept}{right}")
}

#[cfg(test)]
mod tests {
    use piton_core::id::{ConversationId, Seq};

    use super::*;

    fn hit(number: usize, context: usize) -> Hit {
        let line = |number: usize| format!("l{number}");
        let first = number.saturating_sub(context).max(1);
        Hit {
            conversation: ConversationId::new("abc"),
            turn: 2,
            seq: Seq(9),
            scope: "tool".into(),
            kind: "result".into(),
            hidden: "".into(),
            number,
            line: line(number),
            before: (first..number).map(line).collect(),
            after: (number + 1..=number + context).map(line).collect(),
        }
    }

    #[test]
    fn lines_around_hits_are_shown_once_and_groups_are_set_apart() {
        let text = lines(&[hit(2, 1), hit(4, 1), hit(9, 1)], true, None);
        let short: Vec<_> =
            text.lines().map(|line| line.replace("abc-2-tool-result-", "-")).collect();
        assert_eq!(
            short,
            [
                "-l1",
                "abc:2:tool:result:l2",
                "-l3",
                "abc:2:tool:result:l4",
                "-l5",
                "--",
                "-l8",
                "abc:2:tool:result:l9",
                "-l10",
            ]
        );
    }

    #[test]
    fn a_hit_right_behind_another_is_shown_as_a_hit() {
        let text = lines(&[hit(2, 2), hit(3, 2)], true, None);
        assert_eq!(text.matches(":l").count(), 2, "{text}");
        assert_eq!(text.lines().count(), 5, "{text}");
    }

    #[test]
    fn a_long_line_is_cut_around_what_matches() {
        let line = format!("{}needle{}", "a".repeat(500), "b".repeat(500));
        let pattern = Pattern::exactly("needle").unwrap();
        let cut = cut_around(&line, Some(&pattern));
        assert!(cut.starts_with("…a") && cut.contains("needle") && cut.ends_with("b…"), "{cut}");
        assert_eq!(cut_around(&line, None), line);
    }
}
