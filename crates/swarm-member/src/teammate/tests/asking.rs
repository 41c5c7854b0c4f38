//! The order of writes and the model request.

use std::sync::Arc;

use parking_lot::Mutex;
use swarm_protocol::MemberState;
use swarm_store::BlockOn as _;
use tokio::sync::Notify;

use super::world::{World, bob, team};
use swarm_testkit::{FakeModel, Reply, words};

#[tokio::test]
async fn a_request_goes_out_before_the_state_is_written_and_mail_counts_as_read_after_it() {
    let world = World::new();
    let model = FakeModel::saying("one");
    let let_go = Arc::new(Notify::new());
    let seen = Arc::new(Mutex::new(None));
    model.on({
        let (store, team) = (Arc::clone(&world.store), team());
        let (seen, let_go) = (Arc::clone(&seen), Arc::clone(&let_go));
        move |_| {
            let report = store.team(&team).state(&bob()).block_on().unwrap().unwrap();
            let active = store
                .team(&team)
                .config()
                .block_on()
                .unwrap()
                .member(&bob())
                .unwrap()
                .is_active;
            *seen.lock() = Some((report.state, active));
            Reply::When(let_go, words("two"))
        }
    });
    let running = world.run(Some("first"), &model);
    world.idle(1).await;
    world.in_state(MemberState::Idle).await;
    world.say("second");
    world.has_read_all().await;
    let state = world.state();
    assert_eq!(
        state,
        Some(MemberState::Working),
        "not idle with nothing to do"
    );
    let at_the_request = seen.lock().take();
    assert_eq!(at_the_request, Some((MemberState::Idle, Some(false))));
    let_go.notify_one();
    world.idle(2).await;
    world.in_state(MemberState::Idle).await;
    running.crash().await;
}
