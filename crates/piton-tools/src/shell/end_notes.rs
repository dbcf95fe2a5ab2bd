//! How the end of a command reads.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

/// It was stopped because somebody wanted that.
pub(super) const STOPPED: &str = "[stopped on request, with everything it had started]";
/// It was stopped by a person, from outside.
pub(super) const STOPPED_BY_PERSON: &str =
    "[stopped by the user with `piton kill`, with everything it had started]";

/// What it left running was stopped, because it did not let protected files be.
pub(super) const STOPPED_FOR_PROTECTED: &str = "[what it left running changed again and again what programs outside the sandbox obey, and was \
     stopped; leave those files alone, or ask the user to change them]";

/// How the remark begins that a command goes on although its call has ended.
pub const STILL_RUNNING: &str = "[still running, ";

/// It printed more than is there.
pub(super) const EMPTIED: &str = "[something in it opened /dev/stdout or /dev/stderr anew and so emptied this output: what was \
     printed before that is lost; write to them with >&1 and >&2, or append with >>]";

/// It took too long.
pub(super) fn timed_out(seconds: u64) -> String {
    format!(
        "[stopped after {seconds} s, with everything it had started; give a longer timeout_s, or \
         send it to the background]"
    )
}

/// What to say about the way it ended; nothing if the output says it all.
pub(crate) fn told_of(status: ExitStatus, silent: bool) -> Option<String> {
    match (status.code(), silent) {
        (Some(0), false) => None,
        (Some(0), true) => Some("[exit code 0, no output]".into()),
        (Some(code), _) => Some(format!("[exit code {code}]")),
        // The standard library knows the names of the signals.
        (None, _) => Some(format!("[killed by {status}]")),
    }
}

/// The exit code; for a command that was killed what a shell makes of it, 128 and the signal.
pub(crate) fn exit_code(status: ExitStatus) -> Option<i32> {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_command_is_told() {
        let told = |raw, silent| told_of(ExitStatus::from_raw(raw), silent).unwrap_or_default();
        assert_eq!(told(0, false), "");
        assert_eq!(told(0, true), "[exit code 0, no output]");
        assert_eq!(told(3 << 8, false), "[exit code 3]");
        assert_eq!(told(9, false), "[killed by signal: 9 (SIGKILL)]");
        assert_eq!(exit_code(ExitStatus::from_raw(9)), Some(137));
    }
}
