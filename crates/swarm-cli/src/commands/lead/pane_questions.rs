//! Requests of a teammate, answered with a key in its own pane.

use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use swarm_config::Environment;
use swarm_os::DirectoryWatcher;
use swarm_protocol::{AgentId, Answer, AnswerInPlace, AnsweredBy, RequestRecord, TeamName};
use swarm_store::{BlockOn as _, TeamStore};
use swarm_team::answer_request;
use swarm_ui::{Console, ConsoleWriter, PaneInput};
use tokio::runtime::Handle;

use super::questions::{Questions, UNARMED};
use super::request_dialog::{DialogRequest, KeyAnswer, QuestionHost};
use super::terminal_actor::TerminalActor;
use crate::failure::{Failure, Result};
use crate::identity::Acting;
use crate::output::failure_text;
use crate::own_process::host_name;
use crate::pane_status::PaneStatus;

/// The key that postpones a request.
const ESC: char = '\u{1b}';

/// A second Esc within this time interrupts the turn, also while requests are postponed.
pub(super) const DOUBLE_ESC: Duration = Duration::from_millis(800);

/// The requests of a teammate, before its pane is open.
pub(crate) struct PaneQuestions {
    agent: AgentId,
    store: Arc<dyn TeamStore>,
    actor: TerminalActor,
    user: Option<String>,
}

impl PaneQuestions {
    /// Returns the requests of `agent`; `None` if `policy` does not allow answers in its pane.
    pub(crate) fn new(
        agent: &AgentId,
        store: Arc<dyn TeamStore>,
        policy: AnswerInPlace,
        env: &Environment,
    ) -> Option<Self> {
        let actor = TerminalActor::of_pane(env, policy, Arc::clone(&store));
        let user = env.get("USER").or_else(|| env.get("LOGNAME"));
        actor.shows_dialogs().then(|| Self {
            agent: agent.clone(),
            user: user.map(str::to_owned),
            store,
            actor,
        })
    }

    /// Shows the requests on a console from now on, and in its status rows how many are postponed.
    /// Returns what takes the input about requests, and returns other input. Must be called within
    /// a runtime.
    pub(crate) fn show_on(
        self,
        console: &Console,
        status: &Arc<PaneStatus>,
    ) -> impl FnMut(PaneInput) -> Option<PaneInput> + Send + use<> {
        let store = Arc::clone(&self.store);
        let watcher = Arc::new(DirectoryWatcher::in_runtime(&Handle::current()));
        let host = PaneHost {
            console: console.clone(),
            writer: Mutex::new(console.writer()),
            status: Arc::clone(status),
            pane: self,
        };
        let questions = Questions::new(&store, &watcher, Arc::new(host));
        questions.look.notify_one();
        tokio::spawn(questions.clone().follow());
        let mut keys = RequestKeys::new(questions, DOUBLE_ESC);
        move |input| keys.take(input)
    }

    /// Answers a request, if only a person can have pressed the key.
    fn answer(&self, request: &RequestRecord, answer: KeyAnswer, why: &str) -> Result<()> {
        let (team, verb) = (&self.agent.team, answer.verb());
        self.actor.now(Some(team)).require_no_agent(verb)?;
        Acting::require_space_of(&*self.store, team, verb)?;
        let team = self.store.team(team);
        let by = AnsweredBy {
            host: team.is_remote().then(host_name),
            ..AnsweredBy::person(std::process::id(), self.user.as_deref())
        };
        let answer = match answer {
            KeyAnswer::Approve => Answer::once(),
            KeyAnswer::ApproveAlways => Answer::Approved {
                always: true,
                updated_input: None,
            },
            KeyAnswer::Answers(answers) => Answer::Answered { answers },
            KeyAnswer::Edit => return Err(Failure::usage("a pane has no editor")),
            KeyAnswer::Deny => Answer::Denied {
                why: Some(why.trim().to_owned()).filter(|why| !why.is_empty()),
            },
        };
        answer_request(&*team, request, answer, by).block_on()?;
        Ok(())
    }
}

/// The keys that answer requests and show postponed ones again.
pub(super) struct RequestKeys {
    questions: Questions,
    /// A second Esc within this time interrupts the turn.
    double_esc: Duration,
    /// When Esc showed postponed requests.
    shown_at: Option<Instant>,
}

impl RequestKeys {
    pub(super) fn new(questions: Questions, double_esc: Duration) -> Self {
        Self {
            questions,
            double_esc,
            shown_at: None,
        }
    }

