//! The sandbox of `piton query`: when there is one, and what is said.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::can_hold;
use crate::command::end_of_command;
use crate::world::{Ran, World};

/// A world whose workspace and outside are not in the temporary directory.
struct Site {
    world: World,
    outside: tempfile::TempDir,
}

impl Site {
    fn new(settings: &str) -> Self {
        let site = Self { world: World::new(), outside: tempfile::tempdir_in("/var/tmp").unwrap() };
        fs::create_dir(site.world.path("home")).unwrap();
        fs::write(site.world.path("home/piton.toml"), settings).unwrap();
        site
    }

    fn command(&self) -> String {
        format!("touch {}", self.place().display())
    }

    /// The same with a rule that allows commands.
    fn with_rule(rule: impl FnOnce(&Self) -> String) -> Self {
        let site = Self::new("");
        let rule =
            format!("[[permissions]]\ntool = \"shell\"\neffect = \"allow\"\n{}\n", rule(&site));
        fs::write(site.world.path("home/piton.toml"), rule).unwrap();
        site
    }

    /// A model that calls one command that writes outside.
    fn model(&self) -> String {
        let command = self.command();
        let script = json!({ "steps": [
            { "say": "Go.", "calls": [{ "tool": "shell", "arguments": { "command": command } }] },
            { "say": "Done." }
        ] });
        self.world.script(&script.to_string())
    }

    /// One turn with that command; the end of its call.
    fn write(&self, flags: &[&str], failing: &str) -> (Ran, Value) {
        let model = self.model();
        let flags = [&["query", "go", "--model", &model][..], flags].concat();
        let output = self.world.command(&flags).env("PITON_FAIL_POINT", failing).output().unwrap();
        let ran = self.world.ran(output);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        (ran, end_of_command(&self.world))
    }

    fn place(&self) -> std::path::PathBuf {
        self.outside.path().canonicalize().unwrap().join("new")
    }

    fn got_through(&self) -> bool {
        self.place().exists()
    }
}

const AUTO: [&str; 2] = ["--permissions", "auto"];
const ALLOWED: &str = "[[permissions]]\ntool = \"shell\"\neffect = \"allow\"\n";

#[test]
fn what_runs_without_asking_is_confined_and_told_so() {
    if !can_hold() {
        return;
    }
    let site = Site::new("");
    let (ran, end) = site.write(&AUTO, "");
    assert!(!site.got_through());
    let text = end["output"]["text"].as_str().unwrap();
    let place = site.outside.path().canonicalize().unwrap();
    let needs = format!("call again with needs {{\"write\":[\"{}\"]}}", place.display());
    assert!(text.contains("[the sandbox did not let it go on") && text.contains(&needs), "{text}");
    assert!(!ran.stderr.contains("warning"), "{}", ran.stderr);
}

