//! The teams of one hub that this machine takes part in.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use swarm_os::LockInterrupt;
use swarm_protocol::{Clock, TeamConfig, TeamName};

use crate::blocking_pool::on_blocking_pool;
use crate::file::{Layout, hub_file};
use crate::nats::{Background, Connection, NatsSpace};
use crate::observer::Observer;
use crate::records::{Known, Local, Patience, RecordsTeam};
use crate::{
    HubReport, HubSettings, LeaseTerms, Leftover, NewTeam, Nodes, Result, StoreError, StoreLimits,
    Team, TeamStore,
};

/// [`TeamStore`] on a hub. Members' own files are below one config directory, as those of
/// [`FileStore`](crate::FileStore). All clones share one connection for each team.
#[derive(Debug, Clone)]
pub struct HubStore {
    shared: Arc<Shared>,
    layout: Layout,
    clock: Arc<dyn Clock>,
    limits: StoreLimits,
    interrupt: LockInterrupt,
    terms: LeaseTerms,
    observer: Observer,
}

#[derive(Debug)]
struct Shared {
    hub: HubSettings,
    background: Arc<Background>,
    teams: Mutex<BTreeMap<TeamName, SharedTeam>>,
}

/// What the handles of one team share.
type SharedTeam = (Arc<NatsSpace>, Arc<Known>);

/// Longest wait for the state of a hub.
const REPORT: Duration = Duration::from_secs(6);

impl HubStore {
    /// Creates a store that connects when it is first used.
    ///
    /// # Errors
    /// If the thread of the connection cannot be started.
    pub fn new(root: PathBuf, hub: HubSettings, clock: Arc<dyn Clock>) -> Result<Self> {
        Ok(Self {
            shared: Arc::new(Shared {
                background: Arc::new(Background::start(&hub)?),
                hub,
                teams: Mutex::default(),
            }),
            layout: Layout::new(root),
            clock,
            limits: StoreLimits::default(),
            interrupt: LockInterrupt::default(),
            terms: LeaseTerms::default(),
            observer: Observer::default(),
        })
    }

    /// Replaces the limits.
    #[must_use]
    pub fn with_limits(mut self, limits: StoreLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Replaces the terms of leases, before a team is opened.
    #[must_use]
    pub fn with_lease_terms(mut self, terms: LeaseTerms) -> Self {
        self.terms = terms;
        self
    }

    #[must_use]
    pub(super) fn observed_by(mut self, observer: Observer) -> Self {
        self.observer = observer;
        self
    }

    #[must_use]
    pub(super) fn interrupted_by(mut self, interrupt: LockInterrupt) -> Self {
        self.interrupt = interrupt;
        self
    }

    /// Connects this machine to a team that exists on the hub. Returns its roster.
    ///
    /// # Errors
    /// [`StoreError::NotOnHub`].
    pub async fn join(&self, team: &TeamName) -> Result<TeamConfig> {
        let config = self.team(team).config().await?;
        let joined = hub_file::is_joined(&self.layout, team).unwrap_or(true);
        hub_file::create(&self.layout, team, self.hub(), joined)?;
        Ok(config)
    }

    /// Asks the hub of a team for its state.
    ///
    /// # Errors
    /// If it cannot be reached, or the team is not there.
    pub async fn report(&self, team: &TeamName) -> Result<HubReport> {
        let (space, _) = self.space(team);
        on_blocking_pool(move || space.report(REPORT)).await
    }

    /// Returns the nodes of the hub.
    pub fn nodes(&self) -> Nodes {
        Nodes::new(self.handle(&TeamName::nodes()))
    }

    fn hub(&self) -> &HubSettings {
        &self.shared.hub
    }

    /// All handles of a team share its connection, and what is known of it.
    fn space(&self, team: &TeamName) -> SharedTeam {
        let mut spaces = self.shared.teams.lock();
        let shared = spaces.entry(team.clone()).or_insert_with(|| {
            let background = Arc::clone(&self.shared.background);
            let connection = Connection::new(self.hub().clone(), team, background);
            let space = NatsSpace::new(Arc::new(connection), team.clone(), self.terms);
            (Arc::new(space), Arc::default())
        });
        shared.clone()
    }

    fn handle(&self, team: &TeamName) -> RecordsTeam {
        let local = Local {
            layout: self.layout.clone(),
        };
        let (space, known) = self.space(team);
        let (nodes, _) = self.space(&TeamName::nodes());
        RecordsTeam::new(
            team.clone(),
            (space, nodes),
            Arc::clone(&self.clock),
            self.limits.clone(),
            local,
            Patience::new(self.interrupt.clone()),
        )
        .with_known(known)
        .with_observer(self.observer.clone())
    }
}

#[async_trait]
impl TeamStore for HubStore {
    fn team(&self, name: &TeamName) -> Arc<dyn Team> {
        Arc::new(self.handle(name))
    }

    fn with_lock_interrupt(&self, interrupt: &LockInterrupt) -> Arc<dyn TeamStore> {
        Arc::new(self.clone().interrupted_by(interrupt.clone()))
    }

    /// The hub has the team before this machine knows it: an interrupted creation is completed by
    /// [`HubStore::join`].
    async fn create_team(&self, new: NewTeam) -> Result<TeamConfig> {
        let team = self.handle(&new.name);
        let name = new.name.clone();
        let config = on_blocking_pool(move || team.create(&new)).await?;
        hub_file::create(&self.layout, &name, self.hub(), false)?;
        Ok(config)
    }

    async fn teams(&self) -> Result<Vec<TeamName>> {
        let names = swarm_os::names_in(&self.layout.teams())?.unwrap_or_default();
        let mut teams: Vec<TeamName> = names
            .iter()
            .filter_map(|name| TeamName::parse(name.to_str()?).ok())
            .collect();
        teams.sort();
        let is_here = |team: &TeamName| {
            let hub = hub_file::read(&self.layout, team);
            matches!(hub, Ok(Some(hub)) if hub == *self.hub())
        };
        teams.retain(is_here);
        Ok(teams)
    }

    async fn teams_and_remains(&self) -> Result<(Vec<TeamName>, Vec<TeamName>)> {
        Ok((self.teams().await?, Vec::new()))
    }

    async fn sweep(&self, _clear: bool) -> Result<Vec<(Leftover, Result<()>)>> {
        Ok(Vec::new())
    }
}

/// Returns the error of a name that is in use on this machine.
pub(super) fn exists(team: &TeamName, hub: &HubSettings) -> StoreError {
    StoreError::TeamOnHub {
        team: team.clone(),
        hub: hub.url.clone(),
        is_joined: true,
    }
}
