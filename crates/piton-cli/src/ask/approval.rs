//! A plan that waits for a person: what can be chosen.

use super::keys::{EDIT, Key, Menu, QUIT, YES};

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

/// The menu for a plan. An empty line means nothing: a plan is carried out by somebody who wants that.
pub(crate) fn approval_menu() -> Menu {
    Menu::of(&[
        (YES, "carry it out", "in the permission mode from before"),
        (EDIT, "change it with words", "the answer is a new plan"),
        (QUIT, "leave it", "nothing happens"),
    ])
}

/// What a key of that menu means.
pub(crate) fn choose_approval(key: Key) -> Approval {
    match key {
        YES => Approval::CarryOut,
        EDIT => Approval::Change,
        _ => Approval::Leave,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::keys::Pressed;

    #[test]
    fn a_plan_is_carried_out_only_by_a_clear_word() {
        for (line, expected) in
            [(" Y\n", Approval::CarryOut), ("edit", Approval::Change), ("q", Approval::Leave)]
        {
            let Pressed::Key(key) = approval_menu().hear(line) else { panic!("{line}") };
            assert_eq!(choose_approval(key), expected, "{line}");
        }
        for unclear in ["", "\n", "c", "carry it"] {
            assert!(matches!(approval_menu().hear(unclear), Pressed::Told(_)), "{unclear}");
        }
    }
}
