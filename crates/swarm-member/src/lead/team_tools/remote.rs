//! Teammates with `isolation: remote`: a node of the team's hub spawns them.

use serde_json::Value;
use swarm_agent::{MemberRequest, SpawnRequest, Spawned};
use swarm_protocol::{AgentId, OrderOutcome, PaneId, PermissionMode};
use swarm_store::{NodeView, Team};
use swarm_supervisor::{OrderWait, SpawnCommand, SpawnContext, choose_any, order_in_repository};

/// Spawns a teammate on the node with the most free slots. The error is for the model.
pub(super) async fn spawn_remote(
    context: &SpawnContext,
    team: &dyn Team,
    request: &SpawnRequest,
    member: &MemberRequest,
    mode: PermissionMode,
) -> Result<Spawned, String> {
    let name = &request.name;
    let failed = |why: String| format!("{name} was not spawned: {why}");
    let orders = team.orders().ok_or_else(|| {
        failed("the team is not on a hub, so there are no nodes. Leave `isolation` out".to_owned())
    })?;
    if request.cwd.is_some() {
        let why = "`cwd` is a directory of this machine, and the node works in a copy of the repository. Leave `cwd` out";
        return Err(failed(why.to_owned()));
    }
    let nodes = orders.nodes().nodes().await;
    let nodes = nodes.map_err(|error| failed(error.to_string()))?;
    let node = choose_any(&nodes).map_err(|error| failed(error.to_string()))?;
    let wait = OrderWait::of(context.hello_deadline, request.cancel.clone());
    let command = command(context, request, member, mode);
    let at = (&context.worktrees, context.workspace.cwd.as_path());
    let on = (team, &orders, node);
    let done = order_in_repository(on, at, |inside| command.order(inside), &wait).await;
    let outcome = done.map_err(|error| failed(error.to_string()))?;
    let id = AgentId::new(name.clone(), team.name().clone());
    read(&outcome, node, id)
}

/// Returns the command for the node. Mode and model are always named, because the node's defaults are
/// not those of the lead.
fn command(
    context: &SpawnContext,
    request: &SpawnRequest,
    member: &MemberRequest,
    mode: PermissionMode,
) -> SpawnCommand {
    let mut command = SpawnCommand::new(request.name.as_str());
    command.prompt(Some(request.prompt.clone()), Some(&request.description));
    command.option("agent", member.agent_type.as_deref());
    let model = member.model.as_deref();
    command.option("model", Some(model.unwrap_or(&context.runtime.model)));
    command.option("effort", member.effort);
    command.option("mode", Some(mode));
    command.flag("plan", member.plan);
    command.flag("json", true);
    command
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
