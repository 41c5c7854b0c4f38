//! `swarm reap`.

use serde_json::{Value, json};
use swarm_protocol::ErrorKind;
use swarm_supervisor::{ProcessStatus, Reaped, SeenProcess, process_list};

use super::text::{self, whose};
use crate::app::App;
use crate::commands::acting::require_person;
use crate::commands::runtime;
use crate::failure::{Failure, Result};
use crate::spawn_context::for_stopping;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
A process is orphaned when its team is gone or no longer lists it. `swarm ps` lists orphaned processes.

Examples:
  swarm reap --dry-run       show what would be terminated
  swarm reap                 terminate all orphaned processes
  swarm reap --parked demo   terminate the members of demo, which lost its lead")]
pub(crate) struct ReapArgs {
    /// Only processes of these teams or members (TEAM, NAME or NAME@TEAM) [default: all].
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Show what would be terminated, without doing it.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Also terminate members of teams that lost their lead.
    #[arg(long)]
    pub(crate) parked: bool,
}

pub(in crate::commands) fn run(app: &App, args: &ReapArgs) -> Result<()> {
    require_person(app, "reap")?;
    let mut seen = process_list(&*app.store, &app.root)?;
    let teams: Vec<String> = seen.iter().filter_map(|one| one.team.clone()).collect();
    seen.retain(|one| is_meant(one, &args.names, &teams) && is_to_end(one, args.parked));
    if args.dry_run {
        return would(app, &seen);
    }
    let spawn_context = for_stopping(app);
    let runtime = runtime()?;
    let reaped = runtime.block_on(swarm_supervisor::reap(&spawn_context, &seen, args.parked));
    // Threads that wait for a member to stop end with the process.
    runtime.shutdown_background();
    report(app, reaped)
}

/// Returns whether a process matches the given names; without names every process does. The name of
/// a team only matches the team, not members with the same name.
fn is_meant(seen: &SeenProcess, names: &[String], teams: &[String]) -> bool {
    let agent = whose(seen.team.as_deref(), seen.member.as_deref());
    let is = |name: &String| {
        let its_own = if teams.contains(name) {
            &seen.team
        } else {
            &seen.member
        };
        its_own.as_ref() == Some(name) || *name == agent
    };
    names.is_empty() || names.iter().any(is)
}

fn is_to_end(seen: &SeenProcess, parked: bool) -> bool {
    match seen.standing {
        ProcessStatus::Orphan(_) => true,
        ProcessStatus::Placed { lead_lost, .. } => lead_lost && parked,
        ProcessStatus::Elsewhere(_) | ProcessStatus::Unknown => false,
    }
}

fn would(app: &App, seen: &[SeenProcess]) -> Result<()> {
    if app.out.json {
        let records: Vec<Value> = seen.iter().map(text::record).collect();
        return app.out.json(&records);
    }
    if seen.is_empty() {
        app.out.say("no orphaned processes");
    }
    for one in seen {
        app.out.data(&format!(
            "would terminate process {} of {}: {}",
            one.pid,
            whose(one.team.as_deref(), one.member.as_deref()),
            text::note(app, one)
        ))?;
    }
    Ok(())
}

fn report(app: &App, reaped: Vec<Reaped>) -> Result<()> {
    if reaped.is_empty() {
        app.out.say("no orphaned processes");
    }
    let mut records = Vec::new();
    let mut failures = Vec::new();
    for one in reaped {
        let who = whose(one.team.as_deref(), one.member.as_deref());
        records.push(json!({
            "team": one.team, "member": one.member, "spawnId": one.spawn_id, "pids": one.pids,
            "reason": one.why, "left": one.left,
        }));
        if let Some(error) = one.error {
            failures.push(Failure::from(error));
        } else if one.left > 0 {
            let message = format!("{} of {who} could not be terminated", processes(one.left));
            failures.push(
                Failure::new(ErrorKind::Internal, message)
                    .with_hint("run `swarm ps` to list them, then retry"),
            );
        } else if !app.out.json {
            let ended = processes(one.pids.len());
            app.out
                .data(&format!("{who}: terminated {ended} ({})", one.why))?;
        }
    }
    if app.out.json {
        app.out.json(&records)?;
    }
    Failure::worst(failures).map_or(Ok(()), Err)
}

fn processes(count: usize) -> String {
    match count {
        1 => "1 process".to_owned(),
        count => format!("{count} processes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn team_name_takes_precedence_over_member_name() {
        let seen = |team: &str, member: &str| SeenProcess {
            team: Some(team.to_owned()),
            member: Some(member.to_owned()),
            spawn_id: None,
            kind: swarm_supervisor::ProcessKind::Child,
            pid: 1,
            start: 1,
            age: None,
            command: String::new(),
            frozen: false,
            standing: ProcessStatus::Unknown,
        };
        let teams = ["docs".to_owned(), "web".to_owned()];
        let meant = |name: &str, team: &str, member: &str| {
            is_meant(&seen(team, member), &[name.to_owned()], &teams)
        };
        assert!(meant("docs", "docs", "bob"));
        assert!(!meant("docs", "web", "docs"), "a member of another team");
        assert!(meant("docs@web", "web", "docs"));
        assert!(meant("bob", "docs", "bob") && meant("bob", "web", "bob"));
        assert!(is_meant(&seen("web", "bob"), &[], &teams));
    }
}
