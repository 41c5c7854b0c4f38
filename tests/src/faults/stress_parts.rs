//! The parts of the long-running tests.

use std::time::Duration;

use super::dice::{Dice, Seed};
use super::disk::fill_one;
use super::duel::LockContention;
use super::everything::{on_damaged, open_to_others};
use super::foreign;
use super::ground::Locking;
use super::hub::{HubRun, in_own_network};
use super::mail::{MailRun, Other};
use super::planted::on_planted;
use super::processes::{
    Activity, Cut, Fault, Letters, Termination, Whole, clocks, cut_at, delete_under_spawns,
    letters, one_name, points_of, round, takeover, twins,
};
use super::standstill::{Lock, stand};
use super::steps::{InjectedFault, Operation, Point, Report, Trial, points};
use super::tasks::TaskRun;
use super::texts::{Effort, Slot, try_texts};
use super::watching::{Loss, reaches};
use super::workers::Programs;
use crate::escapes::{disagreements, stated_rows, try_escapes, working_backends};

/// A part: name, description, and one run with a seed, which panics on a violation.
pub(super) type Part = (&'static str, &'static str, fn(&Programs, Seed) -> String);

pub(super) const PARTS: [Part; 20] = [
    ("mail", "32 writers, one reader, all killed at random", mail),
    ("others", "foreign writers next to swarm's", others),
    (
        "tasks",
        "16 claimants, 100 interdependent tasks, claimants killed",
        tasks,
    ),
    (
        "kill",
        "each operation killed at each of its system calls",
        kill,
    ),
    (
        "errors",
        "each operation with each error at each of its system calls",
        errors,
    ),
    (
        "damage",
        "every file damaged in every way, and other objects in its place",
        damage,
    ),
    (
        "foreign",
        "damaged foreign data for every parser (`scripts/fuzz` goes deeper)",
        foreign,
    ),
    (
        "duel",
        "2000 stale locks, each broken by several processes at once, with both locking protocols",
        duel,
    ),
    (
        "standstill",
        "holders of each lock that are stopped until it is broken",
        standstill,
    ),
    ("watch", "idle readers that lose their watch", watch),
    ("disk", "a disk of 64 KB that is full", disk),
    (
        "processes",
        "50 teams of which members, panes, servers and commands are killed",
        processes,
    ),
    (
        "spawns",
        "spawns under way while their team is deleted, of one name, of which some are killed",
        spawns,
    ),
    (
        "commands",
        "spawn and shutdown killed at each of their system calls",
        commands,
    ),
    (
        "clocks",
        "members and commands whose clocks jump, each by itself",
        jumping_clocks,
    ),
    (
        "hub",
        "a team of three machines whose links are cut, and whose hub and processes are killed",
        hub,
    ),
    ("leads", "leads killed while they read mail", leads),
    ("texts", "malicious texts in every input", all_texts),
    (
        "takeover",
        "leads terminated while they spawn, are asked or add worktrees, and their teams taken over",
        takeovers,
    ),
    (
        "escapes",
        "attempts to get out of the sandbox, with every backend, compared with the guide",
        escapes,
    ),
];

fn escapes(programs: &Programs, _seed: Seed) -> String {
    let guide = include_str!("../../../docs/guide.md");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let mut told = Vec::new();
    for backend in working_backends(&programs.swarm) {
        let report = runtime.block_on(try_escapes(&programs.swarm, backend, usize::MAX));
        let differing = disagreements(&stated_rows(guide), backend, &report);
        assert!(differing.is_empty(), "{}: {differing:#?}", backend.name());
        let through: usize = report.through.values().map(Vec::len).sum();
        let (name, tried) = (backend.name(), report.tried);
        told.push(format!("{name}: {through} of {tried} attempts succeed"));
    }
    told.join(" · ")
}

fn mail(programs: &Programs, seed: Seed) -> String {
    let run = MailRun {
        writers: 32,
        messages: 200,
        kills: 400,
        pause: Duration::from_millis(60),
        ..MailRun::default()
    };
    format!("{:?}", run.run(programs, seed))
}

