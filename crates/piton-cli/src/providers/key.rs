//! Keys that a command prints: password managers, logins.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use piton::model::ModelFailure;
use piton::transport::{KeySource, Secret};
use piton_core::event::FailureClass;

/// Asks a command for the key, once, and again when the key is refused.
#[derive(Debug)]
pub(super) struct KeyCommand {
    command: Vec<String>,
    // Kept for the process; a lock, because a model is asked from any task.
    key: Arc<Mutex<Option<Secret>>>,
}

impl KeyCommand {
    pub(super) fn new(command: Vec<String>) -> Self {
        Self { command, key: Arc::default() }
    }
}

impl KeySource for KeyCommand {
    fn key(&self, refresh: bool) -> BoxFuture<'_, Result<Secret, ModelFailure>> {
        let (command, kept) = (self.command.clone(), self.key.clone());
        Box::pin(async move {
            let known = kept.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if let (Some(key), false) = (known, refresh) {
                return Ok(key);
            }
            let asked = tokio::task::spawn_blocking(move || ask(&command)).await;
            let key = asked.unwrap_or_else(|_| Err("it crashed".into())).map_err(|why| {
                let message = format!("the key command failed: {why}");
                ModelFailure::new(FailureClass::Auth, message)
            })?;
            *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(key.clone());
            Ok(key)
        })
    }

    fn can_refresh(&self) -> bool {
        true
    }
}

fn ask(command: &[String]) -> Result<Secret, String> {
    let (program, arguments) = command.split_first().ok_or("it is empty")?;
    let output = std::process::Command::new(program)
        .args(arguments)
        .stdin(std::process::Stdio::null())
        .output()
        .map_err(|error| format!("{program}: {error}"))?;
    if !output.status.success() {
        // What it printed may hold the key; its status does not.
        return Err(format!("{program}: {}", output.status));
    }
    let key = String::from_utf8(output.stdout).map_err(|_| format!("{program}: not text"))?;
    match key.trim() {
        "" => Err(format!("{program} printed nothing")),
        key => Ok(Secret::new(key)),
    }
}
