//! A client that accounts for its requests and holds them back while a budget is used up.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;
use futures::future::BoxFuture;
use futures::{StreamExt as _, stream};
use swarm_protocol::Usage;
use tokio_util::sync::CancellationToken;

use crate::{Model, ModelError, ModelEvent, ModelEvents, ModelRequest};

/// What a meter keeps for a request until it has ended, such as a reserved budget.
pub type Admission = Option<Box<dyn Any + Send>>;

/// Accounts for the requests of a process.
#[async_trait]
pub trait RequestMeter: Send + Sync + Debug {
    /// Admits a request to `model`, the full name. The result is dropped when the request has ended
    /// and is recorded.
    ///
    /// # Errors
    /// Why the request may not be sent now, for display.
    async fn admit(
        self: Arc<Self>,
        model: &str,
        request: &ModelRequest,
    ) -> Result<Admission, String>;

    /// Returns which budget is used up, for display. For a member whose agent program asks its model
    /// itself.
    async fn used_up(self: Arc<Self>) -> Option<String>;

    /// Returns why a budget in money has no effect on an agent program with this model, for display.
    async fn unpriced(self: Arc<Self>, model: &str) -> Option<String>;

    /// Returns a future that resolves when the result of [`Self::admit`] may have changed. A change
    /// after this function is not missed.
    async fn changed(self: Arc<Self>) -> BoxFuture<'static, ()>;

    /// Records the usage of a request that has ended, with its failed attempts. `model` is the full
    /// name, `agent` the name of the agent in the request.
    async fn record(self: Arc<Self>, model: &str, agent: &str, usage: Usage);
}

/// A model whose requests pass a [`RequestMeter`].
#[derive(Debug, Clone)]
pub struct MeteredModel {
    inner: Arc<dyn Model>,
    /// Full name of the model.
    name: Arc<str>,
    meter: Arc<dyn RequestMeter>,
}

impl MeteredModel {
    /// Wraps the client of the model with this full name.
    pub fn new(inner: Arc<dyn Model>, name: &str, meter: Arc<dyn RequestMeter>) -> Self {
        Self {
            inner,
            name: name.into(),
            meter,
        }
    }
}

impl Model for MeteredModel {
    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> ModelEvents {
        let metered = Metered {
            model: self.clone(),
            agent: request.agent.clone(),
            cancel,
            told: None,
            admission: None,
            step: Step::Admit(Box::new(request)),
        };
        stream::unfold(metered, Metered::next).fuse().boxed()
    }

    fn defers_tools(&self) -> bool {
        self.inner.defers_tools()
    }

    fn takes_documents(&self) -> bool {
        self.inner.takes_documents()
    }
}

/// A request in progress.
struct Metered {
    model: MeteredModel,
    agent: String,
    cancel: CancellationToken,
    /// The reason that was last reported for holding the request.
    told: Option<String>,
    /// What the meter keeps for the request.
    admission: Admission,
    step: Step,
}

enum Step {
    /// The request is about to be sent.
    Admit(Box<ModelRequest>),
    /// The request is held until the future resolves.
    Held(Box<ModelRequest>, BoxFuture<'static, ()>),
    Sent(ModelEvents),
    Over,
}

type Item = Result<ModelEvent, ModelError>;

impl MeteredModel {
    /// Records the usage of a request that has ended.
    async fn account(&self, agent: &str, item: &Item) {
        let usage = match item {
            Ok(ModelEvent::Completed(response)) => response.usage,
            Ok(ModelEvent::Unanswered { usage }) => *usage,
            _ => return,
        };
        Arc::clone(&self.meter)
            .record(&self.name, agent, usage)
            .await;
    }
}

impl Metered {
    async fn next(mut self) -> Option<(Item, Self)> {
        loop {
            match std::mem::replace(&mut self.step, Step::Over) {
                Step::Admit(request) => {
                    let cancel = self.cancel.clone();
                    let reason = tokio::select! {
                        biased;
                        () = cancel.cancelled() => {
                            return Some((Err(ModelError::Cancelled), self));
                        }
                        reason = self.admit(request) => reason,
                    };
                    if reason != self.told {
                        self.told.clone_from(&reason);
                        return Some((Ok(ModelEvent::Held { reason }), self));
                    }
                }
                Step::Held(request, changed) => {
                    tokio::select! {
                        biased;
                        () = self.cancel.cancelled() => {
                            return Some((Err(ModelError::Cancelled), self));
                        }
                        () = changed => {}
                    }
                    self.step = Step::Admit(request);
                }
                Step::Sent(mut events) => {
                    let item = events.next().await?;
                    self.model.account(&self.agent, &item).await;
                    if matches!(item, Err(_) | Ok(ModelEvent::Completed(_))) {
                        self.admission = None;
                    } else {
                        self.step = Step::Sent(events);
                    }
                    return Some((item, self));
                }
                Step::Over => return None,
            }
        }
    }

