//! Reports what crashed teams left behind; other commands remove it.

use std::collections::BTreeSet;
use std::path::Path;

use swarm_config::{Environment, worktree_records};
use swarm_panes::dead_sockets;
use swarm_protocol::{MemberName, MemberState, TeamName, with_commas};
use swarm_store::{BlockOn as _, MemberView, RootStore, StoreError, Team, TeamStore as _};
use swarm_supervisor::orphaned_panes;
use swarm_ui::print::counted;
use swarm_worktree::{Git, WorktreeSettings, Worktrees};

use super::finding::Finding;
use crate::app::store_at;
use crate::commands::runtime;
use crate::commands::worktree::abandoned;
use crate::spawn_context::{socket_directory, terminal_of};
use crate::which_team::without_roster;

/// Name of the findings about teams.
const NAME: &str = "teams";

/// Looks at all teams but those whose hub cannot be used, which were reported.
pub(super) fn check(env: &Environment, root: &Path, unusable: &[TeamName]) -> Vec<Finding> {
    let store = store_at(root);
    let mut findings = teams(&store, unusable);
    findings.extend(worktrees(env, root, &store));
    findings.extend(panes(env, root, &store));
    let directory = socket_directory(env, root);
    let dead = dead_sockets(&directory);
    if !dead.is_empty() {
        let found = format!(
            "{} of stopped tmux servers in {}",
            counted(dead.len() as u64, "socket"),
            directory.display()
        );
        findings.push(Finding::warning(
            "leftovers",
            found,
            "`swarm gc` removes them",
        ));
    }
    findings
}

/// Panes of teams whose directory was removed.
fn panes(env: &Environment, root: &Path, store: &RootStore) -> Option<Finding> {
    let facts = terminal_of(env, root);
    let runtime = runtime().ok()?;
    let left = runtime.block_on(orphaned_panes(store, root, &facts));
    let teams: BTreeSet<&str> = left.iter().map(|one| one.tagged.team.as_str()).collect();
    (!left.is_empty()).then(|| {
        let found = format!(
            "{} of deleted teams ({})",
            counted(left.len() as u64, "pane"),
            with_commas(teams)
        );
        Finding::warning("leftovers", found, "`swarm gc` closes them")
    })
}

/// Worktrees of this repository whose team no longer exists. Only a person can decide about their
/// changes.
fn worktrees(env: &Environment, root: &Path, store: &RootStore) -> Option<Finding> {
    let git = Git::new("git", env.for_git());
    let worktrees = Worktrees::new(git, WorktreeSettings::default(), worktree_records(root));
    let left = abandoned(&worktrees, store, &env.cwd).into_iter();
    let left = left.map(|listed| format!("{} ({})", listed.record.slug, listed.condition.name()));
    let left = with_commas(left);
    (!left.is_empty()).then(|| {
        let found = format!("of deleted teams: {left}");
        let hint = "`swarm worktree list` shows their changes, `swarm worktree prune` removes those without changes";
        Finding::warning("worktrees", found, hint)
    })
}

fn teams(store: &RootStore, unusable: &[TeamName]) -> Vec<Finding> {
    let (names, remains) = match store.teams_and_remains().block_on() {
        Ok(found) => found,
        Err(error) => {
            return vec![Finding::warning(
                NAME,
                error.to_string(),
                "check the directory's permissions",
            )];
        }
    };
    let mut findings = Vec::new();
    let (mut foreign, mut have_members) = (Vec::new(), false);
    for team in names.iter().filter(|team| !unusable.contains(team)) {
        match store.team(team).view().block_on() {
            // Of another program's team only the process of the lead is known.
            Ok(seen) if seen.is_foreign => {
                let is_dead = |member: &MemberView| member.state == MemberState::Dead;
                if seen.members.iter().any(is_dead) {
                    foreign.push(team);
                    have_members |= seen.config.teammates().next().is_some();
                }
            }
            Ok(seen) => {
                findings.extend(ended(team, &seen.members));
                findings.extend(parked(team, &seen.members));
                findings.extend(undelivered(&*store.team(team)));
                findings.extend(unusable_key(&*store.team(team)));
            }
            Err(error) => {
                let hint = error.hint().unwrap_or_else(|| {
                    format!("check its files, or run `swarm team delete {team}`")
                });
                findings.push(Finding::warning(NAME, error.to_string(), hint));
            }
        }
    }
    if !foreign.is_empty() {
        // It is not known whether their members run, so only `--force` deletes them.
        let hint = if have_members {
            "`swarm team delete NAME --force` deletes their teams: check first that no member is running"
        } else {
            "`swarm team delete NAME` deletes their teams"
        };
        findings.push(Finding::warning(
            NAME,
            format!(
                "leads of other programs have exited: {}",
                with_commas(foreign)
            ),
            hint,
        ));
    }
    for team in remains {
        if let Some(damage) = store.team(&team).damage().block_on() {
            let failure = without_roster(&team, damage);
            let hint = failure.hint.unwrap_or_default();
            findings.push(Finding::warning(NAME, failure.message, hint));
        }
    }
    if findings.is_empty() {
        findings.push(Finding::ok(NAME, summary(names.len(), unusable.len())));
    }
    findings
}

