//! Entry point of `swarm-teammate`: from its order to a running member.

use std::panic::resume_unwind;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser as _;
use swarm_config::Environment;
use swarm_member::{Ending, Termination};
use swarm_team::SpawnOrder;

use crate::alternative_role::run_alternative_role;
use crate::commands::EndSignals;
use crate::links::linker;
use crate::output::{say, terminal_width};
use crate::teammate::{OrderedTeammate, PROGRAM, TeammateArgs, exit_code};
use crate::teammate_terminal::Terminal;
use crate::{environment, logging, window_fit};

/// Runs `swarm-teammate` and returns its exit code.
pub fn teammate_main_impl() -> ExitCode {
    if let Some(done) = run_alternative_role() {
        return done;
    }
    let args = TeammateArgs::parse();
    match start(args) {
        Ok(ending) => ExitCode::from(exit_code(ending)),
        Err(error) => {
            say(&format!("{PROGRAM}: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn start(args: TeammateArgs) -> anyhow::Result<Ending> {
    let env = environment::read().context("the working directory cannot be read")?;
    logging::start(
        env.get("SWARM_LOG"),
        &args.root,
        args.agent_id.name.as_str(),
    );
    // Orphaned processes of the member's shell become children of this process instead of init, so
    // that they can be found.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let ordered = OrderedTeammate::take(args, &env)?;
    // A single thread, because a member mostly waits and threads cost memory.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let log = ordered.output_file();
        let questions = ordered.questions(&env);
        let open = Terminal::open(&env, &ordered.order, &log, questions);
        let fit = fit_windows(&env, &ordered.order);
        let (terminal, followed) = tokio::join!(open, fit);
        followed?;
        let is_linked = terminal.person.is_some() && ordered.order.pane.color;
        let links = linker(&env, &ordered.order.spec.workspace.cwd).filter(|_| is_linked);
        let keyboard = terminal.keyboard;
        let mut parts = ordered.parts(terminal.screen, terminate()?)?;
        parts.person = terminal.person;
        parts.pane.status = terminal.status;
        parts.pane.width = Box::new(|| terminal_width(std::io::stdout()));
        parts.pane.links = links;
        // As a task, because the runtime looks for I/O each time its main future is woken: by each
        // chunk of a response.
        let member = tokio::spawn(swarm_member::run(parts)).await;
        let ended = member.unwrap_or_else(|failed| resume_unwind(failed.into_panic()));
        let failure = ended.as_ref().err();
        let last_words = failure.map(|error| format!("{PROGRAM}: {error:#}"));
        if let Some(keyboard) = keyboard {
            // Restored before the exit message is printed.
            keyboard.give_back(last_words.as_deref());
        }
        Ok(ended?)
    })
}

/// Keeps the panes around a lead without a process arranged.
async fn fit_windows(env: &Environment, order: &SpawnOrder) -> std::io::Result<()> {
    match &order.lead_pane {
        Some(lead) => window_fit::follow_as_teammate(env, lead).await,
        None => Ok(()),
    }
}

/// Resolves when the process must stop: on a signal, or when its pane is closed.
///
/// Signals are handled on a separate thread, because the member's only other thread may be
/// waiting for a lock that another program holds.
fn terminate() -> anyhow::Result<Termination> {
    let termination = Termination::default();
    let told = termination.clone();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let entered = runtime.enter();
    let mut signals = EndSignals::listen()?;
    drop(entered);
    let wait = async move {
        told.tell(tokio::select! {
            _ = signals.terminate.recv() => "its process was terminated",
            _ = signals.hangup.recv() => "its pane was closed, or its terminal exited",
            _ = signals.interrupt.recv() => "its process was interrupted",
        });
    };
    let waiter = std::thread::Builder::new().name("waits for signals".to_owned());
    waiter.spawn(move || runtime.block_on(wait))?;
    Ok(termination)
}
