//! What an agent program has asked for and not got yet.

use std::future::pending;
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use tokio_util::sync::CancellationToken;

/// The requests and calls of a program in one prompt. They are served concurrently: a question may
/// wait for a person while others continue.
pub(crate) struct OpenRequests<'a, T> {
    running: FuturesUnordered<BoxFuture<'a, Option<T>>>,
    /// Cancels them and withdraws their questions.
    cancel: CancellationToken,
}

impl<'a, T> OpenRequests<'a, T> {
    /// `turn` cancels them too.
    pub(crate) fn new(turn: &CancellationToken) -> Self {
        Self {
            running: FuturesUnordered::new(),
            cancel: turn.child_token(),
        }
    }

    /// Returns the token of a request, which must end soon after it is cancelled.
    pub(crate) fn cancel(&self) -> CancellationToken {
        self.cancel.child_token()
    }

    /// Begins to serve a request, which may have an answer.
    pub(crate) fn push(&mut self, request: BoxFuture<'a, Option<T>>) {
        self.running.push(request);
    }

    /// Waits for the next answer.
    pub(crate) async fn next(&mut self) -> T {
        loop {
            match self.running.next().await {
                Some(Some(answer)) => return answer,
                Some(None) => {}
                None => pending().await,
            }
        }
    }

    /// Cancels what is still open, and waits until it has ended, but not longer than `grace`.
    pub(crate) async fn withdraw(&mut self, grace: Duration) {
        self.cancel.cancel();
        let ended = async { while self.running.next().await.is_some() {} };
        if tokio::time::timeout(grace, ended).await.is_err() {
            tracing::debug!("requests of the program dropped");
        }
    }
}
