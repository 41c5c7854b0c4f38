//! A member's place at the table: who it is and which team it sits in.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use parking_lot::Mutex;
use swarm_hooks::AgentHooks;
use swarm_os::{Liveness, LockInterrupt, probe};
use swarm_protocol::{
    AgentEvent, AgentId, Clock, Color, ControlFrame, MemberName, SpawnId, TeamName,
};
use swarm_store::blocking::{Team, TeamStore};
use swarm_store::{Actor, Draft, StoreError};

/// Makes a team for a lead that acts before it has one.
pub trait TeamCreator: Send + Sync + fmt::Debug {
    /// Makes the team and returns its name.
    ///
    /// # Errors
    /// Whatever the store says.
    fn create_team(&self) -> Result<TeamName, StoreError>;
}

/// A tool needed a team and there is none.
#[derive(Debug, thiserror::Error)]
pub enum NoTeam {
    /// No team and nobody who may make one.
    #[error("there is no team yet: call TeamCreate first")]
    None,
    /// The team could not be made.
    #[error("the team could not be created: {0}")]
    Creating(#[from] StoreError),
}

type EventFn = dyn Fn(AgentEvent) + Send + Sync;

/// Who acts through the team tools.
pub struct MemberContext {
    /// The one owner of the files.
    pub store: Arc<dyn TeamStore>,
    /// Time for frames.
    pub clock: Arc<dyn Clock>,
    /// The member's name.
    pub name: MemberName,
    /// This spawn of it.
    pub spawn_id: SpawnId,
    /// Its colour, which its messages carry. The lead's carry none.
    pub color: Option<Color>,
    team: Mutex<Option<Arc<dyn Team>>>,
    /// Cuts the waits of the team's handle for locks short.
    lock_interrupt: LockInterrupt,
    creator: Option<Arc<dyn TeamCreator>>,
    hooks: OnceLock<AgentHooks>,
    events: Box<EventFn>,
    merger: OnceLock<Arc<dyn WorkMerger>>,
    /// Whether another program led the team when the member started.
    led_by_another: OnceLock<bool>,
}

impl fmt::Debug for MemberContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemberContext")
            .field("name", &self.name)
            .field("spawn_id", &self.spawn_id)
            .field(
                "team",
                &self.team.lock().as_ref().map(|team| team.name().clone()),
            )
            .finish_non_exhaustive()
    }
}

impl MemberContext {
    /// A teammate's context in its team.
    pub fn teammate(
        store: Arc<dyn TeamStore>,
        clock: Arc<dyn Clock>,
        agent: &AgentId,
        spawn_id: SpawnId,
        color: Option<Color>,
        events: impl Fn(AgentEvent) + Send + Sync + 'static,
    ) -> Self {
        let lock_interrupt = LockInterrupt::default();
        let team = store.team(&agent.team);
        Self {
            team: Mutex::new(Some(team.with_lock_interrupt(&lock_interrupt))),
            lock_interrupt,
            store,
            clock,
            name: agent.name.clone(),
            spawn_id,
            color,
            creator: None,
            hooks: OnceLock::new(),
            events: Box::new(events),
            merger: OnceLock::new(),
            led_by_another: OnceLock::new(),
        }
    }

    /// The lead's context; its team may come later, made by `creator` when a tool first needs one.
    pub fn lead(
        store: Arc<dyn TeamStore>,
        clock: Arc<dyn Clock>,
        spawn_id: SpawnId,
        team: Option<TeamName>,
        creator: Arc<dyn TeamCreator>,
        events: impl Fn(AgentEvent) + Send + Sync + 'static,
    ) -> Self {
        let lock_interrupt = LockInterrupt::default();
        let team = team.map(|team| store.team(&team).with_lock_interrupt(&lock_interrupt));
        Self {
            team: Mutex::new(team),
            lock_interrupt,
            store,
            clock,
            name: MemberName::lead(),
            spawn_id,
            color: None,
            creator: Some(creator),
            hooks: OnceLock::new(),
            events: Box::new(events),
            merger: OnceLock::new(),
            led_by_another: OnceLock::new(),
        }
    }

    /// The team, if there is one.
    pub fn team(&self) -> Option<Arc<dyn Team>> {
        self.team.lock().clone()
    }

