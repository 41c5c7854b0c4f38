//! Sessions of a hub. Stores in files have none.

use std::path::PathBuf;

use swarm_protocol::{
    MessageId, PeerDelivery, PeerFrame, PeerSession, PeerStatus, SessionId, SpawnId, UnixMs,
};
use swarm_store::{BlockOn as _, Sessions, StoreError};

use crate::values::{life_record, team};
use crate::world::World;

fn sessions(world: &World) -> Option<Sessions> {
    Some(world.handle().orders()?.nodes().sessions())
}

fn session(started_at: u64) -> PeerSession {
    PeerSession {
        address: "uds:/here".to_owned(),
        session: SessionId::random(),
        team: Some(team("crew")),
        program: None,
        host: None,
        cwd: PathBuf::from("/work"),
        pid: 7,
        started_at: UnixMs(started_at),
    }
}

fn frame(id: &str) -> PeerFrame {
    PeerFrame::Status(PeerStatus {
        msg_id: MessageId::new(id),
        status: PeerDelivery::Held,
        status_detail: None,
        drop_reason: None,
    })
}

pub(crate) fn a_session_is_listed_with_its_host_while_its_process_holds_it(world: &World) {
    let Some(sessions) = sessions(world) else {
        return;
    };
    let all = || sessions.all().block_on().unwrap();
    assert_eq!(all(), []);
    let (older, newer) = (session(1), session(2));
    let process = life_record(SpawnId::random());
    let join = |one: &PeerSession, process| sessions.join(one.clone(), process).block_on();
    let (_lease, _) = join(&newer, &process).unwrap();
    let (lease, _) = join(&older, &process).unwrap();
    let on_hub = |one: &PeerSession| one.clone().on_hub(process.host.clone());
    assert_eq!(all(), [on_hub(&older), on_hub(&newer)]);
    assert!(all()[0].address.starts_with("bridge:"));
    let other = life_record(SpawnId::random());
    let second = join(&older, &other);
    assert!(
        matches!(second, Err(StoreError::LeaseHeld { .. })),
        "{second:?}"
    );
    drop(lease);
    assert_eq!(all(), [on_hub(&newer)]);
}

pub(crate) fn frames_are_read_in_order_from_a_position_until_the_session_is_forgotten(
    world: &World,
) {
    let Some(sessions) = sessions(world) else {
        return;
    };
    let own = session(1);
    let id = own.session;
    let process = life_record(SpawnId::random());
    let join = |one: &PeerSession| sessions.join(one.clone(), &process).block_on().unwrap();
    let (lease, start) = join(&own);
    for text in ["a", "b"] {
        sessions.append(id, frame(text)).block_on().unwrap();
    }
    let read = |from| sessions.frames(id, from).block_on().unwrap();
    let (both, next) = read(start);
    assert_eq!(both, [frame("a"), frame("b")]);
    assert_eq!(sessions.end(id).block_on().unwrap(), next);
    sessions.append(id, frame("c")).block_on().unwrap();
    assert_eq!(read(next).0, [frame("c")]);
    drop(lease);
    // The next process of the session does not read what was for the last one.
    let (lease, start) = join(&own);
    assert_eq!(read(start).0, []);
    drop(lease);
    let (_lease, _) = join(&session(2));
    assert_eq!(read(0).0, [], "the log of an ended session is removed");
}
