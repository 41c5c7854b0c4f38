//! Leadership of a team: creates the team when it is first needed and holds the lead's life lock.

use parking_lot::Mutex;
use swarm_protocol::{Event, LifeKind, LifeRecord, MemberName, SessionId, SpawnId, TeamName};
use swarm_store::{BlockOn as _, Lease, NewTeam, StoreError};
use swarm_team::TeamCreator;
use tokio::sync::Notify;

use crate::{LeadStanding, SpawnContext, lead_standing};

/// Returns the default name of a team: `session-` and the first eight hex digits of the lead's
/// session, as in Claude Code.
///
/// # Errors
/// Never for a session id; names are validated by their type.
pub fn implicit_team_name(session: SessionId) -> Result<TeamName, swarm_protocol::NameError> {
    let hex = session.uuid().simple().to_string();
    TeamName::parse(&format!("session-{}", &hex[..8]))
}

/// Maximum number of names tried for a taken name.
const MOST_NAMESAKES: u32 = 1000;

/// Maximum bytes of a name that leave room for the numeric suffix.
const STEM: usize = 59;

/// Returns the nth candidate for a name: the name itself, then with a numeric suffix.
fn numbered(asked: &TeamName, number: u32) -> TeamName {
    // Names are ASCII.
    let stem: String = asked.as_str().chars().take(STEM).collect();
    TeamName::parse(&format!("{stem}-{number}"))
        .ok()
        .filter(|_| number > 1)
        .unwrap_or_else(|| asked.clone())
}

/// A lead's leadership of its team.
#[derive(Debug)]
pub struct Leadership {
    spawn_context: SpawnContext,
    session: SessionId,
    implicit: TeamName,
    model: String,
    held: Mutex<Option<Held>>,
    /// Notified when a lease is taken.
    taken: Notify,
}

#[derive(Debug)]
struct Held {
    team: TeamName,
    /// Requested name.
    asked: TeamName,
    /// Released on drop.
    life: Lease,
}

impl Leadership {
    /// Creates a lead without a team.
    pub fn new(
        spawn_context: SpawnContext,
        session: SessionId,
        implicit: TeamName,
        model: String,
    ) -> Self {
        Self {
            spawn_context,
            session,
            implicit,
            model,
            held: Mutex::new(None),
            taken: Notify::new(),
        }
    }

    /// Returns the team of the lead.
    pub fn team(&self) -> Option<TeamName> {
        self.held.lock().as_ref().map(|held| held.team.clone())
    }

    /// Creates a team and becomes its lead.
    ///
    /// # Errors
    /// Returns an error if the store fails or the name is taken.
    pub fn create(
        &self,
        name: TeamName,
        description: Option<String>,
    ) -> Result<TeamName, StoreError> {
        let mut held = self.held.lock();
        let dep = &self.spawn_context;
        dep.store
            .create_team(NewTeam {
                description,
                lead_session_id: Some(self.session.to_string()),
                lead_process: Some(dep.process.lead_process(&*dep.clock)),
                lead_model: Some(self.model.clone()),
                ..NewTeam::new(name.clone(), &dep.workspace.cwd, swarm_protocol::LEAD_NAME)
            })
            .block_on()?;
        let life = self.take_life(&name, dep.spawn_id)?;
        *held = Some(Held {
            team: name.clone(),
            asked: name.clone(),
            life,
        });
        self.taken.notify_waiters();
        Ok(name)
    }

