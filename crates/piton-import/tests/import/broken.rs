//! Every format, broken in the ways that are known.

use std::fs;

use expect_test::{Expect, expect};
use piton_import::{FILE_BYTES_MAX, ImportError, read};

use crate::told::{file, only, told};

fn check(name: &str, expected: Expect) {
    let found = only(&file(name));
    expected.assert_eq(&told(&found.history));
    assert_eq!(&*found.original, fs::read(file(name)).unwrap(), "the original is kept");
}

#[test]
fn claude_code_with_branches_fillers_and_a_torn_line() {
    check(
        "claude.jsonl",
        expect![[r#"
            person: tidy up the notes
            thinks: two files, then
            model: I look at both.
            call: Bash {"command":"ls"} -> notes.md
            call: Bash {"command":"sleep 9"} -> UNKNOWN
            failed: API Error: Connection error.
            -- left
            person: and this picture? | <imported.png image/png>
            model: A dot. All is tidy.
            -- completed
            duplicate_result@5: Bash toolu_a: 2 results
            call_without_result@6: Bash toolu_b
            torn_line@8: {"parentUuid":"r6","type":"assistant","message":{"content":[{"type":"text","text":"half of a li
            call_without_name@10: toolu_c {}
            agent_made_message@11: API Error: Connection error.
            note@12: Continue from where you left off.
            agent_made_message@13: No response requested.
            sub_agent@14: records: 1
            unknown_record@15: brand-new-kind
        "#]],
    );
}

#[test]
fn codex_with_an_open_call_and_a_made_up_result() {
    check(
        "codex.jsonl",
        expect![[r#"
            person: count the lines
            thinks: use wc
            model: Counting.
            call: exec_command {"cmd":"wc -l a"} -> Process exited with code 0
            Output:
            7 a
            call: exec_command {"raw":"{\"cmd\": broken"} -> UNKNOWN
            call: apply_patch {"raw":"*** Begin Patch"} -> UNKNOWN
            failed: task_complete with error: stream disconnected
            -- open: task_complete with error: stream disconnected
            system_prompt@1: You are a robot.
            note@3: <permissions instructions>ask
            note@4: <environment_context>
            synthetic_result@10: exec_command call_2: Wall time: 2.0 seconds
            mended_arguments@10: exec_command {"raw":"{\"cmd\": broken"}
            call_without_result@11: apply_patch call_3
            result_without_call@14: call_9: of nobody
            error_recorded@15: task_complete with error: stream disconnected
            unknown_record@16: strange_line
        "#]],
    );
}

#[test]
fn a_packed_rollout_says_the_same() {
    let (packed, plain) = (only(&file("codex.jsonl.zst")), only(&file("codex.jsonl")));
    assert_eq!(told(&packed.history), told(&plain.history));
    assert_eq!(packed.history.source.format, "codex-rollout-zstd");
}

#[test]
fn a_packed_rollout_that_was_cut_gives_what_can_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cut.jsonl.zst");
    let packed = fs::read(file("codex.jsonl.zst")).unwrap();
    fs::write(&path, &packed[..packed.len() / 2]).unwrap();
    // One block: nothing of it can be had. What matters is that it is said.
    let said = read(&path, None).map(|found| found.len());
    assert!(matches!(said, Err(ImportError::Nothing { .. }) | Ok(1)), "{said:?}");
}

#[test]
fn codex_of_mid_2025() {
    check(
        "codex_old.jsonl",
        expect![[r#"
        person: hello there
        model: Hello.
        call: shell {"command":["ls"]} -> UNKNOWN
        -- open
        system_prompt@1: Be brief.
        call_without_result@5: shell call_1
    "#]],
    );
}

#[test]
fn gemini_cli_is_played_again_and_not_read_twice() {
    check(
        "gemini.jsonl",
        expect![[r#"
            person: what is the time?
            thinks: Clock: there is one
            model: I ask the clock.
            call: run_shell_command {"command":"date"} -> noon
            model: Noon.
            -- completed
            person: and now?
            -- open
            note@9: <session_context>
            duplicate_result@9: run_shell_command__a_very_long_name_that_is_more_than_sixty_four_letters_long_0: 2 results
            empty_assistant_message@12: nothing in it that can be sent
            torn_line@13: {"id":"g7","type":"gem
        "#]],
    );
}

#[test]
fn gemini_cli_of_older_versions() {
    check(
        "gemini.json",
        expect![[r#"
            person: what is the time?
            thinks: Clock: there is one
            model: I ask the clock.
            call: run_shell_command {"command":"date"} -> UNKNOWN
            failed: quota
            -- open: quota
            note@6: <session_context>
            synthetic_result@26: run_shell_command run_shell_command__a_very_long_name_that_is_more_than_sixty_four_letters_long_0: [Operation Cancelled] Reason: User cancelled tool execution.
            error_recorded@60: quota
        "#]],
    );
}

#[test]
fn qwen_code_with_a_gap() {
    check(
        "qwen.jsonl",
        expect![[r#"
        person: rename the file
        thinks: a plan
        model: Renaming.
        call: run_shell_command {"command":"mv a b"} -> moved
        call: run_shell_command {"command":"sleep 9"} -> UNKNOWN
        failed: api_error socket closed
        -- left
        person: go on
        model: It is b now.
        -- completed
        call_without_result@3: run_shell_command call_2
        error_recorded@5: api_error socket closed
        chain_gap@6: the record before it is not in the file: lost, or a way back
        note@8: a job ended
    "#]],
    );
}

#[test]
fn pi_with_a_branch_that_was_left_and_a_failed_attempt() {
    check(
        "pi.jsonl",
        expect![[r#"
            person: list it
            thinks: ls will do
            call: bash {"command":"ls"} -> a b
            call: bash {"command":"sleep 9"} -> UNKNOWN
            failed: error: terminated; it had said: There are
            -- open: error: terminated; it had said: There are
            call_without_result@5: bash toolu_2
            failed_attempt@7: error: terminated; it had said: There are
            empty_assistant_message@8: nothing in it that can be sent
            unknown_record@9: from_the_future
            other_branch@0: messages that were left there: 1
        "#]],
    );
}

#[test]
fn an_export_of_opencode_with_calls_that_never_ended() {
    check(
        "opencode_export.json",
        expect![[r#"
            person: make two files
            thinks: one by one
            model: I make both.
            call: write {"path":"a"} -> made a
            call: write {"path":"b"} -> UNKNOWN
            call: bash {"command":"x"} -> UNKNOWN
            failed: APIError: reset; it had said: Both are th
            -- open: APIError: reset; it had said: Both are th
            note@9: Called the Read tool
            call_without_result@32: write toolu_2
            synthetic_result@32: bash toolu_3: Tool execution aborted
            failed_attempt@101: APIError: reset; it had said: Both are th
            unknown_record@0: hologram
        "#]],
    );
}

#[test]
fn messages_of_anthropic_out_of_order() {
    check(
        "anthropic.json",
        expect![[r#"
            reader: [The beginning of this conversation is missing in the file that it was taken from.]
            model: I was here first.
            -- completed
            person: add one and one
            thinks: sum
            call: calc {"a":1} -> UNKNOWN
            call: calc {"raw":"[1]"} -> 2
            -- left
            person: and?
            model: Two.
            -- completed
            missing_beginning@2: an answer to nobody
            result_without_call@10: toolu_no: a stray
            call_without_result@20: calc toolu_1
            duplicate_result@20: calc toolu_2: 2 results, not the same; the first one counts
            mended_arguments@20: calc {"raw":"[1]"}
            empty_assistant_message@62: nothing in it that can be sent
        "#]],
    );
}

#[test]
fn messages_of_openai_with_broken_arguments() {
    check(
        "chat.json",
        expect![[r#"
            person: the weather? | <imported.png image/png>
            thinks: look outside
            call: weather {"raw":"{\"city\": \"Bo"} -> rain
            call: weather {} -> UNKNOWN
            call: umbrella {} -> none left
            -- open
            note@4: Be kind.
            call_without_result@23: weather call_2
            mended_arguments@23: weather {"raw":"{\"city\": \"Bo"}
        "#]],
    );
}

#[test]
fn items_of_openai_responses() {
    check(
        "responses.json",
        expect![[r#"
            person: which year?
            call: clock {} -> 2026
            model: 2026.
            -- completed
            note@4: only facts
            system_prompt@0: Be brief.
        "#]],
    );
}

#[test]
fn contents_of_gemini_without_ids() {
    check(
        "contents.json",
        expect![[r#"
            person: tick
            call: wait {"s":1} -> one
            call: wait {"s":2} -> UNKNOWN
            model: tock
            -- completed
            call_without_result@18: wait
            system_prompt@0: Be a clock.
        "#]],
    );
}

#[test]
fn one_message_per_line() {
    check(
        "lines.jsonl",
        expect![[r#"
        person: first
        model: one
        -- completed
        person: second
        call: look {} -> UNKNOWN
        -- open
        torn_line@3: {"role":"user","conte
        call_without_result@5: look a.b
    "#]],
    );
}

#[test]
fn a_list_that_is_cut_in_the_middle_of_a_letter() {
    check(
        "torn.json",
        expect![[r#"
        person: say it in Japanese
        -- open
        torn_line@3: EOF while parsing a string at line 3 column 40: {"role": "assistant", "content": "日�
    "#]],
    );
}

#[test]
fn what_is_no_session_is_said_to_be_none() {
    let error = |name| read(&file(name), None).unwrap_err();
    assert!(matches!(error("empty.jsonl"), ImportError::Empty { .. }));
    assert!(matches!(error("unknown.txt"), ImportError::UnknownFormat { .. }));
    assert!(matches!(error("not_there.jsonl"), ImportError::Unreadable { .. }));
    let wanted = read(&file("pi.jsonl"), Some("another")).unwrap_err();
    assert!(matches!(wanted, ImportError::NoSession { .. }));
}

#[test]
fn a_file_of_a_gigabyte_is_refused_before_it_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("large.jsonl");
    fs::copy(file("pi.jsonl"), &path).unwrap();
    // Without blocks on the disk.
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(1 << 30).unwrap();
    let error = read(&path, None).unwrap_err();
    assert!(matches!(error, ImportError::TooLarge { bytes, .. } if bytes == 1 << 30), "{error}");
    assert!(error.to_string().contains(&FILE_BYTES_MAX.to_string()), "{error}");
}

#[test]
fn every_file_can_be_cut_anywhere() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cut");
    for name in [
        "claude.jsonl",
        "codex.jsonl",
        "gemini.jsonl",
        "qwen.jsonl",
        "pi.jsonl",
        "chat.json",
        "opencode_export.json",
    ] {
        let bytes = fs::read(file(name)).unwrap();
        for end in (1..bytes.len()).step_by(17) {
            fs::write(&path, &bytes[..end]).unwrap();
            match read(&path, None) {
                Ok(found) => assert_eq!(found.len(), 1, "{name} at {end}"),
                Err(
                    ImportError::Nothing { .. }
                    | ImportError::Empty { .. }
                    | ImportError::UnknownFormat { .. },
                ) => {}
                Err(error) => panic!("{name} at {end}: {error}"),
            }
        }
    }
}
