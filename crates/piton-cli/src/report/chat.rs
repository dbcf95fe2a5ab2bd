//! Hints as a chat gives them: its own commands instead of those of the shell.

use piton_core::id::ConversationId;

/// What stands in a hint, and what a chat says instead. The first that fits counts.
const INSTEAD: [(&str, &str); 12] = [
    ("piton query --continue TEXT", "say it"),
    ("piton query --continue \"TEXT\"", "say it"),
    ("piton query -c TEXT", "just say it"),
    ("piton query --continue --permissions ", "/continue, after /mode "),
    ("piton query --continue --model ", "/continue, after /model "),
    ("piton query --continue --max-cost ", "/continue, after /limit $"),
    ("piton query --continue --max-turn-tokens ", "/continue, after /limit "),
    ("piton query --continue --max-steps ", "/continue, after /limit steps "),
    ("piton query --continue", "/continue"),
    ("piton query --discard-turn", "/discard"),
    ("piton query TEXT", "just say it"),
    ("piton retry", "/retry"),
];

/// How wide the commands of a chat are in a table of them.
const COMMAND_LETTERS: usize = 9;

/// A line that is said of a turn, for a chat; none if it has no meaning there.
pub(super) fn in_chat(line: &str, conversation: Option<&ConversationId>) -> Option<String> {
    // A message that was not sent comes back as what is being typed.
    if line.contains("piton query --draft") {
        return None;
    }
    let id = conversation.map(|id| format!(" --id {id}")).unwrap_or_default();
    let line = line.replace(&id, "");
    Some(line.split('\n').map(of_line).collect::<Vec<_>>().join("\n"))
}

fn of_line(line: &str) -> String {
    let Some((shell, chat)) = INSTEAD.iter().find(|(shell, _)| line.contains(shell)) else {
        return line.to_owned();
    };
    let line = line.replacen(shell, chat, 1);
    // A row of a table of commands, which was as wide as those of the shell.
    match line.trim_start().split_once("   ") {
        Some((command, what)) if line.starts_with("  ") => {
            format!("  {command:COMMAND_LETTERS$}  {}", what.trim_start())
        }
        Some(_) | None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::incomplete;

    #[test]
    fn a_table_of_commands_of_the_shell_becomes_one_of_the_chat() {
        let id = ConversationId::new("abc");
        let table = format!("It waits.\n\n{}", incomplete::commands(&id));
        let told = in_chat(&table, Some(&id)).unwrap_or_default();
        expect_test::expect![[r#"
            It waits.

              /continue  Resume the incomplete turn.
              say it     Keep the work, add a message.
              /retry     Try the message again, from scratch.
              /discard   Discard the turn, keep the conversation."#]]
        .assert_eq(&told);
    }

    #[test]
    fn hints_name_what_can_be_typed_in_a_chat() {
        let id = ConversationId::new("abc");
        for (line, expected) in [
            ("[interrupted]", Some("[interrupted]")),
            (
                "hint: the work is kept; to go on: piton query --continue --id abc",
                Some("hint: the work is kept; to go on: /continue"),
            ),
            (
                "hint: to try with another model: piton query --continue --id abc --model a/b",
                Some("hint: to try with another model: /continue, after /model a/b"),
            ),
            (
                "hint: to discard the turn: piton query --discard-turn --id abc",
                Some("hint: to discard the turn: /discard"),
            ),
            (
                "hint: to begin the turn anew, from its message: piton retry --id abc",
                Some("hint: to begin the turn anew, from its message: /retry"),
            ),
            (
                "hint: to go on with a higher limit: piton query --continue --id abc --max-cost 2.5",
                Some("hint: to go on with a higher limit: /continue, after /limit $2.5"),
            ),
            ("hint: your message is kept; to send it: piton query --draft", None),
        ] {
            assert_eq!(in_chat(line, Some(&id)).as_deref(), expected, "{line}");
        }
    }
}
