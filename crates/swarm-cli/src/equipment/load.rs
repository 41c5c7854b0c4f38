//! Gathering it all.

use swarm_policy::Equipment;

use crate::app::App;
use crate::failure::Failure;

/// What holds for agents that this command starts.
#[expect(
    clippy::unnecessary_wraps,
    reason = "the sources that are read here can be wrong"
)]
pub(crate) fn load(_app: &App) -> Result<Equipment, Failure> {
    Ok(Equipment::default())
}