    /// Creates a team and becomes its lead. If the name is taken, uses the next free one, such as
    /// `parser-2` for `parser`; [`Self::answers_to`] accepts both names.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn create_under_free_name(
        &self,
        asked: &TeamName,
        description: Option<&str>,
    ) -> Result<TeamName, StoreError> {
        let mut number = 1;
        let name = loop {
            let name = numbered(asked, number);
            match self.create(name, description.map(str::to_owned)) {
                Err(
                    StoreError::TeamExists { .. }
                    | StoreError::TeamOnHub { .. }
                    | StoreError::TeamCollides { .. },
                ) if number < MOST_NAMESAKES => {
                    number += 1;
                }
                created => break created?,
            }
        };
        if let Some(held) = self.held.lock().as_mut() {
            held.asked = asked.clone();
        }
        Ok(name)
    }

    /// Returns whether this is the name of the team or the one requested for it.
    pub fn answers_to(&self, name: &str) -> bool {
        self.held
            .lock()
            .as_ref()
            .is_some_and(|held| held.team.as_str() == name || held.asked.as_str() == name)
    }

    /// Takes over a team without a lead, for the conversation of this lead. Of two simultaneous
    /// attempts one succeeds.
    ///
    /// # Errors
    /// [`StoreError::LeadAlive`] while another process leads the team, and other errors of the
    /// store.
    pub fn take_over(&self, team: TeamName) -> Result<(), StoreError> {
        let mut held = self.held.lock();
        let dep = &self.spawn_context;
        let files = dep.store.team(&team);
        let config = files.config().block_on()?;
        let alive = |pid: Option<u32>| StoreError::LeadAlive {
            team: team.clone(),
            pid: pid.unwrap_or_default(),
        };
        match lead_standing(&*dep.store, &config)? {
            LeadStanding::Led(pid) => return Err(alive(pid)),
            LeadStanding::Unknown(pid) => return Err(alive(Some(pid))),
            LeadStanding::Foreign(_) => {
                let location = files.location();
                return Err(StoreError::ForeignTeam(location));
            }
            LeadStanding::Lost(_) | LeadStanding::ByHand => {}
        }
        // The life lock comes first, because only one process can hold it.
        let life = match self.take_life(&team, dep.spawn_id) {
            Err(StoreError::LeaseHeld { .. }) => return Err(alive(None)),
            taken => taken?,
        };
        let process = dep.process.lead_process(&*dep.clock);
        files.set_lead_process(Some(process)).block_on()?;
        files
            .set_lead_session(&self.session.to_string(), &self.model)
            .block_on()?;
        files
            .journal(Event::LeadTaken {
                by: swarm_protocol::LEAD_NAME.to_owned(),
                pid: Some(dep.process.pid),
            })
            .block_on()?;
        *held = Some(Held {
            asked: team.clone(),
            team,
            life,
        });
        self.taken.notify_waiters();
        Ok(())
    }

    /// Resolves when the lease of the lead is lost, also if it is taken only now: its members park, and changes are
    /// refused.
    pub async fn lost(&self) {
        loop {
            let taken = self.taken.notified();
            let lost = self.held.lock().as_ref().map(|held| held.life.lost());
            let lost = async {
                match lost {
                    Some(lost) => lost.await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = lost => return,
                () = taken => {}
            }
        }
    }

    /// Checks that the lease of the lead is not lost.
    ///
    /// # Errors
    /// [`StoreError::LeaseLost`].
    pub fn require_lease(&self) -> Result<(), StoreError> {
        match self.held.lock().as_ref() {
            Some(held) if held.life.is_lost() => Err(StoreError::LeaseLost {
                team: held.team.clone(),
                name: MemberName::lead(),
            }),
            _ => Ok(()),
        }
    }

    fn take_life(&self, team: &TeamName, spawn_id: SpawnId) -> Result<Lease, StoreError> {
        let process = &self.spawn_context.process;
        let shell = &self.spawn_context.definition.config.shell;
        let record = LifeRecord {
            confined: shell.cut_terminals(),
            off_loopback: shell.cut_loopback(),
            ..process.life_record(LifeKind::Process, spawn_id)
        };
        let store = &self.spawn_context.store;
        store
            .team(team)
            .take_life(&MemberName::lead(), &record)
            .block_on()
    }

    /// Gives up the leadership; the team remains.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn resign(&self) -> Result<(), StoreError> {
        if let Some(held) = self.held.lock().take() {
            self.spawn_context
                .store
                .team(&held.team)
                .set_lead_process(None)
                .block_on()?;
        }
        Ok(())
    }

    /// Clears the state after the team was deleted.
    pub fn forget(&self) {
        self.held.lock().take();
    }
}

impl TeamCreator for Leadership {
    fn create_team(&self) -> Result<TeamName, StoreError> {
        self.create(self.implicit.clone(), None)
    }
}
