//! A writer that is killed or fails at each of its system calls in turn. strace counts the calls of
//! a first run. In one further run per call, it kills the writer as it enters the call, or makes
//! the call fail. In every case the content is intact, acknowledged changes are kept, and the next
//! writer is not blocked.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use swarm_os::LockOptions;

use crate::children::{LockFixture, command, waiting};

const ROLE: &str = "increments once, after a warm-up";
const CALLS: &str = "trace=%file,%desc";

/// A system call of the writer: its name and its position among the calls of that name in the
/// thread.
#[derive(Debug, Clone)]
struct Point {
    call: String,
    ordinal: usize,
}

fn traced(fixture: &LockFixture, more: &[&str]) -> Output {
    let role = command(ROLE, &fixture.directory);
    Command::new("strace")
        .args(["-f", "-qq", "-e", CALLS, "-o"])
        .arg(fixture.directory.join("trace"))
        .args(more)
        .arg(role.get_program())
        .args(role.get_args())
        .envs(
            role.get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        // With this variable the loader opens dozens of files.
        .env_remove("LD_LIBRARY_PATH")
        .stdin(Stdio::null())
        .output()
        .expect("strace can be started")
}

fn acknowledged(output: &Output) -> bool {
    String::from_utf8_lossy(&output.stdout).contains("\n@acked")
}

/// Returns all calls from the writer's first access to the lock to its acknowledgement.
fn points() -> Option<Vec<Point>> {
    if Command::new("strace").arg("-V").output().is_err() {
        eprintln!("skipped: strace is not installed");
        return None;
    }
    let (_directory, fixture) = LockFixture::fresh();
    if !acknowledged(&traced(&fixture, &[])) {
        eprintln!("skipped: strace is not permitted to trace");
        return None;
    }
    let trace = fs::read_to_string(fixture.directory.join("trace")).unwrap();
    let first = format!("\"{}\"", fixture.sidecar.display());
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

/// Runs the writer once for each point with a fault injected at the call, and checks the resulting
/// files.
fn at_every(points: &[Point], fault: &str, check: impl Fn(&Point, &LockFixture, &Output) + Sync) {
    let remaining = Mutex::new(points.iter());
    let next = || remaining.lock().next();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(point) = next() {
                    let (_directory, fixture) = LockFixture::fresh();
                    let Point { call, ordinal } = point;
                    let injection = format!("inject={call}:{fault}:when={ordinal}");
                    let output = traced(&fixture, &["-e", &injection]);
                    assert!(
                        reached(&fixture),
                        "{point:?} was hit before the writer started"
                    );
                    check(point, &fixture, &output);
                    assert_recovery(point, &fixture);
                }
            });
        }
    });
}

/// Returns whether the writer had started before the fault was injected.
fn reached(fixture: &LockFixture) -> bool {
    let trace = fs::read_to_string(fixture.directory.join("trace")).unwrap();
    trace.contains(&format!("\"{}\"", fixture.sidecar.display()))
}

/// Checks that the next writer is not blocked, reads valid content and leaves no temporary files.
fn assert_recovery(point: &Point, fixture: &LockFixture) {
    let before: u64 = fixture.content().parse().unwrap();
    assert!(before <= 1);
    // Much shorter than the time after which a foreign lock is stale.
    let after = fixture.increment(&waiting(Duration::from_secs(5)));
    assert_eq!(after.unwrap(), before + 1, "after {point:?}");
    assert_eq!(fixture.leftovers(), [""; 0], "after {point:?}");
}

#[test]
fn a_writer_killed_at_any_call_leaves_intact_content_and_no_lock() {
    let Some(points) = points() else { return };
    at_every(&points, "signal=KILL", |point, fixture, output| {
        assert!(!acknowledged(output), "{point:?}");
        assert!(
            ["0", "1"].contains(&fixture.content().as_str()),
            "{point:?}"
        );
    });
}

#[test]
fn a_failing_call_is_reported_or_has_no_effect() {
    let Some(points) = points() else { return };
    for error in ["EIO", "ENOSPC"] {
        let fault = format!("error={error}");
        at_every(&points, &fault, |point, fixture, output| {
            assert!(!fixture.lock_dir.exists(), "{point:?} with {error}");
            if acknowledged(output) {
                assert_ne!(point.call, "fsync", "acknowledged without being on disk");
                assert_eq!(fixture.content(), "1", "{point:?} with {error}");
            } else if point.call != "fsync" {
                assert_eq!(fixture.content(), "0", "{point:?} with {error}");
            }
        });
    }
}

#[test]
fn interrupted_calls_are_repeated() {
    let Some(points) = points() else { return };
    let interruptible = [
        "flock", "mkdirat", "open", "openat", "write", "fsync", "read",
    ];
    let points: Vec<_> = points
        .into_iter()
        .filter(|point| interruptible.contains(&point.call.as_str()))
        .collect();
    assert!(points.iter().any(|point| point.call == "flock"));
    at_every(&points, "error=EINTR", |point, fixture, output| {
        assert!(acknowledged(output), "{point:?}");
        assert_eq!(fixture.content(), "1");
    });
}

/// Runs some increments in another directory. The threads of the test harness make a few of the
/// same calls before the writer starts, and strace counts per thread: after a warm-up only the
/// writer reaches the injected count.
pub(crate) fn warm_up(directory: &Path) {
    let inside = directory.join("warm-up");
    swarm_os::create_private_dir(&inside).unwrap();
    let fixture = LockFixture::at(&inside);
    swarm_os::create_sidecar(&fixture.sidecar).unwrap();
    swarm_os::replace_alone(&fixture.data, b"0").unwrap();
    for _ in 0..5 {
        fixture.increment(&LockOptions::default()).unwrap();
    }
}
