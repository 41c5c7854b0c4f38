//! Assembly of a lead.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use swarm_agent::{
    AgentError, EventSink, Rights, WorktreeIsolator, coordinated, scratchpad_rules,
    scratchpad_section, share_scratchpad, transcript_path, worktree_tools,
};
use swarm_mcp::ProcessServers;
use swarm_os::ensure_private_dir;
use swarm_permissions::{AgentConfig, ReadFilter};
use swarm_protocol::{AgentEvent, MemberName};
use swarm_store::TeamStore;
use swarm_supervisor::{Leadership, WorktreeMerger, lead_marks};
use swarm_team::{MemberContext, MemberWorkspace, SendMessageTool, StateKeeper, TeamCreator};
use swarm_tools::{
    Caller, Confinement, ProtectedPaths, StructuredOutput, Tool, ToolContext, prompt,
};
use tokio_util::sync::CancellationToken;

use crate::assemble::{MemberSetup, session_limits};
use crate::mail::MailHandler;
use crate::reporter::{Reporter, ReporterParts};
use crate::role::MemberLoop;
use crate::servers::start_servers;

use super::LeadParts;
use super::listen::peer_link;
use super::mail::LeadMail;
use super::role::LeadRole;
use super::team_tools::{LeadTeammates, TeamCreate, TeamDelete};

/// Starts the MCP servers. Members get the list of tools and start a server at the first call of
/// one.
pub(super) async fn start_mcp(parts: &mut LeadParts) -> ProcessServers {
    let dep = &parts.spawn_context;
    let settings = &dep.definition.config.mcp;
    // Next to the transcript, because the team and the lead's directory may be created later.
    let logs = Some(transcript(parts).with_extension("").join("mcp"));
    let has_logs =
        |logs: &PathBuf| !settings.servers.is_empty() && ensure_private_dir(logs).is_ok();
    let logs = logs.filter(has_logs);
    let sandbox = ToolContext {
        env: Arc::new(shell_env(parts)),
        guards: Arc::new(dep.definition.config.shell.clone()),
        protected: Arc::new(ProtectedPaths::new(&dep.root)),
        confine: parts
            .worktree
            .as_deref()
            .map(Confinement::new)
            .map(Arc::new),
        ..ToolContext::new(dep.workspace.cwd.clone(), Caller::new(MemberName::lead()))
    };
    let servers = start_servers(settings, None, sandbox, logs, &parts.stops.stop).await;
    let agent_config = AgentConfig {
        mcp: servers.pool.listed().await,
        ..(*dep.definition.config).clone()
    };
    parts.spawn_context.definition.config = Arc::new(agent_config);
    servers
}

/// Creates the scratchpad and adapts the configuration of a coordinator.
fn configure(parts: &mut LeadParts) -> Result<(), AgentError> {
    let dep = &mut parts.spawn_context;
    let mut agent_config = AgentConfig::clone(&dep.definition.config);
    if parts.is_coordinator {
        agent_config = coordinated(agent_config);
    }
    share_scratchpad(&mut agent_config, &dep.root, &parts.session.to_string())?;
    let own = scratchpad_rules(agent_config.scratchpad.as_ref());
    parts.rules.extend(own);
    dep.definition.config = Arc::new(agent_config);
    Ok(())
}

/// Assembles a lead whose loop uses `store` and ends with `stop`.
pub(super) fn assemble(
    mut parts: LeadParts,
    store: Arc<dyn TeamStore>,
    leadership: Arc<Leadership>,
    servers: &ProcessServers,
    stop: CancellationToken,
) -> Result<MemberLoop<LeadRole>, AgentError> {
    configure(&mut parts)?;
    let person = parts.person.take();
    let dep = &parts.spawn_context;
    let reporter = reporter(&parts, &leadership);
    let context = context(&parts, store, &leadership, &reporter);
    let (events, in_force) = (Arc::clone(&reporter), Arc::clone(&parts.rules_in_force));
    let rights = Rights::new(
        dep.permissions.mode,
        parts.rules.clone(),
        dep.permissions.ceiling,
    )
    .on_change(move |rights| {
        *in_force.write() = Some(rights.rules());
        events.emit(AgentEvent::ModeChanged {
            mode: rights.mode(),
        });
    });
    let rights = Arc::new(rights);
    let role_mail = Arc::new(LeadMail::new(
        dep.clone(),
        Arc::clone(&reporter),
        Arc::clone(&rights),
        parts.is_interactive,
        person.is_some(),
    ));
    let mail = MailHandler::new(Arc::clone(&context), role_mail.clone());
    let sessions = peer_link(&parts, &rights);
    let spawner = LeadTeammates::new(
        dep.clone(),
        Arc::clone(&context),
        Arc::clone(&leadership),
        Arc::clone(&rights),
        sessions.clone(),
    );
    let send_message = if parts.is_coordinator {
        SendMessageTool::for_coordinator(Arc::clone(&context))
    } else {
        let send_message = SendMessageTool::for_lead(Arc::clone(&context));
        match sessions {
            Some(sessions) => send_message.to_sessions(sessions),
            None => send_message,
        }
    };
    let setup = MemberSetup {
        mail: Arc::new(mail),
        reporter,
        rights,
        watcher: Arc::clone(&dep.watcher),
        services: parts.services.clone(),
        model_name: dep.runtime.model.clone(),
        isolator: Some(worktree_source(&parts)),
        definition: dep.definition.clone(),
        workspace: MemberWorkspace {
            env: shell_env(&parts),
            ..dep.workspace.clone()
        },
        system: system_prompt(&parts),
        send_message,
        role_tools: tools(&parts, &context, &leadership),
        limits: session_limits(
            &dep.definition.config,
            &dep.runtime.model,
            None,
            parts.max_requests,
        ),
        permission_timeout: dep.limits.permission_timeout(),
        unreadable: ReadFilter::denials(&parts.rules, &dep.workspace.cwd, parts.home.as_deref()),
        confine: parts.worktree.as_deref().map(|worktree| {
            let scratchpad = dep.definition.config.scratchpad.iter();
            scratchpad.fold(Confinement::new(worktree), |own, path| own.also(path))
        }),
        root: dep.root.clone(),
        home: parts.home.clone(),
        session: parts.session,
        transcript: transcript(&parts),
        host: parts.host.clone(),
        version: dep.version.clone(),
    };
    let role = LeadRole::new(parts, leadership, role_mail, person.is_some());
    let opened = setup.open(servers, Arc::new(spawner), None, role, stop, person);
    opened.map(|(member, _)| member)
}

