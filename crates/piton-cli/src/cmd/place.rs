//! Which place of a conversation is meant: a turn by its number, also from the end, or a message by the
//! beginning of its id.

use piton::Engine;
use piton::fork::ForkAt;
use piton_core::id::{ConversationId, MessageId, Seq, TurnId};
use piton_core::view::{ItemView, MessageView, TurnView, View};

use crate::flags::{Cut, Place};
use crate::report::{Fault, ForkFault};

/// Where a fork is cut. The conversation is read only where that is needed to tell.
pub(super) async fn fork_at(
    engine: &Engine,
    id: &ConversationId,
    cut: &Cut,
) -> Result<ForkAt, Fault> {
    Ok(match cut {
        Cut::End => ForkAt::End,
        Cut::Entry(entry) => ForkAt::Entry(Seq(*entry)),
        Cut::Turn(number) => match u32::try_from(*number) {
            Ok(number) => ForkAt::Turn(TurnId(number)),
            Err(_) => ForkAt::Turn(turn(&engine.view(id).await?, *number)?),
        },
        Cut::Before(Place::Turn(number)) => match u32::try_from(*number) {
            Ok(number) => ForkAt::BeforeTurn(TurnId(number)),
            Err(_) => ForkAt::BeforeTurn(turn(&engine.view(id).await?, *number)?),
        },
        Cut::Before(Place::Message(typed)) => {
            ForkAt::Before(message(&engine.view(id).await?, typed))
        }
        Cut::Behind(typed) => ForkAt::Behind(message(&engine.view(id).await?, typed)),
    })
}

/// The turn that a place is in, or that it names.
pub(super) fn turn_at(view: &View, place: &Place) -> Result<TurnId, ForkFault> {
    match place {
        Place::Turn(number) => turn(view, *number),
        Place::Message(typed) => {
            let name = message(view, typed);
            let has = |turn: &&TurnView| messages(turn).any(|said| said.id == name);
            let found = view.turns.iter().find(has).map(|turn| turn.head.id);
            found.ok_or_else(|| ForkFault::NoPlace { typed: typed.clone() })
        }
    }
}

/// The turn with a number. Below 0 the turns that are shown are counted from the end.
fn turn(view: &View, number: i64) -> Result<TurnId, ForkFault> {
    let back = usize::try_from(-number).ok().and_then(|back| back.checked_sub(1));
    let found = match back {
        Some(back) => view.shown().nth_back(back),
        None => view.turns.iter().find(|turn| i64::from(turn.head.id.0) == number),
    };
    let nowhere = || ForkFault::NoPlace { typed: number.to_string() };
    found.map(|turn| turn.head.id).ok_or_else(nowhere)
}

/// The message whose name begins as typed. What means none, or several, stays as it is: whoever looks for
/// it says so.
pub(super) fn message(view: &View, typed: &str) -> MessageId {
    let typed = typed.trim();
    let names: Vec<&MessageId> =
        view.turns.iter().flat_map(messages).map(|message| &message.id).collect();
    let mut begun =
        names.iter().filter(|name| !typed.is_empty() && name.as_str().starts_with(typed));
    match (names.iter().find(|name| name.as_str() == typed), begun.next(), begun.next()) {
        (Some(exact), _, _) => (*exact).clone(),
        (None, Some(only), None) => (*only).clone(),
        (None, _, _) => MessageId::new(typed),
    }
}

/// The messages of a turn, in order.
pub(super) fn messages(turn: &TurnView) -> impl Iterator<Item = &MessageView> {
    turn.items.iter().filter_map(|item| match item {
        ItemView::Message(message) => Some(message),
        ItemView::Step(_) | _ => None,
    })
}
