//! Where the answer to a request is written.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::sync::mpsc;

/// The way to the client.
#[derive(Clone, Debug)]
pub(super) enum Out {
    Pipe(Arc<tokio::sync::Mutex<tokio::io::Stdout>>),
    Stream(mpsc::Sender<Bytes>),
    /// The client has its answer, and this is the work of a task.
    Nowhere,
}

impl Out {
    pub(super) async fn write(&self, message: &Value) {
        self.bytes(self.frame(message)).await;
    }

    /// The first half of what would be written.
    pub(super) async fn half(&self, message: &Value) {
        let frame = self.frame(message);
        self.bytes(frame.slice(..frame.len() / 2)).await;
    }

    fn frame(&self, message: &Value) -> Bytes {
        Bytes::from(match self {
            Self::Pipe(_) => format!("{message}\n"),
            Self::Nowhere => String::new(),
            Self::Stream(_) => format!("event: message\ndata: {message}\n\n"),
        })
    }

    /// A client that is gone gets nothing more.
    async fn bytes(&self, bytes: Bytes) {
        match self {
            Self::Pipe(pipe) => {
                let mut pipe = pipe.lock().await;
                if pipe.write_all(&bytes).await.is_ok() {
                    pipe.flush().await.unwrap_or_default();
                }
            }
            Self::Stream(stream) => stream.send(bytes).await.unwrap_or_default(),
            Self::Nowhere => {}
        }
    }
}
