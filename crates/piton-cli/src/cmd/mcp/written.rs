//! `piton mcp add` and `piton mcp remove`: servers in the user's own settings.

use std::path::Path;

use piton_agent::{Settings, SettingsError, add_server, remove_server};
use piton_mcp::WrittenServer;
use piton_tools::sandbox::Confinement;

use crate::flags::NewServer;
use crate::output::Output;
use crate::report::{Fault, Report};

/// Writes it down. Nothing is started.
pub(super) fn add(
    new: &NewServer,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    let NewServer { name, url, headers, env, sandbox, command } = new;
    let mut words = command.iter().cloned();
    let server = WrittenServer {
        command: words.next(),
        args: words.collect(),
        env: env.iter().cloned().collect(),
        sandbox: if *sandbox { Confinement::Yes } else { Confinement::No },
        url: url.clone(),
        headers: headers.iter().cloned().collect(),
        ..WrittenServer::default()
    };
    let file = file(settings)?;
    if !add_server(file, name, &server).map_err(Fault::ServerFile)? {
        return Err(Fault::ServerKnown(name.clone()));
    }
    output.talk(&format!("{name} is in {} now: {}", file.display(), server.how()));
    output.talk("piton mcp shows whether it answers; its tools are offered from the next turn on.");
    Ok(Report::ok("done"))
}

/// Takes it out.
pub(super) fn remove(
    name: &str,
    settings: &Settings,
    output: &mut Output,
) -> Result<Report, Fault> {
    let file = file(settings)?;
    if !remove_server(file, name).map_err(Fault::ServerFile)? {
        return Err(Fault::NoServer(name.to_owned()));
    }
    output.talk(&format!("{name} is no longer in {}.", file.display()));
    Ok(Report::ok("done"))
}

fn file(settings: &Settings) -> Result<&Path, Fault> {
    Ok(settings.file.as_deref().ok_or(SettingsError::NoHome)?)
}
