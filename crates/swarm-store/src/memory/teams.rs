//! The teams of a memory store.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use swarm_os::LockInterrupt;
use swarm_protocol::{Event, JournalEntry, TeamConfig, TeamName, sanitized_collision};
use uuid::Uuid;

use super::call::{Call, Patience};
use super::store::MemoryStore;
use super::team::MemoryTeam;
use super::values::Records;
use crate::keys::SigningKey;
use crate::{Leftover, NewTeam, Result, StoreError, Team, TeamStore};

/// How long a call waits by default, as with files.
const DEADLINE: Duration = Duration::from_secs(20);

impl MemoryStore {
    /// Returns the handle of a team.
    pub(super) fn handle(&self, name: &TeamName) -> MemoryTeam {
        let patience = Patience {
            at_most: DEADLINE,
            interrupt: self.interrupt.clone(),
        };
        MemoryTeam {
            store: self.clone(),
            team: name.clone(),
            call: Call::new(&patience, false),
            patience,
        }
    }

    fn create(&self, new: &NewTeam) -> Result<TeamConfig> {
        let name = &new.name;
        let at = self.shared.clock.now();
        let config = new.roster(at);
        let key = SigningKey::create().map_err(|why| StoreError::SigningKey {
            path: PathBuf::from(name.as_str()),
            why,
        })?;
        let records = Arc::new(Records::new(config.clone(), key.0));
        let event = Event::TeamCreated {
            by: new.created_by.clone(),
        };
        let faults = &self.shared.faults;
        records
            .journal
            .append(faults, Uuid::new_v4(), JournalEntry { at, event });
        let mut teams = self.shared.teams.lock();
        if teams.contains_key(name) {
            drop(teams);
            let state = self.handle(name).view()?.in_words();
            return Err(StoreError::TeamExists {
                team: name.clone(),
                state,
            });
        }
        let collides = |other: &&TeamName| sanitized_collision(other.as_str(), name.as_str());
        if let Some(other) = teams.keys().find(collides) {
            return Err(StoreError::TeamCollides {
                team: name.clone(),
                other: other.to_string(),
            });
        }
        teams.insert(name.clone(), records);
        Ok(config)
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
        self.create(&new)
    }

    async fn teams(&self) -> Result<Vec<TeamName>> {
        Ok(self.shared.teams.lock().keys().cloned().collect())
    }

    async fn teams_and_remains(&self) -> Result<(Vec<TeamName>, Vec<TeamName>)> {
        Ok((self.teams().await?, Vec::new()))
    }

    async fn sweep(&self, _clear: bool) -> Result<Vec<(Leftover, Result<()>)>> {
        Ok(Vec::new())
    }
}
