//! `swarm node drain`.

use std::process::ExitCode;

use serde_json::json;
use swarm_protocol::{ErrorKind, NodeName};
use swarm_store::BlockOn as _;

use crate::app::App;
use crate::commands::hub::HubArgs;
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Its members go on. The node leaves the hub when the last one has stopped.

Examples:
  swarm node drain box")]
pub(crate) struct NodeDrainArgs {
    /// Node.
    name: NodeName,
    #[command(flatten)]
    hub: HubArgs,
}

pub(super) fn run(app: &App, args: &NodeDrainArgs) -> Result<ExitCode, Failure> {
    let nodes = app.hubs.nodes(args.hub.or_of_team(app)?)?;
    let name = &args.name;
    if !nodes.drain(name).block_on()? {
        let message = format!("node {name} not found");
        let hint = "`swarm node list` shows the nodes";
        return Err(Failure::new(ErrorKind::NotFound, message).with_hint(hint));
    }
    if app.out.json {
        app.out
            .json(&json!({ "name": name, "state": "draining" }))?;
    } else {
        app.out.data(&format!("{name} takes no more members"))?;
    }
    Ok(ExitCode::SUCCESS)
}
