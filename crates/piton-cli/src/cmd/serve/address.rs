//! What is said of a server that runs: where it is reached, and how a browser or a program gets in.

use std::io;

use piton::clock::{Clock as _, SystemClock};
use piton_agent::Settings;
use piton_server::Tokens;

use crate::output::Output;
use crate::render::lines::Line;
use crate::report::Fault;

/// Says where a server is reached that has begun.
pub(super) fn tell(url: &str, is_json: bool, output: &mut Output) {
    if is_json {
        output.json(&Line::serving(url, &[]));
    } else if !output.is_watched() {
        output.data(&format!("{url}\n"));
    }
    output.talk(&format!("Serving on {url}."));
}

/// Says how to get in. Each time there is a new address for one browser.
pub(super) fn ways_in(url: &str, settings: &Settings, output: &mut Output) -> Result<(), Fault> {
    let code = Tokens::of(&settings.home).code(SystemClock.now());
    let code = code.map_err(|error| Fault::Runtime(io::Error::other(error)))?;
    output.talk(&format!("To sign a browser in, once: {url}/sign-in?code={code}"));
    output.talk("For a program: piton serve token NAME");
    Ok(())
}
