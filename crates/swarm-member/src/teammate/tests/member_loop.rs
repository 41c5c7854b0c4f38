//! The member loop from prompt to shutdown.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use serde_json::json;
use swarm_model::ModelError;
use swarm_os::Liveness;
use swarm_protocol::{AgentEvent, ControlFrame, Event, IdleReason, MemberState};
use swarm_store::{BlockOn as _, Draft};
use swarm_team::Incoming;
use tokio::sync::Notify;

use super::world::{Lookout, World, approve, bob, team, until};
use crate::teammate::{Ending, Termination};
use swarm_testkit::{FakeModel, Reply, call, heard, say, words};

#[tokio::test]
async fn a_prompt_becomes_a_turn_an_idle_notice_and_an_orderly_end() {
    let world = World::new();
    let model = FakeModel::saying("the tests are green");
    let running = world.run(Some("run the tests"), &model);
    let spawn = running.spawn_id;
    let notices = world.idle(1).await;
    assert_eq!(notices[0].result.as_deref(), Some("the tests are green"));
    assert_eq!(notices[0].idle_reason, Some(IdleReason::Available));
    let requests = model.requests();
    assert_eq!(requests.len(), 1);
    let told = heard(&requests[0]);
    assert!(
        told.contains("<teammate-message teammate_id=\"team-lead\""),
        "{told}"
    );
    assert!(told.contains("run the tests"), "{told}");
    assert_eq!(world.unread("bob"), 0);
    assert_eq!(world.outcomes(), ["finished"]);
    world.in_state(MemberState::Idle).await;
    assert_eq!(
        world.crew().liveness(&bob()).await.unwrap(),
        Liveness::Alive
    );

    model.then(say("good bye"));
    let id = world.ask_to_stop();
    assert_eq!(running.ending().await, Ending::ShutDown);
    let mail = world.leads_mail();
    let Some(Incoming {
        frame: Some(ControlFrame::ShutdownApproved(frame)),
        ..
    }) = mail.last()
    else {
        panic!("{mail:?}");
    };
    assert_eq!((&frame.request_id, frame.from.as_str()), (&id, "bob"));
    assert_eq!(world.state(), Some(MemberState::Stopped));
    assert_eq!(world.crew().liveness(&bob()).await.unwrap(), Liveness::Dead);
    assert_eq!(world.unread("bob"), 0);
    assert_eq!(model.asked(), 2);
    let delivered = world.crew().events().await.unwrap().entries;
    let delivered = delivered
        .iter()
        .filter(|entry| matches!(&entry.event, Event::Delivered { to, .. } if *to == bob()));
    assert_eq!(delivered.count(), 2, "the prompt and the request");
    assert_eq!(
        world
            .crew()
            .config()
            .await
            .unwrap()
            .member(&bob())
            .unwrap()
            .spawn_id(),
        Some(spawn)
    );
}

#[tokio::test]
async fn a_member_without_a_prompt_waits_for_mail_and_costs_nothing() {
    let world = World::new();
    let model = FakeModel::saying("hello");
    let running = world.run(None, &model);
    world.in_state(MemberState::Idle).await;
    assert_eq!(model.asked(), 0);
    world.say("are you there?");
    world.idle(1).await;
    assert_eq!(model.asked(), 1);
    world.ask_to_stop();
    assert_eq!(running.ending().await, Ending::ShutDown);
}

#[tokio::test]
async fn mail_that_arrives_during_a_turn_is_read_together_in_the_next() {
    let world = Arc::new(World::new());
    let model = Arc::new(FakeModel::default());
    let sender = Arc::clone(&world);
    model.on(move |_| {
        sender.say("second");
        sender.say("third");
        say("one")
    });
    model.then(say("two"));
    let running = world.run(Some("first"), &model);
    world.idle(2).await;
    let requests = model.requests();
    assert!(!heard(&requests[0]).contains("second"));
    let told = heard(&requests[1]);
    assert!(told.contains("second") && told.contains("third"), "{told}");
    running.crash().await;
}

