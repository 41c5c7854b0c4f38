//! A teammate from its first breath to its end.

use std::sync::Arc;

use swarm_fs::process::{self, Process, Target};
use swarm_fs::{FolderWatcher, NameFilter};
use swarm_protocol::{MemberState, SPAWN_MARK, SpawnId};
use tokio::runtime::Handle;

use crate::teammate::assemble::{Assembled, assemble};
use crate::teammate::debrief::Debrief;
use crate::teammate::duty::Duty;
use crate::teammate::hold::PauseWatch;
use crate::teammate::lead_watch::LeadWatch;
use crate::teammate::life::Life;
use crate::teammate::outbox::Outbox;
use crate::teammate::person::Person;
use crate::teammate::servers;
use crate::teammate::start::{await_commit, hello, take_life};
use crate::teammate::{ProcessFacts, TeammateError, TeammateParts};

/// How a teammate's life ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It agreed to a shutdown request.
    ShutDown,
    /// The process was told to end.
    Terminated,
    /// Its spawn was called off before it began.
    NotWanted,
    /// The process that led its team is gone, and it was told to end then.
    LeadLost,
    /// Its team or its place in the roster is gone.
    Removed,
}

/// What this process starts: its descendants, those without a mark too, and whatever bears the mark of its spawn.
fn started_by(process: &ProcessFacts, spawn: SpawnId) -> Target {
    let own = process.pid.try_into().ok().zip(process.start.parse().ok());
    let own = own.map(|(pid, start)| Process { pid, start });
    Target {
        marks: vec![(SPAWN_MARK.to_owned(), spawn.to_string())],
        processes: own.into_iter().collect(),
        ..Target::default()
    }
}

/// Runs a teammate from its first breath to its end. On return no process that its shell started is left.
///
/// # Errors
/// [`TeammateError`] when the team's files or the transcript cannot be used.
pub async fn run(mut parts: TeammateParts) -> Result<Ending, TeammateError> {
    let store = Arc::clone(&parts.store);
    let order = parts.order.clone();
    let process = parts.process.clone();
    let clock = Arc::clone(&parts.clock);
    let termination = parts.terminate.clone();
    let terminate = termination.token().clone();
    let inputs = parts.person.take();
    let watcher = Arc::new(FolderWatcher::in_runtime(&Handle::current()));
    let inbox_name = format!("{}.json", order.agent.name).into();
    let inbox = watcher.subscribe(
        &store.inbox_folder(&order.agent.team),
        NameFilter::Exact(vec![inbox_name]),
    );

    let started = started_by(&process, order.spawn_id);
    let _life = take_life(&*store, &order, &process)?;
    let servers = servers::start(&order, &*store, &terminate).await;
    let assembled = assemble(parts, &watcher, &servers)?;
    for problem in servers.problems() {
        assembled.reporter.notice(problem.to_string());
    }
    assembled.seat.note_who_leads(&order.agent.team)?;
    let tools = assembled.tool_names.clone();
    store.write_hello(
        &order.agent.team,
        &order.agent.name,
        &hello(&order, &process, tools, assembled.definition.clone()),
    )?;
    let Some(member) = await_commit(&*store, &watcher, &order, clock.now()).await? else {
        assembled
            .reporter
            .notice("this spawn was called off; leaving");
        return Ok(Ending::NotWanted);
    };
    let Assembled {
        session,
        seat,
        desk,
        reporter,
        initial_prompt,
        sub_agents,
        ..
    } = assembled;
    desk.joined(member.joined_at);
    let (team, name) = (order.agent.team.clone(), order.agent.name.clone());
    let person = Person::new(inputs, Arc::clone(&desk), Arc::clone(&reporter));
    let duty = Duty::new(Arc::clone(&seat), team.clone(), order.limits.remind);
    let outbox = Outbox::new(Arc::clone(&seat), team.clone());
    let debrief = Debrief::new(Arc::clone(&seat), Arc::clone(&reporter), duty, outbox);
    let mut life = Life {
        person,
        lead: LeadWatch::new(Arc::clone(&store), team.clone()),
        pause: PauseWatch::new(
            Arc::clone(&store),
            &watcher,
            team.clone(),
            name,
            order.spawn_id,
        ),
        on_lost: order.limits.on_lost,
        team,
        model: order.model.clone(),
        grace: order.limits.shutdown_grace(),
        store,
        session,
        seat,
        desk,
        reporter,
        sub_agents,
        inbox,
        terminate,
        process,
        watcher,
        initial_prompt,
        hold: None,
        takeover: None,
        debrief,
        trouble: None,
        shutdown_deadline: None,
        resting: None,
        context: Vec::new(),
        kept_busy: 0,
        ended_by_hook: None,
    };
    life.begin_session().await;
    let reporter = Arc::clone(&life.reporter);
    let ending = life.go_on().await;
    life.desk.settle();
    life.sub_agents.shut_down().await;
    life.end_session(ending.as_ref().ok().copied()).await;
    servers.close().await;
    process::end(started, process::GRACE).await;
    if matches!(ending, Ok(Ending::Terminated)) {
        // Not by the handshake, so the lead is to hear of it as of any other death. Said last: whoever reads it may start
        // another member of this name at once.
        reporter.state(MemberState::Dead, Some(termination.cause().to_owned()));
    }
    ending
}
