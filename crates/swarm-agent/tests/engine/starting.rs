//! Sub-agent starts that are cancelled.

use std::time::Duration;

use serde_json::json;
use swarm_permissions::AgentLimits;
use swarm_tools::ToolContext;
use tokio_util::sync::CancellationToken;

use crate::family::{Family, definition, says};
use crate::setup::{Setup, hooks_in};
use crate::sub_agents::agent;

/// A family with room for one sub-agent. The start hook of the type `slow` writes a file and never
/// returns.
fn family() -> (Family, std::path::PathBuf) {
    let mut setup = Setup::new(vec![]);
    let begun = setup.scratch.path().join("begun");
    let command = format!("echo > {} && exec sleep 100000", begun.display());
    let settings = json!({"SubagentStart": [
        {"matcher": "slow", "hooks": [{"type": "command", "command": command}]}
    ]});
    setup.hooks = hooks_in(setup.scratch.path(), &settings);
    let limits = AgentLimits {
        max_concurrent: 1,
        ..AgentLimits::default()
    };
    let definitions = vec![definition("slow"), definition("quick")];
    let family = Family::of(setup, definitions, limits);
    for who in ["bob/slow", "bob/quick"] {
        family.plays(who, [says("done")]);
    }
    (family, begun)
}

fn context(family: &Family, cancel: &CancellationToken) -> ToolContext {
    ToolContext {
        cancel: cancel.clone(),
        ..family.session.parts().tool_context.clone()
    }
}

/// Waits until the hook runs.
async fn begun(file: &std::path::Path) {
    while !file.exists() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Waits until another sub-agent can start.
async fn wait_for_room(family: &Family) {
    let context = context(family, &CancellationToken::new());
    let (_, quick) = agent("quick", &json!({}));
    let call = async || family.tool("Agent").call(quick.clone(), &context).await;
    while call().await.is_error {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn a_dropped_start_is_undone() {
    let (family, file) = family();
    let context_of_call = context(&family, &CancellationToken::new());
    let (_, slow) = agent("slow", &json!({"run_in_background": true}));
    let tool = family.tool("Agent");
    tokio::select! {
        output = tool.call(slow, &context_of_call) => unreachable!("{output:?}"),
        () = begun(&file) => {}
    }
    wait_for_room(&family).await;
    assert_eq!(family.cast.asked_by("bob/slow").len(), 0);
    assert_eq!(family.ids().len(), 1);
}

#[tokio::test]
async fn an_interrupt_cancels_the_start_hooks() {
    let (family, file) = family();
    let cancel = CancellationToken::new();
    let context = context(&family, &cancel);
    let (_, slow) = agent("slow", &json!({}));
    let tool = family.tool("Agent");
    let (output, ()) = tokio::join!(tool.call(slow, &context), async {
        begun(&file).await;
        cancel.cancel();
    });
    assert!(
        output.content.contains("stopped before it began"),
        "{output:?}"
    );
    wait_for_room(&family).await;
    assert!(!family.agents.is_busy());
}
