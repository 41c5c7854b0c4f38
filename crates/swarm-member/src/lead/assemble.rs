//! Putting a lead together.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use swarm_engine::{
    AgentParts, EngineError, EngineLimits, EventSink, ForkPoint, InstructionSources, Rights,
    Session, SubAgentKit, SubAgents, TranscriptAuthor, TranscriptFile, WorktreeIsolator, own_tools,
    transcript_path, without_unreadable, worktree_tools,
};
use swarm_hooks::{AgentHooks, Hooks, HooksParts, Subject};
use swarm_mcp::ProcessServers;
use swarm_model::ModelName;
use swarm_policy::ReadFilter;
use swarm_protocol::MemberName;
use swarm_team::{Founder, Seat, SendMessageTool, StateKeeper, member_hooks, task_tools};
use swarm_tools::{
    Caller, Checkout, Confinement, FileState, ProtectedPaths, Tool, ToolContext, ToolLimits,
};
use swarm_worktree::ProcessMark;
use tokio_util::sync::CancellationToken;

use super::LeadParts;
use super::mail::LeadMail;
use super::prompt::system_prompt;
use crate::broker::PermissionBroker;
use crate::lead::team_tools::{LeadSpawner, TeamCreate, TeamDelete};
use crate::mail::MailHandler;
use crate::reporter::{Reporter, ReporterParts};
use swarm_supervisor::lead_marks;
use swarm_supervisor::{Deployment, Leadership, WorktreeMerger};

/// A lead, ready for its prompt.
pub(super) struct Assembled {
    pub(super) session: Session,
    pub(super) mail: Arc<MailHandler>,
    pub(super) role_mail: Arc<LeadMail>,
    pub(super) reporter: Arc<Reporter>,
    pub(super) sub_agents: Arc<SubAgents>,
}

pub(super) fn assemble(
    parts: &LeadParts,
    leadership: &Arc<Leadership>,
    servers: &ProcessServers,
) -> Result<Assembled, EngineError> {
    let dep = &parts.deployment;
    let lead = MemberName::lead();
    let reporter = reporter(parts, leadership);
    let seat = seat(dep, leadership, &reporter);
    let role_mail = Arc::new(LeadMail::new(dep.clone(), Arc::clone(&reporter)));
    let mail = Arc::new(MailHandler::new(Arc::clone(&seat), role_mail.clone()));
    let gate = PermissionBroker {
        mail: Arc::clone(&mail),
        watcher: Arc::clone(&dep.watcher),
        reporter: Arc::clone(&reporter),
        timeout: dep.limits.permission_timeout(),
    };
    let rights = Arc::new(Rights::new(dep.mode, parts.rules.clone(), dep.ceiling));
    let unreadable = ReadFilter::denials(&parts.rules, &dep.cwd, parts.home.as_deref());
    let tool_context = tool_context(parts, &lead, unreadable.clone());
    let hooks = hooks(parts, &seat, &reporter, &rights, &tool_context);
    let sub_agents = sub_agents(parts, servers);
    let model_name =
        ModelName::parse(&dep.model).map_or_else(|_| dep.model.clone(), |name| name.model);
    let mut system = system_prompt(parts, &model_name);
    system.extend(servers.remark());
    let mut tools = tools(parts, &seat, leadership, &sub_agents);
    tools.extend(servers.tools());
    let mut agent = AgentParts {
        name: lead.to_string(),
        system,
        runtime: Arc::clone(&parts.runtime),
        model: Arc::clone(&parts.model),
        model_name,
        tools,
        withheld: Vec::new(),
        rights,
        gate: Arc::new(gate),
        events: Arc::clone(&reporter) as Arc<dyn EventSink>,
        interjections: Arc::clone(&mail) as Arc<dyn swarm_engine::Interjections>,
        hooks,
        forks: ForkPoint::default(),
        limits: EngineLimits {
            max_turns: parts.max_requests,
            ..EngineLimits::default()
        },
        home: parts.home.clone(),
        instructions: Some(Arc::new(InstructionSources {
            settings: dep.equipment.instructions.clone(),
            root: dep.root.clone(),
            home: parts.home.clone(),
            unreadable,
        })),
        tool_context,
    };
    let transcript = transcript(parts, leadership)?;
    let spawner = LeadSpawner::new(
        dep.clone(),
        Arc::clone(&seat),
        Arc::clone(leadership),
        Arc::clone(&agent.rights),
    );
    sub_agents.equip(&mut agent, Arc::new(spawner), None, &transcript);
    let session = Session::open(transcript, agent)?;
    Ok(Assembled {
        session,
        mail,
        role_mail,
        reporter,
        sub_agents,
    })
}

fn reporter(parts: &LeadParts, leadership: &Arc<Leadership>) -> Arc<Reporter> {
    let dep = &parts.deployment;
    let keeper = StateKeeper::new(
        Arc::clone(&dep.store),
        MemberName::lead(),
        dep.spawn_id,
        dep.clock.now(),
    );
    let leadership = Arc::clone(leadership);
    Arc::new(Reporter::new(ReporterParts {
        clock: Arc::clone(&dep.clock),
        name: MemberName::lead(),
        team: Box::new(move || leadership.team()),
        store: Arc::clone(&dep.store),
        keeper,
        view: Arc::clone(&parts.events),
    }))
}

