//! `piton attach` on real terminals and in scripts, beside another process and at a real server; and the server
//! that encrypts.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::Child;

use serde_json::{Value, json};

use crate::person::Person;
use crate::served::Serving;
use crate::world::{Ran, World};

const CTRL_C: &str = "\x03";
const CTRL_D: &str = "\x04";

/// Asks, then says something for a minute.
const ASKS: &str = r#"{"steps":[
    {"calls":[{"tool":"ask_user","arguments":{"question":"Which colour?"}}]},
    {"say":"Blue it is, and that is said so slowly that nobody waits for its end.","chunk":5,"chunk_ms":4000},
    {"say":"Second turn."}]}"#;
/// The same without an end to wait for.
const ASKED: &str = r#"{"steps":[
    {"calls":[{"tool":"ask_user","arguments":{"question":"Which colour?"}}]},
    {"say":"Blue it is."},
    {"say":"Second turn."}]}"#;
const WRITES: &str = r#"{"steps":[
    {"say":"First words.","calls":[{"tool":"slow"}]},
    {"calls":[{"tool":"write_file","arguments":{"path":"one","content":"1"}}]},
    {"say":"Written."},{"say":"Queued."},{"say":"Typed here."}],
    "tools":[{"name":"slow","effect":"read_only","wait_for":"go","output":"late"}]}"#;

/// A terminal at a server.
fn attach(world: &World, serving: &Serving, id: &str) -> Person {
    let url = format!("http://{}/c/{id}", serving.address);
    let mut command = world.command(&["attach", &url]);
    command.env("PITON_TOKEN", &serving.token);
    let mut person = Person::starts_command(command);
    person.sees("/help lists the commands");
    person
}

/// Runs `piton attach` where nobody sits.
fn run(world: &World, args: &[&str], variables: &[(&str, &str)]) -> Ran {
    let mut command = world.command(&[&["attach"], args].concat());
    command.envs(variables.iter().copied());
    world.finish(command.spawn().unwrap())
}

// Two terminals on one turn; the server is killed in the middle of an answer and comes back. J97, C30, O50
#[test]
fn two_terminals_at_a_server_see_the_same_turn_and_outlive_its_death() {
    let world = World::new();
    let model = world.script(ASKS);
    let serving = Serving::start(&world, &model, &[]);
    let id = serving.begin();
    let mut first = attach(&world, &serving, &id);
    let mut second = attach(&world, &serving, &id);
    // Only what is typed behind the question answers it.
    first.types("begin\r").sees("> begin").sees("Which colour? (empty line");
    second.sees("> begin").sees("Which colour? (empty line");
    first.types("blue\n").sees("✓ ask_user").sees("Blue ");
    second.sees("Answered elsewhere: blue").sees("Blue ");
    second.types("and then\r").sees("queued: and then");
    let address = serving.address.clone();
    serving.kill_9();
    for person in [&mut first, &mut second] {
        person.sees("The server is gone");
    }
    world.script(ASKED);
    let serving = Serving::start(&world, &model, &["--listen", &address]);
    for person in [&mut first, &mut second] {
        person.sees("The server is back.").sees("The turn is incomplete.");
    }
    first.types("/continue\r");
    for person in [&mut first, &mut second] {
        person.sees("Blue it is.").sees("> and then").sees("Second turn.");
    }
    first.types(CTRL_C).sees(&format!("piton attach {id} comes back"));
    second.types(CTRL_D);
    for (person, answers) in [(first, 0), (second, 1)] {
        let (code, screen) = person.leaves();
        assert_eq!(code, 0, "{screen}");
        for text in ["\n> begin\r", "\n> and then\r", "Blue it is.\r", "Second turn.\r"] {
            assert_eq!(screen.matches(text).count(), 1, "{text:?} in {screen}");
        }
        assert_eq!(screen.matches("Answered elsewhere").count(), answers, "{screen}");
    }
    let printed = world.run(&["print", &id]).stdout;
    assert_eq!(printed.matches("Second turn.").count(), 1, "{printed}");
    drop(serving);
}

#[test]
fn a_turn_of_a_server_is_stopped_and_tried_again_with_another_model() {
    let world = World::new();
    let model = world.script(
        r#"{"steps":[{"say":"Never done, or not before a minute is over.","chunk":3,"chunk_ms":4000}]}"#,
    );
    let serving = Serving::start(&world, &model, &[]);
    let id = serving.begin();
    let mut person = attach(&world, &serving, &id);
    person.types("begin\r").sees("Nev").types("/model x\r").sees("/model is for a chat");
    person.types("/stop\r").sees("/continue goes on with it");
    // A script hears of the turn what the query would have told that performed it.
    let seen = run(&world, &[&format!("http://{}", serving.address)], &[]);
    assert_eq!(seen.code, 130, "{}", seen.stderr);
    assert!(seen.stderr.contains("[interrupted]"), "{}", seen.stderr);
    person.types("/retry demo\r").sees("[demo");
    person.types("/stop\r").sees("No turn is open.");
    person.types("/help\r").sees("leave; nothing is stopped").types("/quit\r");
    let (code, screen) = person.leaves();
    assert_eq!(code, 0, "{screen}");
    assert!(screen.contains("comes back"), "{screen}");
}

