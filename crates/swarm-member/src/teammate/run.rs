//! A teammate process from its start to its end.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use swarm_os::DirectoryWatcher;
use swarm_os::process::{self, KnownProcesses, Process, Target, forbid_inspection};
use swarm_protocol::{
    DefinitionReport, Hello, LifeKind, LifeRecord, Member, MemberState, SANDBOX_HELPER, SPAWN_MARK,
    SpawnId,
};
use swarm_store::{BlockOn as _, Lease, StoreError, TeamStore, Topic};
use swarm_team::{MemberIdentity, MemberSpec, processes_of_spawn};
use swarm_tools::{Caller, Confinement, ProtectedPaths, ToolContext};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::member_loop::END_HOOKS;
use crate::servers::start_servers;
use crate::teammate::assemble::{Teammate, assemble};
use crate::teammate::error::Ending;
use crate::teammate::{ProcessFacts, TeammateError, TeammateParts};

/// How much longer than its spawner a child waits for the commit, so that the spawner decides
/// first.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long its sub-agents and background commands may take to stop.
const ENDING: Duration = Duration::from_secs(10);

/// Processes started by this one: its descendants, even without a mark, and all processes with the
/// mark of its spawn. In its lead's process only the latter, because the descendants are also those
/// of the lead and of other members.
fn started_by(process: &ProcessFacts, root: &Path, spawn: SpawnId) -> Target {
    if process.life_kind() == LifeKind::Task {
        return processes_of_spawn(root, spawn);
    }
    let own = &process.identity;
    let own = own.pid.try_into().ok().zip(own.start.parse().ok());
    let own = own.map(|(pid, start)| Process { pid, start });
    Target {
        marks: vec![(SPAWN_MARK.to_owned(), spawn.to_string())],
        processes: own.map(KnownProcesses::from).unwrap_or_default(),
        cleans_up: Some(SANDBOX_HELPER),
        ..Target::default()
    }
}

/// Runs a teammate from the start of its process, or of its task, to its end. On return, all
/// processes that it started are terminated.
///
/// # Errors
/// [`TeammateError`] when the team's files or the transcript cannot be used.
pub async fn run(mut parts: TeammateParts) -> Result<Ending, TeammateError> {
    let (spec, deadline) = (parts.order.spec.clone(), parts.order.deadline);
    let process = parts.process.clone();
    let clock = Arc::clone(&parts.clock);
    let termination = parts.terminate.clone();
    let store = parts
        .store
        .with_lock_interrupt(termination.lock_interrupt());
    parts.store = Arc::clone(&store);
    let identity = spec.identity.clone();
    let (team, name) = (&identity.agent.team, &identity.agent.name);
    let watcher = Arc::new(DirectoryWatcher::in_runtime(&Handle::current()));

    let started = started_by(&process, &parts.root, spec.identity.spawn_id);
    let life = Arc::new(take_life(&*store, &spec, &process)?);
    let files = store.team(team);
    let logs = files.local_directory(name);
    let (mcp, definition) = (&spec.definition.config.mcp, spec.definition.own.as_ref());
    let confine = spec.workspace.worktree.as_ref();
    let sandbox = ToolContext {
        env: Arc::new(spec.workspace.env.clone()),
        guards: Arc::new(spec.definition.config.shell.clone()),
        protected: Arc::new(ProtectedPaths::new(&parts.root)),
        confine: confine.map(|tree| Arc::new(Confinement::new(&tree.toplevel))),
        ..ToolContext::new(spec.workspace.cwd.clone(), Caller::new(name.clone()))
    };
    let stop = termination.token();
    let servers = start_servers(mcp, definition, sandbox, Some(logs), stop).await;
    // Its inbox is watched before hello is written.
    let Teammate {
        mut member,
        tool_names,
        definition,
    } = assemble(parts, &watcher, &servers, &life)?;
    for problem in &servers.main.problems {
        member.reporter.notice(problem.to_string());
    }
    member.context().note_who_leads(&*files).await?;
    member.runtime.start(member.session.parts()).await?;
    // Its rights are known with its hello.
    member.reporter.posted().await;
    let hello = hello(&spec, &process, tool_names, definition);
    // It is not needed while the member runs.
    drop(spec);
    files.write_hello(name, &hello).await?;
    let Some(committed) = await_commit(
        &*store,
        &watcher,
        &identity,
        deadline.since(clock.now()),
        stop,
    )
    .await?
    else {
        member.reporter.notice("this spawn was cancelled; exiting");
        return Ok(Ending::NotWanted);
    };
    let spawn_id = identity.spawn_id;
    member.role.mail.joined(spawn_id, committed.joined_at);
    let is_resumed = member.session.totals().requests > 0;
    member.begin_session(is_resumed).await;
    if is_resumed {
        member.tell_team();
    }
    let ending = member.run().await;
    member.mail.finish_writes().await;
    member.sub_agents.shut_down(ENDING).await;
    let reason = ending.as_ref().map_or("failed", |ending| ending.reason());
    // The process was asked to stop before; that does not interrupt these hooks.
    let never = CancellationToken::new();
    member.end_session(reason, &never, END_HOOKS).await;
    servers.close().await;
    member.runtime.stop().await;
    process::end(started, process::GRACE).await;
    if matches!(ending, Ok(Ending::Terminated)) {
        // Not a handshake, so it is reported to the lead like a death. Reported last, because a
        // member of this name can be respawned after it.
        let cause = Some(termination.cause().to_owned());
        member.reporter.state(MemberState::Dead, cause);
    }
    member.reporter.written().await;
    ending
}

