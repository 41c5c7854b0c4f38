//! Assembly of a teammate from its order.

use std::path::Path;
use std::sync::Arc;

use swarm_agent::{
    EventSink, LoadedDefinition, ProgramDocs, Rights, SessionLimits, find_transcript,
    scratchpad_rules,
};
use swarm_mcp::ProcessServers;
use swarm_os::DirectoryWatcher;
use swarm_panes::{BackendKind, backend_kind};
use swarm_permissions::{AgentKind, Behavior, PoolRequest, ReadFilter, RuleSet, ToolCeiling};
use swarm_protocol::{Clock, DefinitionReport, LifeKind, RightsReport, RuleText, SpawnId};
use swarm_store::{Lease, TeamStore, Topic};
use swarm_team::{MemberContext, MemberSpec, SendMessageTool, StateKeeper, WorkMerger};
use swarm_tools::{Confinement, prompt};
use swarm_ui::{PaneHeader, PaneView, Theme};

use crate::assemble::{MemberSetup, session_limits};
use crate::mail::MailHandler;
use crate::peers::TeammatePeers;
use crate::reporter::{PaneSink, Reporter, ReporterParts};
use crate::role::MemberLoop;
use crate::servers::require;
use crate::teammate::lead_watch::LeadWatch;
use crate::teammate::mail::TeammateMail;
use crate::teammate::role::TeammateRole;
use crate::teammate::suspension::PauseWatch;
use crate::teammate::task_follow_up::TaskFollowUp;
use crate::teammate::turn_reporter::TurnReporter;
use crate::teammate::{ProcessFacts, TeammateError, TeammatePane, TeammateParts};

/// The hint in a pane while the member waits for a sub-agent.
const TO_BACKGROUND: &str = "to continue without waiting for it: Ctrl-B";

/// A teammate that is ready to send hello.
pub(crate) struct Teammate {
    pub(crate) member: MemberLoop<TeammateRole>,
    pub(crate) tool_names: Vec<String>,
    /// The effective part of its definition.
    pub(crate) definition: Option<DefinitionReport>,
}

pub(crate) fn assemble(
    mut parts: TeammateParts,
    watcher: &Arc<DirectoryWatcher>,
    servers: &ProcessServers,
    lease: &Arc<Lease>,
) -> Result<Teammate, TeammateError> {
    // A process that was asked to stop meanwhile lacks servers because of that.
    if let Some(definition) = &parts.order.spec.definition.own
        && !parts.terminate.token().is_cancelled()
    {
        require(definition, servers)?;
    }
    let reporter = Arc::new(reporter(&mut parts));
    let (spec, root, home) = (parts.order.spec, parts.root, parts.home);
    let (store, clock) = (parts.store, parts.clock);
    let context = context(store, clock, parts.merger, &spec, &reporter);
    let role_mail = Arc::new(TeammateMail::new(parts.terminate.lock_interrupt()));
    let mail = MailHandler::new(Arc::clone(&context), role_mail.clone());
    let role = role(
        &spec,
        parts.process.clone(),
        &role_mail,
        &reporter,
        watcher,
        &context,
        lease,
    );
    let mut rules = spec.permissions.rules.clone();
    let loaded = load_definition(&spec, &root, parts.process.machine.docs)?;
    rules.extend(loaded.rules.clone());
    rules.extend(scratchpad_rules(spec.definition.config.scratchpad.as_ref()));
    let unreadable = ReadFilter::denials(&rules, &spec.workspace.cwd, home.as_deref())
        .anchored(spec.permissions.anchors.clone());
    let (config, definition) = (&spec.definition.config, spec.definition.own.as_ref());
    let limits = session_limits(
        config,
        &spec.runtime.model,
        definition,
        spec.limits.max_requests,
    );
    let definition = report(&spec, &limits, &loaded);
    let rights = Arc::new(rights(&context, &spec, rules, &reporter));
    role_mail.may_change(&rights, &context, &reporter);
    let setup = MemberSetup {
        mail: Arc::new(mail),
        reporter,
        rights,
        watcher: Arc::clone(watcher),
        services: parts.services,
        model_name: spec.runtime.model.clone(),
        isolator: parts.isolator,
        definition: spec.definition.clone(),
        workspace: spec.workspace.clone(),
        system: system_prompt(&spec, &loaded.instructions),
        send_message: SendMessageTool::for_teammate(
            Arc::clone(&context),
            Arc::clone(&role_mail.shutdown),
        ),
        role_tools: Vec::new(),
        limits,
        permission_timeout: spec.limits.permission_timeout(),
        unreadable,
        confine: confinement(&spec, loaded.memory.as_deref()),
        transcript: find_transcript(&root, &spec.workspace.cwd, spec.identity.session_id),
        root,
        home,
        session: spec.identity.session_id,
        host: parts.process.machine,
        version: parts.process.version,
    };
    // The same in every backend.
    let pool = PoolRequest {
        kind: match role.process.life_kind() {
            LifeKind::Process => AgentKind::TeammateProcess,
            LifeKind::Task => AgentKind::TeammateInProcess,
        },
        levels_left: spec.definition.config.limits.max_depth,
        mode: spec.permissions.mode,
        definition: spec.definition.own.as_ref(),
        above: &ToolCeiling::default(),
    };
    let (peers, stop) = (TeammatePeers(context), parts.terminate.token().clone());
    let (mut member, tool_names) = setup.open(
        servers,
        Arc::new(peers),
        Some(&pool),
        role,
        stop,
        parts.person,
    )?;
    // A continued conversation already had its first prompt.
    if member.session.totals().requests == 0 && !member.session.needs_turn() {
        member.initial_prompt = spec
            .definition
            .own
            .and_then(|definition| definition.initial_prompt);
    }
    Ok(Teammate {
        member,
        tool_names,
        definition,
    })
}

