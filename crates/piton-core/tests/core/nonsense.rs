//! Arbitrary journals: any event, in any order, with any names. Whatever is in them, the fold takes
//! it in and nothing downstream falls over.

use piton_core::action::{Action, Wish};
use piton_core::coordinate::COORDINATOR;
use piton_core::cut;
use piton_core::decide::decide;
use piton_core::event::{
    AnswerPart, BlobRef, BreakReason, ConfigChange, ContextItem, Cut, EVENT_FORMAT, EffectClass,
    Entry, Event, FailureClass, FileEdit, FinishReason, ForkOrigin, Found, Handle, HookVerdict,
    ImportSource, Inquiry, InquiryAnswer, InquiryKind, Limits, ModelRef, Native, Outcome,
    ParentCall, PartialKind, PlannedCall, QueueChange, QueuePlace, Range, Refusal, Rejected, Shelf,
    ShortOutput, SummaryFault, ToolOutput, TurnEnd, UndoIntent, UndoOutcome, UnknownEvent, Usage,
    UserPart, Wants,
};
use piton_core::id::{
    Attempt, CallId, CommandId, ConversationId, Digest, DriverId, Epoch, InquiryId, MessageId, Seq,
    StepId, Timestamp, TurnId,
};
use piton_core::integrity::{Rule, violations};
use piton_core::outcome::Ending;
use piton_core::recap::Look;
use piton_core::state::State;
use piton_core::transcript::Transcript;
use piton_core::view::View;
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::sample::select;
use proptest::{option, prop_assert, prop_assert_eq, proptest};
use serde_json::json;

use crate::append_only::compare;
use crate::script::{ENDS, entry, tool_specs};

/// Longest arbitrary journal, in events.
const EVENTS_MAX: usize = 60;

/// As many cases as the environment says; nothing is written beside the sources.
pub(crate) fn quietly() -> proptest::test_runner::Config {
    proptest::test_runner::Config { failure_persistence: None, ..Default::default() }
}

/// Few names, so that events meet; the odd extreme, so that counting is tested.
fn number() -> impl Strategy<Value = u32> {
    prop_oneof![12 => 0..4_u32, 1 => Just(u32::MAX - 1), 1 => Just(u32::MAX)]
}

fn turn() -> impl Strategy<Value = TurnId> {
    number().prop_map(TurnId)
}

fn call() -> impl Strategy<Value = CallId> {
    (turn(), number(), 0..3_u32).prop_map(|(turn, step, index)| CallId { turn, step, index })
}

fn text() -> impl Strategy<Value = String> {
    select(vec!["", " \n", "x", "{}", "{\"path\":\"a\"}", "not json", "ä…\u{0}\"\\"])
        .prop_map(String::from)
}

fn queue_change() -> impl Strategy<Value = QueueChange> {
    prop_oneof![
        user_parts().prop_map(|parts| QueueChange::Parts { parts }),
        select(vec![QueuePlace::Next, QueuePlace::Steer])
            .prop_map(|place| QueueChange::Place { place }),
        message().prop_map(|before| QueueChange::Before { before }),
        Just(QueueChange::Last),
    ]
}

fn user_parts() -> impl Strategy<Value = Vec<UserPart>> {
    let blob = BlobRef { digest: Digest::new("00"), bytes: 1 };
    let part = prop_oneof![
        4 => text().prop_map(UserPart::text),
        1 => text().prop_map(move |name| UserPart::File {
            name,
            media_type: "image/png".into(),
            blob: blob.clone(),
        }),
        1 => text().prop_map(|text| UserPart::InlinedFile {
            name: "f".into(),
            media_type: "text/plain".into(),
            text: text.into(),
        }),
    ];
    vec(part, 0..3)
}

fn message() -> impl Strategy<Value = MessageId> {
    select(vec!["m", "n", ""]).prop_map(MessageId::new)
}

fn answer() -> impl Strategy<Value = Event> {
    let tool = select(vec!["r", "i", "d", "s", "c", "o", "ghost", ""]);
    let part = prop_oneof![
        text().prop_map(|text| AnswerPart::Text { text: text.into() }),
        text().prop_map(|text| AnswerPart::Reasoning { text: text.into() }),
        (call(), option::of(text()), tool, text()).prop_map(|(call, provider_id, name, text)| {
            AnswerPart::Call { call, provider_id, name: name.into(), arguments: text.into() }
        }),
    ];
    let finish = select(vec![
        FinishReason::Stop,
        FinishReason::ToolCalls,
        FinishReason::Length,
        FinishReason::Refused,
    ]);
    let native = text().prop_map(|raw| Native {
        provider: "p".into(),
        host: "h".into(),
        model: "m".into(),
        raw: raw.into(),
    });
    (vec(part, 0..4), finish, any::<u64>(), vec(text(), 0..2), option::of(native)).prop_map(
        |(parts, finish, input, dropped, native)| {
            let usage = Usage { input, output: 1, cached: 0 };
            Event::ModelAnswered { parts, finish, usage, dropped, native }
        },
    )
}

