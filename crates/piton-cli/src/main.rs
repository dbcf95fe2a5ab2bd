//! The binary `piton`: flags, rendering, exit codes, hints. It does not know how a turn works, nor what
//! the settings mean.
//!
//! Flags are what was typed, `piton-agent` says what that means here, a command does it, and a report says
//! how it went. Only `output` touches the standard streams, only `report` knows exit codes.

mod flags;

mod cmd;

mod drafts;
mod log;
mod remote;
mod slash;
mod store;
mod target;

mod ask;
mod render;
mod screen;
mod signals;
mod terminal;
mod typing;

mod output;
mod pager;
mod report;

use std::process::ExitCode;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser as _};
use piton_agent::{Environment, Settings, keyless_environment};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};

use crate::flags::{Command, Flags, Sim};
use crate::output::{Form, Output};
use crate::report::{Fault, Report};
use crate::terminal::Terminal;

/// Most threads for work that may block. Whoever waits for a command takes one for as long as that runs, and
/// with the runtime's own bound of 512 a crowd of them would keep everybody else from the disk. A thread is
/// started only when it is needed.
const BLOCKING_THREADS_MAX: usize = 4_096;
/// The first number of a file behind the three standard ones.
const FIRST_FILE: i32 = 3;
/// Longest wait for threads to take their leave.
const LEAVE_WAIT: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    // A supervisor of commands is this binary, executed again; somebody waits for it to be there.
    if let Some(code) = piton_tools::supervise::dispatch(std::env::args_os()) {
        return code;
    }
    // Keys are in our memory, and for a moment in our environment: no other process of this user reads them. Where
    // that cannot be set, all else is as it was.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).unwrap_or_default();
    let environment = keyless_environment();
    // What our parent left open is ours to read (`<(command)` is such a file), and nobody's whom we start.
    close_fds::set_fds_cloexec(FIRST_FILE, &[]);
    let mut output = Output::default();
    let flags = match Flags::try_parse() {
        Ok(flags) => flags,
        Err(error) => return usage(&error, &mut output),
    };
    if flags.command.is_none() && !Terminal::is_sat_at() {
        return help(&mut output);
    }
    let form = flags.form();
    // One thread: a turn waits far more than it works, and starting more costs time at every start.
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let report = match runtime.enable_all().max_blocking_threads(BLOCKING_THREADS_MAX).build() {
        Ok(runtime) => {
            // What was running is dropped in here, also when it was left in the middle: the runtime
            // still works when tools and the store take their leave.
            let done = runtime.block_on(run(flags, environment, &mut output));
            // Threads that mind commands see that nobody waits, and kill what is left of them. One
            // that is stuck in a system call must not hold up the exit for ever.
            runtime.shutdown_timeout(LEAVE_WAIT);
            done.unwrap_or_else(|fault| {
                log::note(&fault);
                Report::from(&fault)
            })
        }
        Err(error) => Report::from(&Fault::Runtime(error)),
    };
    report.show(&mut output, form).into()
}

