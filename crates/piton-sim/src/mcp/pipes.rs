//! The server over its standard streams: one message a line.

use std::sync::Arc;

use tokio::io::{AsyncBufReadExt as _, BufReader};

use super::Options;
use super::out::Out;
use super::seat::Seat;

/// Serves until its input ends.
pub async fn serve_pipes(options: Options) {
    let seat = Seat::new(options);
    let out = Out::Pipe(Arc::new(tokio::sync::Mutex::new(tokio::io::stdout())));
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        // What is no JSON is nobody's message.
        if let Ok(message) = serde_json::from_str(&line) {
            tokio::spawn(seat.clone().take(message, out.clone()));
        }
    }
}
