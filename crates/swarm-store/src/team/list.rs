//! Which teams there are.

use swarm_protocol::TeamName;

use crate::{FileStore, Result};

impl FileStore {
    pub(crate) fn team_names(&self) -> Result<Vec<TeamName>> {
        let folder = self.layout.teams();
        let entries = swarm_fs::names_in(&folder)?.unwrap_or_default();
        // Teams that are being made or deleted have a dot in their folder's name, which no team name has.
        let mut names: Vec<TeamName> = entries
            .iter()
            .filter_map(|name| TeamName::parse(name.to_str()?).ok())
            .filter(|name| self.files(name).exists())
            .collect();
        names.sort();
        Ok(names)
    }
}
