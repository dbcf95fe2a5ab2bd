//! The table. The only file that prints.

/// One figure against its target.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// What was measured.
    pub(crate) what: &'static str,
    /// What piton needs.
    pub(crate) value: String,
    /// What it is compared with, in the same run.
    pub(crate) floor: String,
    /// The figure that the target speaks of.
    pub(crate) figure: f64,
    /// Its unit: `x` for a ratio.
    pub(crate) unit: &'static str,
    /// The target.
    pub(crate) target: Target,
}

/// What a figure should be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    AtMost(f64),
    AtLeast(f64),
    /// It is shown, and need not be anything.
    None,
}

impl Row {
    /// Whether the target is met.
    pub(crate) fn holds(&self) -> bool {
        match self.target {
            Target::AtMost(target) => self.figure <= target,
            Target::AtLeast(target) => target <= self.figure,
            Target::None => true,
        }
    }
}

/// Prints the table as Markdown.
#[expect(clippy::print_stdout, reason = "the table is what this program is for")]
pub(crate) fn print(rows: &[Row]) {
    println!("| what | piton | against | figure | target | holds |");
    println!("|---|---|---|---|---|---|");
    for row in rows {
        let Row { what, value, floor, figure, unit, target } = row;
        let target = match target {
            Target::AtMost(target) => format!("≤ {target}{unit}"),
            Target::AtLeast(target) => format!("≥ {target}{unit}"),
            Target::None => "none".into(),
        };
        let holds = if row.holds() { "yes" } else { "NO" };
        println!("| {what} | {value} | {floor} | {figure:.2}{unit} | {target} | {holds} |");
    }
}

/// Says what is going on.
#[expect(clippy::print_stderr, reason = "long work shows progress")]
pub(crate) fn progress(line: &str) {
    eprintln!("{line}");
}
