//! A teammate process from its start to its end.

use std::sync::Arc;

use swarm_fs::FolderWatcher;
use swarm_fs::process::{self, Process, Target};
use swarm_protocol::{MemberState, SPAWN_MARK, SpawnId};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::member_loop::{InboxWatch, MemberLoop};
use crate::person::Person;
use crate::teammate::assemble::{Assembled, assemble};
use crate::teammate::lead_watch::LeadWatch;
use crate::teammate::role::TeammateRole;
use crate::teammate::servers;
use crate::teammate::start::{await_commit, hello, take_life};
use crate::teammate::suspension::PauseWatch;
use crate::teammate::task_follow_up::TaskFollowUp;
use crate::teammate::turn_reporter::TurnReporter;
use crate::teammate::{ProcessFacts, TeammateError, TeammateParts};

/// How a teammate ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It agreed to a shutdown request.
    ShutDown,
    /// The process was told to stop.
    Terminated,
    /// Its spawn was cancelled before it began.
    NotWanted,
    /// The process that led its team is gone, and the member was configured to stop then.
    LeadLost,
    /// Its team or its place in the roster is gone.
    Removed,
}

impl Ending {
    /// The word that `SessionEnd` hooks get.
    fn reason(self) -> &'static str {
        match self {
            Self::ShutDown => "shutdown",
            Self::Terminated => "terminated",
            Self::LeadLost => "lead_lost",
            Self::Removed | Self::NotWanted => "removed",
        }
    }
}

/// What this process starts: its descendants, also those without a mark, and everything with the mark of its spawn.
fn started_by(process: &ProcessFacts, spawn: SpawnId) -> Target {
    let own = process.pid.try_into().ok().zip(process.start.parse().ok());
    let own = own.map(|(pid, start)| Process { pid, start });
    Target {
        marks: vec![(SPAWN_MARK.to_owned(), spawn.to_string())],
        processes: own.into_iter().collect(),
        ..Target::default()
    }
}

/// Runs a teammate from the start of its process to its end. On return no process that it started is left.
///
/// # Errors
/// [`TeammateError`] when the team's files or the transcript cannot be used.
pub async fn run(mut parts: TeammateParts) -> Result<Ending, TeammateError> {
    let store = Arc::clone(&parts.store);
    let order = parts.order.clone();
    let process = parts.process.clone();
    let clock = Arc::clone(&parts.clock);
    let termination = parts.terminate.clone();
    let stop = termination.token().clone();
    let inputs = parts.person.take();
    let watcher = Arc::new(FolderWatcher::in_runtime(&Handle::current()));

    let started = started_by(&process, order.spawn_id);
    let _life = take_life(&*store, &order, &process)?;
    let servers = servers::start(&order, &*store, &stop).await;
    let Assembled {
        session,
        mail,
        role_mail,
        reporter,
        initial_prompt,
        sub_agents,
        tool_names,
        definition,
    } = assemble(parts, &watcher, &servers)?;
    for problem in servers.problems() {
        reporter.notice(problem.to_string());
    }
    let (team, name) = (order.agent.team.clone(), order.agent.name.clone());
    let seat = Arc::clone(&mail.seat);
    // Watched before the lead hears of this member.
    let inbox = InboxWatch::new(Arc::clone(&watcher), Arc::clone(&seat));
    seat.note_who_leads(&team)?;
    let hello = hello(&order, &process, tool_names, definition);
    store.write_hello(&team, &name, &hello)?;
    let Some(member) = await_commit(&*store, &watcher, &order, clock.now()).await? else {
        reporter.notice("this spawn was called off; leaving");
        return Ok(Ending::NotWanted);
    };
    role_mail.joined(member.joined_at);
    let tasks = TaskFollowUp::new(Arc::clone(&seat), team.clone(), order.limits.remind);
    let role = TeammateRole {
        mail: role_mail,
        process,
        grace: order.limits.shutdown_grace(),
        lead: LeadWatch::new(
            Arc::clone(&store),
            Arc::clone(&watcher),
            team.clone(),
            order.limits.on_lost,
        ),
        pause: PauseWatch::new(store, &watcher, team.clone(), name, order.spawn_id),
        reports: TurnReporter::new(seat, Arc::clone(&reporter), tasks),
        team,
        shutdown_deadline: None,
        suspension: None,
        lost: None,
        kept_busy: 0,
        ended_by_hook: None,
    };
    let mut member = MemberLoop {
        role,
        session,
        person: Person::new(inputs, Arc::clone(&mail), Arc::clone(&reporter)),
        mail,
        reporter,
        sub_agents,
        inbox,
        model: order.model,
        stop,
        initial_prompt,
        context: Vec::new(),
        reported: None,
        trouble: None,
    };
    member
        .begin_session(member.session.totals().requests > 0)
        .await;
    let ending = member.run().await;
    member.mail.finish_writes();
    member.sub_agents.shut_down().await;
    let reason = ending.as_ref().map_or("failed", |ending| ending.reason());
    // The process was told to stop before; that does not interrupt these hooks.
    let never = CancellationToken::new();
    member.end_session(reason, &never).await;
    servers.close().await;
    process::end(started, process::GRACE).await;
    if matches!(ending, Ok(Ending::Terminated)) {
        // Not by the handshake, so the lead hears of it as of any other death. Reported last: another member of this
        // name may be started as soon as it is.
        let cause = Some(termination.cause().to_owned());
        member.reporter.state(MemberState::Dead, cause);
    }
    ending
}