async fn run(flags: Flags, environment: Environment, output: &mut Output) -> Result<Report, Fault> {
    signals::outlive_file_limit();
    let settings = Settings::resolve(environment)?;
    // A person who wants nothing recorded wants no log either.
    let is_recorded = flags.command.as_ref().is_none_or(|command| !command.records_nothing());
    if is_recorded && let Some(complaint) = log::start(&settings) {
        output.talk(&format!("warning: {complaint}"));
    }
    let Some(command) = flags.command else {
        return cmd::chat::run(&flags.chat, &settings, output).await;
    };
    match command {
        Command::Query(query) => cmd::query::run(query, &settings, output).await,
        Command::Retry(retry) => cmd::query::retry(*retry, &settings, output).await,
        Command::Answer(answer) => cmd::answer::run(&answer, &settings, output).await,
        Command::Permissions(flags) => cmd::permissions::run(&flags, &settings, output).await,
        Command::Ls(ls) => cmd::ls::run(&ls, &settings, output).await,
        Command::Print(print) => cmd::print::run(&print, &settings, output).await,
        Command::Grep(grep) => cmd::grep::run(&grep, &settings, output).await,
        Command::Export(export) => cmd::export::run(&export, &settings, output).await,
        Command::Rename(rename) => cmd::rename::run(&rename, &settings, output).await,
        Command::Archive(archive) => cmd::shelve::run(&archive, &settings, output).await,
        Command::Rm(rm) => cmd::rm::run(&rm, &settings, output).await,
        Command::Import(flags) => cmd::import::run(&flags, &settings, output).await,
        Command::Compact(flags) => cmd::compact::run(&flags, &settings, output).await,
        Command::Uncompact(flags) => cmd::compact::undo(&flags, &settings, output).await,
        Command::Tokens(flags) => cmd::tokens::run(&flags, &settings, output).await,
        Command::Help(flags) => cmd::help::run(&flags, &settings, output),
        Command::Completions(flags) => Ok(cmd::help::completions(&flags, output)),
        Command::Init(flags) => cmd::init::run(flags, &settings, output).await,
        Command::Drafts(flags) => cmd::drafts::run(&flags, &settings, output).await,
        Command::Queue(flags) => cmd::queue::run(&flags, &settings, output).await,
        Command::Ps(ps) => Ok(cmd::ps::run(&ps, &settings, output)),
        Command::Logs(logs) => cmd::logs::run(&logs, &settings, output).await,
        Command::Send(send) => cmd::send::run(&send, &settings, output).await,
        Command::Kill(kill) => cmd::kill::run(&kill, &settings, output).await,
        Command::Stop(stop) => cmd::stop::run(&stop, &settings, output).await,
        Command::Fork(fork) => cmd::fork::run(&fork, &settings, output).await,
        Command::Rewind(flags) => cmd::rewind::run(&flags, &settings, output).await,
        Command::Undo(undo) => cmd::undo::run(&undo, &settings, output).await,
        Command::Config(config) => cmd::config::run(&config, &settings, output),
        Command::Doctor(doctor) => cmd::doctor::run(&doctor, &settings, output).await,
        Command::Models(models) => cmd::models::run(&models, &settings, output).await,
        Command::Trust(flags) => cmd::trust::run(&flags, &settings, output).await,
        Command::Mcp(flags) => cmd::mcp::run(&flags, &settings, output).await,
        Command::Sim(Sim::Mcp(flags)) => cmd::sim_mcp::run(flags, output).await,
        Command::Sim(Sim::Serve(serve)) => cmd::sim_serve::run(serve, output).await,
        Command::Serve(serve) => cmd::serve::run(&serve, &settings, output).await,
        Command::Attach(attach) => cmd::attach::run(&attach, &settings, output).await,
    }
}

/// A chat needs a terminal on both sides; without one, what there is.
fn help(output: &mut Output) -> ExitCode {
    let help = Flags::command().render_help().to_string();
    let said = format!("A chat needs a terminal; to say one thing: piton query TEXT\n\n{help}");
    Report::misuse(said.trim_end()).show(output, Form::Text).into()
}

/// What the parser has to say: help and version are data, anything else is talk.
fn usage(error: &clap::Error, output: &mut Output) -> ExitCode {
    let text = error.render().to_string();
    if !error.use_stderr() {
        output.page_of(&text);
        return Report::ok("done").show(output, Form::Text).into();
    }
    // The flags could not be read, but whoever wants data wants it also now.
    let wants_data = std::env::args_os().any(|arg| arg == "--json");
    let form = if wants_data { Form::Json } else { Form::Text };
    // Not every word that can be typed is text.
    let typed = std::env::args_os().skip(1).find_map(|word| habit(&word.to_string_lossy()));
    let text = match typed.filter(|_| is_unknown(error.kind())) {
        Some(hint) => format!("{}\nhint: {hint}", without_tips(&text)),
        None => text,
    };
    Report::misuse(text.trim_end()).show(output, form).into()
}

/// Whether a word was typed that there is not.
fn is_unknown(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::InvalidSubcommand | ErrorKind::UnknownArgument)
}

/// What people type who come from other agents, and what it is called here.
fn habit(word: &str) -> Option<&'static str> {
    match word {
        "-p" | "--print" | "exec" | "run" | "ask" => Some("to say one thing: piton query -p TEXT"),
        "chat" => Some("piton alone opens a chat"),
        "resume" | "--resume" | "-r" | "continue" => {
            Some("piton -c goes on with the last conversation; /resume in a chat lists them")
        }
        "search" | "find" => Some("to find what was said: piton grep WORDS"),
        "history" | "list" | "sessions" => {
            Some("piton ls lists the conversations of this workspace")
        }
        "delete" | "remove" => Some("to remove a conversation: piton rm ID"),
        "discard" => Some("to discard the incomplete turn: piton query --discard-turn"),
        "login" | "auth" | "logout" => {
            Some("a key in the environment is enough; piton models says which")
        }
        "server" | "web" => Some("to serve conversations over HTTP: piton serve"),
        "update" | "upgrade" => Some("piton does not update itself"),
        "--yolo" | "--full-auto" | "--dangerously-skip-permissions" => {
            Some("piton --permissions auto runs everything, in the sandbox")
        }
        word if word.contains(' ') => Some("to say it: piton query TEXT; piton alone opens a chat"),
        _ => None,
    }
}

/// What the parser says, without its guesses.
fn without_tips(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("tip:"));
    lines.collect::<Vec<_>>().join("\n").trim_end().replace("\n\n\n", "\n\n")
}
