//! `swarm shutdown`.

use std::process::ExitCode;
use std::time::Duration;

use futures::future::join_all;
use swarm_lead::StopOptions;

use super::report;
use super::waiting::saying_who;
use super::whom::whom;
use crate::app::App;
use crate::args::ShutdownArgs;
use crate::commands::acting::require_person;
use crate::commands::runtime;
use crate::deployment::for_stopping;
use crate::failure::Failure;

/// How much longer we wait than the member's own program, which approves at its deadline.
const MARGIN: Duration = Duration::from_secs(2);

pub(in crate::commands) fn run(app: &App, args: ShutdownArgs) -> Result<ExitCode, Failure> {
    require_person(app, "shutdown")?;
    let (team, names) = whom(app, &args.whom)?;
    let deployment = for_stopping(app);
    let options = StopOptions {
        reason: args.reason,
        timeout: args.timeout.map_or_else(
            || deployment.limits.shutdown_grace() + MARGIN,
            Duration::from_secs,
        ),
        force: args.force,
    };
    let runtime = runtime()?;
    let ended = join_all(
        names
            .iter()
            .map(|name| swarm_lead::shutdown(&deployment, &team, name, &options)),
    );
    let results = runtime.block_on(saying_who(app, &team, &names, options.timeout, ended));
    // Threads that wait for a member's death end with the process.
    runtime.shutdown_background();
    report::report(app, names.into_iter().zip(results), args.whom.all)
}