fn context(
    store: Arc<dyn TeamStore>,
    clock: Arc<dyn Clock>,
    merger: Option<Arc<dyn WorkMerger>>,
    spec: &MemberSpec,
    reporter: &Arc<Reporter>,
) -> Arc<MemberContext> {
    let events = Arc::clone(reporter);
    let context = Arc::new(MemberContext::teammate(
        store,
        clock,
        &spec.identity.agent,
        spec.identity.spawn_id,
        spec.identity.color,
        move |event| events.emit(event),
    ));
    context.pin_key(spec.permissions.verify_key.clone());
    context.expect_answers_within(spec.limits.answer_timeout());
    if let Some(merger) = merger {
        context.merge_with(merger);
    }
    if spec.runtime.program.is_some() {
        context.use_agent_program();
    }
    context
}

/// Returns where a member in a worktree may write; `memory` is its memory directory.
fn confinement(spec: &MemberSpec, memory: Option<&Path>) -> Option<Confinement> {
    let confined = Confinement::new(&spec.workspace.worktree.as_ref()?.toplevel);
    let scratchpad = spec.definition.config.scratchpad.as_deref();
    let also = memory.into_iter().chain(scratchpad);
    Some(also.fold(confined, Confinement::also))
}

fn role(
    spec: &MemberSpec,
    process: ProcessFacts,
    mail: &Arc<TeammateMail>,
    reporter: &Arc<Reporter>,
    watcher: &Arc<DirectoryWatcher>,
    context: &Arc<MemberContext>,
    lease: &Arc<Lease>,
) -> TeammateRole {
    let team = context.store.team(&spec.identity.agent.team);
    let (name, on_lost) = (context.name.clone(), spec.limits.on_lost);
    let changes = team.watch(watcher, &Topic::Tasks);
    let tasks = TaskFollowUp::new(Arc::clone(context), Arc::clone(&team), spec.limits.remind);
    TeammateRole {
        lease: Arc::clone(lease),
        mail: Arc::clone(mail),
        process,
        grace: spec.limits.shutdown_grace(),
        lead: LeadWatch::new(Arc::clone(watcher), Arc::clone(&team), on_lost),
        pause: PauseWatch::new(watcher, Arc::clone(&team), name, spec.identity.spawn_id),
        reports: TurnReporter::new(Arc::clone(context), Arc::clone(reporter), tasks, changes),
        team,
        shutdown_deadline: None,
        suspension: None,
        lost: None,
        kept_busy: 0,
        ended_by_hook: None,
    }
}

/// Additions of its definition: a prompt, skills, rules and memory.
fn load_definition(
    spec: &MemberSpec,
    root: &Path,
    docs: ProgramDocs,
) -> Result<LoadedDefinition, TeammateError> {
    let Some(definition) = &spec.definition.own else {
        return Ok(LoadedDefinition::default());
    };
    let mut loaded = LoadedDefinition::of(
        definition,
        &spec.definition.config.skills,
        &spec.workspace.cwd,
        root,
        docs,
    )?;
    if !definition.prompt.trim().is_empty() {
        let text = format!("# Your role: {}\n{}", definition.name, definition.prompt);
        loaded.instructions.insert(0, text);
    }
    Ok(loaded)
}

