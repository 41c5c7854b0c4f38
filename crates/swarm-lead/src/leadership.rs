//! Leading a team: making it when it is first needed, and holding the lead's life lock while it lasts.

use std::sync::{Mutex, MutexGuard, PoisonError};

use swarm_fs::LifeHolder;
use swarm_protocol::{LifeKind, LifeRecord, MemberName, SessionId, SpawnId, TeamName};
use swarm_store::{NewTeam, StoreError};
use swarm_team::Founder;

use crate::Deployment;

/// The name of a team that nobody named: `session-` and the first eight hex digits of the lead's session, as
/// Claude Code forms it.
///
/// # Errors
/// Never for a session id; the type says that names are checked.
pub fn implicit_team_name(session: SessionId) -> Result<TeamName, swarm_protocol::NameError> {
    let hex = session.uuid().simple().to_string();
    TeamName::parse(&format!("session-{}", &hex[..8]))
}

/// A lead's hold on its team.
#[derive(Debug)]
pub struct Leadership {
    deployment: Deployment,
    session: SessionId,
    implicit: TeamName,
    model: String,
    held: Mutex<Option<Held>>,
}

#[derive(Debug)]
struct Held {
    team: TeamName,
    // Kept for its lock, which falls with it.
    _life: LifeHolder,
}

impl Leadership {
    /// A lead without a team yet.
    pub fn new(
        deployment: Deployment,
        session: SessionId,
        implicit: TeamName,
        model: String,
    ) -> Self {
        Self {
            deployment,
            session,
            implicit,
            model,
            held: Mutex::new(None),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Held>> {
        // Replaced whole.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The team that is led.
    pub fn team(&self) -> Option<TeamName> {
        self.lock().as_ref().map(|held| held.team.clone())
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
        let mut held = self.lock();
        let dep = &self.deployment;
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
            _life: life,
        });
        Ok(name)
    }

    fn take_life(&self, team: &TeamName, spawn_id: SpawnId) -> Result<LifeHolder, StoreError> {
        let process = &self.deployment.process;
        let record = LifeRecord {
            kind: LifeKind::Process,
            pid: process.pid,
            proc_start: process.start.clone(),
            spawn_id,
            host: process.host.clone(),
        };
        // Ids, numbers and strings always serialize.
        let content = serde_json::to_vec(&record).unwrap_or_default();
        let path = self.deployment.store.life_path(team, &MemberName::lead());
        Ok(LifeHolder::take(&path, &content)?)
    }

    /// Gives the lead up; the team stays.
    ///
    /// # Errors
    /// Whatever the store says.
    pub fn resign(&self) -> Result<(), StoreError> {
        if let Some(held) = self.lock().take() {
            self.deployment.store.set_lead_process(&held.team, None)?;
        }
        Ok(())
    }

    /// Forgets a team that was deleted.
    pub fn forget(&self) {
        self.lock().take();
    }
}

impl Founder for Leadership {
    fn found(&self) -> Result<TeamName, StoreError> {
        self.create(self.implicit.clone(), None)
    }
}
