//! One run. Every acknowledged message is in the reader's transcript exactly once, in the order of its
//! sender. Each task is completed once, and the reported operations on it are linearizable.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use swarm_os::Liveness;
use swarm_protocol::{MemberName, MessageId, NewTask, SpawnId, TaskId, TaskStatus};
use swarm_store::{Actor, BlockOn as _, TaskChange};

use super::machines::Machines;
use super::workers::{Racer, racer_log};
use crate::faults::arrivals::arrivals;
use crate::faults::dice::{Dice, Seed};
use crate::faults::ground::{commit, join, name, new_task};
use crate::faults::history::{Call, Effect, History};
use crate::faults::log::{lines, monotonic_nanos, path_of};
use crate::faults::tasks::{enter, release_failed};
use crate::faults::worker::READER;
use crate::faults::workers::{Programs, Worker};
use crate::wait::wait_until;

/// Longest wait for the end of a run after the last fault.
const LAST: Duration = Duration::from_mins(3);
/// Longest pause between two faults.
const PAUSE: Duration = Duration::from_millis(150);
/// Longest time for which a link is cut.
const CUT: Duration = Duration::from_millis(400);
/// A cut that no lease survives.
const LONG_CUT: Duration = Duration::from_secs(14);

/// Parameters of a run.
#[derive(Debug, Clone)]
pub struct HubRun {
    /// Number of writers.
    pub writers: usize,
    /// Number of messages of each.
    pub messages: u64,
    /// Number of processes that compete for tasks.
    pub racers: usize,
    /// Number of times that a link is cut, with one more task each.
    pub cuts: usize,
    /// How many of them last longer than a lease.
    pub long_cuts: usize,
    /// Number of times that the server is killed.
    pub hub_kills: usize,
    /// Number of times that a writer, the reader and a racer is killed.
    pub kills: usize,
}

/// Result of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HubReport {
    /// Acknowledged sends.
    pub acknowledged: usize,
    /// Sends that were interrupted by a kill, or refused during an outage, and how many arrived.
    pub interrupted: (usize, usize),
    /// Completed tasks.
    pub tasks: usize,
    /// Tasks that were released because their owner was lost.
    pub released: usize,
    /// Racers that were lost: killed, or without a lease.
    pub lost: usize,
}

struct Storm<'a> {
    run: &'a HubRun,
    programs: &'a Programs,
    machines: Machines,
    racers: Vec<Racer>,
    /// Racers that count as dead and may not know it yet.
    former: Vec<Worker>,
    /// All spawns of racers, by number.
    spawns: Vec<SpawnId>,
    history: History,
    blockers: Vec<u64>,
    report: HubReport,
}

impl HubRun {
    /// Runs it.
    ///
    /// # Panics
    /// If a guarantee is violated.
    pub fn run(&self, programs: &Programs, seed: Seed) -> HubReport {
        let machines = Machines::start();
        join(&*machines.team, READER);
        let mut storm = Storm {
            run: self,
            programs,
            machines,
            racers: Vec::new(),
            former: Vec::new(),
            spawns: Vec::new(),
            history: History::default(),
            blockers: Vec::new(),
            report: HubReport::default(),
        };
        storm.blow(&mut Dice::new(seed));
        storm.judge();
        storm.report
    }
}

