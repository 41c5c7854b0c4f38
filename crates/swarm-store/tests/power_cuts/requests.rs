//! Requests of members.

use swarm_protocol::{Answer, AnsweredBy, RequestId, RequestKind, RequestRecord, UnixMs};
use swarm_store::{AnswerLookup, BlockOn as _, TeamStore as _};

use crate::disk::replay;
use crate::files::{World, name};

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
