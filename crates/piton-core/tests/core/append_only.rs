//! Requests are append-only: to the same model each one begins with the last answered one and its answer,
//! unless an event between the two changed the past.

use std::collections::BTreeMap;

use piton_core::event::{AnswerPart, Entry, Event, FinishReason, ModelRef, ToolSpec, UserPart};
use piton_core::state::State;
use piton_core::transcript::{Message, Transcript};

use crate::script::{Journal, fold};
use crate::transcript::shown;

/// A request as far as a provider compares it with a later one.
#[derive(Clone, Debug, PartialEq)]
struct Sent {
    system: String,
    tools: Vec<ToolSpec>,
    messages: Vec<Message>,
    /// What the state counted when it left.
    rewrites: u64,
}

impl Sent {
    fn of(state: &State) -> Self {
        let transcript = Transcript::from(state);
        Self {
            system: transcript.system().into(),
            tools: transcript.tools().to_vec(),
            messages: transcript.messages().to_vec(),
            rewrites: state.rewrites,
        }
    }
}

/// What was sent to each model.
#[derive(Debug, Default)]
struct Requests {
    under_way: Option<(ModelRef, Sent)>,
    /// The last request that each model answered, and whether the answer is sent again.
    answered: BTreeMap<String, (Sent, bool)>,
    /// How many pairs of answered requests were compared.
    compared: u64,
}

impl Requests {
    fn answer(&mut self, finish: FinishReason, parts: &[AnswerPart]) {
        let Some((model, sent)) = self.under_way.take() else { return };
        let model = model.to_string();
        if let Some((earlier, replayed)) = self.answered.get(&model)
            && earlier.rewrites == sent.rewrites
        {
            self.compared += 1;
            check(earlier, *replayed, &sent);
        }
        // A refusal and an answer of nothing but blanks are not sent again.
        let replayed = finish != FinishReason::Refused && parts.iter().any(has_content);
        self.answered.insert(model, (sent, replayed));
    }
}

fn has_content(part: &AnswerPart) -> bool {
    match part {
        AnswerPart::Text { text } | AnswerPart::Reasoning { text } => !text.trim().is_empty(),
        // A call of another step's name is not taken up.
        AnswerPart::Call { .. } => false,
    }
}

fn check(earlier: &Sent, replayed: bool, later: &Sent) {
    assert_eq!(earlier.system, later.system);
    assert_eq!(earlier.tools, later.tools);
    let begin = later.messages.get(..earlier.messages.len());
    assert_eq!(begin, Some(&*earlier.messages), "an answered request was changed");
    let answer = later.messages.get(earlier.messages.len());
    assert!(
        !replayed || matches!(answer, Some(Message::Assistant(_))),
        "its answer does not stand behind it: {answer:?}"
    );
}

/// Folds entries, and holds all answered requests against each other. Says how many pairs there were.
pub(crate) fn compare(entries: &[Entry]) -> u64 {
    let (mut state, mut requests) = (State::default(), Requests::default());
    for entry in entries {
        let asked = if let Event::ModelAsked { model, .. } = &entry.event {
            Some((model.clone(), Sent::of(&state)))
        } else {
            None
        };
        let strays = state.strays;
        state.apply(entry);
        if strays < state.strays {
            continue;
        }
        if asked.is_some() {
            requests.under_way = asked;
        } else if let Event::ModelAnswered { finish, parts, .. } = &entry.event {
            requests.answer(*finish, parts);
        }
    }
    requests.compared
}

fn compared(script: &str) -> u64 {
    compare(&Journal::of(script).entries)
}

fn rewrites(script: &str) -> u64 {
    fold(script).rewrites
}

fn natives(script: &str) -> Vec<String> {
    let transcript = Transcript::from(&fold(script));
    let messages = transcript.messages().iter().filter_map(|message| match message {
        Message::Assistant(assistant) => Some(assistant.native.as_ref()),
        Message::User(_) | Message::Results(_) => None,
    });
    messages.map(|native| native.map_or("-".into(), |native| native.raw.to_string())).collect()
}

