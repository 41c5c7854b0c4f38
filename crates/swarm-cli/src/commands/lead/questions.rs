//! Permission requests on a lead's console: one dialog at a time, oldest request first.

use std::collections::HashSet;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use swarm_agent::EventSink;
use swarm_os::DirectoryWatcher;
use swarm_protocol::{AgentEvent, MemberState, RequestId, RequestRecord, TeamName};
use swarm_store::{Changes, StoreError, TeamStore, Topic};
use swarm_ui::FormAnswer;
use tokio::sync::Notify;
use tokio::time::timeout;

use super::request_dialog::{DialogRequest, KeyAnswer, QuestionHost};
use crate::commands::outage::{SILENCE, Silence};
use crate::commands::requests::open_requests;
use crate::event_tap::tapped;

/// Key presses this soon after a dialog appears are ignored, because they were not meant for it.
pub(super) const UNARMED: Duration = Duration::from_millis(500);

/// Pending requests of a lead's team, shown on its console.
#[derive(Clone)]
pub(super) struct Questions {
    store: Arc<dyn TeamStore>,
    watcher: Arc<DirectoryWatcher>,
    host: Arc<dyn QuestionHost>,
    /// Notified when there may be a new request.
    pub(super) look: Arc<Notify>,
    /// Dismissed requests. They stay in the queue.
    put_off: Arc<Mutex<HashSet<RequestId>>>,
    pub(super) shown: Arc<Mutex<Option<Arc<DialogRequest>>>>,
}

impl Questions {
    /// Creates the questions of a host, none of which is shown yet.
    pub(super) fn new(
        store: &Arc<dyn TeamStore>,
        watcher: &Arc<DirectoryWatcher>,
        host: Arc<dyn QuestionHost>,
    ) -> Self {
        Self {
            store: Arc::clone(store),
            watcher: Arc::clone(watcher),
            host,
            look: Arc::default(),
            put_off: Arc::default(),
            shown: Arc::default(),
        }
    }

    /// Shows the oldest pending request while the lead is running.
    pub(super) async fn follow(self) {
        let mut requests: Option<(TeamName, Changes)> = None;
        loop {
            tokio::select! {
                () = self.look.notified() => {}
                () = changed(requests.as_mut()) => {}
            }
            let team = self.host.team();
            if team.as_ref() != requests.as_ref().map(|(team, _)| team) {
                requests = team.map(|team| {
                    let handle = self.store.team(&team);
                    (team, handle.watch(&self.watcher, &Topic::Requests))
                });
            }
            let team = requests.as_ref().map(|(team, _)| team.clone());
            let first = match &team {
                Some(team) => self.first(team).await,
                None => Ok(None),
            };
            match first {
                Ok(first) => self.show(first),
                Err(error) => tracing::warn!(%error, "requests not read"),
            }
        }
    }

    /// Shows a request unless it is already shown; `None` closes the dialog.
    pub(super) fn show(&self, request: Option<RequestRecord>) {
        let mut shown = self.shown.lock();
        let id = shown.as_ref().map(|shown| &shown.request.id);
        if id == request.as_ref().map(|request| &request.id) {
            return;
        }
        let asked = request.map(|request| Arc::new(DialogRequest::new(request, &*self.host)));
        shown.clone_from(&asked);
        drop(shown);
        if !self.host.ask(asked.as_deref()) {
            *self.shown.lock() = None;
        }
    }

    /// Returns the oldest pending request that was not dismissed.
    async fn first(&self, team: &TeamName) -> Result<Option<RequestRecord>, StoreError> {
        let team = self.store.team(team);
        let read = open_requests(&*team);
        tokio::pin!(read);
        let mut silence = Silence::of(&*team);
        let read = loop {
            match timeout(SILENCE, &mut read).await {
                Ok(read) => break read,
                Err(_elapsed) if silence.lasts() => self.host.unanswered(&*team),
                Err(_elapsed) => {}
            }
        };
        if read.as_ref().is_err_and(StoreError::is_outage) {
            self.host.unanswered(&*team);
        }
        let mut open = read?.requests;
        open.retain(|request| self.host.shows(request));
        let mut put_off = self.put_off.lock();
        put_off.retain(|id| open.iter().any(|request| request.id == *id));
        let all = open.len();
        open.retain(|request| !put_off.contains(&request.id));
        self.host.waiting(all, all - open.len());
        Ok(open.into_iter().min_by_key(|request| request.asked_at))
    }

    /// Shows the postponed requests again. Returns whether there were any.
    pub(super) fn show_postponed(&self) -> bool {
        let postponed = std::mem::take(&mut *self.put_off.lock());
        self.look.notify_one();
        !postponed.is_empty()
    }

    /// Answers the request with this id according to the pressed key, with a reason unless that is
    /// empty.
    pub(super) fn answer(&self, id: &str, key: char, why: &str) {
        let shown = self.shown.lock().clone();
        let shown = shown.filter(|shown| shown.dialog.id == id);
        let answer = shown.and_then(|shown| {
            let mut choices = shown.dialog.choices.iter();
            let at = choices.position(|choice| choice.key == key)?;
            let answer = shown.answers.get(at)?.clone();
            Some((shown, answer))
        });
        self.close_with(id, answer, why);
    }

    /// Answers the questions of the request with this id.
    pub(super) fn answer_form(&self, id: &str, answers: &[FormAnswer]) {
        let shown = self.shown.lock().clone();
        let shown = shown.filter(|shown| shown.dialog.id == id);
        let answer = shown.map(|shown| {
            let answer = shown.form_answer(answers);
            (shown, answer)
        });
        self.close_with(id, answer, "");
    }

    /// Gives an answer to the request that was shown; without one the request is postponed.
    fn close_with(&self, id: &str, answer: Option<(Arc<DialogRequest>, KeyAnswer)>, why: &str) {
        if let Some((shown, answer)) = answer {
            self.host.answer(&shown.request, answer, why);
            if self.host.asks_again() {
                // The answer may have been refused.
                self.closed(id);
            } else {
                self.put_off.lock().insert(RequestId::new(id));
            }
        } else {
            self.put_off.lock().insert(RequestId::new(id));
            self.closed(id);
        }
        self.look.notify_one();
    }

    /// Records that a key has closed the dialog of a request, so that it can be shown again.
    fn closed(&self, id: &str) {
        let mut shown = self.shown.lock();
        *shown = shown.take().filter(|shown| shown.dialog.id != id);
    }
}

async fn changed(requests: Option<&mut (TeamName, Changes)>) {
    match requests {
        Some((_, requests)) => requests.changed().await,
        None => pending().await,
    }
}

/// Returns a sink that also notifies `team` of events that may change the team, and `questions` of
/// requests, which are then left to dialogs.
pub(super) fn attentive(
    inner: Arc<dyn EventSink>,
    questions: Option<Arc<Notify>>,
    team: Arc<Notify>,
) -> Arc<dyn EventSink> {
    tapped(inner, move |event| {
        let is_request = matches!(
            event,
            AgentEvent::Asked { .. }
                | AgentEvent::State {
                    state: MemberState::WaitingPermission,
                    ..
                }
        );
        if let Some(questions) = questions.as_ref().filter(|_| is_request) {
            questions.notify_one();
            return false;
        }
        if matches!(
            event,
            AgentEvent::ToolFinished { .. } | AgentEvent::State { .. }
        ) {
            team.notify_one();
        }
        true
    })
}
