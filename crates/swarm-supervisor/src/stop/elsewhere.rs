//! Members whose processes cannot be found from here.

use swarm_protocol::{MemberName, SpawnId};
use swarm_store::Team;

/// Returns where a member runs, if its process cannot be found from here: on another machine, or with
/// another config directory.
pub async fn runs_elsewhere(team: &dyn Team, name: &MemberName, this_host: &str) -> Option<String> {
    let there = team.life_record(name).await?;
    if !there.host.is_empty() && there.host != this_host {
        return Some(there.host);
    }
    let here = team.life_record_here(name).await;
    let is_here = here.is_some_and(|here| here.spawn_id == there.spawn_id);
    (!is_here).then(|| format!("{} with another config directory", there.host))
}

/// The last process of a member that was not started from here.
pub(super) struct RemoteProcess {
    /// Where it was started.
    host: String,
    /// Whether it has parked and still exists.
    is_parked: bool,
}

impl RemoteProcess {
    /// Returns where the process is, if it has parked. It ends when its member leaves the roster.
    pub(super) fn parked_on(self) -> Option<String> {
        self.is_parked.then_some(self.host)
    }
}

/// Returns the last process of a spawn, if it was started on another machine or with another config
/// directory. Its worktree is there: a path of the same name here is another one.
pub(super) async fn remote_process(
    team: &dyn Team,
    name: &MemberName,
    spawn_id: SpawnId,
    this_host: &str,
) -> Option<RemoteProcess> {
    if !team.is_remote() || team.life_record(name).await?.spawn_id != spawn_id {
        return None;
    }
    let host = runs_elsewhere(team, name, this_host).await?;
    let members = team.member_view().await.unwrap_or_default();
    let is_parked = members
        .iter()
        .any(|view| view.member.name == *name && view.parked_on.is_some());
    Some(RemoteProcess { host, is_parked })
}
