//! The words of a turn, from its view.

use piton_core::command::Command;
pub(crate) use piton_core::view::said;
use piton_core::view::{CallState, CallView, MessagePart, PartView, StepView};

/// The text of a step: of its answer, or what the journal has of it.
pub(crate) fn text(step: &StepView) -> String {
    let texts = step.parts.iter().filter_map(|part| match part {
        PartView::Text { text } => Some(&**text),
        PartView::Reasoning { .. } | PartView::Call { .. } | _ => None,
    });
    texts.collect()
}

/// What the model said to itself in a step.
pub(crate) fn reasoning(step: &StepView) -> String {
    let thoughts = step.parts.iter().filter_map(|part| match part {
        PartView::Reasoning { text } => Some(&**text),
        PartView::Text { .. } | PartView::Call { .. } | _ => None,
    });
    thoughts.collect()
}

/// What a command says to the model, if it brings a message.
pub(crate) fn said_in(command: &Command) -> Option<String> {
    let (Command::Say { message, .. } | Command::Queue { message } | Command::Steer { message }) =
        command
    else {
        return None;
    };
    Some(said(&message.parts.iter().map(MessagePart::from).collect::<Vec<_>>()))
}

/// What a call waits for a person to say, here or in the conversation that it was handed to.
pub(crate) fn waiting_question(call: &CallView) -> Option<&str> {
    if let CallState::Parked { question } = &call.state {
        return Some(question);
    }
    call.questions.iter().find(|question| question.open).map(|question| question.heading.as_str())
}
