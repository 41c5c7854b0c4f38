//! A coordinator and its workers.

use serde_json::{Value, json};
use swarm_agent::{coordinated, share_scratchpad};
use swarm_permissions::{AgentCatalog, AgentConfig};
use swarm_protocol::PermissionMode;
use swarm_tools::builtin;

use crate::family::{Family, Line, calls, definition, says};
use crate::setup::{Setup, rights};
use crate::sub_agents::agent;

fn family() -> Family {
    let setup = Setup::new(builtin());
    let mut agent_config = coordinated(AgentConfig {
        agents: AgentCatalog::new(vec![definition("reviewer")]),
        ..AgentConfig::default()
    });
    share_scratchpad(&mut agent_config, setup.scratch.path(), "pad").unwrap();
    Family::configured(setup, agent_config)
}

fn worker(prompt: &str) -> (&'static str, Value) {
    ("Agent", json!({"description": "look", "prompt": prompt}))
}

#[tokio::test]
async fn a_coordinator_delegates_and_its_workers_cannot() {
    let mut family = family();
    let script = [
        calls([
            ("Read", json!({"file_path": "/etc/hostname"})),
            worker("Look."),
            agent("reviewer", &json!({"model": "other-1"})),
        ]),
        says("started"),
    ];
    family.plays("bob", script);
    for kind in ["bob/worker", "bob/reviewer"] {
        family.plays(kind, [says("seen")]);
    }
    family.turn("go").await;
    let results = family.results();
    assert!(
        results[0].1 && results[0].0.contains("coordinator"),
        "{results:?}"
    );
    for (result, is_error) in &results[1..] {
        assert!(
            !is_error && result.starts_with("Async agent launched"),
            "{result}"
        );
        assert!(!result.contains("output_file"), "{result}");
    }
    let cast = family.cast.clone();
    let tools = |agent: &str| -> Vec<String> {
        let asked = cast.asked_by(agent).remove(0);
        asked.tools.iter().map(|tool| tool.name.clone()).collect()
    };
    assert_eq!(tools("bob"), ["Agent", "TaskStop"]);
    family.hear().await;
    family.hear().await;
    for kind in ["bob/worker", "bob/reviewer"] {
        let tools = tools(kind);
        assert!(tools.iter().any(|tool| tool == "Bash"), "{tools:?}");
        for barred in ["Agent", "SendMessage", "TaskStop", "TaskOutput"] {
            assert!(!tools.iter().any(|tool| tool == barred), "{tools:?}");
        }
        let asked = family.cast.asked_by(kind).remove(0);
        let system = format!("{:?}", asked.system);
        assert!(system.contains("Scratchpad directory: "), "{system}");
    }
    let own = family.cast.asked_by("bob").remove(0);
    let reviewer = family.cast.asked_by("bob/reviewer").remove(0);
    assert_eq!(reviewer.model, own.model, "a worker has its parent's model");
}

#[tokio::test]
async fn a_coordinator_has_no_forks_and_no_team() {
    let mut family = family();
    let call = |more: Value| agent("worker", &more);
    let script = [
        calls([
            call(json!({"subagent_type": "fork"})),
            call(json!({"team_name": "crew", "name": "tom"})),
            call(json!({"name": "tom"})),
        ]),
        says("done"),
    ];
    family.plays("bob", script);
    family.plays("bob/worker", [says("seen")]);
    family.turn("go").await;
    let results = family.results();
    assert!(
        results[0].1 && results[0].0.contains("no forks"),
        "{results:?}"
    );
    assert!(
        results[1].1 && results[1].0.contains("no team"),
        "{results:?}"
    );
    assert!(
        !results[2].1 && results[2].0.contains("name: tom"),
        "{results:?}"
    );
    family.hear().await;
}

#[tokio::test]
async fn a_prompt_that_delegates_understanding_is_rejected() {
    let mut family = family();
    let script = [
        calls([
            worker("Based on your findings, fix the bug."),
            worker("Fix src/a.rs:3."),
        ]),
        says("done"),
    ];
    family.plays("bob", script);
    family.plays("bob/worker", [says("fixed")]);
    family.turn("go").await;
    let results = family.results();
    assert!(results[0].1, "{results:?}");
    assert!(
        results[0].0.contains("based on your findings"),
        "{results:?}"
    );
    assert_eq!(family.ids().len(), 1);
    family.hear().await;
    let id = family.ids().remove(0);
    let lazy = family.send(&id, "Based on the research, go on.").await;
    assert!(lazy.unwrap().unwrap_err().contains("understanding"));
    let sound = family.send(&id, "Also fix src/b.rs:4.").await;
    assert!(sound.unwrap().unwrap().contains("had ended"));
    family.hear().await;
}

#[tokio::test]
async fn a_stopped_worker_returns_its_partial_result() {
    let mut family = family();
    family.plays("bob", [calls([worker("Look.")]), says("started")]);
    family.plays("bob/worker", [Line::Gated("never".into())]);
    family.turn("go").await;
    family.cast.at_gate(1).await;
    let id = family.ids().remove(0);
    let context = family.session.parts().tool_context.clone();
    let stop = family.tool("TaskStop");
    let stopped = stop.call(json!({"task_id": id}), &context).await;
    assert!(!stopped.is_error, "{stopped:?}");
    family.hear().await;
    let told = family.setup.on_disk();
    assert!(told.contains("<status>killed</status>"), "{told}");
}

#[tokio::test]
async fn workers_write_in_the_scratchpad_without_permission() {
    let mut setup = Setup::new(builtin());
    setup.rights = rights(PermissionMode::Default);
    let mut agent_config = coordinated(AgentConfig::default());
    share_scratchpad(&mut agent_config, setup.scratch.path(), "pad").unwrap();
    let scratchpad = agent_config.scratchpad.clone().unwrap();
    assert_eq!(agent_config.shell.write, std::slice::from_ref(&scratchpad));
    let mut family = Family::configured(setup, agent_config);
    let note = scratchpad.join("note.md");
    let script = [calls([worker("Note it.")]), says("started")];
    family.plays("bob", script);
    let write = json!({"file_path": note, "content": "seen"});
    let read = json!({"file_path": note});
    let script = [
        calls([("Write", write)]),
        calls([("Read", read)]),
        says("noted"),
    ];
    family.plays("bob/worker", script);
    family.turn("go").await;
    family.hear().await;
    assert_eq!(std::fs::read_to_string(&note).unwrap(), "seen");
    assert!(family.setup.gate.asked.lock().is_empty());
}
