//! The context of a member: its identity and its team.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use swarm_hooks::AgentHooks;
use swarm_os::Liveness;
use swarm_permissions::HandoffScan;
use swarm_protocol::{
    AgentEvent, AgentId, Clock, Color, ControlFrame, MemberName, SpawnId, TeamName, partial_debug,
};
use swarm_store::{Actor, Draft, StoreError, Team, TeamStore, VerifyKey};

use crate::WorkMerger;
use crate::peer_questions::PeerQuestions;

/// Creates a team for a lead that needs one.
pub trait TeamCreator: Send + Sync + fmt::Debug {
    /// Creates the team and returns its name.
    ///
    /// # Errors
    /// Errors of the store.
    fn create_team(&self) -> Result<TeamName, StoreError>;
}

/// A tool needs a team but there is none.
#[derive(Debug, thiserror::Error)]
pub enum NoTeam {
    /// There is no team, and none can be created here.
    #[error("there is no team yet: call TeamCreate first")]
    None,
    /// The team could not be created.
    #[error("the team could not be created: {0}")]
    Creating(#[from] StoreError),
}

type EventFn = dyn Fn(AgentEvent) + Send + Sync;

/// The member that uses the team tools.
pub struct MemberContext {
    /// The store of the team's files.
    pub store: Arc<dyn TeamStore>,
    /// Clock for frames.
    pub clock: Arc<dyn Clock>,
    /// Name of the member.
    pub name: MemberName,
    /// ID of the current spawn.
    pub spawn_id: SpawnId,
    /// Colour of its messages; `None` for the lead.
    pub color: Option<Color>,
    team: Mutex<Option<Arc<dyn Team>>>,
    creator: Option<Arc<dyn TeamCreator>>,
    hooks: OnceLock<AgentHooks>,
    events: Box<EventFn>,
    merger: OnceLock<Arc<dyn WorkMerger>>,
    /// Whether another program led the team when the member started.
    led_by_another: OnceLock<bool>,
    /// The public key from the spawn order.
    pinned_key: OnceLock<Option<VerifyKey>>,
    handoff: OnceLock<HandoffScan>,
    questions: PeerQuestions,
    answer_timeout: OnceLock<Option<Duration>>,
    agent_program: OnceLock<()>,
}

partial_debug!(MemberContext: name, spawn_id);

impl MemberContext {
    /// Creates a teammate's context.
    pub fn teammate(
        store: Arc<dyn TeamStore>,
        clock: Arc<dyn Clock>,
        agent: &AgentId,
        spawn_id: SpawnId,
        color: Option<Color>,
        events: impl Fn(AgentEvent) + Send + Sync + 'static,
    ) -> Self {
        let team = Some(store.team(&agent.team));
        Self {
            color,
            ..Self::new(store, clock, agent.name.clone(), spawn_id, team, events)
        }
    }

    /// Creates the lead's context. `creator` creates the team when a tool first needs one.
    pub fn lead(
        store: Arc<dyn TeamStore>,
        clock: Arc<dyn Clock>,
        spawn_id: SpawnId,
        team: Option<TeamName>,
        creator: Arc<dyn TeamCreator>,
        events: impl Fn(AgentEvent) + Send + Sync + 'static,
    ) -> Self {
        let team = team.map(|team| store.team(&team));
        Self {
            creator: Some(creator),
            ..Self::new(store, clock, MemberName::lead(), spawn_id, team, events)
        }
    }

    fn new(
        store: Arc<dyn TeamStore>,
        clock: Arc<dyn Clock>,
        name: MemberName,
        spawn_id: SpawnId,
        team: Option<Arc<dyn Team>>,
        events: impl Fn(AgentEvent) + Send + Sync + 'static,
    ) -> Self {
        Self {
            store,
            clock,
            name,
            spawn_id,
            color: None,
            team: Mutex::new(team),
            creator: None,
            hooks: OnceLock::new(),
            events: Box::new(events),
            merger: OnceLock::new(),
            led_by_another: OnceLock::new(),
            pinned_key: OnceLock::new(),
            handoff: OnceLock::new(),
            questions: PeerQuestions::default(),
            answer_timeout: OnceLock::new(),
            agent_program: OnceLock::new(),
        }
    }

    /// Returns the team, if there is one.
    pub fn team(&self) -> Option<Arc<dyn Team>> {
        self.team.lock().clone()
    }

    /// Returns the team; creates one for a lead without a team.
    ///
    /// # Errors
    /// [`NoTeam`] if there is none and none can be created.
    pub fn team_or_found(&self) -> Result<Arc<dyn Team>, NoTeam> {
        let mut team = self.team.lock();
        if let Some(team) = &*team {
            return Ok(Arc::clone(team));
        }
        let created = self.creator.as_ref().ok_or(NoTeam::None)?.create_team()?;
        let created = self.store.team(&created);
        *team = Some(Arc::clone(&created));
        Ok(created)
    }

