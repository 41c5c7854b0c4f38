//! `swarm mode` and `swarm allow`: change permissions of running members.

use std::time::{Duration, Instant};

use serde_json::json;
use swarm_permissions::Rule;
use swarm_protocol::{MemberName, PermissionMode};
use swarm_store::{BlockOn as _, Team, Topic};

use super::acting::team_to_answer;
use super::members::{is_over, known};
use super::requests::person;
use super::watch::Watch;
use crate::app::App;
use crate::failure::{Failure, Result};

/// Timeout for a member that can read its mail to confirm a change.
const PROMPTLY: Duration = Duration::from_secs(10);

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The mode applies from the member's next tool call. It is never above the member's ceiling, which `swarm permissions NAME` \
shows.

Examples:
  swarm mode alice acceptEdits
  swarm mode bob plan")]
pub(crate) struct ModeArgs {
    /// Member.
    pub(crate) name: MemberName,
    /// Permission mode: plan, dontAsk, default, acceptEdits or bypassPermissions.
    pub(crate) mode: PermissionMode,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The rule applies immediately to every member of the team, including members started later.

Examples:
  swarm allow \"Bash(cargo test:*)\"
  swarm allow \"Edit(//srv/docs/**)\" --team parser
  swarm allow --remove \"Bash(cargo test:*)\"")]
pub(crate) struct AllowArgs {
    /// Permission rule, as in `permissions.allow` of settings.json.
    pub(crate) rule: String,
    /// Remove this rule of the team.
    #[arg(long)]
    pub(crate) remove: bool,
}

/// Sets a member's mode and waits for the member's confirmation.
pub(super) fn mode(app: &App, args: &ModeArgs) -> Result<()> {
    let team = team_to_answer(app, "mode")?;
    let (name, mode) = (&args.name, args.mode);
    known(&team.config().block_on()?, name)?;
    if name.is_lead() {
        let message = "the mode of a lead cannot be changed by this command";
        return Err(Failure::usage(message).with_hint("start it with `--mode`"));
    }
    let views = team.member_view().block_on()?;
    let view = views.iter().find(|view| view.member.name == *name);
    let Some(view) = view.filter(|view| !is_over(view.state)) else {
        let message = format!("{name} is not running");
        return Err(Failure::conflict(message)
            .with_hint(format!("`swarm spawn {name} --mode {mode}` restarts it")));
    };
    let is_ours = view.member.swarm.is_some();
    if is_ours {
        refuse_above_ceiling(&*team, name, mode)?;
    }
    let mut watch = Watch::new()?;
    watch.topic(&*team, Topic::Rights(name.clone()));
    swarm_team::request_mode(&*team, name, mode, person(app, &*team)).block_on()?;
    let end = Instant::now() + PROMPTLY;
    while is_ours && !obeyed(&*team, name, mode)? {
        if !watch.wait(Some(end)) {
            let message = format!(
                "{name} has not switched to mode {mode} yet; it does when it reads its mail"
            );
            return Err(Failure::timed_out(message)
                .with_hint(format!("`swarm permissions {name}` shows its mode")));
        }
    }
    show_mode(app, name, mode, is_ours)
}

fn show_mode(app: &App, name: &MemberName, mode: PermissionMode, confirmed: bool) -> Result<()> {
    let text = if confirmed {
        format!("{name} is in mode {mode}")
    } else {
        format!("{name} (another program) was asked to switch to mode {mode}")
    };
    let document = json!({"member": name, "mode": mode, "confirmed": confirmed});
    app.out.result(&document, &text)
}

fn refuse_above_ceiling(files: &dyn Team, name: &MemberName, mode: PermissionMode) -> Result<()> {
    let Some(rights) = files
        .rights(name)
        .block_on()?
        .filter(|rights| !rights.ceiling.covers(mode))
    else {
        return Ok(());
    };
    let message = format!(
        "mode {mode} is above the ceiling of {name}, {}",
        rights.ceiling
    );
    Err(Failure::refused(message).with_hint(format!(
        "restart it with `swarm spawn {name} --replace --mode {mode}`"
    )))
}

fn obeyed(files: &dyn Team, name: &MemberName, mode: PermissionMode) -> Result<bool> {
    Ok(files
        .rights(name)
        .block_on()?
        .is_some_and(|rights| rights.mode == mode))
}

/// Adds a rule for all members of the team.
pub(super) fn allow(app: &App, args: &AllowArgs) -> Result<()> {
    let team = team_to_answer(app, "allow")?;
    let rule = Rule::parse(&args.rule).map_err(|error| Failure::usage(error.to_string()))?;
    if args.remove {
        return disallow(app, &*team, &rule);
    }
    if rule.tool() == "*" {
        return Err(Failure::usage("`*` is not a rule: name the tool"));
    }
    if let Some(meant) = rule.suggested_tool() {
        let message = format!("tool `{}` not found", rule.tool().escape_debug());
        return Err(Failure::usage(message).with_hint(format!("did you mean `{meant}`?")));
    }
    swarm_team::allow_for_team(&*team, &rule, person(app, &*team)).block_on()?;
    let team = team.name();
    app.out.result(
        &json!({"team": team, "rule": rule.to_string()}),
        &format!("allowed for all members of {team}: {rule}"),
    )
}

/// Removes a rule that was added for all members of the team.
fn disallow(app: &App, team: &dyn Team, rule: &Rule) -> Result<()> {
    let name = team.name();
    if !swarm_team::disallow_for_team(team, rule, person(app, team)).block_on()? {
        let message = format!("team {name} has no rule `{rule}`");
        return Err(Failure::not_found(message)
            .with_hint("`swarm permissions NAME` shows a member's rules and their sources"));
    }
    app.out.result(
        &json!({"team": name, "rule": rule.to_string(), "removed": true}),
        &format!("no longer allowed for all members of {name}: {rule}"),
    )
}
