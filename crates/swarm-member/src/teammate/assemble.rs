//! Putting a teammate together from its order.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use swarm_engine::{
    AgentParts, EngineLimits, EventSink, ForkPoint, InstructionSources, Interjections, NoSpawner,
    Rights, Session, SubAgentKit, SubAgents, Trained, TranscriptAuthor, TranscriptFile,
    find_transcript, own_tools, without_unreadable,
};
use swarm_fs::FolderWatcher;
use swarm_hooks::{AgentHooks, Hooks, HooksParts, Subject};
use swarm_mcp::ProcessServers;
use swarm_model::ModelName;
use swarm_policy::{
    AgentKind, Behavior, Equipment, PoolRequest, ReadFilter, RuleSet, ToolCeiling, tool_pool,
};
use swarm_protocol::BackendType;
use swarm_protocol::DefinitionReport;
use swarm_protocol::{RightsReport, RuleText, SpawnId};
use swarm_team::{
    PendingShutdown, Seat, SendMessageTool, SpawnOrder, StateKeeper, member_hooks, task_tools,
};
use swarm_tools::{
    Caller, Checkout, Confinement, FileState, ProtectedPaths, Tool, ToolContext, ToolLimits,
};
use swarm_ui::{PaneHeader, PaneView, Theme};
use tokio_util::sync::CancellationToken;

use crate::broker::PermissionBroker;
use crate::mail::MailHandler;
use crate::pane_sink::PaneSink;
use crate::reporter::{Reporter, ReporterParts};
use crate::teammate::mail::TeammateMail;
use crate::teammate::prompt::{PromptFacts, system_prompt};
use crate::teammate::servers;
use crate::teammate::{ProcessFacts, TeammateError, TeammateParts};

/// A teammate, ready to say hello.
pub(crate) struct Assembled {
    pub(crate) session: Session,
    pub(crate) mail: Arc<MailHandler>,
    pub(crate) role_mail: Arc<TeammateMail>,
    pub(crate) reporter: Arc<Reporter>,
    pub(crate) sub_agents: Arc<SubAgents>,
    pub(crate) tool_names: Vec<String>,
    /// What of its definition is in force.
    pub(crate) definition: Option<DefinitionReport>,
    /// Stands before its first prompt.
    pub(crate) initial_prompt: Option<String>,
}