    /// The team; a lead without one gets it made.
    ///
    /// # Errors
    /// [`NoTeam`] when there is none and none can be made.
    pub fn team_or_found(&self) -> Result<Arc<dyn Team>, NoTeam> {
        let mut team = self.team.lock();
        if let Some(team) = &*team {
            return Ok(Arc::clone(team));
        }
        let created = self.creator.as_ref().ok_or(NoTeam::None)?.create_team()?;
        let created = self.handle(&created);
        *team = Some(Arc::clone(&created));
        Ok(created)
    }

    /// Takes a context in a team.
    pub fn join(&self, team: &TeamName) -> Arc<dyn Team> {
        let team = self.handle(team);
        *self.team.lock() = Some(Arc::clone(&team));
        team
    }

    fn handle(&self, team: &TeamName) -> Arc<dyn Team> {
        self.store
            .team(team)
            .with_lock_interrupt(&self.lock_interrupt)
    }

    /// What cuts the member's waits for locks short when it is to stop.
    pub fn lock_interrupt(&self) -> &LockInterrupt {
        &self.lock_interrupt
    }

    /// Leaves the team.
    pub fn leave(&self) {
        *self.team.lock() = None;
    }

    /// Gives the member its hooks; the first word counts.
    pub(crate) fn set_hooks(&self, hooks: AgentHooks) {
        self.hooks.get_or_init(|| hooks);
    }

    /// The member's hooks; empty until it has any.
    pub fn hooks(&self) -> AgentHooks {
        self.hooks.get().cloned().unwrap_or_default()
    }

    /// Whether this is the lead's.
    pub fn is_lead(&self) -> bool {
        self.name.is_lead()
    }

    /// Who acts, as the task list sees it.
    pub fn actor(&self, team: &TeamName) -> Actor {
        Actor::member(team, self.name.clone(), Some(self.spawn_id))
    }

    /// A control frame as this member sends it.
    pub fn control(&self, frame: &ControlFrame) -> Draft {
        Draft {
            color: self.color.map(|color| color.to_string()),
            ..Draft::control(self.name.as_str(), frame)
        }
    }

    /// Says who merges the work of members in worktrees; the first word counts.
    pub fn merge_with(&self, merger: Arc<dyn WorkMerger>) {
        drop(self.merger.set(merger));
    }

    /// Who merges the work of members in worktrees.
    pub fn merger(&self) -> Option<&dyn WorkMerger> {
        self.merger.get().map(|merger| &**merger)
    }

    /// Notes who leads, before the member's agent can change any file. The first call counts.
    ///
    /// # Errors
    /// Whatever the store says.
    pub fn note_who_leads(&self, team: &dyn Team) -> Result<(), StoreError> {
        if self.led_by_another.get().is_none() {
            let led = is_led_by_another_program(team)?;
            self.led_by_another.get_or_init(|| led);
        }
        Ok(())
    }

    /// Whether an answer counts that came by mail alone: only where another program leads, and has
    /// done so since the member started. An agent that removes the life file of a lead of ours
    /// gains nothing by it.
    pub(crate) fn takes_mailed_answers(&self, team: &dyn Team) -> Result<bool, StoreError> {
        let led_at_start = self.led_by_another.get().copied().unwrap_or(true);
        Ok(led_at_start && is_led_by_another_program(team)?)
    }

    /// Shows something to whoever watches.
    pub fn emit(&self, event: AgentEvent) {
        (self.events)(event);
    }

    /// Shows a message that went out.
    pub(crate) fn note_sent(&self, to: &MemberName, line: &str) {
        self.emit(AgentEvent::MailOut {
            to: to.to_string(),
            line: line.to_owned(),
        });
    }
}

/// Whether the team's lead is a process that is not ours: it has no life lock, and its answers come
/// by mail alone.
fn is_led_by_another_program(team: &dyn Team) -> Result<bool, StoreError> {
    let config = team.config()?;
    let is_led = config.lead_process.is_some() || config.lead_session_id.is_some();
    let life = team.life_path(&MemberName::lead());
    Ok(is_led && probe(&life)? == Liveness::Foreign)
}

/// Brings the work in a worktree to where it is meant for.
#[async_trait]
pub trait WorkMerger: Send + Sync + fmt::Debug {
    /// Returns once the commits in a worktree are in its target, or need not be. Otherwise the
    /// error says, for the one who worked there, what is in the way and what to do.
    async fn merge(&self, worktree: &Path) -> Result<(), String>;
}
