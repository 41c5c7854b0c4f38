//! Questions to the user about hosts.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::CallHost;

/// Maximum number of open questions of one agent. Connections to further hosts are denied at once,
/// so that one command cannot bury the requests of others.
const MAX_OPEN: usize = 10;

/// The questions of one agent: one for each host at a time, side by side.
#[derive(Debug, Default)]
pub(super) struct HostQuestions {
    hosts: Mutex<BTreeMap<String, HostState>>,
}

#[derive(Debug)]
enum HostState {
    Answered(bool),
    Asked(OpenQuestion),
}

impl HostState {
    fn is_open(&self) -> bool {
        matches!(self, Self::Asked(_))
    }
}

#[derive(Debug)]
struct OpenQuestion {
    /// The answer; closed without one if nobody answered.
    answer: watch::Receiver<Option<bool>>,
    /// Withdraws it.
    cancel: CancellationToken,
    /// Number of connections that wait for the answer.
    waiting: usize,
}

impl HostQuestions {
    /// Asks the user whether commands may reach a host, once. `None` if nobody answered this time,
    /// nobody is present (no `call`), or too many questions are open. The question is withdrawn when
    /// the last future that waits for it is dropped: the command has ended or closed its connection.
    pub(super) async fn answer(
        self: &Arc<Self>,
        host: String,
        call: Option<Arc<dyn CallHost>>,
    ) -> Option<bool> {
        let mut waiting = match self.join(host, call) {
            Ok(waiting) => waiting,
            Err(known) => return known,
        };
        let answer = waiting.answer.wait_for(Option::is_some).await;
        answer.ok().and_then(|answer| *answer)
    }

    /// Joins those that wait for a question, which is asked if it is new. The error is the known
    /// answer.
    fn join(
        self: &Arc<Self>,
        host: String,
        call: Option<Arc<dyn CallHost>>,
    ) -> Result<Waiting, Option<bool>> {
        let mut hosts = self.hosts.lock();
        let question = match hosts.get_mut(&host) {
            Some(HostState::Answered(granted)) => return Err(Some(*granted)),
            Some(HostState::Asked(question)) => question,
            None => {
                let open = hosts.values().filter(|state| state.is_open());
                if open.count() >= MAX_OPEN {
                    return Err(None);
                }
                let asked = HostState::Asked(self.ask(host.clone(), call.ok_or(None)?));
                match hosts.entry(host.clone()).or_insert(asked) {
                    HostState::Answered(granted) => return Err(Some(*granted)),
                    HostState::Asked(question) => question,
                }
            }
        };
        question.waiting += 1;
        Ok(Waiting {
            questions: Arc::clone(self),
            host,
            answer: question.answer.clone(),
        })
    }

    fn ask(self: &Arc<Self>, host: String, call: Arc<dyn CallHost>) -> OpenQuestion {
        let (answered, answer) = watch::channel(None);
        let cancel = CancellationToken::new();
        let (questions, withdrawn) = (Arc::clone(self), cancel.clone());
        tokio::spawn(async move {
            let granted = call.ask_network(host.clone(), withdrawn.clone()).await;
            let mut hosts = questions.hosts.lock();
            match granted {
                Some(granted) => {
                    hosts.insert(host, HostState::Answered(granted));
                }
                // Somebody may be there the next time. A withdrawn one has been removed.
                None if !withdrawn.is_cancelled() => {
                    hosts.remove(&host);
                }
                None => {}
            }
            answered.send_replace(granted);
        });
        OpenQuestion {
            answer,
            cancel,
            waiting: 0,
        }
    }
}

/// One connection that waits for an answer.
#[derive(Debug)]
struct Waiting {
    questions: Arc<HostQuestions>,
    host: String,
    answer: watch::Receiver<Option<bool>>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut hosts = self.questions.hosts.lock();
        let Some(HostState::Asked(question)) = hosts.get_mut(&self.host) else {
            return;
        };
        // A later question about the same host.
        if !question.answer.same_channel(&self.answer) {
            return;
        }
        question.waiting = question.waiting.saturating_sub(1);
        if question.waiting == 0 {
            question.cancel.cancel();
            hosts.remove(&self.host);
        }
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use serde_json::Value;
    use tokio::sync::{mpsc, oneshot};

    use super::*;
    use crate::{MemberCall, PersonAnswer};

    type Asked = (String, CancellationToken, oneshot::Sender<bool>);

    #[derive(Debug)]
    struct Person(mpsc::UnboundedSender<Asked>);

