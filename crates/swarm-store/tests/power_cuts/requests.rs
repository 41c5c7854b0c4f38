//! Requests of members.

use swarm_protocol::{Answer, AnsweredBy, RequestId, RequestKind, RequestRecord, SpawnId, UnixMs};
use swarm_store::{AnswerLookup, BlockOn as _, Team, TeamStore as _};

use crate::deaths::request;
use crate::files::{World, name};
use crate::replay;

#[test]
fn an_answer_survives_a_power_cut_with_its_signature() {
    let world = World::with_member("ann");
    let files = world.store.team(&world.team);
    let key = files.verify_key().block_on().unwrap();
    let asked = files
        .open_request(
            RequestRecord {
                description: "crates.io".to_owned(),
                ..RequestRecord::open(
                    RequestId::new("perm-1-abcdefg"),
                    name("ann"),
                    RequestKind::Sandbox {
                        host: "crates.io".to_owned(),
                    },
                    UnixMs(1),
                )
            },
            None,
        )
        .block_on();
    let asked = asked.unwrap();
    let by = AnsweredBy::person(1, None);
    replay(
        &world,
        || {
            files
                .answer_request(&asked.id, None, Answer::once(), by)
                .block_on()
                .map(drop)
                .unwrap();
        },
        |store| match store
            .team(&world.team)
            .look_up_answer(&asked, key.as_ref())
            .block_on()
        {
            Ok(AnswerLookup::Answered(_)) => true,
            Ok(AnswerLookup::Pending) => false,
            other => panic!("{other:?}"),
        },
    );
}

/// Opens requests of the member `ann`, which is not running.
fn open(world: &World, id: &str) -> RequestRecord {
    let team = world.handle();
    let opened = team.open_request(request(id, SpawnId::random()), None);
    opened.block_on().unwrap()
}

#[test]
fn an_open_request_survives_a_power_cut_and_its_number_is_not_used_again() {
    let world = World::with_member("ann");
    replay(
        &world,
        || assert_eq!(open(&world, "perm-1-aaaaaaa").number, Some(1)),
        |store| {
            let team = store.team(&world.team);
            let id = RequestId::new("perm-1-aaaaaaa");
            let is_open = team.request(&id).block_on().is_ok();
            if is_open {
                team.close_request(&id).block_on().unwrap();
                let next = team.open_request(request("perm-2-aaaaaaa", SpawnId::random()), None);
                assert_eq!(next.block_on().unwrap().number, Some(2));
            }
            is_open
        },
    );
}

#[test]
fn the_number_of_a_closed_request_is_not_used_again_after_a_power_cut() {
    let world = World::with_member("ann");
    replay(
        &world,
        || {
            let opened = open(&world, "perm-1-aaaaaaa");
            world.handle().close_request(&opened.id).block_on().unwrap();
        },
        |store| {
            let (team, id) = (store.team(&world.team), RequestId::new("perm-1-aaaaaaa"));
            let is_closed = team.request(&id).block_on().is_err();
            let next = team.open_request(request("perm-2-aaaaaaa", SpawnId::random()), None);
            is_closed && next.block_on().unwrap().number == Some(2)
        },
    );
}

#[test]
fn a_withdrawn_closed_or_ignored_request_does_not_return_after_a_power_cut() {
    type End = fn(&dyn Team, &RequestId);
    let ends: [End; 3] = [
        |team, id| assert!(team.withdraw_request(id, None).block_on().unwrap()),
        |team, id| team.close_request(id).block_on().unwrap(),
        |team, id| {
            let denied = Answer::Denied { why: None };
            let by = AnsweredBy::person(1, None);
            let answered = team.answer_request(id, None, denied, by);
            answered.block_on().map(drop).unwrap();
            assert!(team.ignore_answer(id, "a test").block_on().unwrap());
        },
    ];
    for end in ends {
        let world = World::with_member("ann");
        let opened = open(&world, "perm-1-aaaaaaa");
        replay(
            &world,
            || end(&*world.handle(), &opened.id),
            |store| {
                let found = store.team(&world.team).request(&opened.id).block_on();
                found.is_err()
            },
        );
    }
}
