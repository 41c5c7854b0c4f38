//! Leading a team: making it when it is first needed, and holding the lead's life lock while it lasts.

use parking_lot::Mutex;
use swarm_os::{LifeHolder, OsError};
use swarm_protocol::{Event, LifeKind, LifeRecord, MemberName, SessionId, SpawnId, TeamName};
use swarm_store::{NewTeam, StoreError};
use swarm_team::TeamCreator;

use crate::{LeadStanding, SpawnContext, lead_standing};

/// The name of a team that nobody named: `session-` and the first eight hex digits of the lead's session, as
/// Claude Code forms it.
///
/// # Errors
/// Never for a session id; the type says that names are checked.
pub fn implicit_team_name(session: SessionId) -> Result<TeamName, swarm_protocol::NameError> {
    let hex = session.uuid().simple().to_string();
    TeamName::parse(&format!("session-{}", &hex[..8]))
}

/// Beyond this many teams of one name no other name is tried.
const MOST_NAMESAKES: u32 = 1000;

/// Bytes of a name that leave room for the number behind it.
const STEM: usize = 59;

/// The name of the first, the second, … team that asks for this name.
fn numbered(asked: &TeamName, number: u32) -> TeamName {
    // Names are ASCII.
    let stem: String = asked.as_str().chars().take(STEM).collect();
    TeamName::parse(&format!("{stem}-{number}"))
        .ok()
        .filter(|_| number > 1)
        .unwrap_or_else(|| asked.clone())
}

/// A lead's hold on its team.
#[derive(Debug)]
pub struct Leadership {
    spawn_context: SpawnContext,
    session: SessionId,
    implicit: TeamName,
    model: String,
    held: Mutex<Option<Held>>,
}

#[derive(Debug)]
struct Held {
    team: TeamName,
    /// The name that was asked for.
    asked: TeamName,
    // Kept for its lock, which falls with it.
    _life: LifeHolder,
}

impl Leadership {
    /// A lead without a team yet.
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
        }
    }

    /// The team that is led.
    pub fn team(&self) -> Option<TeamName> {
        self.held.lock().as_ref().map(|held| held.team.clone())
    }

    /// Makes a team and takes its lead.
    ///
    /// # Errors
    /// Whatever the store says; a taken name among it.
    pub fn create(
        &self,
        name: TeamName,
        description: Option<String>,
    ) -> Result<TeamName, StoreError> {
        let mut held = self.held.lock();
        let dep = &self.spawn_context;
        dep.store.create_team(NewTeam {
            name: name.clone(),
            description,
            lead_session_id: Some(self.session.to_string()),
            lead_process: Some(dep.process.lead_process(&*dep.clock)),
            cwd: dep.cwd.clone(),
            lead_model: Some(self.model.clone()),
            created_by: swarm_protocol::LEAD_NAME.to_owned(),
        })?;
        let life = self.take_life(&name, dep.spawn_id)?;
        *held = Some(Held {
            team: name.clone(),
            asked: name.clone(),
            _life: life,
        });
        Ok(name)
    }

    /// Makes a team and takes its lead; where the name is taken, under the next one that is free: `parser-2` for `parser`.
    /// [`Self::answers_to`] knows both names.
    ///
    /// # Errors
    /// Whatever the store says.
    pub fn create_under_free_name(
        &self,
        asked: &TeamName,
        description: Option<&str>,
    ) -> Result<TeamName, StoreError> {
        let mut number = 1;
        let name = loop {
            let name = numbered(asked, number);
            match self.create(name, description.map(str::to_owned)) {
                Err(StoreError::TeamExists { .. } | StoreError::TeamCollides { .. })
                    if number < MOST_NAMESAKES =>
                {
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

    /// Whether this is the name of the team that is led, or the one that was asked for it.
    pub fn answers_to(&self, name: &str) -> bool {
        self.held
            .lock()
            .as_ref()
            .is_some_and(|held| held.team.as_str() == name || held.asked.as_str() == name)
    }

    /// Takes the lead of a team that has none, for the conversation of this lead. Of two that try at once one wins.
    ///
    /// # Errors
    /// [`StoreError::LeadAlive`] while another process leads, and whatever else the store says.
    pub fn take_over(&self, team: TeamName) -> Result<(), StoreError> {
        let mut held = self.held.lock();
        let dep = &self.spawn_context;
        let files = dep.store.team(&team);
        let config = files.config()?;
        let alive = |pid: Option<u32>| StoreError::LeadAlive {
            team: team.clone(),
            pid: pid.unwrap_or_default(),
        };
        match lead_standing(&*dep.store, &config)? {
            LeadStanding::Led { pid } => return Err(alive(pid)),
            LeadStanding::Unknown { pid } => return Err(alive(Some(pid))),
            LeadStanding::Foreign { .. } => {
                let path = files.team_directory();
                return Err(StoreError::ForeignTeam { path });
            }
            LeadStanding::Lost { .. } | LeadStanding::ByHand => {}
        }
        // The life lock first: it is what two that take over at once cannot both hold.
        let life = match self.take_life(&team, dep.spawn_id) {
            Err(StoreError::Fs(OsError::LockTimeout { .. })) => return Err(alive(None)),
            taken => taken?,
        };
        let process = dep.process.lead_process(&*dep.clock);
        files.set_lead_process(Some(process))?;
        files.set_lead_session(&self.session.to_string(), &self.model)?;
        files.journal(Event::LeadTaken {
            by: swarm_protocol::LEAD_NAME.to_owned(),
            pid: Some(dep.process.pid),
        })?;
        *held = Some(Held {
            asked: team.clone(),
            team,
            _life: life,
        });
        Ok(())
    }

    fn take_life(&self, team: &TeamName, spawn_id: SpawnId) -> Result<LifeHolder, StoreError> {
        let process = &self.spawn_context.process;
        let record = LifeRecord {
            kind: LifeKind::Process,
            pid: process.pid,
            proc_start: process.start.clone(),
            spawn_id,
            host: process.host.clone(),
            pid_space: process.pid_space.clone(),
        };
        // Ids, numbers and strings always serialize.
        let content = serde_json::to_vec(&record).unwrap_or_default();
        let store = &self.spawn_context.store;
        store.team(team).take_life(&MemberName::lead(), &content)
    }

    /// Gives the lead up; the team stays.
    ///
    /// # Errors
    /// Whatever the store says.
    pub fn resign(&self) -> Result<(), StoreError> {
        if let Some(held) = self.held.lock().take() {
            self.spawn_context
                .store
                .team(&held.team)
                .set_lead_process(None)?;
        }
        Ok(())
    }

    /// Forgets a team that was deleted.
    pub fn forget(&self) {
        self.held.lock().take();
    }
}

impl TeamCreator for Leadership {
    fn create_team(&self) -> Result<TeamName, StoreError> {
        self.create(self.implicit.clone(), None)
    }
}
