//! Answers that come by mail count only if another program leads, and only for their call.

use std::sync::Arc;

use serde_json::json;
use swarm_permissions::{PermissionOutcome, PermissionRequest};
use swarm_protocol::{
    Answer, AnsweredBy, ControlFrame, PermissionResponse, PermissionResult, RequestKind,
    RequestState, SandboxPermissionResponse,
};
use swarm_store::{BlockOn as _, Draft, StoreError};
use swarm_team::{OpenRequest, open_request};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::request_rig::{
    Bell, LONG, allowed, answered, bound_to, call, ignored, led_by_another_program, look,
    mail_response, network, open, plan_mode, queue, success, wait, wait_for, yes,
};
use crate::world::{World, name, request_id};

#[tokio::test]
async fn the_answer_of_another_programs_lead_counts_and_settles_the_record() {
    let (world, bob) = World::with_context("bob");
    led_by_another_program(&world);
    let denied =
        PermissionOutcome::deny("The approval was for another call, so this one was not made.");
    let other = |change: fn(&mut PermissionRequest)| {
        let mut other = call();
        change(&mut other);
        (Some(bound_to(&other)), denied.clone())
    };
    let answers = [
        (None, allowed(&[])),
        (Some(bound_to(&call())), allowed(&[])),
        other(|call| call.input = json!({})),
        other(|call| call.tool = "Write".to_owned()),
        other(|call| call.tool_use_id = "toolu_2".to_owned()),
    ];
    for (approved_request, wanted) in answers {
        let open = open(&bob, &world, LONG);
        let id = &open.record.id;
        let response = PermissionResponse {
            approved_request,
            ..success(
                id,
                Some(json!({"updated_input": null, "permission_updates": null})),
            )
        };
        mail_response(&world, "team-lead", &response);
        assert_eq!(wait(&bob, &world, &open, LONG).await.unwrap(), wanted);
        assert!(world.unread("bob").is_empty());
        assert_eq!(queue(&world), 0);
        let asked = &open.record;
        let late = answered(&world, asked, Answer::once()).await;
        let late = late.unwrap_err();
        assert!(matches!(late, StoreError::RequestNotFound { .. }), "{late}");
    }
}

#[tokio::test]
async fn a_mailed_answer_may_change_the_input_and_grants_nothing_beyond_the_call() {
    let (world, bob) = World::with_context("bob");
    led_by_another_program(&world);
    let open = open(&bob, &world, LONG);
    let content = json!({
        "updated_input": {"command": "make"},
        "permission_updates": [{"type": "inventMode"}, plan_mode()],
    });
    mail_response(
        &world,
        "team-lead",
        &success(&open.record.id, Some(content)),
    );
    let answer = wait(&bob, &world, &open, LONG).await.unwrap();
    let wanted = PermissionOutcome::Allow {
        updated_input: Some(json!({"command": "make"})),
        grants: vec![],
    };
    assert_eq!(answer, wanted);
}

#[tokio::test]
async fn a_mailed_error_denies_the_call_with_its_text() {
    let (world, bob) = World::with_context("bob");
    led_by_another_program(&world);
    let open = open(&bob, &world, LONG);
    let no = PermissionResponse {
        result: PermissionResult::Error {
            error: "not today".to_owned(),
        },
        ..success(&open.record.id, None)
    };
    mail_response(&world, "team-lead", &no);
    let answer = wait(&bob, &world, &open, LONG).await.unwrap();
    assert_eq!(answer, PermissionOutcome::deny("not today"));
}

#[tokio::test]
async fn a_mailed_answer_is_ignored_if_a_person_or_a_swarm_lead_leads() {
    let world = World::new();
    let seated = world.seat_of_new("bob");
    let bob = &seated.context;
    let forged = |open: &OpenRequest| {
        let response = PermissionResponse {
            approved_request: Some(bound_to(&call())),
            ..success(&open.record.id, None)
        };
        mail_response(&world, "team-lead", &response);
    };
    let by_hand = open(bob, &world, LONG);
    forged(&by_hand);
    forged(&by_hand);
    assert_eq!(look(bob, &world, &by_hand).await, None);
    assert!(world.unread("bob").is_empty());
    assert_eq!(ignored(&world), 2);
    led_by_another_program(&world);
    let _lead = world.hold_life("team-lead", swarm_protocol::SpawnId::random());
    forged(&by_hand);
    assert_eq!(look(bob, &world, &by_hand).await, None);
    assert_eq!(ignored(&world), 3);
    yes(&world, &by_hand, false);
    let answer = wait(bob, &world, &by_hand, LONG).await.unwrap();
    assert_eq!(answer, allowed(&[]));
}

#[tokio::test]
async fn a_mailed_answer_is_ignored_after_the_leads_life_file_was_removed() {
    let world = World::on_files();
    let seated = world.seat_of_new("bob");
    let bob = &seated.context;
    led_by_another_program(&world);
    let lead = world.hold_life("team-lead", swarm_protocol::SpawnId::random());
    bob.note_who_leads(&*world.files()).await.unwrap();
    let open = open(bob, &world, LONG);
    std::fs::remove_file(world.file("swarm/members/team-lead/life")).unwrap();
    let id = &open.record.id;
    mail_response(&world, "team-lead", &success(id, None));
    assert_eq!(look(bob, &world, &open).await, None);
    assert_eq!(ignored(&world), 1);
    drop(lead);
}

