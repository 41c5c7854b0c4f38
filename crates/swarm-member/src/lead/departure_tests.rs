//! Mail about members that leave the team.

use swarm_permissions::HandoffScan;
use swarm_protocol::{ControlFrame, Event, MemberState, RequestId, ShutdownApproved, SpawnId};
use swarm_store::Draft;
use swarm_testkit::{World, name, until};

use super::mail_tests::{mail, send};

fn approved(world: &World) {
    let frame = ControlFrame::ShutdownApproved(ShutdownApproved {
        request_id: RequestId::new("shutdown-1@bob"),
        from: "bob".to_owned(),
        timestamp: world.spawn_context.clock.now().iso(),
        pane_id: None,
        backend_type: None,
    });
    send(world, Draft::control("bob", &frame));
}

fn deaths(world: &World) -> usize {
    let died = |event: &&Event| matches!(event, Event::MemberDied { .. });
    world.journal().iter().filter(died).count()
}

/// A running member that has reported that it will stop.
fn leaving(world: &World, state: MemberState) -> (SpawnId, swarm_store::Lease) {
    let spawn = world.join("bob");
    let life = world.live("bob", spawn);
    world.report("bob", spawn, state);
    approved(world);
    (spawn, life)
}

#[tokio::test]
async fn a_member_that_agreed_to_stop_leaves_the_roster_once_it_has_ended() {
    let world = World::new();
    let (mail, _) = mail(&world);
    let (_, life) = leaving(&world, MemberState::Stopped);
    assert!(mail.handler.take().await.unwrap().is_empty());
    assert!(world.has("bob"));
    drop(life);
    until("the departure", || (!world.has("bob")).then_some(())).await;
    mail.lead.wait_for_departures().await;
    assert_eq!(world.stops(), ["approved"]);
    assert_eq!(
        world.unread("team-lead"),
        0,
        "a person who leads by hand is not mailed"
    );
}

#[tokio::test]
async fn a_running_lead_gets_a_notice_of_a_shutdown_with_the_released_tasks() {
    for (state, told) in [(MemberState::Idle, true), (MemberState::Stopping, false)] {
        let world = World::new();
        let dep = &world.spawn_context;
        let process = dep.process.lead_process(&*dep.clock);
        world.crew().set_lead_process(Some(process)).await.unwrap();
        world.report("team-lead", dep.spawn_id, state);
        let (mail, _) = mail(&world);
        let (spawn, life) = leaving(&world, MemberState::Stopped);
        let task = world.task_of("bob", spawn);
        assert!(mail.handler.take().await.unwrap().is_empty());
        assert!(mail.lead.is_member_leaving());
        drop(life);
        mail.lead.departed.notified().await;
        let messages = mail.handler.take().await.unwrap();
        if !told {
            assert!(messages.is_empty(), "{messages:?}");
            continue;
        }
        let text = messages[0].render(HandoffScan::On);
        assert!(text.contains("teammate_id=\"system\""), "{text}");
        let words = format!("bob has shut down. Given back: #{task}");
        assert!(text.contains(&words), "{text}");
        assert_eq!(messages.len(), 1);
    }
}

#[tokio::test]
async fn a_member_that_crashed_after_all_is_left_to_the_reconcile() {
    let world = World::new();
    let (mail, _) = mail(&world);
    let (_, life) = leaving(&world, MemberState::Working);
    mail.handler.take().await.unwrap();
    drop(life);
    mail.lead.wait_for_departures().await;
    assert!(world.has("bob") && world.stops().is_empty());
    swarm_team::reconcile(&world.crew()).unwrap();
    assert_eq!((deaths(&world), world.stops().len()), (1, 0));
    assert!(world.has("bob"), "its conversation can be carried on");
}

#[tokio::test]
async fn an_approval_of_an_earlier_spawn_does_not_apply_to_a_later_one() {
    let world = World::new();
    let (mail, _) = mail(&world);
    let (_, life) = leaving(&world, MemberState::Stopped);
    drop(life);
    world
        .crew()
        .remove_member(&name("bob"), None)
        .await
        .unwrap();
    let spawn = world.join("bob");
    let life = world.live("bob", spawn);
    // It has not reported yet, so the last report is that of the earlier spawn.
    mail.handler.take().await.unwrap();
    drop(life);
    mail.lead.wait_for_departures().await;
    assert!(world.has("bob") && world.stops().is_empty());
}

#[tokio::test]
async fn a_departure_that_another_process_has_handled_is_not_an_error() {
    let world = World::new();
    let (mail, _) = mail(&world);
    approved(&world);
    assert!(mail.handler.take().await.unwrap().is_empty());
    mail.lead.wait_for_departures().await;
}
