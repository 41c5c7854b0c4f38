//! Teammates with `isolation: remote`: a node of the team's hub spawns them.

use serde_json::Value;
use swarm_agent::{SpawnRequest, Spawned};
use swarm_protocol::{AgentId, OrderOutcome, PaneId, PermissionMode};
use swarm_store::{NodeView, Team};
use swarm_supervisor::{NewOrder, OrderWait, SpawnContext, choose_any, order_in_repository};

/// Spawns a teammate on the node with the most free slots. The error is for the model.
pub(super) async fn spawn_remote(
    context: &SpawnContext,
    team: &dyn Team,
    request: &SpawnRequest,
    mode: PermissionMode,
) -> Result<Spawned, String> {
    let name = &request.name;
    let failed = |why: String| format!("{name} was not spawned: {why}");
    let orders = team.orders().ok_or_else(|| {
        failed("the team is not on a hub, so there are no nodes. Leave `isolation` out".to_owned())
    })?;
    let nodes = orders.nodes().nodes().await;
    let nodes = nodes.map_err(|error| failed(error.to_string()))?;
    let node = choose_any(&nodes).map_err(|error| failed(error.to_string()))?;
    let wait = OrderWait::of(context.hello_deadline, request.cancel.clone());
    let command = |has_repository: bool| NewOrder {
        words: words(context, request, mode, has_repository),
        input: Some(request.prompt.clone()),
    };
    let at = (&context.worktrees, context.cwd.as_path());
    let done = order_in_repository((team, &orders, node), at, command, &wait).await;
    let outcome = done.map_err(|error| failed(error.to_string()))?;
    let id = AgentId::new(name.clone(), team.name().clone());
    read(&outcome, node, id)
}

/// Returns the command for the node. The mode is always named: the node's default may be higher.
fn words(
    context: &SpawnContext,
    request: &SpawnRequest,
    mode: PermissionMode,
    has_repository: bool,
) -> Vec<String> {
    let mut words = vec!["spawn".to_owned(), request.name.to_string()];
    let mut add = |flag: &str, value: Option<&str>| {
        words.extend(value.map(|value| format!("--{flag}={value}")));
    };
    add("prompt-file", Some("-"));
    add("agent", request.agent_type.as_deref());
    add(
        "model",
        Some(request.model.as_deref().unwrap_or(&context.model)),
    );
    add(
        "effort",
        request.effort.map(|effort| effort.to_string()).as_deref(),
    );
    add("mode", Some(mode.name()));
    add("worktree", has_repository.then(|| request.name.as_str()));
    words.push("--json".to_owned());
    words.extend(request.plan.then(|| "--plan".to_owned()));
    words
}

fn read(outcome: &OrderOutcome, node: &NodeView, id: AgentId) -> Result<Spawned, String> {
    if outcome.code != 0 {
        let message = outcome.error_field("message");
        let message = message.unwrap_or_else(|| outcome.stderr.trim().to_owned());
        return Err(format!("on node {}: {message}", node.name));
    }
    let shown: Value = serde_json::from_str(&outcome.stdout)
        .map_err(|_| format!("node {} did not answer with JSON", node.name))?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let hello = &shown["hello"];
    let mut remark = format!("status: remote_launched\nnode: {}", node.name);
    if let Some(path) = shown["worktree"]["path"].as_str() {
        remark = format!("{remark}\nworktree: {path} on that machine");
    }
    Ok(Spawned {
        agent_id: id,
        color: shown["color"].as_str().and_then(|color| color.parse().ok()),
        model: text(&hello["model"]),
        mode: text(&hello["mode"])
            .parse()
            .unwrap_or(PermissionMode::Default),
        pane: PaneId::new(format!("{} on {}", text(&shown["tmuxPaneId"]), node.name)),
        note: remark,
    })
}
