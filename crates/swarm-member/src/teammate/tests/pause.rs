//! Members that a person has paused.

use std::sync::Arc;

use swarm_protocol::{Event, MemberState, PauseMark, SpawnId, UnixMs};
use swarm_store::{BlockOn as _, StoreError};
use tokio::sync::Notify;

use super::world::{World, bob, delivers, until};
use crate::teammate::Ending;
use swarm_testkit::{FakeModel, Reply, say, words};

fn pause(world: &World, spawn_id: SpawnId) -> Result<Option<PauseMark>, StoreError> {
    let mark = PauseMark {
        spawn_id,
        by: "person".to_owned(),
        at: UnixMs(1),
        reason: Some("lunch".to_owned()),
    };
    world.crew().set_paused(&bob(), Some(&mark)).block_on()
}

#[tokio::test]
async fn l5_a_paused_member_takes_no_turn_until_it_is_let_go_on() {
    let world = World::new();
    let model = FakeModel::saying("one");
    model.then(say("two"));
    let running = world.run(Some("first"), &model);
    world.in_state(MemberState::Idle).await;
    pause(&world, running.spawn_id).unwrap();
    world.in_state(MemberState::Paused).await;
    let report = world.crew().state(&bob()).await.unwrap().unwrap();
    assert_eq!(report.detail.as_deref(), Some("by person: lunch"));
    let second = world.say("second");
    let before = world.crew().set_paused(&bob(), None).await.unwrap();
    assert_eq!(before.unwrap().reason.as_deref(), Some("lunch"));
    world.idle(2).await;
    assert_eq!(
        world.journalled(|event| matches!(event, Event::MemberPaused { .. })),
        1
    );
    assert_eq!(
        world.journalled(|event| matches!(event, Event::MemberContinued { .. })),
        1
    );
    let continued = world.happened(|event| matches!(event, Event::MemberContinued { .. }));
    assert!(continued < world.happened(|event| delivers(event, &second)));
    running.crash().await;
}

#[tokio::test]
async fn l5_a_turn_under_way_is_finished_before_the_pause() {
    let world = World::new();
    let let_go = Arc::new(Notify::new());
    let model = Arc::new(FakeModel::default());
    model.then(Reply::When(Arc::clone(&let_go), words("done")));
    let running = world.run(Some("first"), &model);
    until("the request", || (model.asked() == 1).then_some(())).await;
    pause(&world, running.spawn_id).unwrap();
    world.say("second");
    let_go.notify_one();
    world.in_state(MemberState::Paused).await;
    assert_eq!(world.outcomes(), ["finished"]);
    assert_eq!(world.unread("bob"), 1);
    world.ask_to_stop();
    assert_eq!(running.ending().await, Ending::ShutDown);
    assert_eq!(model.asked(), 1);
}

#[tokio::test]
async fn a_pause_is_for_one_spawn_and_not_for_the_next_of_the_name() {
    let world = World::new();
    let model = FakeModel::saying("one");
    let running = world.run(None, &model);
    world.in_state(MemberState::Idle).await;
    pause(&world, running.spawn_id).unwrap();
    world.in_state(MemberState::Paused).await;
    let first = running.spawn_id;
    running.crash().await;
    let running = world.run(Some("go"), &model);
    world.idle(1).await;
    let refused = pause(&world, first).unwrap_err();
    assert!(matches!(refused, StoreError::SpawnGone { .. }), "{refused}");
    assert_eq!(world.crew().paused(&bob()).await.unwrap(), None);
    running.crash().await;
}
