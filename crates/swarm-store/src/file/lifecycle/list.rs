//! Listing teams.

use swarm_protocol::TeamName;

use crate::{FileStore, Result};

impl FileStore {
    pub(crate) fn team_names(&self) -> Result<Vec<TeamName>> {
        let mut names = self.directory_names()?;
        names.retain(|name| self.files(name).exists());
        Ok(names)
    }

    pub(crate) fn names_and_remains(&self) -> Result<(Vec<TeamName>, Vec<TeamName>)> {
        let (teams, mut others): (Vec<_>, Vec<_>) = self
            .directory_names()?
            .into_iter()
            .partition(|name| self.files(name).exists());
        others.retain(|name| self.files(name).lack_of_roster().is_some());
        Ok((teams, others))
    }

    pub(crate) fn directory_names(&self) -> Result<Vec<TeamName>> {
        let directory = self.layout.teams();
        let entries = swarm_os::names_in(&directory)?.unwrap_or_default();
        // Partially created or deleted teams have a dot in their directory's name, which no team
        // name has.
        let mut names: Vec<TeamName> = entries
            .iter()
            .filter_map(|name| TeamName::parse(name.to_str()?).ok())
            .collect();
        names.sort();
        Ok(names)
    }
}
