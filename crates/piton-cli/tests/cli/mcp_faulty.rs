//! MCP servers that do not keep to the protocol: what can be used is used, the rest is told.

use std::fs;
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::thread;

use expect_test::expect;
use serde_json::{Value, json};

use crate::loopback::read_request;
use crate::mcp::{calls, query, result};
use crate::person::Person;
use crate::world::{World, lines};

const NO_METHOD: &str = r#""error":{"code":-32601,"message":"Method not found"}"#;

/// A server in shell. Each of these says what to do with a request, `say` and `refuse` answer it.
pub(crate) struct Odd<'a> {
    pub(crate) before: &'a str,
    pub(crate) initialize: &'a str,
    pub(crate) discover: &'a str,
    pub(crate) list: String,
    pub(crate) call: &'a str,
    /// Requests besides, as in `case`.
    pub(crate) more: &'a str,
}

impl Default for Odd<'_> {
    /// A server of an older revision that has no tools.
    fn default() -> Self {
        Self {
            before: "",
            initialize: r#"say '{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"resources":{},"prompts":{}},
                "serverInfo":{"name":"odd","version":"1"}}'"#,
            discover: "refuse",
            list: r#"say '{"tools":[]}'"#.into(),
            call: "refuse",
            more: "",
        }
    }
}

impl Odd<'_> {
    /// One that speaks only the newest revision.
    pub(crate) fn newest() -> Self {
        let discover = r#"say '{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},
            "ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"odd","version":"1"}}}'"#;
        Self { initialize: "refuse", discover, ..Self::default() }
    }

    fn listing(self, tools: &Value) -> Self {
        Self { list: format!("say '{tools}'"), ..self }
    }

    /// A world with settings for it.
    pub(crate) fn world(&self, settings: &str) -> World {
        let Self { before, initialize, discover, list, call, more } = self;
        let script = format!(
            r#"{before}
say() {{ printf '%s' "{{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":$1}}" | tr -d '\n'; printf '\n'; }}
refuse() {{ printf '{{"jsonrpc":"2.0","id":%s,%s}}\n' "$id" '{NO_METHOD}'; }}
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9][0-9]*\).*/\1/p')
  case "$line" in
    *'"method":"initialize"'*) {initialize} ;;
    *'"method":"server/discover"'*) {discover} ;;
    *'"method":"tools/list"'*) {list} ;;
    *'"method":"tools/call"'*) printf '%s\n' "$line" >> called; {call} ;;
    {more}
    *'"method":"resources/'* | *'"method":"prompts/'*) exit 9 ;;
  esac
done
"#
        );
        let world = World::new();
        fs::create_dir(world.path("home")).unwrap();
        let path = world.path("server.sh");
        fs::write(&path, script).unwrap();
        let text = format!("[mcp.odd]\ncommand = \"sh\"\nargs = [{path:?}]\n{settings}\n");
        fs::write(world.path("home/piton.toml"), text).unwrap();
        world
    }
}

/// What is said of the only server, which failed.
fn why(world: &World) -> String {
    let list = world.run(&["mcp", "list", "--json"]).stdout;
    let found = &lines(&list)[0];
    assert_eq!(found["state"], "failed", "{list}");
    found["why"].as_str().unwrap().to_owned()
}

/// A list in which most makes no sense.
fn faulty_list(more: &Value) -> Value {
    let mut list = json!({"tools": [
        {"name": "bare"},
        {"name": "good", "description": "Works", "inputSchema": {"type": "object"}},
        {"name": "text", "inputSchema": "x"},
        {"name": "plain", "description": "\n  Works too\n", "inputSchema": {"properties": []}, "annotations": 7},
    ]});
    list.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    list
}

pub(crate) const DONE_IT: &str = r#"say '{"content":[{"type":"text","text":"done it"}]}'"#;

