//! How it went: a message, hints, an exit code.

mod advice;
mod answering;
mod attach;
mod chat;
mod code;
mod command;
pub(crate) mod config;
pub(crate) mod fault;
mod forking;
mod holding;
mod import;
mod input;
mod letter;
mod opening;
mod refused;
mod server;
mod storing;
mod undo;

use std::error::Error;
use std::fs;
use std::path::Path;

use piton_core::id::{ConversationId, MessageId, TurnId};
use piton_core::outcome::{Cause, Ending};
use piton_core::view::{BreakReason, InquiryKind, PermissionMode, TurnEnd, TurnView, Usage, View};

pub(crate) use self::advice::Remedies;
pub(crate) use self::attach::AttachFault;
use self::code::Code;
pub(crate) use self::command::CommandFault;
pub(crate) use self::fault::Fault;
pub(crate) use self::forking::ForkFault;
pub(crate) use self::holding::holding;
pub(crate) use self::import::ImportFault;
pub(crate) use self::input::InputFault;
pub(crate) use self::letter::LetterFault;
pub(crate) use self::server::ServerFault;
pub(crate) use self::undo::UndoFault;
use crate::output::{Form, Output};
use crate::render::cost::{self, InAll};
use crate::render::incomplete::{self, Newest};
use crate::render::lines::Line;
use crate::render::turn;

/// How it went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) code: Code,
    ending: &'static str,
    reason: Option<&'static str>,
    message: String,
    /// What is said to the person, line by line.
    talk: Vec<String>,
    /// Whether a message was not sent, and is kept.
    message_kept: bool,
    /// Where what went to standard output can be read again.
    kept: Option<ConversationId>,
    about: Box<About>,
}

/// What a program wants to know of a query without reading anything else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct About {
    conversation: Option<ConversationId>,
    turn: Option<TurnId>,
    /// The message that was left for another process.
    message: Option<MessageId>,
    /// The final answer.
    text: Option<String>,
    /// Tokens of the turn.
    usage: Option<Usage>,
    /// What they cost, in millionths of a dollar, as far as that is known.
    cost: Option<u64>,
    /// What the conversation has used.
    in_all: Option<InAll>,
}

impl Report {
    /// Nothing more to say.
    pub(crate) fn ok(ending: &'static str) -> Self {
        let (message, talk) = (String::new(), Vec::new());
        let (kept, about) = (None, Box::default());
        let (code, reason, message_kept) = (Code::Ok, None, false);
        Self { code, ending, reason, message, talk, message_kept, kept, about }
    }

    /// Nothing had to be done.
    pub(crate) fn nothing(message: &str) -> Self {
        let talk = vec![message.to_owned()];
        Self { message: message.to_owned(), talk, ..Self::ok("nothing") }
    }

    /// Something was looked for, and is nowhere. As `grep` does, it is told by the code.
    pub(crate) fn not_found(message: &str) -> Self {
        let (code, reason, talk) = (Code::Failed, Some("not_found"), vec![message.to_owned()]);
        Self { code, reason, message: message.to_owned(), talk, ..Self::ok("nothing") }
    }

    /// Something is broken, as was said.
    pub(crate) fn broken(message: &str) -> Self {
        let (code, reason, talk) = (Code::Failed, Some("broken"), vec![message.to_owned()]);
        Self { code, reason, message: message.to_owned(), talk, ..Self::ok("error") }
    }

    /// Somebody is at work on what is meant, as was said: it may work later.
    pub(crate) fn held(message: &str) -> Self {
        let (code, reason, talk) = (Code::Transient, Some("held"), vec![message.to_owned()]);
        Self { code, reason, message: message.to_owned(), talk, ..Self::ok("error") }
    }

    /// What was typed makes no sense to the parser, which has said why.
    pub(crate) fn misuse(message: &str) -> Self {
        let (code, reason) = (Code::Usage, Some("usage"));
        let talk = vec![message.replace("For more information, try '--help'.", "hint: try --help")];
        Self { code, reason, message: message.to_owned(), talk, ..Self::ok("error") }
    }