fn failure() -> impl Strategy<Value = Event> {
    let class = select(vec![
        FailureClass::Network,
        FailureClass::Empty,
        FailureClass::Auth,
        FailureClass::ContextOverflow,
    ]);
    let rejected = option::of(prop_oneof![
        Just(Rejected::LatestMessage),
        Just(Rejected::OpenTurn),
        text().prop_map(|excerpt| Rejected::Named { excerpt }),
    ]);
    let wait = || option::of(any::<u64>());
    (class, text(), wait(), any::<u16>(), rejected, wait()).prop_map(
        |(class, message, retry_after_ms, jitter_permille, rejected, outage_ms_max)| {
            Event::ModelFailed {
                class,
                message,
                retry_after_ms,
                bytes_received: u64::MAX,
                jitter_permille,
                rejected,
                outage_ms_max,
                detail: None,
            }
        },
    )
}

fn repair() -> impl Strategy<Value = Event> {
    let step = (number(), number()).prop_map(|(turn, step)| StepId { turn: TurnId(turn), step });
    vec(step, 0..4).prop_map(|steps| Event::HistoryRepaired { steps })
}

fn shortening() -> impl Strategy<Value = Event> {
    let output = (call(), text()).prop_map(|(call, text)| ShortOutput { call, text: text.into() });
    vec(output, 0..4).prop_map(|outputs| Event::OutputsShortened { outputs })
}

fn model() -> impl Strategy<Value = Event> {
    let asked = (number(), number()).prop_map(|(step, attempt)| Event::ModelAsked {
        step,
        attempt: Attempt(attempt),
        model: "demo".parse().unwrap(),
        digest: Digest::new("00"),
        tokens_estimated: u64::MAX,
    });
    let kind = select(vec![PartialKind::Text, PartialKind::Reasoning]);
    let partial =
        (kind, text()).prop_map(|(kind, text)| Event::ModelPartial { kind, text: text.into() });
    prop_oneof![3 => asked, 1 => partial, 3 => answer(), 1 => failure(), 1 => repair(), 1 => shortening()]
}

fn tool() -> impl Strategy<Value = Event> {
    let effect = select(vec![EffectClass::ReadOnly, EffectClass::Digested, EffectClass::Once]);
    let handle = select(vec![
        Handle::None,
        Handle::Job { directory: "j".into(), boot: Some("b".into()) },
        Handle::Conversation { id: "c".into() },
        Handle::Edit { path: "p".into(), before: None, after: Digest::new("00") },
        Handle::Edits {
            files: vec![FileEdit {
                path: "p".into(),
                before: Some(Digest::new("00")),
                after: None,
            }],
        },
        Handle::Task { id: "t".into(), since: "then".into() },
        Handle::Round { number: 1, state: None, asked: "{}".into() },
        Handle::Origin { conversation: ConversationId::new("c"), through: Seq(1) },
    ]);
    let outcome = select(vec![
        Outcome::Ok,
        Outcome::Failed,
        Outcome::Denied,
        Outcome::Cancelled,
        Outcome::Unknown,
    ]);
    prop_oneof![
        (call(), handle.clone()).prop_map(|(call, handle)| Event::CallTracked { call, handle }),
        (call(), effect, handle).prop_map(|(call, effect, handle)| Event::ToolStarted {
            call,
            effect,
            handle
        }),
        call().prop_map(|call| Event::ToolSuspended { call }),
        (call(), outcome, text()).prop_map(|(call, outcome, text)| {
            Event::ToolFinished { call, outcome, output: ToolOutput::text(text) }
        }),
        (call(), text()).prop_map(|(call, question)| Event::CallParked { call, question }),
        (call(), option::of(text()), option::of(option::of(text()))).prop_map(
            |(call, path, said)| {
                let hooks = said.map(|denied| HookVerdict { denied });
                let found = Found { path, hooks, ..Found::default() };
                Event::CallLocated { call, found }
            }
        ),
        (number(), vec((call(), text()), 0..3)).prop_map(|(step, calls)| {
            let planned = |(call, name): (CallId, String)| {
                let arguments = json!({ "task": name }).to_string().into();
                PlannedCall { call, name, arguments }
            };
            Event::CallsPlanned { step, calls: calls.into_iter().map(planned).collect() }
        }),
    ]
}

