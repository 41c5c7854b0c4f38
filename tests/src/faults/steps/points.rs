//! The system calls of an operation according to strace.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::Operation;
use crate::faults::ground::TeamFixture;
use crate::faults::log::{Line, lines};
use crate::faults::worker::{BEGIN, END};
use crate::faults::workers::Programs;

/// Only calls on files and descriptors can leave something behind.
const CALLS: &str = "%file,%desc";

/// A system call of an operation, and its ordinal among those of the same name in its thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    /// Name of the call.
    pub call: String,
    /// Counted from 1.
    pub ordinal: usize,
}

/// Result of a worker.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) said: Vec<Line>,
    /// Its standard error, including panics.
    pub(super) errors: String,
}

/// Runs an operation in a worker under strace.
pub(super) fn traced(
    programs: &Programs,
    ground: &TeamFixture,
    operation: Operation,
    trace: &Path,
    more: &[&str],
) -> Outcome {
    let log = trace.with_extension("log");
    drop(fs::remove_file(&log));
    let output = Command::new("strace")
        // Without `--seccomp-bpf`, which is faster but loses kills.
        .args(["-f", "-qq", "-o"])
        .arg(trace)
        .args(more)
        .arg(&programs.worker)
        .arg("once")
        .args([&ground.root, &log])
        .args(["-", &operation.word()])
        // With this variable the loader opens dozens of files.
        .env_remove("LD_LIBRARY_PATH")
        .stdin(Stdio::null())
        .output()
        .expect("strace was there a moment ago");
    Outcome {
        said: lines(&log),
        errors: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Returns every call of the operation; `None` if tracing is unavailable.
///
/// # Panics
/// If the operation fails without fault injection.
pub fn points(programs: &Programs, operation: Operation) -> Option<Vec<Point>> {
    if Command::new("strace").arg("-V").output().is_err() {
        eprintln!("skipped: no strace here");
        return None;
    }
    let ground = TeamFixture::fresh();
    operation.prepare(&ground);
    let directory = tempfile::tempdir().expect("a directory");
    let trace = directory.path().join("trace");
    let selection = format!("trace={CALLS}");
    let outcome = traced(programs, &ground, operation, &trace, &["-e", &selection]);
    let text = fs::read_to_string(&trace).unwrap_or_default();
    if outcome.said.is_empty() || text.is_empty() {
        eprintln!("skipped: strace may not trace here: {}", outcome.errors);
        return None;
    }
    let last = outcome.said.last().map(|line| line.word(0).to_owned());
    assert_eq!(last.as_deref(), Some("acked"), "{operation:?}: {outcome:?}");
    Some(between_marks(&text))
}

/// Returns the calls of the worker's thread between the two marks.
fn between_marks(trace: &str) -> Vec<Point> {
    let thread_of = |mark: &str| {
        let line = trace.lines().find(|line| line.contains(mark));
        line.and_then(|line| line.split_ascii_whitespace().next())
    };
    let worker = thread_of(BEGIN).expect("the operation begins");
    let mut ordinals: HashMap<&str, usize> = HashMap::new();
    let mut points = Vec::new();
    let mut has_begun = false;
    for line in trace.lines() {
        let Some((thread, call)) = line.split_once(char::is_whitespace) else {
            continue;
        };
        let Some((name, arguments)) = call.trim_start().split_once('(') else {
            continue;
        };
        if thread != worker {
            continue;
        }
        let ordinal = ordinals.entry(name).or_default();
        *ordinal += 1;
        if arguments.contains(END) {
            return points;
        }
        if has_begun {
            points.push(Point {
                call: name.to_owned(),
                ordinal: *ordinal,
            });
        }
        has_begun |= arguments.contains(BEGIN);
    }
    panic!("the operation does not end");
}