#[test]
fn a_tool_that_makes_no_sense_is_named_and_the_others_work() {
    let newest = json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private"});
    let about =
        json!({"_meta": {"io.modelcontextprotocol/serverInfo": {"name": "odd", "version": "1"}}});
    let mut both = newest.clone();
    both.as_object_mut().unwrap().extend(about.as_object().unwrap().clone());
    for (server, more, protocol) in [
        (Odd::default(), json!({}), "2025-06-18"),
        (Odd::default(), about, "2025-06-18"),
        (Odd::newest(), newest, "2026-07-28"),
        (Odd::newest(), both, "2026-07-28"),
    ] {
        let server = Odd { call: DONE_IT, ..server };
        let world = server.listing(&faulty_list(&more)).world("");
        let list = world.run(&["mcp", "list"]).stdout;
        let ready = format!(
            "    ready: 2 tools, odd 1, protocol {protocol}\n    left out: bare: it has no inputSchema\n"
        );
        assert!(list.contains(&ready), "{more}: {list}");
        world.check(
            &[&["mcp", "tools"]],
            expect![[r#"
                $ piton mcp tools
                odd__good  once  Works
                odd__plain  once  Works too
                2> mcp: odd: left out: bare: it has no inputSchema
                2> mcp: odd: left out: text: its inputSchema is no object
                exit 0
            "#]],
        );
        let ran = query(&world, &calls(&world, r#"{"tool":"odd__good"}"#));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let note = "mcp: odd: going on without some of its tools: bare: it has no inputSchema; text: \
                    its inputSchema is no object\n";
        assert!(ran.stderr.contains(note), "{}", ran.stderr);
        assert_eq!(result(&world), ("ok".into(), "done it".into()));
    }
}

#[test]
fn a_tool_that_nobody_wants_is_not_missed() {
    let world =
        Odd::default().listing(&faulty_list(&json!({}))).world("deny = [\"bare\", \"text\"]");
    let list = world.run(&["mcp", "list", "--json"]).stdout;
    let found = &lines(&list)[0];
    assert_eq!((&found["tools"], &found["why"]), (&json!(2), &json!("")));
    let ran = query(&world, &world.script(r#"{"steps":[{"say":"Done."}]}"#));
    assert!(!ran.stderr.contains("mcp:"), "{}", ran.stderr);
}

/// Answers the requests of one connection as a server over HTTP does.
fn serve(mut socket: TcpStream, list: Option<&Value>) {
    while let Some(request) = read_request(&mut socket) {
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        let body: Value = serde_json::from_str(body).unwrap_or_default();
        let result = match body["method"].as_str() {
            Some("initialize") => {
                json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                "serverInfo": {"name": "odd", "version": "1"}})
            }
            Some("tools/list") => match list {
                Some(list) => list.clone(),
                None => return,
            },
            _ => Value::Null,
        };
        let (status, body) = match (head.starts_with("POST"), result) {
            (false, _) => ("405 Method Not Allowed", String::new()),
            (true, Value::Null) => ("202 Accepted", String::new()),
            (true, result) => (
                "200 OK",
                json!({"jsonrpc": "2.0", "id": body["id"], "result": result}).to_string(),
            ),
        };
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
        );
        if socket.write_all((head + &body).as_bytes()).is_err() {
            return;
        }
    }
}

/// A world with settings for a server over HTTP that lists these tools, or hangs up instead.
pub(crate) fn over_http(list: Option<Value>) -> World {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for socket in listener.incoming() {
            let list = list.clone();
            thread::spawn(move || serve(socket.unwrap(), list.as_ref()));
        }
    });
    at_address(&format!("http://{address}/mcp"))
}

/// A world with settings for a server at an address, with a key behind it.
pub(crate) fn at_address(url: &str) -> World {
    let world = World::new();
    fs::create_dir(world.path("home")).unwrap();
    let text = format!("[mcp.odd]\nurl = \"{url}?key=${{MY_KEY:-none}}\"\n");
    fs::write(world.path("home/piton.toml"), text).unwrap();
    world
}

#[test]
fn a_tool_that_makes_no_sense_takes_no_other_along_over_http_either() {
    let world = over_http(Some(faulty_list(&json!({}))));
    world.check(
        &[&["mcp", "tools"]],
        expect![[r#"
            $ piton mcp tools
            odd__good  once  Works
            odd__plain  once  Works too
            2> mcp: odd: left out: bare: it has no inputSchema
            2> mcp: odd: left out: text: its inputSchema is no object
            exit 0
        "#]],
    );
}

#[test]
fn a_list_may_have_pages_and_ends_where_it_comes_round() {
    let tool = |name: &str| json!({"name": name, "inputSchema": {}});
    let first = json!({"tools": [tool("a"), {"name": "bad"}], "nextCursor": "two"});
    let second = json!({"tools": [tool("b"), tool("a")], "nextCursor": "three"});
    let last = json!({"tools": [tool("c")], "nextCursor": "two"});
    for server in [Odd::default(), Odd::newest()] {
        let list = format!(
            "case \"$line\" in *'\"cursor\":\"two\"'*) say '{second}' ;; \
             *'\"cursor\":\"three\"'*) say '{last}' ;; *) say '{first}' ;; esac"
        );
        let world = Odd { list, ..server }.world("");
        world.check(
            &[&["mcp", "tools"]],
            expect![[r#"
                $ piton mcp tools
                odd__a  once  
                odd__b  once  
                odd__c  once  
                2> mcp: odd: left out: bad: it has no inputSchema
                exit 0
            "#]],
        );
    }
}

#[test]
fn a_list_that_does_not_end_is_cut() {
    // The letters of the request's number make every cursor a new one.
    let list =
        r#"say "{\"tools\":[{\"name\":\"t$id\",\"inputSchema\":{}}],\"nextCursor\":\"$id\"}""#;
    let world = Odd { list: list.into(), ..Odd::default() }.world("connect_seconds = 120");
    let list = world.run(&["mcp", "list"]).stdout;
    let cut = "ready: 64 tools, odd 1, protocol 2025-06-18\n    \
               left out: the rest: its list has more than 64 pages\n";
    assert!(list.contains(cut), "{list}");
}

#[test]
fn a_tool_is_called_by_its_own_name_whatever_that_is() {
    let long = "n".repeat(300);
    let tools = json!({"tools": [
        {"name": "", "inputSchema": {}},
        {"name": long, "inputSchema": {}},
        {"name": "bell\u{7}", "inputSchema": {}},
        {"name": "twin", "description": "one", "inputSchema": {}},
        {"name": "twin", "description": "two", "inputSchema": {}},
    ]});
    let world = Odd { call: DONE_IT, ..Odd::default() }.listing(&tools).world("");
    let shown = world.run(&["mcp", "tools"]);
    let told = "mcp: odd: left out: one without a name: it has no name\n\
                mcp: odd: left out: twin: another tool has its name\n";
    assert_eq!(shown.stderr, told);
    let names: Vec<&str> =
        shown.stdout.lines().map(|line| line.split("  ").next().unwrap()).collect();
    assert_eq!((names.len(), names[2]), (3, "odd__twin"), "{}", shown.stdout);
    assert!(names.iter().all(|name| name.len() <= 64 && name.is_ascii()), "{names:?}");
    let script = calls(
        &world,
        &format!(r#"{{"tool":"{}"}}]}},{{"calls":[{{"tool":"{}"}}"#, names[0], names[1]),
    );
    assert_eq!(query(&world, &script).code, 0);
    let called = lines(&fs::read_to_string(world.work("called")).unwrap());
    let called: Vec<&Value> = called.iter().map(|call| &call["params"]["name"]).collect();
    assert_eq!(called, [&json!(long), &json!("bell\u{7}")]);
}

#[test]
fn what_a_server_says_of_its_tools_does_not_rule_the_terminal() {
    let tools = json!({"tools": [
        {"name": "red", "description": "\u{1b}[31mRed\r\u{9b}2J", "inputSchema": {}},
        {"name": "e\u{1b}[2J"},
    ]});
    let world = Odd::default().listing(&tools).world("");
    // A pipe may lead to a terminal.
    let piped = world.run(&["mcp", "tools"]);
    assert_eq!(piped.stdout, "odd__red  once  \\x1b[31mRed\\x0d\\x9b2J\n");
    assert_eq!(piped.stderr, "mcp: odd: left out: e\\x1b[2J: it has no inputSchema\n");
    let mut person = Person::starts(&world, &["mcp", "tools"]);
    person.sees("odd__red  once  \\x1b[31mRed\\x0d\\x9b2J");
    assert_eq!(person.leaves().0, 0);
    let mut person = Person::starts(&world, &["mcp", "list"]);
    person.sees("left out: e\\x1b[2J: it has no inputSchema");
    assert_eq!(person.leaves().0, 0);
}

#[test]
fn a_server_that_dies_while_it_lists_is_heard_out() {
    for server in [Odd::default(), Odd::newest()] {
        let world = Odd { list: "echo 'no database' >&2; exit 7".into(), ..server }.world("");
        let why = why(&world);
        let told = "it does not list its tools: the connection was lost (exit status: 7)\nIt printed:\nno database";
        assert!(why.ends_with(told), "{why}");
    }
}

#[test]
fn a_server_that_prints_something_else_is_quoted() {
    let told = "where only messages belong, it printed: Open http://localhost:3000";
    // At once, before it can have been greeted, or behind the greeting.
    for before in ["", "read -r line\n"] {
        let before = format!("{before}echo 'Open http://localhost:3000'\necho 'Ready.'\nexit 0");
        let world = Odd { before: &before, ..Odd::default() }.world("");
        assert_eq!(why(&world), format!("it ended before it answered (exit status: 0); {told}"));
    }
    // What a program logs does not keep its messages from being read.
    let before = "printf '\\n{\"level\":30,\"msg\":\"up\"}\\nListening.\\n'";
    let world = Odd { before, ..Odd::default() }.world("");
    assert!(world.run(&["mcp", "list"]).stdout.contains("ready: 0 tools"));
}

#[test]
fn a_program_that_asks_instead_of_answering_is_quoted() {
    let before = "read -r line\nprintf 'Password: '\nexit 1";
    let world = Odd { before, ..Odd::default() }.world("");
    let told = "it ended before it answered (exit status: 1); \
                it began a line and did not end it: Password:";
    assert_eq!(why(&world), told);
}

#[test]
fn why_a_server_refuses_is_told_and_not_only_that_it_knows_no_other_greeting() {
    let initialize = r#"printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"There is no key"}}\n' "$id""#;
    let world = Odd { initialize, ..Odd::default() }.world("");
    assert_eq!(
        why(&world),
        "it refuses the connection: There is no key; \
         in the newest revision, it refuses the connection: Method not found"
    );
}

#[test]
fn an_answer_that_is_none_is_quoted() {
    let world = Odd { initialize: r#"say '{"capabilities":{}}'"#, ..Odd::default() }.world("");
    assert_eq!(why(&world), "its answer does not keep to the protocol: {\"capabilities\":{}}");
    let world = Odd { list: "refuse".into(), ..Odd::default() }.world("");
    assert!(why(&world).starts_with("it does not list its tools: "), "{}", why(&world));
    assert!(why(&world).ends_with("Method not found"), "{}", why(&world));
    let world = Odd::default().listing(&json!({"tools": 7})).world("");
    assert!(why(&world).starts_with("it does not list its tools: what it sent is no list"));
    assert!(!why(&world).contains("exit status"), "it ended because it was left");
}

/// The outcome and the text of a call that is answered so.
fn answered(server: Odd<'_>, call: &str) -> (String, String) {
    let tools = json!({"tools": [{"name": "do", "inputSchema": {},
        "outputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}}]});
    let world = Odd { call, ..server }.listing(&tools).world("");
    let ran = query(&world, &calls(&world, r#"{"tool":"odd__do"}"#));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(fs::read_to_string(world.work("called")).unwrap().lines().count(), 1);
    result(&world)
}

#[test]
fn an_answer_is_told_also_if_it_does_not_keep_to_the_protocol() {
    for (answer, outcome, text) in [
        (r#"say '{}'"#, "ok", "[done; no content]"),
        (r#"say '{"resultType":"complete"}'"#, "ok", "[done; no content]"),
        (
            r#"say '{"content":[{"type":"text","text":"done it"},{"type":"video","id":"v"}]}'"#,
            "ok",
            "done it\n[content of an unknown kind]\n{\"id\":\"v\",\"type\":\"video\"}",
        ),
        (r#"say '{"content":"no","isError":true}'"#, "failed", "no"),
        // What does not fit the server's own schema is told as such, and as it is.
        (
            r#"say '{"content":[],"structuredContent":{"n":"many"}}'"#,
            "ok",
            "[structured content]\n{\n  \"n\": \"many\"\n}\n[The structured content is not as the tool's \
             outputSchema says: at /n, \"many\" is not of type \"integer\". It is shown as it came.]",
        ),
        (
            r#"say '{"content":[],"structuredContent":{"n":1}}'"#,
            "ok",
            "[structured content]\n{\n  \"n\": 1\n}",
        ),
        (
            r#"printf '{"jsonrpc":"2.0","id":%s,"error":"no"}\n' "$id""#,
            "failed",
            "The MCP server odd refused the call: no",
        ),
    ] {
        for server in [Odd::default(), Odd::newest()] {
            assert_eq!(answered(server, answer), (outcome.into(), text.into()), "{answer}");
        }
    }
}

#[test]
fn an_answer_of_a_kind_that_is_not_known_is_none() {
    let (outcome, text) = answered(Odd::newest(), r#"say '{"resultType":"later","content":7}'"#);
    assert_eq!(outcome, "unknown");
    assert!(text.contains("it answered with something else than a result"), "{text}");
}
