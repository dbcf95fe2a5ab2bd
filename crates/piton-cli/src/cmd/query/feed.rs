//! What happens in a conversation and in those that work for it, in one stream.

use futures_util::FutureExt as _;
use futures_util::future::select_all;
use piton::{Conversation, Engine, Follow, FollowError, News};
use piton_core::id::ConversationId;

/// Follows a conversation and its workers.
#[derive(Debug)]
pub(in crate::cmd) struct Feed {
    engine: Engine,
    own: Follow,
    workers: Vec<(ConversationId, Follow)>,
    /// News of the conversation itself, which those of its workers go before.
    held: Option<News>,
}

/// News, and which worker they are of. Of the conversation itself, if of none.
pub(in crate::cmd) type Told = (Option<ConversationId>, News);

impl Feed {
    pub(in crate::cmd) async fn new(
        engine: Engine,
        own: &Conversation,
    ) -> Result<Self, FollowError> {
        let own = own.follow().await?;
        Ok(Self { engine, own, workers: Vec::new(), held: None })
    }

    /// Follows a worker that was there before.
    pub(in crate::cmd) async fn join(
        &mut self,
        worker: &ConversationId,
    ) -> Result<(), FollowError> {
        if !self.has(worker) {
            let follow = self.engine.conversation(worker).follow().await?;
            self.workers.push((worker.clone(), follow));
        }
        Ok(())
    }

    /// Follows a worker that has just begun, from its first entry on.
    pub(in crate::cmd) fn join_new(&mut self, worker: &ConversationId) -> Result<(), FollowError> {
        if !self.has(worker) {
            let follow = self.engine.conversation(worker).follow_all()?;
            self.workers.push((worker.clone(), follow));
        }
        Ok(())
    }

    fn has(&self, worker: &ConversationId) -> bool {
        self.workers.iter().any(|(known, _)| known == worker)
    }

    /// Waits for what comes next. May be dropped and called again.
    pub(in crate::cmd) async fn next(&mut self) -> Result<Told, FollowError> {
        if self.held.is_none() {
            let own = self.own.next().map(|news| (None, news)).boxed();
            let workers = self.workers.iter_mut();
            let workers = workers.map(|(id, follow)| {
                let id = id.clone();
                async move { (Some(id), follow.next().await) }.boxed()
            });
            let ((worker, news), ..) = select_all(workers.chain([own])).await;
            let news = news?;
            if worker.is_some() || self.workers.is_empty() {
                return Ok((worker, news));
            }
            self.held = Some(news);
        }
        match self.next_of_workers().await? {
            Some(told) => Ok(told),
            None => match self.held.take() {
                Some(news) => Ok((None, news)),
                None => Box::pin(self.next()).await,
            },
        }
    }

    /// What the journals have, without waiting for more. What workers did goes before what the
    /// conversation says of it.
    pub(in crate::cmd) async fn next_entry(&mut self) -> Result<Option<Told>, FollowError> {
        if self.held.is_none() {
            self.held = self.own.next_entry().await?;
        }
        match self.next_of_workers().await? {
            Some(told) => Ok(Some(told)),
            None => Ok(self.held.take().map(|news| (None, news))),
        }
    }

    async fn next_of_workers(&mut self) -> Result<Option<Told>, FollowError> {
        for (id, follow) in &mut self.workers {
            if let Some(news) = follow.next_entry().await? {
                return Ok(Some((Some(id.clone()), news)));
            }
        }
        Ok(None)
    }
}