fn inquiry() -> impl Strategy<Value = Event> {
    let kind = select(vec![InquiryKind::Permission, InquiryKind::Question, InquiryKind::InDoubt]);
    let answer = select(vec![
        InquiryAnswer::Allow,
        InquiryAnswer::DENY,
        InquiryAnswer::Deny { reason: Some("because".into()) },
        InquiryAnswer::Changed { arguments: r#"{"a":1}"#.into() },
        InquiryAnswer::Changed { arguments: "x".into() },
        InquiryAnswer::RunAgain,
        InquiryAnswer::TreatAsDone,
        InquiryAnswer::LookAgain,
        InquiryAnswer::Applied,
        InquiryAnswer::Text { text: "t".into() },
        InquiryAnswer::Redacted,
        InquiryAnswer::Cancelled { reason: "r".into() },
    ]);
    let id = |call: CallId, kind: InquiryKind| InquiryId::new(format!("{call}.{kind:?}"));
    prop_oneof![
        (call(), kind.clone(), text()).prop_map(move |(call, kind, question)| {
            let wants = Some(Wants { before_acting: true, ..Wants::default() });
            let (id, choices) = (id(call, kind), Vec::new());
            let about = None;
            let inquiry = Inquiry { id, kind, call, question, choices, wants, about };
            Event::InquiryRaised { inquiry }
        }),
        (call(), kind, answer).prop_map(move |(call, kind, answer)| {
            Event::InquiryAnswered {
                inquiry: id(call, kind),
                answer,
                by: String::new(),
                letter: None,
                by_rule: false,
            }
        }),
    ]
}

fn summing() -> impl Strategy<Value = Event> {
    let cut = || {
        (turn(), option::of((turn(), 0_u32..4))).prop_map(|(through, within)| {
            let within = within.map(|(turn, step)| StepId { turn, step });
            Cut { through, within }
        })
    };
    let model: ModelRef = "demo".parse().unwrap();
    let (asked, learned) = (model.clone(), model);
    let after = prop_oneof![Just(Cut::default()), cut()];
    let faults = vec![SummaryFault::Failed, SummaryFault::Overflow, SummaryFault::Stopped];
    let usage = Usage { input: u64::MAX, output: 1, cached: 0 };
    prop_oneof![
        3 => (after, cut(), any::<u64>()).prop_map(move |(after, through, tokens_before)| {
            Event::SummaryAsked {
                range: Range { after, through },
                model: asked.clone(),
                digest: Digest::new("00"),
                tokens_estimated: u64::MAX,
                tokens_before,
            }
        }),
        2 => text().prop_map(move |text| Event::SummaryAnswered { text: text.into(), usage }),
        1 => (select(faults), text())
            .prop_map(move |(why, message)| Event::SummaryFailed { why, message, usage }),
        1 => option::of(text())
            .prop_map(|focus| Event::SummaryWanted { focus: focus.map(Into::into) }),
        1 => Just(Event::SummaryLifted),
        1 => any::<u64>()
            .prop_map(move |tokens| Event::WindowLearned { model: learned.clone(), tokens }),
    ]
}

fn undone() -> impl Strategy<Value = Event> {
    let started = (text(), proptest::bool::ANY).prop_map(|(change, again)| Event::UndoStarted {
        intent: UndoIntent {
            change,
            conversation: ConversationId::new("c"),
            workspace: "/w".into(),
            path: "a.txt".into(),
            before: None,
            after: None,
            again,
            at_us: 1,
        },
    });
    let outcome = select(vec![UndoOutcome::Done, UndoOutcome::Left]);
    let finished = (text(), outcome).prop_map(|(change, outcome)| Event::UndoFinished {
        change,
        outcome,
        text: String::new(),
    });
    prop_oneof![started, finished]
}

fn lifecycle() -> impl Strategy<Value = Event> {
    let reason = select(vec![BreakReason::ApiError, BreakReason::Interrupted, BreakReason::Limit]);
    prop_oneof![
        4 => (turn(), option::of(Just(COORDINATOR)))
            .prop_map(|(turn, agent)| Event::TurnStarted { turn, agent: agent.map(Into::into) }),
        4 => (message(), user_parts(), number()).prop_map(|(message, parts, attempt)| {
            Event::UserMessage { message, parts, attempt: Attempt(attempt) }
        }),
        1 => (turn(), text(), option::of(text())).prop_map(|(turn, name, text)| {
            let (digest, text) = (Digest::new(name.as_str()), text.map(Into::into));
            Event::ContextAdded { turn, items: vec![ContextItem { name, digest, text }] }
        }),
        1 => turn().prop_map(|turn| Event::TurnResumed { turn }),
        2 => (turn(), select(ENDS.to_vec()))
            .prop_map(|(turn, end): (TurnId, TurnEnd)| Event::TurnEnded { turn, end }),
        1 => (turn(), reason, text())
            .prop_map(|(turn, reason, message)| Event::TurnBroke { turn, reason, message }),
        1 => (message(), number()).prop_map(|(message, attempt)| {
            Event::MessageRetried { message, attempt: Attempt(attempt) }
        }),
        1 => (text(), turn())
            .prop_map(|(text, through)| Event::Compacted { summary: text.into(), through }),
        1 => (text(), turn(), option::of((turn(), 0_u32..4))).prop_map(|(text, through, within)| {
            let within = within.map(|(turn, step)| StepId { turn, step });
            let (summary, tokens_before, tokens_after, pieces) = (text.into(), 9, 5, 0);
            Event::SummaryLaid { summary, through, within, tokens_before, tokens_after, pieces }
        }),
        2 => summing(),
        1 => (message(), user_parts(), select(vec![QueuePlace::Next, QueuePlace::Steer])).prop_map(
            |(message, parts, place)| Event::MessageQueued { message, parts, place }
        ),
        1 => (message(), queue_change())
            .prop_map(|(message, change)| Event::MessageRequeued { message, change }),
        1 => message().prop_map(|message| Event::MessageUnqueued { message }),
        1 => text().prop_map(|path| Event::ConversationImported {
            source: ImportSource {
                tool: "pi".into(),
                format: "pi-jsonl".into(),
                version: None,
                session: None,
                digest: Digest::new(path.as_str()),
                path,
            },
            remarks: Vec::new(),
            more: 0,
            originals: Vec::new(),
        }),
        1 => Just(Event::QueueReleased),
        1 => text().prop_map(|title| Event::TitleGiven { title }),
        1 => select(vec![Shelf::Listed, Shelf::Archived, Shelf::Removed])
            .prop_map(|shelf| Event::ConversationShelved { shelf }),
        1 => text().prop_map(|workspace| Event::WorkspaceBound { workspace }),
        2 => undone(),
        1 => text().prop_map(|name| {
            Event::CommandTaken { command: CommandId::new(name), letter: None }
        }),
        1 => text().prop_map(|name| {
            let (command, letter) = (CommandId::new(name), Some("letter".into()));
            Event::CommandRefused { command, refusal: Refusal::Incomplete, letter }
        }),
    ]
}

fn conversation() -> impl Strategy<Value = Event> {
    let origin = ForkOrigin { conversation: ConversationId::new("c"), through: Seq(u64::MAX) };
    let call = CallId { turn: TurnId(1), step: 1, index: 0 };
    let parent = Some(ParentCall { conversation: ConversationId::new("p"), call });
    let limits = Limits { context_tokens_max: 10, steps_max: 2, ..Limits::default() };
    let change = prop_oneof![
        Just(ConfigChange { tools: Some(tool_specs()), ..ConfigChange::default() }),
        Just(ConfigChange { limits: Some(limits), ..ConfigChange::default() }),
        Just(ConfigChange::default()),
    ];
    prop_oneof![
        (text(), option::of(text())).prop_map(move |(workspace, title)| {
            Event::ConversationOpened {
                workspace,
                title,
                origin: Some(origin.clone()),
                parent: parent.clone(),
            }
        }),
        change.prop_map(|change| Event::ConfigChanged { change }),
        any::<u32>().prop_map(|pid| Event::DriverStarted {
            driver: DriverId::new("d"),
            epoch: Epoch(pid.into()),
            host: String::new(),
            boot: String::new(),
            pid,
        }),
        text().prop_map(|text| Event::Unknown(UnknownEvent {
            kind: "New".into(),
            raw: format!("{{ \"n\":1e3,\"t\":{},\"type\":\"New\"}}", serde_json::json!(text))
                .into(),
        })),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![6 => lifecycle(), 6 => model(), 4 => tool(), 2 => inquiry(), 2 => conversation()]
}

/// Any events at their places, without a gap.
pub(crate) fn gapless() -> impl Strategy<Value = Vec<Entry>> {
    vec(event(), 0..EVENTS_MAX)
        .prop_map(|events| (1..).zip(events).map(|(seq, event)| entry(seq, event)).collect())
}

fn journal() -> impl Strategy<Value = Vec<Entry>> {
    let place = prop_oneof![9 => 1..99_u64, 1 => any::<u64>()];
    vec((place, event()), 0..EVENTS_MAX)
        .prop_map(|events| events.into_iter().map(|(seq, event)| entry(seq, event)).collect())
}

proptest! {
    #![proptest_config(quietly())]

    // J19: a journal that cannot be read is a journal that is lost.
    #[test]
    fn the_fold_is_total_and_piecewise(entries in journal(), cut in 0..EVENTS_MAX) {
        let whole = State::from_entries(&entries);
        prop_assert_eq!(&whole, &State::from_entries(&entries));
        let (first, rest) = entries.split_at(cut.min(entries.len()));
        let mut pieces = State::from_entries(first);
        for entry in rest {
            pieces.apply(entry);
        }
        prop_assert_eq!(&whole, &pieces);
    }

    #[test]
    fn everything_behind_the_fold_is_total(entries in journal()) {
        let mut state = State::default();
        for entry in &entries {
            state.apply(entry);
            let open = state.turns.iter().filter(|turn| turn.end.is_none()).count();
            prop_assert_eq!(open, usize::from(state.open_turn().is_some()));
            prop_assert!(state.turns.is_sorted_by(|one, next| one.id < next.id));
            let cut = state.cut();
            prop_assert!(state.open_turn().is_none_or(|turn| !cut.has_turn(turn.id)));
            for wish in [Wish::Proceed, Wish::Interrupt] {
                prop_assert_eq!(decide(&state, wish), decide(&state, wish));
            }
            let (view, ending) = (View::from(&state), Ending::of(&state));
            prop_assert!(view.turns.len() <= state.turns.len());
            prop_assert_eq!(ending == Ending::Nothing, state.turns.is_empty());
            if let Some(wide) = cut::widest(&state) {
                prop_assert!(state.cut() < wide && cut::plan(&state) <= Some(wide));
                let mut covered = state.clone();
                let event = cut::lay(&state, wide, &Look::default());
                covered.apply(&Entry { seq: state.end.next(), at: Timestamp(0), event });
                prop_assert_eq!(covered.strays, state.strays, "a cut that is planned fits");
                prop_assert_eq!(covered.cut(), wide);
            }
        }
    }

    // O7, O20: brought up to date after one event or several, it is the same as made anew.
    #[test]
    fn an_updated_transcript_is_the_same_as_a_new_one(entries in journal(), looks in any::<u64>()) {
        let mut state = State::default();
        let mut updated = Transcript::from(&state);
        for (place, entry) in entries.iter().enumerate() {
            state.apply(entry);
            if looks >> (place % 64) & 1 == 1 {
                let before = updated.clone();
                let kept = updated.update(&state);
                let new = Transcript::from(&state);
                prop_assert_eq!(&updated, &new);
                prop_assert_eq!(updated.tokens_estimated(), new.tokens_estimated());
                prop_assert_eq!(before.messages().get(..kept), updated.messages().get(..kept));
            }
        }
    }

    // O2, O9 to O15, O17, J9
    #[test]
    fn the_transcript_is_valid_whatever_the_journal_says(entries in journal()) {
        let mut state = State::default();
        for entry in &entries {
            state.apply(entry);
            let mut found = violations(&Transcript::from(&state));
            if !matches!(decide(&state, Wish::Proceed), Action::AskModel { .. }) {
                found.retain(|violation| {
                    !matches!(violation.rule, Rule::FirstIsNotUser | Rule::LastIsAssistant)
                });
            }
            prop_assert_eq!(found, vec![]);
        }
    }

    // X4, X11: whatever is in a journal, what was answered stays, or an event says that it changed.
    #[test]
    fn answered_requests_share_their_beginning(entries in journal()) {
        compare(&entries);
    }

    // J10
    #[test]
    fn every_event_reads_back_as_it_was_stored(event in event()) {
        let stored = event.to_stored();
        let read = Event::from_stored(EVENT_FORMAT, &stored);
        prop_assert_eq!(&read, &event);
        prop_assert_eq!(read.to_stored(), stored);
    }

    // J10
    #[test]
    fn any_text_is_kept_byte_for_byte(stored in ".*", format in EVENT_FORMAT + 1..) {
        prop_assert_eq!(Event::from_stored(EVENT_FORMAT, &stored).to_stored(), stored.clone());
        prop_assert_eq!(Event::from_stored(format, &stored).to_stored(), stored);
    }
}
