//! The violations of a body.

/// Violations so far.
#[derive(Debug, Default)]
pub(super) struct Found(Vec<String>);

impl Found {
    pub(super) fn add(&mut self, rule: &str, at: &str, why: &str) {
        self.0.push(format!("{rule} {at}: {why}"));
    }

    pub(super) fn all(self) -> Vec<String> {
        self.0
    }
}