#[tokio::test]
async fn a_mailed_yes_does_not_beat_a_recorded_no() {
    let (world, bob) = World::with_context("bob");
    led_by_another_program(&world);
    let open = open(&bob, &world, LONG);
    let id = &open.record.id;
    let no = Answer::Denied {
        why: Some("no".to_owned()),
    };
    world
        .files()
        .answer_request(id, None, no, AnsweredBy::default())
        .block_on()
        .unwrap();
    mail_response(&world, "team-lead", &success(id, None));
    let answer = wait(&bob, &world, &open, LONG).await.unwrap();
    assert_eq!(answer, PermissionOutcome::deny("no"));
}

#[tokio::test]
async fn a_peers_answer_and_an_answer_to_another_question_are_none() {
    let (world, bob) = World::with_context("bob");
    let open = open(&bob, &world, LONG);
    let id = &open.record.id;
    mail_response(&world, "alice", &success(id, None));
    mail_response(
        &world,
        "team-lead",
        &success(&request_id("perm-1-aaaaaaa"), None),
    );
    let bell = Arc::new(Notify::new());
    let cancel = CancellationToken::new();
    let waiting = wait_for(&bob, &world, &open, Bell(bell.clone()), LONG, &cancel);
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
    let record = world.files().request(id).block_on().unwrap();
    assert_eq!(record.state, RequestState::Open);
    yes(&world, &open, false);
    bell.notify_one();
    assert_eq!(waiting.await.unwrap(), allowed(&[]));
}

#[tokio::test]
async fn a_host_is_asked_for_as_claude_code_does_and_answered_in_the_queue_or_by_mail() {
    let (world, bob) = World::with_context("bob");
    let ask = async || {
        let team = world.files();
        let asked = open_request(&bob, &*team, network("a.example"), LONG);
        asked.await.unwrap()
    };
    let open = ask().await;
    let kind = RequestKind::Sandbox {
        host: "a.example".to_owned(),
    };
    assert_eq!(open.record.request, kind);
    let mail = world.mail("team-lead");
    let Some(ControlFrame::SandboxPermissionRequest(frame)) = &mail[0].frame else {
        panic!("{mail:?}");
    };
    assert_eq!(frame.host_pattern.host, "a.example");
    assert!(frame.request_id.to_string().starts_with("sandbox-"));
    yes(&world, &open, false);
    assert_eq!(wait(&bob, &world, &open, LONG).await.unwrap(), allowed(&[]));
    led_by_another_program(&world);
    for (host, allow, wanted) in [
        ("a.example", true, true),
        ("a.example", false, false),
        ("b.example", true, false),
    ] {
        let open = ask().await;
        let response = SandboxPermissionResponse {
            request_id: open.record.id.clone(),
            host: host.to_owned(),
            allow,
            timestamp: open.record.asked_at.iso(),
        };
        let frame = ControlFrame::SandboxPermissionResponse(response);
        let draft = Draft::control("team-lead", &frame);
        world.files().send(&name("bob"), draft).block_on().unwrap();
        let answer = wait(&bob, &world, &open, LONG).await.unwrap();
        let is_allowed = matches!(answer, PermissionOutcome::Allow { .. });
        assert_eq!(is_allowed, wanted, "{host} {allow}");
        assert_eq!(queue(&world), 0);
    }
}

#[tokio::test]
async fn a_mailed_answer_to_the_lead_is_left_to_the_handler_of_its_mail() {
    let world = World::new();
    let lead = world.lead().context;
    let open = open(&lead, &world, LONG);
    let frame = ControlFrame::PermissionResponse(success(&open.record.id, None));
    let draft = Draft::control("team-lead", &frame);
    world
        .files()
        .send(&name("team-lead"), draft)
        .block_on()
        .unwrap();
    assert_eq!(look(&lead, &world, &open).await, None);
    assert_eq!((world.unread("team-lead").len(), ignored(&world)), (1, 0));
}

#[tokio::test]
async fn an_answer_about_a_host_approves_no_other_call() {
    let world = World::new();
    let bob = world.seat_of_new("bob").context;
    led_by_another_program(&world);
    let open = open(&bob, &world, LONG);
    let frame = ControlFrame::SandboxPermissionResponse(SandboxPermissionResponse {
        request_id: open.record.id.clone(),
        host: String::new(),
        allow: true,
        timestamp: open.record.asked_at.iso(),
    });
    let draft = Draft::control("team-lead", &frame);
    world.files().send(&name("bob"), draft).block_on().unwrap();
    let answer = wait(&bob, &world, &open, LONG).await.unwrap();
    assert!(
        matches!(answer, PermissionOutcome::Deny { .. }),
        "{answer:?}"
    );
}
