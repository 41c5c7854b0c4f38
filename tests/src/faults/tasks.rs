//! A race for tasks: many claimants, interdependent tasks, and claimants killed at any moment.
//!
//! Each task is completed once, none is started before its blockers are completed, and the reported
//! operations are linearizable.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::Value;
use swarm_protocol::{MemberName, NewTask, SpawnId, TaskId, TaskStatus};
use swarm_store::{Actor, BlockOn as _, Lease, StoreError, TaskChange, Team, TeamStore as _};

use super::dice::{Dice, Seed};
use super::ground::{TeamFixture, life_record, new_task};
use super::history::{Call, Effect, History};
use super::log::{Line, lines, monotonic_nanos, path_of};
use super::worker::{WorkerArguments, is_outage};
use super::workers::{Programs, Worker};
use crate::wait::wait_until;

/// Pause of a claimant without work: long enough not to slow down the others.
const REST: Duration = Duration::from_millis(20);
/// Maximum number of log lines before a kill: a task takes four.
const STEPS: usize = 12;
/// Maximum pause after the last of them, so that kills do not only occur after a line.
const A_STEP: Duration = Duration::from_millis(2);
/// Timeout of claimants for a line.
const PATIENCE: Duration = Duration::from_mins(2);

/// Parameters of a race.
#[derive(Debug, Clone)]
pub struct TaskRun {
    /// Number of claimants.
    pub claimants: usize,
    /// Minimum number of tasks: while kills are pending, there is work for all.
    pub tasks: u64,
    /// Number of kills.
    pub kills: usize,
    /// Whether they take no locks: the run must then violate linearizability.
    pub without_lock: bool,
}

/// Result of a race.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskReport {
    /// Operations that took effect.
    pub calls: usize,
    /// Tasks released because of the death of their owner.
    pub released: usize,
    /// Tasks whose history is not linearizable.
    pub unsound: Vec<u64>,
    /// Tasks that were started before a blocker was completed, with that blocker.
    pub too_early: Vec<(u64, u64)>,
}

struct Race<'a> {
    run: &'a TaskRun,
    programs: &'a Programs,
    ground: &'a TeamFixture,
    logs: PathBuf,
    /// Spawns by their number in the history, and the log of each.
    spawns: Vec<(SpawnId, PathBuf)>,
    history: History,
    released: usize,
    /// Blockers of each task.
    blockers: BTreeMap<u64, Vec<u64>>,
}

impl TaskRun {
    /// Runs it.
    ///
    /// # Panics
    /// If a task is lost, or the claimants make no progress.
    pub fn run(&self, programs: &Programs, seed: Seed) -> TaskReport {
        let ground = TeamFixture::fresh();
        let mut dice = Dice::new(seed);
        let logs = tempfile::tempdir().expect("a directory for logs");
        let mut race = Race {
            run: self,
            programs,
            ground: &ground,
            logs: logs.path().to_owned(),
            spawns: Vec::new(),
            history: History::default(),
            released: 0,
            blockers: BTreeMap::new(),
        };
        race.race(&mut dice);
        race.enter_logs();
        let list = ground
            .store
            .team(&ground.team)
            .tasks()
            .block_on()
            .expect("the list");
        let open = list
            .tasks
            .iter()
            .filter(|task| task.status != TaskStatus::Completed);
        assert_eq!(open.count(), 0, "a task was left");
        ground.assert_whole();
        let pairs = race
            .blockers
            .iter()
            .flat_map(|(task, waits)| waits.iter().map(|waits| (*task, *waits)));
        let too_early = pairs.filter(|(task, waits)| race.history.begun_too_early(*task, *waits));
        TaskReport {
            too_early: too_early.collect(),
            calls: race.history.0.values().map(Vec::len).sum(),
            released: race.released,
            unsound: race.history.unsound(),
        }
    }
}

