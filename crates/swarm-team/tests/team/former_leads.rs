//! Requests of leads that have ended.

use swarm_protocol::{MemberName, RequestId, RequestKind, RequestRecord, SpawnId, UnixMs};
use swarm_team::end_requests_of_former_leads;

use crate::world::{World, name};

/// Opens requests of a former lead, of `lead`, and of bob.
async fn ask(world: &World, lead: SpawnId) {
    for (id, from, spawn) in [
        ("perm-1-a", MemberName::lead(), SpawnId::random()),
        ("perm-1-b", MemberName::lead(), lead),
        ("perm-1-c", name("bob"), SpawnId::random()),
    ] {
        let kind = RequestKind::Sandbox {
            host: "a.example".to_owned(),
        };
        let record = RequestRecord {
            spawn_id: Some(spawn),
            ..RequestRecord::open(RequestId::new(id), from, kind, UnixMs(1))
        };
        world.files().open_request(record, None).await.unwrap();
    }
}

/// Returns what is left in the queue.
async fn left(world: &World) -> Vec<String> {
    end_requests_of_former_leads(&*world.files()).await.unwrap();
    let left = world.files().requests().await.unwrap().requests;
    left.iter().map(|asked| asked.id.to_string()).collect()
}

#[tokio::test]
async fn only_requests_of_leads_that_have_ended_are_withdrawn() {
    for world in [World::new(), World::on_files()] {
        world.join("bob");
        let lead = SpawnId::random();
        ask(&world, lead).await;
        let all = ["perm-1-a", "perm-1-b", "perm-1-c"];
        assert_eq!(left(&world).await, all, "no lead is known");
        let life = world.hold_life("team-lead", lead);
        assert_eq!(left(&world).await, ["perm-1-b", "perm-1-c"]);
        drop(life);
        assert_eq!(left(&world).await, ["perm-1-c"]);
    }
}
