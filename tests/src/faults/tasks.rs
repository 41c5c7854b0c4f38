//! A race for tasks: many claimants, tasks that wait for each other, and claimants killed at any moment.
//!
//! Each task is completed once, none is begun before those that it waits for, and all that was reported could have happened one
//! step after the other.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::Value;
use swarm_protocol::{SpawnId, TaskId, TaskStatus};
use swarm_store::{Actor, StoreError, TaskChange, TeamStore as _};

use super::dice::{Dice, Seed};
use super::ground::{Ground, name};
use super::history::{Call, Deed, History};
use super::log::{Line, lines, monotonic_nanos, path_of};
use super::worker::Told;
use super::workers::{Programs, Worker};

/// How long a claimant with nothing to claim rests.
const REST: Duration = Duration::from_millis(2);

/// A race.
#[derive(Debug, Clone)]
pub struct TaskRun {
    /// How many race.
    pub claimants: usize,
    /// For how many tasks.
    pub tasks: u64,
    /// How often one is killed.
    pub kills: usize,
    /// Longest pause between two kills.
    pub pause: Duration,
    /// Whether they leave all locks out: the run must then be found unsound.
    pub without_lock: bool,
}

/// What came of a race.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskReport {
    /// Calls on tasks that took effect.
    pub calls: usize,
    /// Kills.
    pub kills: usize,
    /// Tasks that were given back by the death of their owner.
    pub released: usize,
    /// Tasks whose history cannot be explained.
    pub unsound: Vec<u64>,
    /// Tasks that were begun before one that they wait for was done, with that one.
    pub too_early: Vec<(u64, u64)>,
}

struct Race<'a> {
    run: &'a TaskRun,
    programs: &'a Programs,
    ground: &'a Ground,
    logs: PathBuf,
    /// Spawns by the number they have in the history, and the log of each.
    spawns: Vec<(SpawnId, PathBuf)>,
    history: History,
    released: usize,
}

impl TaskRun {
    /// Runs it.
    ///
    /// # Panics
    /// When a task is lost, or nobody gets on.
    pub fn run(&self, programs: &Programs, seed: Seed) -> TaskReport {
        let ground = Ground::fresh();
        let mut dice = Dice::new(seed);
        let blockers = self.make_tasks(&ground, &mut dice);
        let logs = tempfile::tempdir().expect("a folder for logs");
        let mut race = Race {
            run: self,
            programs,
            ground: &ground,
            logs: logs.path().to_owned(),
            spawns: Vec::new(),
            history: History::default(),
            released: 0,
        };
        let kills = race.race(&mut dice);
        race.enter_logs();
        let list = ground.store.tasks(&ground.team).expect("the list");
        let open = list
            .tasks
            .iter()
            .filter(|task| task.status != TaskStatus::Completed);
        assert_eq!(open.count(), 0, "a task was left");
        ground.assert_whole();
        let pairs = blockers
            .iter()
            .flat_map(|(task, waits)| waits.iter().map(|waits| (*task, *waits)));
        let too_early = pairs.filter(|(task, waits)| race.history.begun_too_early(*task, *waits));
        TaskReport {
            too_early: too_early.collect(),
            calls: race.history.0.values().map(Vec::len).sum(),
            kills,
            released: race.released,
            unsound: race.history.unsound(),
        }
    }

    /// Each waits for up to two earlier ones. Returns for whom each waits.
    fn make_tasks(&self, ground: &Ground, dice: &mut Dice) -> BTreeMap<u64, Vec<u64>> {
        let mut blockers = BTreeMap::new();
        for number in 1..=self.tasks {
            let mut waits: Vec<u64> = Vec::new();
            for _ in 0..dice.below(3) {
                // Near ones, or else everything would wait for the first few.
                let back = 1 + dice.below(12) as u64;
                if back < number && !waits.contains(&(number - back)) {
                    waits.push(number - back);
                }
            }
            let made = ground.task(&format!("task {number}"), &waits);
            assert_eq!(made, TaskId::new(number));
            blockers.insert(number, waits);
        }
        blockers
    }
}

