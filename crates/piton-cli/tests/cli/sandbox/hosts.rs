//! Hosts that are opened singly: with real programs through the proxy, and without a way around it.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::{fs, thread};

use piton_tools::sandbox::try_namespaces;
use serde_json::{Value, json};

use super::can_hold;
use crate::world::World;

const PITON: &str = env!("CARGO_BIN_EXE_piton");

/// Whether hosts can be held here.
fn has_namespaces() -> bool {
    let tried = try_namespaces(Path::new(PITON)).unwrap();
    if let Err(why) = &tried {
        eprintln!("skipped: there are no namespaces here ({why})");
    }
    can_hold() && tried.is_ok()
}

/// A server of the machine that says hello to everybody; its port.
fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in listener.incoming() {
            let mut client = client.unwrap();
            thread::spawn(move || {
                let mut request = [0; 4096];
                let _some = client.read(&mut request);
                client
                    .write_all(
                        b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nhello\n",
                    )
                    .ok();
            });
        }
    });
    port
}

/// One command in the mode `auto`, with these settings; the end of its call.
fn run(settings: &str, command: &str) -> Value {
    let world = World::new();
    fs::create_dir(world.path("home")).unwrap();
    fs::write(world.path("home/piton.toml"), settings).unwrap();
    let script = json!({ "steps": [
        { "say": "Go.", "calls": [{ "tool": "shell", "arguments": { "command": command } }] },
        { "say": "Done." }
    ] });
    let model = world.script(&script.to_string());
    let ran = world.run(&["query", "go", "--permissions", "auto", "--model", &model]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let mut events = world.events().into_iter();
    events.rfind(|it| it["type"] == "ToolFinished").unwrap()["output"].clone()
}

fn text(end: &Value) -> &str {
    end["text"].as_str().unwrap()
}

/// Settings that open a host for every command.
fn open(host: &str) -> String {
    format!("[sandbox]\nnetwork = [\"{host}\"]\n")
}

fn fetch(program: &str, port: u16) -> String {
    let address = format!("http://127.0.0.1:{port}/");
    match program {
        "curl" => format!("curl -sS {address}"),
        "curl over SOCKS" => format!("curl -sS --proxy socks5h://127.0.0.1:1080 {address}"),
        "python" => format!(
            "python3 -c 'import urllib.request as u; print(u.urlopen(\"{address}\").read())'"
        ),
        _ => format!(
            "printf 'GET / HTTP/1.1\\r\\nHost: 127.0.0.1:{port}\\r\\n\\r\\n' | {PITON} supervise connect 127.0.0.1 {port}"
        ),
    }
}

const PROGRAMS: [&str; 4] = ["curl", "curl over SOCKS", "python", "our own client"];

#[test]
fn a_granted_host_is_reached_and_no_other() {
    if !has_namespaces() {
        return;
    }
    let (granted, other) = (server(), server());
    let settings = open(&format!("127.0.0.1:{granted}"));
    for program in PROGRAMS {
        let end = run(&settings, &fetch(program, granted));
        assert!(text(&end).contains("hello"), "{program}: {}", text(&end));
        let end = run(&settings, &fetch(program, other));
        assert!(!text(&end).contains("hello"), "{program}: {}", text(&end));
    }
}

#[test]
fn a_rule_opens_a_host_for_its_commands_only() {
    if !has_namespaces() {
        return;
    }
    let port = server();
    let rule = format!(
        "[[permissions]]\ntool = \"shell\"\ncommand = \"curl *\"\neffect = \"allow\"\n\
         network = [\"127.0.0.1:{port}\"]\n"
    );
    assert!(text(&run(&rule, &fetch("curl", port))).contains("hello"));
    assert!(!text(&run(&rule, &fetch("python", port))).contains("hello"));
}

#[test]
fn what_the_proxy_refused_is_named_exactly() {
    if !has_namespaces() {
        return;
    }
    let (granted, other) = (server(), server());
    let settings = open(&format!("127.0.0.1:{granted}"));
    let end = run(&settings, &format!("curl -fsS http://127.0.0.1:{other}/"));
    let needs = format!("call again with needs {{\"network\":[\"127.0.0.1:{other}\"]}}");
    assert!(text(&end).contains(&format!("127.0.0.1:{other} not granted")), "{}", text(&end));
    assert!(text(&end).contains(&needs), "{}", text(&end));
}

#[test]
fn there_is_no_way_around_the_proxy() {
    if !has_namespaces() {
        return;
    }
    let (granted, other) = (server(), server());
    let settings = open(&format!("127.0.0.1:{granted}"));
    let around = format!(
        "env -u http_proxy -u HTTP_PROXY -u ALL_PROXY -u all_proxy curl -sS --noproxy '*' http://127.0.0.1:{other}/"
    );
    let host = format!("curl -sS -H 'Host: evil.example' http://127.0.0.1:{granted}/");
    let tunnel =
        format!("curl -sS --proxytunnel -H 'Host: evil.example' http://127.0.0.1:{granted}/");
    for command in [&around, &host, &tunnel] {
        let end = run(&settings, command);
        assert!(!text(&end).contains("hello"), "{command}: {}", text(&end));
    }
    // Each of them gets through without a sandbox.
    let direct = host.replace("curl", "env -u x curl");
    for command in [around, direct] {
        let end = run("[sandbox]\nmode = \"off\"\n", &command);
        assert!(text(&end).contains("hello"), "{command}: {}", text(&end));
    }
}

#[test]
fn without_a_grant_nothing_is_reached() {
    if !has_namespaces() {
        return;
    }
    let port = server();
    for program in ["curl", "python"] {
        assert!(!text(&run("", &fetch(program, port))).contains("hello"), "{program}");
        let free = run("[sandbox]\nmode = \"off\"\n", &fetch(program, port));
        assert!(text(&free).contains("hello"), "{program}: {}", text(&free));
    }
}

/// A server of files that ends with the test.
struct Files(Child);

impl Drop for Files {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

#[test]
fn git_fetches_from_a_granted_host() {
    if !has_namespaces() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(arguments);
        assert!(git.current_dir(directory.path()).output().unwrap().status.success());
    };
    git(&["init", "-q", "one"]);
    git(&["-C", "one", "commit", "-q", "--allow-empty", "-m", "a"]);
    git(&["clone", "-q", "--bare", "one", "two.git"]);
    git(&["-C", "two.git", "update-server-info"]);
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut server = Command::new("python3");
    server.args(["-m", "http.server", "--bind", "127.0.0.1", &port.to_string()]);
    server.current_dir(directory.path()).stdout(Stdio::null()).stderr(Stdio::null());
    let _server = Files(server.spawn().unwrap());
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        thread::yield_now();
    }
    let clone = format!(
        "git clone -q http://127.0.0.1:{port}/two.git three && git -C three log --format=%s"
    );
    let end = run(&open(&format!("127.0.0.1:{port}")), &clone);
    assert_eq!(end["exit_code"], 0, "{}", text(&end));
    assert!(text(&end).starts_with('a'), "{}", text(&end));
    let refused = run("", &clone);
    assert_ne!(refused["exit_code"], 0, "{}", text(&refused));
}
