//! The Agent tool, and teammates that it starts.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};
use swarm_agent::{NoTeammates, SpawnRequest, Spawned, TeammateStatus, Teammates};
use swarm_permissions::{Isolation, ToolAllowance};
use swarm_protocol::{Color, MemberName, PaneId, PermissionMode};
use swarm_tools::ToolOutput;
use tokio::sync::Barrier;

use crate::family::{Family, calls, definition, says};
use crate::setup::Setup;

#[derive(Debug, Default)]
struct RecordingSpawner(Mutex<Vec<SpawnRequest>>);

#[async_trait]
impl Teammates for RecordingSpawner {
    async fn spawn(&self, request: SpawnRequest) -> Result<Spawned, String> {
        let agent_id = format!("{}@crew", request.name).parse().unwrap();
        self.0.lock().push(request);
        Ok(Spawned {
            agent_id,
            color: Some(Color::Blue),
            model: "anthropic/m".into(),
            mode: PermissionMode::Default,
            pane: PaneId::new("%7"),
            note: "Its worktree is new.".into(),
        })
    }

    async fn list(&self) -> Result<Vec<TeammateStatus>, String> {
        Ok(Vec::new())
    }

    async fn stop(&self, _name: &MemberName) -> Result<String, String> {
        unreachable!("no member is stopped here")
    }
}

async fn ask(spawner: Arc<dyn Teammates>, input: Value) -> ToolOutput {
    let setup = Setup::new(vec![]);
    let context = setup.parts().tool_context;
    let family = Family::with_spawner(setup, spawner);
    family.tool("Agent").call(input, &context).await
}

#[tokio::test]
async fn a_call_with_a_name_spawns_a_teammate() {
    let spawner = Arc::new(RecordingSpawner::default());
    let output = ask(
        spawner.clone(),
        json!({
            "description": "find it", "prompt": "Look for it.", "name": "alice", "subagent_type": "explorer",
            "model": "haiku", "mode": "plan", "cwd": "sub", "isolation": "worktree", "run_in_background": true,
            "team_name": "crew"
        }),
    )
    .await;
    assert!(!output.is_error);
    for part in [
        "agent_id: alice@crew",
        "name: alice",
        "%7",
        "Its worktree is new.",
    ] {
        assert!(output.content.contains(part), "{part}: {}", output.content);
    }
    let requests = spawner.0.lock();
    let request = &requests[0];
    assert_eq!(request.name.as_str(), "alice");
    assert_eq!(request.member.agent_type.as_deref(), Some("explorer"));
    assert_eq!(
        (&*request.prompt, &*request.description),
        ("Look for it.", "find it")
    );
    assert_eq!(request.member.model.as_deref(), Some("haiku"));
    assert_eq!(
        (request.member.mode, request.member.plan),
        (Some(PermissionMode::Plan), true)
    );
    assert_eq!(request.cwd.as_deref(), Some("/work/repo/sub".as_ref()));
    assert_eq!(request.isolation, Some(Isolation::Worktree));
    assert_eq!(request.team.as_deref(), Some("crew"));
}

/// Returns only after a given number of requests have arrived.
#[derive(Debug)]
struct BarrierSpawner {
    barrier: Barrier,
    recorder: RecordingSpawner,
}

#[async_trait]
impl Teammates for BarrierSpawner {
    async fn spawn(&self, request: SpawnRequest) -> Result<Spawned, String> {
        let spawned = self.recorder.spawn(request).await;
        self.barrier.wait().await;
        spawned
    }

    async fn list(&self) -> Result<Vec<TeammateStatus>, String> {
        self.recorder.list().await
    }

    async fn stop(&self, name: &MemberName) -> Result<String, String> {
        self.recorder.stop(name).await
    }
}

#[tokio::test]
async fn teammates_of_one_response_are_spawned_in_parallel_in_call_order() {
    let names = ["ada", "bob", "eve"];
    let spawner = Arc::new(BarrierSpawner {
        barrier: Barrier::new(names.len()),
        recorder: RecordingSpawner::default(),
    });
    let mut family = Family::with_spawner(Setup::new(vec![]), spawner.clone());
    let teammate = |name| {
        let input = json!({"description": "d", "prompt": "p", "name": name});
        ("Agent", input)
    };
    family.plays("bob", [calls(names.map(teammate)), says("done")]);
    family.turn("go").await;
    let recorder = spawner.recorder.0.lock();
    let requested: Vec<_> = recorder
        .iter()
        .map(|request| request.name.as_str())
        .collect();
    assert_eq!(requested, names);
}

