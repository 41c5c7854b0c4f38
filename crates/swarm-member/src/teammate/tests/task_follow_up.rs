//! Tasks that a member leaves in progress, and reports that cannot be sent.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::json;
use swarm_protocol::{MemberState, NewTask, OnLost, PermissionMode, TaskId, TaskStatus};
use swarm_store::{Actor, BlockOn as _, TaskChange};

use super::world::{World, bob, team, until};
use crate::teammate::Ending;
use swarm_testkit::{FakeModel, Reply, call, heard, say};

/// A world whose task list has one task.
fn with_task() -> World {
    let world = World::new();
    let new = NewTask {
        subject: "fix it".to_owned(),
        ..NewTask::default()
    };
    let by = Actor::person(&team());
    world.crew().create_tasks(&[new], &by).block_on().unwrap();
    world
}

fn claims(model: &FakeModel) {
    model.then(call(
        "TaskUpdate",
        json!({"taskId": "1", "status": "in_progress"}),
    ));
}

fn completes(model: &FakeModel) {
    model.then(call(
        "TaskUpdate",
        json!({"taskId": "1", "status": "completed"}),
    ));
}

#[tokio::test]
async fn t5_a_forgotten_task_causes_one_reminder_and_then_one_report() {
    let world = with_task();
    let model = Arc::new(FakeModel::default());
    claims(&model);
    model.then(say("I looked at it."));
    model.then(say("It waits for eve."));
    model.then(say(""));
    let running = world.run(Some("go"), &model);
    let notices = world.idle(2).await;
    let told = |at: usize| (notices[at].result.as_deref(), &notices[at].open_tasks[..]);
    assert_eq!(told(0), (Some("I looked at it."), &[][..]));
    assert_eq!(told(1), (Some("It waits for eve."), &[TaskId::new(1)][..]));
    let requests = model.requests();
    let told = heard(&requests[2]);
    assert!(
        told.contains("#1: fix it") && told.contains("teammate_id=\"system\""),
        "{told}"
    );
    world.in_state(MemberState::IdleUnreported).await;
    let report = world.crew().state(&bob()).await.unwrap().unwrap();
    assert_eq!(report.detail.as_deref(), Some("#1 in progress"));

    // Neither is repeated at the end of the next turn.
    world.say("anything new?");
    let notices = world.idle(3).await;
    assert!(notices[2].open_tasks.is_empty() && notices[2].result.is_none());
    assert_eq!(model.asked(), 4);
    world.in_state(MemberState::IdleUnreported).await;

    // Another member may handle the task.
    let by = world.context(running.spawn_id).actor(&team());
    world.crew().release(&TaskId::new(1), &by).await.unwrap();
    world.in_state(MemberState::Idle).await;
    running.crash().await;
}

#[tokio::test]
async fn t5_the_reminder_is_enough_and_the_last_words_are_the_result() {
    let world = with_task();
    let model = Arc::new(FakeModel::default());
    claims(&model);
    model.then(say("The loop ended one too early."));
    completes(&model);
    model.then(say("Fixed in src/lib.rs."));
    let running = world.run(Some("go"), &model);
    let notices = world.idle(2).await;
    assert!(notices.iter().all(|notice| notice.open_tasks.is_empty()));
    let result = notices[0].result.as_deref();
    assert_eq!(result, Some("The loop ended one too early."));
    let task = world.crew().task(&TaskId::new(1)).await.unwrap();
    assert_eq!(task.status, TaskStatus::Completed);
    assert_eq!(task.swarm().result.as_deref(), Some("Fixed in src/lib.rs."));
    world.in_state(MemberState::Idle).await;
    running.crash().await;
}

#[tokio::test]
async fn a_report_reaches_the_lead_when_a_shutdown_request_meets_the_reminder() {
    let world = Arc::new(with_task());
    let model = Arc::new(FakeModel::default());
    claims(&model);
    let asker = Arc::clone(&world);
    // It arrives while the final text is written: the mail is not read between it and the turn's
    // end.
    model.on(move |_| {
        asker.ask_to_stop();
        say("I looked at it.")
    });
    model.on(|request| {
        let heard = heard(request);
        assert!(heard.contains("asks you to shut down"), "{heard}");
        say("I agree.")
    });
    let running = world.run(Some("go"), &model);
    assert_eq!(running.ending().await, Ending::ShutDown);
    let notices = world.idle_notices();
    assert_eq!(notices.len(), 2);
    assert_eq!(notices[0].result.as_deref(), Some("I looked at it."));
    assert_eq!(model.asked(), 3);
}