fn others(programs: &Programs, seed: Seed) -> String {
    let many = MailRun {
        writers: 8,
        others: 8,
        messages: 60,
        kills: 60,
        ..MailRun::default()
    };
    let holders = MailRun {
        writers: 6,
        others: 1,
        messages: 100,
        kills: 60,
        kills_holders: true,
        ..MailRun::default()
    };
    let mut told = vec![
        format!("{:?}", many.run(programs, seed)),
        format!("{:?}", holders.run(programs, seed)),
    ];
    if let Some(script) = std::env::var_os("STRESS_NODE_SCRIPT") {
        let script = Other::Script(script.into());
        for mut run in [many, holders] {
            run.other = script.clone();
            told.push(format!("node: {:?}", run.run(programs, seed)));
        }
    }
    told.join(" · ")
}

/// Number of rounds in one run.
const ROUNDS: usize = 50;

fn tasks(programs: &Programs, seed: Seed) -> String {
    let run = TaskRun {
        claimants: 16,
        tasks: 100,
        kills: 12,
        without_lock: false,
    };
    let (mut calls, mut released) = (0, 0);
    for round in 0..ROUNDS {
        let report = run.run(programs, seed.of(&round.to_string()));
        assert_eq!(report.unsound, [0; 0], "round {round}: {report:?}");
        assert_eq!(report.too_early, [(0, 0); 0], "round {round}: {report:?}");
        calls += report.calls;
        released += report.released;
    }
    let kills = ROUNDS * run.kills;
    format!("{ROUNDS} rounds, {calls} calls, {kills} kills, {released} tasks given back")
}

fn kill(programs: &Programs, _seed: Seed) -> String {
    at_each_call(programs, |_| vec![InjectedFault::Kill])
}

fn errors(programs: &Programs, _seed: Seed) -> String {
    at_each_call(programs, InjectedFault::errors_at)
}

/// Tries each operation with these faults at each of its system calls.
fn at_each_call(programs: &Programs, faults_at: impl Fn(&Point) -> Vec<InjectedFault>) -> String {
    let mut told = Report::default();
    let mut failed = Vec::new();
    for operation in Operation::ALL {
        let Some(points) = points(programs, operation) else {
            return "skipped: nothing can be traced here".to_owned();
        };
        let tries: Vec<_> = points
            .iter()
            .flat_map(|point| {
                let faults = faults_at(point).into_iter();
                faults.map(|fault| (point.clone(), fault))
            })
            .collect();
        let trial = || Trial::of(operation).at_each(programs, &tries);
        let Ok(report) = std::panic::catch_unwind(trial) else {
            failed.push(operation);
            continue;
        };
        eprintln!("  {operation:?}: {report:?}");
        told += report;
    }
    assert!(failed.is_empty(), "{failed:?}");
    format!("{} operations, {told:?}", Operation::ALL.len())
}

fn damage(programs: &Programs, seed: Seed) -> String {
    let mut dice = Dice::new(seed);
    let damaged = on_damaged(programs, || dice.below(1) == 0);
    let planted = on_planted(programs, || true);
    let open = open_to_others(programs);
    assert!(open.is_empty(), "others can read {open:?}");
    format!("{damaged} damaged files, {planted} other things in a file's place")
}

fn foreign(_programs: &Programs, seed: Seed) -> String {
    let tried = foreign::try_all(seed, foreign::Effort::For(Duration::from_secs(20)));
    format!("{tried} documents")
}

fn duel(programs: &Programs, seed: Seed) -> String {
    let told = [Locking::Both, Locking::DirectoryOnly].map(|locking| {
        let duel = LockContention {
            breakers: 5,
            rounds: 100,
            lanes: 20,
            locking,
        };
        format!("{} rounds {locking:?}", duel.run(programs, seed))
    });
    told.join(", ")
}

fn standstill(programs: &Programs, _seed: Seed) -> String {
    // Concurrently: each waits until its lock becomes stale.
    std::thread::scope(|scope| {
        for locking in [Locking::Both, Locking::DirectoryOnly] {
            for lock in Lock::ALL {
                scope.spawn(move || stand(programs, lock, locking, None));
            }
        }
    });
    format!("{} locks in both doors", Lock::ALL.len())
}

