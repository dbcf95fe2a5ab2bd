//! The end of a turn that only planned: a person approves the plan, changes it, or leaves it.

use piton_core::view::{PermissionMode, TurnEnd, View};

use super::asked::Asked;
use super::errand::Errand;
use super::mail::Mail;
use super::opened::{Life, Opened};
use super::stage::Stage;
use crate::ask::approval::{Approval, approval_menu, choose_approval};
use crate::flags::Mode;
use crate::report::Report;

/// What the model is told when a plan is approved.
const APPROVED: &str = "The plan is approved. Carry it out.";

/// The mode in which a plan is carried out: the one before, as far as that is known.
pub(super) fn mode_of_work(before: &View) -> PermissionMode {
    match before.head.mode {
        PermissionMode::Plan => PermissionMode::Ask,
        mode @ (PermissionMode::Ask
        | PermissionMode::AcceptEdits
        | PermissionMode::Auto
        | PermissionMode::ReadOnly) => mode,
    }
}

/// Whether the last turn ended with a plan.
pub(super) fn has_plan(view: &View) -> bool {
    let is_over = view.turns.last().is_some_and(|turn| turn.head.end == Some(TurnEnd::Completed));
    view.head.mode == PermissionMode::Plan && view.head.open.is_none() && is_over
}

/// Asks a person what becomes of the plan. The next errand, or none if it is left.
pub(super) async fn approve(
    opened: &mut Opened,
    work: PermissionMode,
    asked: &mut Asked<'_>,
    mail: &mut Mail,
    stage: &mut Stage<'_>,
) -> Option<Errand> {
    stage.output.rest();
    // Nobody has seen the plan before: what was typed meanwhile is no answer to it.
    stage.terminal.as_mut()?.forget_typed();
    // Who leaves the question leaves the plan.
    let text = match choose_approval(stage.choose(&approval_menu()).await.ok()?) {
        Approval::Leave => return None,
        Approval::CarryOut => {
            asked.overrides.permissions = Some(work);
            asked.query.turn.permissions = Some(Mode::from(work));
            APPROVED.to_owned()
        }
        Approval::Change => {
            let said = stage.ask("what should be different: ").await.ok()?;
            if said.trim().is_empty() {
                return None;
            }
            said
        }
    };
    mail.write_next(text);
    if opened.life == Life::New {
        opened.life = Life::Known;
    }
    Some(Errand::Send(piton::OnIncomplete::Ask))
}

/// Says which command carries a plan out that nobody has approved.
pub(super) fn tell_how(report: Report, opened: &Opened, work: PermissionMode) -> Report {
    if opened.life == Life::Passing {
        return report;
    }
    let (id, mode) = (opened.conversation.id(), Mode::from(work).typed());
    report.with_hint(format!(
        "nothing was changed; to carry the plan out: piton query --id {id} --permissions {mode} \
         \"Carry out the plan.\""
    ))
}