impl Race<'_> {
    fn race(&mut self, dice: &mut Dice) {
        self.make_tasks(self.run.tasks, dice);
        // Claimants finish only after this task is completed, and none of them can claim it.
        let last = (self.run.kills > 0).then(|| self.keep_last());
        let mut claimants: Vec<(Worker, usize)> = (0..self.run.claimants)
            .map(|at| self.start(&format!("c{at}")))
            .collect();
        for (_, spawn) in &claimants {
            self.await_life(*spawn);
        }
        for _ in 0..self.run.kills {
            self.leave_work(dice);
            let at = self.await_progress(&claimants, dice);
            dice.linger(A_STEP);
            let victim = &mut claimants[at].0;
            assert!(victim.kill(), "{} has finished too early", victim.name);
            let called = victim.name.clone();
            self.reconcile();
            claimants[at] = self.start(&called);
            self.await_life(claimants[at].1);
        }
        if let Some(last) = last {
            self.finish(last);
        }
        for (worker, _) in claimants {
            worker.finish();
        }
    }

    /// Creates tasks with up to two earlier blockers each.
    fn make_tasks(&mut self, count: u64, dice: &mut Dice) {
        let person = Actor::person(&self.ground.team);
        for _ in 0..count {
            let earlier: Vec<u64> = self.blockers.keys().rev().take(12).copied().collect();
            let mut waits: Vec<u64> = Vec::new();
            for _ in 0..dice.below(3) {
                // Recent ones, otherwise all would depend on the first few.
                let back = dice.below(12);
                let blocker = earlier.get(back).filter(|blocker| !waits.contains(blocker));
                waits.extend(blocker);
            }
            let new = new_task("work", &waits);
            let made = self
                .ground
                .store
                .team(&self.ground.team)
                .create_tasks(&[new], &person)
                .block_on();
            let made = made.expect("a task")[0];
            self.blockers.insert(made.number(), waits);
        }
    }

    /// Creates the task that a person keeps until all claimants may finish.
    fn keep_last(&self) -> TaskId {
        let new = NewTask {
            owner: Some(MemberName::lead()),
            ..new_task("the last", &[])
        };
        let (store, team) = (&self.ground.store, &self.ground.team);
        store
            .team(team)
            .create_tasks(&[new], &Actor::person(team))
            .block_on()
            .expect("a task")[0]
    }

    fn finish(&self, task: TaskId) {
        let (store, team) = (&self.ground.store, &self.ground.team);
        let done = TaskChange::from(TaskStatus::Completed);
        store
            .team(team)
            .update_task(&task, done, &Actor::person(team))
            .block_on()
            .expect("it is a person's");
    }

    /// Creates more tasks if there are fewer than claimants.
    fn leave_work(&mut self, dice: &mut Dice) {
        let list = self
            .ground
            .store
            .team(&self.ground.team)
            .tasks()
            .block_on()
            .expect("the list");
        let open = list
            .tasks
            .iter()
            .filter(|task| task.status == TaskStatus::Pending);
        if open.count() <= self.run.claimants {
            self.make_tasks(self.run.claimants as u64, dice);
        }
    }

    /// Waits for progress of the claimants, and picks one of them.
    fn await_progress(&self, claimants: &[(Worker, usize)], dice: &mut Dice) -> usize {
        let said = || claimants.iter().map(|(_, spawn)| self.said(*spawn));
        let steps = 1 + dice.below(STEPS);
        let began: usize = said().sum();
        let mut before: Vec<usize> = said().collect();
        let moved = wait_until("claimants get on", PATIENCE, || {
            let now: Vec<usize> = said().collect();
            let moved = (0..now.len()).filter(|at| now[*at] > before[*at]);
            let moved: Vec<usize> = moved.collect();
            let is_far = now.iter().sum::<usize>() >= began + steps;
            before = now;
            (is_far && !moved.is_empty()).then_some(moved)
        });
        *dice.pick(&moved.expect("running claimants make progress"))
    }

    /// Returns the number of log lines of a spawn.
    fn said(&self, spawn: usize) -> usize {
        lines(&self.spawns[spawn].1).len()
    }

    /// Creates or replaces a member of this name, and starts it.
    fn start(&mut self, called: &str) -> (Worker, usize) {
        let spawn = self.ground.join(called);
        let number = self.spawns.len();
        let log = path_of(&self.logs, &format!("{called}-{number}"));
        self.spawns.push((spawn, log.clone()));
        let role = if self.run.without_lock {
            "works-without-lock"
        } else {
            "works"
        };
        let mut command = Command::new(&self.programs.worker);
        command
            .arg(role)
            .args([&self.ground.root, &log])
            .args([called, &spawn.to_string()]);
        // The worker has the member's name; the log belongs to the spawn.
        (Worker::start(command, &self.logs, called), number)
    }

    /// Waits until a spawn has its life lock: without it, a dead spawn could not be distinguished.
    fn await_life(&self, spawn: usize) {
        let lives = wait_until("a claimant lives", PATIENCE, || {
            (self.said(spawn) > 0).then_some(())
        });
        lives.expect("it takes its life lock");
    }

    /// Reconciles deaths, and releases failed tasks for another attempt.
    fn reconcile(&mut self) {
        let (store, team) = (&self.ground.store, &self.ground.team);
        let began = monotonic_nanos();
        let report = store
            .team(team)
            .reconcile()
            .block_on()
            .expect("a reconcile");
        let returned = monotonic_nanos();
        for departure in report.died {
            let number = self.number_of(departure.spawn_id);
            for task in departure.released {
                let effect = Effect::Release(number);
                let call = Call {
                    effect,
                    began,
                    returned,
                    perhaps: false,
                };
                self.history.enter(task.number(), call);
                self.released += 1;
            }
        }
        release_failed(&*store.team(team));
    }

    fn number_of(&self, spawn: SpawnId) -> u64 {
        let number = self.spawns.iter().position(|(known, _)| *known == spawn);
        u64::try_from(number.expect("a known spawn")).unwrap_or(u64::MAX)
    }

    fn enter_logs(&mut self) {
        let spawns = std::mem::take(&mut self.spawns);
        for (number, (_, log)) in spawns.iter().enumerate() {
            let number = u64::try_from(number).unwrap_or(u64::MAX);
            enter(&mut self.history, number, &lines(log));
        }
    }
}

