//! Requests of leads that have ended.

use swarm_os::process::pid_space;
use swarm_protocol::{
    Answer, AnsweredBy, Event, LifeKind, LifeRecord, MemberName, RequestId, RequestKind,
    RequestRecord, SpawnId, UnixMs,
};
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
    let others = end_requests_of_former_leads(&*world.files()).await;
    let left = world.files().requests().await.unwrap();
    assert_eq!(others.unwrap().requests, left.requests);
    left.requests
        .iter()
        .map(|asked| asked.id.to_string())
        .collect()
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

#[tokio::test]
async fn a_lead_whose_process_is_dead_has_ended_although_its_lease_lasts() {
    let world = World::new();
    let lead = SpawnId::random();
    ask(&world, lead).await;
    let record = LifeRecord {
        pid_space: pid_space(),
        ..LifeRecord::new(LifeKind::Process, u32::MAX, "1", lead)
    };
    let files = world.files();
    let life = files.take_life(&MemberName::lead(), &record).await.unwrap();
    assert_eq!(left(&world).await, ["perm-1-c"]);
    drop(life);
}

#[tokio::test]
async fn an_answer_that_no_lead_reads_is_journaled_once() {
    for world in [World::new(), World::on_files()] {
        world.join("bob");
        let lead = SpawnId::random();
        ask(&world, lead).await;
        let life = world.hold_life("team-lead", lead);
        let former = RequestId::new("perm-1-a");
        let (answer, by) = (Answer::Denied { why: None }, AnsweredBy::default());
        let files = world.files();
        let is_ignored = files.ignore_answer(&former, "not answered").await;
        assert!(!is_ignored.unwrap());
        let answered = files.answer_request(&former, None, answer, by).await;
        answered.unwrap();
        assert_eq!(left(&world).await, ["perm-1-b", "perm-1-c"]);
        // Another look has read the queue before.
        let again = files.ignore_answer(&former, "again").await;
        assert!(!again.unwrap());
        drop(life);
        let events = files.events().await.unwrap().entries;
        let ignored = events.iter().filter_map(|entry| match &entry.event {
            Event::AnswerIgnored {
                request, reason, ..
            } if *request == former => Some(reason.as_str()),
            _ => None,
        });
        let ignored: Vec<_> = ignored.collect();
        let why = "its lead has ended; it may not have used the answer";
        assert_eq!(ignored, [why]);
    }
}
