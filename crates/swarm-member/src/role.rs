//! The parts of a member, and the role of a lead or a teammate.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use swarm_agent::{
    AgentError, AgentRuntime, Injected, ModelFactory, Session, SubAgents, TurnOutcome, TurnSignals,
    or_never,
};
use swarm_os::DirectoryWatcher;
use swarm_protocol::{MemberState, TeamName};
use swarm_store::{Changes, StoreError, Team, Topic};
use swarm_team::{Incoming, MemberContext};
use swarm_ui::PaneInput;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::mail::MailHandler;
use crate::person::Person;
use crate::reporter::Reporter;

/// How the loop handles an error of a step.
pub(crate) enum Recovery<End> {
    /// The member cannot continue.
    Fail,
    /// The member stops without a failure.
    End(End),
    Retry,
}

/// The role of a lead or a teammate in [`MemberLoop`]. A method that returns an end stops the loop.
pub(crate) trait Role: Sized {
    /// How the loop ends.
    type End;
    /// Why the loop cannot continue.
    type Error: From<StoreError> + From<AgentError> + fmt::Display;
    /// What the role watches during a turn.
    type TurnEvent;

    /// Whether messages pass the user's `UserPromptSubmit` hooks before the model reads them.
    fn mail_fires_prompt_hooks(&self) -> bool {
        true
    }

    /// Resolves when the lease of this process is lost: other processes count the member as dead.
    fn lease_lost(&self) -> BoxFuture<'static, ()>;

    /// Runs at the beginning of each step, before the mail is read.
    async fn begin_step(member: &mut MemberLoop<Self>) -> Result<Option<Self::End>, Self::Error>;

    /// Whether the member currently takes no turns.
    fn is_suspended(&self) -> bool {
        false
    }

    /// Whether a message is read now. Others stay unread.
    fn reads_now(&self, _mail: &MailHandler, _message: &Incoming) -> bool {
        true
    }

    /// Runs when the mail was taken from the inbox, before the model reads it.
    async fn mail_taken(_member: &mut MemberLoop<Self>) -> Result<Option<Self::End>, Self::Error> {
        Ok(None)
    }

    /// Runs when the mail is in the transcript, before a turn or a wait.
    async fn mail_read(_member: &mut MemberLoop<Self>) -> Result<Option<Self::End>, Self::Error> {
        Ok(None)
    }

    /// Acts when there is nothing for the model to do, and waits for a change.
    async fn idle(member: &mut MemberLoop<Self>) -> Result<Option<Self::End>, Self::Error>;

    /// Resolves when the role needs to check its state while the member waits. Dropping the future
    /// loses nothing.
    async fn changed(&mut self);

    /// The state that a waiting member without background work reports.
    async fn idle_state(&mut self) -> (MemberState, Option<String>);

    async fn turn_begins(&mut self, _turn: &Turn) {}

    /// Runs once the first request of a turn is on its way.
    fn request_sent(&mut self, _turn: &Turn) {}

    /// Waits for the next event during a turn. Dropping the future loses nothing.
    async fn turn_event(&mut self, turn: &Turn) -> Self::TurnEvent;

    /// Handles an event while the turn continues. It may wait for the store.
    async fn on_turn_event(&mut self, turn: &Turn, event: Self::TurnEvent);

    async fn on_turn_mail(&mut self, turn: &Turn);

    /// Runs after a turn, when all deferred writes are done.
    async fn turn_ended(
        member: &mut MemberLoop<Self>,
        outcome: TurnOutcome,
    ) -> Result<Option<Self::End>, Self::Error>;

    /// Decides what happens after an error of a step.
    fn recovery(error: &Self::Error) -> Recovery<Self::End>;
}

/// A member that has started.
pub(crate) struct MemberLoop<R> {
    pub(crate) role: R,
    pub(crate) session: Session,
    /// Produces the agent's responses.
    pub(crate) runtime: Arc<dyn AgentRuntime>,
    pub(crate) mail: Arc<MailHandler>,
    pub(crate) reporter: Arc<Reporter>,
    pub(crate) sub_agents: Arc<SubAgents>,
    pub(crate) inbox: InboxWatch,
    pub(crate) person: Person,
    /// Runs hooks when files change, until dropped.
    pub(crate) _hook_watch: JoinSet<()>,
    /// Creates other models.
    pub(crate) models: Arc<dyn ModelFactory>,
    /// Its model, for the journal.
    pub(crate) model: String,
    /// Cancelled when the member is to stop. It interrupts turns and waits.
    pub(crate) stop: CancellationToken,
    /// Text before the first message, until there is a message.
    pub(crate) initial_prompt: Option<String>,
    /// Text from hooks to insert before the next message.
    pub(crate) context: Vec<Injected>,
    /// The last reported state, if still valid.
    pub(crate) reported: Option<(MemberState, Option<String>)>,
    /// The error that blocks the member.
    pub(crate) trouble: Option<Trouble>,
}

/// An error that may pass: a lock that is held, a full disk, a full inbox of the lead.
#[derive(Debug)]
pub(crate) struct Trouble {
    pub(crate) what: String,
    pub(crate) wait: Duration,
}

/// Watches the inbox of a member's current team.
pub(crate) struct InboxWatch {
    watcher: Arc<DirectoryWatcher>,
    context: Arc<MemberContext>,
    watched: Option<(TeamName, Changes)>,
}

impl InboxWatch {
    pub(crate) fn new(watcher: Arc<DirectoryWatcher>, context: Arc<MemberContext>) -> Self {
        let mut watch = Self {
            watcher,
            context,
            watched: None,
        };
        watch.follow(watch.context.team());
        watch
    }

    /// Watches the inbox of this team from now on.
    pub(crate) fn follow(&mut self, team: Option<Arc<dyn Team>>) {
        let known = self.watched.as_ref().map(|(team, _)| team);
        if known == team.as_ref().map(|team| team.name()) {
            return;
        }
        self.watched = team.map(|team| {
            let inbox = Topic::Mail(self.context.name.clone());
            (team.name().clone(), team.watch(&self.watcher, &inbox))
        });
    }

    /// Resolves when the inbox may have changed; never without a team. Dropping the future loses
    /// nothing.
    pub(crate) async fn changed(&mut self) {
        or_never(self.watched.as_mut().map(|(_, inbox)| inbox.changed())).await;
    }
}

/// A running turn, as a role sees it.
pub(crate) struct Turn {
    pub(crate) mail: Arc<MailHandler>,
    pub(crate) reporter: Arc<Reporter>,
    pub(crate) sub_agents: Arc<SubAgents>,
    pub(crate) signals: TurnSignals,
}

impl Turn {
    pub(crate) fn is_cancelled(&self) -> bool {
        self.signals.cancel.is_cancelled()
    }

    pub(crate) async fn take_input(&self, person: &mut Person, input: PaneInput) {
        match input {
            PaneInput::Interrupt => {
                self.reporter.notice("interrupted by you");
                self.signals.cancel.cancel();
            }
            PaneInput::Background => {
                let line = match self.sub_agents.send_to_background(None) {
                    0 => "not waiting for a sub-agent".to_owned(),
                    1 => "the sub-agent continues in the background".to_owned(),
                    many => format!("{many} sub-agents continue in the background"),
                };
                self.reporter.notice(line);
            }
            input => person.take(input, Some("read between two calls")).await,
        }
    }
}

/// Result of a compaction that a person requested.
#[derive(Debug)]
pub(crate) enum Compacted {
    Done,
    /// The member is to stop or to take no turns; it is retried when it continues.
    Suspended,
    Failed(String),
}
