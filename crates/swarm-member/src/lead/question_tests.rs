//! Members' questions, requests and plans in the mail of a lead.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::json;
use swarm_protocol::{
    AnsweredBy, Clock, ControlFrame, MemberName, PermissionMode, PermissionRequestFrame, RequestId,
    RequestKind, RequestRecord, SpawnId, UnixMs,
};
use swarm_store::{BlockOn as _, Draft};
use swarm_testkit::{World, name};

use super::mail_tests::{mail, mail_of, send};

#[tokio::test]
async fn a_question_of_a_member_is_shown_to_the_person_once() {
    let world = World::new();
    let (mail, events) = mail(&world);
    world.join("bob");
    let record = open_record(&world, "perm-1-abcdefg", "Bash make install");
    send(&world, question("bob"));
    for _ in 0..2 {
        assert!(mail.handler.take().await.unwrap().is_empty());
    }
    let asked = ["bob", "Bash make install", "p1"].map(str::to_owned);
    assert_eq!(events.asked(), [asked]);
    assert_eq!(world.unread("team-lead"), 0);
    // The model gets it and the answer with its next messages.
    let notes = async || -> Vec<_> {
        let notes = mail.handler.notes().await.into_iter();
        notes.map(|note| note.text).collect()
    };
    let waits = notes().await;
    assert!(
        waits[0].contains("request p1 of bob (Bash) is waiting"),
        "{waits:?}"
    );
    assert!(notes().await.is_empty(), "told twice");
    let files = world.crew();
    swarm_team::answer_request(
        &*files,
        &record,
        swarm_protocol::Answer::Denied {
            why: Some("not now".to_owned()),
        },
        AnsweredBy::person(1, None),
    )
    .await
    .unwrap();
    files.close_request(&record.id).await.unwrap();
    let answered = notes().await;
    assert!(
        answered[0].contains("was denied by a person: not now"),
        "{answered:?}"
    );
    assert!(notes().await.is_empty(), "told twice");
    // A request that is read after its answer is ignored.
    send(&world, question("bob"));
    assert!(mail.handler.take().await.unwrap().is_empty());
    assert_eq!(events.asked().len(), 1);
}

#[tokio::test]
async fn the_lead_reads_why_a_request_was_withdrawn() {
    let world = World::new();
    let (mail, _events) = mail(&world);
    world.join("bob");
    let record = open_record(&world, "perm-1-abcdefg", "Bash make install");
    send(&world, question("bob"));
    assert!(mail.handler.take().await.unwrap().is_empty());
    let why = Some("a changed rule or mode decided it");
    let withdrawn = world.crew().withdraw_request(&record.id, why).await;
    assert!(withdrawn.unwrap());
    let notes = mail.handler.notes().await.into_iter();
    let notes: Vec<_> = notes.map(|note| note.text).collect();
    assert!(
        notes[0].contains("was withdrawn: a changed rule or mode decided it"),
        "{notes:?}"
    );
}

/// The frame of a member about bob's request.
fn question(member: &str) -> Draft {
    let frame = ControlFrame::PermissionRequest(PermissionRequestFrame {
        request_id: RequestId::new("perm-1-abcdefg"),
        agent_id: member.to_owned(),
        tool_name: "Bash".to_owned(),
        tool_use_id: "t1".to_owned(),
        description: "Bash make install".to_owned(),
        input: json!({}),
        permission_suggestions: Vec::new(),
    });
    Draft::control(member, &frame).urgent()
}

fn open_record(world: &World, id: &str, description: &str) -> RequestRecord {
    let record = RequestRecord {
        spawn_id: Some(SpawnId::random()),
        description: description.to_owned(),
        ..RequestRecord::open(
            RequestId::new(id),
            name("bob"),
            RequestKind::Permission {
                tool: "Bash".to_owned(),
                tool_use_id: "t1".to_owned(),
                input: serde_json::json!({}),
                digest: String::new(),
                suggestions: Vec::new(),
            },
            world.spawn_context.clock.now(),
        )
    };
    world.crew().open_request(record, None).block_on().unwrap()
}

/// A plan that another program sends.
fn plan(from: &str) -> String {
    let id = format!("plan_approval-1@{from}@t");
    serde_json::json!({"type": "plan_approval_request", "requestId": id, "from": from,
        "planFilePath": "/p.md", "planContent": "# Fix it", "timestamp": "t"})
    .to_string()
}

