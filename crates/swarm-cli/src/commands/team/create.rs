//! `swarm team create`.

use serde_json::json;
use swarm_protocol::{Budget, BudgetScope, PERSON, TeamName};
use swarm_store::{BlockOn as _, NewTeam, StoreError};
use swarm_supervisor::{LeadStanding, lead_standing};

use super::list::state_in;
use crate::app::App;
use crate::commands::hub::HubArgs;
use crate::config_directory;
use crate::failure::Failure;

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

pub(super) fn run(app: &App, args: TeamCreateArgs) -> Result<(), Failure> {
    let name = TeamName::parse(&args.name)?;
    config_directory::make(&app.root)?;
    let new = NewTeam {
        name,
        description: args.description,
        lead_session_id: None,
        lead_process: None,
        cwd: app.env.cwd.clone(),
        lead_model: None,
        created_by: PERSON.to_owned(),
    };
    let made = match args.hub.wanted(app)? {
        Some(hub) => app.hubs.create_on_hub(new, hub).block_on(),
        None => app.store.create_team(new).block_on(),
    };
    let config = match made {
        Err(StoreError::TeamExists { team, state }) => {
            let hint = how_to_use(app, &team);
            return Err(Failure::from(StoreError::TeamExists { team, state }).with_hint(hint));
        }
        made => made?,
    };
    if let Some(budget) = args.budget {
        let team = app.store.team(&config.name);
        team.set_budget(&BudgetScope::Team, budget).block_on()?;
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
        Ok(LeadStanding::Lost { .. }) => format!("take it over with `swarm resume {team}`, "),
        Ok(LeadStanding::Led { .. } | LeadStanding::Unknown { .. }) => {
            return "a lead is running in it: choose another name".to_owned();
        }
        Ok(LeadStanding::Foreign { .. }) => {
            return "another program created it: choose another name".to_owned();
        }
        Err(_) => String::new(),
    };
    format!("{first}choose another name, or delete it with `swarm team delete {team} --force`")
}