fn transcript(parts: &LeadParts) -> PathBuf {
    let dep = &parts.spawn_context;
    transcript_path(&dep.root, &dep.workspace.cwd, parts.session)
}

fn reporter(parts: &LeadParts, leadership: &Arc<Leadership>) -> Arc<Reporter> {
    let dep = &parts.spawn_context;
    let (store, lead) = (Arc::clone(&dep.store), MemberName::lead());
    let leadership = Arc::clone(leadership);
    Arc::new(Reporter::new(ReporterParts {
        clock: Arc::clone(&dep.clock),
        name: lead.clone(),
        team: Box::new(move || leadership.team().map(|team| store.team(&team))),
        keeper: StateKeeper::new(lead, dep.spawn_id, dep.clock.now()),
        view: Arc::clone(&parts.events),
    }))
}

fn context(
    parts: &LeadParts,
    store: Arc<dyn TeamStore>,
    leadership: &Arc<Leadership>,
    reporter: &Arc<Reporter>,
) -> Arc<MemberContext> {
    let dep = &parts.spawn_context;
    let events = Arc::clone(reporter);
    let context = Arc::new(MemberContext::lead(
        store,
        Arc::clone(&dep.clock),
        dep.spawn_id,
        leadership.team(),
        Arc::clone(leadership) as Arc<dyn TeamCreator>,
        move |event| events.emit(event),
    ));
    context.merge_with(Arc::new(WorktreeMerger(dep.worktrees.clone())));
    context
}

fn tools(
    parts: &LeadParts,
    context: &Arc<MemberContext>,
    leadership: &Arc<Leadership>,
) -> Vec<Arc<dyn Tool>> {
    let spawn_context = parts.spawn_context.clone();
    let mut tools = worktree_tools(worktree_source(parts), spawn_context.workspace.cwd.clone());
    if let Some(output) = &parts.output {
        tools.push(Arc::new(StructuredOutput(Arc::clone(output))));
    }
    tools.push(Arc::new(TeamCreate {
        context: Arc::clone(context),
        leadership: Arc::clone(leadership),
    }));
    tools.push(Arc::new(TeamDelete {
        spawn_context,
        context: Arc::clone(context),
        leadership: Arc::clone(leadership),
    }));
    tools
}

fn worktree_source(parts: &LeadParts) -> WorktreeIsolator {
    let dep = &parts.spawn_context;
    WorktreeIsolator {
        worktrees: dep.worktrees.clone(),
        clock: Arc::clone(&dep.clock),
        process: dep.process.mark(),
    }
}

/// Environment of the lead's shell commands and MCP servers, with the marks that identify them.
fn shell_env(parts: &LeadParts) -> BTreeMap<String, String> {
    let dep = &parts.spawn_context;
    let mut env = dep.workspace.env.clone();
    env.extend(lead_marks(&dep.root, dep.spawn_id, &dep.process));
    env
}

/// Returns the blocks of the system prompt, except the environment. They are constant for the
/// conversation.
pub(super) fn system_prompt(parts: &LeadParts) -> Vec<String> {
    let scratchpad = parts.spawn_context.definition.config.scratchpad.iter();
    let mut blocks = if parts.is_coordinator {
        let mut blocks = vec![prompt!("coordinator").to_owned()];
        blocks.extend(scratchpad.map(|path| scratchpad_section(path)));
        blocks
    } else {
        vec![lead_prompt(parts)]
    };
    blocks.extend(parts.instructions.iter().cloned());
    blocks
}

fn lead_prompt(parts: &LeadParts) -> String {
    let situation = if parts.is_interactive {
        prompt!("lead-interactive")
    } else {
        prompt!("lead-headless")
    };
    [situation, prompt!("lead"), prompt!("software-work")].join("\n\n")
}
