//! Requests and plans of members of other programs.

use std::sync::Arc;

use serde_json::{Value, json};
use swarm_protocol::{
    Answer, ControlFrame, InboxEntry, IsoTime, PermissionMode, PermissionResult, RequestKind,
    UnixMs,
};
use swarm_store::BlockOn as _;
use swarm_team::{Incoming, adopt_request, adopt_requests};

use crate::request_rig::answered;
use crate::world::{World, now};

fn asked_by(member: &str, text: &Value) -> Incoming {
    Incoming::of(InboxEntry::new(member, text.to_string(), IsoTime::new("t")))
}

#[test]
fn p6_members_of_other_programs_ask_by_mail_and_are_answered_by_mail() {
    let world = World::on_files();
    world.join("bob");
    world.foreigner("eve");
    let files = world.files();
    let of = |from: &str| {
        [
            json!({"type": "permission_request", "request_id": "perm-1-abcdefg", "agent_id": from, "tool_name": "Bash",
                   "tool_use_id": "t", "description": "make", "input": {"command": "make"}}),
            json!({"type": "plan_approval_request", "requestId": "plan_approval-1@eve@crew", "from": from,
                   "planFilePath": "/p.md", "planContent": "# Fix", "timestamp": "t"}),
            json!({"type": "sandbox_permission_request", "requestId": "sandbox-1-abcdefg", "workerId": "eve@crew",
                   "workerName": from, "hostPattern": {"host": "crates.io"}, "createdAt": 1}),
        ]
    };
    let adopt = |incoming: &Incoming| {
        adopt_request(&*files, incoming, PermissionMode::Plan, now())
            .block_on()
            .unwrap()
    };
    // Members of swarm ask through the queue; unknown senders are ignored.
    for stranger in ["bob", "mallory"] {
        for text in of(stranger) {
            assert_eq!(adopt(&asked_by(stranger, &text)), None, "{text}");
        }
    }
    let records: Vec<_> = of("eve")
        .iter()
        .map(|text| adopt(&asked_by("eve", text)).unwrap())
        .collect();
    assert_eq!(
        adopt(&asked_by("eve", &of("eve")[0])),
        Some(records[0].clone()),
        "read twice"
    );
    let mut other = of("eve")[0].clone();
    other["input"] = json!({"command": "make install"});
    assert_eq!(
        adopt(&asked_by("eve", &other)),
        Some(records[0].clone()),
        "the first one with an ID counts"
    );
    other["request_id"] = json!("../perm-1-abcdefg");
    assert_eq!(adopt(&asked_by("eve", &other)), None, "not a file name");
    assert_eq!(files.requests().block_on().unwrap().requests.len(), 3);
    assert!(
        records
            .iter()
            .all(|record| record.spawn_id.is_none() && record.deadline.is_none())
    );
    for record in &records {
        answered(&world, record, Answer::once()).block_on().unwrap();
    }
    assert_eq!(
        files.requests().block_on().unwrap().requests.len(),
        0,
        "other members do not close them"
    );
    let frames: Vec<_> = world
        .mail("eve")
        .into_iter()
        .filter_map(|mail| mail.frame)
        .collect();
    let [
        ControlFrame::PermissionResponse(call),
        ControlFrame::PlanApprovalResponse(plan),
        ControlFrame::SandboxPermissionResponse(sandbox),
    ] = &frames[..]
    else {
        panic!("{frames:?}");
    };
    assert_eq!(call.request_id, records[0].id);
    assert!(plan.approved && plan.permission_mode.as_deref() == Some("default"));
    assert!(sandbox.allow && sandbox.host == "crates.io");
}

