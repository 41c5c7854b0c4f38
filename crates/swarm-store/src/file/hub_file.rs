//! `swarm/hub.json` of a team: on which hub it is.

use std::path::PathBuf;

use swarm_protocol::TeamName;

use super::{Layout, record};
use crate::{HubSettings, Result};

/// Returns the path of a team's file.
pub(crate) fn path(layout: &Layout, team: &TeamName) -> PathBuf {
    layout.team(team).own().join("hub.json")
}

/// Returns the hub of a team; `None` for teams in files.
///
/// # Errors
/// If the file cannot be read.
pub(crate) fn read(layout: &Layout, team: &TeamName) -> Result<Option<HubSettings>> {
    record::read(&path(layout, team))
}

/// Creates the local directories of a team on a hub.
pub(crate) fn create(layout: &Layout, team: &TeamName, hub: &HubSettings) -> Result<()> {
    let at = layout.team(team);
    swarm_os::place_private_dir(&layout.teams())?.sync()?;
    swarm_os::ensure_private_dir(&at.members())?;
    let path = path(layout, team);
    let content = record::pretty(&path, hub)?;
    Ok(swarm_os::replace_alone(&path, &content)?)
}