#[tokio::test]
async fn urgent_mail_is_let_in_between_calls_and_other_mail_is_not() {
    let world = Arc::new(World::new());
    let model = Arc::new(FakeModel::default());
    let sender = Arc::clone(&world);
    model.on(move |_| {
        sender.say("no hurry");
        sender.send(Draft::new("team-lead", "stop at once").urgent());
        call("TaskList", json!({}))
    });
    model.then(say("stopped"));
    model.then(say("read the rest"));
    let running = world.run(Some("go"), &model);
    world.idle(2).await;
    let requests = model.requests();
    let told = heard(&requests[1]);
    assert!(
        told.contains("stop at once") && !told.contains("no hurry"),
        "{told}"
    );
    assert!(heard(&requests[2]).contains("no hurry"));
    assert_eq!(world.unread("bob"), 0);
    running.crash().await;
}

#[tokio::test]
async fn a_failed_turn_is_reported_and_the_member_continues() {
    let world = World::new();
    let model = Arc::new(FakeModel::default());
    model.then(Reply::Fail(ModelError::Auth {
        provider: swarm_model::Provider::Anthropic,
        message: "bad key".to_owned(),
    }));
    model.then(say("fine"));
    let running = world.run(Some("go"), &model);
    let notices = world.idle(1).await;
    assert_eq!(notices[0].idle_reason, Some(IdleReason::Failed));
    assert!(
        notices[0]
            .failure_reason
            .as_ref()
            .unwrap()
            .contains("bad key")
    );
    world.in_state(MemberState::Failed).await;
    let report = world.crew().state(&bob()).await.unwrap().unwrap();
    assert!(report.detail.unwrap().contains("bad key"));
    world.say("again");
    world.idle(2).await;
    world.in_state(MemberState::Idle).await;
    assert_eq!(world.outcomes(), ["failed", "finished"]);
    world.ask_to_stop();
    assert_eq!(running.ending().await, Ending::ShutDown);
}

#[tokio::test]
async fn no_model_is_asked_before_the_commit() {
    let world = World::new();
    let model = FakeModel::saying("hello");
    let spawn = world.reserve("bob", Some("go"));
    let running = world.start(spawn, &model);
    let hello = until("hello", || world.crew().hello(&bob()).block_on().unwrap()).await;
    assert_eq!(hello.spawn_id, spawn);
    assert!(hello.tools.iter().any(|tool| tool == "SendMessage"));
    assert_eq!(
        world.crew().liveness(&bob()).await.unwrap(),
        Liveness::Alive
    );
    assert_eq!(model.asked(), 0);
    world.commit(spawn);
    world.idle(1).await;
    running.crash().await;
}

#[tokio::test]
async fn a_spawn_that_is_called_off_leaves_without_a_model_call() {
    let world = World::new();
    let model = FakeModel::saying("hello");
    let spawn = world.reserve("bob", Some("go"));
    let running = world.start(spawn, &model);
    until("hello", || world.crew().hello(&bob()).block_on().unwrap()).await;
    assert!(world.crew().abort_spawn(&spawn, "a test").await.unwrap());
    assert_eq!(running.ending().await, Ending::NotWanted);
    assert_eq!(model.asked(), 0);
}

#[tokio::test]
async fn a_child_that_is_terminated_before_its_commit_leaves_immediately() {
    let world = World::new();
    let model = FakeModel::saying("hello");
    let running = world.start(world.reserve("bob", Some("go")), &model);
    until("hello", || world.crew().hello(&bob()).block_on().unwrap()).await;
    running.terminate.tell("a test");
    assert_eq!(running.ending().await, Ending::NotWanted);
    assert_eq!(model.asked(), 0);
}

#[tokio::test]
async fn a_spawn_whose_name_went_to_another_is_not_wanted() {
    let world = World::new();
    let model = FakeModel::saying("hello");
    let spawn = world.reserve("bob", None);
    world.crew().abort_spawn(&spawn, "a test").await.unwrap();
    world.reserve("bob", Some("for the other"));
    let running = world.start(spawn, &model);
    assert_eq!(running.ending().await, Ending::NotWanted);
    assert_eq!((model.asked(), world.unread("bob")), (0, 1));
}

