//! What tidy has to say.

use std::fmt;

/// A place that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file, from the root.
    pub path: String,
    /// The line, from 1; none when the file as a whole is meant.
    pub line: Option<usize>,
    /// What is wrong, and what to do about it.
    pub message: String,
}

/// Everything found in one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Broken rules. Empty means tidy.
    pub findings: Vec<Finding>,
    /// Numbers and skipped rules, for information.
    pub notes: Vec<String>,
}

impl Report {
    /// Adds a finding about a whole file.
    pub(super) fn file(&mut self, path: &str, message: impl Into<String>) {
        self.findings.push(Finding { path: path.into(), line: None, message: message.into() });
    }

    /// Adds a finding about a line, counted from 1.
    pub(super) fn line(&mut self, path: &str, line: usize, message: impl Into<String>) {
        self.findings.push(Finding {
            path: path.into(),
            line: Some(line),
            message: message.into(),
        });
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.message),
            None => write!(f, "{}: {}", self.path, self.message),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.findings {
            writeln!(f, "{finding}")?;
        }
        for note in &self.notes {
            writeln!(f, "tidy: {note}")?;
        }
        match self.findings.len() {
            0 => writeln!(f, "tidy: nothing found"),
            1 => writeln!(f, "tidy: 1 finding"),
            many => writeln!(f, "tidy: {many} findings"),
        }
    }
}

/// Runs one rule on invented files and returns its findings as text.
#[cfg(test)]
pub(super) fn findings(rule: fn(&super::Tree, &mut Report), files: &[(&str, &str)]) -> Vec<String> {
    let mut report = Report::default();
    rule(&super::Tree::invented(files), &mut report);
    report.findings.iter().map(ToString::to_string).collect()
}
