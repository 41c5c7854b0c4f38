//! Entry point of `swarm-teammate`: from its order to a running member.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use swarm_agent::{HookClients, HostFacts, Isolator, WorktreeIsolator};
use swarm_config::{Environment, HookDirectories, worktree_records};
use swarm_hooks::{Hooks, HooksParts};
use swarm_member::{Ending, ProcessFacts, SpendingMeter, TeammateParts, Termination};
use swarm_model::Model;
use swarm_panes::own_backend;
use swarm_permissions::{ChosenModel, ModelSource};
use swarm_protocol::{AgentId, Clock, SpawnId, SystemClock, WorktreeReport};
use swarm_runtimes::NoModel;
use swarm_store::{FileStore, StoreLimits, TeamStore};
use swarm_supervisor::WorktreeMerger;
use swarm_team::{SpawnOrder, WorkMerger};
use swarm_worktree::{Git, Worktrees};
use tokio::signal::unix::{SignalKind, signal};

use crate::alternative_role::run_alternative_role;
use crate::environment;
use crate::host_facts::GatheringFacts;
use crate::occupants::occupants;
use crate::output::{say, terminal_width};
use crate::runtimes::runtime_of;
use crate::spawn_context::{VERSION, identity};
use crate::teammate_terminal::Terminal;
use crate::{logging, models};

/// Name of the program in messages.
const PROGRAM: &str = "swarm-teammate";

/// One member of a team. `swarm` starts this program; it is of no use by hand.
#[derive(Debug, Parser)]
#[command(name = "swarm-teammate", version)]
struct Args {
    /// `name@team` of the member.
    #[arg(long)]
    agent_id: AgentId,
    /// Which spawn this is.
    #[arg(long)]
    spawn_id: SpawnId,
    /// Config directory of all state.
    #[arg(long)]
    root: PathBuf,
}