impl Race<'_> {
    fn race(&mut self, dice: &mut Dice) -> usize {
        let mut claimants: Vec<(Worker, usize)> = (0..self.run.claimants)
            .map(|at| self.start(&format!("c{at}")))
            .collect();
        let mut kills = 0;
        while kills < self.run.kills {
            dice.linger(self.run.pause);
            let running: Vec<usize> = (0..claimants.len())
                .filter(|at| !claimants[*at].0.has_finished())
                .collect();
            if running.is_empty() {
                break;
            }
            let at = *dice.pick(&running);
            let called = claimants[at].0.name.clone();
            claimants[at].0.kill();
            kills += 1;
            self.reconcile();
            claimants[at] = self.start(&called);
        }
        for (worker, _) in claimants {
            worker.finish();
        }
        kills
    }

    /// Makes a member of this name, anew if it was one, and starts it.
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
        // The worker's name is the member's; its log is the spawn's.
        (Worker::start(command, &self.logs, called), number)
    }

    /// Notices deaths, and lets what was given up be tried again.
    fn reconcile(&mut self) {
        let (store, team) = (&self.ground.store, &self.ground.team);
        let began = monotonic_nanos();
        let report = store.reconcile(team).expect("a reconcile");
        let returned = monotonic_nanos();
        for departure in report.died {
            let number = self.number_of(departure.spawn_id);
            for task in departure.released {
                let deed = Deed::Release(number);
                let call = Call {
                    deed,
                    began,
                    returned,
                    perhaps: false,
                };
                self.history.enter(task.number(), call);
                self.released += 1;
            }
        }
        let list = store.tasks(team).expect("the list");
        for task in list
            .tasks
            .iter()
            .filter(|task| task.swarm().failed.is_some())
        {
            store
                .release(team, &task.id, &Actor::person(team))
                .expect("a release");
        }
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

/// Enters what one spawn did.
fn enter(history: &mut History, spawn: u64, said: &[Line]) {
    let mut starts: HashMap<String, u64> = HashMap::new();
    let mut open: Option<&Line> = None;
    for line in said {
        match line.word(0) {
            "claiming" | "completing" => {
                starts.insert(line.word(0).to_owned(), line.at);
                open = Some(line);
            }
            "claimed" | "completed" => {
                let (deed, from) = if line.word(0) == "claimed" {
                    (Deed::Claim(spawn), "claiming")
                } else {
                    (Deed::Complete(spawn), "completing")
                };
                let began = starts.get(from).copied().unwrap_or(0);
                let call = Call {
                    deed,
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
    let perhaps = |deed| Call {
        deed,
        began: cut.at,
        returned: u64::MAX,
        perhaps: true,
    };
    if cut.word(0) == "completing" {
        history.enter(cut.number(1), perhaps(Deed::Complete(spawn)));
        return;
    }
    // It may have got any task. One that was taken from it, and that it never said to have, it did get.
    for calls in history.0.values_mut() {
        let is = |call: &Call, deed| call.deed == deed;
        let releases = calls
            .iter()
            .filter(|call| is(call, Deed::Release(spawn)))
            .count();
        let claims = calls
            .iter()
            .filter(|call| is(call, Deed::Claim(spawn)))
            .count();
        if releases > claims {
            calls.push(perhaps(Deed::Claim(spawn)));
        }
    }
}

/// Claims and completes until everything is done.
pub(super) fn work(mut told: Told) -> Result<()> {
    let (actor, _life) = begin(&told)?;
    let Ground { store, team, .. } = &told.ground;
    loop {
        told.log.say("claiming")?;
        let Some(task) = store.claim_next(team, &actor)? else {
            told.log.say("nothing")?;
            let list = store.tasks(team)?;
            if list
                .tasks
                .iter()
                .all(|task| task.status == TaskStatus::Completed)
            {
                return Ok(told.log.say("finished")?);
            }
            std::thread::park_timeout(REST);
            continue;
        };
        told.log.say(&format!("claimed {}", task.id))?;
        told.log.say(&format!("completing {}", task.id))?;
        let done = TaskChange {
            status: Some(TaskStatus::Completed),
            ..TaskChange::default()
        };
        match store.update_task(team, &task.id, done, &actor) {
            Ok(_) => told.log.say(&format!("completed {}", task.id))?,
            Err(StoreError::NotYours { owner, .. }) => {
                told.log.say(&format!("lost {} {owner}", task.id))?;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

fn begin(told: &Told) -> Result<(Actor, swarm_fs::LifeHolder)> {
    let spawn: SpawnId = told.rest.first().context("the spawn is missing")?.parse()?;
    let life = told.ground.live(&told.name, spawn)?;
    let actor = Actor::member(&told.ground.team, name(&told.name), Some(spawn));
    Ok((actor, life))
}

/// The same by somebody who thinks that replacing files atomically is enough.
pub(super) fn work_without_lock(mut told: Told) -> Result<()> {
    let (_actor, _life) = begin(&told)?;
    let folder = told.ground.store.tasks_folder(&told.ground.team);
    loop {
        told.log.say("claiming")?;
        let tasks = read_all(&folder)?;
        if tasks.values().all(|task| task["status"] == "completed") {
            return Ok(told.log.say("finished")?);
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
            told.log.say("nothing")?;
            std::thread::park_timeout(REST);
            continue;
        };
        let mut task = task.clone();
        task["owner"] = told.name.clone().into();
        write_one(&folder, *number, &mut task, "in_progress")?;
        told.log.say(&format!("claimed {number}"))?;
        told.log.say(&format!("completing {number}"))?;
        write_one(&folder, *number, &mut task, "completed")?;
        told.log.say(&format!("completed {number}"))?;
    }
}

fn read_all(folder: &Path) -> Result<BTreeMap<u64, Value>> {
    let mut tasks = BTreeMap::new();
    for entry in std::fs::read_dir(folder)? {
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

fn write_one(folder: &Path, number: u64, task: &mut Value, status: &str) -> Result<()> {
    task["status"] = status.into();
    let path = folder.join(format!("{number}.json"));
    Ok(swarm_fs::replace_alone(
        &path,
        &serde_json::to_vec_pretty(task)?,
    )?)
}
