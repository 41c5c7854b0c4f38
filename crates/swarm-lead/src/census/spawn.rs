//! The processes of one spawn.

use std::time::Duration;

use swarm_team::processes_of_spawn;
use swarm_tools::processes::{self, Ended};

use crate::Deployment;

/// Ends what a spawn of this root has started: SIGTERM, then after `grace` SIGKILL.
pub(crate) async fn end_spawn(deployment: &Deployment, spawn: &str, grace: Duration) -> Ended {
    processes::end(processes_of_spawn(&deployment.root, spawn), grace).await
}
