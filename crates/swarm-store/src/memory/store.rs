//! All teams of a memory store.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use swarm_os::LockInterrupt;
use swarm_protocol::{Clock, TeamName};

use super::faults::{Faults, Hold};
use super::values::Records;
use crate::StoreLimits;

/// [`TeamStore`](crate::TeamStore) in memory, shared by its clones.
#[derive(Debug, Clone)]
pub struct MemoryStore {
    pub(super) shared: Arc<Shared>,
    pub(super) limits: StoreLimits,
    /// Interrupts waits of the teams' calls.
    pub(super) interrupt: LockInterrupt,
}

/// What all clones share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) teams: Mutex<BTreeMap<TeamName, Arc<Records>>>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) faults: Arc<Faults>,
    /// Local directories of members are below it.
    pub(super) scratch: PathBuf,
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
                clock,
                faults: Arc::new(faults),
                scratch,
            }),
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

    /// Describes all records, so that a test can see whether something was changed.
    pub fn content(&self) -> String {
        format!("{:?}", self.shared.teams.lock())
    }
}
