//! The summary of a team for a model.

use std::time::Duration;

use serde_json::json;
use swarm_permissions::{HandoffScan, PermissionRequest};
use swarm_protocol::MemberState;
use swarm_store::BlockOn as _;
use swarm_team::{open_request, team_brief};

use crate::world::{World, name};

#[test]
fn a_brief_names_members_open_tasks_and_requests_in_at_most_2_kib() {
    let world = World::new();
    let (alice, _life) = world.live("alice");
    world.report("alice", alice, MemberState::Working);
    world.create("paint the boat", Some("alice"), &[]);
    world.create("sail", None, &[1]);
    let context = world.context("alice", alice).context;
    let call = PermissionRequest {
        tool: "Bash".to_owned(),
        tool_use_id: "toolu_1".to_owned(),
        input: json!({"command": "make install"}),
        description: "Bash make\ninstall".to_owned(),
        why: String::new(),
        suggestions: Vec::new(),
        next_mode: None,
    };
    open_request(&context, &*world.files(), call, Duration::from_hours(1))
        .block_on()
        .unwrap();
    let brief = |reader: &str| team_brief(&*world.files(), &name(reader), HandoffScan::On).unwrap();
    assert_eq!(
        brief("team-lead"),
        "You are team-lead of team crew. Other members (1):\n\
         - alice: working\n\
         Open tasks (2):\n\
         - #1 [pending, alice] paint the boat\n\
         - #2 [blocked] sail\n\
         Requests that wait for a person (1):\n\
         - alice asks: Bash make install"
    );
    assert!(!brief("alice").contains("- alice: working"));
    for number in 0..60 {
        world.join(&format!("member-with-a-long-name-{number}"));
        world.create(&"a very long subject ".repeat(20), None, &[]);
    }
    let brief = brief("team-lead");
    assert!(brief.len() <= 2048, "{}", brief.len());
    assert!(
        brief.contains("Other members (61)") && brief.contains("Open tasks (62)"),
        "{brief}"
    );
    assert!(brief.contains(" more\n"), "{brief}");
}