    /// Returns the input unless it is about requests. Esc shows postponed requests before it
    /// interrupts.
    pub(super) fn take(&mut self, input: PaneInput) -> Option<PaneInput> {
        match input {
            PaneInput::Choice { dialog, key, text } => {
                self.questions.answer(&dialog, key, &text);
                let shown_at = self.shown_at.take().filter(|_| key == ESC);
                let is_second = shown_at.is_some_and(|at| at.elapsed() < self.double_esc);
                is_second.then_some(PaneInput::Interrupt)
            }
            PaneInput::Form { dialog, answers } => {
                self.questions.answer_form(&dialog, &answers);
                None
            }
            PaneInput::Interrupt if self.questions.show_postponed() => {
                self.shown_at = Some(Instant::now());
                None
            }
            input => Some(input),
        }
    }
}

/// Shows a teammate's requests in its pane.
struct PaneHost {
    pane: PaneQuestions,
    status: Arc<PaneStatus>,
    console: Console,
    writer: Mutex<ConsoleWriter>,
}

impl QuestionHost for PaneHost {
    fn team(&self) -> Option<TeamName> {
        Some(self.pane.agent.team.clone())
    }

    fn shows(&self, request: &RequestRecord) -> bool {
        request.from == self.pane.agent.name
    }

    fn answer(&self, request: &RequestRecord, answer: KeyAnswer, why: &str) {
        if let Err(failure) = self.pane.answer(request, answer, why) {
            let text = swarm_ui::clean_text(&failure_text(&failure));
            let mut writer = self.writer.lock();
            // A console accepts all output.
            writeln!(writer, "{text}")
                .and_then(|()| writer.flush())
                .ok();
        }
    }

    fn ask(&self, request: Option<&DialogRequest>) -> bool {
        // The pane shows the commands that answer it elsewhere in any case.
        let is_person = || self.pane.actor.now(Some(&self.pane.agent.team)) == Acting::Person;
        let shown = request.filter(|_| is_person());
        self.console
            .ask(shown.map(|request| request.dialog.clone()), UNARMED);
        shown.is_some()
    }

    fn waiting(&self, _open: usize, postponed: usize) {
        self.status.set_postponed(postponed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use swarm_protocol::{MemberName, RequestId, RequestKind, SystemClock, UnixMs};
    use swarm_store::MemoryStore;

    use super::*;

    /// A pane that may show requests, or not.
    #[derive(Default)]
    struct Host {
        may_show: AtomicBool,
    }

    impl QuestionHost for Host {
        fn team(&self) -> Option<TeamName> {
            None
        }

        fn answer(&self, _request: &RequestRecord, _answer: KeyAnswer, _why: &str) {}

        fn ask(&self, request: Option<&DialogRequest>) -> bool {
            request.is_some() && self.may_show.load(Ordering::Relaxed)
        }

        fn waiting(&self, _open: usize, _postponed: usize) {}
    }

    fn questions(host: &Arc<Host>) -> Questions {
        let store = MemoryStore::new("/none".into(), Arc::new(SystemClock));
        let store: Arc<dyn TeamStore> = Arc::new(store);
        let watcher = Arc::new(DirectoryWatcher::new());
        Questions::new(&store, &watcher, Arc::clone(host) as Arc<dyn QuestionHost>)
    }

    #[test]
    fn a_request_that_could_not_be_shown_is_offered_again() {
        let request = RequestRecord {
            number: Some(3),
            ..RequestRecord::open(
                RequestId::new("perm-1-abcdefg"),
                MemberName::parse("bob").unwrap(),
                RequestKind::Sandbox {
                    host: "crates.io".to_owned(),
                },
                UnixMs(1000),
            )
        };
        let host = Arc::new(Host::default());
        let questions = questions(&host);
        questions.show(Some(request.clone()));
        assert!(questions.shown.lock().is_none());
        host.may_show.store(true, Ordering::Relaxed);
        questions.show(Some(request));
        assert!(questions.shown.lock().is_some());
        questions.answer("perm-1-abcdefg", ESC, "");
        assert!(questions.shown.lock().is_none(), "Esc may show it again");
    }

    #[test]
    fn esc_shows_a_postponed_request_before_it_interrupts() {
        let dismissed = || PaneInput::Choice {
            dialog: "perm-1-abcdefg".to_owned(),
            key: ESC,
            text: String::new(),
        };
        let interrupt = Some(PaneInput::Interrupt);
        let questions = questions(&Arc::default());
        let mut keys = RequestKeys::new(questions, Duration::MAX);
        assert_eq!(
            keys.take(PaneInput::Interrupt),
            interrupt,
            "none is postponed"
        );
        assert_eq!(keys.take(dismissed()), None);
        assert_eq!(keys.take(PaneInput::Interrupt), None, "it is shown again");
        assert_eq!(keys.take(dismissed()), interrupt, "the second Esc");
        assert_eq!(keys.take(dismissed()), None);
    }
}
