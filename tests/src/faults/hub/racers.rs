//! The processes that compete for tasks, and the history of the tasks.

use std::time::{Duration, Instant};

use swarm_os::Liveness;
use swarm_protocol::{Clock as _, Event, SpawnId, SystemClock, TaskId, UnixMs};
use swarm_store::{BlockOn as _, Cursor};

use super::machines::Machines;
use super::workers::{Racer, racer_log};
use crate::faults::dice::Dice;
use crate::faults::ground::{commit, name};
use crate::faults::history::{Call, Effect, History};
use crate::faults::log::{lines, monotonic_nanos, path_of};
use crate::faults::tasks::{enter, release_failed};
use crate::faults::workers::{Programs, Worker};

/// Pause between two looks at racers that are not finished.
const PAUSE: Duration = Duration::from_millis(150);

pub(super) struct Racers<'a> {
    programs: &'a Programs,
    /// How long they work on a task.
    effort: Duration,
    all: Vec<Racer>,
    /// Racers that count as dead and may not know it yet.
    former: Vec<Worker>,
    /// All spawns of racers, by number.
    spawns: Vec<SpawnId>,
    history: History,
    /// Up to where the journal was read.
    read: Cursor,
    /// Number of tasks that were released because their owner was lost.
    pub(super) released: usize,
    /// Number of racers that were lost: killed, or without a lease.
    pub(super) lost: usize,
    /// Number of racers that were killed while they owned a task, and of others that were.
    pub(super) kills: (usize, usize),
}

impl<'a> Racers<'a> {
    pub(super) fn new(programs: &'a Programs, effort: Duration) -> Self {
        Self {
            programs,
            effort,
            all: Vec::new(),
            former: Vec::new(),
            spawns: Vec::new(),
            history: History::default(),
            read: Cursor::default(),
            released: 0,
            lost: 0,
            kills: (0, 0),
        }
    }

    /// Starts racers on all machines.
    pub(super) fn start(&mut self, machines: &Machines, count: usize) {
        for at in 0..count {
            self.start_one(machines, &format!("c{at}"), machines.of(at));
        }
    }

    fn start_one(&mut self, machines: &Machines, name: &str, at: usize) {
        let number = self.spawns.len();
        let racer = machines.racer(self.programs, name, at, number, self.effort);
        self.spawns.push(racer.spawn);
        self.all.push(racer);
    }

    /// Kills a racer that has held its lease, with a task if one has. Another one is still being
    /// spawned.
    pub(super) fn kill_one(&mut self, dice: &mut Dice) {
        let (mut owners, mut others) = (Vec::new(), Vec::new());
        for (at, racer) in self.all.iter().enumerate() {
            let Some(process) = racer.process.as_ref().filter(|_| racer.is_committed) else {
                continue;
            };
            let said = process.said();
            let last = said.last().map_or("", |line| line.word(0));
            if ["claimed", "completing"].contains(&last) {
                owners.push(at);
            } else {
                others.push(at);
            }
        }
        let (from, kills) = match (owners.is_empty(), others.is_empty()) {
            (false, _) => (owners, &mut self.kills.0),
            (true, false) => (others, &mut self.kills.1),
            (true, true) => return,
        };
        *kills += 1;
        drop(self.all[*dice.pick(&from)].process.take());
    }

    /// Records deaths, and starts racers again that the team counts as dead.
    pub(super) fn replace_lost(&mut self, machines: &Machines) {
        let team = &*machines.team;
        for racer in self.all.iter_mut().filter(|racer| !racer.is_committed) {
            let process = racer.process.as_ref();
            if process.is_some_and(|process| !process.said().is_empty()) {
                commit(team, racer.spawn);
                racer.is_committed = true;
            }
        }
        // Nodes and orders of members record deaths too, and only the journal has all of them. What
        // another process has only begun to record is completed before the name is used again.
        let events = team.events_from(self.read).block_on().expect("the journal");
        self.read = events.next;
        team.reconcile().block_on().expect("a reconciliation");
        for entry in events.entries {
            if let Event::MemberDied {
                spawn_id, released, ..
            } = entry.event
            {
                self.replace(machines, spawn_id, entry.at, &released);
            }
        }
        release_failed(team);
    }

    /// Replaces a racer, unless it has exited because all tasks were completed.
    fn replace(&mut self, machines: &Machines, spawn: SpawnId, at: UnixMs, released: &[TaskId]) {
        let number = self.spawns.iter().position(|known| *known == spawn);
        // The member of a node has no tasks.
        let Some(number) = number else { return };
        let call = Call {
            effect: Effect::Release(number_of(number)),
            began: monotonic(at),
            returned: monotonic_nanos(),
            perhaps: false,
        };
        for task in released {
            self.history.enter(task.number(), call);
        }
        self.released += released.len();
        let lost = self.all.iter().position(|racer| racer.spawn == spawn);
        let lost = self.all.swap_remove(lost.expect("a racer dies once"));
        let said = lines(&path_of(&machines.logs, &racer_log(number)));
        let has_finished = said.last().is_some_and(|line| line.word(0) == "finished");
        self.former.extend(lost.process);
        if !has_finished {
            self.start_one(machines, &lost.name, lost.at);
            self.lost += 1;
        }
    }

    /// Waits until all racers have finished. One that loses its lease exits too, and is replaced.
    ///
    /// # Panics
    /// If they do not in time, or a lease is left.
    pub(super) fn finish(&mut self, machines: &Machines, at_most: Duration) {
        let end = Instant::now() + at_most;
        loop {
            self.replace_lost(machines);
            let has_finished = |racer: &mut Racer| {
                let process = racer.process.as_mut();
                process.is_some_and(Worker::has_finished)
            };
            let left: Vec<String> = self
                .all
                .iter_mut()
                .filter_map(|racer| (!has_finished(racer)).then(|| racer.name.clone()))
                .collect();
            if left.is_empty() {
                break;
            }
            assert!(Instant::now() < end, "racers do not finish: {left:?}");
            std::thread::park_timeout(PAUSE);
        }
        self.former.drain(..).for_each(Worker::finish);
        for racer in &self.all {
            let lease = machines.team.lease(&name(&racer.name)).block_on();
            assert_eq!(lease.expect("a lease"), Liveness::Dead, "{}", racer.name);
        }
    }

    /// Returns the tasks whose operations are not linearizable.
    pub(super) fn unsound(&mut self, machines: &Machines) -> Vec<u64> {
        for number in 0..self.spawns.len() {
            let said = lines(&path_of(&machines.logs, &racer_log(number)));
            enter(&mut self.history, number_of(number), &said);
        }
        self.history.unsound()
    }
}

fn number_of(spawn: usize) -> u64 {
    u64::try_from(spawn).unwrap_or(u64::MAX)
}

/// Returns the time of the clock of logs at the beginning of a millisecond.
fn monotonic(at: UnixMs) -> u64 {
    let passed = SystemClock.now().since(at) + 1;
    monotonic_nanos().saturating_sub(passed * 1_000_000)
}
