//! Teammates in the process of their lead.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Parser as _;
use swarm_config::Environment;
use swarm_member::{Ending, Termination};
use swarm_os::DirectoryWatcher;
use swarm_os::process::{GRACE, end_blocking};
use swarm_panes::{InProcessHost, InProcessStart};
use swarm_protocol::BackendType;
use swarm_team::processes_of_spawn;

use crate::teammate::{OrderedTeammate, PROGRAM, TeammateArgs, exit_code};

/// The reason that a stopped teammate gets.
const CAUSE: &str = "it was stopped in its lead's process";

/// Printed when a teammate does not stop in time.
const ABANDONED: &str =
    "a call did not end; it was abandoned and may continue in the lead's process until it ends";

/// Returns where a lead with this environment runs teammates as tasks.
pub(crate) fn in_process_host(env: &Environment, watcher: Arc<DirectoryWatcher>) -> InProcessHost {
    let env = env.clone();
    InProcessHost::new(watcher, move |start| {
        let output = start.output.try_clone();
        let say = |line: &str| {
            if let Ok(mut output) = output.as_ref() {
                writeln!(output, "{PROGRAM}: {line}").ok();
            }
        };
        match run(&env, start) {
            Ok(Some(ending)) => exit_code(ending),
            Ok(None) => {
                say(ABANDONED);
                exit_code(Ending::Terminated)
            }
            Err(error) => {
                say(&format!("{error:#}"));
                1
            }
        }
    })
}

/// Runs a teammate on this thread. Returns `None` if it was abandoned.
fn run(env: &Environment, start: InProcessStart) -> anyhow::Result<Option<Ending>> {
    let InProcessStart {
        pane,
        command,
        output,
        mut stop,
    } = start;
    let words = std::iter::once(PathBuf::from(PROGRAM).into_os_string()).chain(command.args);
    let args = TeammateArgs::try_parse_from(words)?;
    let (root, spawn_id) = (args.root.clone(), args.spawn_id);
    let mut ordered = OrderedTeammate::take(args, &env.with(command.env, &command.cwd))?;
    ordered.process.pane = Some(pane);
    ordered.process.backend = BackendType::InProcess;
    let termination = Termination::default();
    let told = termination.clone();
    stop.on_asked(move || told.tell(CAUSE));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let parts = ordered.parts(Box::new(output), termination)?;
    let ended = runtime.block_on(async {
        let member = Box::pin(swarm_member::run(parts));
        tokio::select! {
            ended = member => Some(ended),
            () = stop.abandoned() => None,
        }
    });
    // A thread of a call that does not end is left behind.
    runtime.shutdown_background();
    if ended.is_none() {
        end_blocking(&processes_of_spawn(&root, spawn_id), GRACE);
    }
    Ok(ended.transpose()?)
}
