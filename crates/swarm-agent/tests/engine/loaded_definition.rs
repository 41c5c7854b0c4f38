//! Skills and memory of sub-agents from their definitions.

use std::fs;

use serde_json::json;
use swarm_os::replace_alone;
use swarm_permissions::{AgentCatalog, AgentConfig, AgentDefinition, MemoryScope, ToolAllowance};
use swarm_protocol::{PermissionMode, Skill};
use swarm_tools::builtin;

use crate::family::{Family, calls, definition, says};
use crate::setup::Setup;
use crate::sub_agents::agent;

fn family(definition: AgentDefinition) -> Family {
    let mut setup = Setup::new(builtin());
    setup.rights = crate::setup::rights(PermissionMode::Default);
    let path = setup.scratch.path().join("SKILL.md");
    replace_alone(&path, b"---\ndescription: x\n---\nWrite short lines.\n").unwrap();
    let style = Skill {
        name: "style".into(),
        description: "x".into(),
        path,
        ..Skill::default()
    };
    let agent_config = AgentConfig {
        agents: AgentCatalog::new(vec![definition]),
        skills: vec![style],
        ..AgentConfig::default()
    };
    let family = Family::configured(setup, agent_config);
    let script = [calls([agent("keeper", &json!({}))]), says("done")];
    family.plays("bob", script);
    family
}

#[tokio::test]
async fn c2_a_sub_agent_gets_the_skills_and_memory_of_its_definition() {
    let keeper = AgentDefinition {
        skills: vec!["style".into()],
        memory: Some(MemoryScope::User),
        tools: ToolAllowance::Only(vec!["Grep".into()]),
        ..definition("keeper")
    };
    let mut family = family(keeper);
    let memory = family.setup.scratch.path().join("agent-memory/keeper");
    fs::create_dir_all(&memory).unwrap();
    replace_alone(&memory.join("MEMORY.md"), b"The build takes long.\n").unwrap();
    let note = json!({"file_path": memory.join("more.md"), "content": "x"});
    let write = calls([("Write", note)]);
    family.plays("bob/keeper", [write, says("noted")]);
    family.turn("go").await;
    let request = family.cast.asked_by("bob/keeper").remove(0);
    let system: Vec<_> = request
        .system
        .iter()
        .map(|block| block.text.as_str())
        .collect();
    let system = system.join("\n");
    for part in [
        "# Skill: style",
        "Write short lines.",
        "# Memory",
        "The build takes long.",
    ] {
        assert!(system.contains(part), "{part}: {system}");
    }
    let tools: Vec<_> = request
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    assert_eq!(tools, ["Read", "Write", "Edit", "Grep"]);
    // No approval was requested, although the mode requires one for edits.
    assert!(memory.join("more.md").exists());
    assert!(family.setup.gate.asked.lock().is_empty());
}

#[tokio::test]
async fn c2_the_error_names_a_missing_skill() {
    let keeper = AgentDefinition {
        skills: vec!["tone".into()],
        ..definition("keeper")
    };
    let mut family = family(keeper);
    family.turn("go").await;
    let (result, is_error) = family.results().remove(0);
    assert!(
        is_error && result.contains("names the skill `tone`"),
        "{result}"
    );
    assert!(family.ids().is_empty());
}
