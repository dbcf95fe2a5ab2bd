//! `piton config`: what counts, where it comes from, and changes that lose nothing.

use std::fs;

use expect_test::expect;
use serde_json::Value;

use crate::world::{World, lines};

/// A world whose settings file has this content.
fn with(content: impl AsRef<[u8]>) -> World {
    let world = World::new();
    fs::create_dir_all(world.path("home")).unwrap();
    fs::write(world.path("home/piton.toml"), content).unwrap();
    world
}

fn file(world: &World) -> String {
    fs::read_to_string(world.path("home/piton.toml")).unwrap()
}

/// A file that sets two things.
const MINE: &str = "# mine\nmodel = \"gemini/pro\"\n\n[sandbox]\nnetwork = false\n";

#[test]
fn every_setting_is_shown_with_its_origin() {
    let world = with(MINE);
    world.check(
        &[&["config"]],
        expect![[r#"
            $ piton config
            ask.batch                  false         default
            ask.permissions            "ask"         default
            context.letters_per_token  4             default
            context.tokens_max         -             default
            effort                     -             default
            first_byte_seconds         300           default
            hooks.after_tool           []            default
            hooks.before_tool          []            default
            hooks.question             []            default
            hooks.turn_end             []            default
            idle_seconds               60            default
            keep_days                  0             default
            max_tokens                 -             default
            max_turn_cost              -             default
            max_turn_seconds           -             default
            max_turn_tokens            -             default
            model                      "gemini/pro"  DIR/home/piton.toml, line 2
            notify                     "all"         default
            notify_seconds             20            default
            outage_seconds             120           default
            permissions                []            default
            queue_max                  5             default
            sandbox.deny_read          []            default
            sandbox.env                []            default
            sandbox.file_mb            16384         default
            sandbox.memory_mb          0             default
            sandbox.mode               "auto"        default
            sandbox.network            false         DIR/home/piton.toml, line 5
            sandbox.open_files         0             default
            sandbox.processes          4096          default
            sandbox.protect            []            default
            sandbox.read               []            default
            sandbox.unix_sockets       false         default
            sandbox.write              []            default
            serve.beat_ms              10000         default
            serve.cert                 -             default
            serve.key                  -             default
            serve.names                []            default
            serve.resume               false         default
            titles                     -             default
            unattended.permissions     "defer"       default
            unattended.questions       "defer"       default
            version                    1             default
            web.private_hosts          []            default
            workers.seconds            120           default
            workers.steps              50            default
            exit 0
        "#]],
    );
}

#[test]
fn one_setting_or_one_table_is_shown() {
    let world = with(MINE);
    world.check(
        &[&["config", "model"], &["config", "max_tokens"], &["config", "sandbox"]],
        expect![[r#"
            $ piton config model
            gemini/pro
            2> DIR/home/piton.toml, line 2
            exit 0
            $ piton config max_tokens
            2> not set
            exit 0
            $ piton config sandbox
            sandbox.deny_read     []      default
            sandbox.env           []      default
            sandbox.file_mb       16384   default
            sandbox.memory_mb     0       default
            sandbox.mode          "auto"  default
            sandbox.network       false   DIR/home/piton.toml, line 5
            sandbox.open_files    0       default
            sandbox.processes     4096    default
            sandbox.protect       []      default
            sandbox.read          []      default
            sandbox.unix_sockets  false   default
            sandbox.write         []      default
            exit 0
        "#]],
    );
}

// The user's file, then the environment, then flags.
#[test]
fn a_flag_counts_before_a_variable_and_that_before_the_file() {
    let world = with(MINE);
    let mut command = world.command(&["config", "model"]);
    let ran = world.ran(command.env("PITON_MODEL", "demo").output().unwrap());
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("demo\n", "variable PITON_MODEL\n"));
    let mut command = world.command(&["config", "model", "-m", "openai/gpt-5"]);
    let ran = world.ran(command.env("PITON_MODEL", "demo").output().unwrap());
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("openai/gpt-5\n", "flag --model\n"));
    let found = lines(&world.run(&["config", "--json"]).stdout);
    let row = |key: &str| found.iter().find(|row| row["key"] == key).unwrap().clone();
    let model = row("model");
    assert_eq!((&model["origin"], &model["line"]), (&"file".into(), &Value::from(2)));
    assert_eq!(row("idle_seconds")["value"], 60);
    assert_eq!(row("idle_seconds")["origin"], "default");
}

// A CRLF settings file stays CRLF.
#[test]
fn a_setting_is_changed_and_comments_and_line_ends_stay() {
    let world = with("# mine\r\nmodel = \"a/b\" # for now\r\n\r\n[ask]\r\nbatch = true\r\n");
    let ran = world.run(&["config", "model", "demo"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{}", ran.stderr);
    assert_eq!(
        file(&world),
        "# mine\r\nmodel = \"demo\" # for now\r\n\r\n[ask]\r\nbatch = true\r\n"
    );
    assert_eq!(world.run(&["config", "sandbox.mode", "on"]).code, 0);
    assert_eq!(world.run(&["config", "--unset", "ask.batch"]).code, 0);
    assert_eq!(
        file(&world),
        "# mine\r\nmodel = \"demo\" # for now\r\n\r\n[sandbox]\r\nmode = \"on\"\r\n"
    );
    assert_eq!(world.run(&["query", "hello"]).code, 0);
    let ran = world.run(&["config", "--unset", "ask.batch"]);
    assert!(ran.code == 0 && ran.stderr.starts_with("Not set there"), "{}", ran.stderr);
    let mut command = world.command(&["config", "model", "gemini/pro"]);
    let ran = world.ran(command.env("PITON_MODEL", "demo").output().unwrap());
    assert!(ran.stderr.contains("PITON_MODEL is set and counts before the file"), "{}", ran.stderr);
    assert!(
        ran.stderr.ends_with("model is now \"demo\" (variable PITON_MODEL)\n"),
        "{}",
        ran.stderr
    );
    let file = world.path("home/piton.toml");
    let ran = world.run(&["config", "set", "model", "demo"]);
    let (name, told) = (file.display(), &ran.stderr);
    assert!(told.contains("Set: model, in "), "{told}");
    assert!(told.contains(&format!("model is now \"demo\" ({name}, line 2)")), "{told}");
    let ran = world.run(&["config", "set", "model"]);
    assert!(
        ran.code == 2 && ran.stderr.contains("to set one: piton config KEY VALUE"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_first_setting_makes_the_file() {
    let world = World::new();
    let ran = world.run(&["config", "--path"]);
    assert_eq!(ran.stdout.trim(), world.path("home/piton.toml").to_str().unwrap());
    assert!(!world.path("home").exists(), "looking makes nothing");
    assert_eq!(world.run(&["config", "effort", "low"]).code, 0);
    assert_eq!(file(&world), "effort = \"low\"\n");
}

#[test]
fn a_slip_is_told_with_what_may_be_meant_and_changes_nothing() {
    let text = "model = \"demo\"\n";
    let world = with(text);
    world.check(
        &[
            &["config", "modle"],
            &["config", "sandbox.mode", "onn"],
            &["config", "effort", "hihg"],
            &["config", "max_tokens", "many"],
        ],
        expect![[r#"
            $ piton config modle
            2> error: there is no setting modle; did you mean model?
            2> hint: piton config shows the settings; piton help settings says what they mean
            exit 2
            $ piton config sandbox.mode onn
            2> error: cannot change the settings DIR/home/piton.toml: sandbox.mode cannot be onn: `onn` is none of off, auto, on; did you mean `on`?
            2> hint: nothing was changed; piton help settings says what can be set
            exit 2
            $ piton config effort hihg
            2> error: cannot change the settings DIR/home/piton.toml: effort cannot be hihg: `hihg` is none of auto, none, minimal, low, medium, high, max; did you mean `high`?
            2> hint: nothing was changed; piton help settings says what can be set
            exit 2
            $ piton config max_tokens many
            2> error: cannot change the settings DIR/home/piton.toml: max_tokens cannot be many: a whole number, 0 or more, is wanted here
            2> hint: nothing was changed; piton help settings says what can be set
            exit 2
        "#]],
    );
    assert_eq!(file(&world), text);
    fs::write(world.path("home/piton.toml"), "modle = \"demo\"\n").unwrap();
    world.check(
        &[&["query", "hi"], &["config", "--unset", "modle"]],
        expect![[r#"
            $ piton query hi
            2> error: cannot use the settings DIR/home/piton.toml: TOML parse error at line 1, column 1
            2>   |
            2> 1 | modle = "demo"
            2>   | ^^^^^
            2> there is no key `modle`; did you mean `model`?
            2> hint: mend the file; piton help settings has its form
            2> hint: your message is kept; to send it: piton query --draft
            exit 2
            $ piton config --unset modle
            2> Taken out: modle, in DIR/home/piton.toml
            exit 0
        "#]],
    );
    assert_eq!(world.run(&["query", "hi"]).code, 0);
    let mut command = world.command(&["query", "hi"]);
    let ran = world.ran(command.env("PITON_EFFORT", "hihg").output().unwrap());
    assert!(ran.stderr.contains("did you mean `high`?"), "{}", ran.stderr);
}

// Settings of a newer version.
#[test]
fn settings_of_a_newer_build_are_named_and_left_alone() {
    let text = "version = 2\nmodel = \"demo\"\n[future]\nx = 1\n";
    let world = with(text);
    for args in [&["query", "hi"][..], &["config"], &["config", "model", "a/b"]] {
        let ran = world.run(args);
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.stderr);
        let word = "a newer piton wrote it (version 2; this one knows 1)";
        assert!(ran.stderr.contains(word), "{}", ran.stderr);
    }
    assert_eq!(file(&world), text);
    assert_eq!(world.run(&["config", "--path"]).code, 0, "what needs no settings still works");
}

#[test]
fn a_file_in_another_encoding_is_told_and_a_mark_in_front_is_kept() {
    let world = with(b"model = \"demo\"\n# caf\xe9\n");
    for args in [&["query", "hi"][..], &["config", "effort", "low"]] {
        let ran = world.run(args);
        let word = "line 2 is not UTF-8; save the file as UTF-8";
        assert!(ran.code == 2 && ran.stderr.contains(word), "{}", ran.stderr);
    }
    fs::write(world.path("home/piton.toml"), "\u{feff}model = \"demo\"\r\n").unwrap();
    assert_eq!(world.run(&["query", "hi"]).code, 0);
    assert_eq!(world.run(&["config", "effort", "low"]).code, 0);
    assert_eq!(file(&world), "\u{feff}model = \"demo\"\r\neffort = \"low\"\r\n");
}

#[test]
fn no_secret_is_shown() {
    let text = "[providers.openai]\nbase_url = \"https://me:hunter2@h.invalid/v1?k=hunter2\"\n\
                headers = { X-Key = \"hunter2\" }\n[mcp.files]\ncommand = \"x\"\n\
                args = [\"--token\", \"hunter2\"]\nenv = { A = \"hunter2\" }\n";
    let world = with(text);
    for args in [&["config"][..], &["config", "--json"], &["config", "mcp.files.env"]] {
        let ran = world.run(args);
        assert!(ran.code == 0 && ran.stdout.contains("[hidden]"), "{}", ran.stdout);
        assert!(!ran.stdout.contains("hunter2"), "{}", ran.stdout);
    }
}

#[test]
fn the_schema_has_what_the_document_has() {
    let world = World::new();
    let schema: Value = serde_json::from_str(&world.run(&["config", "--schema"]).stdout).unwrap();
    assert_eq!(schema["properties"]["model"]["x-variable"], "PITON_MODEL");
    assert_eq!(schema["additionalProperties"], false);
    let page = world.run(&["help", "settings"]).stdout;
    for key in schema["properties"].as_object().unwrap().keys() {
        assert!(page.contains(key.as_str()), "{key}");
    }
}
