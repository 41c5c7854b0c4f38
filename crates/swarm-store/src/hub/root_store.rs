//! All teams below one config directory: in files, or on hubs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use swarm_os::LockInterrupt;
use swarm_protocol::{TeamConfig, TeamName};

use super::store::{HubStore, exists};
use crate::file::hub_file;
use crate::{
    FileStore, HubReport, HubSettings, Leftover, NewTeam, Nodes, Result, StoreError, Team,
    TeamStore,
};

/// How long a hub that may have moved is asked for a team.
const PATIENCE: Duration = Duration::from_secs(2);

/// [`TeamStore`] that opens each team where it is: its `swarm/hub.json` names a hub, otherwise it is
/// in files.
#[derive(Debug, Clone)]
pub struct RootStore {
    files: FileStore,
    hubs: Arc<Mutex<BTreeMap<HubSettings, HubStore>>>,
    interrupt: LockInterrupt,
    /// Where teams are created; in files without it.
    new_teams_on: Option<HubSettings>,
}

impl RootStore {
    /// Creates a store with the teams of a file store, and teams on hubs with the same root, limits
    /// and clock.
    pub fn new(files: FileStore) -> Self {
        Self {
            files,
            hubs: Arc::default(),
            interrupt: LockInterrupt::default(),
            new_teams_on: None,
        }
    }

    /// Returns the same teams in a store that creates new ones on a hub.
    #[must_use]
    pub fn creating_on(&self, hub: HubSettings) -> Self {
        Self {
            new_teams_on: Some(hub),
            ..self.clone()
        }
    }

    /// Returns the hub on which teams are created.
    pub fn new_teams_on(&self) -> Option<&HubSettings> {
        self.new_teams_on.as_ref()
    }

    /// Returns the hub of a team; `None` for teams in files.
    ///
    /// # Errors
    /// [`Damaged`](crate::StoreError::Damaged) if `swarm/hub.json` cannot be parsed.
    pub fn hub_of(&self, team: &TeamName) -> Result<Option<HubSettings>> {
        hub_file::read(&self.files.layout, team)
    }

    /// Returns the hubs of all teams. A `swarm/hub.json` that cannot be parsed is skipped.
    ///
    /// # Errors
    /// If the directory of the teams cannot be read.
    pub fn hubs(&self) -> Result<BTreeSet<HubSettings>> {
        let teams = self.on_hubs()?;
        let hubs = teams.iter().filter_map(|team| self.hub_of(team).ok()?);
        Ok(hubs.collect())
    }

    /// Connects this machine to a team that exists on a hub. If it is connected, the settings of the
    /// hub are replaced.
    ///
    /// # Errors
    /// [`StoreError::NotOnHub`]; [`StoreError::TeamExists`] or [`StoreError::TeamOnHub`] if another team
    /// has this name here.
    pub async fn join_hub(&self, team: &TeamName, hub: HubSettings) -> Result<TeamConfig> {
        let joined = self.hub(hub.clone())?;
        match self.hub_of(team) {
            Ok(None) => self.files.refuse_collision(team)?,
            Ok(Some(known)) if known != hub => self.refuse_another(team, &known, &joined).await?,
            // Joining writes the file again.
            Ok(Some(_)) | Err(StoreError::Damaged { .. }) => {}
            Err(error) => return Err(error),
        }
        joined.join(team).await
    }

    /// Fails if the known hub has another team of this name. If it does not answer, or not to these
    /// credentials, it cannot be asked: joining is the way to correct them.
    async fn refuse_another(
        &self,
        team: &TeamName,
        known: &HubSettings,
        joined: &HubStore,
    ) -> Result<()> {
        let wanted = joined.team(team).config().await?;
        let there = self.hub(known.clone())?.team(team);
        let there = there.with_lock_timeout(PATIENCE).config().await;
        match there {
            Ok(there) if there.created_at != wanted.created_at => Err(exists(team, known)),
            _ => Ok(()),
        }
    }

