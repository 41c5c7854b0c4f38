//! Requests of earlier leads, for which nobody waits.

use swarm_protocol::SpawnId;
use swarm_store::{StoreError, Team};

/// Why the requests of an earlier lead are withdrawn.
const LEAD_ENDED: &str = "its lead has ended";

/// Removes the requests of earlier leads from the queue of a team, so that no person approves a call
/// that nobody makes. `own` is the spawn of the new lead.
pub(super) async fn end_requests_of_earlier_leads(
    team: &dyn Team,
    own: SpawnId,
) -> Result<(), StoreError> {
    for request in team.requests().await?.requests {
        let is_earlier = request.spawn_id.is_some_and(|spawn| spawn != own);
        if !request.from.is_lead() || !is_earlier {
            continue;
        }
        match team.withdraw_request(&request.id, Some(LEAD_ENDED)).await {
            // It was answered, and nobody reads the answer.
            Ok(false) => team.close_request(&request.id).await?,
            // Or the earlier lead has ended it.
            Ok(true) | Err(StoreError::RequestNotFound { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use swarm_protocol::{MemberName, RequestId, RequestKind, RequestRecord, UnixMs};
    use swarm_testkit::{World, name};

    use super::*;

    #[tokio::test]
    async fn only_requests_of_earlier_leads_are_withdrawn() {
        let world = World::new();
        world.join("bob");
        let team = world.crew();
        let own = SpawnId::random();
        for (id, from, spawn) in [
            ("perm-1-a", MemberName::lead(), SpawnId::random()),
            ("perm-1-b", MemberName::lead(), own),
            ("perm-1-c", name("bob"), SpawnId::random()),
        ] {
            let kind = RequestKind::Sandbox {
                host: "a.example".to_owned(),
            };
            let record = RequestRecord {
                spawn_id: Some(spawn),
                ..RequestRecord::open(RequestId::new(id), from, kind, UnixMs(1))
            };
            team.open_request(record, None).await.unwrap();
        }
        end_requests_of_earlier_leads(&*team, own).await.unwrap();
        let left = team.requests().await.unwrap().requests;
        let left: Vec<_> = left.iter().map(|request| request.id.as_str()).collect();
        assert_eq!(left, ["perm-1-b", "perm-1-c"]);
    }
}
