//! Commands from other processes: letters to the one that writes, taken once, also by the next one.

use piton::{
    Accepted, Command, CommandError, Envelope, QueueChange, QueuePlace, Refusal, Reply, UserPart,
};
use piton_core::event::PermissionMode;
use piton_core::id::{CommandId, MessageId};
use piton_core::outcome::Ending;
use piton_core::question::Secret;
use piton_store::{Journal as _, LETTER_BYTES_MAX, Letter};

use crate::stage::{Stage, named, pass, pending, say};

const SLOW: &str = r#"{"steps":[{"calls":[{"tool":"look","arguments":{"ms":5000}}]},{"say":"one"},{"say":"two"},{"say":"three"}]}"#;

async fn left(stage: &Stage) -> usize {
    stage.journal.letters(stage.conversation()).await.unwrap().len()
}

// X25
#[tokio::test(start_paused = true)]
async fn a_command_reaches_the_process_that_performs() {
    let stage = Stage::new(SLOW);
    let (here, elsewhere) = (stage.engine(), stage.engine());
    let (holder, sender) = (stage.conversation_in(&here), stage.conversation_in(&elsewhere));
    let (ending, ()) = tokio::join!(holder.perform(Command::say(named("m1", "go"))), async {
        pass(1_000).await;
        for command in [
            Command::Queue { message: named("m2", "next") },
            Command::Steer { message: named("m3", "left") },
            Command::Rename { title: "Slow".into() },
        ] {
            let accepted = sender.send(command).await.unwrap();
            assert!(matches!(accepted, Accepted::Letter { .. }), "{accepted:?}");
        }
    });
    assert_eq!(ending.unwrap(), Ending::Done);
    let state = stage.state().await;
    let said: Vec<Vec<_>> = state
        .turns
        .iter()
        .map(|turn| turn.said().map(|said| said.message.to_string()).collect())
        .collect();
    assert_eq!(said, [vec!["m1", "m3"], vec!["m2"]]);
    assert_eq!(state.commands.len(), 4);
    assert_eq!(left(&stage).await, 0);
    stage.check().await;
}

fn requeue(message: &str, change: QueueChange) -> Command {
    Command::Requeue { message: MessageId::new(message), change }
}

// O38, X13: what waits is changed by letter, and performed as it was left.
#[tokio::test(start_paused = true)]
async fn what_waits_is_changed_from_another_process() {
    let stage = Stage::new(SLOW);
    let (here, elsewhere) = (stage.engine(), stage.engine());
    let (holder, sender) = (stage.conversation_in(&here), stage.conversation_in(&elsewhere));
    let (ending, ()) = tokio::join!(holder.perform(Command::say(named("m1", "go"))), async {
        pass(1_000).await;
        for name in ["a", "b", "c"] {
            sender.send(Command::Queue { message: named(name, name) }).await.unwrap();
        }
        let better = named("a", "better").parts;
        for command in [
            requeue("c", QueueChange::Before { before: MessageId::new("a") }),
            requeue("a", QueueChange::Parts { parts: better }),
            requeue("b", QueueChange::Place { place: QueuePlace::Steer }),
        ] {
            let accepted = sender.send(command).await.unwrap();
            assert!(matches!(accepted, Accepted::Letter { .. }), "{accepted:?}");
        }
    });
    assert_eq!(ending.unwrap(), Ending::Done);
    let state = stage.state().await;
    let said: Vec<Vec<_>> = state
        .turns
        .iter()
        .map(|turn| turn.said().map(|said| said.message.to_string()).collect())
        .collect();
    assert_eq!(said, [vec!["m1", "b"], vec!["c"], vec!["a"]]);
    let last = state.turns[2].said().next().unwrap();
    assert_eq!(last.parts, named("a", "better").parts);
    stage.check().await;
}

