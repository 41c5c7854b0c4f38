//! `swarm kill`.

use std::time::Duration;

use futures::future::{join, join_all};
use tokio_util::sync::CancellationToken;

use super::lead::{self, BETWEEN_SIGNALS};
use super::targets::{StopTargets, lead_target, targets};
use super::{lock_waits, report};
use crate::app::App;
use crate::commands::acting::require_person;
use crate::commands::node::{Elsewhere, RelayedCommand};
use crate::commands::{called_off_by_signals, runtime};
use crate::failure::Result;
use crate::spawn_context::for_stopping;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Running turns are cut off; use `swarm shutdown` for a graceful stop.

Examples:
  swarm kill bob
  swarm kill bob@parser
  swarm kill --all --team parser")]
pub(crate) struct KillArgs {
    #[command(flatten)]
    pub(crate) targets: StopTargets,
}

pub(in crate::commands) fn run(app: &App, args: &KillArgs) -> Result<()> {
    require_person(app, "kill")?;
    let app = &app.hurried();
    if let Some(team) = lead_target(app, &args.targets)? {
        return lead::stop(app, &*team, BETWEEN_SIGNALS);
    }
    let (team, names) = targets(app, &args.targets, false)?;
    let mut here = Vec::new();
    let mut away = Vec::new();
    let mut on_nodes = Vec::new();
    for name in names {
        let elsewhere = match Elsewhere::of(&*team, &name) {
            Ok(elsewhere) => elsewhere,
            Err(failure) => {
                on_nodes.push((name, Err(failure)));
                continue;
            }
        };
        let words = ["kill", name.as_str()];
        let command = |elsewhere| RelayedCommand::new(app, &*team, elsewhere, &words);
        // A member that has ended is removed from here too.
        let running = elsewhere.filter(|elsewhere| !elsewhere.has_ended);
        match running.as_ref().and_then(command) {
            Some(command) => away.push((name, command)),
            None => here.push(name),
        }
    }
    let mut spawn_context = for_stopping(app);
    lock_waits::limit(&mut spawn_context, &*team, Duration::ZERO);
    let supervised = spawn_context.team(team.name());
    let kills = join_all(here.iter().map(|name| supervised.member(name).kill()));
    let orders = async {
        // Otherwise Ctrl-C would not end the command.
        if away.is_empty() {
            return Vec::new();
        }
        let cancel = CancellationToken::new();
        let orders = away.into_iter().map(async |(name, there)| {
            let done = there.carry_out(app, cancel.clone()).await;
            (name, done)
        });
        called_off_by_signals(cancel.clone(), join_all(orders)).await
    };
    let runtime = runtime()?;
    let (results, relayed) = runtime.block_on(join(kills, orders));
    runtime.shutdown_background();
    on_nodes.extend(relayed);
    report::report(
        app,
        here.into_iter().zip(results),
        on_nodes,
        args.targets.is_several(),
    )
}