    /// How a turn was left.
    pub(crate) fn of_turn(
        ending: &Ending,
        conversation: &ConversationId,
        turn: Option<&Newest>,
        remedies: &Remedies,
    ) -> Self {
        let resume = format!("piton query --continue --id {conversation}");
        match ending {
            Ending::Done => Self::ok("done"),
            Ending::Closed(_) => Self::ok("closed"),
            Ending::Nothing => Self::ok("nothing"),
            Ending::WaitingForInput => waiting(conversation, &resume, turn),
            Ending::Incomplete(cause) => {
                broken("incomplete", cause, (conversation, turn), remedies)
                    .with_what_it_took(cause, turn)
            }
            Ending::Error(cause) => broken("error", cause, (conversation, turn), remedies),
        }
    }

    /// Adds what a turn has used that ran into a limit.
    fn with_what_it_took(mut self, cause: &Cause, turn: Option<&Newest>) -> Self {
        let is_spent = matches!(cause.reason, Some(BreakReason::Limit | BreakReason::MaxSteps));
        let turn = turn.filter(|_| is_spent && cause.failure.is_none()).map(Newest::turn);
        let used = turn.and_then(|turn| Some((turn, cost::used(turn.head.usage)?)));
        if let (Some((turn, used)), Some(first)) = (used, self.talk.first_mut()) {
            let paid = cost::of_turn(turn).map(|paid| format!(", {}", cost::dollars(paid)));
            *first = format!("{first} So far the turn took {used}{}.", paid.unwrap_or_default());
        }
        self
    }

    /// Adds what became of a message that was not sent.
    pub(crate) fn with_kept_message(mut self) -> Self {
        self.talk.push("hint: your message is kept; to send it: piton query --draft".into());
        self.message_kept = true;
        self
    }

    /// Adds what can be done next.
    pub(crate) fn with_hint(mut self, hint: String) -> Self {
        self.talk.push(format!("hint: {hint}"));
        self
    }

    /// Adds which conversation has it all.
    pub(crate) fn kept_in(mut self, conversation: ConversationId) -> Self {
        self.kept = Some(conversation);
        self
    }

    /// Adds which turn it is about, and what was answered there.
    pub(crate) fn about(mut self, conversation: &ConversationId, turn: Option<&TurnView>) -> Self {
        let is_answered =
            |turn: &&TurnView| matches!(turn.head.end, Some(TurnEnd::Completed | TurnEnd::Stopped));
        let answered = turn.filter(is_answered).and_then(|turn| turn.steps().next_back());
        self.about = Box::new(About {
            conversation: Some(conversation.clone()),
            turn: turn.map(|turn| turn.head.id),
            message: None,
            text: answered.map(turn::text),
            usage: turn.map(|turn| turn.head.usage),
            cost: turn.and_then(cost::of_turn),
            in_all: self.about.in_all,
        });
        self
    }

    /// Adds the name of the message that was left.
    pub(crate) fn with_message(mut self, message: MessageId) -> Self {
        self.about.message = Some(message);
        self
    }

    /// Adds what the conversation has used.
    pub(crate) fn with_all_of(mut self, view: &View) -> Self {
        self.about.in_all = Some(InAll::of(view));
        self
    }

    /// The final answer, if the turn has one and went well.
    pub(crate) fn final_answer(&self) -> Option<&str> {
        self.about.text.as_deref().filter(|_| self.code == Code::Ok && self.ending == "done")
    }

    /// Puts another text in the place of the final answer.
    pub(crate) fn with_answer(mut self, text: String) -> Self {
        self.about.text = Some(text);
        self
    }

    /// The time was up that the query was given: a limit, and not what a person did.
    pub(crate) fn out_of_time(mut self) -> Self {
        if self.code == Code::Interrupted {
            (self.code, self.reason) = (Code::Limit, Some("timeout"));
            self.talk.insert(
                0,
                "The time of the turn is up (--timeout, or max_turn_seconds in the settings)."
                    .into(),
            );
        }
        self
    }

    /// Writes the line for programs into a file, whole or not at all.
    pub(crate) fn written_to(mut self, path: &Path, output: &mut Output) -> Self {
        let aside = path.with_extension(format!("{}.new", std::process::id()));
        let text = format!("{}\n", self.line().text());
        let written = fs::write(&aside, text).and_then(|()| fs::rename(&aside, path));
        if let Err(error) = written {
            fs::remove_file(&aside).unwrap_or_default();
            output.talk(&format!("error: cannot write {}: {error}", path.display()));
            if self.code == Code::Ok {
                self.code = Code::Failed;
            }
        }
        self
    }