pub(crate) fn assemble(
    mut parts: TeammateParts,
    watcher: &Arc<FolderWatcher>,
    servers: &ProcessServers,
) -> Result<Assembled, TeammateError> {
    // Where the process is told to end meanwhile, that is why servers are missing.
    if !parts.terminate.token().is_cancelled() {
        servers::require(&parts.order, servers)?;
    }
    let reporter = Arc::new(reporter(&mut parts));
    let (store, order, root) = (parts.store, parts.order, parts.root);
    let events = Arc::clone(&reporter);
    let seat = Arc::new(Seat::teammate(
        store,
        Arc::clone(&parts.clock),
        &order.agent,
        order.spawn_id,
        order.color,
        move |event| events.emit(event),
    ));
    if let Some(merger) = parts.merger {
        seat.merge_with(merger);
    }
    let mut rules = order.rules()?;
    let trained = trained(&order, &root)?;
    rules.extend(trained.rules.clone());
    let unreadable = ReadFilter::denials(&rules, &order.cwd, parts.home.as_deref())
        .anchored(order.anchors.clone());
    let role_mail = Arc::new(TeammateMail::default());
    let mail = Arc::new(MailHandler::new(Arc::clone(&seat), role_mail.clone()));
    let sub_agents = SubAgents::new(SubAgentKit {
        equipment: Arc::new(order.equipment.clone()),
        models: parts.models,
        isolator: parts.isolator,
        servers: Some(Arc::clone(servers.pool())),
        clock: Arc::clone(&parts.clock),
        root: root.clone(),
        platform: parts.process.platform.clone(),
    });
    let mut tools = tools(&seat, &role_mail.shutdown, &order.equipment, &sub_agents);
    tools.extend(servers.tools());
    let gate = PermissionBroker {
        mail: Arc::clone(&mail),
        watcher: Arc::clone(watcher),
        reporter: Arc::clone(&reporter),
        timeout: order.limits.permission_timeout(),
    };
    let rights = Arc::new(rights(&seat, &order, rules));
    let instructions = instructions(&order, &root, parts.home.as_deref(), &unreadable);
    let (memory, home) = (trained.memory.as_deref(), parts.home.as_deref());
    let tool_context = tool_context(&order, &root, &seat, unreadable, memory, home);
    let path = find_transcript(&root, &order.cwd, order.session_id);
    let hooks = hooks(&order, &seat, &reporter, &rights, path.clone());
    let limits = limits(&order);
    let report = report(&order, &limits, &trained);
    let model_name = model_name(&order);
    let mut system = system(&order, &parts.process, &seat, &trained, &model_name);
    system.extend(servers.remark());
    let mut agent = AgentParts {
        name: order.agent.name.to_string(),
        system,
        runtime: parts.runtime,
        model: parts.model,
        model_name,
        tools,
        withheld: Vec::new(),
        rights,
        gate: Arc::new(gate),
        events: Arc::clone(&reporter) as Arc<dyn EventSink>,
        interjections: Arc::clone(&mail) as Arc<dyn Interjections>,
        hooks,
        limits,
        forks: ForkPoint::default(),
        instructions,
        home: parts.home,
        tool_context,
    };
    let transcript =
        TranscriptFile::open(path, author(&order, &parts.process.version), parts.clock)?;
    let definition = order.definition.as_ref();
    sub_agents.equip(&mut agent, Arc::new(NoSpawner), definition, &transcript);
    agent.tools = offered(agent.tools, &order);
    let names = agent.tools.iter().map(|tool| tool.name().to_owned());
    let tool_names = names.collect();
    let session = Session::open(transcript, agent)?;
    // A conversation that is carried on had its first prompt long ago.
    let is_new = session.totals().requests == 0 && !session.needs_turn();
    let initial_prompt = order
        .definition
        .and_then(|definition| definition.initial_prompt);
    let initial_prompt = initial_prompt.filter(|_| is_new);
    Ok(Assembled {
        session,
        mail,
        role_mail,
        reporter,
        sub_agents,
        tool_names,
        definition: report,
        initial_prompt,
    })
}

fn model_name(order: &SpawnOrder) -> String {
    ModelName::parse(&order.model).map_or_else(|_| order.model.clone(), |name| name.model)
}

fn system(
    order: &SpawnOrder,
    process: &ProcessFacts,
    seat: &Seat,
    trained: &Trained,
    model: &str,
) -> Vec<String> {
    // If the roster is damaged, it learns by mail who else is there.
    let config = seat.store.config(&order.agent.team);
    let facts = PromptFacts {
        model,
        process,
        members: &config.map_or_else(|_| Vec::new(), |config| config.members),
        of_definition: &trained.instructions,
        now: seat.clock.now(),
    };
    system_prompt(order, &facts)
}

/// Where its instruction files come from, if its type gets any.
fn instructions(
    order: &SpawnOrder,
    root: &Path,
    home: Option<&Path>,
    unreadable: &ReadFilter,
) -> Option<Arc<InstructionSources>> {
    let definition = order.definition.as_ref();
    definition
        .is_none_or(|definition| !definition.omit_claude_md)
        .then(|| {
            Arc::new(InstructionSources {
                settings: order.equipment.instructions.clone(),
                root: root.to_owned(),
                home: home.map(Path::to_owned),
                unreadable: unreadable.clone(),
            })
        })
}

/// What it is by its definition, brings along, and remembers.
fn trained(order: &SpawnOrder, root: &Path) -> Result<Trained, TeammateError> {
    let Some(definition) = &order.definition else {
        return Ok(Trained::default());
    };
    let mut trained = Trained::of(definition, &order.equipment.skills, &order.cwd, root)?;
    if !definition.prompt.trim().is_empty() {
        let text = format!("# What you are: {}\n{}", definition.name, definition.prompt);
        trained.instructions.insert(0, text);
    }
    Ok(trained)
}

