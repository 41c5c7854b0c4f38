//! The teams of a file store.

use std::sync::Arc;

use async_trait::async_trait;
use swarm_os::LockInterrupt;
use swarm_protocol::{TeamConfig, TeamName};

use super::team::FileTeam;
use crate::blocking_pool::on_blocking_pool;
use crate::{FileStore, Leftover, NewTeam, Result, Team, TeamStore};

impl FileStore {
    /// Applies a custom change to a roster under its lock and returns the written roster.
    ///
    /// # Errors
    /// What `change` returns; nothing is written then.
    pub fn update_config(
        &self,
        team: &TeamName,
        change: impl FnOnce(&mut TeamConfig) -> Result<()>,
    ) -> Result<TeamConfig> {
        self.files(team).update_config(change)
    }

    pub(crate) fn interrupted_by(&self, interrupt: &LockInterrupt) -> Self {
        let mut store = self.clone();
        store.lock_options.interrupt = Some(interrupt.clone());
        store
    }

    pub(crate) fn files(&self, team: &TeamName) -> FileTeam {
        FileTeam {
            store: self.clone(),
            team: team.clone(),
            at: self.layout.team(team),
            is_aside: false,
        }
    }
}

#[async_trait]
impl TeamStore for FileStore {
    fn team(&self, name: &TeamName) -> Arc<dyn Team> {
        Arc::new(self.files(name))
    }

    fn with_lock_interrupt(&self, interrupt: &LockInterrupt) -> Arc<dyn TeamStore> {
        Arc::new(self.interrupted_by(interrupt))
    }

    async fn create_team(&self, new: NewTeam) -> Result<TeamConfig> {
        let store = self.clone();
        on_blocking_pool(move || store.create(new)).await
    }

    async fn teams(&self) -> Result<Vec<TeamName>> {
        self.team_names()
    }

    async fn teams_and_remains(&self) -> Result<(Vec<TeamName>, Vec<TeamName>)> {
        self.names_and_remains()
    }

    async fn sweep(&self, clear: bool) -> Result<Vec<(Leftover, Result<()>)>> {
        let store = self.clone();
        on_blocking_pool(move || store.sweep(clear)).await
    }
}
