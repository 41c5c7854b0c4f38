//! `swarm team create` and `swarm team join`.

use serde_json::json;
use swarm_protocol::{Budget, BudgetScope, PERSON, TeamName};
use swarm_store::{BlockOn as _, HubSettings, NewTeam, StoreError};
use swarm_supervisor::{LeadStanding, lead_standing};

use super::list::state_in;
use crate::app::App;
use crate::commands::hub::{HubArgs, hub_failure};
use crate::config_directory;
use crate::failure::{Failure, Result};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  swarm team create parser --description \"The date parser\"
  swarm team create parser --hub nats://build.example:4222 --credentials ~/hub")]
pub(crate) struct TeamCreateArgs {
    /// Name: letters, digits, `_` and `-`, starting with a letter or digit.
    pub(crate) name: String,
    /// Purpose of the team, shown in lists and to members.
    #[arg(long)]
    pub(crate) description: Option<String>,
    /// Budget of all members together, such as 5$ or 500k-tokens [default: setting `budget.team`].
    #[arg(long, value_name = "AMOUNT")]
    pub(crate) budget: Option<Budget>,
    #[command(flatten)]
    pub(crate) hub: HubArgs,
}

pub(super) fn run(app: &App, args: TeamCreateArgs) -> Result<()> {
    let name = TeamName::parse(&args.name)?;
    config_directory::make(&app.root)?;
    let new = NewTeam {
        description: args.description,
        ..NewTeam::new(name, &app.env.cwd, PERSON)
    };
    let app = &args.hub.applied(app)?;
    let config = match app.store.create_team(new).block_on() {
        Err(StoreError::TeamExists { team, state }) => {
            let hint = how_to_use(app, &team);
            return Err(Failure::from(StoreError::TeamExists { team, state }).with_hint(hint));
        }
        Err(
            error @ StoreError::TeamOnHub {
                is_joined: false, ..
            },
        ) => {
            let hub = args.hub.repeated();
            let hint = format!(
                "add this machine to it with `swarm team join {} {hub}`, or choose another name",
                args.name
            );
            return Err(Failure::from(error).with_hint(hint));
        }
        Err(error) => return Err(hub_failure(error, app.hubs.new_teams_on())),
        Ok(made) => made,
    };
    if let Some(budget) = args.budget {
        let team = app.store.team(&config.name);
        team.set_budget(&BudgetScope::Team, Some(budget))
            .block_on()?;
    }
    if app.out.json {
        let mut record = serde_json::to_value(&config)?;
        record["state"] = json!(state_in(&app.store.team(&config.name).view().block_on()?));
        return app.out.json(&record);
    }
    app.out.data(config.name.as_str())?;
    app.out
        .say("start teammates with `swarm spawn NAME`, give them work with `swarm task create`");
    Ok(())
}

/// Suggests what to do with an existing team.
fn how_to_use(app: &App, team: &TeamName) -> String {
    let config = app.store.team(team).config().block_on();
    let standing = config.and_then(|config| lead_standing(&*app.store, &config));
    let first = match standing {
        Ok(LeadStanding::ByHand) => format!("use it with `--team {team}`, "),
        Ok(LeadStanding::Lost(_)) => format!("take it over with `swarm resume {team}`, "),
        Ok(LeadStanding::Led(_) | LeadStanding::Unknown(_)) => {
            return "a lead is running in it: choose another name".to_owned();
        }
        Ok(LeadStanding::Foreign(_)) => {
            return "another program created it: choose another name".to_owned();
        }
        Err(_) => String::new(),
    };
    format!("{first}choose another name, or delete it with `swarm team delete {team} --force`")
}

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

/// Returns the failure for a team that the hub does not have, although this machine may know it.
fn not_there(
    error: StoreError,
    args: &TeamJoinArgs,
    name: &TeamName,
    hub: &HubSettings,
    known: Option<&HubSettings>,
) -> Failure {
    let hint = match known {
        // Creating it would fail.
        Some(known) if known.url == hub.url => return error.into(),
        Some(known) => format!("check the URL: this machine knows {name} on {}", known.url),
        None => format!(
            "check the name, or create it with `swarm team create {name} {}`",
            args.hub.repeated()
        ),
    };
    Failure::from(error).with_hint(hint)
}

pub(super) fn join(app: &App, args: &TeamJoinArgs) -> Result<()> {
    let name = TeamName::parse(&args.name)?;
    let hub = args.hub.required(app)?;
    config_directory::make(&app.root)?;
    // A damaged record is written again.
    let known = app.hubs.hub_of(&name).ok().flatten();
    let config = match app.hubs.join_hub(&name, hub.clone()).block_on() {
        Err(error @ StoreError::NotOnHub { .. }) => {
            return Err(not_there(error, args, &name, &hub, known.as_ref()));
        }
        joined => joined.map_err(|error| hub_failure(error, Some(&hub)))?,
    };
    app.out.result(&config, config.name.as_str())?;
    let done = match known {
        Some(known) if known == hub => "this machine has joined it already; ",
        Some(_) => "this machine had joined it before; its hub settings are updated; ",
        None => "",
    };
    app.out.say(&format!(
        "{done}`swarm status --team {name}` shows its members"
    ));
    Ok(())
}
