//! The files of requests.

use swarm_protocol::{Answer, AnsweredBy, RequestRecord, SpawnId, UnixMs};
use swarm_store::{BlockOn as _, TeamStore};

use crate::files::world::World;

fn request(id: &str, asked_at: u64) -> RequestRecord {
    RequestRecord {
        asked_at: UnixMs(asked_at),
        ..crate::files::grants::asked(id, SpawnId::random())
    }
}

#[test]
fn an_answer_that_the_journal_does_not_take_is_not_given() {
    let world = World::with_member("alice");
    let (store, team) = (&world.store, &world.team);
    let asked = request("perm-1-a", 1);
    let asked = store
        .team(team)
        .open_request(asked, None)
        .block_on()
        .unwrap();
    let journal = world.file("swarm/journal.jsonl");
    std::fs::remove_file(&journal).unwrap();
    std::fs::create_dir(&journal).unwrap();
    let yes = Answer::once();
    let by = AnsweredBy::default;
    store
        .team(team)
        .answer_request(&asked.id, None, yes, by())
        .block_on()
        .unwrap_err();
    assert_eq!(
        store.team(team).request(&asked.id).block_on().unwrap(),
        asked
    );
    // A timeout still means no.
    store
        .team(team)
        .answer_request(&asked.id, None, Answer::Expired, by())
        .block_on()
        .unwrap();
}

#[test]
fn a_file_that_is_not_a_request_is_listed_and_affects_no_other() {
    let world = World::with_member("alice");
    let team = world.handle();
    team.open_request(request("perm-1-a", 1), None)
        .block_on()
        .unwrap();
    let broken = world.file("swarm/requests/perm-0-x.json");
    swarm_os::replace_alone(&broken, b"{").unwrap();
    let list = team.requests().block_on().unwrap();
    assert_eq!((list.requests.len(), list.broken.len()), (1, 1));
    assert_eq!(list.broken[0].path, broken);
}

#[test]
fn with_a_damaged_mark_the_numbers_on_file_are_taken() {
    let world = World::new();
    let team = world.handle();
    let number = |id: &str| {
        team.open_request(request(id, 1), None)
            .block_on()
            .unwrap()
            .number
    };
    assert_eq!(number("perm-1-a"), Some(1));
    let mark = world.file("swarm/requests.highwatermark");
    swarm_os::replace_alone(&mark, b"damaged").unwrap();
    assert_eq!(number("perm-1-b"), Some(2));
}
