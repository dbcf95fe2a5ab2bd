//! The controls: what is done wrong on purpose must be seen.

use std::sync::PoisonError;

use futures_util::StreamExt as _;
use piton::model::{Model as _, ModelFn, say};
use piton_core::state::{Item, State};
use piton_core::transcript::Transcript;
use piton_sim::script::binding::{BindingModel, Delivery, Refusals};

use super::controls::Control;
use super::facts::Class;
use super::stage::{Scenario, Spec, Stage};
use super::summariser::Summariser;
use super::table::Figures;
use super::{LONG, SHORT_STEPS, play};

/// Steps that are enough for several summaries.
const SHORT: Spec = Spec { steps: 2 * SHORT_STEPS, ..LONG };

async fn with(control: Control, summariser: Summariser) -> Figures {
    play(Spec { summariser, control, ..SHORT }).await
}

fn report(control: &str, seen: &str) {
    println!("\n| control | {control} | {seen} |");
}

fn unknown(figures: &Figures, classes: &[Class]) -> usize {
    classes.iter().map(|class| figures.score(*class).unknown).sum()
}

const JOURNAL: [Class; 3] = [Class::File, Class::Plan, Class::Running];
const SAID: [Class; 2] = [Class::Decision, Class::Number];

#[tokio::test(start_paused = true)]
async fn evaluation_control_without_the_journal_part_files_plan_and_commands_are_forgotten() {
    let (right, wrong) = (
        with(Control::None, Summariser::None).await,
        with(Control::NoJournalPart, Summariser::None).await,
    );
    let (before, after) = (unknown(&right, &JOURNAL), unknown(&wrong, &JOURNAL));
    report(
        "no journal part",
        &format!("{after} facts of the journal are unknown, {before} with it"),
    );
    assert!(before == 0 && 0 < after, "{before} {after}");
}

#[tokio::test(start_paused = true)]
async fn evaluation_control_without_recall_decisions_are_forgotten() {
    let figures = with(Control::NoRecall, Summariser::None).await;
    let score = figures.score(Class::Decision);
    report("no recall", &format!("of {} decisions, {} are unknown", score.asked(), score.unknown));
    assert!(0 < score.unknown && score.recall == 0, "{score:?}");
}

#[tokio::test(start_paused = true)]
async fn evaluation_control_an_old_message_that_stands_last_is_obeyed_again() {
    let spec = Spec { scenario: Scenario::Turns, control: Control::OldestMessageLast, ..SHORT };
    let figures = play(spec).await;
    report("oldest message last", &format!("{} calls are repeated", figures.repeated));
    assert!(0 < figures.repeated);
}

#[tokio::test(start_paused = true)]
async fn evaluation_control_a_cut_between_call_and_result_breaks_rules() {
    let figures = with(Control::CutBetween, Summariser::None).await;
    report("cut between call and result", &format!("{} rules are broken", figures.violations));
    assert!(0 < figures.violations);
}

#[tokio::test(start_paused = true)]
async fn evaluation_control_a_window_that_nobody_knows_is_met_by_refusals() {
    let figures = with(Control::TriggerOff, Summariser::None).await;
    report("trigger off", &format!("{} requests are refused", figures.refused));
    assert!(0 < figures.refused);
}

#[tokio::test(start_paused = true)]
async fn evaluation_control_summaries_that_do_not_shrink_are_bounded() {
    let spec = Spec { asks: false, ..SHORT };
    let right = play(spec).await;
    let wrong = Stage::new(Spec { control: Control::NoShrinkCheck, ..spec }).play().await;
    let broke = wrong.state.open_turn().and_then(|turn| turn.broke.as_ref());
    let is_bounded = broke.is_some_and(|broke| broke.message.contains("does not help any more"));
    let wrong = Figures::of(&wrong);
    report(
        "no shrink check",
        &format!(
            "the turn stops at its bound behind {} requests and {} summaries, and is done behind {} with it",
            wrong.requests, wrong.summaries, right.requests
        ),
    );
    assert!(right.done && !wrong.done && is_bounded, "{broke:?}");
}

#[tokio::test(start_paused = true)]
async fn evaluation_control_a_summary_of_a_summary_fades() {
    let (right, wrong) = (
        with(Control::None, Summariser::Lossy).await,
        with(Control::SecondHand, Summariser::Lossy).await,
    );
    let context =
        |figures: &Figures| SAID.map(|class| figures.score(class).context).iter().sum::<usize>();
    let (right, wrong) = (context(&right), context(&wrong));
    report(
        "made from the last summary",
        &format!("{wrong} from the context, {right} from the entries"),
    );
    assert!(wrong < right, "{wrong} {right}");
}

#[tokio::test(start_paused = true)]
async fn evaluation_control_without_a_fence_a_stranger_makes_rules() {
    let (right, wrong) = (
        with(Control::None, Summariser::Obeys).await,
        with(Control::NoFence, Summariser::Obeys).await,
    );
    report(
        "no fence around the history",
        &format!("obeyed: {}, with it: {}", wrong.obeyed, right.obeyed),
    );
    assert!(wrong.obeyed && !right.obeyed);
}

#[tokio::test(start_paused = true)]
async fn evaluation_control_without_room_for_thoughts_there_is_no_text() {
    let (right, wrong) = (
        with(Control::None, Summariser::Thinks).await,
        with(Control::NoAllowance, Summariser::Thinks).await,
    );
    report(
        "no allowance for thoughts",
        &format!("{} summaries by the model, {} with it", wrong.by_model, right.by_model),
    );
    assert!(wrong.by_model == 0 && 0 < right.by_model, "{} {}", wrong.by_model, right.by_model);
}

#[tokio::test(start_paused = true)]
async fn evaluation_control_blocks_behind_a_change_are_refused() {
    let mut state = Stage::new(Spec { asks: false, ..SHORT }).play().await.state;
    let right = refusals(&state).await;
    for item in state.turns.iter_mut().flat_map(|turn| &mut turn.items) {
        if let Item::Step(step) = item {
            step.request.unbound = false;
        }
    }
    let wrong = refusals(&state).await;
    report(
        "thinking kept behind a change",
        &format!("{wrong} requests are refused, {right} without"),
    );
    assert!(right == 0 && 0 < wrong, "{right} {wrong}");
}

/// How often a provider that checks beginnings refuses the next request of a conversation.
async fn refusals(state: &State) -> usize {
    let found = Refusals::default();
    let inner = ModelFn(|_: &Transcript| say("seen"));
    let model = BindingModel::new(inner, Delivery::Whole, found.clone());
    model.ask(&Transcript::from(state)).collect::<Vec<_>>().await;
    found.lock().unwrap_or_else(PoisonError::into_inner).len()
}
