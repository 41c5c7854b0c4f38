//! Plans that wait for approval.

use std::future::pending;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use swarm_permissions::{Destination, PermissionOutcome, PermissionRequest, Suggestion};
use swarm_protocol::{
    Answer, ControlFrame, Event, IsoTime, MemberName, PLAN_TOOL, PermissionMode,
    PlanApprovalResponse, RequestKind, RequestRecord,
};
use swarm_store::{BlockOn as _, Draft, StoreError, process};
use swarm_team::{
    ChangeSignal, MemberContext, OpenRequest, SendMessageTool, open_request, wait_for_answer,
};
use swarm_tools::{CallHost, Caller, MemberCall, PersonAnswer, Tool as _, ToolContext};
use tokio_util::sync::CancellationToken;

use crate::request_rig::answered;
use crate::world::{World, call, name, now};

struct Asleep;

#[async_trait]
impl ChangeSignal for Asleep {
    async fn changed(&mut self) {
        std::future::pending::<()>().await;
    }
}

fn put_forward(context: &MemberContext, world: &World, plan: &str) -> OpenRequest {
    let request = PermissionRequest {
        tool_use_id: "toolu_1".to_owned(),
        tool: PLAN_TOOL.to_owned(),
        input: json!({ "plan": plan }),
        description: format!("{PLAN_TOOL} {plan}"),
        why: String::new(),
        suggestions: Vec::new(),
        next_mode: Some(PermissionMode::AcceptEdits),
    };
    open_request(context, &*world.files(), request, None)
        .block_on()
        .unwrap()
}

/// Reads the outcome of an answered request.
async fn heard(context: &MemberContext, world: &World, open: &OpenRequest) -> PermissionOutcome {
    let files = world.files();
    wait_for_answer(context, &*files, open, &mut Asleep, None, pending())
        .await
        .unwrap()
}

fn allowed(updated_input: Option<Value>) -> PermissionOutcome {
    PermissionOutcome::allow(updated_input)
}

#[tokio::test]
async fn p6_a_plan_is_a_file_and_a_question_whose_one_answer_is_bound_to_it() {
    let (world, bob) = World::with_context("bob");
    let open = put_forward(&bob, &world, "# Fix it");
    let RequestKind::Plan {
        plan_file_path,
        mode,
        ..
    } = &open.record.request
    else {
        panic!("{:?}", open.record);
    };
    assert_eq!(std::fs::read_to_string(plan_file_path).unwrap(), "# Fix it");
    assert_eq!(*mode, PermissionMode::AcceptEdits);
    assert_eq!(open.record.deadline, None);
    let ControlFrame::PlanApprovalRequest(asked) = world.last_frame("team-lead") else {
        panic!("no question")
    };
    assert_eq!(
        (asked.from.as_str(), asked.plan_content.as_str()),
        ("bob", "# Fix it")
    );
    assert_eq!(asked.request_id, open.record.id);

    answered(&world, &open.record, Answer::once())
        .await
        .unwrap();
    let ControlFrame::PlanApprovalResponse(said) = world.last_frame("bob") else {
        panic!("no answer")
    };
    assert!(said.approved);
    assert_eq!(said.permission_mode.as_deref(), Some("acceptEdits"));
    let second = answered(&world, &open.record, Answer::Denied { why: None })
        .await
        .unwrap_err();
    assert!(
        matches!(second, StoreError::RequestAnswered { .. }),
        "{second}"
    );
    assert_eq!(heard(&bob, &world, &open).await, allowed(None));

    // A remark with the answer, and a plan that a person has changed.
    let open = put_forward(&bob, &world, "# Again");
    answered(
        &world,
        &open.record,
        Answer::Answered {
            answers: vec!["only once".to_owned()],
        },
    )
    .await
    .unwrap();
    let with_words = json!({"plan": "# Again", "feedback": "only once"});
    assert_eq!(heard(&bob, &world, &open).await, allowed(Some(with_words)));
    let open = put_forward(&bob, &world, "# Big");
    let small = json!({"plan": "# Small"});
    answered(
        &world,
        &open.record,
        Answer::Approved {
            always: false,
            updated_input: Some(small),
        },
    )
    .await
    .unwrap();
    let edited = json!({"plan": "# Small", "edited": true});
    assert_eq!(heard(&bob, &world, &open).await, allowed(Some(edited)));
    assert_eq!(std::fs::read_to_string(plan_file_path).unwrap(), "# Small");
    let open = put_forward(&bob, &world, "# Wrong");
    answered(
        &world,
        &open.record,
        Answer::Denied {
            why: Some("smaller".to_owned()),
        },
    )
    .await
    .unwrap();
    assert_eq!(
        heard(&bob, &world, &open).await,
        PermissionOutcome::deny("smaller")
    );
}