    /// How it went, for programs.
    fn line(&self) -> Line<'_> {
        Line::Result {
            ending: self.ending,
            reason: self.reason,
            message: &self.message,
            exit_code: self.code as u8,
            conversation: self.about.conversation.as_ref().map(ConversationId::as_str),
            turn: self.about.turn.map(|turn| turn.0),
            message_id: self.about.message.as_ref().map(MessageId::as_str),
            text: self.about.text.as_deref(),
            usage: self.about.usage,
            cost_microdollars: self.about.cost,
            in_all: self.about.in_all,
        }
    }

    /// Adds which conversation it is about, unless that is said.
    pub(crate) fn in_conversation(mut self, conversation: Option<ConversationId>) -> Self {
        self.about.conversation = self.about.conversation.take().or(conversation);
        self
    }

    /// Says it to the person, while everything goes on.
    pub(crate) fn tell(&self, output: &mut Output) {
        for line in &self.talk {
            output.talk(line);
        }
    }

    /// Says it in a chat.
    pub(crate) fn tell_in_chat(&self, conversation: Option<&ConversationId>, output: &mut Output) {
        for line in self.talk.iter().filter_map(|line| chat::in_chat(line, conversation)) {
            output.talk(&line);
        }
    }

    /// Whether a message was not sent, and is kept.
    pub(crate) fn keeps_message(&self) -> bool {
        self.message_kept
    }

    /// Says it, and with which code to exit.
    pub(crate) fn show(&self, output: &mut Output, form: Form) -> Code {
        output.end_line();
        self.tell(output);
        if form == Form::Json {
            output.json(&self.line());
        }
        output.rest();
        self.judge(output)
    }

    /// What could not be written is no success, however well the rest went.
    fn judge(&self, output: &mut Output) -> Code {
        let Some(error) = output.lost().map(ToString::to_string) else { return self.code };
        let what = if self.kept.is_some() { "answer" } else { "output" };
        output.talk(&format!("error: the {what} could not be written to standard output: {error}"));
        if let Some(conversation) = &self.kept {
            output.talk(&format!("hint: it is kept; to read it: piton print {conversation}"));
        }
        if self.code == Code::Ok { Code::Failed } else { self.code }
    }
}

impl From<&Fault> for Report {
    fn from(fault: &Fault) -> Self {
        let message = chain(fault);
        let (code, reason, hints) = (fault.code(), fault.reason(), fault.hints());
        let (ending, first) = match code {
            // Not shown as an error: it is what the person chose.
            Code::Interrupted if matches!(fault, Fault::Quit { .. }) => {
                ("interrupted", message.clone())
            }
            // A refusal says all there is to say, commands included.
            Code::Incomplete => ("refused", message.clone()),
            Code::Interrupted => ("interrupted", "[interrupted]".into()),
            Code::Ok
            | Code::Failed
            | Code::Usage
            | Code::NeedsPerson
            | Code::Limit
            | Code::Transient => ("error", format!("error: {message}")),
        };
        let hints = hints.into_iter().map(|hint| format!("hint: {hint}"));
        let talk = [first].into_iter().chain(hints).collect();
        let report = Self { code, reason: Some(reason), message, talk, ..Self::ok(ending) };
        if let Fault::Incomplete { conversation, turn }
        | Fault::Letter(LetterFault::Waits { conversation, turn }) = fault
        {
            return report.about(conversation, Some(turn.turn()));
        }
        report
    }
}

fn waiting(conversation: &ConversationId, resume: &str, turn: Option<&Newest>) -> Report {
    let message = turn.map_or_else(|| "Waiting for input".into(), incomplete::waits_for);
    let mut talk = vec![
        message.clone(),
        format!("hint: to answer on a terminal: {resume}"),
        format!("hint: to answer from anywhere: piton answer --id {conversation}"),
    ];
    let is_auto = turn.is_some_and(|turn| turn.mode() == PermissionMode::Auto);
    if turn.and_then(incomplete::asked_kind) == Some(InquiryKind::Permission) && !is_auto {
        talk.push(format!(
            "hint: to allow all calls of this conversation from now on: piton query --continue --permissions auto --id {conversation}"
        ));
    }
    Report { code: Code::NeedsPerson, message, talk, ..Report::ok("waiting") }
}

