//! `SendMessage`, as a model calls it.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use swarm_os::LockInterrupt;
use swarm_protocol::{ControlFrame, Event, IsoTime, MemberState, RequestId, ShutdownRequest};
use swarm_team::{Incoming, PendingShutdown, SendMessageTool};
use swarm_tools::{BackgroundAgents, ToolOutput};

use crate::world::{Seated, World, call, request_id};

struct Mate {
    seated: Seated,
    shutdown: Arc<PendingShutdown>,
    tool: SendMessageTool,
}

fn mate(world: &World, member: &str) -> Mate {
    let seated = world.seat_of_new(member);
    let shutdown = Arc::new(PendingShutdown::default());
    let tool = SendMessageTool::for_teammate(seated.context.clone(), shutdown.clone());
    Mate {
        seated,
        shutdown,
        tool,
    }
}

fn new_mate(member: &str) -> (World, Mate) {
    let world = World::new();
    let mate = mate(&world, member);
    (world, mate)
}

fn request(id: &str) -> ShutdownRequest {
    ShutdownRequest {
        request_id: request_id(id),
        from: "team-lead".to_owned(),
        reason: None,
        timestamp: IsoTime::new("now"),
        spawn_id: None,
        force: false,
    }
}

fn said(output: &ToolOutput) -> Value {
    serde_json::from_str(&output.content).unwrap()
}

fn refusal(output: &ToolOutput) -> String {
    assert!(output.is_error, "{}", output.content);
    let said = said(output);
    assert_eq!(said["success"], false);
    said["message"].as_str().unwrap().to_owned()
}

fn response(id: &str, approve: bool, reason: Option<&str>) -> Value {
    let mut message = json!({"type": "shutdown_response", "request_id": id, "approve": approve});
    if let Some(reason) = reason {
        message["reason"] = reason.into();
    }
    json!({"to": "team-lead", "message": message})
}

/// Sub-agents called `alice` and `scout`.
#[derive(Debug)]
struct Scouts;

#[async_trait::async_trait]
impl BackgroundAgents for Scouts {
    fn knows(&self, who: &str) -> bool {
        ["alice", "scout"].contains(&who)
    }

    async fn send(&self, to: &str, _text: &str) -> Option<Result<String, String>> {
        Some(Ok(format!("read by the sub-agent {to}")))
    }
}

#[tokio::test]
async fn a_sub_agent_is_reached_by_its_name_unless_a_member_has_it() {
    let (world, bob) = new_mate("bob");
    world.join("alice");
    let agents: Arc<dyn BackgroundAgents> = Arc::new(Scouts);
    let tool = bob.tool.reaching(Arc::downgrade(&agents));
    let sent = call(&tool, json!({"to": "scout", "message": "hello"})).await;
    assert_eq!(said(&sent)["message"], "read by the sub-agent scout");
    let sent = call(&tool, json!({"to": "alice", "message": "hello"})).await;
    assert_eq!(said(&sent)["routing"]["target"], "@alice");
    assert_eq!(world.unread("alice").len(), 1);
}

#[tokio::test]
async fn text_goes_to_one_or_to_everybody_and_the_answer_names_them() {
    let (world, bob) = new_mate("bob");
    world.join("alice");
    let one = call(
        &bob.tool,
        json!({"to": "alice", "summary": "hi", "message": "hello"}),
    )
    .await;
    assert!(!one.is_error, "{}", one.content);
    let one = said(&one);
    assert_eq!(one["success"], true);
    assert_eq!(one["routing"], json!({"sender": "bob", "target": "@alice"}));
    let entry = world.unread("alice").remove(0);
    assert_eq!(entry.msg_id.unwrap().as_str(), one["msg_id"]);
    assert_eq!(entry.summary.as_deref(), Some("hi"));
    let all = call(&bob.tool, json!({"to": "*", "message": "news"})).await;
    assert_eq!(said(&all)["recipients"], json!(["team-lead", "alice"]));
}

#[tokio::test]
async fn a_message_of_another_shape_is_refused_with_what_is_wrong() {
    let (world, bob) = new_mate("bob");
    world.join("alice");
    for (more, words) in [
        (
            json!({"message": "x", "notify_when_idle": true}),
            "unknown parameter `notify_when_idle`",
        ),
        (
            json!({"message": 1}),
            "`message` must be a string or an object",
        ),
        (
            json!({"message": {"text": "x"}}),
            "missing parameter `type`",
        ),
        (
            json!({"message": {"type": "poke"}}),
            "unknown variant `poke`",
        ),
        (
            json!({"message": {"type": "shutdown_response", "approve": true}}),
            "missing parameter `request_id`",
        ),
        (
            json!({"message": {"type": "shutdown_request", "when": "now"}}),
            "unknown parameter `when`",
        ),
        (json!({}), "missing parameter `message`"),
    ] {
        let mut input = json!({"to": "alice"});
        input
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let why = refusal(&call(&bob.tool, input).await);
        assert!(
            why.starts_with("nothing was sent: ") && why.contains(words),
            "{why}"
        );
        assert!(!why.contains("untagged"), "{why}");
    }
    assert!(world.unread("alice").is_empty());
}