#[tokio::test]
async fn an_edited_call_counts_only_as_it_was_entered_in_the_journal() {
    let world = World::on_files();
    let bob = world.seat_of_new("bob").context;
    let open = put_forward(&bob, &world, "# Fix it");
    answered(&world, &open.record, Answer::once())
        .await
        .unwrap();
    // A process with write access changes the plan in the approval.
    let file = world.file(&format!("swarm/requests/{}.json", open.record.id));
    let mut record: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    record["state"]["answer"]["updated_input"] = json!({"plan": "# Break it"});
    std::fs::write(&file, record.to_string()).unwrap();
    let files = world.files();
    let mut asleep = Asleep;
    let waiting = wait_for_answer(&bob, &*files, &open, &mut asleep, None, pending());
    tokio::select! {
        biased;
        answer = waiting => panic!("{answer:?}"),
        () = tokio::task::yield_now() => {}
    }
    let ignored = |event: &Event| matches!(event, Event::AnswerIgnored { .. });
    assert!(world.journal().iter().any(ignored));
}

#[tokio::test]
async fn another_programs_lead_answers_a_plan_by_mail_with_words_and_a_mode() {
    let world = World::new();
    let lead = process::as_lead(now());
    world
        .files()
        .set_lead_process(Some(lead))
        .block_on()
        .unwrap();
    let bob = world.seat_of_new("bob").context;
    let granted = |updated_input| PermissionOutcome::Allow {
        updated_input,
        grants: vec![Suggestion::SetMode {
            mode: PermissionMode::Default,
            destination: Destination::Session,
        }],
    };
    let with_words = json!({"plan": "# Fix it", "feedback": "only once"});
    for (approved, feedback, wanted) in [
        (true, None, granted(None)),
        (true, Some(" "), granted(None)),
        (true, Some("only once"), granted(Some(with_words))),
        (
            false,
            Some(" "),
            PermissionOutcome::deny("The plan needs revision."),
        ),
        (false, Some("too big"), PermissionOutcome::deny("too big")),
    ] {
        let open = put_forward(&bob, &world, "# Fix it");
        let frame = ControlFrame::PlanApprovalResponse(PlanApprovalResponse {
            request_id: open.record.id.clone(),
            approved,
            feedback: feedback.map(str::to_owned),
            timestamp: IsoTime::new("t"),
            permission_mode: Some("default".to_owned()),
        });
        let draft = Draft::control("team-lead", &frame);
        world.files().send(&name("bob"), draft).block_on().unwrap();
        assert_eq!(heard(&bob, &world, &open).await, wanted);
    }
}

