//! `swarm team join`.

use swarm_protocol::TeamName;
use swarm_store::{BlockOn as _, StoreError};

use crate::app::App;
use crate::commands::hub::HubArgs;
use crate::config_directory;
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Afterwards the commands on this machine work on the same team as those on the machine that created it. `swarm join` is something \
else: it shows how Claude Code takes part in a team.

Examples:
  swarm team join parser --hub nats://build.example:4222 --credentials ~/hub")]
pub(crate) struct TeamJoinArgs {
    /// Name of the team on the hub.
    name: String,
    #[command(flatten)]
    hub: HubArgs,
}

pub(super) fn run(app: &App, args: &TeamJoinArgs) -> Result<(), Failure> {
    let name = TeamName::parse(&args.name)?;
    let hub = args.hub.required(app)?;
    config_directory::make(&app.root)?;
    let url = hub.url.clone();
    let config = match app.hubs.join_hub(&name, hub).block_on() {
        Err(error @ StoreError::NotOnHub { .. }) => {
            let hint =
                format!("check the name, or create it with `swarm team create {name} --hub {url}`");
            return Err(Failure::from(error).with_hint(hint));
        }
        joined => joined?,
    };
    app.out.result(&config, config.name.as_str())?;
    app.out
        .say(&format!("`swarm status --team {name}` shows its members"));
    Ok(())
}