#[tokio::test]
async fn without_its_team_a_member_leaves() {
    let world = World::new();
    let model = FakeModel::saying("hello");
    let running = world.run(None, &model);
    world.in_state(MemberState::Idle).await;
    world.crew().delete(true, true).await.unwrap();
    assert_eq!(running.ending().await, Ending::Removed);
    assert_eq!(world.store.teams().await.unwrap(), []);
}

#[tokio::test]
async fn without_its_place_in_the_roster_a_member_leaves_its_mail_alone() {
    let world = World::on_files();
    let model = FakeModel::saying("hello");
    let running = world.run(None, &model);
    world.in_state(MemberState::Idle).await;
    world.crew().remove_member(&bob(), None).await.unwrap();
    world.reserve("alice", None);
    let inbox = world.inbox_path();
    let entry = json!([{"from": "alice", "text": "hello", "timestamp": "now"}]);
    swarm_os::replace_alone(&inbox, entry.to_string().as_bytes()).unwrap();
    assert_eq!(running.ending().await, Ending::Removed);
    assert_eq!((model.asked(), world.unread("bob")), (0, 1));
}

#[tokio::test]
async fn told_to_end_it_ends_and_the_lead_is_to_hear_of_it_as_of_a_death() {
    let world = World::new();
    let model = Arc::new(FakeModel::default());
    model.then(Reply::Hang);
    let running = world.run(Some("go"), &model);
    until("the request", || (model.asked() == 1).then_some(())).await;
    running.terminate.tell("its pane is gone");
    running.terminate.tell("a second cause");
    assert_eq!(running.ending().await, Ending::Terminated);
    assert_eq!(world.state(), Some(MemberState::Dead));
    assert_eq!(world.outcomes(), ["interrupted"]);
    let died = swarm_team::reconcile(&world.crew()).unwrap().died;
    assert!(died.len() == 1 && !died[0].in_order);
    assert!(died[0].reason.contains("its pane is gone"), "{died:?}");
}

#[tokio::test]
async fn told_to_end_it_takes_no_mail() {
    let world = World::new();
    let model = FakeModel::saying("hello");
    let terminate = Termination::default();
    terminate.tell("it is late");
    let spawn = world.join("bob", Some("go"));
    let running = world.start_with(spawn, &model, terminate);
    assert_eq!(running.ending().await, Ending::Terminated);
    assert_eq!((model.asked(), world.unread("bob")), (0, 1));
}

#[tokio::test]
async fn at_no_moment_does_it_look_idle_with_mail_to_answer() {
    let mut world = World::new();
    let (store, team) = (world.store.clone(), team());
    let (sent, answered) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicBool::new(false)),
    );
    let looks = Arc::new(Mutex::new(Vec::new()));
    let watch = {
        let (sent, answered, looks) = (sent.clone(), answered.clone(), looks.clone());
        move || {
            if !sent.load(Ordering::SeqCst) || answered.load(Ordering::SeqCst) {
                return;
            }
            let views = store.team(&team).member_view().block_on().unwrap();
            let view = views.iter().find(|view| view.member.name == bob()).unwrap();
            looks.lock().push((view.state, view.unread));
        }
    };
    world.clock = Arc::new(Lookout(Box::new(watch)));
    let model = Arc::new(FakeModel::default());
    model.on(move |_| {
        answered.store(true, Ordering::SeqCst);
        say("hello")
    });
    let running = world.run(None, &model);
    world.in_state(MemberState::Idle).await;
    sent.store(true, Ordering::SeqCst);
    world.say("hello");
    world.idle(1).await;
    let looks = looks.lock().clone();
    assert!(looks.len() > 2, "{looks:?}");
    assert!(!looks.contains(&(MemberState::Idle, Some(0))), "{looks:?}");
    running.crash().await;
}

