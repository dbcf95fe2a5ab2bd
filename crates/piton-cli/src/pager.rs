//! Long output page by page, in the program that a person likes for that (`PAGER`, else `less`).
//!
//! Only where data goes to a terminal and is longer than that. A pager that cannot be started changes
//! nothing: the output is written as it is.

use std::ffi::OsString;
use std::io::Write as _;
use std::process::{Command, Stdio};

use piton_agent::Settings;

use crate::output::Output;
use crate::signals::Signals;
use crate::terminal::Terminal;

/// What shows pages where nothing is said about it.
const USUAL: &str = "less";
/// What `less` is told where nothing is said about it: colours as they are, and leave what was shown.
const LESS: (&str, &str) = ("LESS", "FRX");

/// What the shell says of a command that cannot be run, or is not there.
const NOT_THERE: [i32; 2] = [126, 127];

/// A pager that waits for what is to be shown.
#[derive(Debug)]
pub(crate) struct Pager {
    command: String,
    rows: usize,
    /// Where it is looked for.
    path: OsString,
    /// What `less` is told, unless the person has told it.
    less: Option<(&'static str, &'static str)>,
}

/// Keeps data back, if it may have to be shown page by page.
pub(crate) fn begin(is_refused: bool, settings: &Settings, output: &mut Output) -> Option<Pager> {
    let is_alone = settings.environment.text("PITON_NO_INPUT").is_some();
    let may = !is_refused && !is_alone && Terminal::is_sat_at();
    let rows = output.page_rows().filter(|_| may)?;
    let command = settings.environment.text("PAGER").unwrap_or_else(|| USUAL.to_owned());
    if command.trim() == "cat" {
        return None;
    }
    output.hold();
    let less = settings.environment.text(LESS.0).is_none().then_some(LESS);
    let path = settings.environment.path_beside();
    Some(Pager { command, rows, path, less })
}

/// Shows what was kept back: page by page if it is longer than the terminal.
pub(crate) async fn end(pager: Option<Pager>, output: &mut Output) {
    let Some(pager) = pager else { return };
    let text = output.release();
    if pager.rows <= text.lines().count() {
        // Ctrl-C is for the pager, which knows what to do with it.
        let _listening = Signals::listen().ok();
        let shown = text.clone();
        let paged = tokio::task::spawn_blocking(move || pager.show(&shown)).await;
        if paged.unwrap_or(false) {
            return;
        }
    }
    output.put_released(&text);
}

impl Pager {
    /// Whether it was shown.
    fn show(&self, text: &str) -> bool {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &self.command]).stdin(Stdio::piped()).envs(self.less);
        command.env("PATH", &self.path);
        let Ok(mut child) = command.spawn() else { return false };
        if let Some(mut input) = child.stdin.take() {
            // Whoever has seen enough leaves before the end.
            input.write_all(text.as_bytes()).unwrap_or_default();
        }
        let ended = child.wait();
        ended.is_ok_and(|status| !status.code().is_some_and(|code| NOT_THERE.contains(&code)))
    }
}
