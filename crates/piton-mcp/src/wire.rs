//! Watches what goes over a transport: which calls were handed to it, whether the server says that
//! its tools have changed, and whether it still lives.
//!
//! This is what tells a call that was never sent from one that may have taken effect.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::RoleClient;
use rmcp::model::{ClientRequest, JsonRpcMessage, RequestId, ServerNotification};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio_util::sync::CancellationToken;

/// What has gone over a transport.
#[derive(Debug, Default)]
pub(crate) struct Wire {
    sent: Mutex<BTreeSet<String>>,
    /// Whether the server has said that its tools are others now.
    news: AtomicBool,
    /// Cancelled when nothing more will come.
    pub(crate) gone: CancellationToken,
}

impl Wire {
    fn sent(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the server has said that its tools are others than it listed.
    pub(crate) fn has_news(&self) -> bool {
        self.news.load(Ordering::Relaxed)
    }

    /// The same, for whoever asks for the tools now: what is said from here on is news again.
    pub(crate) fn take_news(&self) -> bool {
        self.news.swap(false, Ordering::Relaxed)
    }

    /// Whether the request may have left, in whole or in part.
    pub(crate) fn may_have_left(&self, id: &RequestId) -> bool {
        self.sent().contains(&id.to_string())
    }

    /// The request is answered, or given up.
    pub(crate) fn forget(&self, id: &RequestId) {
        self.sent().remove(&id.to_string());
    }
}

/// A transport under watch.
#[derive(Debug)]
pub(crate) struct Watched<T> {
    inner: T,
    wire: Arc<Wire>,
}

impl<T> Watched<T> {
    pub(crate) fn new(inner: T, wire: Arc<Wire>) -> Self {
        Self { inner, wire }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Watched<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        if let JsonRpcMessage::Request(request) = &item
            && matches!(request.request, ClientRequest::CallToolRequest(_))
        {
            // Noted before the first byte can leave.
            self.wire.sent().insert(request.id.to_string());
        }
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let received = self.inner.receive().await;
        match &received {
            None => self.wire.gone.cancel(),
            Some(JsonRpcMessage::Notification(said)) => {
                if let ServerNotification::ToolListChangedNotification(_) = said.notification {
                    self.wire.news.store(true, Ordering::Relaxed);
                }
            }
            Some(_) => {}
        }
        received
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.wire.gone.cancel();
        self.inner.close().await
    }
}

impl<T> Drop for Watched<T> {
    fn drop(&mut self) {
        self.wire.gone.cancel();
    }
}
