//! A server that starts goes on with turns that were left, if the settings say so.

use piton::id::CommandId;
use piton::list::{Activity, Row};
use piton::store::{Filter, TurnIs, Wants};
use piton::{Command, Envelope, Sender, Shelf};

use crate::fault::Fault;
use crate::limits::LIST_ROWS;
use crate::shared::Shared;

/// In whose name turns are resumed.
const SERVER: &str = "serve.resume";

/// Resumes what no person is needed for; how many turns.
pub(crate) async fn turns(shared: &Shared) -> Result<usize, Fault> {
    let (turn, worker, shelf) = (Some(TurnIs::Open), Some(false), Some(Shelf::Listed));
    let filter = Filter { turn, worker, shelf, ..Filter::default() };
    let (mut after, mut count) = (None, 0);
    loop {
        let list = shared.engine().list(filter.clone(), after, LIST_ROWS).await?;
        for row in list.rows.iter().filter(|row| is_left(shared, row)) {
            let name = CommandId::new(format!("resume-{}-{}", row.conversation, row.end));
            let from = Sender { who: Some(SERVER.into()), ..Sender::default() };
            let resume = Envelope { id: name, from, command: Command::Resume };
            let sent = shared.engine().conversation(&row.conversation).post(resume).await;
            match sent {
                Ok(accepted) if accepted.refusal().is_none() => count += 1,
                // One that cannot go on keeps its button.
                Ok(_) => {}
                Err(error) => {
                    let conversation = row.conversation.as_str();
                    tracing::warn!(conversation, %error, "turn not resumed");
                }
            }
        }
        match list.next {
            Some(next) => after = Some(next),
            None => return Ok(count),
        }
    }
}

/// Whether a turn was left by a process that is gone, where this server may work.
fn is_left(shared: &Shared, row: &Row) -> bool {
    row.activity == Activity::Nobody
        && matches!(row.wants, Wants::Driver | Wants::NotBefore(_))
        && shared.parts.opened.admits(&row.workspace).is_ok()
}