#[test]
fn a_terminal_beside_another_process_answers_queues_and_goes_on_when_that_has_left() {
    let world = World::new();
    let model = world.script(WRITES);
    let mut holder = Person::starts(&world, &["query", "begin", "--model", &model]);
    holder.sees("First words.");
    let mut command = world.command(&["attach"]);
    command.env("PITON_MODEL", &model);
    let mut guest = Person::starts_command(command);
    guest.sees("works on it").sees("> begin").sees("First words.").sees("slow");
    guest.types("/retry\r").sees("/retry has to wait");
    guest.types("then this\r").sees("queued: then this");
    fs::write(world.work("go"), "").unwrap();
    guest.sees("Run write_file: one?").sees("(?) help: ").types("y\n");
    holder.sees("Answered elsewhere: allowed").sees("Written.").sees("Queued.");
    guest.sees("Written.").sees("> then this").sees("Queued.");
    assert_eq!(holder.leaves().0, 0);
    guest.sees("this terminal does now").sees("> ").types("more\r").sees("Typed here.");
    guest.sees("[script:").sees("> ").types(CTRL_D);
    let (code, screen) = guest.leaves();
    assert_eq!(code, 0, "{screen}");
    assert_eq!(screen.matches("Written.").count(), 1, "{screen}");
    assert!(world.work("one").exists());
}

#[test]
fn ctrl_c_leaves_and_the_turn_of_the_other_process_goes_on() {
    let world = World::new();
    let model = world.script(WRITES);
    let args = ["query", "begin", "--permissions", "auto", "--model", &model];
    let mut holder = Person::starts(&world, &args);
    holder.sees("First words.");
    let mut guest = Person::starts(&world, &["attach"]);
    guest.sees("slow").types(CTRL_C).sees("The turn goes on.").sees("comes back");
    assert_eq!(guest.leaves().0, 0);
    fs::write(world.work("go"), "").unwrap();
    holder.sees("Written.");
    assert_eq!(holder.leaves().0, 0);
}

#[test]
fn a_script_gets_the_answer_and_the_exit_code_of_the_turn() {
    let world = World::new();
    let model = world.script(ASKED);
    let serving = Serving::start(&world, &model, &[]);
    let id = serving.begin();
    let path = format!("/conversations/{id}");
    serving.post(&format!("{path}/messages"), &json!({ "text": "begin" }));
    let url = format!("http://{}", serving.address);
    let token = [("PITON_TOKEN", serving.token.as_str())];
    let asked = run(&world, &[&url, "--id", &id], &token);
    assert_eq!(asked.code, 3, "{}", asked.stderr);
    assert!(asked.stderr.contains("Which colour?"), "{}", asked.stderr);
    let questions = serving.get(&format!("{path}/questions"));
    let question = questions["questions"][0]["question"]["id"].as_str().unwrap();
    let reply = json!({ "reply": { "kind": "text", "value": "blue" } });
    serving.post(&format!("{path}/questions/{question}/answer"), &reply);
    // The only conversation of the server of this home: neither an id nor a token is needed.
    let seen = run(&world, &[&url], &[]);
    assert_eq!((seen.code, seen.stdout.as_str()), (0, "Blue it is.\n"), "{}", seen.stderr);
    let listed = world.run(&["serve", "token", "--list"]).stdout;
    assert!(!listed.contains("terminal-"), "{listed}");
    let seen = run(&world, &[&id, "--json"], &[]);
    let lines: Vec<Value> =
        seen.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["type"], "view", "{}", seen.stdout);
    let last = lines.last().unwrap();
    assert_eq!((&last["type"], &last["ending"]), (&json!("result"), &json!("done")), "{last}");
    assert_eq!(last["text"], "Blue it is.");
}

