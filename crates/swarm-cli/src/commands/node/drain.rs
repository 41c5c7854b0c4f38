//! `swarm node drain`.

use std::process::ExitCode;

use serde_json::json;
use swarm_protocol::{ErrorKind, NodeName};
use swarm_store::BlockOn as _;
use swarm_supervisor::NodeState;

use crate::app::App;
use crate::commands::hub::{HUB_OF_NODES, HubArgs, hub_failure};
use crate::failure::{Failure, Result};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Its members continue. The node leaves the hub when the last one has stopped. A lost node is removed.

Examples:
  swarm node drain box")]
#[command(mut_arg("hub", |hub| hub.help(HUB_OF_NODES)))]
pub(crate) struct NodeDrainArgs {
    /// Node.
    name: NodeName,
    #[command(flatten)]
    hub: HubArgs,
}

pub(super) fn run(app: &App, args: &NodeDrainArgs) -> Result<ExitCode> {
    let hub = args.hub.or_of_team(app)?;
    let nodes = app.hubs.nodes(hub.clone())?;
    let name = &args.name;
    let known = nodes.nodes().block_on();
    let known = known.map_err(|error| hub_failure(error, Some(&hub)))?;
    let found = known.iter().find(|node| node.name == *name);
    let is_lost = found.is_some_and(|node| NodeState::of(node) == NodeState::Lost);
    let (state, text) = if is_lost {
        nodes.leave(name).block_on()?;
        ("removed", format!("{name} was lost and is removed"))
    } else if found.is_some() && nodes.drain(name).block_on()? {
        ("draining", format!("{name} takes no more members"))
    } else {
        let message = format!("node {name} not found");
        let hint = "`swarm node list` shows the nodes";
        return Err(Failure::new(ErrorKind::NotFound, message).with_hint(hint));
    };
    if app.out.json {
        app.out.json(&json!({ "name": name, "state": state }))?;
    } else {
        app.out.data(&text)?;
    }
    Ok(ExitCode::SUCCESS)
}
