//! `swarm attach`.

use std::ffi::OsString;
use std::io::{self, IsTerminal as _};

use serde_json::json;
use swarm_panes::{BackendKind, PaneStatus, backend_kind};
use swarm_protocol::{Member, MemberName, TeamConfig};
use swarm_store::{BlockOn as _, Team};

use super::become_command::become_command;
use super::output;
use super::place::pane_of;
use crate::app::App;
use crate::commands::node::Elsewhere;
use crate::commands::{members, runtime};
use crate::failure::{Failure, Result};
use crate::output::quoted;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  swarm attach          the first pane, or the output of a detached run
  swarm attach alice")]
pub(crate) struct AttachArgs {
    /// Member whose pane is shown [default: the first with a pane, else the lead of a detached run].
    pub(crate) name: Option<MemberName>,
}

pub(in crate::commands) fn run(app: &App, args: &AttachArgs) -> Result<()> {
    let team = app.team()?;
    let config = team.config().block_on()?;
    let (member, words) = match &args.name {
        Some(name) => {
            let member = members::known(&config, name)?;
            refuse_without_terminal(member)?;
            let words = match Elsewhere::of(&*team, name)? {
                Some(elsewhere) => {
                    elsewhere.over_ssh(team.name(), name, &["attach", name.as_str()])?
                }
                None => command(app, &*team, member)?,
            };
            (member, words)
        }
        None => match (
            best_to_see(app, &*team, &config),
            config.member(&MemberName::lead()),
        ) {
            (Err(_), Some(lead)) if output::path(app, &*team, &lead.name).is_ok() => {
                (lead, command(app, &*team, lead)?)
            }
            (found, _) => found?,
        },
    };
    if app.out.json {
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        return app
            .out
            .json(&json!({ "name": member.name, "command": words }));
    }
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(
            Failure::environment("a pane can only be shown in a terminal")
                .with_hint(format!("run this in one: {}", typed(&words))),
        );
    }
    if member.name.is_lead() {
        app.out
            .say("following the lead of a detached run; Ctrl-C stops following, the run continues");
    }
    become_command(&words)
}

fn refuse_without_terminal(member: &Member) -> Result<()> {
    let kind = member.backend_type.as_ref().and_then(backend_kind);
    let Some(kind) = kind.filter(|kind| !kind.has_panes()) else {
        return Ok(());
    };
    let name = &member.name;
    let message = format!("{name} has no pane: it runs {}", kind.backend().name());
    Err(Failure::environment(message).with_hint(format!(
        "`swarm logs {} --follow` shows its output",
        member.name
    )))
}

/// Selects any running member with a pane: its window shows the others. One on this machine comes
/// first, a stopped one last.
fn best_to_see<'a>(
    app: &App,
    team: &dyn Team,
    config: &'a TeamConfig,
) -> Result<(&'a Member, Vec<OsString>)> {
    let in_panes = config.teammates().filter(|member| {
        member.swarm.is_some()
            && (member.backend_type.as_ref().and_then(backend_kind))
                .is_some_and(BackendKind::has_panes)
            && !member.tmux_pane_id.is_none()
    });
    let mut runs_elsewhere = None;
    let mut second_best = None;
    let mut trouble = None;
    for member in in_panes {
        if let Some(elsewhere) = Elsewhere::of(team, &member.name)? {
            let words = ["attach", member.name.as_str()];
            match elsewhere.over_ssh(team.name(), &member.name, &words) {
                Ok(words) if elsewhere.has_ended => {
                    second_best = second_best.or(Some((member, words)));
                }
                Ok(words) => runs_elsewhere = runs_elsewhere.or(Some((member, words))),
                Err(failure) => trouble = trouble.or(Some(failure)),
            }
            continue;
        }
        match inspect(app, member) {
            Ok((PaneStatus::Running { .. }, words)) if !words.is_empty() => {
                return Ok((member, words));
            }
            Ok((PaneStatus::Gone, _)) => {}
            Ok((_, words)) if !words.is_empty() && second_best.is_none() => {
                second_best = Some((member, words));
            }
            Ok(_) => {}
            Err(failure) => trouble = trouble.or(Some(failure)),
        }
    }
    if let Some(found) = runs_elsewhere.or(second_best) {
        return Ok(found);
    }
    Err(trouble.unwrap_or_else(|| {
        let message = format!("no member of {} has a pane", config.name);
        Failure::not_found(message)
            .with_hint("`swarm status` lists the members; start one with `swarm spawn NAME`")
    }))
}

/// Returns the backend of a member's pane and the command that shows it.
fn inspect(app: &App, member: &Member) -> Result<(PaneStatus, Vec<OsString>)> {
    let (backend, pane) = pane_of(app, member)?;
    let (status, words) = runtime()?.block_on(async {
        let status = backend.status(&pane).await;
        (status, backend.attach_command(&pane).await)
    });
    Ok((status?, words))
}

/// Returns the command that shows a member. The output of a detached run is followed.
fn command(app: &App, team: &dyn Team, member: &Member) -> Result<Vec<OsString>> {
    if member.name.is_lead() {
        output::path(app, team, &member.name)?;
        let words = ["logs", "--follow", "--team", team.name().as_str()];
        let program = std::env::current_exe()?.into_os_string();
        return Ok([program]
            .into_iter()
            .chain(words.map(OsString::from))
            .collect());
    }
    match inspect(app, member)? {
        (PaneStatus::Gone, _) => {}
        (_, words) if words.is_empty() => {}
        (_, words) => return Ok(words),
    }
    let message = format!("the pane of {} is gone", member.name);
    Err(Failure::not_found(message).with_hint(format!(
        "`swarm logs {}` shows what it printed",
        member.name
    )))
}

/// Formats the command with shell quoting.
fn typed(words: &[OsString]) -> String {
    let words: Vec<String> = words
        .iter()
        .map(|word| quoted(&word.to_string_lossy()))
        .collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attach_command_is_quoted_for_the_shell() {
        let words = ["tmux", "-S", "/tmp/a b/it's", "attach", "-t", "%7", ""];
        let words: Vec<OsString> = words.map(OsString::from).into();
        assert_eq!(
            typed(&words),
            r"tmux -S '/tmp/a b/it'\''s' attach -t '%7' ''"
        );
    }
}