impl Storm<'_> {
    fn blow(&mut self, dice: &mut Dice) {
        let last = self.create(&NewTask {
            owner: Some(MemberName::lead()),
            ..new_task("the last", &[])
        });
        for at in 0..self.run.racers {
            self.start_racer(&format!("c{at}"), self.machines.of(at));
        }
        let names = self.writers();
        let start = |at: usize| {
            let place = self.machines.of(at);
            let (programs, end) = (self.programs, self.run.messages);
            self.machines.writer(programs, &names[at], place, end)
        };
        let mut writers: Vec<Worker> = (0..names.len()).map(start).collect();
        let mut reader = self.machines.reader(self.programs);
        for fault in 0..self.run.cuts {
            self.more_work(dice);
            let is_turn = |of: usize| of > 0 && fault % self.run.cuts.div_ceil(of) == 0;
            let is_long = is_turn(self.run.long_cuts);
            let at = dice.below(self.machines.links.len());
            self.machines.links[at].cut();
            if is_turn(self.run.hub_kills) {
                self.machines.server.stop();
                dice.linger(CUT);
                self.machines.server.resume();
            }
            if is_turn(self.run.kills) {
                let at = dice.below(writers.len());
                if writers[at].kill() {
                    let (name, place) = (&names[at], self.machines.of(at));
                    let end = self.run.messages;
                    writers[at] = self.machines.writer(self.programs, name, place, end);
                }
                assert!(reader.kill(), "the reader reads on");
                reader = self.machines.reader(self.programs);
                self.kill_racer(dice);
            }
            self.wait(if is_long { LONG_CUT } else { Duration::ZERO });
            dice.linger(CUT);
            self.machines.links[at].heal();
            dice.linger(PAUSE);
            self.replace_lost();
        }
        self.complete(last);
        self.finish_racers();
        let former = std::mem::take(&mut self.former);
        former.into_iter().chain(writers).for_each(Worker::finish);
        let team = &self.machines.team;
        let read = wait_until("everything is read", LAST, || {
            let unread = team.take_unread(&name(READER)).block_on().ok()?;
            unread.is_empty().then_some(())
        });
        read.expect("the reader reads on");
        assert!(reader.kill(), "the reader reads on");
    }

    fn writers(&self) -> Vec<String> {
        (0..self.run.writers).map(|at| format!("w{at}")).collect()
    }

    /// Waits, and replaces racers meanwhile.
    fn wait(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end {
            self.replace_lost();
            std::thread::park_timeout(PAUSE);
        }
    }

    fn create(&mut self, new: &NewTask) -> TaskId {
        let person = Actor::person(self.machines.team.name());
        let new = std::slice::from_ref(new);
        let created = self.machines.team.create_tasks(new, &person).block_on();
        created.expect("a task")[0]
    }

    /// Creates a task with up to two earlier blockers.
    fn more_work(&mut self, dice: &mut Dice) {
        let recent: Vec<u64> = self.blockers.iter().rev().take(12).copied().collect();
        let count = dice.below(3);
        let task = self.create(&new_task("work", &dice.sample(&recent, count)));
        self.blockers.push(task.number());
    }

    fn complete(&self, task: TaskId) {
        let done = TaskChange::from(TaskStatus::Completed);
        let team = &self.machines.team;
        team.update_task(&task, done, &Actor::person(team.name()))
            .block_on()
            .expect("it is a person's");
    }

    fn start_racer(&mut self, name: &str, at: usize) {
        let number = self.spawns.len();
        let racer = self.machines.racer(self.programs, name, at, number);
        self.spawns.push(racer.spawn);
        self.racers.push(racer);
    }

    /// Kills a racer that has held its lease: another one is still being spawned.
    fn kill_racer(&mut self, dice: &mut Dice) {
        let lives = |at: &usize| {
            let racer = &self.racers[*at];
            racer.is_committed && racer.process.is_some()
        };
        let living: Vec<usize> = (0..self.racers.len()).filter(lives).collect();
        if !living.is_empty() {
            let at = *dice.pick(&living);
            drop(self.racers[at].process.take());
        }
    }

    /// Records deaths, and starts racers again that the team counts as dead.
    fn replace_lost(&mut self) {
        for racer in self.racers.iter_mut().filter(|racer| !racer.is_committed) {
            let process = racer.process.as_ref();
            if process.is_some_and(|process| !process.said().is_empty()) {
                commit(&*self.machines.team, racer.spawn);
                racer.is_committed = true;
            }
        }
        let began = monotonic_nanos();
        let done = self.machines.team.reconcile().block_on();
        let returned = monotonic_nanos();
        for departure in done.expect("a reconciliation").died {
            let spawn = departure.spawn_id;
            let number = self.spawns.iter().position(|known| *known == spawn);
            let number = number.expect("a racer");
            let actor = u64::try_from(number).unwrap_or(u64::MAX);
            for task in departure.released {
                let call = Call {
                    effect: Effect::Release(actor),
                    began,
                    returned,
                    perhaps: false,
                };
                self.history.enter(task.number(), call);
                self.report.released += 1;
            }
            let at = self.racers.iter().position(|racer| racer.spawn == spawn);
            let lost = self.racers.swap_remove(at.expect("a racer"));
            let said = lines(&path_of(&self.machines.logs, &racer_log(number)));
            // All tasks are completed.
            let has_finished = said.last().is_some_and(|line| line.word(0) == "finished");
            self.former.extend(lost.process);
            if !has_finished {
                self.start_racer(&lost.name, lost.at);
                self.report.lost += 1;
            }
        }
        release_failed(&*self.machines.team);
    }

    /// Waits until all racers have finished. One that loses its lease exits too, and is replaced.
    fn finish_racers(&mut self) {
        let end = Instant::now() + LAST;
        loop {
            self.replace_lost();
            let has_finished = |racer: &mut Racer| {
                let process = racer.process.as_mut();
                process.is_some_and(Worker::has_finished)
            };
            if self.racers.iter_mut().all(has_finished) {
                return;
            }
            assert!(Instant::now() < end, "racers do not finish");
            std::thread::park_timeout(PAUSE);
        }
    }

    fn judge(&mut self) {
        let (team, logs) = (&self.machines.team, &self.machines.logs);
        let reader = name(READER);
        let inbox = team.inbox(&reader).block_on().expect("the inbox");
        let archived = team.archived_mail(&reader).block_on();
        let kept = inbox.entries.into_iter().filter(|entry| entry.read);
        let kept = kept.chain(archived.expect("the archive"));
        let kept: HashSet<MessageId> = kept.filter_map(|entry| entry.msg_id).collect();
        let arrivals = arrivals(logs, &self.writers(), &kept);
        self.report.acknowledged = arrivals.acknowledged;
        self.report.interrupted = (arrivals.cut, arrivals.cut_but_there);
        for number in 0..self.spawns.len() {
            let said = lines(&path_of(logs, &racer_log(number)));
            let number = u64::try_from(number).unwrap_or(u64::MAX);
            enter(&mut self.history, number, &said);
        }
        let twice = self.history.unsound();
        assert!(twice.is_empty(), "tasks were done twice: {twice:?}");
        let tasks = team.tasks().block_on().expect("the list").tasks;
        let open = tasks.iter();
        let open: Vec<_> = open
            .filter(|task| task.status != TaskStatus::Completed)
            .collect();
        assert!(open.is_empty(), "tasks are left: {open:?}");
        self.report.tasks = tasks.len();
        for racer in &self.racers {
            let lease = team.lease(&name(&racer.name)).block_on();
            assert_eq!(lease.expect("a lease"), Liveness::Dead, "{}", racer.name);
        }
    }
}