fn seat(dep: &Deployment, leadership: &Arc<Leadership>, reporter: &Arc<Reporter>) -> Arc<Seat> {
    let events = Arc::clone(reporter);
    let seat = Arc::new(Seat::lead(
        Arc::clone(&dep.store),
        Arc::clone(&dep.clock),
        dep.spawn_id,
        leadership.team(),
        Arc::clone(leadership) as Arc<dyn Founder>,
        move |event| events.emit(event),
    ));
    seat.merge_with(Arc::new(WorktreeMerger(dep.worktrees.clone())));
    seat
}

fn sub_agents(parts: &LeadParts, servers: &ProcessServers) -> Arc<SubAgents> {
    let dep = &parts.deployment;
    SubAgents::new(SubAgentKit {
        equipment: Arc::clone(&dep.equipment),
        models: Arc::clone(&parts.models),
        isolator: Some(Arc::new(WorktreeIsolator {
            worktrees: dep.worktrees.clone(),
            clock: Arc::clone(&dep.clock),
            process: process_mark(dep),
        })),
        servers: Some(Arc::clone(servers.pool())),
        clock: Arc::clone(&dep.clock),
        root: dep.root.clone(),
        platform: parts.platform.clone(),
    })
}

/// The transcript of the lead's session, which goes on where it is there already.
fn transcript(parts: &LeadParts, leadership: &Leadership) -> Result<TranscriptFile, EngineError> {
    let dep = &parts.deployment;
    let path = transcript_path(&dep.root, &dep.cwd, parts.session);
    let author = TranscriptAuthor {
        session: parts.session,
        cwd: dep.cwd.clone(),
        version: dep.version.clone(),
        agent: Some(MemberName::lead()),
        team: leadership.team(),
        spawn: Some(dep.spawn_id),
        sub_agent: None,
    };
    TranscriptFile::open(path, author, Arc::clone(&dep.clock))
}

/// The hooks of the lead.
fn hooks(
    parts: &LeadParts,
    seat: &Arc<Seat>,
    reporter: &Arc<Reporter>,
    rights: &Arc<Rights>,
    context: &ToolContext,
) -> AgentHooks {
    let dep = &parts.deployment;
    let (reporter, rights) = (Arc::clone(reporter), Arc::clone(rights));
    let hooks = Hooks::new(HooksParts {
        settings: dep.equipment.hooks.clone(),
        env: (*context.env).clone(),
        project: dep
            .equipment
            .project
            .clone()
            .unwrap_or_else(|| dep.cwd.clone()),
        notice: Arc::new(move |line| reporter.notice(line)),
    });
    let base = Subject {
        session_id: Some(parts.session.to_string()),
        transcript_path: Some(transcript_path(&dep.root, &dep.cwd, parts.session)),
        cwd: dep.cwd.clone(),
        ..Subject::default()
    };
    member_hooks(seat, hooks, base, move || rights.mode())
}

fn tools(
    parts: &LeadParts,
    seat: &Arc<Seat>,
    leadership: &Arc<Leadership>,
    sub_agents: &Arc<SubAgents>,
) -> Vec<Arc<dyn Tool>> {
    let deployment = parts.deployment.clone();
    let mut tools = own_tools(&deployment.equipment);
    let reached = Arc::downgrade(sub_agents);
    let send = SendMessageTool::for_lead(Arc::clone(seat)).reaching(reached);
    tools.push(Arc::new(send));
    tools.extend(task_tools(seat));
    let own = process_mark(&deployment);
    tools.extend(worktree_tools(
        deployment.worktrees.clone(),
        Arc::clone(&deployment.clock),
        own,
        deployment.cwd.clone(),
    ));
    tools.push(Arc::new(TeamCreate {
        deployment: deployment.clone(),
        seat: Arc::clone(seat),
        leadership: Arc::clone(leadership),
    }));
    tools.push(Arc::new(TeamDelete {
        deployment,
        seat: Arc::clone(seat),
        leadership: Arc::clone(leadership),
    }));
    tools
}

/// This process, as records of work trees name it.
fn process_mark(deployment: &Deployment) -> ProcessMark {
    ProcessMark {
        pid: deployment.process.pid,
        start: deployment.process.start.clone(),
    }
}

/// The environment of the lead's shell commands and MCP servers, with the marks by which they are found.
pub(super) fn shell_env(parts: &LeadParts) -> BTreeMap<String, String> {
    let dep = &parts.deployment;
    let mut env = dep.shell_env.clone();
    env.extend(lead_marks(&dep.root, dep.spawn_id, &dep.process));
    env
}

fn tool_context(parts: &LeadParts, lead: &MemberName, unreadable: ReadFilter) -> ToolContext {
    let dep = &parts.deployment;
    let protected = without_unreadable(ProtectedPaths::new(&dep.root), unreadable);
    ToolContext {
        cwd: dep.cwd.clone(),
        env: Arc::new(shell_env(parts)),
        checkout: Arc::new(Checkout::of(&dep.cwd, parts.home.as_deref())),
        protected: Arc::new(protected),
        confine: parts
            .worktree
            .as_ref()
            .map(|root| Arc::new(Confinement::new(root))),
        guards: Arc::new(dep.equipment.shell.clone()),
        files: Arc::new(Mutex::new(FileState::new())),
        modes: None,
        cancel: CancellationToken::new(),
        limits: ToolLimits::default(),
        tool_use_id: String::new(),
        caller: Caller {
            name: lead.clone(),
            team: None,
            agent_id: None,
        },
    }
}
