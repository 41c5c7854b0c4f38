//! All teams of a memory store.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use parking_lot::Mutex;
use swarm_os::LockInterrupt;
use swarm_protocol::{Clock, MemberName, TeamConfig, TeamName};

use super::faults::{Faults, Hold, Silence};
use super::space::{MemorySpace, Shared};
use crate::file::Layout;
use crate::records::{Local, Patience, RecordsTeam};
use crate::{Leftover, NewTeam, Nodes, Result, StoreLimits, Team, TeamStore};

/// [`TeamStore`](crate::TeamStore) in memory, shared by its clones.
#[derive(Debug, Clone)]
pub struct MemoryStore {
    shared: Arc<Shared>,
    clock: Arc<dyn Clock>,
    /// Local directories of members are below it.
    scratch: PathBuf,
    limits: StoreLimits,
    /// Interrupts waits of the teams' calls.
    interrupt: LockInterrupt,
}

impl MemoryStore {
    /// Creates a store without teams. The local directories of members are below `scratch`; nothing
    /// else is written to disk.
    pub fn new(scratch: PathBuf, clock: Arc<dyn Clock>) -> Self {
        Self::with_faults(scratch, clock, Faults::default())
    }

    /// Creates a store whose steps are delayed, whose writes conflict, and whose acknowledgements
    /// are lost, as `seed` says.
    pub fn disturbed(scratch: PathBuf, clock: Arc<dyn Clock>, seed: u64) -> Self {
        Self::with_faults(scratch, clock, Faults::seeded(seed))
    }

    fn with_faults(scratch: PathBuf, clock: Arc<dyn Clock>, faults: Faults) -> Self {
        Self {
            shared: Arc::new(Shared {
                teams: Mutex::default(),
                faults: Arc::new(faults),
                since: Instant::now(),
            }),
            clock,
            scratch,
            limits: StoreLimits::default(),
            interrupt: LockInterrupt::default(),
        }
    }

    /// Replaces the limits.
    #[must_use]
    pub fn with_limits(mut self, limits: StoreLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Makes all writes wait until the returned value is dropped, as if another program held every
    /// lock.
    pub fn hold(&self) -> Hold {
        self.shared.faults.hold()
    }

    /// Answers no request until the returned value is dropped, like a hub whose connection is lost. Those who watch
    /// look again, because they may have missed a change.
    pub fn silence(&self) -> Silence {
        let silence = self.shared.faults.silence();
        for content in self.shared.teams.lock().values() {
            content.ring_all();
        }
        silence
    }

    /// Ends the lease of a member although its holder keeps it, as on a hub when it is not renewed in
    /// time. Writes of the holder are not refused.
    pub fn lose_lease(&self, team: &TeamName, name: &MemberName) {
        let content = self.shared.teams.lock().get(team).cloned();
        if let Some(content) = content {
            content.lose_lease(name);
        }
    }

    /// Describes all records, so that a test can see whether something was changed.
    pub fn content(&self) -> String {
        format!("{:?}", self.shared.teams.lock())
    }

    /// Returns the nodes.
    pub fn nodes(&self) -> Nodes {
        Nodes::new(self.handle(&TeamName::nodes()))
    }

    /// Returns the handle of a team.
    fn handle(&self, name: &TeamName) -> RecordsTeam {
        let space = |team| {
            let shared = Arc::clone(&self.shared);
            Arc::new(MemorySpace { shared, team })
        };
        let local = Local {
            layout: Layout::new(self.scratch.clone()),
        };
        RecordsTeam::new(
            name.clone(),
            (space(name.clone()), space(TeamName::nodes())),
            Arc::clone(&self.clock),
            self.limits.clone(),
            local,
            Patience::new(self.interrupt.clone()),
        )
    }
}

#[async_trait]
impl TeamStore for MemoryStore {
    fn team(&self, name: &TeamName) -> Arc<dyn Team> {
        Arc::new(self.handle(name))
    }

    fn with_lock_interrupt(&self, interrupt: &LockInterrupt) -> Arc<dyn TeamStore> {
        Arc::new(Self {
            interrupt: interrupt.clone(),
            ..self.clone()
        })
    }

    async fn create_team(&self, new: NewTeam) -> Result<TeamConfig> {
        self.handle(&new.name).create(&new)
    }

    async fn teams(&self) -> Result<Vec<TeamName>> {
        let teams = self.shared.teams.lock();
        let names = teams.keys().filter(|name| **name != TeamName::nodes());
        Ok(names.cloned().collect())
    }

    async fn teams_and_remains(&self) -> Result<(Vec<TeamName>, Vec<TeamName>)> {
        Ok((self.teams().await?, Vec::new()))
    }

    async fn sweep(&self, _clear: bool) -> Result<Vec<(Leftover, Result<()>)>> {
        Ok(Vec::new())
    }
}
