//! A teammate before it runs, in a separate process or in its lead's.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Parser;
use swarm_agent::{HookClients, HostFacts, WorktreeIsolator};
use swarm_config::{Environment, HookDirectories, worktree_records};
use swarm_hooks::{Hooks, HooksParts};
use swarm_member::{
    Ending, ModelServices, ProcessFacts, SpendingMeter, TeammatePane, TeammateParts, Termination,
};
use swarm_model::Model;
use swarm_panes::own_backend;
use swarm_permissions::{ChosenModel, ModelSource};
use swarm_protocol::{AgentId, Clock, SpawnId, SystemClock, WorktreeReport};
use swarm_runtimes::NoModel;
use swarm_store::{FileStore, RootStore, StoreLimits, TeamStore};
use swarm_supervisor::{BranchPublisher, WorktreeMerger};
use swarm_team::{MemberSpec, SpawnOrder, WorkMerger};
use swarm_worktree::{Git, Worktrees};

use crate::commands::PaneQuestions;
use crate::host_facts::GatheringFacts;
use crate::models;
use crate::occupants::occupants;
use crate::own_process::{VERSION, identity};
use crate::runtimes::runtime_of;

/// Name of the program in messages.
pub(crate) const PROGRAM: &str = "swarm-teammate";

/// One member of a team. `swarm` starts this program; it is of no use by hand.
#[derive(Debug, Parser)]
#[command(name = "swarm-teammate", version)]
pub(crate) struct TeammateArgs {
    /// `name@team` of the member.
    #[arg(long)]
    pub(crate) agent_id: AgentId,
    /// Which spawn this is.
    #[arg(long)]
    pub(crate) spawn_id: SpawnId,
    /// Config directory of all state.
    #[arg(long)]
    pub(crate) root: PathBuf,
}

/// Returns the exit code of a teammate that stopped without an error.
pub(crate) fn exit_code(ending: Ending) -> u8 {
    match ending {
        Ending::ShutDown | Ending::NotWanted | Ending::LeadLost | Ending::Removed => 0,
        // Exit code after a signal, as 128 + SIGTERM.
        Ending::Terminated => 143,
    }
}

/// A teammate that has taken its order.
pub(crate) struct OrderedTeammate {
    pub(crate) order: SpawnOrder,
    pub(crate) process: ProcessFacts,
    root: PathBuf,
    store: Arc<dyn TeamStore>,
    clock: Arc<dyn Clock>,
    model: Arc<dyn Model>,
    models: Arc<models::Factory>,
    spending: Arc<SpendingMeter>,
    worktrees: Worktrees,
    machine: GatheringFacts,
}