// K58
#[tokio::test(start_paused = true)]
async fn a_change_of_what_does_not_wait_is_refused_by_type() {
    let stage = Stage::new(
        r#"{"steps":[{"say":"one"},{"calls":[{"tool":"look","arguments":{"ms":5000}}]},{"say":"two"}]}"#,
    );
    let engine = stage.engine();
    let conversation = stage.conversation_in(&engine);
    let refusal = async |command| conversation.send(command).await.unwrap().refusal().cloned();
    let message = |name: &str| MessageId::new(name);
    conversation.perform(Command::say(named("m1", "go"))).await.unwrap();
    for command in [requeue("m1", QueueChange::Last), Command::Unqueue { message: message("m1") }] {
        let taken = Refusal::AlreadyTaken { message: message("m1") };
        assert_eq!(refusal(command).await, Some(taken));
    }
    let unknown = Refusal::UnknownMessage { message: message("x") };
    assert_eq!(refusal(requeue("x", QueueChange::Last)).await, Some(unknown.clone()));
    conversation.send(Command::say(named("m2", "go"))).await.unwrap();
    pass(1_000).await;
    conversation.send(Command::Interrupt).await.unwrap();
    pass(10).await;
    for name in ["a", "b", "c", "d", "e"] {
        assert_eq!(refusal(Command::Queue { message: named(name, name) }).await, None);
    }
    let full = Some(Refusal::QueueFull { max: 5 });
    assert_eq!(refusal(Command::Queue { message: named("f", "f") }).await, full);
    assert_eq!(refusal(Command::Steer { message: named("f", "f") }).await, full);
    let before = |before: &str| QueueChange::Before { before: message(before) };
    assert_eq!(refusal(requeue("a", before("x"))).await, Some(unknown));
    assert_eq!(refusal(requeue("a", before("a"))).await, None);
    let empty = QueueChange::Parts { parts: vec![UserPart::text(" ")] };
    assert_eq!(refusal(requeue("a", empty)).await, Some(Refusal::EmptyMessage));
    conversation.send(Command::Stop).await.unwrap();
    let steer = QueueChange::Place { place: QueuePlace::Steer };
    assert_eq!(refusal(requeue("a", steer)).await, Some(Refusal::NoOpenTurn));
    assert_eq!(stage.state().await.queue.len(), 5);
    stage.check().await;
}

#[tokio::test(start_paused = true)]
async fn a_turn_is_interrupted_and_closed_from_another_process() {
    for (command, expected) in
        [(Command::Interrupt, "Incomplete"), (Command::Discard, "Closed(Discarded)")]
    {
        let stage = Stage::new(SLOW);
        let (here, elsewhere) = (stage.engine(), stage.engine());
        let (holder, sender) = (stage.conversation_in(&here), stage.conversation_in(&elsewhere));
        let (ending, ()) = tokio::join!(holder.perform(Command::say(say("go"))), async {
            pass(1_000).await;
            sender.send(command.clone()).await.unwrap();
        });
        let ending = format!("{:?}", ending.unwrap());
        assert!(ending.starts_with(expected), "{command:?}: {ending}");
        assert_eq!(left(&stage).await, 0);
        stage.check().await;
    }
}

#[tokio::test(start_paused = true)]
async fn letters_of_a_holder_that_dies_are_taken_over_by_the_next() {
    let stage = Stage::new(SLOW);
    let (here, elsewhere) = (stage.engine(), stage.engine());
    let (holder, sender) = (stage.conversation_in(&here), stage.conversation_in(&elsewhere));
    holder.send(Command::say(named("m1", "go"))).await.unwrap();
    pass(10).await;
    let queued = sender.send(Command::Queue { message: named("m2", "next") }).await.unwrap();
    drop(here);
    pass(10).await;
    assert!(matches!(queued, Accepted::Letter { .. }), "{queued:?}");
    assert_eq!(sender.perform(Command::Resume).await.unwrap(), Ending::Done);
    assert_eq!(stage.state().await.turns.len(), 2);
    assert_eq!(left(&stage).await, 0);
    stage.check().await;
}

