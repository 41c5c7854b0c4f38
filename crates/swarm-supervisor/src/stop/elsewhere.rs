//! Members whose processes cannot be found from here.

use swarm_protocol::MemberName;
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
