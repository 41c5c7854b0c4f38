//! Teammates with `isolation: remote`: a node of the team's hub spawns them.

use std::collections::BTreeMap;
use std::fmt::Display;

use parking_lot::Mutex;
use serde_json::Value;
use swarm_agent::{MemberRequest, SpawnRequest, Spawned};
use swarm_protocol::{
    AgentId, AgentProgram, MemberName, NodeName, OrderOutcome, PaneId, PermissionMode,
};
use swarm_store::{NodeView, Orders, Team};
use swarm_supervisor::{OrderWait, SpawnCommand, SpawnContext, choose_any, order_spawn};

/// The teammates that nodes are spawning. They are in no roster and no report yet.
#[derive(Debug, Default)]
pub(super) struct RemoteSpawns(Mutex<BTreeMap<MemberName, NodeName>>);

/// A spawn by a node. Until it is dropped, it holds the name of the teammate and a slot of the
/// node.
pub(super) struct RemoteSpawn<'a> {
    under_way: &'a RemoteSpawns,
    name: MemberName,
    orders: Orders,
    node: NodeView,
}

impl Drop for RemoteSpawn<'_> {
    fn drop(&mut self) {
        self.under_way.0.lock().remove(&self.name);
    }
}

impl RemoteSpawns {
    /// Refuses a name that an earlier call has given to a teammate. The error is for the model.
    pub(super) fn require_free(&self, name: &MemberName) -> Result<(), String> {
        if self.0.lock().contains_key(name) {
            let why = "an earlier call is spawning a teammate of this name".to_owned();
            return Err(not_spawned(name, &why));
        }
        Ok(())
    }

    /// Chooses the node with the most free slots for a teammate. The error is for the model.
    pub(super) async fn place(
        &self,
        team: &dyn Team,
        request: &SpawnRequest,
    ) -> Result<RemoteSpawn<'_>, String> {
        let name = &request.name;
        let orders = team.orders().ok_or_else(|| {
            let why = "the team is not on a hub, so there are no nodes. Leave `isolation` out";
            not_spawned(name, &why)
        })?;
        if request.cwd.is_some() {
            let why = "`cwd` is a directory of this machine, and the node works in a copy of the repository. Leave `cwd` out";
            return Err(not_spawned(name, &why));
        }
        let nodes = orders.nodes().nodes().await;
        let mut nodes = nodes.map_err(|error| not_spawned(name, &error))?;
        let mut under_way = self.0.lock();
        for (other, on) in under_way.iter() {
            let id = AgentId::new(other.clone(), team.name().clone());
            let node = nodes.iter_mut().find(|node| node.name == *on);
            if let Some(node) = node.filter(|node| !node.report.members.contains(&id)) {
                node.report.members.push(id);
            }
        }
        let node = choose_any(&nodes).map_err(|error| not_spawned(name, &error))?;
        under_way.insert(name.clone(), node.name.clone());
        Ok(RemoteSpawn {
            under_way: self,
            name: name.clone(),
            orders,
            node: node.clone(),
        })
    }
}

impl RemoteSpawn<'_> {
    /// Lets the node spawn the teammate, and waits for it. The error is for the model.
    pub(super) async fn carry_out(
        self,
        context: &SpawnContext,
        team: &dyn Team,
        request: &SpawnRequest,
        member: &MemberRequest,
        mode: PermissionMode,
    ) -> Result<Spawned, String> {
        let wait = OrderWait::of(context.hello_deadline, request.cancel.clone());
        let command = command(request, member, mode, &context.runtime.model);
        let at = (&context.worktrees, context.workspace.cwd.as_path());
        let on = (team, &self.orders, &self.node);
        let done = order_spawn(on, at, command, &wait).await;
        let outcome = done.map_err(|error| not_spawned(&self.name, &error))?;
        let id = AgentId::new(self.name.clone(), team.name().clone());
        read(&outcome, &self.node, id)
    }
}

fn not_spawned(name: &MemberName, why: &dyn Display) -> String {
    format!("{name} was not spawned: {why}")
}

/// Returns the command for the node. The mode and swarm's model are always named, because the
/// node's defaults are not those of the lead.
fn command(
    request: &SpawnRequest,
    member: &MemberRequest,
    mode: PermissionMode,
    lead_model: &str,
) -> SpawnCommand {
    let mut command = SpawnCommand::new(request.name.clone());
    command.prompt(Some(request.prompt.clone()), Some(&request.description));
    // Another agent program has its own models.
    let is_swarm = member.runtime.as_ref().is_none_or(AgentProgram::is_swarm);
    let default = is_swarm.then(|| lead_model.to_owned());
    command.member(&MemberRequest {
        model: member.model.clone().or(default),
        mode: Some(mode),
        ..member.clone()
    });
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
    use std::sync::Arc;

    use swarm_protocol::{LifeKind, LifeRecord, NodeReport, SpawnId, SystemClock, UnixMs};
    use swarm_store::{BlockOn as _, MemoryStore, NewTeam, TeamStore as _};
    use tokio_util::sync::CancellationToken;

    use super::*;

    fn request(name: &str, member: MemberRequest) -> SpawnRequest {
        SpawnRequest {
            name: MemberName::parse(name).unwrap(),
            member,
            prompt: "sing".to_owned(),
            description: "sings".to_owned(),
            cwd: None,
            isolation: None,
            team: None,
            cancel: CancellationToken::new(),
        }
    }

    #[test]
    fn a_member_of_another_agent_program_keeps_it_and_is_not_given_the_leads_model() {
        let words = |runtime: Option<&str>| {
            let member = MemberRequest {
                runtime: runtime.map(|runtime| runtime.parse().unwrap()),
                ..MemberRequest::default()
            };
            let request = request("bob", member.clone());
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

    #[test]
    fn a_spawn_holds_its_name_and_a_slot_until_it_is_over() {
        let scratch = tempfile::tempdir().unwrap();
        let store = MemoryStore::new(scratch.path().to_owned(), Arc::new(SystemClock));
        let new = NewTeam::new("crew".parse().unwrap(), "/work", "test");
        store.create_team(new).block_on().unwrap();
        let team = store.team(&"crew".parse().unwrap());
        let orders = team.orders().unwrap();
        let _leases = ["a", "b"].map(|name| {
            let report = NodeReport {
                host: "here".to_owned(),
                version: "1".to_owned(),
                slots: 1,
                labels: <_>::default(),
                clock_ahead_ms: 0,
                since: UnixMs(1),
                members: Vec::new(),
                shell: None,
                known_commits: Vec::new(),
            };
            let process = LifeRecord::new(LifeKind::Process, 1, "1", SpawnId::random());
            let name = name.parse().unwrap();
            let joined = orders.nodes().join(&name, report, &process);
            joined.block_on().unwrap()
        });
        let spawns = RemoteSpawns::default();
        let request = |name| request(name, MemberRequest::default());
        let (bob, carl, dan) = (request("bob"), request("carl"), request("dan"));
        let place = |request| spawns.place(&*team, request).block_on();
        let first = place(&bob).unwrap();
        let second = place(&carl).unwrap();
        assert_ne!(first.node.name, second.node.name);
        let full = place(&dan).map(drop).unwrap_err();
        assert!(full.contains("a (all 1 slots in use), b (all 1"), "{full}");
        let taken = spawns.require_free(&bob.name).unwrap_err();
        assert!(taken.contains("an earlier call is spawning"), "{taken}");
        drop(first);
        spawns.require_free(&bob.name).unwrap();
        place(&dan).unwrap();
    }
}
