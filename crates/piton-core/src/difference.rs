//! A difference of two texts in the unified form, line by line, as all faces read it.

/// What a line of a difference is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineIs {
    /// Which lines follow.
    Heading,
    /// Only the old text has it.
    Lost,
    /// Only the new text has it.
    New,
    /// Both have it.
    Same,
    /// Something about the difference itself.
    Remark,
}

/// A line of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiffLine<'a> {
    /// What it is.
    pub is: LineIs,
    /// Its number in the old text, if it is there and that is known.
    pub old: Option<u64>,
    /// The same in the new text.
    pub new: Option<u64>,
    /// The line without its sign.
    pub text: &'a str,
}

/// Reads a difference. Numbers are known behind the first heading: the end of a difference that was cut has
/// none in front of it.
pub fn unified(text: &str) -> Vec<DiffLine<'_>> {
    let (mut old, mut new): (Option<u64>, Option<u64>) = (None, None);
    let mut lines = Vec::new();
    for line in text.lines() {
        if let Some((first, second)) = hunk(line) {
            (old, new) = (Some(first), Some(second));
            lines.push(DiffLine { is: LineIs::Heading, old: None, new: None, text: line });
            continue;
        }
        let mut letters = line.chars();
        let (is, text) = match letters.next() {
            Some('-') => (LineIs::Lost, letters.as_str()),
            Some('+') => (LineIs::New, letters.as_str()),
            Some(' ') => (LineIs::Same, letters.as_str()),
            Some(_) | None => (LineIs::Remark, line),
        };
        let (in_old, in_new) =
            (matches!(is, LineIs::Lost | LineIs::Same), matches!(is, LineIs::New | LineIs::Same));
        // What a tool left out counts too, and has no number of its own.
        let count = left_out(text).unwrap_or(1);
        let shown = |number: Option<u64>, is_in| number.filter(|_| is_in && count == 1);
        lines.push(DiffLine { is, old: shown(old, in_old), new: shown(new, in_new), text });
        let step = |number: Option<u64>, is_in| {
            number.map(|number| if is_in { number.saturating_add(count) } else { number })
        };
        (old, new) = (step(old, in_old), step(new, in_new));
    }
    lines
}

/// Where lines begin in both texts: `@@ -1,2 +3,4 @@`.
fn hunk(line: &str) -> Option<(u64, u64)> {
    let (ranges, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let first = |range: &str| range.split(',').next()?.parse().ok();
    Some((first(old)?, first(new)?))
}

/// How many lines stand behind `[12 more lines]`.
pub fn left_out(line: &str) -> Option<u64> {
    line.strip_prefix('[')?.strip_suffix(" more lines]")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_the_numbers_that_they_have_in_both_texts() {
        let text = "-cut\n@@ -9,3 +9,3 @@\n nine\n-ten\n+zehn\n-[28 more lines]\n same\n\\ No newline\n@@ x\n";
        let number =
            |number: Option<u64>| number.map_or_else(|| "-".to_owned(), |it| it.to_string());
        let line = |line: DiffLine<'_>| {
            format!("{:?} {} {} {}", line.is, number(line.old), number(line.new), line.text)
        };
        let lines: Vec<_> = unified(text).into_iter().map(line).collect();
        assert_eq!(
            lines,
            [
                "Lost - - cut",
                "Heading - - @@ -9,3 +9,3 @@",
                "Same 9 9 nine",
                "Lost 10 - ten",
                "New - 10 zehn",
                "Lost - - [28 more lines]",
                "Same 39 11 same",
                "Remark - - \\ No newline",
                "Remark - - @@ x",
            ]
        );
    }
}