#[tokio::test]
async fn d3_an_unknown_name_is_an_error_that_lists_the_names() {
    let (_world, bob) = new_mate("bob");
    let output = call(&bob.tool, json!({"to": "alcie", "message": "hello"})).await;
    let refusal = refusal(&output);
    assert!(
        refusal.contains("alcie") && refusal.contains("team-lead"),
        "{refusal}"
    );
}

#[tokio::test]
async fn what_is_no_message_is_refused_with_the_form() {
    let (world, bob) = new_mate("bob");
    for input in [
        json!({"to": "team-lead"}),
        json!({"message": "hello"}),
        json!({"to": "team-lead", "message": {"type": "shutdown_approved"}}),
        json!({"to": "team-lead", "message": {"type": "shutdown_response", "approve": true}}),
        json!({"to": "team-lead", "message": 7}),
    ] {
        let refusal = refusal(&call(&bob.tool, input).await);
        assert!(refusal.contains("`to` and `message`"), "{refusal}");
    }
    assert!(world.unread("team-lead").is_empty());
}

#[tokio::test]
async fn d18_a_request_to_everybody_has_an_outcome_for_each_and_only_the_lead_makes_it() {
    let world = World::new();
    let lead = SendMessageTool::for_lead(world.lead().context);
    let input = json!({"to": "*", "message": {"type": "shutdown_request", "reason": "done"}});
    refusal(&call(&lead, input.clone()).await);
    let bob = mate(&world, "bob");
    world.join("alice");
    let refused = refusal(&call(&bob.tool, input.clone()).await);
    assert!(refused.contains("only the team lead"), "{refused}");
    let of_lead = json!({"to": "team-lead", "message": {"type": "shutdown_request"}});
    refusal(&call(&bob.tool, of_lead).await);
    assert!(world.unread("team-lead").is_empty());
    let said = said(&call(&lead, input).await);
    let targets: Vec<_> = said["asked"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["target"])
        .collect();
    assert_eq!(targets, ["bob", "alice"]);
    assert_eq!(said["failed"], json!([]));
    for name in ["alice", "bob"] {
        assert!(matches!(
            &world.mail(name)[..],
            [Incoming {
                frame: Some(ControlFrame::ShutdownRequest(_)),
                ..
            }]
        ));
    }
}

#[tokio::test]
async fn d7_a_sender_learns_that_the_receiver_is_busy_and_a_newer_message_replaces_an_older() {
    let (world, bob) = new_mate("bob");
    let (alice, _life) = world.live("alice");
    world.report("alice", alice, MemberState::Working);
    let input = |text: &str| json!({"to": "alice", "message": text, "supersede": "progress"});
    let first = said(&call(&bob.tool, input("10 %")).await);
    let told = first["message"].as_str().unwrap();
    assert!(
        told.contains("alice, which has been working for") && told.contains("when its turn ends"),
        "{told}"
    );
    let second = said(&call(&bob.tool, input("20 %")).await);
    let told = second["message"].as_str().unwrap();
    assert!(told.contains("replaces"), "{told}");
    let texts: Vec<_> = world
        .unread("alice")
        .into_iter()
        .map(|entry| entry.text)
        .collect();
    assert_eq!(texts, ["20 %"]);
}

#[tokio::test]
async fn the_lead_asks_a_member_to_stop_with_a_marked_urgent_frame() {
    let world = World::new();
    let tool = SendMessageTool::for_lead(world.lead().context);
    world.join("bob");
    let input = json!({"to": "bob", "message": {"type": "shutdown_request", "reason": "done"}});
    let output = call(&tool, input).await;
    let said = said(&output);
    let id: RequestId = request_id(said["request_id"].as_str().unwrap());
    let mail = world.mail("bob");
    let [
        Incoming {
            entry,
            frame: Some(ControlFrame::ShutdownRequest(frame)),
        },
    ] = &mail[..]
    else {
        panic!("{mail:?}");
    };
    assert!(entry.is_urgent() && entry.is_marked_control());
    assert_eq!(
        (&frame.request_id, frame.reason.as_deref()),
        (&id, Some("done"))
    );
    assert!(world.journal().iter().any(|event| matches!(
        event, Event::ShutdownRequested { request, by, reason, .. }
            if *request == id && by == "team-lead" && reason.as_deref() == Some("done")
    )));
}

