//! The active requests to a server, to which its notifications and questions belong.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use swarm_tools::{CallHost, one_line};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Minimum interval between displayed progress messages of one request.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);

/// The limits and context of a request.
#[derive(Debug, Clone)]
pub(crate) struct CallOptions {
    /// The server's name, for display.
    pub(crate) server: String,
    /// Timeout, which excludes the time waiting for a person.
    pub(crate) within: Duration,
    pub(crate) cancel: CancellationToken,
    /// The agent that makes the request, if any.
    pub(crate) host: Option<Arc<dyn CallHost>>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct ActiveCalls(Arc<Mutex<Vec<Arc<ActiveCall>>>>);

#[derive(Debug)]
pub(super) struct ActiveCall {
    pub(super) options: CallOptions,
    /// Cancelled when the request completes, which withdraws open questions.
    pub(super) over: CancellationToken,
    /// Number of questions waiting for a person.
    questions: watch::Sender<usize>,
    progress: Mutex<Progress>,
}

#[derive(Debug, Default)]
struct Progress {
    token: Option<ProgressToken>,
    shown: Option<Instant>,
}

impl ActiveCalls {
    /// Registers a request until the returned guard is dropped.
    pub(super) fn register(&self, options: &CallOptions) -> RegisteredCall {
        let call = Arc::new(ActiveCall {
            options: options.clone(),
            over: options.cancel.child_token(),
            questions: watch::Sender::new(0),
            progress: Mutex::default(),
        });
        self.0.lock().push(Arc::clone(&call));
        RegisteredCall {
            calls: self.clone(),
            call,
        }
    }

    /// Returns the request to which a server's question belongs. The older protocol does not
    /// identify it, so this is the most recent request.
    pub(super) fn current(&self) -> Option<Arc<ActiveCall>> {
        self.0.lock().last().cloned()
    }

    /// Displays the progress of a request, at most once per second.
    pub(super) fn show_progress(&self, notification: &ProgressNotificationParam) {
        let calls = self.0.lock();
        let with = |token: Option<&ProgressToken>| {
            let mut calls = calls.iter();
            calls.find(|call| call.progress.lock().token.as_ref() == token)
        };
        // A notification may arrive before the token of the request is recorded.
        let Some(call) = with(Some(&notification.progress_token)).or_else(|| with(None)) else {
            return;
        };
        let now = Instant::now();
        let mut progress = call.progress.lock();
        let is_soon = |shown: Instant| now.duration_since(shown) < PROGRESS_INTERVAL;
        if progress.shown.is_some_and(is_soon) {
            return;
        }
        progress.shown = Some(now);
        if let Some(host) = &call.options.host {
            host.progress(line(&call.options.server, notification));
        }
    }
}

/// Formats progress, such as `tickets: 3/10 reading`.
fn line(server: &str, notification: &ProgressNotificationParam) -> String {
    let far = match notification.total {
        Some(total) => format!("{}/{total}", notification.progress),
        None => notification.progress.to_string(),
    };
    let message = notification.message.as_deref().unwrap_or_default();
    one_line(&format!("{server}: {far} {message}"))
}

/// A registered request; dropping it unregisters the request.
pub(super) struct RegisteredCall {
    calls: ActiveCalls,
    pub(super) call: Arc<ActiveCall>,
}

impl RegisteredCall {
    /// Records the progress token; `None` while the request is being sent.
    pub(super) fn set_progress_token(&self, token: Option<ProgressToken>) {
        self.call.progress.lock().token = token;
    }

    pub(super) fn questions(&self) -> watch::Receiver<usize> {
        self.call.questions.subscribe()
    }
}

impl Drop for RegisteredCall {
    fn drop(&mut self) {
        self.call.over.cancel();
        let mut calls = self.calls.0.lock();
        calls.retain(|call| !Arc::ptr_eq(call, &self.call));
    }
}

impl ActiveCall {
    /// Pauses the request's timeout until the returned guard is dropped.
    pub(super) fn pause_timeout(&self) -> PausedTimeout<'_> {
        self.questions.send_modify(|count| *count += 1);
        PausedTimeout(self)
    }
}

/// A pending question to a person.
pub(super) struct PausedTimeout<'a>(&'a ActiveCall);

impl Drop for PausedTimeout<'_> {
    fn drop(&mut self) {
        self.0
            .questions
            .send_modify(|count| *count = count.saturating_sub(1));
    }
}