fn watch(programs: &Programs, _seed: Seed) -> String {
    let reached = Loss::ALL.map(|loss| (loss, reaches(programs, loss)));
    let skipped: Vec<_> = reached.iter().filter(|(_, done)| !done).collect();
    format!("{} losses, skipped: {skipped:?}", reached.len())
}

fn disk(programs: &Programs, _seed: Seed) -> String {
    fill_one(programs).map_or_else(|| "skipped".to_owned(), |report| format!("{report:?}"))
}

/// Number of teams in one run.
const TEAMS: usize = 50;

fn processes(programs: &Programs, seed: Seed) -> String {
    let mut dice = Dice::new(seed);
    for number in 0..TEAMS {
        let fault = *dice.pick(&Fault::ALL);
        eprintln!("  {number}: {fault:?}");
        round(programs, fault, Seed(dice.throw()));
    }
    format!("{TEAMS} teams")
}

/// Number of teams created twice concurrently.
const TWINS: usize = 200;

fn spawns(programs: &Programs, seed: Seed) -> String {
    let mut dice = Dice::new(seed);
    for number in 0..TEAMS {
        eprintln!("  {number}");
        delete_under_spawns(programs, Seed(dice.throw()));
    }
    for number in 0..TEAMS / 2 {
        eprintln!("  one name, {number}");
        one_name(programs, Seed(dice.throw()));
    }
    twins(programs, Seed(dice.throw()), TWINS);
    format!("{TEAMS} teams, {} names, {TWINS} twins", TEAMS / 2)
}

fn commands(programs: &Programs, _seed: Seed) -> String {
    let mut told = Cut::default();
    for whole in Whole::ALL {
        let Some(points) = points_of(programs, whole) else {
            return "skipped: nothing can be traced here".to_owned();
        };
        let cut = cut_at(programs, whole, &points);
        eprintln!("  {whole:?}: {cut:?}");
        told += cut;
    }
    format!("{} commands, {told:?}", Whole::ALL.len())
}

fn jumping_clocks(programs: &Programs, seed: Seed) -> String {
    let rounds = TEAMS / 5;
    if clocks(programs, rounds, seed) {
        format!("{rounds} teams")
    } else {
        "skipped: no libfaketime here".to_owned()
    }
}

fn hub(programs: &Programs, seed: Seed) -> String {
    if !swarm_hubkit::has_server() {
        return "skipped: nats-server is not installed".to_owned();
    }
    if let Some(told) = in_own_network(seed) {
        return told;
    }
    let run = HubRun {
        writers: 8,
        messages: 200,
        pause: Duration::from_millis(400),
        racers: 16,
        effort: Duration::from_secs(2),
        cuts: 100,
        long_cuts: 2,
        hub_kills: 5,
        kills: 20,
        nodes: 3,
    };
    format!("{run:?}: {:?}", run.run(programs, seed))
}

fn leads(programs: &Programs, seed: Seed) -> String {
    let mut dice = Dice::new(seed);
    let run = Letters {
        letters: 60,
        kills: 20,
    };
    let rounds = TEAMS / 5;
    for number in 0..rounds {
        eprintln!("  {number}");
        letters(programs, run, Seed(dice.throw()));
    }
    format!("{rounds} times {run:?}")
}

fn all_texts(programs: &Programs, _seed: Seed) -> String {
    let tried = Slot::ALL.map(|slot| {
        let tried = try_texts(programs, &[slot], Effort::Whole);
        eprintln!("  {slot:?}: {tried}");
        tried
    });
    let tried: usize = tried.iter().sum();
    format!("{tried} texts in {} places", Slot::ALL.len())
}

/// Number of leads in one run, for each activity and signal.
const TAKEOVERS: usize = 4;

fn takeovers(programs: &Programs, seed: Seed) -> String {
    let mut dice = Dice::new(seed);
    for round in 0..TAKEOVERS {
        for duty in Activity::ALL {
            for blow in Termination::ALL {
                eprintln!("  {round}: {duty:?}, {blow:?}");
                takeover(programs, duty, blow, Seed(dice.throw()));
            }
        }
    }
    let leads = TAKEOVERS * Activity::ALL.len() * Termination::ALL.len();
    format!("{leads} leads")
}