// It may be a server, and the user would look for it in vain.
#[test]
fn what_goes_on_without_the_network_of_this_machine_is_told_so() {
    if !can_hold() {
        return;
    }
    for (settings, is_told) in [("", true), ("[sandbox]\nnetwork = true\n", false)] {
        let site = Site::new(settings);
        let start =
            json!({ "tool": "shell", "arguments": { "command": "sleep 600", "wait_s": 0 } });
        let stop = json!({ "tool": "shell_stop", "arguments": { "call": "1.1.0" } });
        let steps = json!([{ "calls": [start] }, { "calls": [stop] }, { "say": "Done." }]);
        let model = site.world.script(&json!({ "steps": steps }).to_string());
        let ran = site.world.run(&["query", "go", "--model", &model, "--permissions", "auto"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let text = site.world.finished("1.1.0")["output"]["text"].to_string();
        assert_eq!(text.contains("commands in the sandbox reach a server"), is_told, "{text}");
    }
}

// Only what is approved word for word runs outside, whichever rule allowed the rest.
#[test]
fn a_rule_runs_a_command_outside_only_word_for_word_or_if_it_says_so() {
    if !can_hold() {
        return;
    }
    let exactly = |site: &Site| format!("command = \"{}\"", site.command());
    for (rule, flags, is_free) in [
        (Box::new(exactly) as Box<dyn Fn(&Site) -> String>, &[][..], true),
        (Box::new(exactly), &["--sandbox", "on"], false),
        (Box::new(|_| "command = \"touch *\"".into()), &[], false),
        (Box::new(|_| "command = \"touch *\"\nconfined = false".into()), &[], true),
        (Box::new(|_| "arguments = { command = \"touch .*\" }".into()), &[], false),
        (Box::new(|_| String::new()), &[], false),
        (Box::new(|_| "confined = false".into()), &[], true),
    ] {
        let site = Site::with_rule(&rule);
        site.write(flags, "");
        assert_eq!(site.got_through(), is_free, "{} {flags:?}", rule(&site));
    }
    let site = Site::new(&format!("{ALLOWED}[sandbox]\nmode = \"on\"\n"));
    site.write(&[], "");
    assert!(!site.got_through());
}

// Secrets and services are not passed on to what nobody approved word for word.
#[test]
fn a_confined_command_does_not_see_variables_of_secrets() {
    if !can_hold() {
        return;
    }
    let seen = |settings: &str| {
        let site = Site::new(settings);
        let script = json!({ "steps": [
            { "calls": [{ "tool": "shell", "arguments": { "command": "env; cat ~/.ssh/id" } }] },
            { "say": "Done." }
        ] });
        let (model, own) = (site.world.script(&script.to_string()), site.outside.path());
        fs::create_dir(own.join(".ssh")).unwrap();
        fs::write(own.join(".ssh/id"), "canary of a key\n").unwrap();
        let flags = [&["query", "go", "--model", &model][..], &AUTO].concat();
        let mut command = site.world.command(&flags);
        command.env("HOME", own).env("MY_TOKEN", "canary one").env("SSH_AUTH_SOCK", "canary two");
        let ran = site.world.ran(command.env("PLAIN", "seen").output().unwrap());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        end_of_command(&site.world)["output"]["text"].as_str().unwrap().to_owned()
    };
    let text = seen("");
    assert!(text.contains("PLAIN=seen") && !text.contains("canary"), "{text}");
    let text = seen("[sandbox]\nenv = [\"MY_TOKEN\"]\nread = [\"~/.ssh\"]\n");
    assert!(text.contains("canary one") && text.contains("canary of a key"), "{text}");
    assert!(!text.contains("canary two"), "{text}");
    let text = seen("[sandbox]\nmode = \"off\"\n");
    assert_eq!(text.matches("canary").count(), 3, "{text}");
}

// What a policy answers, no person was asked about; and it is recorded who answered.
#[test]
fn what_is_allowed_in_place_of_a_person_is_confined() {
    if !can_hold() {
        return;
    }
    let site = Site::new("");
    let (_, end) = site.write(&["--unattended", "auto"], "");
    assert!(!site.got_through());
    assert!(end["output"]["text"].as_str().unwrap().contains("[the sandbox did not let"), "{end}");
    let site = Site::new("[unattended]\npermissions = \"auto\"\n");
    site.write(&[], "");
    assert!(!site.got_through());
    let site = Site::new("");
    site.write(&["--unattended", "auto", "--sandbox", "off"], "");
    assert!(site.got_through());
    let site = Site::new("");
    let (ran, _) = site.write(&["--unattended", "auto"], "no-landlock");
    assert!(ran.stderr.contains("commands run without all of their sandbox"), "{}", ran.stderr);
}

// The same question, answered by a person.
#[test]
fn what_a_person_answers_is_not_confined() {
    let site = Site::new("");
    let model = site.model();
    assert_eq!(site.world.run(&["query", "go", "--model", &model]).code, 3);
    let ran = site.world.run(&["answer", "yes", "--continue"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(site.got_through());
}

#[test]
fn the_sandbox_can_be_left_out_or_opened() {
    let site = Site::new("[sandbox]\nmode = \"off\"\n");
    site.write(&AUTO, "");
    assert!(site.got_through());
    let site = Site::new("");
    site.write(&["--permissions", "auto", "--sandbox", "off"], "");
    assert!(site.got_through());
    let site = Site::new("");
    let place = site.outside.path().canonicalize().unwrap();
    let settings = format!("[sandbox]\nwrite = [\"{}\"]\n", place.display());
    fs::write(site.world.path("home/piton.toml"), settings).unwrap();
    site.write(&AUTO, "");
    assert!(site.got_through());
}

#[test]
fn a_kernel_that_cannot_hold_it_is_reported_and_the_settings_decide() {
    let site = Site::new("");
    let (ran, _) = site.write(&AUTO, "no-landlock");
    assert!(site.got_through());
    let told = "warning: commands run without all of their sandbox: this kernel has no Landlock";
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
    let site = Site::new("[sandbox]\nmode = \"on\"\n");
    let (ran, end) = site.write(&AUTO, "no-landlock");
    assert!(!site.got_through());
    let told = "warning: commands are not run: this kernel has no Landlock";
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
    assert_eq!(end["outcome"], "failed");
    let text = end["output"]["text"].as_str().unwrap();
    assert!(text.starts_with("not run: the settings ask for a sandbox"), "{text}");
}

// A hard link is the same file, and the wall is around names.
#[test]
fn a_second_name_of_the_settings_is_warned_of() {
    let site = Site::new("");
    let (ran, _) = site.write(&["--permissions", "auto", "--sandbox", "off"], "");
    assert!(!ran.stderr.contains("second name"), "{}", ran.stderr);
    let settings = site.world.path("home/piton.toml");
    fs::hard_link(&settings, site.world.work("settings")).unwrap();
    let (ran, _) = site.write(&["--permissions", "auto", "--sandbox", "off"], "");
    let told = format!("warning: {} has a second name", settings.display());
    assert_eq!(ran.stderr.matches(&told).count(), 1, "{}", ran.stderr);
    assert!(!ran.stderr.contains("piton.db has"), "{}", ran.stderr);
}

// Nor can a command make one.
#[test]
fn a_confined_command_gives_the_settings_no_second_name() {
    if !can_hold() {
        return;
    }
    let site = Site::new("");
    let command = format!("ln {} mine", site.world.path("home/piton.toml").display());
    let script = json!({ "steps": [
        { "say": "Go.", "calls": [{ "tool": "shell", "arguments": { "command": command } }] },
        { "say": "Done." }
    ] });
    let model = site.world.script(&script.to_string());
    site.world.run(&["query", "go", "--permissions", "auto", "--model", &model]);
    assert_ne!(end_of_command(&site.world)["output"]["exit_code"], 0);
    assert!(!site.world.work("mine").exists());
}

#[test]
fn conversations_and_settings_are_closed_to_commands() {
    if !can_hold() {
        return;
    }
    let site = Site::new("# canary\n");
    let home = site.world.path("home");
    let home = home.display();
    let command = format!(
        "cat {home}/piton.toml; cat {home}/piton.db | head -c 6; echo x > {home}/new; \
         cat {home}/calls/*/*/log; true"
    );
    let script = json!({ "steps": [
        { "say": "Go.", "calls": [{ "tool": "shell", "arguments": { "command": command } }] },
        { "say": "Done." }
    ] });
    let model = site.world.script(&script.to_string());
    let ran = site.world.run(&["query", "go", "--permissions", "auto", "--model", &model]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let end = end_of_command(&site.world);
    let text = end["output"]["text"].as_str().unwrap();
    assert_eq!(text.matches("ermission denied").count(), 4, "{text}");
    assert!(!text.contains("canary") && !text.contains("SQLite"), "{text}");
    assert!(!site.world.path("home/new").exists());
}

// The settings may be a link into the workspace that leads to nothing yet.
#[test]
fn no_command_makes_what_a_link_of_the_settings_leads_to() {
    if !can_hold() {
        return;
    }
    for command in ["mkdir conf; echo '# evil' > conf/settings.toml", "rm way; echo '# evil' > way"]
    {
        for (sandbox, failing, is_made) in
            [("off", "", true), ("auto", "", false), ("auto", "no-namespaces", false)]
        {
            let site = Site::new("");
            let world = &site.world;
            for (link, target) in [
                (world.path("home/piton.toml"), world.work("way")),
                (world.work("way"), world.work("conf/settings.toml")),
            ] {
                fs::remove_file(&link).ok();
                symlink(target, link).unwrap();
            }
            let arguments = json!({ "command": command });
            let step = json!({ "calls": [{ "tool": "shell", "arguments": arguments }] });
            let model = world.script(&json!({ "steps": [step, { "say": "Done." }] }).to_string());
            let words =
                ["query", "go", "--permissions", "auto", "--sandbox", sandbox, "--model", &model];
            let ran = world.command(&words).env("PITON_FAIL_POINT", failing).output().unwrap();
            assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
            let settings = fs::read_to_string(world.path("home/piton.toml"));
            assert_eq!(settings.is_ok(), is_made, "{}", end_of_command(world));
        }
    }
}