#[tokio::test]
async fn invalid_calls_are_rejected_without_spawning() {
    let spawner = Arc::new(RecordingSpawner::default());
    for (input, words) in [
        (
            json!({"description": "d", "prompt": " "}),
            "`prompt` is empty",
        ),
        (
            json!({"description": "d", "prompt": "p", "name": "team-lead"}),
            "reserved",
        ),
        (
            json!({"description": "d", "prompt": "p", "name": "../x"}),
            "not a member name",
        ),
        (json!({"description": "d", "name": "a"}), "prompt"),
        (
            json!({"description": "d", "prompt": "p", "name": "a", "mode": "yolo"}),
            "yolo",
        ),
        (
            json!({"description": "d", "prompt": "p", "name": "a", "isolation": "container"}),
            "container",
        ),
        (
            json!({"description": "d", "prompt": "p", "name": "a", "color": "red"}),
            "color",
        ),
    ] {
        let output = ask(spawner.clone(), input.clone()).await;
        assert!(
            output.is_error && output.content.contains(words),
            "{input}: {}",
            output.content
        );
    }
    assert!(spawner.0.lock().is_empty());
}

#[tokio::test]
async fn only_the_lead_spawns_teammates() {
    let input = json!({"description": "d", "prompt": "p", "name": "alice"});
    let output = ask(Arc::new(NoTeammates), input).await;
    assert!(output.is_error);
    assert!(
        output
            .content
            .contains("only the team lead can add teammates")
    );
}

#[tokio::test]
async fn agent_type_restrictions_apply_to_sub_agents_and_teammates() {
    let types = || {
        ["finder", "writer", "general-purpose"]
            .map(definition)
            .to_vec()
    };
    let only = swarm_permissions::AgentDefinition {
        tools: ToolAllowance::Only(vec!["Read".into(), "Agent(finder)".into()]),
        ..definition("boss")
    };
    let without = swarm_permissions::AgentDefinition {
        disallowed_tools: vec!["Agent(writer, general-purpose)".into()],
        ..definition("boss")
    };
    for own in [only, without] {
        let spawner = Arc::new(RecordingSpawner::default());
        let family = Family::of_type(&own, types(), spawner.clone());
        let tool = family.tool("Agent");
        let told = tool.description();
        assert!(
            told.contains("- finder:") && !told.contains("- writer:"),
            "{told}"
        );
        let context = family.setup.parts().tool_context;
        for kind in [json!("Writer"), json!(null)] {
            for name in [json!(null), json!("alice")] {
                let input =
                    json!({"description": "d", "prompt": "p", "name": name, "subagent_type": kind});
                let output = tool.call(input, &context).await;
                assert!(output.is_error, "{kind} {name}");
                assert!(
                    output
                        .content
                        .contains("the definition `boss` does not allow it to start"),
                    "{}",
                    output.content
                );
            }
        }
        assert!(spawner.0.lock().is_empty());
        let input =
            json!({"description": "d", "prompt": "p", "name": "alice", "subagent_type": "finder"});
        assert!(!tool.call(input, &context).await.is_error);
    }
}

#[tokio::test]
async fn agent_type_restrictions_apply_to_nested_sub_agents() {
    let nested = |kind: &str| {
        let input = json!({"description": "d", "prompt": "p", "subagent_type": kind});
        calls([("Agent", input)])
    };
    let boss = swarm_permissions::AgentDefinition {
        disallowed_tools: vec!["Agent(writer)".into()],
        ..definition("boss")
    };
    let types = ["finder", "writer"].map(definition).to_vec();
    let mut family = Family::of_type(&boss, types, Arc::new(NoTeammates));
    family.plays("bob", [nested("finder"), says("done")]);
    family.plays("bob/finder", [nested("writer"), says("refused")]);
    family.turn("go").await;
    assert!(family.cast.asked_by("bob/finder/writer").is_empty());
    let requests = family.cast.asked_by("bob/finder");
    let said = format!("{:?}", requests[1].messages);
    assert!(
        said.contains("does not allow it to start `writer`"),
        "{said}"
    );
}

#[test]
fn the_schema_and_the_parser_agree() {
    let family = Family::new(Setup::new(vec![]));
    let tool = family.tool("Agent");
    let schema = tool.input_schema();
    let mut known: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
    known.sort();
    assert_eq!(
        known,
        [
            "cwd",
            "description",
            "effort",
            "isolation",
            "mode",
            "model",
            "name",
            "prompt",
            "run_in_background",
            "subagent_type",
            "team_name"
        ]
    );
    let line = tool.one_line(&json!({"name": "a\n", "description": "x\u{1b}[31m"}));
    assert_eq!(line, "Agent a: x[31m");
}
