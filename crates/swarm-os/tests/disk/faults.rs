//! One writer, dying or failing at each of its system calls in turn.
//!
//! strace counts the calls of a first run and then, in one run for each of them, kills the writer as it
//! enters the call or makes the call fail. Whatever happens, nobody sees damage, what was acknowledged is
//! there, and the next writer gets through at once.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use swarm_os::LockOptions;

use crate::children::{Ground, command, waiting};

const ROLE: &str = "increments once, after a run-up";
const CALLS: &str = "trace=%file,%desc";

/// A system call of the writer, and the how many-th of that name in its thread.
#[derive(Debug, Clone)]
struct Point {
    call: String,
    ordinal: usize,
}

fn traced(ground: &Ground, more: &[&str]) -> Output {
    let role = command(ROLE, &ground.directory);
    Command::new("strace")
        .args(["-f", "-qq", "-e", CALLS, "-o"])
        .arg(ground.directory.join("trace"))
        .args(more)
        .arg(role.get_program())
        .args(role.get_args())
        .envs(
            role.get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        // With it the loader opens files by the dozen.
        .env_remove("LD_LIBRARY_PATH")
        .stdin(Stdio::null())
        .output()
        .expect("strace was there a moment ago")
}

fn acknowledged(output: &Output) -> bool {
    String::from_utf8_lossy(&output.stdout).contains("\n@acked")
}

/// Every call between the writer's first step towards the lock and its acknowledgement.
fn points() -> Option<Vec<Point>> {
    if Command::new("strace").arg("-V").output().is_err() {
        eprintln!("skipped: no strace here");
        return None;
    }
    let (_directory, ground) = Ground::fresh();
    if !acknowledged(&traced(&ground, &[])) {
        eprintln!("skipped: strace may not trace here");
        return None;
    }
    let trace = fs::read_to_string(ground.directory.join("trace")).unwrap();
    let first = format!("\"{}\"", ground.sidecar.display());
    let writer = trace
        .lines()
        .find(|line| line.contains(&first))
        .and_then(|line| line.split_ascii_whitespace().next())
        .unwrap();
    let calls = trace.lines().filter_map(|line| {
        let (thread, call) = line.split_once(char::is_whitespace)?;
        (thread == writer).then_some(call.trim_start())
    });
    let mut ordinals: HashMap<&str, usize> = HashMap::new();
    let mut points = Vec::new();
    let mut has_begun = false;
    for call in calls {
        let Some((name, arguments)) = call.split_once('(') else {
            continue;
        };
        let ordinal = ordinals.entry(name).or_default();
        *ordinal += 1;
        has_begun |= arguments.contains(&first);
        if name == "write" && arguments.starts_with("1, ") && has_begun {
            return Some(points);
        }
        if has_begun {
            points.push(Point {
                call: name.to_owned(),
                ordinal: *ordinal,
            });
        }
    }
    panic!("the trace has no acknowledgement");
}

/// Runs the writer once for each point with its call tampered with, and checks what it leaves.
fn at_every(points: &[Point], tampering: &str, check: impl Fn(&Point, &Ground, &Output) + Sync) {
    let remaining = Mutex::new(points.iter());
    let next = || remaining.lock().next();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(point) = next() {
                    let (_directory, ground) = Ground::fresh();
                    let Point { call, ordinal } = point;
                    let injection = format!("inject={call}:{tampering}:when={ordinal}");
                    let output = traced(&ground, &["-e", &injection]);
                    assert!(reached(&ground), "{point:?} came before the run");
                    check(point, &ground, &output);
                    recovers(point, &ground);
                }
            });
        }
    });
}

/// Whether the writer had come to its work before it was tampered with.
fn reached(ground: &Ground) -> bool {
    let trace = fs::read_to_string(ground.directory.join("trace")).unwrap();
    trace.contains(&format!("\"{}\"", ground.sidecar.display()))
}

/// The next writer is not blocked, sees sound content, and leaves no litter.
fn recovers(point: &Point, ground: &Ground) {
    let before: u64 = ground.content().parse().unwrap();
    assert!(before <= 1);
    // Far less than a foreign lock takes to grow stale.
    let after = ground.increment(&waiting(Duration::from_secs(5)));
    assert_eq!(after.unwrap(), before + 1, "after {point:?}");
    assert_eq!(ground.litter(), [""; 0], "after {point:?}");
}

#[test]
fn a_writer_killed_at_any_call_damages_and_blocks_nothing() {
    let Some(points) = points() else { return };
    at_every(&points, "signal=KILL", |point, ground, output| {
        assert!(!acknowledged(output), "{point:?}");
        assert!(["0", "1"].contains(&ground.content().as_str()), "{point:?}");
    });
}

#[test]
fn a_call_that_fails_is_an_error_or_harmless() {
    let Some(points) = points() else { return };
    for error in ["EIO", "ENOSPC"] {
        let tampering = format!("error={error}");
        at_every(&points, &tampering, |point, ground, output| {
            if acknowledged(output) {
                assert_ne!(point.call, "fsync", "acknowledged without being on disk");
                assert_eq!(ground.content(), "1", "{point:?} with {error}");
            } else if point.call != "fsync" {
                assert_eq!(ground.content(), "0", "{point:?} with {error}");
            }
        });
    }
}

#[test]
fn an_interrupted_call_is_made_again() {
    let Some(points) = points() else { return };
    let interruptible = [
        "flock", "mkdirat", "open", "openat", "write", "fsync", "read",
    ];
    let points: Vec<_> = points
        .into_iter()
        .filter(|point| interruptible.contains(&point.call.as_str()))
        .collect();
    assert!(points.iter().any(|point| point.call == "flock"));
    at_every(&points, "error=EINTR", |point, ground, output| {
        assert!(acknowledged(output), "{point:?}");
        assert_eq!(ground.content(), "1");
    });
}

/// A directory for the run-up: the harness's own threads make a few of the same calls before the writer starts,
/// and strace counts in each thread. Far enough into its own count, the writer alone is hit.
pub(crate) fn run_up(directory: &Path) {
    let inside = directory.join("run-up");
    swarm_os::create_private_dir(&inside).unwrap();
    let ground = Ground::at(&inside);
    swarm_os::create_sidecar(&ground.sidecar).unwrap();
    swarm_os::replace_alone(&ground.data, b"0").unwrap();
    for _ in 0..5 {
        ground.increment(&LockOptions::default()).unwrap();
    }
}
