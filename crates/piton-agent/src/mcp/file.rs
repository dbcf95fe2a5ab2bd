//! Writes servers into the settings file, and takes them out again.

use std::collections::BTreeMap;
use std::path::Path;

use piton_mcp::WrittenServer;
use piton_tools::sandbox::Confinement;
use toml_edit::{Array, InlineTable, Item, Table, TableLike, Value};

use crate::rules::file::{RuleFileError, edit, keep_comments};

/// The table of servers.
const SERVERS: &str = "mcp";

/// Adds a server, and says whether its name was free. One that is there stays as it is. Durable when
/// this returns.
pub fn add_server(file: &Path, name: &str, server: &WrittenServer) -> Result<bool, RuleFileError> {
    edit(file, |document, _| {
        let above = if document.is_empty() { "" } else { "\n" };
        let servers = document.entry(SERVERS).or_insert_with(|| {
            let mut servers = Table::new();
            servers.set_implicit(true);
            Item::Table(servers)
        });
        let servers: &mut dyn TableLike =
            servers.as_table_like_mut().ok_or("mcp is no table of servers")?;
        if servers.contains_key(name) {
            return Ok(false);
        }
        let mut table = fields(server);
        table.decor_mut().set_prefix(above);
        servers.insert(name, Item::Table(table));
        Ok(true)
    })
}

/// Takes a server out; says whether it was there. Durable when this returns.
pub fn remove_server(file: &Path, name: &str) -> Result<bool, RuleFileError> {
    edit(file, |document, _| {
        let servers = document.get_mut(SERVERS).and_then(Item::as_table_like_mut);
        let Some(gone) = servers.and_then(|servers| servers.remove(name)) else {
            return Ok(false);
        };
        if let Item::Table(gone) = gone {
            keep_comments(document, &gone);
        }
        Ok(true)
    })
}

/// What is said of a server, in the order of the documents. What is not said has its usual value.
fn fields(server: &WrittenServer) -> Table {
    let mut table = Table::new();
    let mut say = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            table.insert(key, Item::Value(value));
        }
    };
    say("command", server.command.as_deref().map(Value::from));
    let args: Array = server.args.iter().map(String::as_str).collect();
    say("args", (!args.is_empty()).then(|| Value::from(args)));
    say("env", texts(&server.env));
    say("sandbox", (server.sandbox == Confinement::Yes).then(|| Value::from(true)));
    say("url", server.url.as_deref().map(Value::from));
    say("headers", texts(&server.headers));
    table
}

fn texts(texts: &BTreeMap<String, String>) -> Option<Value> {
    let table: InlineTable = texts.iter().map(|(name, text)| (name, text.as_str())).collect();
    (!table.is_empty()).then(|| Value::from(table))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use expect_test::{Expect, expect};

    use super::*;

    fn program() -> WrittenServer {
        let args = vec!["-y".to_owned(), "a \"server\"".to_owned()];
        let env = [("KEY".to_owned(), "${TOKEN}".to_owned())].into();
        let command = Some("npx".to_owned());
        WrittenServer { command, args, env, ..WrittenServer::default() }
    }

    fn check(before: &str, change: impl Fn(&Path) -> bool, after: Expect) {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("piton.toml");
        fs::write(&file, before).unwrap();
        assert!(change(&file));
        let text = fs::read_to_string(&file).unwrap();
        after.assert_eq(&text);
        assert!(!change(&file), "a second time there is nothing to do");
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }

    fn adds(server: WrittenServer) -> impl Fn(&Path) -> bool {
        move |file| add_server(file, "files", &server).unwrap()
    }

    #[test]
    fn a_server_is_written_behind_the_others_and_nothing_else_changes() {
        let far = WrittenServer {
            url: Some("https://h/mcp".into()),
            headers: [("Authorization".to_owned(), "Bearer ${TOKEN}".to_owned())].into(),
            ..WrittenServer::default()
        };
        check(
            "",
            adds(far),
            expect![[r#"
            [mcp.files]
            url = "https://h/mcp"
            headers = { Authorization = "Bearer ${TOKEN}" }
        "#]],
        );
        let before = "# mine\nmodel = 'demo'   # for now\n\n[mcp.a]\ncommand='x'\n\n[workers]\nsteps = 3\n# the end\n";
        check(
            before,
            adds(program()),
            expect![[r#"
            # mine
            model = 'demo'   # for now

            [mcp.a]
            command='x'

            [mcp.files]
            command = "npx"
            args = ["-y", 'a "server"']
            env = { KEY = "${TOKEN}" }

            [workers]
            steps = 3
            # the end
        "#]],
        );
    }

    #[test]
    fn every_form_of_the_table_takes_a_server() {
        check(
            "mcp = { a = { command = 'x' } }\n",
            adds(program()),
            expect![[r#"
                mcp = { a = { command = 'x' } , files = { command = "npx", args = ["-y", 'a "server"'], env = { KEY = "${TOKEN}" } } }
            "#]],
        );
        check(
            "mcp.a.command = 'x'\n",
            adds(program()),
            expect![[r#"
            mcp.a.command = 'x'

            [mcp.files]
            command = "npx"
            args = ["-y", 'a "server"']
            env = { KEY = "${TOKEN}" }
        "#]],
        );
    }

    #[test]
    fn a_server_goes_with_the_comments_right_above_it() {
        let removes = |file: &Path| remove_server(file, "files").unwrap();
        let before = "# all servers\n\n# this one\n[mcp.files]\ncommand = 'x'\n[mcp.files.env]\nA = '1'\n\n# that one\n[mcp.b]\ncommand = 'y'\n";
        check(
            before,
            removes,
            expect![[r#"
            # all servers

            # that one
            [mcp.b]
            command = 'y'
        "#]],
        );
        check(
            "mcp = { files = { command = 'x' } }\n",
            removes,
            expect![[r#"
                mcp = {}
            "#]],
        );
    }

    #[test]
    fn a_file_that_makes_no_sense_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("piton.toml");
        fs::write(&file, "mcp = 7\n").unwrap();
        assert!(matches!(add_server(&file, "a", &program()), Err(RuleFileError::Parse { .. })));
        assert_eq!(fs::read_to_string(&file).unwrap(), "mcp = 7\n");
    }
}
