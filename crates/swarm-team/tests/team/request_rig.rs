//! Requests of a member, their answers, and changes of them by hand.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use swarm_permissions::{Destination, PermissionOutcome, PermissionRequest, Suggestion};
use swarm_protocol::{
    Answer, AnsweredBy, ApprovedRequest, ControlFrame, Event, NETWORK_ACCESS, PermissionMode,
    PermissionResponse, PermissionResult, RequestId, RequestRecord, input_digest,
};
use swarm_store::{BlockOn as _, Draft, StoreError, process};
use swarm_team::{
    ChangeSignal, MemberContext, OpenRequest, answer_request, open_request, wait_for_answer,
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::world::{World, name};

pub(crate) const LONG: Duration = Duration::from_hours(1);

pub(crate) fn call() -> PermissionRequest {
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

pub(crate) fn network(host: &str) -> PermissionRequest {
    PermissionRequest {
        tool: NETWORK_ACCESS.to_owned(),
        input: json!({ "host": host }),
        description: format!("network {host}"),
        suggestions: Vec::new(),
        ..call()
    }
}

pub(crate) fn plan_mode() -> Suggestion {
    Suggestion::SetMode {
        mode: PermissionMode::Plan,
        destination: Destination::Session,
    }
}

pub(crate) fn open(context: &MemberContext, world: &World, timeout: Duration) -> OpenRequest {
    open_request(context, &*world.files(), call(), timeout)
        .block_on()
        .unwrap()
}

pub(crate) fn yes(world: &World, open: &OpenRequest, always: bool) {
    // People see the stored record.
    let shown = world.files().request(&open.record.id).block_on().unwrap();
    let answer = Answer::Approved {
        always,
        updated_input: None,
    };
    answered(world, &shown, answer).block_on().unwrap();
}

pub(crate) async fn answered(
    world: &World,
    asked: &RequestRecord,
    answer: Answer,
) -> Result<RequestRecord, StoreError> {
    answer_request(&*world.files(), asked, answer, AnsweredBy::default()).await
}

/// Wakes when a test signals it.
#[derive(Default)]
pub(crate) struct Bell(pub(crate) Arc<Notify>);

#[async_trait]
impl ChangeSignal for Bell {
    async fn changed(&mut self) {
        self.0.notified().await;
    }
}

pub(crate) async fn wait(
    context: &MemberContext,
    world: &World,
    open: &OpenRequest,
    timeout: Duration,
) -> Result<PermissionOutcome, StoreError> {
    let cancel = CancellationToken::new();
    wait_for(context, world, open, Bell::default(), timeout, &cancel).await
}

pub(crate) async fn wait_for(
    context: &MemberContext,
    world: &World,
    open: &OpenRequest,
    mut bell: Bell,
    timeout: Duration,
    cancel: &CancellationToken,
) -> Result<PermissionOutcome, StoreError> {
    let withdrawn = async {
        cancel.cancelled().await;
        "the turn was interrupted"
    };
    wait_for_answer(
        context,
        &*world.files(),
        open,
        &mut bell,
        timeout,
        withdrawn,
    )
    .await
}

/// Checks for an answer once.
pub(crate) async fn look(
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
pub(crate) fn tamper(world: &World, open: &OpenRequest, change: impl FnOnce(&mut Value)) {
    let file = world.file(&format!("swarm/requests/{}.json", open.record.id));
    let mut record: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    change(&mut record);
    std::fs::write(&file, record.to_string()).unwrap();
}

pub(crate) fn forge(record: &mut Value, answer: &Value) {
    record["state"] = json!({"is": "answered", "answer": answer, "at": 1});
}

/// Returns the number of ignored answers in the journal.
pub(crate) fn ignored(world: &World) -> usize {
    let events = world.files().events().block_on().unwrap().entries;
    let is_ignored = |event: &Event| matches!(event, Event::AnswerIgnored { .. });
    events
        .iter()
        .filter(|entry| is_ignored(&entry.event))
        .count()
}

/// Another program leads from here on.
pub(crate) fn led_by_another_program(world: &World) {
    let lead = process::as_lead(swarm_protocol::UnixMs(1));
    let (store, team) = (&world.store, &world.team);
    store
        .team(team)
        .set_lead_process(Some(lead))
        .block_on()
        .unwrap();
}

pub(crate) fn queue(world: &World) -> usize {
    world.files().requests().block_on().unwrap().requests.len()
}

pub(crate) fn allowed(updates: &[Suggestion]) -> PermissionOutcome {
    PermissionOutcome::Allow {
        updated_input: None,
        grants: updates.to_vec(),
    }
}

/// A response as a lead of another program mails it.
pub(crate) fn mail_response(world: &World, from: &str, response: &PermissionResponse) {
    let frame = ControlFrame::PermissionResponse(response.clone());
    let draft = Draft::control(from, &frame);
    world.files().send(&name("bob"), draft).block_on().unwrap();
}

pub(crate) fn success(id: &RequestId, content: Option<Value>) -> PermissionResponse {
    PermissionResponse {
        request_id: id.clone(),
        result: PermissionResult::Success { response: content },
        tool_use_id: None,
        approved_request: None,
    }
}

pub(crate) fn bound_to(call: &PermissionRequest) -> ApprovedRequest {
    ApprovedRequest {
        tool_use_id: call.tool_use_id.clone(),
        tool_name: call.tool.clone(),
        input_digest: input_digest(&call.tool, &call.input),
    }
}