/// Takes the life lock of this member and protects its process from inspection by others of the
/// same user.
fn take_life(
    store: &dyn TeamStore,
    spec: &MemberSpec,
    process: &ProcessFacts,
) -> Result<Lease, TeammateError> {
    let shell = &spec.definition.config.shell;
    let is_ours = spec.runtime.program.is_none();
    let record = LifeRecord {
        confined: shell.cut_terminals(),
        off_loopback: is_ours && shell.cut_loopback(),
        ..process
            .identity
            .life_record(process.life_kind(), spec.identity.spawn_id)
    };
    let taken = store
        .team(&spec.identity.agent.team)
        .take_life(&spec.identity.agent.name, &record)
        .block_on();
    let life = taken.map_err(|error| match error {
        StoreError::Fs(_) | StoreError::LeaseHeld { .. } => TeammateError::Life(error),
        error => error.into(),
    })?;
    // Not before: until then only the mark in its environment identifies this process.
    forbid_inspection();
    Ok(life)
}

/// Returns the effective values that this process reports.
fn hello(
    spec: &MemberSpec,
    process: &ProcessFacts,
    tools: Vec<String>,
    definition: Option<DefinitionReport>,
) -> Hello {
    Hello {
        spawn_id: spec.identity.spawn_id,
        pid: process.identity.pid,
        proc_start: process.identity.start.clone(),
        pane: process.pane.clone(),
        cwd: process.cwd.clone(),
        worktree: process.worktree.clone(),
        model: spec.runtime.model.clone(),
        mode: spec.permissions.mode,
        tools,
        session_id: spec.identity.session_id,
        version: process.version.clone(),
        definition,
    }
}

/// Waits until the roster has this spawn as committed, until its deadline in `left_ms`. `None` if
/// it was cancelled, or if this process is asked to stop.
async fn await_commit(
    store: &dyn TeamStore,
    watcher: &DirectoryWatcher,
    identity: &MemberIdentity,
    left_ms: u64,
    stop: &CancellationToken,
) -> Result<Option<Member>, TeammateError> {
    let team = &identity.agent.team;
    let mut roster = store.team(team).watch(watcher, &Topic::Roster);
    let wait = Duration::from_millis(left_ms) + PATIENCE;
    let deadline = tokio::time::Instant::now() + wait;
    loop {
        let config = match store.team(team).config().await {
            Ok(config) => config,
            Err(StoreError::TeamNotFound { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let member = config.member(&identity.agent.name);
        let Some(member) = member.filter(|member| member.spawn_id() == Some(identity.spawn_id))
        else {
            return Ok(None);
        };
        let committed = member
            .swarm
            .as_ref()
            .is_some_and(|swarm| swarm.reservation.is_none());
        if committed {
            return Ok(Some(member.clone()));
        }
        tokio::select! {
            () = roster.changed() => {}
            () = stop.cancelled() => return Ok(None),
            () = tokio::time::sleep_until(deadline) => return Ok(None),
        }
    }
}