/// Releases tasks whose owner has failed, for another attempt.
pub(super) fn release_failed(team: &dyn Team) {
    let list = team.tasks().block_on().expect("the list");
    let failed = list.tasks.iter();
    for task in failed.filter(|task| task.has_failed()) {
        team.release(&task.id, &Actor::person(team.name()))
            .block_on()
            .expect("a release");
    }
}

/// Adds the operations of one spawn.
pub(super) fn enter(history: &mut History, spawn: u64, said: &[Line]) {
    let mut starts: HashMap<String, u64> = HashMap::new();
    let mut open: Option<&Line> = None;
    for line in said {
        match line.word(0) {
            "claiming" | "completing" => {
                starts.insert(line.word(0).to_owned(), line.at);
                open = Some(line);
            }
            "claimed" | "completed" => {
                let (effect, from) = if line.word(0) == "claimed" {
                    (Effect::Claim(spawn), "claiming")
                } else {
                    (Effect::Complete(spawn), "completing")
                };
                let began = starts.get(from).copied().unwrap_or(0);
                let call = Call {
                    effect,
                    began,
                    returned: line.at,
                    perhaps: false,
                };
                history.enter(line.number(1), call);
                open = None;
            }
            _ => open = None,
        }
    }
    let Some(cut) = open else { return };
    let perhaps = |effect| Call {
        effect,
        began: cut.at,
        returned: u64::MAX,
        perhaps: true,
    };
    if cut.word(0) == "completing" {
        history.enter(cut.number(1), perhaps(Effect::Complete(spawn)));
        return;
    }
    // It may have claimed any task. It did claim a task that was released from it without a log
    // line.
    for calls in history.0.values_mut() {
        let is = |call: &Call, effect| call.effect == effect;
        let releases = calls
            .iter()
            .filter(|call| is(call, Effect::Release(spawn)))
            .count();
        let claims = calls
            .iter()
            .filter(|call| is(call, Effect::Claim(spawn)))
            .count();
        if releases > claims {
            calls.push(perhaps(Effect::Claim(spawn)));
        }
    }
}