/// What is in force of its definition, for hello.
fn report(
    order: &SpawnOrder,
    limits: &EngineLimits,
    trained: &Trained,
) -> Option<DefinitionReport> {
    let definition = order.definition.as_ref()?;
    Some(DefinitionReport {
        agent_type: definition.name.clone(),
        model_source: order.model_source.map(|source| source.to_string()),
        max_turns: limits.max_turns,
        effort: limits.effort,
        skills: definition.skills.clone(),
        memory: trained.memory.clone(),
        initial_prompt: definition.initial_prompt.is_some(),
    })
}

/// The hooks of the member: those of the settings, and those of its own definition. It is no sub-agent, so the end of its
/// turn is `Stop`.
fn hooks(
    order: &SpawnOrder,
    seat: &Arc<Seat>,
    reporter: &Arc<Reporter>,
    rights: &Arc<Rights>,
    transcript: PathBuf,
) -> AgentHooks {
    let (reporter, rights) = (Arc::clone(reporter), Arc::clone(rights));
    let hooks = Hooks::new(HooksParts {
        settings: order.equipment.hooks.clone(),
        env: order.env.clone(),
        project: order
            .equipment
            .project
            .clone()
            .unwrap_or_else(|| order.cwd.clone()),
        notice: Arc::new(move |line| reporter.notice(line)),
    });
    let own = order.definition.as_ref().map(|it| it.hooks.clone());
    let base = Subject {
        session_id: Some(order.session_id.to_string()),
        transcript_path: Some(transcript),
        cwd: order.cwd.clone(),
        agent_type: order.agent_type.clone(),
        ..Subject::default()
    };
    let hooks = hooks.and(own.unwrap_or_default());
    member_hooks(seat, hooks, base, move || rights.mode())
}

/// The tools that the filter layers leave to it, the same in whatever it runs.
fn offered(tools: Vec<Arc<dyn Tool>>, order: &SpawnOrder) -> Vec<Arc<dyn Tool>> {
    let request = PoolRequest {
        kind: AgentKind::TeammateProcess,
        levels_left: order.equipment.limits.max_depth,
        mode: order.mode,
        definition: order.definition.as_ref(),
        above: &ToolCeiling::default(),
    };
    let pool = tool_pool(&request, tools.iter().map(|tool| tool.name()));
    tools
        .into_iter()
        .filter(|tool| pool.has(tool.name()))
        .collect()
}

fn limits(order: &SpawnOrder) -> EngineLimits {
    let definition = order.definition.as_ref();
    EngineLimits {
        max_turns: definition
            .and_then(|definition| definition.max_turns)
            .unwrap_or(order.limits.max_requests),
        effort: definition
            .and_then(|definition| definition.effort.as_ref())
            .and_then(|effort| effort.parse().ok()),
        ..EngineLimits::default()
    }
}

/// The rights of the member, which it writes down for people to look at.
fn rights(seat: &Arc<Seat>, order: &SpawnOrder, rules: RuleSet) -> Rights {
    let (seat, agent, spawn_id) = (Arc::clone(seat), order.agent.clone(), order.spawn_id);
    let rights = Rights::new(order.mode, rules, order.mode).anchored(order.anchors.clone());
    rights.told_to(move |rights| {
        let report = in_force(rights, spawn_id);
        if let Err(error) = seat.store.write_rights(&agent.team, &agent.name, &report) {
            // It is only looked at: no decision rests on the file.
            tracing::warn!(agent = %agent, %error, "rights not written down");
        }
    })
}

fn in_force(rights: &Rights, spawn_id: SpawnId) -> RightsReport {
    let rules = rights.rules();
    let texts = |behavior: Behavior| {
        let rules = rules.list(behavior).iter();
        let texts = rules.map(|sourced| RuleText {
            rule: sourced.rule.to_string(),
            origin: sourced.origin.clone(),
        });
        texts.collect()
    };
    RightsReport {
        spawn_id,
        mode: rights.mode(),
        ceiling: rights.ceiling(),
        deny: texts(Behavior::Deny),
        ask: texts(Behavior::Ask),
        allow: texts(Behavior::Allow),
        directories: rules.directories.clone(),
    }
}

