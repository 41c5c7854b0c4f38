//! `swarm join`: how Claude Code takes part in a team.

use serde::Serialize;
use serde_json::json;
use swarm_os::Liveness;
use swarm_protocol::{MemberName, MemberState, TeamConfig, TeamName};
use swarm_store::{BlockOn as _, MemberView};
use swarm_supervisor::LeadStanding;

use crate::app::App;
use crate::failure::{Failure, Result};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Changes nothing. Claude Code joins as a member that swarm does not run; `swarm spawn NAME --runtime claude` starts one \
that swarm runs.

Examples:
  swarm join
  swarm join parser --as carl")]
pub(crate) struct JoinArgs {
    /// Team [default: as for `--team`].
    #[arg(value_name = "TEAM_NAME")]
    pub(crate) name: Option<String>,
    /// Name of the member.
    #[arg(long = "as", value_name = "NAME", default_value = "claude")]
    pub(crate) member: String,
}

/// One way to take part.
#[derive(Debug, Serialize)]
struct Way {
    what: String,
    /// Lines to paste into a shell.
    shell: Vec<String>,
    /// Text to type into Claude Code.
    prompt: Option<String>,
}

pub(super) fn run(app: &App, args: &JoinArgs) -> Result<()> {
    let team = app.named_team(args.name.as_deref())?;
    let name = MemberName::teammate(&args.member)?;
    let seen = team.view().block_on()?;
    let team = &seen.config.name;
    let swarm = own_command(app)?;
    let lead = seen.members.iter().find(|view| view.member.name.is_lead());
    let ways = match LeadStanding::of(&seen) {
        LeadStanding::Foreign(None) | LeadStanding::Lost(_) => {
            let message = format!("the lead of team {team} has exited");
            return Err(Failure::conflict(message)
                .with_hint(format!("`swarm resume {team}` takes the team over")));
        }
        _ if lead.is_some_and(is_of_claude_code) => in_a_team_of_claude_code(team, &swarm),
        standing => {
            let is_led = !matches!(standing, LeadStanding::ByHand);
            in_a_team_of_swarm(&seen.config, &name, is_led, &swarm)?
        }
    };
    app.out
        .result(&json!({"team": team, "ways": ways}), &text(&ways))
}

/// Returns whether a lead is a running process of another program.
fn is_of_claude_code(lead: &MemberView) -> bool {
    lead.liveness == Liveness::Alive && lead.state == MemberState::Foreign
}

/// Claude Code leads: its session must read its inbox.
fn in_a_team_of_claude_code(team: &TeamName, swarm: &str) -> Vec<Way> {
    vec![
        Way {
            what: format!(
                "Claude Code leads team {team}. It reads mail only after it has spawned a teammate. Type into that \
                 session:"
            ),
            shell: Vec::new(),
            prompt: Some(
                "Spawn a teammate with the name relay and the prompt \"Wait for instructions.\"".to_owned(),
            ),
        },
        Way {
            what: "Or let Claude Code lead teams with swarm's tools. They are available in sessions that start after \
                   this command:"
                .to_owned(),
            shell: vec![format!("claude mcp add swarm -- {swarm} mcp")],
            prompt: None,
        },
    ]
}

fn in_a_team_of_swarm(
    config: &TeamConfig,
    name: &MemberName,
    is_led: bool,
    swarm: &str,
) -> Result<Vec<Way>> {
    let team = &config.name;
    let member = config.member(name);
    if member.is_some_and(|member| member.swarm.is_some()) {
        let message = format!("{name} is run by swarm, which reads its inbox");
        return Err(Failure::conflict(message).with_hint("choose another name with `--as NAME`"));
    }
    let add = member
        .is_none()
        .then(|| format!("{swarm} team add {name} --external --team {team}"));
    let with_add = |line: String| add.iter().cloned().chain([line]).collect();
    let wait = |rest: &str| format!("Call wait_for_mail of the MCP server swarm {rest}");
    let mut ways = vec![
        Way {
            what: format!("Take part in team {team} as the member {name}, with swarm's tools:"),
            shell: with_add(format!(
                "claude mcp add swarm -- {swarm} mcp --team {team} --as {name}"
            )),
            prompt: Some(wait(
                "and do what the messages ask for. Repeat this until you are told to stop.",
            )),
        },
        Way {
            what: "Or as a teammate of Claude Code, which reads its inbox by itself; its questions appear in \
                   `swarm requests`:"
                .to_owned(),
            shell: with_add(format!(
                "CLAUDECODE=1 CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS=1 claude --agent-id {name}@{team} --agent-name \
                 {name} --team-name {team} --permission-mode default"
            )),
            prompt: None,
        },
    ];
    if !is_led {
        ways.push(Way {
            what: format!("Or lead team {team} from Claude Code:"),
            shell: vec![format!("claude mcp add swarm -- {swarm} mcp --team {team}")],
            prompt: Some(wait("whenever you have nothing else to do.")),
        });
    }
    Ok(ways)
}

/// Returns the command line of this program: its name if a shell finds it, else its path.
fn own_command(app: &App) -> Result<String> {
    let own = std::env::current_exe()?;
    let is_on_path = app
        .env
        .find_program("swarm")
        .and_then(|found| found.canonicalize().ok())
        .is_some_and(|found| Some(found) == own.canonicalize().ok());
    if is_on_path {
        return Ok("swarm".to_owned());
    }
    let own = own.display().to_string();
    let quoted = shlex::try_quote(&own).map(Into::into);
    Ok(quoted.unwrap_or(own.clone()))
}

fn text(ways: &[Way]) -> String {
    let mut lines = Vec::new();
    for way in ways {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.push(way.what.clone());
        lines.push(String::new());
        lines.extend(way.shell.iter().map(|line| format!("  {line}")));
        if let Some(prompt) = &way.prompt {
            if !way.shell.is_empty() {
                lines.push(String::new());
                lines.push("Then type into Claude Code:".to_owned());
                lines.push(String::new());
            }
            lines.push(format!("  {prompt}"));
        }
    }
    lines.join("\n")
}