/// Claims and completes tasks until all are completed, or the lease is lost. A second number is how
/// long it works on each, in milliseconds.
pub(super) fn work(mut arguments: WorkerArguments) -> Result<()> {
    let (actor, _life) = begin(&mut arguments)?;
    let effort = Duration::from_millis(arguments.number(1).unwrap_or_default());
    loop {
        match work_once(&mut arguments, &actor, effort) {
            Ok(true) => {}
            // Other processes may have reported its death before.
            Ok(false) | Err(StoreError::LeaseLost { .. } | StoreError::SpawnGone { .. }) => {
                return Ok(());
            }
            // It is not known whether the last operation is done.
            Err(error) if is_outage(&*arguments.team, &error) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Returns `false` once all tasks are completed.
fn work_once(
    arguments: &mut WorkerArguments,
    actor: &Actor,
    effort: Duration,
) -> Result<bool, StoreError> {
    let (team, log) = (&arguments.team, &mut arguments.log);
    let mut say = |words: &str| log.say(words).expect("a log");
    say("claiming");
    let Some(task) = team.claim_next(actor).block_on()? else {
        say("nothing");
        let list = team.tasks().block_on()?;
        let mut tasks = list.tasks.iter();
        if tasks.all(|task| task.status == TaskStatus::Completed) {
            say("finished");
            return Ok(false);
        }
        std::thread::park_timeout(REST);
        return Ok(true);
    };
    say(&format!("claimed {}", task.id));
    std::thread::park_timeout(effort);
    say(&format!("completing {}", task.id));
    let done = TaskChange::from(TaskStatus::Completed);
    match team.update_task(&task.id, done, actor).block_on() {
        Ok(_) => say(&format!("completed {}", task.id)),
        Err(StoreError::NotYours { owner, .. }) => say(&format!("lost {} {owner}", task.id)),
        Err(error) => return Err(error),
    }
    Ok(true)
}

fn begin(arguments: &mut WorkerArguments) -> Result<(Actor, Lease)> {
    let spawn: SpawnId = arguments
        .rest
        .first()
        .context("the spawn is missing")?
        .parse()?;
    let (me, record) = (arguments.member()?, life_record(spawn));
    let life = arguments.team.take_life(&me, &record).block_on()?;
    arguments.log.say("lives")?;
    let actor = Actor::member(&arguments.ground.team, me, Some(spawn));
    Ok((actor, life))
}

/// Like [`work`], assuming that replacing files atomically is enough.
pub(super) fn work_without_lock(mut arguments: WorkerArguments) -> Result<()> {
    let (_actor, _life) = begin(&mut arguments)?;
    let directory = arguments.ground.files().tasks_directory();
    loop {
        arguments.log.say("claiming")?;
        let tasks = read_all(&directory)?;
        if tasks.values().all(|task| task["status"] == "completed") {
            return Ok(arguments.log.say("finished")?);
        }
        let is_done = |id: &Value| {
            let number = id.as_str().and_then(|id| id.parse::<u64>().ok());
            number
                .and_then(|number| tasks.get(&number))
                .is_none_or(|task| task["status"] == "completed")
        };
        let free = tasks.iter().find(|(_, task)| {
            task["status"] == "pending"
                && task["blockedBy"]
                    .as_array()
                    .is_none_or(|ids| ids.iter().all(is_done))
        });
        let Some((number, task)) = free else {
            arguments.log.say("nothing")?;
            std::thread::park_timeout(REST);
            continue;
        };
        let mut task = task.clone();
        task["owner"] = arguments.name.clone().into();
        write_one(&directory, *number, &mut task, "in_progress")?;
        arguments.log.say(&format!("claimed {number}"))?;
        arguments.log.say(&format!("completing {number}"))?;
        write_one(&directory, *number, &mut task, "completed")?;
        arguments.log.say(&format!("completed {number}"))?;
    }
}

fn read_all(directory: &Path) -> Result<BTreeMap<u64, Value>> {
    let mut tasks = BTreeMap::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        let number = path
            .file_name()
            .and_then(|name| name.to_str()?.strip_suffix(".json")?.parse().ok());
        if let Some(number) = number {
            tasks.insert(number, serde_json::from_slice(&std::fs::read(&path)?)?);
        }
    }
    Ok(tasks)
}

fn write_one(directory: &Path, number: u64, task: &mut Value, status: &str) -> Result<()> {
    task["status"] = status.into();
    let path = directory.join(format!("{number}.json"));
    Ok(swarm_os::replace_alone(
        &path,
        &serde_json::to_vec_pretty(task)?,
    )?)
}
