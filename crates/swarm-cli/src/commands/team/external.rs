//! `swarm team add` and `swarm team remove`: members that other programs run.

use std::path::PathBuf;

use serde_json::json;
use swarm_protocol::MemberName;
use swarm_store::BlockOn as _;
use swarm_ui::print::counted;

use crate::app::App;
use crate::commands::members;
use crate::failure::{Failure, Result};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The member appears in `swarm status`, gets messages and tasks, and its requests are in `swarm requests`. It takes part with \
`swarm mcp --as NAME`, or as Claude Code with the flags of a teammate.

Examples:
  swarm team add carl --external
  swarm team add carl --external --cwd ../docs")]
pub(crate) struct TeamAddArgs {
    /// Name: letters, digits, `_` and `-`, starting with a letter or digit.
    pub(crate) name: String,
    /// Confirm that another program runs the member; `swarm spawn` starts members itself.
    #[arg(long, required = true)]
    pub(crate) external: bool,
    /// Working directory [default: the current directory].
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
}

pub(super) fn add(app: &App, args: &TeamAddArgs) -> Result<()> {
    let name = MemberName::teammate(&args.name)?;
    let team = app.team_to_change()?;
    let cwd = args.cwd.as_ref();
    let cwd = cwd.map_or_else(|| app.env.cwd.clone(), |cwd| app.env.cwd.join(cwd));
    let member = team.add_external(&name, &cwd).block_on()?;
    let team = team.name();
    app.out
        .result(&member, &format!("{name}@{team} is a member"))?;
    app.out.say(&format!(
        "an MCP client takes part as {name} with `swarm mcp --team {team} --as {name}`"
    ));
    Ok(())
}

pub(super) fn remove(app: &App, name: &MemberName) -> Result<()> {
    let team = app.team_to_change()?;
    let member = members::known(&team.config().block_on()?, name)?.clone();
    if name.is_lead() || member.swarm.is_some() {
        let message = format!("{name} is not a member of another program");
        return Err(Failure::refused(message)
            .with_hint("stop members that swarm runs with `swarm shutdown` or `swarm kill`"));
    }
    let removed = team.remove_member(name, None).block_on()?;
    let released = removed.map(|removed| removed.released).unwrap_or_default();
    let tasks = match released.len() {
        0 => String::new(),
        count => format!("; released {}", counted(count as u64, "task")),
    };
    app.out.result(
        &json!({"member": name, "released": released}),
        &format!("{name} is removed from {}{tasks}", team.name()),
    )?;
    app.out.warn(&format!(
        "swarm: the process of {name} was not stopped: if it still runs, stop it in its own program"
    ));
    Ok(())
}