#[tokio::test]
async fn a_shutdown_request_goes_to_no_lead_and_no_stranger() {
    let world = World::new();
    let tool = SendMessageTool::for_lead(world.lead().context);
    world.join("bob");
    let ask = |to: &str| json!({"to": to, "message": {"type": "shutdown_request"}});
    for to in ["team-lead", "../x"] {
        refusal(&call(&tool, ask(to)).await);
    }
    let stranger = refusal(&call(&tool, ask("alice")).await);
    assert!(stranger.contains("bob"), "{stranger}");
    let answered = refusal(&call(&tool, response("r", true, None)).await);
    assert!(answered.contains("lead"), "{answered}");
}

#[tokio::test]
async fn a_mode_is_set_for_one_teammate() {
    let world = World::new();
    let tool = SendMessageTool::for_lead(world.lead().context);
    for to in ["team-lead", "*"] {
        let input = json!({"to": to, "message": {"type": "mode_set_request", "mode": "plan"}});
        let refused = refusal(&call(&tool, input).await);
        assert!(refused.contains("is not a teammate"), "{refused}");
    }
}

#[tokio::test]
async fn only_the_lead_asks_a_member_to_stop() {
    let (world, bob) = new_mate("bob");
    world.join("alice");
    let input = json!({"to": "alice", "message": {"type": "shutdown_request"}});
    let refusal = refusal(&call(&bob.tool, input).await);
    assert!(refusal.contains("only the team lead"), "{refusal}");
    assert!(world.unread("alice").is_empty());
}

#[tokio::test]
async fn a_refusal_needs_the_right_id_and_a_reason() {
    let (world, bob) = new_mate("bob");
    let closed = refusal(&call(&bob.tool, response("r-1", false, Some("busy"))).await);
    assert!(closed.contains("no open shutdown request"), "{closed}");
    bob.shutdown.enter(request("r-1"));
    refusal(&call(&bob.tool, response("r-2", false, Some("busy"))).await);
    for reason in [None, Some(" ")] {
        let refusal = refusal(&call(&bob.tool, response("r-1", false, reason)).await);
        assert!(refusal.contains("reason"), "{refusal}");
    }
    assert!(world.unread("team-lead").is_empty());
    assert!(bob.shutdown.is_open(&request_id("r-1")));
}

#[tokio::test]
async fn a_refusal_is_reported_to_the_lead_and_closes_the_request() {
    let (world, bob) = new_mate("bob");
    bob.shutdown.enter(request("r-1"));
    let output = call(&bob.tool, response("r-1", false, Some("tests run"))).await;
    assert!(!output.is_error, "{}", output.content);
    let mail = world.mail("team-lead");
    let [
        Incoming {
            frame: Some(ControlFrame::ShutdownRejected(frame)),
            ..
        },
    ] = &mail[..]
    else {
        panic!("{mail:?}");
    };
    assert_eq!(
        (frame.request_id.as_str(), frame.reason.as_str()),
        ("r-1", "tests run")
    );
    assert_eq!(frame.from, "bob");
    bob.shutdown.enter(request("r-1"));
    assert_eq!(bob.shutdown.open(), None);
    refusal(&call(&bob.tool, response("r-1", false, Some("again"))).await);
    bob.shutdown.enter(request("r-2"));
    assert!(bob.shutdown.is_open(&request_id("r-2")));
    assert!(bob.seated.events().is_empty());
}

#[tokio::test]
async fn a_refusal_that_waits_for_a_lock_already_closes_the_request() {
    let (world, bob) = new_mate("bob");
    bob.shutdown.enter(request("r-1"));
    let held = world.memory().hold();
    let refusal = call(&bob.tool, response("r-1", false, Some("tests run")));
    // Like a turn that is cancelled meanwhile.
    let waited = tokio::time::timeout(Duration::from_millis(20), refusal).await;
    assert!(waited.is_err(), "the lock is held");
    assert_eq!(bob.shutdown.open(), None);
    drop(held);
}

#[tokio::test]
async fn a_refusal_that_cannot_be_sent_leaves_the_request_open() {
    let mut world = World::new();
    let interrupt = LockInterrupt::default();
    interrupt.interrupt();
    world.store = world.store.with_lock_interrupt(&interrupt);
    let bob = mate(&world, "bob");
    bob.shutdown.enter(request("r-1"));
    let held = world.memory().hold();
    refusal(&call(&bob.tool, response("r-1", false, Some("tests run"))).await);
    assert!(bob.shutdown.is_open(&request_id("r-1")));
    drop(held);
    let output = call(&bob.tool, response("r-1", false, Some("tests run"))).await;
    assert!(!output.is_error, "{}", output.content);
    assert_eq!(bob.shutdown.open(), None);
}

#[tokio::test]
async fn an_approval_leaves_the_request_to_the_program() {
    let (world, bob) = new_mate("bob");
    bob.shutdown.enter(request("r-1"));
    let output = call(&bob.tool, response("r-1", true, None)).await;
    assert!(!output.is_error, "{}", output.content);
    assert!(bob.shutdown.is_open(&request_id("r-1")));
    assert!(world.unread("team-lead").is_empty());
}