fn broken(
    ending: &'static str,
    cause: &Cause,
    of: (&ConversationId, Option<&Newest>),
    remedies: &Remedies,
) -> Report {
    let (code, ending, reason) = match cause.reason {
        Some(BreakReason::Interrupted) => (Code::Interrupted, "interrupted", "interrupted"),
        Some(BreakReason::MaxSteps) => (Code::Limit, ending, "max_steps"),
        Some(BreakReason::Limit) => (Code::Limit, ending, "limit"),
        Some(BreakReason::EmptyAnswer) => (Code::Failed, ending, "empty_answer"),
        Some(BreakReason::ApiError) => (api_error(cause), ending, "api_error"),
        None => (Code::Incomplete, ending, "process_lost"),
    };
    let message = cause.message.clone();
    let first = match code {
        // Not shown as an error: it is what was asked for.
        Code::Interrupted => "[interrupted]".into(),
        Code::Ok
        | Code::Failed
        | Code::Usage
        | Code::NeedsPerson
        | Code::Limit
        | Code::Transient
        | Code::Incomplete => format!("The turn is incomplete: {}", sentence(&message)),
    };
    let hints = advice::after(cause, code, of, remedies).into_iter();
    let talk = [first].into_iter().chain(hints.map(|hint| format!("hint: {hint}"))).collect();
    Report { code, reason: Some(reason), message, talk, ..Report::ok(ending) }
}

/// Providers end some of their messages with a full stop, and some not.
pub(crate) fn sentence(message: &str) -> String {
    let ended = message.ends_with(['.', '!', '?', '…']);
    if ended { message.to_owned() } else { format!("{message}.") }
}

fn api_error(cause: &Cause) -> Code {
    let transient = cause.failure.as_ref().is_some_and(|failure| failure.class.is_transient());
    if transient { Code::Transient } else { Code::Failed }
}

/// An error with what lies behind it.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(behind) = source {
        // Some errors tell their source themselves.
        let told = behind.to_string();
        if !text.ends_with(&told) {
            text = format!("{text}: {told}");
        }
        source = behind.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use piton_core::id::Timestamp;
    use piton_core::outcome::Failure;
    use piton_core::view::FailureClass;

    use super::*;

    fn check(reason: Option<BreakReason>, class: Option<FailureClass>, expected: Code) {
        let failure = class.map(|class| Failure {
            class,
            message: String::new(),
            retry_after_ms: None,
            jitter_permille: 0,
            at: Timestamp(0),
            rejected: None,
            outage_ms_max: None,
        });
        let cause = Cause { reason, failure, message: "why".into() };
        let id = ConversationId::new("abc");
        for ending in [Ending::Incomplete(cause.clone()), Ending::Error(cause)] {
            assert_eq!(
                Report::of_turn(&ending, &id, None, &Remedies::default()).code,
                expected,
                "{ending:?}"
            );
        }
    }

    // X20, D83
    #[test]
    fn an_exit_code_says_what_can_be_done() {
        check(Some(BreakReason::Interrupted), None, Code::Interrupted);
        check(Some(BreakReason::MaxSteps), None, Code::Limit);
        check(Some(BreakReason::Limit), Some(FailureClass::ContextOverflow), Code::Limit);
        check(Some(BreakReason::EmptyAnswer), Some(FailureClass::Empty), Code::Failed);
        check(Some(BreakReason::ApiError), Some(FailureClass::Overloaded), Code::Transient);
        check(Some(BreakReason::ApiError), Some(FailureClass::Auth), Code::Failed);
        check(None, None, Code::Incomplete);
    }

    // K36
    #[test]
    fn an_interrupt_is_not_shown_as_an_error() {
        let reason = Some(BreakReason::Interrupted);
        let cause = Cause { reason, failure: None, message: "interrupted".into() };
        let id = ConversationId::new("abc");
        let report = Report::of_turn(&Ending::Incomplete(cause), &id, None, &Remedies::default());
        assert_eq!(report.talk.first().map(String::as_str), Some("[interrupted]"));
        assert!(!report.talk.iter().any(|line| line.contains("error")));
    }
}
