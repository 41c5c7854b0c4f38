//! Converts the future that processes a request into a stream of events.

use std::future::Future;

use std::sync::Arc;

use futures::channel::mpsc::{UnboundedSender, unbounded};
use futures::{FutureExt, StreamExt, stream};
use parking_lot::Mutex;
use swarm_protocol::Usage;
use tokio_util::sync::CancellationToken;

use crate::error::ModelError;
use crate::model::{ModelEvent, ModelEvents, ModelResponse};

/// Sends the events of one request to its stream.
#[derive(Debug, Clone)]
pub(crate) struct Emitter {
    events: UnboundedSender<Result<ModelEvent, ModelError>>,
    counted: Arc<Mutex<Usage>>,
}

impl Emitter {
    /// Sends an event. Fails only if the stream was dropped, which also drops the work.
    pub(crate) fn emit(&self, event: ModelEvent) {
        self.send(Ok(event));
    }

    /// Records the usage so far, which is reported if the request fails.
    pub(crate) fn count(&self, usage: Usage) {
        *self.counted.lock() = usage;
    }

    /// Sends the outcome, preceded by the usage if the request failed.
    fn end(&self, outcome: Result<ModelResponse, ModelError>) {
        let usage = *self.counted.lock();
        if outcome.is_err() && usage != Usage::default() {
            self.emit(ModelEvent::Unanswered { usage });
        }
        self.send(outcome.map(ModelEvent::Completed));
    }

    fn send(&self, item: Result<ModelEvent, ModelError>) {
        if self.events.unbounded_send(item).is_err() {
            tracing::debug!("dropped a model event: its stream is closed");
        }
    }
}

/// Runs `work` inside the stream. No task is spawned: polling drives the work and dropping the
/// stream cancels it.
pub(crate) fn drive<W, F>(cancel: CancellationToken, work: W) -> ModelEvents
where
    W: FnOnce(Emitter) -> F,
    F: Future<Output = Result<ModelResponse, ModelError>> + Send + 'static,
{
    let (sender, receiver) = unbounded();
    let emitter = Emitter {
        events: sender,
        counted: Arc::default(),
    };
    let future = work(emitter.clone());
    let driver = async move {
        let outcome = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(ModelError::Cancelled),
            outcome = future => outcome,
        };
        emitter.end(outcome);
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
    async fn a_failed_or_cancelled_request_reports_its_usage() {
        let usage = Usage {
            input_tokens: 7,
            ..Usage::default()
        };
        let cancel = CancellationToken::new();
        let inner = cancel.clone();
        let cancelled = drive(cancel, move |emit| async move {
            emit.count(usage);
            inner.cancel();
            std::future::pending().await
        });
        let failed = drive(CancellationToken::new(), move |emit| async move {
            emit.count(usage);
            Err(ModelError::Cancelled)
        });
        for events in [cancelled, failed] {
            let events: Vec<_> = events.collect().await;
            assert_eq!(
                events,
                [
                    Ok(ModelEvent::Unanswered { usage }),
                    Err(ModelError::Cancelled)
                ]
            );
        }
    }

    #[tokio::test]
    async fn a_request_cancelled_before_it_starts_does_no_work() {
        let cancel = CancellationToken::new();
        cancel.cancel();
        // Repeated, because a random choice between the branches would pass half of the time.
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
