//! `swarm node join`.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use swarm_os::{InheritableLock, OsError};
use swarm_protocol::{
    ErrorKind, NodeLabel, NodeName, NodeReport, NodeShell, SshDestination, TeamName,
};
use swarm_store::StoreError;

use super::machine::Node;
use super::serve::serve;
use crate::app::App;
use crate::commands::hub::{HubFiles, hub_failure};
use crate::commands::runtime;
use crate::config_directory;
use crate::failure::{Failure, Result};
use crate::own_process::{VERSION, identity};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Runs until Ctrl-C. `swarm spawn NAME --on NODE` then starts members here: with the settings, keys and agent definitions of \
this machine, and in the current directory. Anyone with a team's credentials for the hub can start them.

The first Ctrl-C drains the node: it takes no more members and ends with the last one. The second pauses them and ends.

Examples:
  swarm node join nats://build.example:4222 --credentials ~/hub
  swarm node join --name box --slots 4 --label gpu --ssh alice@box.example")]
pub(crate) struct NodeJoinArgs {
    /// Hub, as nats://HOST:PORT or tls://HOST:PORT [default: setting `hub.url`].
    #[arg(value_name = "URL")]
    url: Option<String>,
    #[command(flatten)]
    files: HubFiles,
    /// Name of the node [default: the host name].
    #[arg(long)]
    name: Option<NodeName>,
    /// Maximum number of members [default: number of cores].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    slots: Option<u32>,
    /// Label by which `swarm spawn --on` finds it; repeatable.
    #[arg(long = "label", value_name = "LABEL")]
    labels: Vec<NodeLabel>,
    /// Where others reach this machine with ssh, for `swarm attach` and `swarm logs --follow`.
    #[arg(long, value_name = "[USER@]HOST")]
    ssh: Option<SshDestination>,
}

pub(super) fn run(app: &App, args: &NodeJoinArgs) -> Result<ExitCode> {
    let hub = args
        .files
        .hub_at(app, args.url.as_deref().unwrap_or_default())?;
    config_directory::make(&app.root)?;
    let _alone = lock(&app.root, &hub.url)?;
    let own = identity();
    let name = match &args.name {
        Some(name) => name.clone(),
        None => named_after(&own.host)?,
    };
    let slots = args.slots.unwrap_or_else(cores);
    let nodes = app.hubs.nodes(hub.clone())?;
    let program = std::env::current_exe()?;
    let holder = own.holder();
    let node = Node::new(app, hub.clone(), nodes, name, holder, slots, program);
    let runtime = runtime()?;
    let served = runtime.block_on(async {
        let report = NodeReport {
            host: own.host,
            version: VERSION.to_owned(),
            slots,
            labels: args.labels.iter().cloned().collect(),
            clock_ahead_ms: 0,
            since: app.clock.now(),
            members: Vec::new(),
            shell: Some(NodeShell {
                ssh: args.ssh.clone(),
                program: node.program.clone(),
                root: app.root.clone(),
            }),
            known_commits: Vec::new(),
        };
        let joined = node.join(report).await;
        let (mut report, lease) = joined.map_err(|error| hub_failure(error, Some(&hub)))?;
        // The space of the nodes exists only now.
        let seen = app.hubs.hub_report(&TeamName::nodes(), hub).await?;
        report.clock_ahead_ms = seen.clock_ahead_ms.unwrap_or_default();
        serve(&node, report, lease).await
    });
    runtime.shutdown_background();
    served.map(|()| ExitCode::SUCCESS)
}

/// Locks a config directory for the node of a hub: two nodes would report the same members.
fn lock(root: &Path, url: &str) -> Result<InheritableLock> {
    let directory = root.join("swarm").join("node");
    swarm_os::ensure_private_dir(&directory).map_err(StoreError::from)?;
    let hub = url.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
    match InheritableLock::take(&directory.join(format!("{hub}.lock")), Duration::ZERO) {
        Ok(lock) => Ok(lock),
        Err(OsError::LockTimeout { holder, .. }) => {
            let place = root.display();
            let message = format!("a node of {url} already runs in {place}: {holder}");
            let hint = "use it, or stop it first; a second node needs another config directory";
            Err(Failure::conflict(message).with_hint(hint))
        }
        Err(error) => Err(StoreError::from(error).into()),
    }
}

/// Returns the name of the node on a host: the first part of the host's name.
fn named_after(host: &str) -> Result<NodeName> {
    let first = host.split('.').next().unwrap_or_default();
    NodeName::parse(first).map_err(|error| {
        Failure::new(ErrorKind::Usage, error.to_string()).with_hint("name the node with `--name`")
    })
}

fn cores() -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    u32::try_from(cores).unwrap_or(u32::MAX)
}