fn summary(teams: usize, unusable: usize) -> String {
    match unusable {
        0 => format!("{teams} found, none with dead members"),
        all if all == teams => format!("{teams} found, {all} of them cannot be read"),
        some => format!(
            "{teams} found, {some} of them cannot be read, none of the others with dead members"
        ),
    }
}

/// Reports that the team's signing key cannot be used, so that nothing can be approved.
fn unusable_key(team: &dyn Team) -> Option<Finding> {
    let error = team.verify_key().block_on().err()?;
    matches!(error, StoreError::SigningKey { .. }).then(|| {
        let hint = error.hint().unwrap_or_default();
        Finding::warning(NAME, error.to_string(), hint)
    })
}

/// Reports members that were not notified of changed tasks.
fn undelivered(team: &dyn Team) -> Vec<Finding> {
    let found = team.undelivered().block_on();
    let found = found.iter().map(|one| {
        let found = format!("{}: {one}", team.name());
        let hint = format!("`swarm status --team {}` tries again", team.name());
        Finding::warning(NAME, found, hint)
    });
    found.collect()
}

/// Reports members that were cut off from their hub. Their processes still run.
fn parked(team: &TeamName, members: &[MemberView]) -> Vec<Finding> {
    let found = members.iter().filter_map(|view| {
        let (name, host) = (&view.member.name, view.parked_on.as_ref()?);
        let found = format!("{team}: {name} lost its lease and is parked on {host}");
        let hint = format!("`swarm spawn {name} --team {team}` on {host} continues it");
        Some(Finding::warning(NAME, found, hint))
    });
    found.collect()
}

/// Reports stopped members and the command to restart them: `resume` requires a lost lead.
fn ended(team: &TeamName, members: &[MemberView]) -> Option<Finding> {
    let dead = members
        .iter()
        .filter(|view| view.state == MemberState::Dead && view.parked_on.is_none());
    let dead: Vec<&MemberName> = dead.map(|view| &view.member.name).collect();
    if dead.is_empty() {
        return None;
    }
    let found = format!("{team}: {} exited unexpectedly", with_commas(&dead));
    let next = if dead.iter().any(|name| name.is_lead()) {
        format!("`swarm resume {team}` takes the team over")
    } else {
        format!("`swarm spawn NAME --team {team}` restarts one")
    };
    let hint = format!("{next}, `swarm team delete {team}` deletes the team");
    Some(Finding::warning(NAME, found, hint))
}

#[cfg(test)]
mod tests {
    use swarm_os::Liveness;
    use swarm_protocol::{Member, UnixMs};

    use super::*;

    fn dead(name: &str, parked_on: Option<&str>) -> MemberView {
        let mut member = Member::lead(&team(), "/".into(), UnixMs(1));
        member.name = MemberName::parse(name).unwrap();
        MemberView {
            member,
            state: MemberState::Dead,
            report: None,
            liveness: Liveness::Dead,
            by_hand: false,
            parked_on: parked_on.map(str::to_owned),
            pause: None,
            unread: Some(0),
            damaged_inbox: None,
            process: None,
            frozen: false,
        }
    }

    fn team() -> TeamName {
        TeamName::parse("demo").unwrap()
    }

    #[test]
    fn teams_that_cannot_be_read_are_not_said_to_have_no_dead_members() {
        assert_eq!(summary(2, 0), "2 found, none with dead members");
        assert_eq!(summary(1, 1), "1 found, 1 of them cannot be read");
        assert_eq!(
            summary(3, 1),
            "3 found, 1 of them cannot be read, none of the others with dead members"
        );
    }

    #[test]
    fn a_member_that_is_parked_has_not_exited() {
        let members = [dead("bob", Some("box")), dead("eve", None)];
        let ended = ended(&team(), &members).unwrap();
        assert_eq!(ended.found, "demo: eve exited unexpectedly");
        let parked = parked(&team(), &members);
        let [parked] = &parked[..] else {
            panic!("{parked:?}");
        };
        assert_eq!(
            parked.found,
            "demo: bob lost its lease and is parked on box"
        );
        let hint = parked.hint.as_deref().unwrap_or_default();
        assert_eq!(hint, "`swarm spawn bob --team demo` on box continues it");
    }
}