#[tokio::test]
async fn a_report_is_with_the_lead_before_the_reminder_is_answered() {
    let world = with_task();
    let model = Arc::new(FakeModel::default());
    claims(&model);
    model.then(say("I looked at it."));
    model.then(Reply::Hang);
    let running = world.run(Some("go"), &model);
    until("the reminder", || (model.asked() == 3).then_some(())).await;
    running.crash().await;
    let notices = world.idle_notices();
    assert_eq!(notices.len(), 1);
    assert_eq!(notices[0].result.as_deref(), Some("I looked at it."));
}

#[tokio::test]
async fn a_report_reaches_the_inbox_of_a_lead_that_died_during_the_turn() {
    let mut world = with_task();
    world.limits.on_lost = OnLost::Stop;
    let lead = Mutex::new(Some(world.lead()));
    let model = Arc::new(FakeModel::default());
    claims(&model);
    model.on(move |_| {
        drop(lead.lock().take());
        say("I looked at it.")
    });
    let running = world.run(Some("go"), &model);
    assert_eq!(running.ending().await, Ending::LeadLost);
    let notices = world.idle_notices();
    assert_eq!(notices[0].result.as_deref(), Some("I looked at it."));
}

#[tokio::test]
async fn words_become_the_result_only_of_what_their_turn_completed() {
    let world = with_task();
    let model = Arc::new(FakeModel::default());
    claims(&model);
    model.then(say("I looked at it."));
    model.then(say("It waits for eve."));
    model.then(say("Hello to you too."));
    let running = world.run(Some("go"), &model);
    world.idle(2).await;
    let change = TaskChange::from(TaskStatus::Completed);
    let by = Actor::person(&team()).forced();
    world
        .crew()
        .update_task(&TaskId::new(1), change, &by)
        .await
        .unwrap();
    world.say("Hello");
    world.idle(3).await;
    let task = world.crew().task(&TaskId::new(1)).await.unwrap();
    assert_eq!(task.status, TaskStatus::Completed);
    assert_eq!(task.swarm().result, None);
    running.crash().await;
}

#[tokio::test]
async fn t5_without_reminders_the_lead_is_notified_immediately() {
    let mut world = with_task();
    world.limits.remind = false;
    let model = Arc::new(FakeModel::default());
    claims(&model);
    model.then(say("I looked at it."));
    let running = world.run(Some("go"), &model);
    let notices = world.idle(1).await;
    assert_eq!(notices[0].open_tasks, [TaskId::new(1)]);
    assert_eq!(model.asked(), 2);
    running.crash().await;
}

#[tokio::test]
async fn a_failed_report_to_the_lead_is_retried_and_the_member_continues() {
    let world = World::on_files();
    let model = FakeModel::saying("one");
    // A directory is in place of the lead's inbox.
    let inbox = world.inbox_path().with_file_name("team-lead.json");
    let aside = world.directory.path().join("aside");
    std::fs::rename(&inbox, &aside).ok();
    std::fs::create_dir(&inbox).unwrap();
    let running = world.run(Some("go"), &model);
    let detail = until("the trouble is told", || {
        let report = world.crew().state(&bob()).block_on().unwrap()?;
        report
            .detail
            .filter(|detail| detail.contains("could not be notified"))
    })
    .await;
    assert!(detail.contains("team-lead"), "{detail}");
    std::fs::remove_dir(&inbox).unwrap();
    std::fs::rename(&aside, &inbox).ok();
    let notices = world.idle(1).await;
    assert_eq!(notices[0].result.as_deref(), Some("one"));
    world.ask_to_stop();
    assert_eq!(running.ending().await, Ending::ShutDown);
}

#[tokio::test]
async fn a_question_is_withdrawn_when_the_member_is_asked_to_shut_down() {
    let mut world = World::new();
    world.mode = PermissionMode::Default;
    let model = Arc::new(FakeModel::default());
    model.then(call("Bash", json!({"command": "touch it"})));
    model.then(say("then not"));
    let running = world.run(Some("go"), &model);
    world.in_state(MemberState::WaitingPermission).await;
    world.ask_to_stop();
    assert_eq!(running.ending().await, Ending::ShutDown);
    let requests = model.requests();
    assert!(heard(&requests[1]).contains("withdrawn"));
    assert!(world.crew().requests().await.unwrap().requests.is_empty());
}
