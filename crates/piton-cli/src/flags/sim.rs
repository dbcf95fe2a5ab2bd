//! The flags of `piton sim`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use piton_sim::script::{Fault as ScriptFault, parse_fault};

use super::mcp::SimMcp;

/// What to play.
#[derive(Debug, Subcommand)]
pub(crate) enum Sim {
    /// Serve a scripted model on loopback, in the dialect of every provider
    #[command(after_help = SERVE_HELP)]
    Serve(SimServe),
    /// Serve tools with countable effects over the Model Context Protocol
    Mcp(SimMcp),
}

/// How to use the server, for whoever asks for help.
const SERVE_HELP: &str = "Standard output has the variables that lead clients to the server; \
    standard error has one line per request. Ctrl-C ends it.\n\n\
    A fault is [STEP:]KIND[,after=EVENTS|,after=BYTESb][,times=N][,wait=MILLISECONDS]:\n  \
    --fault 529,times=2          the first two requests are answered with status 529\n  \
    --fault 2:drop,after=120b    the connection of step 2 breaks after 120 bytes\n  \
    --fault rate-limited,wait=50 the first request is told to wait for 50 ms\n\n\
    piton help sim has the form of scripts and all faults.";

/// The flags of `piton sim serve`.
#[derive(Debug, Args)]
pub(crate) struct SimServe {
    /// The script; else the built-in demo model answers
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,
    /// The port on 127.0.0.1; 0 takes one that is free
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) port: u16,
    /// What goes wrong, beside the faults of the script; may be given several times
    #[arg(long = "fault", value_name = "FAULT", value_parser = parse_fault)]
    pub(crate) faults: Vec<(Option<usize>, ScriptFault)>,
    /// Answer in pieces of at most so many bytes; 0 sends each event in one
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    pub(crate) split: usize,
    /// Pack answers for whoever accepts that
    #[arg(long)]
    pub(crate) gzip: bool,
    /// Write the body of every request into this directory: 1.json, 2.json and so on
    #[arg(long, value_name = "DIR")]
    pub(crate) bodies: Option<PathBuf>,
    /// One JSON object per line on standard output: the address, then every request
    #[arg(long)]
    pub(crate) json: bool,
}
