//! Messages that wait: edited, moved and taken back on the page.

use axum::extract::{Path, State};
use piton::id::MessageId;
use piton::view::QueuedView;
use piton::{Command, QueueChange, QueuePlace, UserPart};

use super::form::{Done, Form};
use super::forms::simple;
use crate::access::Who;
use crate::fault::{Fault, Kind};
use crate::shared::Shared;

/// Changes a waiting message.
pub(super) async fn change(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    who: Who,
    form: Form,
) -> Result<Done, Fault> {
    let id = shared.writable(&id).await?;
    let message = form.message()?;
    let queue = shared.engine().view(&id).await?.queue;
    let wish = form.get("do").unwrap_or_default();
    let Some(command) = command(&queue, message, wish, form.get("text"))? else {
        return Ok(form.done(&format!("/c/{id}")));
    };
    simple(&shared, &id, &who, command).await?;
    Ok(form.done(&format!("/c/{id}")))
}

/// The command of a button; none, if there is nothing to move.
fn command(
    queue: &[QueuedView],
    message: MessageId,
    wish: &str,
    text: Option<&str>,
) -> Result<Option<Command>, Fault> {
    let Some(moved) = queue.iter().find(|queued| queued.id == message) else {
        let refused = Fault::new(Kind::Refused, "this message does not wait any more");
        return Err(refused.hint("it has its turn, or was taken back"));
    };
    // The page shows what steers in front of what comes next, and moves a message among its kind.
    let kind: Vec<_> = queue.iter().filter(|queued| queued.place == moved.place).collect();
    let place = kind.iter().position(|queued| queued.id == message).unwrap_or_default();
    let before = |place: usize| {
        kind.get(place).map(|other| QueueChange::Before { before: other.id.clone() })
    };
    let change = match wish {
        "remove" => return Ok(Some(Command::Unqueue { message })),
        "edit" => {
            let text = text.ok_or_else(|| Fault::bad("the message is empty"))?;
            QueueChange::Parts { parts: vec![UserPart::text(text)] }
        }
        "steer" => QueueChange::Place { place: QueuePlace::Steer },
        "next" => QueueChange::Place { place: QueuePlace::Next },
        "up" => match place.checked_sub(1).and_then(before) {
            Some(change) => change,
            None => return Ok(None),
        },
        "down" => before(place + 2).unwrap_or(QueueChange::Last),
        _ => return Err(Fault::bad(format!("nothing is done by {wish:?}"))),
    };
    Ok(Some(Command::Requeue { message, change }))
}
