//! A question between processes has one answer, for one call.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use swarm_policy::{Destination, Suggestion};
use swarm_protocol::{
    Answer, AnsweredBy, ApprovedRequest, ControlFrame, PermissionMode, PermissionResponse,
    PermissionResult, RequestId, RequestKind, RequestState, input_digest,
};
use swarm_store::{Draft, StoreError, TeamStore};
use swarm_team::{
    AskedCall, Incoming, PermissionAnswer, Seat, Wake, approve, deny, open_request, wait_for_answer,
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::world::{World, name, request_id};

type Change = fn(&mut AskedCall);

const LONG: Duration = Duration::from_hours(1);

fn call() -> AskedCall {
    AskedCall {
        tool: "Bash".to_owned(),
        tool_use_id: "toolu_1".to_owned(),
        input: json!({"command": "make install", "timeout": 5}),
        description: "Bash make install".to_owned(),
        suggestions: vec![plan_mode()],
    }
}

fn plan_mode() -> Suggestion {
    Suggestion::SetMode {
        mode: PermissionMode::Plan,
        destination: Destination::Session,
    }
}

fn open(seat: &Seat, world: &World, timeout: Duration) -> RequestId {
    open_request(seat, &world.team, &call(), timeout).unwrap()
}

/// Wakes when a test says so.
#[derive(Default)]
struct Bell(Arc<Notify>);

#[async_trait]
impl Wake for Bell {
    async fn changed(&mut self) {
        self.0.notified().await;
    }
}

async fn wait(
    seat: &Seat,
    world: &World,
    id: &RequestId,
    timeout: Duration,
) -> Result<PermissionAnswer, StoreError> {
    let cancel = CancellationToken::new();
    wait_for(seat, world, id, &call(), Bell::default(), timeout, &cancel).await
}

async fn wait_for(
    seat: &Seat,
    world: &World,
    id: &RequestId,
    call: &AskedCall,
    mut bell: Bell,
    timeout: Duration,
    cancel: &CancellationToken,
) -> Result<PermissionAnswer, StoreError> {
    wait_for_answer(seat, &world.team, id, call, &mut bell, timeout, cancel).await
}

fn queue(world: &World) -> usize {
    world.store.requests(&world.team).unwrap().requests.len()
}

fn allowed(updates: &[Suggestion]) -> PermissionAnswer {
    PermissionAnswer::Allowed {
        updated_input: None,
        updates: updates.to_vec(),
    }
}

/// A response as a lead of another program mails it.
fn mail_response(world: &World, from: &str, response: &PermissionResponse) {
    let frame = ControlFrame::PermissionResponse(response.clone());
    let draft = Draft::control(from, &frame);
    world.store.send(&world.team, &name("bob"), draft).unwrap();
}

fn success(id: &RequestId, content: Option<Value>) -> PermissionResponse {
    PermissionResponse {
        request_id: id.clone(),
        result: PermissionResult::Success { response: content },
        tool_use_id: None,
        approved_request: None,
    }
}

fn bound_to(call: &AskedCall) -> ApprovedRequest {
    ApprovedRequest {
        tool_use_id: call.tool_use_id.clone(),
        tool_name: call.tool.clone(),
        input_digest: input_digest(&call.tool, &call.input),
    }
}

#[test]
fn a_question_stands_in_the_queue_and_before_the_lead() {
    let world = World::new();
    let bob = world.seat_of_new("bob").seat;
    let id = open(&bob, &world, LONG);
    let record = world.store.request(&world.team, &id).unwrap();
    let RequestKind::Permission { input, digest, .. } = &record.request;
    assert_eq!(
        (&record.from, record.spawn_id),
        (&name("bob"), bob.spawn_id)
    );
    assert_eq!(
        (input, digest),
        (&call().input, &input_digest("Bash", &call().input))
    );
    assert_eq!(record.deadline.since(record.asked_at), 3_600_000);
    let mail = world.mail("team-lead");
    let [Incoming::PermissionRequest(entry, frame)] = &mail[..] else {
        panic!("{mail:?}");
    };
    assert!(entry.is_urgent());
    assert_eq!((&frame.request_id, frame.agent_id.as_str()), (&id, "bob"));
    assert_eq!(frame.input, call().input);
}

#[tokio::test]
async fn a_yes_lets_the_call_run_and_always_takes_the_suggestions_too() {
    let world = World::new();
    let bob = world.seat_of_new("bob").seat;
    for (always, updates) in [(false, vec![]), (true, call().suggestions)] {
        let id = open(&bob, &world, LONG);
        approve(
            &*world.store,
            &world.team,
            &id,
            always,
            AnsweredBy::default(),
        )
        .unwrap();
        let answer = wait(&bob, &world, &id, LONG).await.unwrap();
        assert_eq!(answer, allowed(&updates));
        assert_eq!(queue(&world), 0);
        assert!(world.unread("bob").is_empty(), "the mailed copy is read");
    }
}

#[tokio::test]
async fn a_no_carries_its_reason() {
    let world = World::new();
    let bob = world.seat_of_new("bob").seat;
    let id = open(&bob, &world, LONG);
    deny(
        &*world.store,
        &world.team,
        &id,
        Some("not on Friday".to_owned()),
        AnsweredBy::default(),
    )
    .unwrap();
    let answer = wait(&bob, &world, &id, LONG).await.unwrap();
    assert_eq!(answer, PermissionAnswer::Denied("not on Friday".to_owned()));
}

#[tokio::test]
async fn a_changed_call_is_not_what_was_approved() {
    let world = World::new();
    let bob = world.seat_of_new("bob").seat;
    let changes: [Change; 3] = [
        |call| call.input["command"] = "rm -rf /".into(),
        |call| call.tool = "Write".to_owned(),
        |call| call.tool_use_id = "toolu_2".to_owned(),
    ];
    for change in changes {
        let id = open(&bob, &world, LONG);
        approve(
            &*world.store,
            &world.team,
            &id,
            false,
            AnsweredBy::default(),
        )
        .unwrap();
        let mut other = call();
        change(&mut other);
        let cancel = CancellationToken::new();
        let answer = wait_for(&bob, &world, &id, &other, Bell::default(), LONG, &cancel).await;
        assert!(matches!(answer.unwrap(), PermissionAnswer::Denied(_)));
    }
}

#[test]
fn exactly_one_answer_wins() {
    let world = World::new();
    let bob = world.seat_of_new("bob").seat;
    let id = open(&bob, &world, LONG);
    let wins: usize = std::thread::scope(|scope| {
        let answers: Vec<_> = (0..6)
            .map(|n| {
                let (world, id) = (&world, &id);
                scope.spawn(move || {
                    let answered = if n % 2 == 0 {
                        approve(&*world.store, &world.team, id, false, AnsweredBy::default())
                    } else {
                        deny(&*world.store, &world.team, id, None, AnsweredBy::default())
                    };
                    match answered {
                        Ok(_) => 1,
                        Err(StoreError::RequestAnswered { .. }) => 0,
                        Err(error) => panic!("{error}"),
                    }
                })
            })
            .collect();
        answers
            .into_iter()
            .map(|answer| answer.join().unwrap())
            .sum()
    });
    assert_eq!(wins, 1);
    assert_eq!(world.unread("bob").len(), 1);
}

#[tokio::test]
async fn silence_means_no() {
    let world = World::new();
    let bob = world.seat_of_new("bob").seat;
    let timeout = Duration::from_millis(20);
    let id = open(&bob, &world, timeout);
    let answer = wait(&bob, &world, &id, timeout).await.unwrap();
    let PermissionAnswer::Denied(why) = answer else {
        panic!("{answer:?}");
    };
    assert!(why.contains("Nobody answered"), "{why}");
    assert_eq!(queue(&world), 0);
    let late = approve(
        &*world.store,
        &world.team,
        &id,
        false,
        AnsweredBy::default(),
    )
    .unwrap_err();
    assert!(matches!(late, StoreError::RequestNotFound { .. }), "{late}");
}

#[tokio::test]
async fn an_interrupted_question_is_withdrawn() {
    let world = World::new();
    let bob = world.seat_of_new("bob").seat;
    let id = open(&bob, &world, LONG);
    let cancel = CancellationToken::new();
    cancel.cancel();
    let answer = wait_for(&bob, &world, &id, &call(), Bell::default(), LONG, &cancel).await;
    assert!(matches!(answer.unwrap(), PermissionAnswer::Denied(_)));
    assert_eq!(queue(&world), 0);
}

#[tokio::test]
async fn the_answer_of_another_programs_lead_counts_and_settles_the_record() {
    let world = World::new();
    let bob = world.seat_of_new("bob").seat;
    let answers = [
        (None, allowed(&[])),
        (Some(bound_to(&call())), allowed(&[])),
        (
            Some(bound_to(&AskedCall {
                input: json!({}),
                ..call()
            })),
            PermissionAnswer::Denied(
                "The approval was for another call, so this one was not made.".to_owned(),
            ),
        ),
    ];
    for (approved_request, wanted) in answers {
        let id = open(&bob, &world, LONG);
        let response = PermissionResponse {
            approved_request,
            ..success(
                &id,
                Some(json!({"updated_input": null, "permission_updates": null})),
            )
        };
        mail_response(&world, "team-lead", &response);
        assert_eq!(wait(&bob, &world, &id, LONG).await.unwrap(), wanted);
        assert!(world.unread("bob").is_empty());
        assert_eq!(queue(&world), 0);
        let late = approve(
            &*world.store,
            &world.team,
            &id,
            false,
            AnsweredBy::default(),
        )
        .unwrap_err();
        assert!(matches!(late, StoreError::RequestNotFound { .. }), "{late}");
    }
}

#[tokio::test]
async fn a_mailed_answer_may_change_the_input_and_grant_what_is_known_here() {
    let world = World::new();
    let bob = world.seat_of_new("bob").seat;
    let id = open(&bob, &world, LONG);
    let content = json!({
        "updated_input": {"command": "make"},
        "permission_updates": [{"type": "inventMode"}, plan_mode()],
    });
    mail_response(&world, "team-lead", &success(&id, Some(content)));
    let answer = wait(&bob, &world, &id, LONG).await.unwrap();
    let wanted = PermissionAnswer::Allowed {
        updated_input: Some(json!({"command": "make"})),
        updates: vec![plan_mode()],
    };
    assert_eq!(answer, wanted);
}

#[tokio::test]
async fn a_mailed_yes_does_not_beat_a_recorded_no() {
    let world = World::new();
    let bob = world.seat_of_new("bob").seat;
    let id = open(&bob, &world, LONG);
    let no = Answer::Denied {
        why: Some("no".to_owned()),
    };
    world
        .store
        .answer_request(&world.team, &id, no, AnsweredBy::default())
        .unwrap();
    mail_response(&world, "team-lead", &success(&id, None));
    let answer = wait(&bob, &world, &id, LONG).await.unwrap();
    assert_eq!(answer, PermissionAnswer::Denied("no".to_owned()));
}

#[tokio::test]
async fn a_peers_answer_and_an_answer_to_another_question_are_none() {
    let world = World::new();
    let bob = world.seat_of_new("bob").seat;
    let id = open(&bob, &world, LONG);
    mail_response(&world, "alice", &success(&id, None));
    mail_response(
        &world,
        "team-lead",
        &success(&request_id("perm-1-aaaaaaa"), None),
    );
    let bell = Arc::new(Notify::new());
    let (call, cancel) = (call(), CancellationToken::new());
    let waiting = wait_for(&bob, &world, &id, &call, Bell(bell.clone()), LONG, &cancel);
    tokio::pin!(waiting);
    for _ in 0..3 {
        bell.notify_one();
        let early = tokio::select! {
            biased;
            answer = &mut waiting => Some(answer),
            () = tokio::task::yield_now() => None,
        };
        assert!(early.is_none(), "{early:?}");
    }
    assert_eq!(world.unread("bob").len(), 2);
    let record = world.store.request(&world.team, &id).unwrap();
    assert_eq!(record.state, RequestState::Open);
    approve(
        &*world.store,
        &world.team,
        &id,
        false,
        AnsweredBy::default(),
    )
    .unwrap();
    bell.notify_one();
    assert_eq!(waiting.await.unwrap(), allowed(&[]));
}

#[tokio::test]
async fn the_lead_asks_through_the_queue_alone() {
    let world = World::new();
    let lead = world.lead().seat;
    let id = open(&lead, &world, LONG);
    assert!(world.unread("team-lead").is_empty());
    approve(
        &*world.store,
        &world.team,
        &id,
        false,
        AnsweredBy::default(),
    )
    .unwrap();
    assert!(world.unread("team-lead").is_empty());
    assert_eq!(wait(&lead, &world, &id, LONG).await.unwrap(), allowed(&[]));
    assert_eq!(queue(&world), 0);
}

#[test]
fn a_question_that_cannot_be_told_to_the_lead_does_not_stay_in_the_queue() {
    let world = World::new();
    let bob = world.seat_of_new("bob").seat;
    let inbox = world.store.inbox_folder(&world.team).join("team-lead.json");
    std::fs::create_dir(&inbox).unwrap();
    open_request(&bob, &world.team, &call(), LONG).unwrap_err();
    assert_eq!(queue(&world), 0);
}