    #[async_trait]
    impl CallHost for Person {
        async fn ask(&self, _: Value, _: String, _: CancellationToken) -> PersonAnswer {
            PersonAnswer::Unanswered
        }

        async fn ask_network(&self, host: String, cancel: CancellationToken) -> Option<bool> {
            let (answer, answered) = oneshot::channel();
            self.0.send((host, cancel.clone(), answer)).unwrap();
            tokio::select! {
                answer = answered => answer.ok(),
                () = cancel.cancelled() => None,
            }
        }

        fn progress(&self, _: String) {}

        fn may_make(&self, _: &MemberCall<'_>) -> Result<(), String> {
            Ok(())
        }
    }

    struct Scene {
        questions: Arc<HostQuestions>,
        person: Arc<dyn CallHost>,
        asked: mpsc::UnboundedReceiver<Asked>,
    }

    impl Scene {
        fn new() -> Self {
            let (sender, asked) = mpsc::unbounded_channel();
            Self {
                questions: Arc::default(),
                person: Arc::new(Person(sender)),
                asked,
            }
        }

        fn connect(&self, host: &str) -> tokio::task::JoinHandle<Option<bool>> {
            let (questions, person) = (Arc::clone(&self.questions), Arc::clone(&self.person));
            let host = host.to_owned();
            tokio::spawn(async move { questions.answer(host, Some(person)).await })
        }
    }

    #[tokio::test]
    async fn questions_about_different_hosts_wait_side_by_side() {
        let mut scene = Scene::new();
        let (a, b, again) = (scene.connect("a"), scene.connect("b"), scene.connect("a"));
        let (first, _, to_a) = scene.asked.recv().await.unwrap();
        let (second, _, to_b) = scene.asked.recv().await.unwrap();
        assert_eq!([first.as_str(), second.as_str()], ["a", "b"]);
        to_b.send(true).unwrap();
        assert_eq!(b.await.unwrap(), Some(true));
        to_a.send(false).unwrap();
        assert_eq!(a.await.unwrap(), Some(false));
        assert_eq!(again.await.unwrap(), Some(false));
        // Answers hold.
        assert_eq!(scene.connect("b").await.unwrap(), Some(true));
        assert_eq!(scene.connect("a").await.unwrap(), Some(false));
        assert!(scene.asked.is_empty());
    }

    #[tokio::test]
    async fn a_question_is_withdrawn_with_the_last_connection_that_waits() {
        let mut scene = Scene::new();
        let (one, other) = (scene.connect("a"), scene.connect("a"));
        let (_, cancel, _answer) = scene.asked.recv().await.unwrap();
        one.abort();
        assert!(one.await.unwrap_err().is_cancelled() && !cancel.is_cancelled());
        other.abort();
        cancel.cancelled().await;
        // The next connection asks again.
        let next = scene.connect("a");
        let (_, _, answer) = scene.asked.recv().await.unwrap();
        answer.send(true).unwrap();
        assert_eq!(next.await.unwrap(), Some(true));
    }

    #[tokio::test]
    async fn hosts_beyond_the_limit_of_open_questions_are_denied_at_once() {
        let mut scene = Scene::new();
        let mut open = Vec::new();
        for at in 0..MAX_OPEN {
            let waiting = scene.connect(&format!("host-{at}"));
            open.push((waiting, scene.asked.recv().await.unwrap()));
        }
        assert_eq!(scene.connect("further").await.unwrap(), None);
        let known = scene.connect("host-0");
        let (first, (_, _, answer)) = open.swap_remove(0);
        answer.send(true).unwrap();
        assert_eq!(first.await.unwrap(), Some(true));
        assert_eq!(known.await.unwrap(), Some(true));
        let next = scene.connect("further");
        let (_, _, answer) = scene.asked.recv().await.unwrap();
        answer.send(true).unwrap();
        assert_eq!(next.await.unwrap(), Some(true));
    }

    #[tokio::test]
    async fn without_an_answer_a_host_is_denied_this_time() {
        let mut scene = Scene::new();
        let first = scene.connect("a");
        drop(scene.asked.recv().await.unwrap());
        assert_eq!(first.await.unwrap(), None);
        let second = scene.connect("a");
        let (_, _, answer) = scene.asked.recv().await.unwrap();
        answer.send(true).unwrap();
        assert_eq!(second.await.unwrap(), Some(true));
        assert_eq!(scene.questions.answer("b".to_owned(), None).await, None);
    }
}