    /// Asks the hub of a team for its state.
    ///
    /// # Errors
    /// If it cannot be reached, or the team is not there.
    pub async fn hub_report(&self, team: &TeamName, hub: HubSettings) -> Result<HubReport> {
        self.hub(hub)?.report(team).await
    }

    /// Returns the nodes of a hub.
    ///
    /// # Errors
    /// If the thread of the connection cannot be started.
    pub fn nodes(&self, hub: HubSettings) -> Result<Nodes> {
        Ok(self.hub(hub)?.nodes())
    }

    fn hub(&self, settings: HubSettings) -> Result<HubStore> {
        let mut hubs = self.hubs.lock();
        if let Some(store) = hubs.get(&settings) {
            return Ok(store.clone().interrupted_by(self.interrupt.clone()));
        }
        let root = self.files.layout.root();
        let store = HubStore::new(root, settings.clone(), Arc::clone(&self.files.clock))?;
        let store = store
            .with_limits(self.files.limits.clone())
            .observed_by(self.files.observer.clone());
        hubs.insert(settings, store.clone());
        Ok(store.interrupted_by(self.interrupt.clone()))
    }

    /// Returns the names of the teams on hubs.
    fn on_hubs(&self) -> Result<Vec<TeamName>> {
        let mut names = self.files.directory_names()?;
        names.retain(|name| hub_file::path(&self.files.layout, name).exists());
        Ok(names)
    }
}

#[async_trait]
impl TeamStore for RootStore {
    fn team(&self, name: &TeamName) -> Arc<dyn Team> {
        // A team on a hub has no roster in files. Most teams are in files, and a handle is taken often.
        if self.files.layout.team(name).config().exists() {
            return self.files.team(name);
        }
        let opened = self.hub_of(name).and_then(|hub| match hub {
            Some(hub) => Ok(Some(self.hub(hub)?)),
            None => Ok(None),
        });
        match opened {
            Ok(Some(hub)) => hub.team(name),
            Ok(None) => self.files.team(name),
            // Its operations fail with this error there.
            Err(error) => {
                tracing::error!(%error, team = %name, "cannot open the hub of a team");
                self.files.team(name)
            }
        }
    }

    fn with_lock_interrupt(&self, interrupt: &LockInterrupt) -> Arc<dyn TeamStore> {
        Arc::new(Self {
            files: self.files.interrupted_by(interrupt),
            hubs: Arc::clone(&self.hubs),
            interrupt: interrupt.clone(),
            new_teams_on: self.new_teams_on.clone(),
        })
    }

    async fn create_team(&self, new: NewTeam) -> Result<TeamConfig> {
        if let Some(hub) = self.hub_of(&new.name)? {
            return Err(exists(&new.name, &hub));
        }
        match &self.new_teams_on {
            Some(hub) => {
                self.files.refuse_collision(&new.name)?;
                self.hub(hub.clone())?.create_team(new).await
            }
            None => self.files.create_team(new).await,
        }
    }

    async fn teams(&self) -> Result<Vec<TeamName>> {
        let mut teams = self.files.teams().await?;
        teams.extend(self.on_hubs()?);
        teams.sort();
        Ok(teams)
    }

    async fn teams_and_remains(&self) -> Result<(Vec<TeamName>, Vec<TeamName>)> {
        let (mut teams, remains) = self.files.teams_and_remains().await?;
        // Teams on hubs have no roster in files.
        let is_on_hub = |name: &TeamName| hub_file::path(&self.files.layout, name).exists();
        let (on_hubs, remains): (Vec<_>, Vec<_>) = remains.into_iter().partition(is_on_hub);
        teams.extend(on_hubs);
        teams.sort();
        Ok((teams, remains))
    }

    async fn sweep(&self, clear: bool) -> Result<Vec<(Leftover, Result<()>)>> {
        TeamStore::sweep(&self.files, clear).await
    }
}
