//! `kill -9` in the middle of things, and what lists, prints and the next run make of it.

use expect_test::expect;

use crate::world::{World, lines_of};

fn script(effect_of_slow: &str) -> String {
    format!(
        r#"{{"steps":[
            {{"say":"Three at once.","calls":[{{"tool":"one"}},{{"tool":"two"}},{{"tool":"slow"}}]}},
            {{"say":"All done."}}],
          "tools":[
            {{"name":"one","effect":"once","append_to":"one.log","output":"1"}},
            {{"name":"two","effect":"once","append_to":"two.log","output":"2"}},
            {{"name":"slow","effect":"{effect_of_slow}","wait_for":"go","append_to":"slow.log","output":"3"}}]}}"#
    )
}

/// A turn that was killed when two of its three tools had ended.
pub(crate) fn killed(effect_of_slow: &str) -> World {
    let world = World::new();
    let model = world.script(&script(effect_of_slow));
    let mut child = world.spawn(&["query", "go", "--permissions", "auto", "--model", &model]);
    world.wait_for_events("ToolFinished", 2);
    child.kill().unwrap();
    world.finish(child);
    world
}

// J29, J69
#[test]
fn two_of_three_results_survive_and_only_the_third_tool_runs_again() {
    let world = killed("read_only");
    assert_eq!(world.rows()[0]["status"], "interrupted (pending tool execution)");
    world.check(&[&["print"], &["query", "hello"]], expect![[r#"
        $ piton print
        ⏳ Incomplete turn (pending tool execution)
        > go
        Three at once.
        ✓ one — completed
        ✓ two — completed
        ? slow — interrupted, outcome unknown
        2> conversation AAAAAAAAAA: 100 tokens in, 10 out
        exit 0
        $ piton query hello
        2> Conversation AAAAAAAAAA has an incomplete turn.
        2> Interrupted (pending tool execution): 2 of 3 tools finished
        2>
        2>   piton query --continue --id AAAAAAAAAA          Resume the incomplete turn.
        2>   piton query --continue "TEXT" --id AAAAAAAAAA   Keep the work, add a message.
        2>   piton retry --id AAAAAAAAAA                     Try the message again, from scratch.
        2>   piton query --discard-turn --id AAAAAAAAAA      Discard the turn, keep the conversation.
        2> hint: your message is kept; to send it: piton query --draft
        exit 6
    "#]]);
    std::fs::write(world.work("go"), "").unwrap();
    world.check(
        &[&["query", "--continue"]],
        expect![[r#"
            $ piton query --continue
            All done.
            2> An unsent message is kept: hello
            2> hint: to send it to conversation AAAAAAAAAA: piton query --draft
            2> hint: to forget it: piton draft drop DRAFT
            2> conversation AAAAAAAAAA, turn 1, model script:DIR/script.json
            2> Resuming. Interrupted (pending tool execution): 2 of 3 tools finished
            2> • slow
            2> ✓ slow — 3
            exit 0
        "#]],
    );
    let counts = ["one.log", "two.log", "slow.log"].map(|log| lines_of(&world.work(log)));
    assert_eq!(counts, [1, 1, 1]);
}

#[test]
fn a_call_in_doubt_is_not_repeated_and_the_model_is_told() {
    let world = killed("once");
    std::fs::write(world.work("go"), "").unwrap();
    world.check(
        &[&["query", "--continue"], &["print"]],
        expect![[r#"
            $ piton query --continue
            All done.
            2> conversation AAAAAAAAAA, turn 1, model script:DIR/script.json
            2> Resuming. Interrupted (pending tool execution): 2 of 3 tools finished
            2> ? slow — outcome unknown
            exit 0
            $ piton print
            > go
            Three at once.
            ✓ one — completed
            ✓ two — completed
            ? slow — outcome unknown
            All done.
            2> conversation AAAAAAAAAA: 200 tokens in, 20 out
            exit 0
        "#]],
    );
    assert_eq!(lines_of(&world.work("slow.log")), 0);
}

// J69: all calls ended, the model was not told
#[test]
fn killed_while_the_model_thinks_about_the_results() {
    let world = World::new();
    let model = world.script(
        r#"{"steps":[{"calls":[{"tool":"one"}]},
            {"say":"Never seen at first.","faults":[{"kind":"stall"}]}],
          "tools":[{"name":"one","effect":"read_only","output":"1"}]}"#,
    );
    let mut child = world.spawn(&["query", "go", "--model", &model]);
    world.wait_for_events("ModelAsked", 2);
    child.kill().unwrap();
    world.finish(child);
    assert_eq!(world.rows()[0]["status"], "interrupted (pending follow-up)");
    world.check(&[&["query", "hello"], &["print"]], expect![[r#"
        $ piton query hello
        2> Conversation AAAAAAAAAA has an incomplete turn.
        2> Interrupted (pending follow-up)
        2>
        2>   piton query --continue --id AAAAAAAAAA          Resume the incomplete turn.
        2>   piton query --continue "TEXT" --id AAAAAAAAAA   Keep the work, add a message.
        2>   piton retry --id AAAAAAAAAA                     Try the message again, from scratch.
        2>   piton query --discard-turn --id AAAAAAAAAA      Discard the turn, keep the conversation.
        2> hint: your message is kept; to send it: piton query --draft
        exit 6
        $ piton print
        ⏳ Incomplete turn (pending follow-up)
        > go
        ✓ one — completed
        2> conversation AAAAAAAAAA: 100 tokens in, 10 out
        exit 0
    "#]]);
}

// J28, J69
#[test]
fn killed_before_the_first_answer() {
    let world = World::new();
    let stalls =
        r#"{"steps":[{"say":"Hello there.","chunk":6,"faults":[{"kind":"stall","after":1}]}]}"#;
    let model = world.script(stalls);
    let mut child = world.spawn(&["query", "go", "--model", &model]);
    world.wait_for_events("ModelPartial", 1);
    child.kill().unwrap();
    world.finish(child);
    world.check(&[&["query", "hello"], &["print"]], expect![[r#"
        $ piton query hello
        2> Conversation AAAAAAAAAA has an incomplete turn.
        2> Interrupted (pending LLM response)
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
        Hello
        [the answer broke off here]
        2> conversation AAAAAAAAAA
        exit 0
    "#]]);
    world.script(r#"{"steps":[{"say":"Hello there."}]}"#);
    world.check(
        &[&["query", "--continue"]],
        expect![[r#"
            $ piton query --continue
            Hello there.
            2> An unsent message is kept: hello
            2> hint: to send it to conversation AAAAAAAAAA: piton query --draft
            2> hint: to forget it: piton draft drop DRAFT
            2> conversation AAAAAAAAAA, turn 1, model script:DIR/script.json
            2> Resuming. Interrupted (pending LLM response)
            exit 0
        "#]],
    );
}

// J70, X21
#[test]
fn a_pending_question_is_shown_although_a_sibling_ended_after_it() {
    let world = World::new();
    let model = world.script(
        r#"{"steps":[{"calls":[{"tool":"ask_me"},{"tool":"look"}]}],
          "tools":[{"name":"ask_me","effect":"once"},{"name":"look","effect":"read_only","wait_for":"go"}]}"#,
    );
    let child = world.spawn(&["query", "go", "--model", &model]);
    world.wait_for_events("InquiryRaised", 1);
    std::fs::write(world.work("go"), "").unwrap();
    assert_eq!(world.finish(child).code, 3);
    assert_eq!(world.rows()[0]["status"], "waiting-for-input (ask_me)");
}