// J65
#[tokio::test(start_paused = true)]
async fn a_secret_is_refused_to_travel() {
    let stage = Stage::new(SLOW);
    let (here, elsewhere) = (stage.engine(), stage.engine());
    let (holder, sender) = (stage.conversation_in(&here), stage.conversation_in(&elsewhere));
    holder.send(Command::say(say("go"))).await.unwrap();
    pass(10).await;
    let inquiry = piton_core::id::InquiryId::new("1.1.0.q.1");
    let secret = Command::answer(inquiry, Reply::Secret(Secret::new("hush")));
    let refused = sender.send(secret).await;
    assert!(matches!(refused, Err(CommandError::SecretElsewhere)), "{refused:?}");
    assert_eq!(left(&stage).await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_too_long_for_a_letter_travels_beside_it() {
    let stage = Stage::new(SLOW);
    let (here, elsewhere) = (stage.engine(), stage.engine());
    let (holder, sender) = (stage.conversation_in(&here), stage.conversation_in(&elsewhere));
    let long = "x".repeat(LETTER_BYTES_MAX + 1);
    let (ending, ()) = tokio::join!(holder.perform(Command::say(say("go"))), async {
        pass(1_000).await;
        sender.send(Command::Queue { message: named("m2", &long) }).await.unwrap();
        let letters = stage.journal.letters(stage.conversation()).await.unwrap();
        assert!(letters.iter().all(|letter| letter.body.len() < 1_000));
    });
    ending.unwrap();
    let state = stage.state().await;
    let said = state.turns[1].said().next().unwrap();
    assert_eq!(said.parts, named("m2", &long).parts);
}

#[tokio::test(start_paused = true)]
async fn a_letter_that_nobody_understands_is_left_and_a_newer_command_refused() {
    let stage = Stage::new(SLOW);
    let engine = stage.engine();
    let conversation = stage.conversation_in(&engine);
    let newer = r#"{"v":1,"id":"c7","from":{},"command":{"kind":"levitate"}}"#;
    for (id, body) in [("1", "nonsense"), ("2", newer)] {
        let letter = Letter { id: id.into(), body: body.into() };
        stage.journal.post(stage.conversation(), letter).await.unwrap();
    }
    conversation.perform(Command::say(say("go"))).await.unwrap();
    let state = stage.state().await;
    let (_, verdict) = &state.commands[&CommandId::new("c7")];
    let unknown = Refusal::UnknownCommand { kind: "levitate".into() };
    assert_eq!(*verdict, piton_core::state::Verdict::Refused(unknown));
    assert_eq!(left(&stage).await, 1);
}

#[tokio::test(start_paused = true)]
async fn an_answer_by_letter_goes_on_with_a_turn_that_waits_elsewhere() {
    let stage = Stage::new(r#"{"steps":[{"calls":[{"tool":"pay"}]},{"say":"x"}]}"#)
        .mode(PermissionMode::Ask);
    let (here, elsewhere) = (stage.engine(), stage.engine());
    let (holder, sender) = (stage.conversation_in(&here), stage.conversation_in(&elsewhere));
    let _face = holder.attend();
    let (ending, ()) = tokio::join!(holder.perform(Command::say(say("go"))), async {
        pass(1_000).await;
        let asked = pending(&stage.state().await);
        let answer = Command::answer(asked[0].clone(), Reply::Allow);
        let envelope = Envelope::new(CommandId::new("c2"), answer);
        sender.post(envelope.clone()).await.unwrap();
        // A nervous sender is one sender.
        sender.post(envelope).await.unwrap();
    });
    assert_eq!(ending.unwrap(), Ending::Done);
    assert_eq!(stage.effects(), ["pay 1.1.0"]);
    assert_eq!(left(&stage).await, 0);
    stage.check().await;
}
