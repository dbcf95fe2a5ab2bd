//! `piton sim serve`: the scripted model as a provider on loopback, for clients of any kind.

use std::fs;
use std::path::PathBuf;

use piton_agent::read_script;
use piton_sim::serve::{Options, Part, Seen, Server};

use crate::flags::SimServe;
use crate::output::{Form, Output};
use crate::render::lines::Line;
use crate::report::{Fault, Report};
use crate::signals::Signals;

/// The key that the printed variables hold; any other one does as well. No word of its own: keys
/// are covered wherever a message repeats them.
const KEY: &str = "piton-sim-key";
/// The variables that hold it.
const KEYS: [&str; 7] = [
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "CODEX_ACCESS_TOKEN",
    "DEEPSEEK_API_KEY",
    "MISTRAL_API_KEY",
    "OPENROUTER_API_KEY",
];

/// Serves until it is told to stop.
pub(crate) async fn run(serve: SimServe, output: &mut Output) -> Result<Report, Fault> {
    let part = match &serve.script {
        Some(path) => Part::Script(read_script(path)?),
        None => Part::Demo,
    };
    let mut bodies = serve.bodies.map(Bodies::new).transpose()?;
    // From here on, being told to stop is a way to end, not an accident.
    let mut signals = Signals::listen()?;
    let (port, form) = (serve.port, if serve.json { Form::Json } else { Form::Text });
    let (split, gzip, faults) = (serve.split, serve.gzip, serve.faults);
    let options = Options { port, split, gzip, faults, ..Options::default() };
    let server = Server::with(part, options).map_err(|source| Fault::Listen { port, source })?;
    announce(&server, form, output);
    let mut requests = server.watch();
    let mut serving = true;
    while serving {
        serving = tokio::select! {
            _ = signals.next() => false,
            changed = requests.changed() => changed.is_ok(),
        };
        for seen in server.take_seen() {
            if let Some(bodies) = &mut bodies {
                bodies.keep(&seen.body)?;
            }
            output.talk(&line(&seen));
            if form == Form::Json {
                output.json(&Line::request(&seen));
            }
        }
    }
    Ok(Report::ok("done"))
}

/// Where the bodies of requests go.
struct Bodies {
    directory: PathBuf,
    count: u64,
}

impl Bodies {
    fn new(directory: PathBuf) -> Result<Self, Fault> {
        match fs::create_dir_all(&directory) {
            Ok(()) => Ok(Self { directory, count: 0 }),
            Err(source) => Err(Fault::Write { path: directory, source }),
        }
    }

    /// Writes one, whole or not at all: somebody may wait for it.
    fn keep(&mut self, body: &[u8]) -> Result<(), Fault> {
        self.count += 1;
        let path = self.directory.join(format!("{}.json", self.count));
        let aside = path.with_extension("part");
        let written = fs::write(&aside, body).and_then(|()| fs::rename(&aside, &path));
        written.map_err(|source| Fault::Write { path, source })
    }
}

fn announce(server: &Server, form: Form, output: &mut Output) {
    let mut variables = server.variables();
    variables.extend(KEYS.map(|name| (name, KEY.to_owned())));
    if form == Form::Json {
        output.json(&Line::serving(&server.url(), &variables));
    } else {
        let lines = variables.iter().map(|(name, value)| format!("export {name}={value}\n"));
        output.data(&lines.collect::<String>());
    }
    output.talk(&format!("Serving on {}. Ctrl-C ends it.", server.url()));
}

/// A request and what became of it: `anthropic POST /v1/messages, step 1: 200`.
fn line(seen: &Seen) -> String {
    let Seen { method, path, dialect, status, note, .. } = seen;
    let who = if dialect.is_empty() { "nobody" } else { dialect };
    let step = seen.step.map(|step| format!(", step {}", step + 1)).unwrap_or_default();
    let status = if *status == 0 { "no answer".to_owned() } else { status.to_string() };
    let note = if note.is_empty() { String::new() } else { format!(" ({note})") };
    format!("{who} {method} {path}{step}: {status}{note}")
}
