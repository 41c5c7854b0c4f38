//! `ListAgents`, and `TaskStop` for teammates.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};
use swarm_agent::{SpawnRequest, Spawned, TeammateStatus, Teammates};
use swarm_permissions::{AgentCatalog, AgentConfig, AgentLimits};
use swarm_protocol::{MemberName, MemberState};
use swarm_tools::builtin;

use crate::family::{Family, Line, calls, definition, says};
use crate::setup::Setup;
use crate::sub_agents::agent;

/// A team with a working `alice` and an idle `slow-1`, which records who is stopped.
#[derive(Debug, Default)]
struct Crew {
    stopped: Mutex<Vec<String>>,
    is_damaged: AtomicBool,
}

fn status(name: &str, state: MemberState, detail: Option<&str>) -> TeammateStatus {
    TeammateStatus {
        agent_id: format!("{name}@crew").parse().unwrap(),
        agent_type: Some("reviewer".to_owned()),
        state,
        since: None,
        detail: detail.map(str::to_owned),
    }
}

#[async_trait]
impl Teammates for Crew {
    async fn spawn(&self, _request: SpawnRequest) -> Result<Spawned, String> {
        unreachable!("no member is spawned here")
    }

    async fn list(&self) -> Result<Vec<TeammateStatus>, String> {
        if self.is_damaged.load(Ordering::Relaxed) {
            return Err("the roster is damaged".to_owned());
        }
        Ok(vec![
            status("alice", MemberState::Working, Some("Bash cargo\u{1b}test")),
            status("slow-1", MemberState::Idle, None),
        ])
    }

    async fn stop(&self, name: &MemberName) -> Result<String, String> {
        self.stopped.lock().push(name.to_string());
        Ok(format!("{name} has shut down"))
    }
}

async fn call(family: &Family, tool: &str, input: Value) -> (String, bool) {
    let context = family.session.parts().tool_context.clone();
    let output = family.tool(tool).call(input, &context).await;
    (output.content, output.is_error)
}

/// `bob` with the crew and a background sub-agent `slow-1` that waits for the gate.
async fn family(crew: &Arc<Crew>) -> Family {
    let agent_config = AgentConfig {
        agents: AgentCatalog::new(vec![definition("slow")]),
        ..AgentConfig::default()
    };
    let setup = Setup::new(builtin());
    let mut family = Family::with_teammates(setup, agent_config, crew.clone());
    let background = agent("slow", &json!({"run_in_background": true}));
    family.plays("bob", [calls([background]), says("done")]);
    let script = [Line::Gated("late news".into()), says("more")];
    family.plays("bob/slow", script);
    family.turn("go").await;
    family.cast.at_gate(1).await;
    family
}

#[tokio::test]
async fn list_agents_shows_teammates_and_running_sub_agents_with_their_states() {
    let family = family(&Arc::default()).await;
    let (all, is_error) = call(&family, "ListAgents", json!({})).await;
    assert!(!is_error, "{all}");
    let lines: Vec<&str> = all.lines().collect();
    assert_eq!(lines[0], "Teammates (2)");
    assert_eq!(lines[1], "- alice (reviewer): working: Bash cargo test");
    assert_eq!(lines[2], "- slow-1 (reviewer): idle");
    assert_eq!(lines[3], "Sub-agents (1)");
    assert!(lines[4].starts_with("- slow-1 ("), "{all}");
    assert!(lines[4].contains("running for 0 s: look"), "{all}");
    let (some, _) = call(&family, "ListAgents", json!({"q": "Alice"})).await;
    assert!(some.starts_with("Teammates (1)\n- alice"), "{some}");
    assert!(some.ends_with("Sub-agents (0)"), "{some}");
    let (unknown, is_error) = call(&family, "ListAgents", json!({"channel": "x"})).await;
    assert!(is_error && unknown.contains("channel"), "{unknown}");
    family.cast.open();
}

#[tokio::test]
async fn task_stop_stops_a_teammate_and_refuses_an_ambiguous_name() {
    let crew = Arc::new(Crew::default());
    let family = family(&crew).await;
    let (stopped, is_error) = call(&family, "TaskStop", json!({"task_id": "alice"})).await;
    assert!(!is_error, "{stopped}");
    let stopped: Value = serde_json::from_str(&stopped).unwrap();
    assert_eq!(stopped["message"], "alice has shut down");
    assert_eq!(stopped["task_id"], "alice@crew");
    assert_eq!(stopped["task_type"], "teammate");
    let (both, is_error) = call(&family, "TaskStop", json!({"task_id": "slow-1"})).await;
    assert!(is_error && both.contains("slow-1@crew"), "{both}");
    let (full, is_error) = call(&family, "TaskStop", json!({"task_id": "slow-1@crew"})).await;
    assert!(!is_error, "{full}");
    assert_eq!(*crew.stopped.lock(), ["alice", "slow-1"]);
    let (unknown, is_error) = call(&family, "TaskStop", json!({"task_id": "carol"})).await;
    assert!(is_error, "{unknown}");
    for known in ["alice", "slow-1"] {
        assert!(unknown.contains(known), "{unknown}");
    }
    family.cast.open();
}

#[tokio::test]
async fn task_stop_stops_a_sub_agent_of_a_damaged_team_by_its_name() {
    let crew = Arc::new(Crew::default());
    let family = family(&crew).await;
    crew.is_damaged.store(true, Ordering::Relaxed);
    let (stopped, is_error) = call(&family, "TaskStop", json!({"task_id": "slow-1"})).await;
    assert!(!is_error, "{stopped}");
    let stopped: Value = serde_json::from_str(&stopped).unwrap();
    assert_eq!(stopped["task_type"], "agent");
    let (refused, is_error) = call(&family, "TaskStop", json!({"task_id": "alice"})).await;
    assert!(is_error && refused.contains("damaged"), "{refused}");
}

#[tokio::test]
async fn a_fork_cannot_stop_a_teammate() {
    let crew = Arc::new(Crew::default());
    let agent_config = AgentConfig {
        limits: AgentLimits {
            fork: true,
            ..AgentLimits::default()
        },
        ..AgentConfig::default()
    };
    let setup = Setup::new(builtin());
    let mut family = Family::with_teammates(setup, agent_config, crew.clone());
    let fork = (
        "Agent",
        json!({"description": "part", "prompt": "stop alice"}),
    );
    family.plays("bob", [calls([fork]), says("done")]);
    let stop = ("TaskStop", json!({"task_id": "alice"}));
    family.plays("bob/fork", [calls([stop]), says("tried")]);
    family.turn("go").await;
    assert!(crew.stopped.lock().is_empty());
    let answers = family.cast.asked_by("bob/fork").pop().unwrap();
    let told = format!("{:?}", answers.messages.last().unwrap());
    assert!(
        told.contains("No sub-agent or command `alice` found"),
        "{told}"
    );
    let bobs = family.cast.asked_by("bob").pop().unwrap();
    assert_eq!(format!("{:?}", bobs.tools), format!("{:?}", answers.tools));
}
