//! Whole commands, killed at each of their system calls in turn: a spawn from its reservation to
//! its commit, and the shutdown of a member, on both sides.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Command;
use std::thread;

use parking_lot::Mutex;

use super::super::steps::Point;
use super::super::workers::Programs;
use super::places::{Place, Scene, spawn_words};
use crate::stage::Running;

/// Number of concurrent trials.
const AT_A_TIME: usize = 3;

/// Calls on files, descriptors and processes can leave something behind.
const CALLS: &str = "trace=%file,%desc,%process";

/// The killed program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whole {
    /// `swarm spawn` of a headless member.
    Spawn,
    /// `swarm spawn` into a pane next to the person.
    SpawnIntoPane,
    /// `swarm shutdown`.
    Shutdown,
    /// The member that is shutting down.
    Member,
}

impl Whole {
    /// All programs.
    pub const ALL: [Self; 4] = [
        Self::Spawn,
        Self::SpawnIntoPane,
        Self::Shutdown,
        Self::Member,
    ];

    fn place(self) -> Place {
        match self {
            Self::SpawnIntoPane => Place::Split,
            _ => Place::Headless,
        }
    }

    /// Text of the first relevant trace line: before it there is nothing to leave behind.
    fn begins_with(self) -> &'static str {
        match self {
            Self::Spawn | Self::SpawnIntoPane => "reservation.json",
            Self::Shutdown | Self::Member => "inboxes/ann.json",
        }
    }
}

/// Returns the relevant system calls of a whole command in any thread; `None` if tracing is
/// unavailable.
///
/// # Panics
/// If the command fails without fault injection.
pub fn points_of(programs: &Programs, whole: Whole) -> Option<Vec<Point>> {
    if Command::new("strace").arg("-V").output().is_err() {
        eprintln!("skipped: no strace here");
        return None;
    }
    let scene = Scene::new(programs).with_team();
    let trace = scene.world.directory().join("trace");
    let trace = trace.to_str().expect("a path of text");
    let carried_out = carry_out(&scene, whole, trace, &["-e", CALLS], "30");
    if !carried_out.was_traced {
        eprintln!("skipped: strace may not trace here");
        scene.world.end_all();
        return None;
    }
    assert_eq!(carried_out.code, Some(0), "{whole:?}");
    let text = fs::read_to_string(trace).unwrap_or_default();
    scene.delete(Place::Split, &["--purge"]);
    scene.assert_nothing_left();
    let points = after(&text, whole.begins_with());
    assert!(points.len() > 50, "{whole:?}: {points:?}\n{text}");
    Some(points)
}

/// Returns each call with its name and the number of previous calls of this name in its thread.
fn after(trace: &str, mark: &str) -> Vec<Point> {
    let mut ordinals: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut points = BTreeSet::new();
    let mut has_begun = false;
    for line in trace.lines() {
        let Some((thread, call)) = line.split_once(char::is_whitespace) else {
            continue;
        };
        // The second half of a call that was interrupted by another thread's line is not a separate
        // call.
        let Some((name, _)) = call.trim_start().split_once('(') else {
            continue;
        };
        if !name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        {
            continue;
        }
        let ordinal = ordinals.entry((thread, name)).or_default();
        *ordinal += 1;
        has_begun |= line.contains(mark);
        if has_begun {
            points.insert((name.to_owned(), *ordinal));
        }
    }
    let points = points.into_iter();
    points
        .map(|(call, ordinal)| Point { call, ordinal })
        .collect()
}

/// A traced command.
struct CarriedOut {
    was_traced: bool,
    /// Exit code; `None` if it was terminated by a signal.
    code: Option<i32>,
}

/// Runs it once under strace, which follows threads and detaches from other programs when they
/// start. An interrupted spawn holds its name for `patience` seconds.
fn carry_out(
    scene: &Scene,
    whole: Whole,
    trace: &str,
    more: &[&str],
    patience: &str,
) -> CarriedOut {
    let strace = [&["strace", "-f", "-b", "execve", "-qq", "-o", trace], more].concat();
    let place = whole.place();
    let variables = scene.variables(place);
    let finished = match whole {
        Whole::Spawn | Whole::SpawnIntoPane => {
            let words = [&spawn_words("ann", place)[..], &["--timeout", patience]].concat();
            scene.world.start_under(&strace, &words, variables).wait()
        }
        Whole::Shutdown | Whole::Member => {
            scene.spawn("ann", place, &[]).wait().ok();
            let shutdown = ["shutdown", "ann", "--team", "demo", "--timeout", "5"];
            if whole == Whole::Shutdown {
                scene
                    .world
                    .start_under(&strace, &shutdown, variables)
                    .wait()
            } else {
                let tracing = attach(scene, &strace);
                let finished = scene.world.swarm(&shutdown);
                // The trace ends with the member.
                tracing.wait();
                finished
            }
        }
    };
    let traced = fs::metadata(trace).is_ok_and(|file| file.len() > 0);
    CarriedOut {
        was_traced: traced,
        code: finished.code,
    }
}

