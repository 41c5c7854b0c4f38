//! `swarm mcp`.

use std::os::fd::AsFd;
use std::sync::Arc;

use parking_lot::Mutex;
use swarm_mcp::{ServedTools, serve_tools};
use swarm_protocol::{MemberName, PermissionMode};

use super::service::CommandService;
use super::shown::ShownMail;
use super::tools::{ClientRole, TOOLS};
use crate::app::App;
use crate::commands::{members, runtime};
use crate::failure::{Failure, Result};
use crate::identity::Acting;
use crate::own_process::VERSION;
use swarm_store::BlockOn as _;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
An MCP client starts this command and talks to it over standard input and output. The tools send messages, wait for mail, \
manage tasks and, for a lead, spawn and shut down members. They run swarm's commands and cannot answer requests: \
`swarm approve` and `swarm deny` are for people.

Examples:
  swarm mcp                            lead teams
  swarm mcp --team parser --as carl    take part as the member carl")]
pub(crate) struct McpArgs {
    /// Act as this member, which joined with `swarm team add` [default: the calling member, else the lead].
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) member: Option<MemberName>,
    /// Highest permission mode of members that the client spawns.
    #[arg(long, value_name = "MODE", default_value_t)]
    pub(crate) mode: PermissionMode,
}

pub(in crate::commands) fn run(app: &App, args: &McpArgs) -> Result<()> {
    let role = role(app, args)?;
    let offered = TOOLS.iter().filter(|tool| tool.is_for(&role));
    let served = ServedTools {
        version: VERSION.to_owned(),
        instructions: instructions(&role),
        tools: offered.map(super::tools::TeamTool::spec).collect(),
        service: Arc::new(CommandService {
            program: std::env::current_exe()?,
            role,
            ceiling: args.mode,
            scan: app.settings.handoff,
            clock: Arc::clone(&app.clock),
            shown: ShownMail::default(),
            team: Mutex::new(app.asked_team()?.map(|team| team.to_string())),
        }),
    };
    let runtime = runtime()?;
    let done = runtime.block_on(serve_tools(
        served,
        stream(std::io::stdin())?,
        stream(std::io::stdout())?,
    ));
    // A read of standard input cannot be cancelled.
    runtime.shutdown_background();
    done.map_err(|error| Failure::environment(error.to_string()))
}

/// Returns a standard stream for asynchronous use.
fn stream(standard: impl AsFd) -> std::io::Result<tokio::fs::File> {
    let stream = standard.as_fd().try_clone_to_owned()?;
    Ok(tokio::fs::File::from_std(stream.into()))
}

/// Returns for whom the client acts.
fn role(app: &App, args: &McpArgs) -> Result<ClientRole> {
    let acting = app.acting()?;
    let Some(name) = &args.member else {
        return Ok(match acting {
            Acting::Member { .. } => ClientRole::Member,
            _ => ClientRole::Lead,
        });
    };
    if let Acting::Member { name: own, .. } = &acting {
        if own == name {
            return Ok(ClientRole::Member);
        }
        acting.require_person(&format!("mcp --as {name}"))?;
    }
    if name.is_lead() {
        return Ok(ClientRole::Lead);
    }
    let config = app.team()?.config().block_on()?;
    let member = members::known(&config, name)?;
    if member.swarm.is_some() {
        let message = format!("{name} is run by swarm, which reads its inbox");
        return Err(Failure::conflict(message).with_hint(
            "add another member with `swarm team add NAME --external`, then use `--as NAME`",
        ));
    }
    Ok(ClientRole::External(name.clone()))
}

fn instructions(role: &ClientRole) -> String {
    match role {
        ClientRole::Lead => "Tools to lead a team of coding agents that run in their own processes. Create a team, create tasks, spawn members with complete prompts, and call wait_for_mail: members report when their turn ends. Requests for permission are answered by the person, never by you.",
        ClientRole::Member => "Tools of your agent team: send messages to other members and work on the shared tasks. Your mail arrives as prompts.",
        ClientRole::External(_) => "Tools of your agent team: send messages, read your inbox, and work on the shared tasks. Call wait_for_mail when you have nothing to do.",
    }
    .to_owned()
}