/// Runs `swarm-teammate` and returns its exit code.
pub fn teammate_main_impl() -> ExitCode {
    if let Some(done) = run_alternative_role() {
        return done;
    }
    let args = Args::parse();
    match start(args) {
        Ok(Ending::ShutDown | Ending::NotWanted | Ending::LeadLost | Ending::Removed) => {
            ExitCode::SUCCESS
        }
        // Exit code after a signal, as 128 + SIGTERM.
        Ok(Ending::Terminated) => ExitCode::from(143),
        Err(error) => {
            say(&format!("{PROGRAM}: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn start(args: Args) -> anyhow::Result<Ending> {
    let env = environment::read().map_err(|failure| anyhow::anyhow!(failure.message))?;
    logging::start(
        env.get("SWARM_LOG"),
        &args.root,
        args.agent_id.name.as_str(),
    );
    // Orphaned processes of the member's shell become children of this process instead of init, so
    // that they can be found.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let store = FileStore::new(args.root.clone(), Arc::clone(&clock));
    let directory = store
        .team(&args.agent_id.team)
        .member_dir(&args.agent_id.name);
    let order = SpawnOrder::take(&directory.join(SpawnOrder::file_name(args.spawn_id)))?;
    if order.version != VERSION {
        anyhow::bail!(
            "this is version {VERSION}, but the lead runs {}: install the same version of both",
            order.version
        );
    }
    let name = args.agent_id.name.clone();
    let spending = Arc::new(SpendingMeter::new(name, &order.agent_config, None));
    let source = models::ClientSource::of_order(&order, &args.root, &spending);
    let model = model(&source, &order)?;
    let models = Arc::new(models::Factory::new(source, &order.cwd));
    let store = Arc::new(store.with_limits(StoreLimits {
        max_unread: order.limits.max_unread,
        max_message_bytes: order.limits.max_message_bytes,
        ..StoreLimits::default()
    }));
    let worktrees = worktrees(&env, &args.root, &order).with_occupants(occupants(store.clone()));
    let machine = GatheringFacts::begin(&env, &worktrees, order.cwd.clone());
    let process = ProcessFacts {
        worktree: order
            .worktree
            .as_ref()
            .and_then(|ordered| worktree(&env, ordered)),
        ..process_facts(&env)
    };
    // A single thread, because a member mostly waits and threads cost memory.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let name = &args.agent_id.name;
        let log = directory.join("output.log");
        let terminal = Terminal::open(&env, name, order.color_output, &log).await;
        let keyboard = terminal.keyboard;
        let runtime = runtime_of(&order);
        let parts = TeammateParts {
            merger: merger(&worktrees, &order),
            isolator: Some(isolator(worktrees, Arc::clone(&clock))),
            home: order.env.get("HOME").map(PathBuf::from),
            order,
            root: args.root,
            store,
            clock,
            runtime,
            model,
            models,
            spending,
            process: ProcessFacts {
                machine: machine.wait(),
                ..process
            },
            screen: terminal.screen,
            person: terminal.person,
            width: Box::new(|| terminal_width(std::io::stdout())),
            terminate: terminate()?,
        };
        let ended = Box::pin(swarm_member::run(parts)).await;
        let failure = ended.as_ref().err();
        let last_words = failure.map(|error| format!("{PROGRAM}: {error:#}"));
        if let Some(keyboard) = keyboard {
            // Restored before the exit message is printed.
            keyboard.give_back(last_words.as_deref());
        }
        Ok(ended?)
    })
}

/// Returns the client of the member's model.
fn model(source: &models::ClientSource, order: &SpawnOrder) -> anyhow::Result<Arc<dyn Model>> {
    if let Some(runtime) = &order.runtime {
        let program = runtime.program.to_string();
        return Ok(Arc::new(NoModel { program }));
    }
    source.client(&order.model).map_err(|failure| {
        let chosen = ChosenModel {
            written: order.model.clone(),
            source: order.model_source.unwrap_or(ModelSource::Call),
        };
        anyhow::anyhow!(chosen.explain(order.definition.as_ref(), &failure.message))
    })
}

fn process_facts(env: &Environment) -> ProcessFacts {
    let own = identity();
    let (kind, pane) = own_backend(&|name| env.get(name).map(str::to_owned));
    ProcessFacts {
        pid: own.pid,
        start: own.start,
        host: own.host,
        pid_space: own.pid_space,
        machine: HostFacts::default(),
        cwd: env.cwd.clone(),
        worktree: None,
        pane,
        backend: kind.backend(),
        version: VERSION.to_owned(),
    }
}

/// Creates the worktrees of this member's sub-agents, with the member's own worktree. The order
/// contains the lead's settings.
fn worktrees(env: &Environment, root: &Path, order: &SpawnOrder) -> Worktrees {
    let agent_config = &order.agent_config;
    let parts = HooksParts {
        settings: agent_config.hooks.clone(),
        env: order.env.clone(),
        project: agent_config
            .project
            .clone()
            .unwrap_or_else(|| order.cwd.clone()),
        // Callers that wait for the directory receive the error.
        notice: Arc::new(|line| tracing::info!(line)),
        services: Some(Arc::new(HookClients::default())),
        sandbox: None,
    };
    let maker = HookDirectories::new(move || Hooks::new(parts));
    let git = Git::new("git", env.for_git());
    let settings = serde_json::from_value(order.worktree_settings.clone()).unwrap_or_default();
    Worktrees::new(git, settings, worktree_records(root)).with_maker(Arc::new(maker))
}

/// Merges this member's work. The order contains the lead's settings.
fn merger(worktrees: &Worktrees, order: &SpawnOrder) -> Option<Arc<dyn WorkMerger>> {
    let merger = || Arc::new(WorktreeMerger(worktrees.clone())) as Arc<dyn WorkMerger>;
    order.merges.then(merger)
}

/// Creates the worktrees of this member's sub-agents.
fn isolator(worktrees: Worktrees, clock: Arc<dyn Clock>) -> Arc<dyn Isolator> {
    let own = identity();
    Arc::new(WorktreeIsolator {
        worktrees,
        clock,
        process: swarm_worktree::ProcessMark {
            pid: own.pid,
            start: own.start,
        },
    })
}

/// Returns the worktree of this process, read from git's files instead of the order. A worktree
/// created by a hook need not be a checkout; then only the directory is used.
fn worktree(env: &Environment, ordered: &WorktreeReport) -> Option<WorktreeReport> {
    if ordered.head.is_empty() {
        let (cwd, top) = (env.cwd.canonicalize(), ordered.toplevel.canonicalize());
        let is_in = cwd.ok()?.starts_with(top.ok()?);
        return is_in.then(|| ordered.clone());
    }
    let seen = swarm_worktree::seen(&env.cwd)?;
    Some(WorktreeReport {
        toplevel: seen.toplevel,
        branch: seen.branch,
        head: seen.head?,
    })
}

/// Resolves when the process must stop: on a signal, or when its pane is closed.
///
/// Signals are handled on a thread of their own, because the member's only other thread may be
/// waiting for a lock that another program holds.
fn terminate() -> anyhow::Result<Termination> {
    let termination = Termination::default();
    let told = termination.clone();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let entered = runtime.enter();
    let mut terminated = signal(SignalKind::terminate())?;
    let mut hung_up = signal(SignalKind::hangup())?;
    let mut interrupted = signal(SignalKind::interrupt())?;
    drop(entered);
    let wait = async move {
        told.tell(tokio::select! {
            _ = terminated.recv() => "its process was terminated",
            _ = hung_up.recv() => "its pane was closed, or the tmux server exited",
            _ = interrupted.recv() => "its process was interrupted",
        });
    };
    let waiter = std::thread::Builder::new().name("waits for signals".to_owned());
    waiter.spawn(move || runtime.block_on(wait))?;
    Ok(termination)
}