#[test]
fn a_request_of_another_program_is_described_by_its_call_not_by_its_words() {
    let world = World::on_files();
    world.foreigner("eve");
    let files = world.files();
    for (at, (tool, input, line)) in [
        (
            "Bash",
            json!({"description": "run make", "command": "rm -rf ~"}),
            "Bash rm -rf ~",
        ),
        (
            "Edit",
            json!({"file_path": "/etc/passwd"}),
            "Edit /etc/passwd",
        ),
        ("mcp__x__y", json!({"a": [1]}), r#"mcp__x__y {"a":[1]}"#),
        ("Bash", json!({"cmd": "ls"}), r#"Bash {"cmd":"ls"}"#),
    ]
    .into_iter()
    .enumerate()
    {
        let text = json!({"type": "permission_request", "request_id": format!("perm-{at}-abcdefg"),
            "agent_id": "eve", "tool_name": tool, "tool_use_id": "t", "description": "run make", "input": input});
        let incoming = asked_by("eve", &text);
        let record = adopt_request(&*files, &incoming, PermissionMode::Default, now());
        assert_eq!(record.block_on().unwrap().unwrap().description, line);
    }
}

#[test]
fn always_gives_only_a_member_of_another_program_what_it_suggested() {
    let world = World::on_files();
    world.foreigner("eve");
    let files = world.files();
    let suggestions = json!([
        {"type": "addDirectories", "directories": ["/srv"], "destination": "session"},
        {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
        {"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "touch:*"}],
         "behavior": "allow", "destination": "session"},
    ]);
    for (number, always) in [false, true].into_iter().enumerate() {
        let text = json!({"type": "permission_request", "request_id": format!("perm-{number}-abcdefg"),
            "agent_id": "eve", "tool_name": "Bash", "tool_use_id": "t", "description": "make",
            "input": {"command": "make"}, "permission_suggestions": suggestions});
        let incoming = asked_by("eve", &text);
        let record = adopt_request(&*files, &incoming, PermissionMode::Plan, now())
            .block_on()
            .unwrap();
        answered(
            &world,
            &record.unwrap(),
            Answer::Approved {
                always,
                updated_input: None,
            },
        )
        .block_on()
        .unwrap();
        // A rule for the team would be signed, and mailed after the answer.
        let ControlFrame::PermissionResponse(answer) = world.last_frame("eve") else {
            panic!("no answer")
        };
        let PermissionResult::Success {
            response: Some(response),
        } = answer.result
        else {
            panic!("{answer:?}")
        };
        let granted = if always {
            suggestions.clone()
        } else {
            json!([])
        };
        assert_eq!(response["permission_updates"], granted);
    }
}

#[test]
fn without_a_lead_process_the_commands_find_what_other_programs_members_ask() {
    let world = World::on_files();
    world.foreigner("eve");
    let files = world.files();
    let text = json!({"type": "sandbox_permission_request", "requestId": "sandbox-1-abcdefg", "workerId": "eve@crew",
                      "workerName": "eve", "hostPattern": {"host": "crates.io"}, "createdAt": 1});
    let inbox = world.file("inboxes/team-lead.json");
    let entry = json!([{"from": "eve", "text": text.to_string(), "timestamp": "2026-01-01T00:00:00.000Z", "read": false}]);
    std::fs::write(inbox, entry.to_string()).unwrap();
    for _ in 0..2 {
        adopt_requests(&*files, now()).block_on().unwrap();
    }
    let requests = files.requests().block_on().unwrap().requests;
    assert_eq!(requests.len(), 1);
    assert_eq!(
        requests[0].request,
        RequestKind::Sandbox {
            host: "crates.io".to_owned()
        }
    );
    assert_eq!(world.unread("team-lead").len(), 0);
}

#[test]
fn a_plan_of_another_program_is_asked_about_once_its_turn_has_ended() {
    let world = World::on_files();
    // Its turn is running.
    world.foreigner("eve");
    let files = world.files();
    let plan = json!({"type": "plan_approval_request", "requestId": "plan_approval-1@eve@crew", "from": "eve",
                      "planFilePath": "/p.md", "planContent": "# Fix", "timestamp": "t"});
    let idle = json!({"type": "idle_notification", "from": "eve", "timestamp": "t", "idleReason": "available"});
    let time = "2026-01-01T00:00:00.000Z";
    let entry = |frame: &Value| json!({"from": "eve", "text": frame.to_string(), "timestamp": time, "read": false});
    let asked = |entries: &[Value], minutes: u64| {
        let inbox = world.file("inboxes/team-lead.json");
        std::fs::write(inbox, json!(entries).to_string()).unwrap();
        let sent = IsoTime::new(time).unix_ms().unwrap();
        let now = UnixMs(sent.0 + minutes * 60_000);
        adopt_requests(&*files, now).block_on().unwrap();
        files.requests().block_on().unwrap().requests.len()
    };
    assert_eq!(asked(&[entry(&idle), entry(&plan)], 4), 0);
    assert_eq!(world.unread("team-lead").len(), 2);
    assert_eq!(asked(&[entry(&plan), entry(&idle)], 0), 1);
    assert_eq!(world.unread("team-lead").len(), 1, "the notice");
    let late = json!({"type": "plan_approval_request", "requestId": "plan_approval-2@eve@crew", "from": "eve",
                      "planFilePath": "/p.md", "planContent": "# Fix", "timestamp": "t"});
    assert_eq!(asked(&[entry(&late)], 6), 2, "eve was killed in its turn");
}

#[test]
fn a_plan_of_an_earlier_spawn_keeps_its_file() {
    let world = World::new();
    let path = |spawn| {
        let context = Arc::clone(&world.context("bob", spawn).context);
        let plan = world
            .files()
            .write_plan(&context.name, context.spawn_id, "x")
            .block_on()
            .unwrap();
        plan.file_name().unwrap().to_string_lossy().into_owned()
    };
    let (one, other) = (
        swarm_protocol::SpawnId::random(),
        swarm_protocol::SpawnId::random(),
    );
    assert_ne!(path(one), path(other));
    assert!(path(one).starts_with("crew-bob-") && path(one).rsplit('.').next() == Some("md"));
}
