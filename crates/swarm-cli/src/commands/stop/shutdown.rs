//! `swarm shutdown`.

use std::time::Duration;

use futures::future::join_all;
use swarm_protocol::{MemberName, PERSON};
use swarm_store::Team;
use swarm_supervisor::{FORCED_PATIENCE, StopOptions};

use super::lead::{self, LEAD_PATIENCE};
use super::targets::{StopTargets, lead_target, targets};
use super::waiting::{saying_who, who_lives};
use super::{lock_waits, report};
use crate::app::App;
use crate::commands::acting::require_person;
use crate::commands::run_until_ctrl_c;
use crate::failure::{Failure, Result};
use crate::spawn_context::for_stopping;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The agent is asked and may refuse with a reason; then it continues and the exit code is 5. A member that does not \
respond within `stop.grace_s` is shut down. With --force, running model requests and commands are interrupted.

Examples:
  swarm shutdown alice bob --reason \"thank you\"
  swarm shutdown --all --timeout 60
  swarm shutdown team-lead              stop a run, with its team")]
pub(crate) struct ShutdownArgs {
    #[command(flatten)]
    pub(crate) targets: StopTargets,
    /// Reason, shown to the member.
    #[arg(long)]
    pub(crate) reason: Option<String>,
    /// Seconds before an unresponsive member is terminated [default: setting `stop.grace_s` plus 3; 1.3 with --force].
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout: Option<u64>,
    /// Shut members down immediately, without asking their agents.
    #[arg(long)]
    pub(crate) force: bool,
}

pub(in crate::commands) fn run(app: &App, args: ShutdownArgs) -> Result<()> {
    require_person(app, "shutdown")?;
    let hurried = args.force.then(|| app.hurried());
    let app = hurried.as_ref().unwrap_or(app);
    if let Some(team) = lead_target(app, &args.targets)? {
        let patience = args.timeout.map_or(LEAD_PATIENCE, Duration::from_secs);
        return lead::stop(app, &*team, patience);
    }
    let (team, names) = targets(app, &args.targets, true)?;
    let mut spawn_context = for_stopping(app);
    let options = StopOptions {
        reason: args.reason,
        by: PERSON,
        timeout: args.timeout.map_or(
            if args.force {
                FORCED_PATIENCE
            } else {
                spawn_context.shutdown_patience()
            },
            Duration::from_secs,
        ),
        force: args.force,
        at_once: args.force,
    };
    if args.force {
        lock_waits::limit(&mut spawn_context, &*team, options.timeout);
    }
    let supervised = spawn_context.team(team.name());
    let stops = names
        .iter()
        .map(|name| supervised.member(name).shutdown(&options));
    let ended = join_all(stops);
    let waiting = saying_who(app, &*team, &names, options.timeout, ended);
    let results = run_until_ctrl_c(|| standing(app, &*team, &names), waiting);
    report::report(
        app,
        names.into_iter().zip(results?),
        Vec::new(),
        args.targets.is_several(),
    )
}

/// Returns the error for an interrupted wait: the requests were sent and cannot be withdrawn.
fn standing(app: &App, team: &dyn Team, names: &[MemberName]) -> Failure {
    let Some(alive) = who_lives(team, names) else {
        let message =
            "interrupted after all members had stopped; the next command cleans up after them";
        return Failure::interrupted(message);
    };
    let grace = for_stopping(app).limits.shutdown_grace().as_secs();
    let message = format!(
        "interrupted, but the request stays pending: {alive} will stop after the current turn, within {grace} s, unless \
         an agent refuses; no member is terminated"
    );
    Failure::interrupted(message).with_hint(
        "`swarm status` shows the progress, `swarm kill NAME` terminates a member now, `swarm shutdown NAME` waits again",
    )
}
