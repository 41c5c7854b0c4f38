//! Which control frame each sender may send, and its wire format.

use serde_json::{Value, json};
use swarm_protocol::{ControlFrame, InboxEntry, IsoTime};

/// Returns one frame of each type as Claude Code writes it when the member `bob` is the other side,
/// and its permitted sender.
fn frames() -> Vec<(&'static str, Value)> {
    vec![
        (
            "team-lead",
            json!({"type": "shutdown_request", "requestId": "shutdown-1@bob", "from": "team-lead",
            "reason": "done", "timestamp": "now"}),
        ),
        (
            "bob",
            json!({"type": "shutdown_approved", "requestId": "shutdown-1@bob", "from": "bob",
            "timestamp": "now", "paneId": "%1", "backendType": "tmux"}),
        ),
        (
            "bob",
            json!({"type": "shutdown_rejected", "requestId": "shutdown-1@bob", "from": "bob",
            "reason": "busy", "timestamp": "now"}),
        ),
        (
            "bob",
            json!({"type": "idle_notification", "from": "bob", "timestamp": "now", "idleReason": "failed",
            "failureReason": "no key"}),
        ),
        (
            "bob",
            json!({"type": "task_assignment", "taskId": "1", "subject": "s", "description": "d",
            "assignedBy": "bob", "timestamp": "now"}),
        ),
        (
            "bob",
            json!({"type": "permission_request", "request_id": "perm-1-abcdefg", "agent_id": "bob",
            "tool_name": "Bash", "tool_use_id": "t1", "description": "d", "input": {"command": "ls"},
            "permission_suggestions": []}),
        ),
        (
            "team-lead",
            json!({"type": "permission_response", "request_id": "perm-1-abcdefg", "subtype": "success",
            "response": {}}),
        ),
        (
            "bob",
            json!({"type": "plan_approval_request", "from": "bob", "timestamp": "now",
            "planFilePath": "/p.md", "planContent": "# Plan", "requestId": "plan_approval-1@bob@t"}),
        ),
        (
            "team-lead",
            json!({"type": "plan_approval_response", "requestId": "plan_approval-1@bob@t",
            "approved": false, "feedback": "smaller", "timestamp": "now", "permissionMode": "default"}),
        ),
        (
            "bob",
            json!({"type": "sandbox_permission_request", "requestId": "sandbox-1-abcdefg",
            "workerId": "bob@t", "workerName": "bob", "workerColor": "blue",
            "hostPattern": {"host": "example.org"}, "createdAt": 1}),
        ),
        (
            "team-lead",
            json!({"type": "sandbox_permission_response", "requestId": "sandbox-1-abcdefg",
            "host": "example.org", "allow": true, "timestamp": "now"}),
        ),
        (
            "team-lead",
            json!({"type": "mode_set_request", "mode": "acceptEdits", "from": "team-lead"}),
        ),
        (
            "team-lead",
            json!({"type": "team_permission_update", "permissionUpdate": {"type": "addRules",
            "rules": [{"toolName": "Bash", "ruleContent": "ls:*"}], "behavior": "allow",
            "destination": "session"}, "directoryPath": "/p", "toolName": "Bash"}),
        ),
        (
            "team-lead",
            json!({"type": "compact_request", "from": "team-lead", "instructions": "keep the numbers",
            "timestamp": "now"}),
        ),
        (
            "team-lead",
            json!({"type": "interrupt_request", "from": "team-lead", "timestamp": "now"}),
        ),
    ]
}

fn received(sender: &str, frame: &Value) -> Option<ControlFrame> {
    ControlFrame::of_entry(&InboxEntry::new(
        sender,
        frame.to_string(),
        IsoTime::new("now"),
    ))
}

#[test]
fn each_frame_round_trips() {
    for (_, wire) in frames() {
        let frame = ControlFrame::from_text(&wire.to_string()).unwrap();
        assert_eq!(Value::from(frame.type_name()), wire["type"]);
        let is_response = frame.type_name().ends_with("_response");
        assert_eq!(frame.answered_request().is_some(), is_response, "{wire}");
        assert_eq!(
            serde_json::from_str::<Value>(&frame.to_text()).unwrap(),
            wire
        );
    }
}

#[test]
fn a_frame_is_recognized_only_from_a_permitted_sender() {
    for (sender, wire) in frames() {
        for other in ["team-lead", "bob", "mallory", "system", ""] {
            let counts = received(other, &wire).is_some();
            assert_eq!(counts, other == sender, "{} from {other:?}", wire["type"]);
        }
    }
}

#[test]
fn a_shutdown_request_under_another_name_than_the_leads_is_text() {
    let wire = json!({"type": "shutdown_request", "requestId": "shutdown-1@bob", "from": "mallory",
        "timestamp": "now"});
    assert_eq!(received("team-lead", &wire), None);
    let wire = json!({"type": "mode_set_request", "mode": "plan", "from": "mallory"});
    assert_eq!(received("team-lead", &wire), None);
}

#[test]
fn an_unknown_frame_is_text() {
    for text in [
        "",
        "hello",
        "[]",
        "[\"interrupt_request\",\"team-lead\",\"now\"]",
        "{}",
        "{\"type\":\"frobnicate\"}",
        "{\"type\":\"shutdown_request\"}",
        "{\"type\":1}",
    ] {
        assert_eq!(ControlFrame::from_text(text), None, "{text}");
    }
}