impl OrderedTeammate {
    /// Takes the order of a spawn. `env` are the variables of the member, with its directory.
    pub(crate) fn take(args: TeammateArgs, env: &Environment) -> anyhow::Result<Self> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let store = FileStore::new(args.root.clone(), Arc::clone(&clock));
        let AgentId { name, team } = &args.agent_id;
        let directory = store.team(team).local_directory(name);
        let path = directory.join(SpawnOrder::file_name(args.spawn_id));
        let order = SpawnOrder::take(&path, VERSION)?;
        let spec = &order.spec;
        let config = &spec.definition.config;
        let spending = SpendingMeter::new(name.clone(), config, None);
        let spending = Arc::new(spending);
        let source = models::ClientSource::new(config, &spec.runtime, &args.root, &spending);
        let model = model(&source, spec)?;
        let models = Arc::new(models::Factory::new(source, &spec.workspace.cwd));
        let store = Arc::new(RootStore::new(store.with_limits(StoreLimits {
            max_unread: spec.limits.max_unread,
            max_message_bytes: spec.limits.max_message_bytes,
            ..StoreLimits::default()
        })));
        let worktrees = worktrees(env, &args.root, spec).with_occupants(occupants(store.clone()));
        let machine = GatheringFacts::begin(env, &worktrees, spec.workspace.cwd.clone());
        let ordered = spec.workspace.worktree.as_ref();
        let process = ProcessFacts {
            worktree: ordered.and_then(|ordered| worktree(env, ordered)),
            ..process_facts(env)
        };
        Ok(Self {
            order,
            process,
            root: args.root,
            store,
            clock,
            model,
            models,
            spending,
            worktrees,
            machine,
        })
    }

    pub(crate) fn output_file(&self) -> PathBuf {
        let agent = &self.order.spec.identity.agent;
        let directory = self.store.team(&agent.team).local_directory(&agent.name);
        directory.join("output.log")
    }

    /// Returns what answers its requests in its pane, if that is allowed.
    pub(crate) fn questions(&self, env: &Environment) -> Option<PaneQuestions> {
        let spec = &self.order.spec;
        let (agent, policy) = (&spec.identity.agent, spec.permissions.answer_in_place);
        PaneQuestions::new(agent, self.store.clone(), policy, env)
    }

    /// Merges this member's work, as configured by the lead's settings, or publishes it if another
    /// machine created the team.
    fn merger(&self) -> Option<Arc<dyn WorkMerger>> {
        let agent = &self.order.spec.identity.agent;
        let team = self.store.team(&agent.team);
        let worktrees = self.worktrees.clone();
        if team.is_joined() {
            let member = (agent.name.clone(), self.order.spec.identity.spawn_id);
            let (host, clock) = (self.process.identity.host.clone(), Arc::clone(&self.clock));
            let publisher = BranchPublisher::new(worktrees, team, member, host, clock);
            return Some(Arc::new(publisher));
        }
        let merger = || Arc::new(WorktreeMerger(worktrees)) as Arc<dyn WorkMerger>;
        self.order.spec.workspace.merges.then(merger)
    }

    /// Returns what runs the member without a terminal.
    pub(crate) fn parts(
        self,
        screen: Box<dyn Write + Send>,
        terminate: Termination,
    ) -> anyhow::Result<TeammateParts> {
        let spec = &self.order.spec;
        let agent = &spec.identity.agent;
        let directory = self.store.team(&agent.team).local_directory(&agent.name);
        Ok(TeammateParts {
            merger: self.merger(),
            isolator: Some(isolator(self.worktrees, Arc::clone(&self.clock))),
            home: spec.workspace.env.get("HOME").map(PathBuf::from),
            services: ModelServices {
                runtime: runtime_of(spec, &directory, Arc::clone(&self.spending) as _)?,
                model: self.model,
                models: self.models,
                spending: self.spending,
            },
            order: self.order,
            root: self.root,
            store: self.store,
            clock: self.clock,
            process: ProcessFacts {
                machine: self.machine.wait(),
                ..self.process
            },
            pane: TeammatePane::plain(screen),
            person: None,
            terminate,
        })
    }
}

fn model(source: &models::ClientSource, spec: &MemberSpec) -> anyhow::Result<Arc<dyn Model>> {
    if let Some(runtime) = &spec.runtime.program {
        let program = runtime.program.to_string();
        return Ok(Arc::new(NoModel { program }));
    }
    source.client(&spec.runtime.model).map_err(|failure| {
        let chosen = ChosenModel {
            written: spec.runtime.model.clone(),
            source: spec.runtime.model_source.unwrap_or(ModelSource::Call),
        };
        anyhow::anyhow!(chosen.explain(spec.definition.own.as_ref(), &failure.message))
    })
}

fn process_facts(env: &Environment) -> ProcessFacts {
    let (kind, pane) = own_backend(&|name| env.get(name).map(str::to_owned));
    ProcessFacts {
        identity: identity(),
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
fn worktrees(env: &Environment, root: &Path, spec: &MemberSpec) -> Worktrees {
    let agent_config = &spec.definition.config;
    let parts = HooksParts {
        settings: agent_config.hooks.clone(),
        env: spec.workspace.env.clone(),
        project: agent_config
            .project
            .clone()
            .unwrap_or_else(|| spec.workspace.cwd.clone()),
        // Callers that wait for the directory receive the error.
        notice: Arc::new(|line| tracing::info!(line)),
        services: Some(Arc::new(HookClients::default())),
        sandbox: None,
    };
    let maker = HookDirectories::new(move || Hooks::new(parts));
    let git = Git::new("git", env.for_git());
    let settings =
        serde_json::from_value(spec.workspace.worktree_settings.clone()).unwrap_or_default();
    Worktrees::new(git, settings, worktree_records(root)).with_maker(Arc::new(maker))
}

/// Creates the worktrees of this member's sub-agents.
fn isolator(worktrees: Worktrees, clock: Arc<dyn Clock>) -> WorktreeIsolator {
    WorktreeIsolator {
        worktrees,
        clock,
        process: identity().mark(),
    }
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