    /// Sends the request, or returns why it is held.
    async fn admit(&mut self, request: Box<ModelRequest>) -> Option<String> {
        let MeteredModel { name, meter, .. } = &self.model;
        let admitted = Arc::clone(meter).admit(name, &request).await;
        self.admission = if let Ok(admission) = admitted {
            admission
        } else {
            let changed = Arc::clone(meter).changed().await;
            // Again, so that no change before the subscription is missed.
            match Arc::clone(meter).admit(name, &request).await {
                Ok(admission) => admission,
                Err(reason) => {
                    self.step = Step::Held(request, changed);
                    return Some(reason);
                }
            }
        };
        let events = self.model.inner.stream(*request, self.cancel.clone());
        self.step = Step::Sent(events);
        None
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use futures::FutureExt as _;
    use parking_lot::Mutex;
    use swarm_protocol::Thinking;
    use tokio::sync::watch;

    use super::*;
    use crate::{ModelResponse, StopReason};

    fn usage(input_tokens: u64) -> Usage {
        Usage {
            input_tokens,
            ..Usage::default()
        }
    }

    /// Completes, or fails after reporting usage.
    #[derive(Debug, Default)]
    struct Played {
        fails: AtomicBool,
    }

    impl Model for Played {
        fn stream(&self, _request: ModelRequest, _cancel: CancellationToken) -> ModelEvents {
            if self.fails.load(Ordering::SeqCst) {
                let lost = ModelEvent::Unanswered { usage: usage(7) };
                return stream::iter([Ok(lost), Err(ModelError::Cancelled)]).boxed();
            }
            let response = ModelResponse {
                content: Vec::new(),
                stop_reason: StopReason::EndTurn,
                usage: usage(5),
                model: "reported".to_owned(),
            };
            stream::iter([Ok(ModelEvent::Completed(response))]).boxed()
        }
    }

    #[derive(Debug)]
    struct Account {
        hold: watch::Sender<bool>,
        recorded: Mutex<Vec<(String, String, u64)>>,
        /// A clone exists for each request in progress.
        admitted: Arc<()>,
    }

    #[async_trait]
    impl RequestMeter for Account {
        async fn admit(
            self: Arc<Self>,
            model: &str,
            _request: &ModelRequest,
        ) -> Result<Admission, String> {
            if *self.hold.borrow() {
                return Err(format!("{model} costs too much"));
            }
            Ok(Some(Box::new(Arc::clone(&self.admitted))))
        }

        async fn used_up(self: Arc<Self>) -> Option<String> {
            None
        }

        async fn unpriced(self: Arc<Self>, _model: &str) -> Option<String> {
            None
        }

        async fn changed(self: Arc<Self>) -> BoxFuture<'static, ()> {
            let mut changes = self.hold.subscribe();
            async move { drop(changes.changed().await) }.boxed()
        }

        async fn record(self: Arc<Self>, model: &str, agent: &str, usage: Usage) {
            let entry = (model.to_owned(), agent.to_owned(), usage.input_tokens);
            self.recorded.lock().push(entry);
        }
    }

    fn account(hold: bool) -> Arc<Account> {
        Arc::new(Account {
            hold: watch::channel(hold).0,
            recorded: Mutex::default(),
            admitted: Arc::default(),
        })
    }

    fn metered(inner: Played, account: &Arc<Account>) -> MeteredModel {
        let meter = Arc::clone(account) as Arc<dyn RequestMeter>;
        MeteredModel::new(Arc::new(inner), "anthropic/m", meter)
    }

    fn request() -> ModelRequest {
        ModelRequest {
            model: "m".to_owned(),
            system: Arc::default(),
            tools: Arc::default(),
            messages: Arc::default(),
            max_tokens: 1,
            thinking: Thinking::Off,
            effort: None,
            agent: "bob".to_owned(),
        }
    }

    #[tokio::test]
    async fn a_response_and_a_failed_request_are_recorded_once() {
        let account = account(false);
        for fails in [false, true] {
            let inner = Played {
                fails: fails.into(),
            };
            let events = metered(inner, &account).stream(request(), CancellationToken::new());
            drop(events.collect::<Vec<_>>().await);
        }
        assert_eq!(Arc::strong_count(&account.admitted), 1);
        let entry = |tokens| ("anthropic/m".to_owned(), "bob".to_owned(), tokens);
        assert_eq!(*account.recorded.lock(), [entry(5), entry(7)]);
    }

    #[tokio::test]
    async fn a_request_is_held_until_the_meter_admits_it() {
        let account = account(true);
        let model = metered(Played::default(), &account);
        let mut events = model.stream(request(), CancellationToken::new());
        let held = events.next().await;
        let reason = Some("anthropic/m costs too much".to_owned());
        assert_eq!(held, Some(Ok(ModelEvent::Held { reason })));
        assert!(events.next().now_or_never().is_none(), "nothing was sent");
        account.hold.send_replace(false);
        let released = events.next().await;
        assert_eq!(released, Some(Ok(ModelEvent::Held { reason: None })));
        assert_eq!(Arc::strong_count(&account.admitted), 2);
        let answer = events.next().await;
        assert!(matches!(answer, Some(Ok(ModelEvent::Completed(_)))));
        assert_eq!(Arc::strong_count(&account.admitted), 1);
        assert_eq!(events.next().await, None);
    }

    #[tokio::test]
    async fn a_held_request_can_be_cancelled() {
        let account = account(true);
        let cancel = CancellationToken::new();
        let model = metered(Played::default(), &account);
        let mut events = model.stream(request(), cancel.clone());
        drop(events.next().await);
        cancel.cancel();
        assert_eq!(events.next().await, Some(Err(ModelError::Cancelled)));
        assert!(account.recorded.lock().is_empty());
    }
}