// X4, J55
#[test]
fn the_note_that_asked_again_stays_behind_the_answer() {
    let script = "turn user ask fail:empty ask calls(r:a) finish:a ask answer:done";
    assert_eq!(compared(script), 1);
    expect_test::expect![[r#"
        u m1
        u The response appears to be empty. Please try again.
        a r@1.1.0
        r 1.1.0 r=a
        a done"#]]
    .assert_eq(&shown(&Transcript::from(&fold(script))));
    // What was asked with the note and never answered leaves nothing.
    let unanswered = "turn user ask fail:empty ask driver resume ask answer:hi";
    expect_test::expect![[r#"
        u m1
        a hi"#]]
    .assert_eq(&shown(&Transcript::from(&fold(unanswered))));
    // A grant of allowances while the request is under way does not take back what was sent.
    let granted = "turn user ask fail:empty ask resume answer:hi end:completed turn user";
    assert!(shown(&Transcript::from(&fold(granted))).contains("appears to be empty"));
}

#[test]
fn the_note_that_asks_for_a_plan_stays_behind_an_answer_without_one() {
    let script = "coordinate user ask length:so end:stopped turn user ask answer:hi";
    assert_eq!(compared(script), 1);
    let cut = "coordinate user ask end:stopped turn user";
    assert!(!shown(&Transcript::from(&fold(cut))).contains("JSON array"));
}

#[test]
fn what_is_added_behind_an_answer_is_no_change_of_the_past() {
    for script in [
        "turn user ask calls(r:a) start:a finish:a ask answer end:completed turn user ask answer",
        "turn user ask calls(o:a) start:a driver lost:a ask answer",
        "turn user ask length:so break:limit resume ask length:so resume ask answer",
        "turn user ask length(t:so x:o) ask answer end:completed turn user ask answer",
        "turn user ask partial:half fail:network ask calls(r:a) inject cancelled:a ask answer",
        "turn user ask calls(r:a) finish:a ask partial:half inject ask answer end:stopped \
         turn user ask answer",
        "turn user ask refused:no resume ask answer end:completed turn user ask answer",
        "coordinate user ask answer plan:a+b finish:a finish:b ask answer end:completed \
         turn user ask answer",
        "turn user ask answer end:completed queue:q mode:ask context_max:9000 turn say:q ask answer",
        "turn user ask answer end:completed model:other/two turn user ask answer",
    ] {
        assert_eq!(rewrites(script), 0, "{script}");
        assert_ne!(compared(script), 0, "{script}");
    }
}

/// All that changes the past: this list and `State::rewrite_by` are the same.
#[test]
fn only_these_events_change_the_past() {
    let turns = "turn user ask answer(t:one n:aaa) end:completed \
        turn user ask calls(r:a n:bbb) finish:a:long ask calls(r:b n:ccc) finish:b:long";
    assert_eq!(
        (rewrites(turns), natives(turns)),
        (0, ["aaa", "bbb", "ccc"].map(str::to_owned).into())
    );
    for (event, left) in [
        ("compact:1", &["-", "-"][..]),
        ("sum:1", &["-", "-"]),
        ("sum:1:2.1", &["-"]),
        ("system:other", &["-", "-", "-"]),
        ("short:a:-", &["aaa", "bbb", "-"]),
        ("repair:1.1", &["-", "bbb", "ccc"]),
        ("retry:m1", &[]),
        ("retry:m2", &["aaa"]),
        ("end:discarded", &["aaa"]),
        ("resend:m2:anew", &["aaa", "-", "-"]),
    ] {
        let script = format!("{turns} {event}");
        assert_eq!(rewrites(&script), 1, "{event}");
        assert_eq!(natives(&script), left, "{event}");
    }
    for event in [
        "system:",
        "model:other/two",
        "mode:ask",
        "driver",
        "short:b:-",
        "alien:New",
        "queue:q",
        "inject",
        "break:api_error",
        "end:stopped",
        "end:completed",
        "ask",
        "ask fail:network",
        "ask fail:empty ask",
        "ask partial:half end:stopped",
    ] {
        assert_eq!(rewrites(&format!("{turns} {event}")), 0, "{event}");
    }
}

#[test]
fn blocks_made_behind_a_change_are_sent_again() {
    let turns = "turn user ask answer(t:one n:aaa) end:completed system:other \
        turn user ask calls(r:a n:bbb) finish:a";
    assert_eq!(natives(turns), ["-", "bbb"]);
    // Under the prompt that they were made under, old blocks are what they were.
    assert_eq!(natives(&format!("{turns} system:")), ["aaa", "-"]);
}

#[test]
fn a_change_of_what_no_answer_saw_is_none() {
    assert_eq!(rewrites("turn user ask fail:network system:other retry:m1 resend:m1:anew"), 0);
    assert_eq!(rewrites("turn user ask fail:network end:discarded"), 0);
    assert_eq!(rewrites("turn user ask end:discarded"), 1, "the answer may still come");
}

// C16: files that took the room of older ones
#[test]
fn a_file_that_gave_way_stays_away_and_unbinds_what_stood_behind_it() {
    use piton_core::attachment::FILES_BYTES_MAX;
    use piton_core::event::BlobRef;
    use piton_core::id::{Attempt, Digest, MessageId};
    let say = |id: &str| {
        let blob = BlobRef { digest: Digest::new(id), bytes: FILES_BYTES_MAX / 2 };
        let file = UserPart::File { name: id.into(), media_type: "image/png".into(), blob };
        let (message, attempt) = (MessageId::new(id), Attempt::FIRST);
        Event::UserMessage { message, parts: vec![file], attempt }
    };
    let mut journal = Journal::of("turn");
    for id in ["f1", "f2"] {
        journal.push(say(id));
        journal.play(&format!("ask answer(t:so n:{id}) end:completed turn"));
    }
    assert_eq!(journal.state.rewrites, 0);
    journal.push(say("f3"));
    assert_eq!(journal.state.rewrites, 1);
    let wanted = |state: &State| {
        let transcript = Transcript::from(state);
        transcript.files_wanted().map(|blob| blob.digest.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(wanted(&journal.state), ["f2", "f3"]);
    assert!(!format!("{:?}", Transcript::from(&journal.state)).contains("Native {"));
    // The newer file goes; the older one does not come back into requests that were answered without it.
    journal.play("ask answer end:discarded turn user");
    assert_eq!(wanted(&journal.state), ["f2"]);
}