#[tokio::test]
async fn nothing_that_its_shell_started_outlives_it() {
    let world = World::new();
    let model = Arc::new(FakeModel::default());
    let command = "setsid sleep 1000 >/dev/null 2>&1 & echo started";
    model.then(call("Bash", json!({ "command": command })));
    model.then(say("done"));
    let running = world.run(Some("go"), &model);
    let spawn = running.spawn_id.to_string();
    world.idle(1).await;
    let left = || swarm_os::process::find_by_env("SWARM_SPAWN_ID", &spawn).len();
    assert!(heard(&model.requests()[1]).contains("started"));
    assert_eq!(left(), 1);
    world.ask_to_stop();
    assert_eq!(running.ending().await, Ending::ShutDown);
    assert_eq!(left(), 0);
}

#[tokio::test]
async fn p1_a_member_that_waits_for_permission_says_so_and_takes_the_answer() {
    let mut world = World::new();
    world.mode = swarm_protocol::PermissionMode::Default;
    let model = Arc::new(FakeModel::default());
    model.then(call("Bash", json!({"command": "touch made"})));
    model.then(say("done"));
    let running = world.run(Some("go"), &model);
    let request = until("a request", || {
        world.crew().requests().block_on().unwrap().requests.pop()
    })
    .await;
    world.in_state(MemberState::WaitingPermission).await;
    assert!(!world.directory.path().join("made").exists());
    approve(&world, &request).await;
    world.idle(1).await;
    assert!(world.directory.path().join("made").exists());
    assert!(world.crew().requests().await.unwrap().requests.is_empty());
    running.crash().await;
}

#[tokio::test]
async fn a_question_of_a_turn_that_is_cut_leaves_the_queue() {
    let mut world = World::new();
    world.mode = swarm_protocol::PermissionMode::Default;
    world.limits.shutdown_grace_ms = 20;
    let model = Arc::new(FakeModel::default());
    model.then(call("Bash", json!({"command": "touch made"})));
    let running = world.run(Some("go"), &model);
    until("a request", || {
        world.crew().requests().block_on().unwrap().requests.pop()
    })
    .await;
    world.ask_to_stop();
    assert_eq!(running.ending().await, Ending::ShutDown);
    assert!(world.crew().requests().await.unwrap().requests.is_empty());
    assert!(!world.directory.path().join("made").exists());
}

#[tokio::test]
async fn d5_a_report_by_message_is_not_repeated_with_the_idle_notice() {
    let world = World::new();
    let model = Arc::new(FakeModel::default());
    let to_lead = json!({"to": "team-lead", "message": "all is green"});
    model.then(call("SendMessage", to_lead));
    model.then(say("I have told the lead"));
    let running = world.run(Some("go"), &model);
    let notices = world.idle(1).await;
    assert_eq!(notices[0].result, None);
    let mail = world.leads_mail();
    assert!(mail[0].is_prose() && mail[0].entry.text == "all is green");
    running.crash().await;
}

#[tokio::test]
async fn a_turn_shows_as_active_only_while_it_lasts() {
    let world = World::new();
    let model = Arc::new(FakeModel::default());
    let let_go = Arc::new(Notify::new());
    model.then(Reply::When(let_go.clone(), words("hello")));
    let running = world.run(Some("go"), &model);
    until("the request", || (model.asked() == 1).then_some(())).await;
    let active = || {
        let config = world.crew().config().block_on().unwrap();
        config.member(&bob()).unwrap().is_active
    };
    // Written during the model request.
    world.in_state(MemberState::Working).await;
    until("the turn", || (active() == Some(true)).then_some(())).await;
    let_go.notify_one();
    world.idle(1).await;
    assert_eq!(active(), Some(false));
    running.crash().await;
}

#[test]
fn events_of_a_turn_do_not_leak_into_the_next() {
    let mut mail = crate::reporter::TurnMail::default();
    mail.follow(&AgentEvent::MailOut {
        to: "team-lead".to_owned(),
        line: "done".to_owned(),
    });
    mail.follow(&AgentEvent::TurnStarted);
    assert_eq!(mail, crate::reporter::TurnMail::default());
}