/// Attaches strace to the member.
fn attach(scene: &Scene, strace: &[&str]) -> Running {
    let pid = scene.world.team("demo").hello("ann")["pid"].to_string();
    // Without `-qq` it reports when it is attached.
    let words: Vec<&str> = strace[1..]
        .iter()
        .copied()
        .filter(|word| *word != "-qq")
        .collect();
    let words = [&words[..], &["-p", &pid]].concat();
    let mut tracing = scene.world.start_program("strace", &words);
    scene.world.wait_for("strace is attached", || {
        (tracing.stderr().contains("attached") || tracing.has_ended()).then_some(())
    });
    tracing
}

/// Number of trials, and their results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cut {
    /// Trials.
    pub trials: usize,
    /// Trials in which the command was killed; the others finished, or never reached that call.
    pub killed: usize,
}

impl std::ops::AddAssign for Cut {
    fn add_assign(&mut self, other: Self) {
        self.trials += other.trials;
        self.killed += other.killed;
    }
}

/// Kills it at each of the points.
///
/// # Panics
/// With the points after which the state is wrong.
pub fn cut_at(programs: &Programs, whole: Whole, points: &[Point]) -> Cut {
    let remaining = Mutex::new(points.iter());
    let cut = Mutex::new(Cut::default());
    let failed = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                let next = || remaining.lock().next();
                while let Some(point) = next() {
                    // The other points are tested anyway: a failure at one call often occurs at
                    // several.
                    match catch_unwind(AssertUnwindSafe(|| cut_one(programs, whole, point))) {
                        Ok(one) => *cut.lock() += one,
                        Err(_) => failed.lock().push(point),
                    }
                }
            });
        }
    });
    let failed = failed.into_inner();
    assert!(
        failed.is_empty(),
        "{whole:?} fails when killed at {failed:?}"
    );
    cut.into_inner()
}

fn cut_one(programs: &Programs, whole: Whole, point: &Point) -> Cut {
    let scene = Scene::new(programs).with_team();
    let trace = scene.world.directory().join("trace");
    let trace = trace.to_str().expect("a path of text");
    let call = format!("trace={}", point.call);
    let injection = format!("inject={}:signal=KILL:when={}", point.call, point.ordinal);
    let tampering = ["-e", &call, "-e", &injection];
    let code = carry_out(&scene, whole, trace, &tampering, "1").code;
    let was_killed = fs::read_to_string(trace).is_ok_and(|text| text.contains("killed by SIGKILL"));
    recovers(&scene, whole, Path::new(trace), code);
    Cut {
        trials: 1,
        killed: usize::from(was_killed),
    }
}

/// Checks that everything is complete, there is no second process, the name can be used, and the
/// team can be deleted.
fn recovers(scene: &Scene, whole: Whole, trace: &Path, code: Option<i32>) {
    let story = || {
        let traced = fs::read_to_string(trace).unwrap_or_default();
        format!(
            "{whole:?} ended with {code:?}\n{traced}\n{}",
            scene.world.report()
        )
    };
    scene.assert_whole();
    let team = scene.world.team("demo");
    if matches!(whole, Whole::Spawn | Whole::SpawnIntoPane) {
        scene.assert_roster_is_true();
        if code == Some(0) {
            assert!(team.member("ann").is_some(), "{}", story());
        }
    } else {
        // A second request finds it gone, or stops it.
        let again = scene
            .world
            .swarm(&["shutdown", "ann", "--team", "demo", "--timeout", "5"]);
        assert!(
            matches!(again.code, Some(0 | 3)),
            "{}\n{}",
            again.story(),
            story()
        );
        assert_eq!(team.names(), ["team-lead"], "{}", story());
        assert_eq!(scene.teammates(), [], "{}", story());
    }
    let place = whole.place();
    let next = scene.spawn("ann", place, &[]).wait();
    assert!(
        matches!(next.code, Some(0 | 4)),
        "{}\n{}",
        next.story(),
        story()
    );
    scene.assert_roster_is_true();
    assert_eq!(scene.teammates().len(), 1, "{}", story());
    scene.delete(Place::Headless, &["--purge"]);
    scene.assert_nothing_left();
}
