//! A permission request has exactly one answer, for one call.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use swarm_permissions::{Destination, PermissionOutcome, PermissionRequest, Suggestion};
use swarm_protocol::{
    AgentEvent, Answer, AnsweredBy, ApprovedRequest, ControlFrame, Event, NETWORK_ACCESS,
    PermissionMode, PermissionResponse, PermissionResult, RequestId, RequestKind, RequestState,
    SandboxPermissionResponse, input_digest,
};
use swarm_store::{BlockOn as _, Draft, StoreError, process};
use swarm_team::{
    ChangeSignal, Incoming, MemberContext, OpenRequest, approve, deny, open_request,
    wait_for_answer,
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::world::{World, name, request_id};

type Change = fn(&mut Value);

const LONG: Duration = Duration::from_hours(1);

fn call() -> PermissionRequest {
    PermissionRequest {
        tool: "Bash".to_owned(),
        tool_use_id: "toolu_1".to_owned(),
        input: json!({"command": "make install", "timeout": 5}),
        description: "Bash make install".to_owned(),
        why: String::new(),
        suggestions: vec![plan_mode()],
        next_mode: None,
    }
}

fn network(host: &str) -> PermissionRequest {
    PermissionRequest {
        tool: NETWORK_ACCESS.to_owned(),
        input: json!({ "host": host }),
        description: format!("network {host}"),
        suggestions: Vec::new(),
        ..call()
    }
}

fn plan_mode() -> Suggestion {
    Suggestion::SetMode {
        mode: PermissionMode::Plan,
        destination: Destination::Session,
    }
}

fn open(context: &MemberContext, world: &World, timeout: Duration) -> OpenRequest {
    open_request(context, &*world.files(), call(), timeout)
        .block_on()
        .unwrap()
}

fn yes(world: &World, open: &OpenRequest, always: bool) {
    let (store, team, by) = (&*world.store, &world.team, AnsweredBy::default());
    // People see the stored record.
    let shown = store
        .team(team)
        .request(&open.record.id)
        .block_on()
        .unwrap();
    approve(&*store.team(team), &shown, always, by)
        .block_on()
        .unwrap();
}

/// Wakes when a test signals it.
#[derive(Default)]
struct Bell(Arc<Notify>);

#[async_trait]
impl ChangeSignal for Bell {
    async fn changed(&mut self) {
        self.0.notified().await;
    }
}

async fn wait(
    context: &MemberContext,
    world: &World,
    open: &OpenRequest,
    timeout: Duration,
) -> Result<PermissionOutcome, StoreError> {
    let cancel = CancellationToken::new();
    wait_for(context, world, open, Bell::default(), timeout, &cancel).await
}

async fn wait_for(
    context: &MemberContext,
    world: &World,
    open: &OpenRequest,
    mut bell: Bell,
    timeout: Duration,
    cancel: &CancellationToken,
) -> Result<PermissionOutcome, StoreError> {
    wait_for_answer(context, &*world.files(), open, &mut bell, timeout, cancel).await
}

/// Checks for an answer once.
async fn look(
    context: &MemberContext,
    world: &World,
    open: &OpenRequest,
) -> Option<PermissionOutcome> {
    let cancel = CancellationToken::new();
    let waiting = wait_for(context, world, open, Bell::default(), LONG, &cancel);
    tokio::select! {
        biased;
        answer = waiting => Some(answer.unwrap()),
        () = tokio::task::yield_now() => None,
    }
}

/// Changes the file of a request by hand, as any process of the user can.
fn tamper(world: &World, open: &OpenRequest, change: impl FnOnce(&mut Value)) {
    let file = world.file(&format!("swarm/requests/{}.json", open.record.id));
    let mut record: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    change(&mut record);
    std::fs::write(&file, record.to_string()).unwrap();
}

fn forge(record: &mut Value, answer: &Value) {
    record["state"] = json!({"is": "answered", "answer": answer, "at": 1});
}

/// Returns the number of ignored answers in the journal.
fn ignored(world: &World) -> usize {
    let events = world.files().events().block_on().unwrap().entries;
    let is_ignored = |event: &Event| matches!(event, Event::AnswerIgnored { .. });
    events
        .iter()
        .filter(|entry| is_ignored(&entry.event))
        .count()
}

/// Another program leads from here on.
fn led_by_another_program(world: &World) {
    let lead = process::as_lead(swarm_protocol::UnixMs(1));
    let (store, team) = (&world.store, &world.team);
    store
        .team(team)
        .set_lead_process(Some(lead))
        .block_on()
        .unwrap();
}

fn queue(world: &World) -> usize {
    world.files().requests().block_on().unwrap().requests.len()
}

fn allowed(updates: &[Suggestion]) -> PermissionOutcome {
    PermissionOutcome::Allow {
        updated_input: None,
        grants: updates.to_vec(),
    }
}

/// A response as a lead of another program mails it.
fn mail_response(world: &World, from: &str, response: &PermissionResponse) {
    let frame = ControlFrame::PermissionResponse(response.clone());
    let draft = Draft::control(from, &frame);
    world.files().send(&name("bob"), draft).block_on().unwrap();
}

fn success(id: &RequestId, content: Option<Value>) -> PermissionResponse {
    PermissionResponse {
        request_id: id.clone(),
        result: PermissionResult::Success { response: content },
        tool_use_id: None,
        approved_request: None,
    }
}

fn bound_to(call: &PermissionRequest) -> ApprovedRequest {
    ApprovedRequest {
        tool_use_id: call.tool_use_id.clone(),
        tool_name: call.tool.clone(),
        input_digest: input_digest(&call.tool, &call.input),
    }
}

#[test]
fn a_request_is_in_the_queue_and_mailed_to_the_lead() {
    let world = World::new();
    let bob = world.seat_of_new("bob").context;
    let id = open(&bob, &world, LONG).record.id;
    let record = world.files().request(&id).block_on().unwrap();
    let RequestKind::Permission { input, digest, .. } = &record.request else {
        panic!("{record:?}")
    };
    assert_eq!(
        (&record.from, record.spawn_id),
        (&name("bob"), Some(bob.spawn_id))
    );
    assert_eq!(
        (input, digest),
        (&call().input, &input_digest("Bash", &call().input))
    );
    assert_eq!(record.deadline.unwrap().since(record.asked_at), 3_600_000);
    let mail = world.mail("team-lead");
    let [
        Incoming {
            entry,
            frame: Some(ControlFrame::PermissionRequest(frame)),
        },
    ] = &mail[..]
    else {
        panic!("{mail:?}");
    };
    assert!(entry.is_urgent());
    assert_eq!((&frame.request_id, frame.agent_id.as_str()), (&id, "bob"));
    assert_eq!(frame.input, call().input);
}

#[tokio::test]
async fn a_yes_lets_the_call_run_and_always_takes_the_suggestions_too() {
    let world = World::new();
    let bob = world.seat_of_new("bob").context;
    for (always, updates) in [(false, vec![]), (true, call().suggestions)] {
        let open = open(&bob, &world, LONG);
        yes(&world, &open, always);
        let answer = wait(&bob, &world, &open, LONG).await.unwrap();
        assert_eq!(answer, allowed(&updates));
        assert_eq!(queue(&world), 0);
        assert!(world.unread("bob").is_empty(), "the mailed copy is read");
    }
    assert_eq!(ignored(&world), 0);
}

#[tokio::test]
async fn p2_a_no_carries_its_reason() {
    let world = World::new();
    let bob = world.seat_of_new("bob").context;
    let open = open(&bob, &world, LONG);
    let (asked, why) = (&open.record, Some("not on Friday".to_owned()));
    deny(&*world.files(), asked, why, AnsweredBy::default())
        .await
        .unwrap();
    let answer = wait(&bob, &world, &open, LONG).await.unwrap();
    assert_eq!(answer, PermissionOutcome::deny("not on Friday"));
}

#[tokio::test]
async fn an_answer_without_a_journal_entry_is_ignored_and_the_request_stays_open() {
    let world = World::on_files();
    let seated = world.seat_of_new("bob");
    let bob = &seated.context;
    let open = open(bob, &world, LONG);
    for (number, answer) in [
        json!({"answer": "approved", "always": true}),
        json!({"answer": "denied"}),
    ]
    .iter()
    .enumerate()
    {
        tamper(&world, &open, |record| forge(record, answer));
        assert_eq!(look(bob, &world, &open).await, None);
        let record = world.files().request(&open.record.id).block_on().unwrap();
        assert_eq!(record, open.record, "as it was asked");
        assert_eq!(ignored(&world), number + 1);
    }
    let told = world.mail("team-lead");
    let is_told = |mail: &&Incoming| mail.is_system() && mail.entry.text.contains("was ignored");
    assert_eq!(told.iter().filter(is_told).count(), 2, "{told:?}");
    let is_shown = |event: &AgentEvent| matches!(event, AgentEvent::Notice { .. });
    assert!(seated.events().iter().any(is_shown));
    yes(&world, &open, false);
    let answer = wait(bob, &world, &open, LONG).await.unwrap();
    assert_eq!(answer, allowed(&[]));
}

#[tokio::test]
async fn a_recorded_answer_is_not_widened_or_turned_round_in_the_file() {
    let world = World::on_files();
    let bob = world.seat_of_new("bob").context;
    let widened = open(&bob, &world, LONG);
    yes(&world, &widened, false);
    let always = json!({"answer": "approved", "always": true});
    tamper(&world, &widened, |record| forge(record, &always));
    assert_eq!(look(&bob, &world, &widened).await, None);
    let denied = open(&bob, &world, LONG);
    let asked = &denied.record;
    deny(&*world.files(), asked, None, AnsweredBy::default())
        .await
        .unwrap();
    let once = json!({"answer": "approved", "always": false});
    tamper(&world, &denied, |record| forge(record, &once));
    assert_eq!(look(&bob, &world, &denied).await, None);
}

#[tokio::test]
async fn a_changed_call_is_not_what_was_approved() {
    let world = World::on_files();
    let bob = world.seat_of_new("bob").context;
    let changes: [Change; 5] = [
        |record| record["input"]["command"] = "ls".into(),
        |record| record["tool"] = "Read".into(),
        |record| record["toolUseId"] = "toolu_2".into(),
        |record| record["description"] = "Bash ls".into(),
        |record| record["suggestions"] = json!([]),
    ];
    for change in changes {
        let open = open(&bob, &world, LONG);
        tamper(&world, &open, change);
        yes(&world, &open, false);
        assert_eq!(look(&bob, &world, &open).await, None);
    }
    // Nor after the file has the original request again.
    let open = open(&bob, &world, LONG);
    tamper(&world, &open, changes[0]);
    yes(&world, &open, false);
    let asked = json!(call().input);
    tamper(&world, &open, |record| record["input"] = asked);
    assert_eq!(look(&bob, &world, &open).await, None);
    assert_eq!(ignored(&world), changes.len() + 1);
}

#[tokio::test]
async fn an_answer_is_for_the_request_that_was_shown_and_for_no_later_one() {
    let world = World::on_files();
    let bob = world.seat_of_new("bob").context;
    let shown = open(&bob, &world, LONG);
    let cancel = CancellationToken::new();
    cancel.cancel();
    let withdrawn = wait_for(&bob, &world, &shown, Bell::default(), LONG, &cancel).await;
    withdrawn.unwrap();
    let newer = open(&bob, &world, LONG);
    let by = AnsweredBy::default;
    let late = approve(&*world.files(), &shown.record, false, by())
        .await
        .unwrap_err();
    assert!(matches!(late, StoreError::RequestNotFound { .. }), "{late}");

    let other_call = |record: &mut Value| record["input"] = json!({"command": "rm x"});
    tamper(&world, &newer, other_call);
    let (store, team, asked) = (&*world.store, &world.team, &newer.record);
    for changed in [
        approve(&*store.team(team), asked, true, by()).await,
        deny(&*store.team(team), asked, None, by()).await,
    ] {
        let changed = changed.unwrap_err();
        assert!(
            matches!(changed, StoreError::RequestChanged { .. }),
            "{changed}"
        );
    }
    assert_eq!(
        look(&bob, &world, &newer).await,
        None,
        "nothing was answered"
    );
}

#[test]
fn p2_exactly_one_answer_wins() {
    let world = World::new();
    let bob = world.seat_of_new("bob").context;
    let asked = open(&bob, &world, LONG).record;
    let wins: usize = std::thread::scope(|scope| {
        let answers: Vec<_> = (0..6)
            .map(|n| {
                let (world, asked) = (&world, &asked);
                scope.spawn(move || {
                    let answered = if n % 2 == 0 {
                        approve(&*world.files(), asked, false, AnsweredBy::default()).block_on()
                    } else {
                        deny(&*world.files(), asked, None, AnsweredBy::default()).block_on()
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
async fn p2_a_request_without_an_answer_is_denied_and_closed() {
    let world = World::new();
    let bob = world.seat_of_new("bob").context;
    let timeout = Duration::from_millis(20);
    let open = open(&bob, &world, timeout);
    let asked = &open.record;
    let answer = wait(&bob, &world, &open, timeout).await.unwrap();
    let PermissionOutcome::Deny { why, .. } = answer else {
        panic!("{answer:?}");
    };
    assert!(why.contains("timed out"), "{why}");
    assert_eq!(queue(&world), 0);
    let late = approve(&*world.files(), asked, false, AnsweredBy::default())
        .await
        .unwrap_err();
    assert!(matches!(late, StoreError::RequestNotFound { .. }), "{late}");
}

#[tokio::test]
async fn an_interrupted_question_is_withdrawn() {
    let world = World::new();
    let bob = world.seat_of_new("bob").context;
    let open = open(&bob, &world, LONG);
    let cancel = CancellationToken::new();
    cancel.cancel();
    let answer = wait_for(&bob, &world, &open, Bell::default(), LONG, &cancel).await;
    assert!(matches!(answer.unwrap(), PermissionOutcome::Deny { .. }));
    assert_eq!(queue(&world), 0);
}

#[tokio::test]
async fn the_answer_of_another_programs_lead_counts_and_settles_the_record() {
    let world = World::new();
    let bob = world.seat_of_new("bob").context;
    led_by_another_program(&world);
    let answers = [
        (None, allowed(&[])),
        (Some(bound_to(&call())), allowed(&[])),
        (
            Some(bound_to(&PermissionRequest {
                input: json!({}),
                ..call()
            })),
            PermissionOutcome::deny("The approval was for another call, so this one was not made."),
        ),
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
        let late = approve(&*world.files(), asked, false, AnsweredBy::default()).await;
        let late = late.unwrap_err();
        assert!(matches!(late, StoreError::RequestNotFound { .. }), "{late}");
    }
}

#[tokio::test]
async fn a_mailed_answer_may_change_the_input_and_grants_nothing_beyond_the_call() {
    let world = World::new();
    let bob = world.seat_of_new("bob").context;
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
    let world = World::new();
    let bob = world.seat_of_new("bob").context;
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
    let world = World::new();
    let bob = world.seat_of_new("bob").context;
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
async fn the_lead_asks_through_the_queue_alone() {
    let world = World::new();
    let lead = world.lead().context;
    let open = open(&lead, &world, LONG);
    assert!(world.unread("team-lead").is_empty());
    yes(&world, &open, false);
    assert!(world.unread("team-lead").is_empty());
    let answer = wait(&lead, &world, &open, LONG).await.unwrap();
    assert_eq!(answer, allowed(&[]));
    assert_eq!(queue(&world), 0);
}

#[test]
fn a_request_that_cannot_be_mailed_to_the_lead_leaves_the_queue() {
    let world = World::on_files();
    let bob = world.seat_of_new("bob").context;
    let inbox = world.file("inboxes/team-lead.json");
    std::fs::create_dir(&inbox).unwrap();
    open_request(&bob, &*world.files(), call(), LONG)
        .block_on()
        .unwrap_err();
    assert_eq!(queue(&world), 0);
}

#[tokio::test]
async fn a_member_trusts_only_the_key_of_its_spawn_order() {
    let world = World::on_files();
    let bob = world.seat_of_new("bob").context;
    bob.pin_key(world.files().verify_key().block_on().unwrap());
    let keys = world.file("swarm/keys");
    let other = World::on_files();
    let others = other.file("swarm/keys");
    for file in ["signing.key", "signing.pub"] {
        std::fs::copy(others.join(file), keys.join(file)).unwrap();
    }
    let open = open(&bob, &world, LONG);
    yes(&world, &open, false);
    assert_eq!(look(&bob, &world, &open).await, None);
    assert_eq!(ignored(&world), 1);
    // A lead reads the files, since a team of the same name may have been created again.
    let lead = world.lead().context;
    let key = other.files().verify_key().block_on().unwrap();
    assert_eq!(lead.key_of(&*world.files()).await.unwrap(), key);
}

#[tokio::test]
async fn a_host_is_asked_for_as_claude_code_does_and_answered_in_the_queue_or_by_mail() {
    let world = World::new();
    let bob = world.seat_of_new("bob").context;
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
