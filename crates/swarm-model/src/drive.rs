//! Turns a future that works on a request into the stream of its events.

use std::future::Future;

use futures::channel::mpsc::{UnboundedSender, unbounded};
use futures::{FutureExt, StreamExt, stream};
use tokio_util::sync::CancellationToken;

use crate::error::ModelError;
use crate::model::{ModelEvent, ModelEvents, ModelResponse};

/// Where working code puts its events.
#[derive(Debug, Clone)]
pub(crate) struct Emitter(UnboundedSender<Result<ModelEvent, ModelError>>);

impl Emitter {
    /// Passes an event on. Nobody listens once the stream is dropped, and the work is dropped with it.
    pub(crate) fn emit(&self, event: ModelEvent) {
        self.send(Ok(event));
    }

    fn send(&self, item: Result<ModelEvent, ModelError>) {
        if self.0.unbounded_send(item).is_err() {
            tracing::debug!("a model event came after its stream was dropped");
        }
    }
}

/// Runs `work` inside the stream itself: no task is spawned, so polling drives it and dropping ends it.
pub(crate) fn drive<W, F>(cancel: CancellationToken, work: W) -> ModelEvents
where
    W: FnOnce(Emitter) -> F,
    F: Future<Output = Result<ModelResponse, ModelError>> + Send + 'static,
{
    let (sender, receiver) = unbounded();
    let emitter = Emitter(sender);
    let future = work(emitter.clone());
    let driver = async move {
        let outcome = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(ModelError::Cancelled),
            outcome = future => outcome,
        };
        emitter.send(outcome.map(ModelEvent::Completed));
    };
    let silent = driver.into_stream().filter_map(|()| async { None });
    stream::select(receiver, silent).boxed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_cancelled_request_ends_with_cancelled_and_nothing_after_it() {
        let cancel = CancellationToken::new();
        let inner = cancel.clone();
        let events: Vec<_> = drive(cancel, move |emit| async move {
            emit.emit(ModelEvent::TextDelta("a".into()));
            inner.cancel();
            std::future::pending().await
        })
        .collect()
        .await;
        assert_eq!(
            events,
            [
                Ok(ModelEvent::TextDelta("a".into())),
                Err(ModelError::Cancelled)
            ]
        );
    }

    #[tokio::test]
    async fn a_request_cancelled_before_it_starts_does_no_work() {
        let cancel = CancellationToken::new();
        cancel.cancel();
        // More than once, since an unfair choice between the two would be right half of the time.
        for _ in 0..20 {
            let events: Vec<_> = drive(cancel.clone(), |emit| async move {
                emit.emit(ModelEvent::TextDelta("never".into()));
                std::future::pending().await
            })
            .collect()
            .await;
            assert_eq!(events, [Err(ModelError::Cancelled)]);
        }
    }
}
