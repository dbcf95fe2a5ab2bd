//! A plan that waits for a person: what can be chosen.

use super::heard::type_one_of;

/// What becomes of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Approval {
    /// It is carried out.
    CarryOut,
    /// It is made anew, after a person has said how.
    Change,
    /// It stays as it is, and nothing is done.
    Leave,
}

/// The menu for a plan.
pub(crate) const APPROVAL_MENU: &str = "(c) carry it out, (w) change it with words, (l) leave it: ";

/// What that menu understands.
pub(crate) fn approval_menu_takes() -> String {
    type_one_of(&['c', 'w', 'l'])
}

/// What a line typed at that menu means. An empty one means nothing: a plan is carried out by somebody
/// who wants that.
pub(crate) fn choose_approval(line: &str) -> Option<Approval> {
    match line.trim().to_lowercase().as_str() {
        "c" | "carry" => Some(Approval::CarryOut),
        "w" | "words" | "change" => Some(Approval::Change),
        "l" | "leave" => Some(Approval::Leave),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_carried_out_only_by_a_clear_word() {
        assert_eq!(choose_approval(" C\n"), Some(Approval::CarryOut));
        assert_eq!(choose_approval("words"), Some(Approval::Change));
        assert_eq!(choose_approval("l"), Some(Approval::Leave));
        for unclear in ["", "\n", "y", "yes", "carry it"] {
            assert_eq!(choose_approval(unclear), None, "{unclear}");
        }
        assert_eq!(approval_menu_takes(), "type c, w or l");
    }
}
