//! `piton sim mcp`: a small MCP server with a ledger, for tests of this and other agents.

use piton_sim::mcp::{Options, serve_http, serve_pipes};

use crate::flags::SimMcp;
use crate::output::Output;
use crate::report::{Fault, Report};
use crate::signals::Signals;

/// Serves until its input ends, or until it is told to stop.
pub(crate) async fn run(flags: SimMcp, output: &mut Output) -> Result<Report, Fault> {
    let SimMcp { ledger, faults, only, modern, http, port } = flags;
    let options = Options { ledger, faults, only, modern };
    if !http {
        serve_pipes(options).await;
        return Ok(Report::ok("done"));
    }
    let mut signals = Signals::listen()?;
    let served = serve_http(options, port).await;
    let (address, work) = served.map_err(|source| Fault::Listen { port, source })?;
    output.data(&format!("http://{address}/mcp\n"));
    tokio::select! {
        _ = signals.next() => {}
        () = work => {}
    }
    Ok(Report::ok("done"))
}
