//! Gathering it all.

use swarm_policy::Equipment;

use crate::app::App;
use crate::failure::Failure;

/// What holds for agents that this command starts.
pub(crate) fn load(app: &App) -> Result<Equipment, Failure> {
    let trusted = app.is_trusted()?;
    tracing::debug!(trusted, "equipment");
    Ok(Equipment::default())
}
