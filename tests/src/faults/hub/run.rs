//! One run. Every acknowledged message is in the reader's transcript exactly once, in the order of its
//! sender. Each task is completed once, and the reported operations on it are linearizable.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use swarm_protocol::{MemberName, MessageId, NewTask, TaskId, TaskStatus};
use swarm_store::{Actor, BlockOn as _, TaskChange};

use super::machines::Machines;
use super::nodes::Nodes;
use super::racers::Racers;
use crate::faults::arrivals::arrivals;
use crate::faults::dice::{Dice, Seed};
use crate::faults::ground::{join, name, new_task};
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
/// How long a packet takes on a link that is slow while another one is cut.
const DELAY: Duration = Duration::from_millis(20);

/// Parameters of a run.
#[derive(Debug, Clone)]
pub struct HubRun {
    /// Number of writers.
    pub writers: usize,
    /// Number of acknowledged messages of each.
    pub messages: usize,
    /// Pause of a writer after a message.
    pub pause: Duration,
    /// Number of processes that compete for tasks.
    pub racers: usize,
    /// How long one of them works on a task.
    pub effort: Duration,
    /// Number of times that a link is cut and another one is slow, with one more task each.
    pub cuts: usize,
    /// How many of them last longer than a lease.
    pub long_cuts: usize,
    /// Number of times that the server is killed.
    pub hub_kills: usize,
    /// Number of times that a writer, the reader, a racer, and a node or its member are killed.
    pub kills: usize,
    /// Number of machines with a node that runs a member.
    pub nodes: usize,
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
    /// Messages to the members of nodes.
    pub letters: usize,
    /// Killed writers.
    pub writer_kills: usize,
    /// Killed racers: with a task, and without one.
    pub racer_kills: (usize, usize),
    /// Killed nodes, and members of nodes.
    pub node_kills: (usize, usize),
}

struct Storm<'a> {
    run: &'a HubRun,
    programs: &'a Programs,
    machines: Machines,
    racers: Racers<'a>,
    nodes: Nodes,
    blockers: Vec<u64>,
    writer_kills: usize,
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
            nodes: Nodes::start(&machines, programs, self.nodes),
            racers: Racers::new(programs, self.effort),
            machines,
            blockers: Vec::new(),
            writer_kills: 0,
        };
        storm.blow(&mut Dice::new(seed));
        storm.judge()
    }
}

impl Storm<'_> {
    fn blow(&mut self, dice: &mut Dice) {
        let last = self.create(&NewTask {
            owner: Some(MemberName::lead()),
            ..new_task("the last", &[])
        });
        self.racers.start(&self.machines, self.run.racers);
        let mut writers: Vec<Worker> = (0..self.run.writers).map(|at| self.writer(at)).collect();
        let mut reader = self.machines.reader(self.programs);
        for fault in 0..self.run.cuts {
            self.more_work(dice);
            let is_turn = |of: usize| of > 0 && (fault + 1) % self.run.cuts.div_ceil(of) == 0;
            let is_long = is_turn(self.run.long_cuts);
            let at = dice.below(self.machines.links.len());
            let slow = dice.below(self.machines.links.len());
            self.machines.links[at].cut();
            self.machines.links[slow].delay(DELAY);
            if is_turn(self.run.hub_kills) {
                self.machines.server.stop();
                dice.linger(CUT);
                self.machines.server.resume();
            }
            if is_turn(self.run.kills) {
                let at = dice.below(writers.len());
                if writers[at].kill() {
                    writers[at] = self.writer(at);
                    self.writer_kills += 1;
                }
                assert!(reader.kill(), "the reader reads on");
                reader = self.machines.reader(self.programs);
                self.racers.kill_one(dice);
                self.nodes.kill(dice);
            }
            self.nodes.write(&*self.machines.team, dice);
            self.wait(if is_long { LONG_CUT } else { Duration::ZERO });
            dice.linger(CUT);
            self.machines.links[at].heal();
            self.machines.links[slow].delay(Duration::ZERO);
            dice.linger(PAUSE);
            self.replace_lost();
        }
        self.complete(last);
        self.racers.finish(&self.machines, LAST);
        writers.into_iter().for_each(Worker::finish);
        self.finish_reading(reader);
    }

    /// Waits until all messages are read.
    fn finish_reading(&mut self, mut reader: Worker) {
        let team = &*self.machines.team;
        let read = wait_until("everything is read", LAST, || {
            let unread = team.take_unread(&name(READER)).block_on().ok()?;
            (unread.is_empty() && self.nodes.is_done(team)).then_some(())
        });
        read.expect("the reader and members read on");
        assert!(reader.kill(), "the reader reads on");
    }

    /// Starts a writer, or the next process of one.
    fn writer(&self, at: usize) -> Worker {
        let (place, run) = (self.machines.of(at), self.run);
        self.machines
            .writer(self.programs, &writer(at), place, run.messages, run.pause)
    }

    /// Waits, and replaces what is lost meanwhile.
    fn wait(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end {
            self.replace_lost();
            std::thread::park_timeout(PAUSE);
        }
    }

    fn replace_lost(&mut self) {
        self.nodes.restart_ended(&*self.machines.team);
        self.racers.replace_lost(&self.machines);
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

    fn judge(mut self) -> HubReport {
        let (team, logs) = (&self.machines.team, &self.machines.logs);
        let reader = name(READER);
        let inbox = team.inbox(&reader).block_on().expect("the inbox");
        let archived = team.archived_mail(&reader).block_on();
        let kept = inbox.entries.into_iter().filter(|entry| entry.read);
        let kept = kept.chain(archived.expect("the archive"));
        let kept: HashSet<MessageId> = kept.filter_map(|entry| entry.msg_id).collect();
        let writers: Vec<String> = (0..self.run.writers).map(writer).collect();
        let arrivals = arrivals(logs, &writers, &kept);
        let twice = self.racers.unsound(&self.machines);
        assert!(twice.is_empty(), "tasks were done twice: {twice:?}");
        let tasks = team.tasks().block_on().expect("the list").tasks;
        let open = tasks.iter();
        let open: Vec<_> = open
            .filter(|task| task.status != TaskStatus::Completed)
            .collect();
        assert!(open.is_empty(), "tasks are left: {open:?}");
        let (letters, node_kills) = self.nodes.finish();
        HubReport {
            acknowledged: arrivals.acknowledged,
            interrupted: (arrivals.cut, arrivals.cut_but_there),
            tasks: tasks.len(),
            released: self.racers.released,
            lost: self.racers.lost,
            letters,
            writer_kills: self.writer_kills,
            racer_kills: self.racers.kills,
            node_kills,
        }
    }
}

/// Returns the name of a writer.
fn writer(number: usize) -> String {
    format!("w{number}")
}