#[test]
fn what_cannot_be_attached_to_says_what_to_do_next() {
    let (world, other) = (World::new(), World::new());
    let serving = Serving::start(&world, "demo", &[]);
    let id = serving.begin();
    let url = format!("http://{}", serving.address);
    let token = serving.token.as_str();
    // Something else that speaks HTTP.
    let stranger = TcpListener::bind("127.0.0.1:0").unwrap();
    let strange = format!("http://{}", stranger.local_addr().unwrap());
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = stranger.accept() {
            drop(stream.read(&mut [0; 4096]));
            drop(stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"));
        }
    });
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let closed = format!("http://{closed}");
    fs::write(other.path("token"), format!("{token}\n")).unwrap();
    for (args, token, code, said) in [
        (vec![url.as_str()], "", 2, "wants a token"),
        (vec![&url], "wrong", 2, "does not know the token"),
        (vec![&url, "--id", "nonsense"], token, 2, "there is no conversation nonsense"),
        (vec![&url, "--token-file", "none"], "", 2, "cannot read the token from none"),
        (vec![&strange, "--id", &id], token, 2, "is no piton server"),
        (vec![&strange], token, 2, "is no piton server"),
        (vec![&closed, "--id", &id], token, 5, "nobody answers there"),
        (vec!["ftp://host"], token, 2, "is no address of a server"),
        (vec!["nonsense"], "", 2, "there is no conversation nonsense"),
    ] {
        let ran = run(&other, &args, &[("PITON_TOKEN", token)]);
        assert_eq!(ran.code, code, "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("hint: "), "{args:?}: {}", ran.stderr);
    }
    let file = other.path("token");
    let ran = run(&other, &[&url, "--token-file", file.to_str().unwrap()], &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(world.run(&["serve", "token", "--revoke", "test"]).code, 0);
    let ran = run(&other, &[&url], &[("PITON_TOKEN", token)]);
    assert!(ran.code == 2 && ran.stderr.contains("was revoked"), "{}", ran.stderr);
}

/// A server that encrypts, and its address by the name of its certificate.
struct Encrypted(Child);

impl Drop for Encrypted {
    fn drop(&mut self) {
        self.0.kill().unwrap_or_default();
        self.0.wait().map(drop).unwrap_or_default();
    }
}

fn certificate(directory: &Path) -> [String; 2] {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let [cert, key] = ["cert.pem", "key.pem"].map(|name| directory.join(name));
    fs::write(&cert, made.cert.pem()).unwrap();
    fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    [cert, key].map(|path| path.to_str().unwrap().to_owned())
}

#[test]
fn an_encrypted_server_is_attached_to_by_those_who_trust_its_certificate() {
    let (world, other) = (World::new(), World::new());
    let [cert, key] = certificate(&world.path("work"));
    let token = world.run(&["serve", "token", "test"]).stdout.trim().to_owned();
    let begun = world.run(&["query", "list the files here", "--model", "demo"]);
    assert_eq!(begun.code, 0, "{}", begun.stderr);
    let mut command = world.command(&["serve", "--cert", &cert, "--key", &key]);
    let mut child = command.env("PITON_MODEL", "demo").spawn().unwrap();
    let mut url = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let serving = Encrypted(child);
    let port = url.trim().rsplit(':').next().unwrap();
    assert!(url.starts_with("https://127.0.0.1:"), "{url}");
    let url = format!("https://localhost:{port}");
    let token = ("PITON_TOKEN", token.as_str());
    let seen = run(&other, &[&url], &[token, ("SSL_CERT_FILE", &cert)]);
    assert_eq!(seen.code, 0, "{}", seen.stderr);
    assert!(!seen.stdout.is_empty(), "{}", seen.stderr);
    let refused = run(&other, &[&url], &[token]);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert!(refused.stderr.contains("certificate is not trusted"), "{}", refused.stderr);
    for hint in ["SSL_CERT_FILE", "CA:FALSE"] {
        assert!(refused.stderr.contains(hint), "{hint}: {}", refused.stderr);
    }
    drop(serving);
}

#[test]
fn a_certificate_that_cannot_be_used_is_told_before_anything_listens() {
    let world = World::new();
    let [cert, key] = certificate(&world.path("work"));
    fs::create_dir(world.path("other")).unwrap();
    let [_, other] = certificate(&world.path("other"));
    for (cert, key, said) in [
        ("none.pem", key.as_str(), "cannot read"),
        (&cert, "none.pem", "cannot read"),
        (&key, &key, "has no certificate"),
        (&cert, &cert, "has no private key"),
        (&cert, &other, "cannot be used"),
    ] {
        let ran = world.run(&["serve", "--cert", cert, "--key", key]);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
        assert!(ran.stderr.contains(said) && ran.stderr.contains("hint: "), "{}", ran.stderr);
    }
    assert_eq!(world.run(&["serve", "--cert", &cert]).code, 2);
    fs::create_dir_all(world.path("home")).unwrap();
    let settings = format!("[serve]\ncert = \"{cert}\"\n");
    fs::write(world.path("home").join("piton.toml"), settings).unwrap();
    let ran = world.run(&["serve"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("belong together"), "{}", ran.stderr);
}

#[test]
fn the_unit_is_one_that_systemd_takes() {
    let world = World::new();
    let ran = world.run(&["serve", "unit", "--open", "a b"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("Restart=on-failure\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("work/a b\"\n"), "{}", ran.stdout);
    assert!(ran.stderr.contains("systemctl --user enable --now piton.service"), "{}", ran.stderr);
    assert!(ran.stderr.contains("serve.resume"), "{}", ran.stderr);
    let file = world.path("piton.service");
    fs::write(&file, &ran.stdout).unwrap();
    let verify = ["verify", "--user", file.to_str().unwrap()];
    // Where systemd is not installed, its syntax is checked by a test beside the code.
    if let Ok(verified) = std::process::Command::new("systemd-analyze").args(verify).output() {
        let said = String::from_utf8_lossy(&verified.stderr).into_owned();
        let about = said.lines().filter(|line| line.contains("piton.service"));
        assert_eq!(about.collect::<Vec<_>>(), [""; 0], "{said}");
    }
}
