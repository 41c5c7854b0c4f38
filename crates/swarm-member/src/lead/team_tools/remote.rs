//! Teammates with `isolation: remote`: a node of the team's hub spawns them.

use serde_json::Value;
use swarm_agent::{MemberRequest, SpawnRequest, Spawned};
use swarm_protocol::{AgentId, AgentProgram, OrderOutcome, PaneId, PermissionMode};
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
    let command = command(request, member, mode, &context.runtime.model);
    let at = (&context.worktrees, context.workspace.cwd.as_path());
    let on = (team, &orders, node);
    let done = order_in_repository(on, at, |inside| command.order(inside), &wait).await;
    let outcome = done.map_err(|error| failed(error.to_string()))?;
    let id = AgentId::new(name.clone(), team.name().clone());
    read(&outcome, node, id)
}

/// Returns the command for the node. The mode and swarm's model are always named, because the node's
/// defaults are not those of the lead.
fn command(
    request: &SpawnRequest,
    member: &MemberRequest,
    mode: PermissionMode,
    lead_model: &str,
) -> SpawnCommand {
    let mut command = SpawnCommand::new(request.name.as_str());
    command.prompt(Some(request.prompt.clone()), Some(&request.description));
    command.option("agent", member.agent_type.as_deref());
    let runtime = member.runtime.as_ref();
    command.option("runtime", runtime);
    // Another agent program has its own models.
    let default = runtime
        .is_none_or(AgentProgram::is_swarm)
        .then_some(lead_model);
    command.option("model", member.model.as_deref().or(default));
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

#[cfg(test)]
mod tests {
    use swarm_protocol::MemberName;
    use tokio_util::sync::CancellationToken;

    use super::*;

    #[test]
    fn a_member_of_another_agent_program_keeps_it_and_is_not_given_the_leads_model() {
        let words = |runtime: Option<&str>| {
            let member = MemberRequest {
                runtime: runtime.map(|runtime| runtime.parse().unwrap()),
                ..MemberRequest::default()
            };
            let request = SpawnRequest {
                name: MemberName::parse("bob").unwrap(),
                member: member.clone(),
                prompt: "sing".to_owned(),
                description: "sings".to_owned(),
                cwd: None,
                isolation: None,
                team: None,
                cancel: CancellationToken::new(),
            };
            let command = command(&request, &member, PermissionMode::Default, "fake/lead");
            command.order(false).words
        };
        let own = words(None);
        assert!(own.contains(&"--model=fake/lead".to_owned()), "{own:?}");
        let other = words(Some("claude"));
        assert!(other.contains(&"--runtime=claude".to_owned()), "{other:?}");
        let has_model = other.iter().any(|word| word.starts_with("--model"));
        assert!(!has_model, "{other:?}");
    }
}
