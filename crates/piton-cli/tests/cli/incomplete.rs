//! Incomplete turns: refusing, resuming, injecting, discarding.

use expect_test::expect;

use crate::world::World;

const ASKS: &str = r#"{"steps":[
    {"say":"I will write.","calls":[{"tool":"read_file","arguments":{"path":"a.txt"}},
                                    {"tool":"write_file","arguments":{"path":"b.txt","content":"x\n"}}]},
    {"say":"Written."},{"say":"More."}]}"#;

fn waiting() -> World {
    let world = World::new();
    std::fs::write(world.work("a.txt"), "hello\n").unwrap();
    let model = world.script(ASKS);
    assert_eq!(world.run(&["query", "go", "--model", &model]).code, 3);
    world
}

// J23, J27, D80
#[test]
fn a_query_on_an_incomplete_turn_is_refused_with_the_ways_on() {
    let world = waiting();
    let before = world.events().len();
    world.check(&[&["query", "hello"]], expect![[r#"
        $ piton query hello
        2> Conversation AAAAAAAAAA has an incomplete turn.
        2> Waiting for input: write_file — "Run write_file: b.txt?"
        2>
        2>   piton query --continue --id AAAAAAAAAA          Resume the incomplete turn.
        2>   piton query --continue "TEXT" --id AAAAAAAAAA   Keep the work, add a message.
        2>   piton retry --id AAAAAAAAAA                     Try the message again, from scratch.
        2>   piton query --discard-turn --id AAAAAAAAAA      Discard the turn, keep the conversation.
        2> hint: your message is kept; to send it: piton query --draft
        exit 6
    "#]]);
    assert_eq!(world.events().len(), before, "nothing is written");
}

#[test]
fn a_turn_that_needs_a_person_ends_with_3_and_says_which_question() {
    let world = World::new();
    std::fs::write(world.work("a.txt"), "hello\n").unwrap();
    let model = world.script(ASKS);
    world.check(&[&["query", "go", "--model", &model], &["query", "--continue"]], expect![[r#"
        $ piton query go --model script:DIR/script.json
        I will write.
        2> conversation AAAAAAAAAA (new), turn 1, model script:DIR/script.json
        2> • read_file: a.txt
        2> ✓ read_file: a.txt — hello
        2> Waiting for input: write_file — "Run write_file: b.txt?"
        2> hint: to answer on a terminal: piton query --continue --id AAAAAAAAAA
        2> hint: to answer from anywhere: piton answer --id AAAAAAAAAA
        2> hint: to allow all calls of this conversation from now on: piton query --continue --permissions auto --id AAAAAAAAAA
        exit 3
        $ piton query --continue
        2> conversation AAAAAAAAAA, turn 1, model script:DIR/script.json
        2> Resuming. Waiting for input: write_file — "Run write_file: b.txt?"
        2> Waiting for input: write_file — "Run write_file: b.txt?"
        2> hint: to answer on a terminal: piton query --continue --id AAAAAAAAAA
        2> hint: to answer from anywhere: piton answer --id AAAAAAAAAA
        2> hint: to allow all calls of this conversation from now on: piton query --continue --permissions auto --id AAAAAAAAAA
        exit 3
    "#]]);
}

// J21, J37
#[test]
fn continuing_finishes_the_turn_without_doing_anything_twice() {
    let world = waiting();
    world.check(
        &[&["query", "--continue", "--permissions", "auto"]],
        expect![[r#"
        $ piton query --continue --permissions auto
        Written.
        2> conversation AAAAAAAAAA, turn 1, model script:DIR/script.json
        2> Resuming. Waiting for input: write_file — "Run write_file: b.txt?"
        2> • write_file: b.txt
        2> ✓ write_file: b.txt — created `b.txt` (1 line, 2 bytes)
        exit 0
    "#]],
    );
    assert_eq!(std::fs::read_to_string(world.work("b.txt")).unwrap(), "x\n");
    let finished = |event: &&serde_json::Value| event["type"] == "ToolFinished";
    assert_eq!(world.events().iter().filter(finished).count(), 2);
}

// X1, J26
#[test]
fn continuing_with_a_text_keeps_the_work_and_adds_the_message() {
    let world = waiting();
    world.check(&[&["query", "--continue", "never mind the file"], &["print"]], expect![[r#"
        $ piton query --continue "never mind the file"
        Written.
        2> conversation AAAAAAAAAA, turn 1, model script:DIR/script.json
        2> The message is added to the incomplete turn. write_file gets no answer to "Run write_file: b.txt?".
        2> – write_file: b.txt — cancelled
        exit 0
        $ piton print
        > go
        I will write.
        ✓ read_file: a.txt — completed
        – write_file: b.txt — cancelled
        > never mind the file
        Written.
        2> conversation AAAAAAAAAA: 200 tokens in, 20 out
        exit 0
    "#]]);
}

// J25, X19
#[test]
fn discarding_hides_the_turn_and_keeps_it_in_the_journal() {
    let world = waiting();
    let before = world.events().len();
    world.check(
        &[&["query", "--discard-turn"], &["print"], &["query", "--discard-turn"]],
        expect![[r#"
            $ piton query --discard-turn
            2> conversation AAAAAAAAAA, turn 1, model script:DIR/script.json
            2> The incomplete turn is discarded. It stays in the journal, hidden.
            exit 0
            $ piton print
            2> conversation AAAAAAAAAA: 100 tokens in, 10 out
            2> hint: 1 turn is discarded; to see it: piton print --attempts AAAAAAAAAA
            exit 0
            $ piton query --discard-turn
            2> There is no incomplete turn to discard.
            exit 0
        "#]],
    );
    assert!(before < world.events().len());
}

#[test]
fn discarding_with_a_text_begins_the_next_turn() {
    let world = waiting();
    world.check(&[&["query", "--discard-turn", "something else"]], expect![[r#"
        $ piton query --discard-turn "something else"
        I will write.
        2> conversation AAAAAAAAAA, turn 2, model script:DIR/script.json
        2> Turn 1 is discarded. It stays in the journal, hidden.
        2> • read_file: a.txt
        2> ✓ read_file: a.txt — hello
        2> Waiting for input: write_file — "Run write_file: b.txt?"
        2> hint: to answer on a terminal: piton query --continue --id AAAAAAAAAA
        2> hint: to answer from anywhere: piton answer --id AAAAAAAAAA
        2> hint: to allow all calls of this conversation from now on: piton query --continue --permissions auto --id AAAAAAAAAA
        exit 3
    "#]]);
}

// J22
#[test]
fn continuing_without_an_incomplete_turn_proceeds_normally() {
    let world = World::new();
    let model = world.script(r#"{"steps":[{"say":"One."},{"say":"Two."}]}"#);
    world.run(&["query", "a", "--model", &model]);
    world.check(
        &[&["query", "--continue"], &["query", "--continue", "b"]],
        expect![[r#"
            $ piton query --continue
            2> There is no incomplete turn to continue.
            2> hint: to go on with the conversation: piton query -c TEXT
            exit 0
            $ piton query --continue b
            Two.
            2> conversation AAAAAAAAAA, turn 2, model script:DIR/script.json
            exit 0
        "#]],
    );
}

#[test]
fn a_turn_that_never_got_an_answer_says_so() {
    let world = World::new();
    let model = world.script(r#"{"steps":[{"say":"x","faults":[{"kind":{"fail":"auth"}}]}]}"#);
    world.run(&["query", "go", "--model", &model]);
    world.check(&[&["query", "again"], &["print"]], expect![[r#"
        $ piton query again
        2> Conversation AAAAAAAAAA has an incomplete turn.
        2> Interrupted (pending LLM response): scripted failure: Auth
        2>
        2>   piton query --continue --id AAAAAAAAAA          Resume the incomplete turn.
        2>   piton query --continue "TEXT" --id AAAAAAAAAA   Keep the work, add a message.
        2>   piton retry --id AAAAAAAAAA                     Try the message again, from scratch.
        2>   piton query --discard-turn --id AAAAAAAAAA      Discard the turn, keep the conversation.
        2> hint: your message is kept; to send it: piton query --draft
        exit 6
        $ piton print
        ⏳ Incomplete turn (pending LLM response)
        > go
        [scripted failure: Auth]
        2> conversation AAAAAAAAAA
        exit 0
    "#]]);
    assert_eq!(world.rows()[0]["status"], "interrupted (pending LLM response)");
}

#[test]
fn what_is_not_recorded_does_not_touch_an_incomplete_turn() {
    let world = waiting();
    let before = world.events().len();
    assert_eq!(world.run(&["query", "hello", "--no-persist"]).code, 6);
    assert_eq!(world.events().len(), before);
}
