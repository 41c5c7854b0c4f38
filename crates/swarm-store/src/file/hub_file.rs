//! `swarm/hub.json` of a team: on which hub it is.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use swarm_protocol::TeamName;

use super::{Layout, record};
use crate::{HubSettings, Result};

/// Returns the path of a team's file.
pub(crate) fn path(layout: &Layout, team: &TeamName) -> PathBuf {
    layout.team(team).own().join("hub.json")
}

/// Content of the file.
#[derive(Debug, Serialize, Deserialize)]
struct HubFile {
    #[serde(flatten)]
    hub: HubSettings,
    /// Whether another machine created the team.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    joined: bool,
}

/// Returns the hub of a team; `None` for teams in files.
pub(crate) fn read(layout: &Layout, team: &TeamName) -> Result<Option<HubSettings>> {
    let file: Option<HubFile> = record::read(&path(layout, team))?;
    Ok(file.map(|file| file.hub))
}

/// Returns whether this machine has joined a team that another one created; `None` without a usable
/// file.
pub(crate) fn is_joined(layout: &Layout, team: &TeamName) -> Option<bool> {
    let file: Option<HubFile> = record::read(&path(layout, team)).ok()?;
    file.map(|file| file.joined)
}

/// Creates the local directories of a team on a hub, and the file. Returns once they are on disk.
pub(crate) fn create(
    layout: &Layout,
    team: &TeamName,
    hub: &HubSettings,
    joined: bool,
) -> Result<()> {
    let at = layout.team(team);
    let made = swarm_os::place_private_dir(&at.members())?;
    let path = path(layout, team);
    let hub = hub.clone();
    let content = record::pretty(&path, &HubFile { hub, joined })?;
    Ok(made.and(swarm_os::place_alone(&path, &content)?).sync()?)
}
