//! What follows silence: SIGTERM to everything the member started, then SIGKILL.

use std::time::Duration;

use swarm_fs::{FsError, Liveness};
use swarm_protocol::{MemberName, SpawnId, TeamName};
use swarm_tools::processes;

use super::StopOutcome;
use crate::{Deployment, LeadError};

/// A future that resolves when the member's life lock falls. One plain thread waits in the kernel.
pub(crate) fn death(
    deployment: &Deployment,
    team: &TeamName,
    name: &MemberName,
) -> tokio::sync::oneshot::Receiver<Result<(), FsError>> {
    let (tell, told) = tokio::sync::oneshot::channel();
    let path = deployment.store.life_path(team, name);
    std::thread::spawn(move || {
        // Nobody may be listening any more; then nobody wants to know.
        drop(tell.send(swarm_fs::wait_for_death(&path)));
    });
    told
}

/// Ends a member's processes: `grace` after SIGTERM comes SIGKILL.
pub(super) async fn end_processes(
    deployment: &Deployment,
    team: &TeamName,
    name: &MemberName,
    spawn_id: SpawnId,
    grace: Duration,
) -> Result<StopOutcome, LeadError> {
    let marker = spawn_id.to_string();
    let terminated = processes::end_marked("SWARM_SPAWN_ID", &marker, grace).await;
    if terminated.left > 0 {
        return Err(LeadError::StillAlive {
            member: name.clone(),
            left: terminated.left,
        });
    }
    if deployment.store.liveness(team, name)? == Liveness::Alive {
        return Err(LeadError::StillAlive {
            member: name.clone(),
            left: 1,
        });
    }
    Ok(if terminated.killed > 0 {
        StopOutcome::Killed
    } else {
        StopOutcome::Terminated
    })
}