#[tokio::test]
async fn the_leads_model_decides_about_plans_and_denies_calls_that_it_could_not_make() {
    let (world, bob) = World::with_context("bob");
    let tool = SendMessageTool::for_lead(world.lead().context);
    let say = |record: &RequestRecord, kind: &str, approve: bool| {
        let message = json!({"type": kind, "request_id": record.id, "approve": approve});
        call(&tool, json!({"to": "bob", "message": message}))
    };
    let plan = "plan_approval_response";
    // The lead of this test is in mode default, and the plan would be executed in acceptEdits.
    let open = put_forward(&bob, &world, "# Fix it");
    let refused = say(&open.record, plan, true).await;
    assert!(
        refused.content.contains("a person must approve it"),
        "{}",
        refused.content
    );
    let rejected = say(&open.record, plan, false).await;
    assert!(!rejected.is_error, "{}", rejected.content);
    let again = say(&open.record, plan, false).await;
    assert!(
        again.content.contains("already answered"),
        "{}",
        again.content
    );
    assert!(matches!(
        heard(&bob, &world, &open).await,
        PermissionOutcome::Deny { .. }
    ));

    // The member has read the answer, so the request is no longer in the queue.
    let late = say(&open.record, plan, true).await;
    assert!(
        late.content.contains("is already denied"),
        "{}",
        late.content
    );

    let mut request = open.request.clone();
    request.next_mode = None;
    request.input = json!({"plan": "# Small"});
    let open = open_request(&bob, &*world.files(), request, None)
        .block_on()
        .unwrap();
    assert!(!say(&open.record, plan, true).await.is_error);
    assert_eq!(heard(&bob, &world, &open).await, allowed(None));
    let by_agent = |event: &&Event| match event {
        Event::RequestAnswered { by, .. } => by.by == "lead-agent",
        _ => false,
    };
    assert_eq!(world.journal().iter().filter(by_agent).count(), 2);

    let mut request = open.request.clone();
    request.tool = "Bash".to_owned();
    let open = open_request(&bob, &*world.files(), request, None)
        .block_on()
        .unwrap();
    let kind = "permission_response";
    for (kind, approve) in [(plan, true), (kind, true)] {
        assert!(say(&open.record, kind, approve).await.is_error, "{kind}");
    }
    assert!(!say(&open.record, kind, false).await.is_error);
    assert!(matches!(
        heard(&bob, &world, &open).await,
        PermissionOutcome::Deny { .. }
    ));
}

/// A lead whose rules allow `make` in the member's directory.
#[derive(Debug)]
struct MakesOnly(PathBuf);

#[async_trait]
impl CallHost for MakesOnly {
    async fn ask(&self, _: Value, _: String, _: CancellationToken) -> PersonAnswer {
        PersonAnswer::Unanswered
    }

    fn progress(&self, _line: String) {}

    fn may_make(&self, call: &MemberCall<'_>) -> Result<(), String> {
        assert_eq!((call.tool, call.cwd), ("Bash", &*self.0));
        match call.input["command"].as_str() {
            Some("make") => Ok(()),
            command => Err(format!("no rule allows {command:?}")),
        }
    }
}

#[tokio::test]
async fn the_leads_model_approves_calls_that_its_own_rules_allow() {
    let (world, bob) = World::with_context("bob");
    let tool = SendMessageTool::for_lead(world.lead().context);
    let cwd = world.files().config().block_on().unwrap().members[1]
        .cwd
        .clone();
    let context = ToolContext {
        host: Some(Arc::new(MakesOnly(cwd))),
        ..ToolContext::new(PathBuf::from("/"), Caller::new(MemberName::lead()))
    };
    let plan = put_forward(&bob, &world, "# Fix it").request;
    for (command, is_allowed) in [("make", true), ("make install", false)] {
        let mut request = plan.clone();
        request.tool = "Bash".to_owned();
        request.next_mode = None;
        request.input = json!({ "command": command });
        request.suggestions = vec![Suggestion::SetMode {
            mode: PermissionMode::Default,
            destination: Destination::Session,
        }];
        let open = open_request(&bob, &*world.files(), request, None)
            .block_on()
            .unwrap();
        let message =
            json!({"type": "permission_response", "request_id": open.record.id, "approve": true});
        let said = tool.call(json!({"to": "bob", "message": message}), &context);
        let said = said.await;
        assert_eq!(said.is_error, !is_allowed, "{}", said.content);
        if is_allowed {
            assert_eq!(heard(&bob, &world, &open).await, allowed(None));
        } else {
            assert!(said.content.contains("only a person"), "{}", said.content);
            assert!(said.content.contains("no rule allows"), "{}", said.content);
        }
    }
}
