//! The requests that are under way at a server, for what it says meanwhile.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use swarm_tools::{CallHost, one_line};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// How often the progress of one request is shown at most.
const SHOWN_EVERY: Duration = Duration::from_secs(1);

/// What a request may take and turn to.
#[derive(Debug, Clone)]
pub(crate) struct CallTerms {
    /// The server's name, for the person.
    pub(crate) server: String,
    /// How long it may take, the waits for a person not counted.
    pub(crate) within: Duration,
    /// Gives it up.
    pub(crate) cancel: CancellationToken,
    /// The agent that makes it; `None` where there is none.
    pub(crate) host: Option<Arc<dyn CallHost>>,
}

/// All requests under way.
#[derive(Debug, Clone, Default)]
pub(super) struct ActiveCalls(Arc<Mutex<Vec<Arc<ActiveCall>>>>);

/// A request under way.
#[derive(Debug)]
pub(super) struct ActiveCall {
    pub(super) terms: CallTerms,
    /// Cancelled when it is over, so that no person is asked for it any more.
    pub(super) over: CancellationToken,
    /// How many questions wait for a person.
    questions: watch::Sender<usize>,
    progress: Mutex<Progress>,
}

#[derive(Debug, Default)]
struct Progress {
    token: Option<ProgressToken>,
    shown: Option<Instant>,
}

impl ActiveCalls {
    /// Notes a request until the returned value is dropped.
    pub(super) fn enter(&self, terms: &CallTerms) -> Entered {
        let call = Arc::new(ActiveCall {
            terms: terms.clone(),
            over: terms.cancel.child_token(),
            questions: watch::Sender::new(0),
            progress: Mutex::default(),
        });
        self.0.lock().push(Arc::clone(&call));
        Entered {
            calls: self.clone(),
            call,
        }
    }

    /// The request for which a server asks something. The older protocol does not say which one it is: the latest counts.
    pub(super) fn asking(&self) -> Option<Arc<ActiveCall>> {
        self.0.lock().last().cloned()
    }

    /// Shows the progress of a request, not more often than anybody reads it.
    pub(super) fn progressed(&self, news: &ProgressNotificationParam) {
        let calls = self.0.lock();
        let with = |token: Option<&ProgressToken>| {
            let mut calls = calls.iter();
            calls.find(|call| call.progress.lock().token.as_ref() == token)
        };
        // A server may be faster than the note of the token of the request that was just sent.
        let Some(call) = with(Some(&news.progress_token)).or_else(|| with(None)) else {
            return;
        };
        let now = Instant::now();
        let mut progress = call.progress.lock();
        let is_soon = |shown: Instant| now.duration_since(shown) < SHOWN_EVERY;
        if progress.shown.is_some_and(is_soon) {
            return;
        }
        progress.shown = Some(now);
        if let Some(host) = &call.terms.host {
            host.progress(line(&call.terms.server, news));
        }
    }
}

/// Such as `tickets: 3/10 reading`.
fn line(server: &str, news: &ProgressNotificationParam) -> String {
    let far = match news.total {
        Some(total) => format!("{}/{total}", news.progress),
        None => news.progress.to_string(),
    };
    let message = news.message.as_deref().unwrap_or_default();
    one_line(&format!("{server}: {far} {message}"))
}

/// A request that is noted.
pub(super) struct Entered {
    calls: ActiveCalls,
    pub(super) call: Arc<ActiveCall>,
}

impl Entered {
    /// Notes what its progress is reported under; `None` while it is being sent.
    pub(super) fn has_token(&self, token: Option<ProgressToken>) {
        self.call.progress.lock().token = token;
    }

    pub(super) fn questions(&self) -> watch::Receiver<usize> {
        self.call.questions.subscribe()
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.call.over.cancel();
        let mut calls = self.calls.0.lock();
        calls.retain(|call| !Arc::ptr_eq(call, &self.call));
    }
}

impl ActiveCall {
    /// Until the returned value is dropped, the time of the request stands still.
    pub(super) fn asks(&self) -> Asking<'_> {
        self.questions.send_modify(|count| *count += 1);
        Asking(self)
    }
}

/// A question that waits for a person.
pub(super) struct Asking<'a>(&'a ActiveCall);

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0
            .questions
            .send_modify(|count| *count = count.saturating_sub(1));
    }
}
