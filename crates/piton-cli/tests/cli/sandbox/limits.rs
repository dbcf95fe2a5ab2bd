//! How much a confined command may use: each attempt goes over a limit, and succeeds without that limit.

use std::fs;

use piton_tools::sandbox::{Limits, Rules, When};

use super::{Cell, can_hold};
use crate::mcp::calls;
use crate::world::World;

const MB: u64 = 1 << 20;

/// Too much of something; exits with 0 if it got through.
const ROWS: [(&str, Limits, &str); 7] = [
    ("write a large file", FILE, "head -c 3000000 /dev/zero > f && test $(wc -c < f) = 3000000"),
    ("extend a file", FILE, "truncate -s 3000000 f"),
    ("write far behind the end", FILE, "dd if=/dev/zero of=f bs=1 count=1 seek=3000000"),
    (
        "raise the limit first",
        FILE,
        "ulimit -f unlimited; ulimit -H -f unlimited; head -c 3000000 /dev/zero > f",
    ),
    ("in a session of its own", FILE, "setsid -w sh -c 'head -c 3000000 /dev/zero > f'"),
    ("take much memory", MEMORY, "python3 -c 'len(bytearray(400 << 20))'"),
    ("open many files", FILES, "python3 -c 'a = [open(\"/dev/null\") for _ in range(200)]'"),
];

const NONE: Limits =
    Limits { processes: None, memory_bytes: None, file_bytes: None, open_files: None };
const FILE: Limits = Limits { file_bytes: Some(2 * MB), ..NONE };
const MEMORY: Limits = Limits { memory_bytes: Some(200 * MB), ..NONE };
const FILES: Limits = Limits { open_files: Some(100), ..NONE };

#[tokio::test]
async fn no_confined_command_uses_more_than_it_may() {
    if !can_hold() {
        return;
    }
    let rules = |limits| Rules { when: When::Always, limits, ..Rules::none() };
    for (name, limits, command) in ROWS {
        let free = Cell::with(rules(NONE)).run(command).await;
        assert_eq!(free.exit_code, Some(0), "{name} must work: {}", free.text);
        let held = Cell::with(rules(limits)).run(command).await;
        assert_ne!(held.exit_code, Some(0), "{name} got through: {}", held.text);
    }
    let held = Cell::with(rules(FILE)).run("head -c 3000000 /dev/zero > f").await;
    assert!(held.text.contains("files have at most 2 MB in the sandbox"), "{}", held.text);
}

#[tokio::test]
async fn what_stays_below_the_limits_works() {
    if !can_hold() {
        return;
    }
    let limits = Limits { processes: Some(64), ..FILE };
    let limits = Limits { memory_bytes: Some(200 * MB), open_files: Some(100), ..limits };
    let cell = Cell::with(Rules { when: When::Always, limits, ..Rules::none() });
    let done = cell.run("head -c 1000000 /dev/zero > f && sh -c 'cat f | wc -c'").await;
    assert_eq!((done.exit_code, done.text.as_str()), (Some(0), "1000000\n"));
}

/// Commands that end with the agent, and servers of tools, have no supervisor that could see to it.
#[test]
fn the_limits_of_the_settings_hold_for_passing_commands_and_for_servers() {
    if !can_hold() {
        return;
    }
    let write = "head -c 3000000 /dev/zero > f";
    for (sandbox, bytes) in [("", 3_000_000), ("[sandbox]\nfile_mb = 2\n", 2 << 20)] {
        let call = format!(r#"{{"tool":"shell","arguments":{{"command":"{write}"}}}}"#);
        for flags in [&[][..], &["--no-persist"]] {
            let world = world(sandbox);
            let model = calls(&world, &call);
            let args = ["query", "go", "--permissions", "auto", "--model", &model];
            assert_eq!(world.run(&[&args[..], flags].concat()).code, 0);
            assert_eq!(fs::metadata(world.work("f")).unwrap().len(), bytes, "{sandbox} {flags:?}");
        }
        let serve = format!("{write}; exec {} sim mcp", env!("CARGO_BIN_EXE_piton"));
        let world = world(&format!(
            "{sandbox}[mcp.sim]\ncommand = \"sh\"\nargs = [\"-c\", {serve:?}]\nsandbox = true\n"
        ));
        let ran = world.run(&["mcp", "tools"]);
        assert!(ran.stdout.contains("sim__echo"), "{}", ran.stderr);
        assert_eq!(fs::metadata(world.work("f")).unwrap().len(), bytes, "{sandbox}");
    }
}

fn world(settings: &str) -> World {
    let world = World::new();
    fs::create_dir(world.path("home")).unwrap();
    fs::write(world.path("home/piton.toml"), settings).unwrap();
    world
}