/// How a person at the pane lets a turn go on.
const TO_BACKGROUND: &str = "to go on without waiting for it: Ctrl-B";

fn reporter(parts: &mut TeammateParts) -> Reporter {
    let order = &parts.order;
    let theme = Theme {
        color: order.color_output,
        width: None,
        unicode: true,
    };
    let header = PaneHeader {
        name: order.agent.name.clone(),
        color: order.color,
        team: Some(order.agent.team.clone()),
        model: order.model.clone(),
        mode: order.mode,
        cwd: order.cwd.clone(),
        home: parts.home.clone(),
    };
    let screen = std::mem::replace(&mut parts.screen, Box::new(std::io::sink()));
    let width = std::mem::replace(&mut parts.width, Box::new(|| None));
    let keeper = StateKeeper::new(
        Arc::clone(&parts.store),
        order.agent.name.clone(),
        order.spawn_id,
        parts.clock.now(),
    );
    let view = PaneView::measured(screen, theme, width, &header);
    let view = match parts.process.backend {
        BackendType::Tmux => view.titled(order.agent.name.clone()),
        _ => view,
    };
    let view = match (&parts.person, &parts.process.backend) {
        (None, _) => view,
        // There the key is the usual prefix of commands, and passed on when it is typed twice.
        (Some(_), BackendType::Tmux) => view.hinting(format!("{TO_BACKGROUND} (in tmux twice)")),
        (Some(_), _) => view.hinting(TO_BACKGROUND),
    };
    let team = order.agent.team.clone();
    Reporter::new(ReporterParts {
        clock: Arc::clone(&parts.clock),
        name: order.agent.name.clone(),
        team: Box::new(move || Some(team.clone())),
        store: Arc::clone(&parts.store),
        keeper,
        view: Arc::new(PaneSink::new(view)),
    })
}

fn tools(
    seat: &Arc<Seat>,
    shutdown: &Arc<PendingShutdown>,
    equipment: &Equipment,
    sub_agents: &Arc<SubAgents>,
) -> Vec<Arc<dyn Tool>> {
    let mut tools = own_tools(equipment);
    let send = SendMessageTool::for_teammate(Arc::clone(seat), Arc::clone(shutdown));
    let reached = Arc::downgrade(sub_agents);
    tools.push(Arc::new(send.reaching(reached)));
    tools.extend(task_tools(seat));
    tools
}

fn tool_context(
    order: &SpawnOrder,
    root: &Path,
    seat: &Seat,
    unreadable: ReadFilter,
    memory: Option<&Path>,
    home: Option<&Path>,
) -> ToolContext {
    let protected = without_unreadable(ProtectedPaths::new(root), unreadable);
    ToolContext {
        cwd: order.cwd.clone(),
        env: Arc::new(order.env.clone()),
        checkout: Arc::new(Checkout::of(&order.cwd, home)),
        protected: Arc::new(protected),
        confine: order.worktree.as_ref().map(|tree| {
            let confined = Confinement::new(&tree.toplevel);
            Arc::new(
                memory
                    .iter()
                    .fold(confined, |confined, memory| confined.also(memory)),
            )
        }),
        guards: Arc::new(order.equipment.shell.clone()),
        files: Arc::new(Mutex::new(FileState::new())),
        modes: None,
        cancel: CancellationToken::new(),
        limits: ToolLimits::default(),
        tool_use_id: String::new(),
        caller: Caller {
            name: seat.name.clone(),
            team: Some(order.agent.team.clone()),
            agent_id: Some(order.agent.clone()),
        },
    }
}

fn author(order: &SpawnOrder, version: &str) -> TranscriptAuthor {
    TranscriptAuthor {
        session: order.session_id,
        cwd: order.cwd.clone(),
        version: version.to_owned(),
        agent: Some(order.agent.name.clone()),
        team: Some(order.agent.team.clone()),
        spawn: Some(order.spawn_id),
        sub_agent: None,
    }
}
