//! Servers that are written into the settings by a command, and taken out again.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use expect_test::expect;

use crate::world::{World, lines};

#[test]
fn a_server_is_added_shown_and_removed() {
    let world = World::new();
    let piton = env!("CARGO_BIN_EXE_piton");
    let added = world.run(&["mcp", "add", "sim", "--", piton, "sim", "mcp", "--only", "echo"]);
    assert_eq!(added.code, 0, "{}", added.stderr);
    let home = world.path("home/piton.toml");
    let said = format!("sim is in {} now: {piton} sim mcp --only echo\n", home.display());
    assert!(added.stderr.starts_with(&said), "{}", added.stderr);
    assert!(added.stderr.contains("piton mcp shows whether it answers"), "{}", added.stderr);
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&home), 0o600);
    let rows = lines(&world.run(&["mcp", "--json"]).stdout);
    assert_eq!((&rows[0]["name"], &rows[0]["state"]), (&"sim".into(), &"ready".into()));
    world.check(
        &[
            &["mcp", "tools"],
            &["mcp", "add", "sim", "--url", "https://h/mcp"],
            &["mcp", "remove", "sim"],
            &["mcp", "remove", "sim"],
            &["mcp"],
            &["mcp", "tools"],
        ],
        expect![[r#"
            $ piton mcp tools
            sim__echo  once  Says the text again
            exit 0
            $ piton mcp add sim --url https://h/mcp
            2> error: there is an MCP server sim already
            2> hint: choose another name, or first: piton mcp remove sim
            exit 2
            $ piton mcp remove sim
            2> sim is no longer in DIR/home/piton.toml.
            exit 0
            $ piton mcp remove sim
            2> error: there is no MCP server sim
            2> hint: piton mcp list shows the servers; piton help mcp says how they are written down
            exit 2
            $ piton mcp
            2> There are no MCP servers. To add one: piton mcp add NAME -- COMMAND ARGS, or piton mcp add NAME --url URL; piton help mcp says more.
            exit 0
            $ piton mcp tools
            2> There are no MCP servers. To add one: piton mcp add NAME -- COMMAND ARGS, or piton mcp add NAME --url URL; piton help mcp says more.
            exit 0
        "#]],
    );
}

#[test]
fn what_a_person_wrote_stays_and_what_is_added_is_what_was_typed() {
    let world = World::new();
    fs::create_dir(world.path("home")).unwrap();
    let home = world.path("home/piton.toml");
    fs::write(&home, "# mine\nmodel = 'demo'\n\n[mcp.a]\ncommand = 'x'  # old\n").unwrap();
    let flags = ["--header", "Authorization=Bearer ${TOKEN}", "--header", "X-A=b=c"];
    let far = [&["mcp", "add", "far", "--url", "https://h/mcp?key=s3cret"][..], &flags].concat();
    let ran = world.run(&far);
    assert!(ran.code == 0 && !ran.stderr.contains("s3cret"), "{}", ran.stderr);
    let near = ["mcp", "add", "near", "--env", "KEY=${TOKEN}", "--", "npx", "-y", "--flag", "a b"];
    assert_eq!(world.run(&near).code, 0);
    expect![[r##"
        # mine
        model = 'demo'

        [mcp.a]
        command = 'x'  # old

        [mcp.far]
        url = "https://h/mcp?key=s3cret"
        headers = { Authorization = "Bearer ${TOKEN}", X-A = "b=c" }

        [mcp.near]
        command = "npx"
        args = ["-y", "--flag", "a b"]
        env = { KEY = "${TOKEN}" }
    "##]]
    .assert_eq(&fs::read_to_string(&home).unwrap());
    assert_eq!(world.run(&["mcp", "remove", "far"]).code, 0);
    assert_eq!(world.run(&["mcp", "remove", "near"]).code, 0);
    let text = fs::read_to_string(&home).unwrap();
    assert_eq!(text, "# mine\nmodel = 'demo'\n\n[mcp.a]\ncommand = 'x'  # old\n");
}

// A CRLF settings file stays CRLF, to the byte where nothing was changed.
#[test]
fn line_ends_of_a_settings_file_stay_when_servers_come_and_go() {
    let world = World::new();
    fs::create_dir(world.path("home")).unwrap();
    let home = world.path("home/piton.toml");
    let read = || fs::read_to_string(&home).unwrap();
    let a = "\u{feff}# mine\r\nmodel = 'demo'\r\n\r\n# kept\r\n\r\n# old\r\n[mcp.a]\r\ncommand = 'x'\r\n";
    let workers = "\r\n[workers]\r\nsteps = 3\r\n# the end\r\n";
    fs::write(&home, [a, workers].concat()).unwrap();
    assert_eq!(world.run(&["mcp", "add", "near", "--env", "A=b", "--", "npx", "-y"]).code, 0);
    let near = "\r\n[mcp.near]\r\ncommand = \"npx\"\r\nargs = [\"-y\"]\r\nenv = { A = \"b\" }\r\n";
    assert_eq!(read(), [a, near, workers].concat());
    assert_eq!(world.run(&["mcp", "remove", "near"]).code, 0);
    assert_eq!(read(), [a, workers].concat());
    assert_eq!(world.run(&["mcp", "remove", "a"]).code, 0);
    // What stands right above a server is about it, and goes along.
    let mine = "\u{feff}# mine\r\nmodel = 'demo'\r\n\r\n# kept\r\n";
    assert_eq!(read(), [mine, workers].concat());
    // The last line had no end, and gets one of the same kind.
    fs::write(&home, "# mine\r\nmodel = 'demo'").unwrap();
    assert_eq!(world.run(&["mcp", "add", "near", "--", "npx"]).code, 0);
    let expected = "# mine\r\nmodel = 'demo'\r\n\r\n[mcp.near]\r\ncommand = \"npx\"\r\n";
    assert_eq!(read(), expected);
}

#[test]
fn what_makes_no_sense_is_refused_and_nothing_is_written() {
    let world = World::new();
    for args in [
        &["mcp", "add", "a"][..],
        &["mcp", "add", "a b", "--url", "https://h"],
        &["mcp", "add", "", "--", "x"],
        &["mcp", "add", "1", "--", "x"],
        &["mcp", "add", "a", "--url", "https://h", "--", "x"],
        &["mcp", "add", "a", "--url", "https://h", "--env", "A=b"],
        &["mcp", "add", "a", "--header", "A=b", "--", "x"],
        &["mcp", "add", "a", "--env", "A", "--", "x"],
        &["mcp", "add", "a", "--url", "ftp://h"],
    ] {
        let ran = world.run(args);
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.stderr);
    }
    assert!(!world.path("home").exists());
}