    /// Sets the team.
    pub fn join(&self, team: &TeamName) -> Arc<dyn Team> {
        let team = self.store.team(team);
        *self.team.lock() = Some(Arc::clone(&team));
        team
    }

    /// Clears the team.
    pub fn leave(&self) {
        *self.team.lock() = None;
    }

    /// Sets the member's hooks. Only the first call has an effect.
    pub(crate) fn set_hooks(&self, hooks: AgentHooks) {
        self.hooks.get_or_init(|| hooks);
    }

    /// Returns the member's hooks; empty until they are set.
    pub fn hooks(&self) -> AgentHooks {
        self.hooks.get().cloned().unwrap_or_default()
    }

    /// Returns whether this is the lead's context.
    pub fn is_lead(&self) -> bool {
        self.name.is_lead()
    }

    /// Returns the actor for the task list.
    pub fn actor(&self, team: &TeamName) -> Actor {
        Actor::member(team, self.name.clone(), Some(self.spawn_id))
    }

    /// Builds a control frame from this member.
    pub fn control(&self, frame: &ControlFrame) -> Draft {
        Draft {
            color: self.color.map(|color| color.to_string()),
            ..Draft::control(self.name.as_str(), frame)
        }
    }

    /// Sets the time after which the lead is notified that a peer has not answered. Only the first
    /// call has an effect.
    pub fn expect_answers_within(&self, timeout: Option<Duration>) {
        self.answer_timeout.get_or_init(|| timeout);
    }

    pub(crate) fn answer_timeout(&self) -> Option<Duration> {
        self.answer_timeout.get().copied().flatten()
    }

    pub(crate) fn questions(&self) -> &PeerQuestions {
        &self.questions
    }

    /// Sets the merger for members in worktrees. Only the first call has an effect.
    pub fn merge_with(&self, merger: Arc<dyn WorkMerger>) {
        drop(self.merger.set(merger));
    }

    /// Returns the merger for members in worktrees.
    pub fn merger(&self) -> Option<&dyn WorkMerger> {
        self.merger.get().map(|merger| &**merger)
    }

    /// Records who leads the team, before the member's agent can change files. Only the first call
    /// has an effect.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn note_who_leads(&self, team: &dyn Team) -> Result<(), StoreError> {
        if self.led_by_another.get().is_none() {
            let led = is_led_by_another_program(team).await?;
            self.led_by_another.get_or_init(|| led);
        }
        Ok(())
    }

    /// Sets what happens to risky texts of other members. Only the first call has an effect.
    pub fn scan_handoffs(&self, scan: HandoffScan) {
        self.handoff.get_or_init(|| scan);
    }

    /// Returns what happens to risky texts of other members.
    pub fn handoff_scan(&self) -> HandoffScan {
        self.handoff.get().copied().unwrap_or_default()
    }

    /// Records that another agent program takes the member's turns, without swarm's own tools.
    pub fn use_agent_program(&self) {
        self.agent_program.get_or_init(|| ());
    }

    /// Returns whether another agent program takes the member's turns.
    pub fn is_agent_program(&self) -> bool {
        self.agent_program.get().is_some()
    }

    /// Sets the public key from the member's spawn order. Only the first call has an effect.
    pub fn pin_key(&self, key: Option<VerifyKey>) {
        self.pinned_key.get_or_init(|| key);
    }

    /// Returns the public key with which grants of the team are verified: the pinned one, for a
    /// lead that of the team's files. `None` for a team without a key, whose grants are not signed.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn key_of(&self, team: &dyn Team) -> Result<Option<VerifyKey>, StoreError> {
        match self.pinned_key.get() {
            Some(key) => Ok(key.clone()),
            None => team.verify_key().await,
        }
    }

    /// Returns whether an answer that came only by mail is valid: only if another program leads and
    /// has led since the member started. So an agent cannot fake this by deleting the lead's life
    /// file.
    pub(crate) async fn takes_mailed_answers(&self, team: &dyn Team) -> Result<bool, StoreError> {
        let led_at_start = self.led_by_another.get().copied().unwrap_or(true);
        Ok(led_at_start && is_led_by_another_program(team).await?)
    }

    /// Emits an event.
    pub fn emit(&self, event: AgentEvent) {
        (self.events)(event);
    }

    /// Emits a sent message.
    pub(crate) fn note_sent(&self, to: &MemberName, line: &str) {
        self.emit(AgentEvent::MailOut {
            to: to.to_string(),
            line: line.to_owned(),
        });
    }
}

/// Returns whether the lead is a process of another program: it has no life lock, and its answers
/// come only by mail.
async fn is_led_by_another_program(team: &dyn Team) -> Result<bool, StoreError> {
    let config = team.config().await?;
    let is_led = config.lead_process.is_some() || config.lead_session_id.is_some();
    Ok(is_led && team.lease(&MemberName::lead()).await? == Liveness::Foreign)
}