#[tokio::test]
async fn p6_a_member_of_another_program_asks_through_the_queue_and_a_stranger_not_at_all() {
    let world = World::on_files();
    let (mail, events) = mail(&world);
    world.write_raw("mallory", &plan("mallory"));
    let read = mail.handler.take().await.unwrap();
    assert_eq!(read.len(), 1, "a text of a stranger");
    let files = world.crew();
    files
        .add_external(&name("eve"), Path::new("/"))
        .await
        .unwrap();
    world.write_raw("eve", &plan("eve"));
    assert_eq!(
        mail.handler.take().await.unwrap().len(),
        1,
        "the stranger's text alone"
    );
    let requests = world.crew().requests().await.unwrap().requests;
    let RequestKind::Plan { mode, .. } = &requests[0].request else {
        panic!("{requests:?}");
    };
    assert_eq!(
        (requests.len(), *mode),
        (1, PermissionMode::AcceptEdits),
        "the lead's mode"
    );
    assert_eq!(
        events.asked(),
        [["eve", "plan: Fix it", "p1"].map(str::to_owned)]
    );
}

/// A clock that is set by hand.
#[derive(Debug)]
struct SetClock(AtomicU64);

impl Clock for SetClock {
    fn now(&self) -> UnixMs {
        UnixMs(self.0.load(Ordering::SeqCst))
    }
}

#[tokio::test]
async fn a_plan_in_a_turn_that_never_ends_is_asked_about_without_other_mail() {
    let mut world = World::on_files();
    world.write_raw("eve", &plan("eve"));
    let files = world.crew();
    files
        .add_external(&name("eve"), Path::new("/"))
        .await
        .unwrap();
    files.set_active(&name("eve"), true).await.unwrap();
    let inbox = files.inbox(&MemberName::lead()).await.unwrap();
    let due = inbox.entries[0].timestamp.unix_ms().unwrap().0 + 5 * 60_000;
    let clock = Arc::new(SetClock(AtomicU64::new(due - 20)));
    world.spawn_context.clock = clock.clone();
    let (mail, events) = mail(&world);
    assert!(mail.handler.take().await.unwrap().is_empty());
    assert!(events.asked().is_empty());
    mail.lead.plan_is_due().await;
    clock.0.store(due, Ordering::SeqCst);
    assert!(mail.handler.take().await.unwrap().is_empty());
    assert_eq!(events.asked().len(), 1);
    assert_eq!(world.unread("team-lead"), 0);
}

#[tokio::test]
async fn a_question_is_for_the_model_if_no_person_is_at_the_terminal_and_is_noted_once() {
    let world = World::new();
    let (mail, events) = mail_of(&world, false);
    world.join("bob");
    open_record(&world, "perm-1-abcdefg", "Bash make install");
    send(&world, question("bob"));
    for _ in 0..2 {
        assert_eq!(mail.handler.take().await.unwrap().len(), 1);
        let notes = mail.handler.notes().await;
        assert!(notes.is_empty(), "the message says it");
    }
    assert_eq!(events.asked().len(), 1);
}

#[tokio::test]
async fn a_plan_of_another_program_waits_for_the_end_of_its_turn() {
    let world = World::new();
    let (mail, events) = mail(&world);
    let files = world.crew();
    let eve = name("eve");
    files.add_external(&eve, Path::new("/")).await.unwrap();
    files.set_active(&eve, true).await.unwrap();
    let plan = json!({"type": "plan_approval_request", "requestId": "plan_approval-1@eve@t",
        "from": "eve", "planFilePath": "/p.md", "planContent": "# Fix it", "timestamp": "t"});
    let frame = ControlFrame::from_text(&plan.to_string()).unwrap();
    send(&world, Draft::control("eve", &frame));
    assert!(mail.handler.take().await.unwrap().is_empty());
    assert_eq!((events.asked().len(), world.unread("team-lead")), (0, 1));
    files.set_active(&eve, false).await.unwrap();
    assert!(mail.handler.take().await.unwrap().is_empty());
    assert_eq!((events.asked().len(), world.unread("team-lead")), (1, 0));
}

#[tokio::test]
async fn a_question_about_the_request_of_another_member_is_not_shown() {
    let world = World::new();
    let (mail, events) = mail(&world);
    world.join("bob");
    world.join("eve");
    open_record(&world, "perm-1-abcdefg", "Bash make install");
    send(&world, question("eve"));
    assert!(mail.handler.take().await.unwrap().is_empty());
    assert!(events.asked().is_empty(), "{:?}", events.asked());
}
