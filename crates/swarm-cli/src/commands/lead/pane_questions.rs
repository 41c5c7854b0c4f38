//! Requests of a teammate, answered with a key in its own pane.

use std::io::Write as _;
use std::sync::Arc;

use parking_lot::Mutex;
use swarm_config::Environment;
use swarm_os::DirectoryWatcher;
use swarm_protocol::{AgentId, AnswerInPlace, AnsweredBy, RequestRecord, TeamName};
use swarm_store::{BlockOn as _, TeamStore};
use swarm_ui::{Console, ConsoleWriter};
use tokio::runtime::Handle;

use super::questions::{DialogRequest, KeyAnswer, QuestionHost, Questions, UNARMED};
use super::terminal_actor::TerminalActor;
use crate::failure::Failure;
use crate::identity::Acting;
use crate::output::failure_text;

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

    /// Shows the requests on a console from now on. Returns what takes the answer to a dialog: its id
    /// and the key. Must be called within a runtime.
    pub(crate) fn show_on(self, console: &Console) -> impl Fn(&str, char) + Send + use<> {
        let questions = Questions {
            store: Arc::clone(&self.store),
            watcher: Arc::new(DirectoryWatcher::in_runtime(&Handle::current())),
            host: Arc::new(PaneHost {
                console: console.clone(),
                writer: Mutex::new(console.writer()),
                pane: self,
            }),
            look: Arc::default(),
            put_off: Arc::default(),
            shown: Arc::default(),
        };
        questions.look.notify_one();
        tokio::spawn(questions.clone().follow());
        move |dialog, key| questions.answer(dialog, key)
    }

    /// Answers a request, if only a person can have pressed the key.
    fn answer(&self, request: &RequestRecord, answer: KeyAnswer) -> Result<(), Failure> {
        let (team, verb) = (&self.agent.team, answer.verb());
        self.actor.now(Some(team)).require_no_agent(verb)?;
        Acting::require_space_of(&*self.store, team, verb)?;
        let team = self.store.team(team);
        let by = AnsweredBy::person(std::process::id(), self.user.as_deref());
        match answer {
            KeyAnswer::Approve => swarm_team::approve(&*team, request, false, by).block_on()?,
            KeyAnswer::ApproveAlways => {
                swarm_team::approve(&*team, request, true, by).block_on()?
            }
            KeyAnswer::Option(number) => {
                let answers = vec![number.to_string()];
                swarm_team::answer(&*team, request, answers, by).block_on()?
            }
            KeyAnswer::Edit => return Err(Failure::usage("a pane has no editor")),
            KeyAnswer::Deny => swarm_team::deny(&*team, request, None, by).block_on()?,
        };
        Ok(())
    }
}

/// Shows a teammate's requests in its pane.
struct PaneHost {
    pane: PaneQuestions,
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

    fn answer(&self, request: &RequestRecord, answer: KeyAnswer) {
        if let Err(failure) = self.pane.answer(request, answer) {
            let text = swarm_ui::clean_text(&failure_text(&failure));
            let mut writer = self.writer.lock();
            // A console accepts all output.
            writeln!(writer, "{text}")
                .and_then(|()| writer.flush())
                .ok();
        }
    }

    fn ask(&self, request: Option<DialogRequest>) {
        // The pane shows the commands that answer it elsewhere in any case.
        let is_person = || self.pane.actor.now(Some(&self.pane.agent.team)) == Acting::Person;
        let dialog = request.filter(|_| is_person());
        self.console
            .ask(dialog.map(|request| request.dialog), UNARMED);
    }

    fn command_prefix(&self) -> &'static str {
        "swarm "
    }

    fn waiting(&self, _open: usize, _postponed: usize) {}
}
