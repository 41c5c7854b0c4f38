//! Members that have lost their own lease, as on a hub when it is not renewed in time.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use swarm_protocol::MemberState;
use swarm_store::BlockOn as _;

use super::world::{World, bob, team, until};
use crate::teammate::Ending;
use swarm_testkit::{FakeModel, call, wait_for};

/// A call that waits for the hub takes longer.
const UNANSWERED: Duration = Duration::from_secs(15);

impl World {
    fn lose_lease(&self) {
        self.memory().lose_lease(&team(), &bob());
    }

    /// Waits until bob has parked and says how he continues.
    async fn parked_without_lease(&self) {
        until("parked without a lease", || {
            let report = self.crew().state(&bob()).block_on();
            let report = report.unwrap()?;
            assert_ne!(report.state, MemberState::Dead);
            let detail = report.detail?;
            (report.state == MemberState::Parked && detail.contains("`swarm spawn bob"))
                .then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn a_member_without_its_lease_stops_its_call_and_parks_until_it_is_spawned_again() {
    let world = World::new();
    let model = Arc::new(FakeModel::default());
    let file = world.directory.path().join("started");
    let command = format!("touch {}; sleep 600", file.display());
    model.then(call("Bash", json!({"command": command})));
    let running = world.run(Some("go"), &model);
    until("the call runs", || file.exists().then_some(())).await;
    world.lose_lease();
    world.parked_without_lease().await;
    assert_eq!(model.asked(), 1);
    assert!(
        world.transcript().contains("sleep 600"),
        "the conversation is kept"
    );
    let team = world.crew();
    team.remove_member(&bob(), None).await.unwrap();
    world.join("bob", None);
    assert_eq!(running.ending().await, Ending::Removed);
}

#[tokio::test]
async fn a_member_whose_hub_does_not_answer_stops_its_call_when_its_lease_is_lost() {
    let world = World::new();
    let model = Arc::new(FakeModel::default());
    let [started, ended] = ["started", "ended"].map(|file| world.directory.path().join(file));
    let command = format!(
        "trap 'touch {}; exit' TERM; touch {}; sleep 600 & wait",
        ended.display(),
        started.display()
    );
    model.then(call("Bash", json!({"command": command})));
    let running = world.run(Some("go"), &model);
    until("the call runs", || started.exists().then_some(())).await;
    let silence = Arc::new(world.memory().silence());
    // On a thread, because the member must not block that of the test.
    let losing = thread::spawn({
        let (silence, memory) = (Arc::clone(&silence), world.memory());
        move || {
            wait_for("a request", || silence.is_noticed().then_some(()));
            memory.lose_lease(&team(), &bob());
            Instant::now()
        }
    });
    until("the call has ended", || ended.exists().then_some(())).await;
    let lost = losing.join().unwrap().elapsed();
    assert!(lost < UNANSWERED, "{lost:?}");
    drop(silence);
    world.parked_without_lease().await;
    assert_eq!(model.asked(), 1);
    assert!(
        world.transcript().contains("sleep 600"),
        "the conversation is kept"
    );
    running.crash().await;
}

#[tokio::test]
async fn an_idle_member_without_its_lease_parks_and_reads_nothing_more() {
    let world = World::new();
    let running = world.run(Some("go"), &FakeModel::saying("one"));
    world.in_state(MemberState::Idle).await;
    world.lose_lease();
    world.parked_without_lease().await;
    world.say("more");
    running.terminate.tell("its test is over");
    assert_eq!(running.ending().await, Ending::Terminated);
    assert_eq!(world.unread("bob"), 1);
}