/// Returns the effective part of its definition, for hello.
fn report(
    spec: &MemberSpec,
    limits: &SessionLimits,
    loaded: &LoadedDefinition,
) -> Option<DefinitionReport> {
    let definition = spec.definition.own.as_ref()?;
    Some(DefinitionReport {
        agent_type: definition.name.clone(),
        model_source: spec.runtime.model_source.map(|source| source.to_string()),
        max_turns: limits.max_turns,
        effort: limits.effort,
        skills: definition.skills.clone(),
        memory: loaded.memory.clone(),
        initial_prompt: definition.initial_prompt.is_some(),
    })
}

/// Returns the permissions of the member, and writes them to a file for people.
fn rights(
    context: &Arc<MemberContext>,
    spec: &MemberSpec,
    rules: RuleSet,
    reporter: &Arc<Reporter>,
) -> Rights {
    let (context, reporter) = (Arc::clone(context), Arc::clone(reporter));
    let (agent, spawn_id) = (spec.identity.agent.clone(), spec.identity.spawn_id);
    let order = Arc::<tokio::sync::Mutex<()>>::default();
    let rights = Rights::new(spec.permissions.mode, rules, spec.permissions.ceiling)
        .after_approval(spec.permissions.work_mode)
        .anchored(spec.permissions.anchors.clone());
    rights.on_change(move |rights| {
        let team = context.store.team(&agent.team);
        let report = in_force(rights, spawn_id);
        let (agent, order) = (agent.clone(), Arc::clone(&order));
        reporter.post(async move {
            // In the order of the changes.
            let _turn = order.lock().await;
            let mut written = team.write_rights(&agent.name, &report).await;
            if written.is_ok() {
                written = team.set_mode(&agent.name, report.mode).await;
            }
            if let Err(error) = written {
                // No decision depends on the files.
                tracing::warn!(agent = %agent, %error, "cannot write the rights");
            }
        });
    })
}

fn in_force(rights: &Rights, spawn_id: SpawnId) -> RightsReport {
    let rules = rights.rules();
    let texts = |behavior: Behavior| rules.list(behavior).iter().map(RuleText::from).collect();
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

fn reporter(parts: &mut TeammateParts) -> Reporter {
    let (spec, pane) = (&parts.order.spec, parts.order.pane);
    let theme = Theme {
        color: pane.color,
        width: None,
    };
    let header = PaneHeader {
        name: spec.identity.agent.name.clone(),
        color: spec.identity.color,
        team: Some(spec.identity.agent.team.clone()),
        model: spec.runtime.model.clone(),
        mode: spec.permissions.mode,
        cwd: spec.workspace.cwd.clone(),
        home: parts.home.clone(),
    };
    let plain = TeammatePane::plain(Box::new(std::io::sink()));
    let TeammatePane {
        screen,
        width,
        links,
        status,
    } = std::mem::replace(&mut parts.pane, plain);
    let keeper = StateKeeper::new(
        spec.identity.agent.name.clone(),
        spec.identity.spawn_id,
        parts.clock.now(),
    );
    let view = PaneView::measured(screen, theme, width, &header);
    let view = match links {
        Some(links) => view.linked(links),
        None => view,
    };
    let kind = backend_kind(&parts.process.backend);
    let view = if kind.is_some_and(BackendKind::shows_titles) {
        view.titled(spec.identity.agent.name.clone(), pane.bell)
    } else {
        view
    };
    let view = match &parts.person {
        None => view,
        Some(_) => view.hinting(format!(
            "{TO_BACKGROUND}{}",
            kind.map_or("", BackendKind::key_hint)
        )),
    };
    let team = parts.store.team(&spec.identity.agent.team);
    Reporter::new(ReporterParts {
        clock: Arc::clone(&parts.clock),
        name: spec.identity.agent.name.clone(),
        team: Box::new(move || Some(Arc::clone(&team))),
        keeper,
        view: Arc::new(PaneSink::new(view).with_status(status)),
    })
}

/// Returns the blocks of the system prompt, except the environment, with the text of its
/// definition. They are constant for the conversation, so that a provider can cache them.
pub(crate) fn system_prompt(spec: &MemberSpec, of_definition: &[String]) -> Vec<String> {
    let mut blocks = vec![format!(
        "{}\n\n{}",
        identity(spec),
        prompt!("software-work")
    )];
    blocks.extend(of_definition.iter().cloned());
    blocks.extend(spec.definition.instructions.iter().cloned());
    blocks
}

fn identity(spec: &MemberSpec) -> String {
    let agent = &spec.identity.agent;
    prompt!("teammate")
        .replace("{name}", agent.name.as_str())
        .replace("{team}", agent.team.as_str())
        .replace("{agent}", &agent.to_string())
}
