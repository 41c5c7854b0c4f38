//! Sub-agents that another process resumes: they keep their permissions and never get more.

use std::path::PathBuf;

use serde_json::{Value, json};
use swarm_permissions::{AgentDefinition, AgentLimits, ToolAllowance};
use swarm_protocol::PermissionMode;
use swarm_tools::builtin;

use crate::family::{Family, calls, definition, says};
use crate::setup::Setup;
use crate::sub_agents::agent;

fn write(file: &PathBuf) -> (&'static str, Value) {
    ("Write", json!({"file_path": file, "content": "x"}))
}

/// Returns the definition `outer`, which starts the sub-agent `inner`, and the definition of
/// `inner`.
fn two(outer: AgentDefinition) -> Vec<AgentDefinition> {
    vec![outer, definition("inner")]
}

/// A family in which `outer` has started `inner` with this call; both have ended and the process
/// has terminated.
async fn after_two(outer: AgentDefinition, call: (&'static str, Value)) -> (Family, String) {
    let definitions = two(outer);
    let mut family = Family::of(
        Setup::new(builtin()),
        definitions.clone(),
        AgentLimits::default(),
    );
    let cast = family.cast.clone();
    cast.plays("bob", [calls([agent("outer", &json!({}))]), says("done")]);
    cast.plays(
        "bob/outer",
        [calls([agent("inner", &json!({}))]), says("done")],
    );
    cast.plays(
        "bob/outer/inner",
        [says("part"), calls([call]), says("tried")],
    );
    family.turn("go").await;
    let inner = family.ids().remove(1);
    (family.reborn(definitions), inner)
}

fn tools(family: &Family, who: &str) -> Vec<Vec<String>> {
    let requests = family.cast.asked_by(who).into_iter();
    let names = requests.map(|one| one.tools.iter().map(|tool| tool.name.clone()).collect());
    names.collect()
}

#[tokio::test]
async fn p5_a_resumed_nested_sub_agent_keeps_the_mode_of_its_parent() {
    let outer = AgentDefinition {
        permission_mode: Some(PermissionMode::Plan),
        ..definition("outer")
    };
    let file = crate::setup::Scratch::new();
    let file = file.path().with_extension("out");
    let (mut family, inner) = after_two(outer, write(&file)).await;
    family.send(&inner, "go on").await.unwrap().unwrap();
    family.hear().await;
    let said = family.cast.asked_by("bob/outer/inner").pop().unwrap();
    let said = format!("{:?}", said.messages);
    assert!(said.contains("mode plan only allows reading"), "{said}");
    assert!(!file.exists());
}

#[tokio::test]
async fn p5_a_resumed_nested_sub_agent_gets_no_tool_that_its_parent_may_not_pass_on() {
    let outer = AgentDefinition {
        tools: ToolAllowance::Only(vec!["Agent".into(), "Read".into()]),
        ..definition("outer")
    };
    let (mut family, inner) = after_two(outer, ("Read", json!({"file_path": "/x"}))).await;
    family.send(&inner, "go on").await.unwrap().unwrap();
    family.hear().await;
    let had = tools(&family, "bob/outer/inner");
    assert_eq!(had[0], had[1]);
    assert!(!had[0].contains(&"Bash".to_owned()), "{had:?}");
}

#[tokio::test]
async fn p5_a_sub_agent_whose_parent_is_missing_is_not_resumed() {
    let (family, inner) = after_two(definition("outer"), ("Read", json!({}))).await;
    let only_inner = family.reborn(vec![definition("inner")]);
    let refused = only_inner.send(&inner, "go on").await.unwrap().unwrap_err();
    assert!(
        refused.contains("definition `outer` no longer exists"),
        "{refused}"
    );
    let directory = only_inner.setup.path().with_extension("").join("subagents");
    for file in std::fs::read_dir(&directory).unwrap().flatten() {
        let name = file.file_name().into_string().unwrap();
        if name.ends_with(".meta.json") && !name.contains(&inner) {
            std::fs::remove_file(file.path()).unwrap();
        }
    }
    let orphaned = only_inner.reborn(two(definition("outer")));
    let refused = orphaned.send(&inner, "go on").await.unwrap().unwrap_err();
    assert!(
        refused.contains("that started it no longer exists"),
        "{refused}"
    );
}

#[tokio::test]
async fn p5_a_resumed_sub_agent_gets_no_tools_added_later() {
    let few: Vec<_> = builtin().into_iter().take(2).collect();
    let limits = AgentLimits {
        fork: true,
        ..AgentLimits::default()
    };
    let mut family = Family::of(Setup::new(few), vec![definition("finder")], limits);
    let fork = ("Agent", json!({"description": "all", "prompt": "all"}));
    let script = [calls([fork, agent("finder", &json!({}))]), says("done")];
    family.plays("bob", script);
    for who in ["bob/fork", "bob/finder"] {
        family.plays(who, [says("part")]);
    }
    family.turn("go").await;
    let ids = family.ids();
    family.setup.tools = builtin();
    let mut family = family.reborn(vec![definition("finder")]);
    for id in ids {
        family.send(&id, "go on").await.unwrap().unwrap();
        family.hear().await;
    }
    for who in ["bob/fork", "bob/finder"] {
        let had = tools(&family, who);
        assert_eq!(had.len(), 2, "{who}");
        assert_eq!(had[0], had[1], "{who}");
    }
    let own = family.session.parts().tools.iter();
    assert!(own.map(|tool| tool.name()).any(|name| name == "Bash"));
}
