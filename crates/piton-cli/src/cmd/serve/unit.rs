//! `piton serve unit`: a unit for systemd that keeps a server running for one user.

use std::env;
use std::path::Path;

use piton_agent::Settings;

use crate::flags::UnitFlags;
use crate::output::Output;
use crate::report::{Fault, Report};

/// Prints the unit, and says how it is installed.
pub(super) fn print(
    flags: &UnitFlags,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    let program = env::current_exe().map_err(Fault::Runtime)?;
    let mut directories = flags.open.clone();
    if directories.is_empty() {
        directories.push(settings.workspace()?.to_owned());
    }
    let here = settings.directory()?;
    let mut words = vec![program.to_string_lossy().into_owned(), "serve".into(), "--listen".into()];
    words.push(flags.listen.to_string());
    for directory in directories {
        words.extend(["--open".into(), here.join(directory).to_string_lossy().into_owned()]);
    }
    output.data(&unit(&words, &settings.home));
    output.talk(
        "To install it:\n  \
         piton serve unit > ~/.config/systemd/user/piton.service\n  \
         systemctl --user enable --now piton.service",
    );
    output.talk("The address to sign in with: journalctl --user -u piton.service");
    output.talk("hint: turns go on after a restart with: piton config serve.resume true");
    output.talk("hint: it runs while you are logged out with: loginctl enable-linger");
    Ok(Report::ok("done"))
}

/// The text of the unit. Commands of the agent run in a sandbox of their own, which needs namespaces and
/// system call filters of the kernel, so nothing here takes those away.
fn unit(words: &[String], home: &Path) -> String {
    let start: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    let home = quoted(&format!("PITON_HOME={}", home.to_string_lossy()));
    format!(
        "# A piton server for one user. To keep it up to date, run `piton serve unit` again.\n\
         [Unit]\n\
         Description=piton, a coding agent\n\
         \n\
         [Service]\n\
         ExecStart={}\n\
         Environment={home}\n\
         # Keys of providers, one NAME=VALUE on a line; the file need not be there.\n\
         EnvironmentFile=-%h/.config/piton/environment\n\
         Restart=on-failure\n\
         RestartSec=2\n\
         # Turns have a moment to come to rest.\n\
         TimeoutStopSec=10\n\
         # Commands that a turn left running go on, as they do without systemd.\n\
         KillMode=process\n\
         UMask=0077\n\
         # No command gains rights, by sudo for instance; without this line they can.\n\
         NoNewPrivileges=yes\n\
         \n\
         [Install]\n\
         WantedBy=default.target\n",
        start.join(" ")
    )
}

/// A word as systemd reads it: in quotes where it has a blank, and nothing in it is expanded.
fn quoted(word: &str) -> String {
    let escaped =
        word.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%").replace('$', "$$");
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-:=+,@%$".contains(letter);
    if escaped.chars().all(is_plain) && !escaped.is_empty() {
        escaped
    } else {
        format!("\"{escaped}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_by_systemd_as_they_are() {
        for (word, written) in [
            ("/usr/bin/piton", "/usr/bin/piton"),
            ("/my work/x", "\"/my work/x\""),
            ("50%", "50%%"),
            ("a$b", "a$$b"),
            ("a\"b\\c", "\"a\\\"b\\\\c\""),
            ("", "\"\""),
        ] {
            assert_eq!(quoted(word), written, "{word}");
        }
    }

    #[test]
    fn every_line_of_the_unit_is_a_section_a_remark_or_a_key_with_a_value() {
        let text = unit(&["/usr/bin/piton".into(), "serve".into()], Path::new("/home/me/.piton"));
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let is_section = line.starts_with('[') && line.ends_with(']');
            let is_key = line.split_once('=').is_some_and(|(key, value)| {
                key.chars().all(|letter| letter.is_ascii_alphabetic()) && !value.is_empty()
            });
            assert!(is_section || is_key, "{line}");
        }
        assert!(text.contains("\nExecStart=/usr/bin/piton serve\n"), "{text}");
        assert!(text.contains("\nEnvironment=PITON_HOME=/home/me/.piton\n"), "{text}");
    }
}
